"""How the learning rate changes over a run."""

from abc import abstractmethod

import equinox as eqx
import optax

from fredholm.common.checks import real


class AbstractSchedule(eqx.Module):
    """How the learning rate changes over a run."""

    @abstractmethod
    def build(self, learning_rate: float, steps: int) -> optax.Schedule:
        """The learning rate as a function of the step."""


class ConstantRate(AbstractSchedule):
    r"""$\eta_k = \eta$, as in the published runs.

    Examples:
        >>> import fredholm as fr
        >>> fr.Adam(1e-3, fr.ConstantRate()).b1
        0.9

    See also:
        `Cosine`, `Adam`.
    """

    def build(self, learning_rate: float, steps: int) -> optax.Schedule:
        return optax.constant_schedule(learning_rate)


class Cosine(AbstractSchedule):
    r"""$\eta_k = \eta\left[a + (1-a)\tfrac12(1 + \cos(\pi k/K))\right]$ over the K steps of the run.

    A run that is continued with more steps follows the schedule of its new length from then on.

    Args:
        floor (float): a, the final learning rate as a share of the first; default: 0.0.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Adam(3e-3, fr.Cosine(floor=0.01))
        Adam(learning_rate=0.003, schedule=Cosine(floor=0.01))

    See also:
        `ConstantRate`, `Adam`.
    """

    floor: float = 0.0  # a, the final learning rate as a share of the first

    def __check_init__(self):
        real("Cosine floor", self.floor, low=0.0, high=1.0)

    def build(self, learning_rate: float, steps: int) -> optax.Schedule:
        return optax.cosine_decay_schedule(learning_rate, max(steps, 1), self.floor)
