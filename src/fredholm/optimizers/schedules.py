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
    r"""$\eta_k = \eta$, as in the published runs."""

    def build(self, learning_rate: float, steps: int) -> optax.Schedule:
        return optax.constant_schedule(learning_rate)


class Cosine(AbstractSchedule):
    r"""$\eta_k = \eta\left[a + (1-a)\tfrac12(1 + \cos(\pi k/K))\right]$ over the K steps of the run.

    A run that is continued with more steps follows the schedule of its new length from then on.
    """

    floor: float = 0.0  # a, the final learning rate as a share of the first

    def __check_init__(self):
        real("Cosine floor", self.floor, low=0.0, high=1.0)

    def build(self, learning_rate: float, steps: int) -> optax.Schedule:
        return optax.cosine_decay_schedule(learning_rate, max(steps, 1), self.floor)
