"""Muon."""

import dataclasses

import optax

from fredholm.common.checks import instance, real
from fredholm.optimizers.protocol import AbstractOptimizer
from fredholm.optimizers.schedules import AbstractSchedule, Cosine


class Muon(AbstractOptimizer):
    """Muon (Jordan et al., 2024): a weight matrix moves by η U Vᵀ, where U Σ Vᵀ is its averaged gradient. Other
    parameters move by Adam with Nesterov's momentum. Directions with a weak gradient are learnt as fast as directions with a strong one.

    Args:
        learning_rate (float): η, the learning rate of the matrices; default: 0.01.
        schedule (schedule): how it changes: ConstantRate() never settles, since every step has the same size; default: Cosine().
        beta (float): β, of the averaged gradient; default: 0.95.
        vectors (float): the rate of Adam as a share of η; default: 0.3.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Muon(3e-3).learning_rate
        0.003

    See also:
        `Adam`, `Cosine`.
    """

    learning_rate: float = 1e-2  # η, the learning rate of the matrices
    schedule: AbstractSchedule = Cosine()  # how it changes: ConstantRate() never settles, since every step has the same size
    beta: float = 0.95  # β, of the averaged gradient
    vectors: float = 0.3  # the rate of Adam as a share of η

    def __check_init__(self):
        real("Muon learning_rate", self.learning_rate, low=0.0)
        real("Muon beta", self.beta, low=0.0, below=1.0)
        real("Muon vectors", self.vectors, low=0.0)
        instance("Muon schedule", self.schedule, AbstractSchedule, "Cosine()")

    def build(self, steps: int) -> optax.GradientTransformation:
        rate, others = (self.schedule.build(share * self.learning_rate, steps) for share in (1.0, self.vectors))
        return optax.contrib.muon(rate, beta=self.beta, adam_learning_rate=others)

    def slower(self) -> "Muon":
        return dataclasses.replace(self, learning_rate=self.learning_rate / 3, schedule=Cosine())
