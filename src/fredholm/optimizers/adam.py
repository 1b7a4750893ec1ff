"""Adam."""

import dataclasses

import optax

from fredholm.common.checks import instance, real
from fredholm.optimizers.protocol import AbstractOptimizer
from fredholm.optimizers.schedules import AbstractSchedule, ConstantRate, Cosine


class Adam(AbstractOptimizer):
    r"""Adam (Kingma and Ba, 2015).

    Args:
        learning_rate (float): η, the learning rate; default: 0.001.
        schedule (schedule): how the learning rate changes over the run: ConstantRate() or Cosine(); default: ConstantRate().
        b1 (float): β₁, of the averaged gradient; default: 0.9.
        b2 (float): β₂, of its averaged square; default: 0.999.
        eps (float): ε, added to the root of that average; default: 1e-08.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Adam(3e-3, fr.Cosine()).learning_rate
        0.003

    See also:
        `Muon`, `GaussNewton`, `Cosine`.
    """

    learning_rate: float = 1e-3  # η, the learning rate
    schedule: AbstractSchedule = ConstantRate()  # how the learning rate changes over the run: ConstantRate() or Cosine()
    b1: float = 0.9  # β₁, of the averaged gradient
    b2: float = 0.999  # β₂, of its averaged square
    eps: float = 1e-8  # ε, added to the root of that average

    def __check_init__(self):
        real("Adam learning_rate", self.learning_rate, low=0.0)
        real("Adam b1", self.b1, low=0.0, below=1.0)
        real("Adam b2", self.b2, low=0.0, below=1.0)
        real("Adam eps", self.eps, low=0.0)
        instance("Adam schedule", self.schedule, AbstractSchedule, "Cosine()")

    def build(self, steps: int) -> optax.GradientTransformation:
        return optax.adam(self.schedule.build(self.learning_rate, steps), self.b1, self.b2, self.eps)

    def slower(self) -> "Adam":
        return dataclasses.replace(self, learning_rate=self.learning_rate / 3, schedule=Cosine())


GENERAL = Adam(3e-3, Cosine())  # a general choice


def slower(optimizer: AbstractOptimizer | None) -> AbstractOptimizer:
    """The optimiser with a third of its rate; `GENERAL` where its rate is not known."""
    return (None if optimizer is None else optimizer.slower()) or GENERAL
