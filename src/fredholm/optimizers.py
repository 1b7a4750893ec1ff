"""Recipes for optimisers: the number of steps is known only when `solve` starts."""

from abc import abstractmethod

import equinox as eqx
import optax

from fredholm.checks import real


class AbstractOptimizer(eqx.Module):
    """A recipe that builds an optax transformation for a run of so many steps."""

    @abstractmethod
    def build(self, steps: int) -> optax.GradientTransformation:
        """The transformation."""


class AbstractSchedule(eqx.Module):
    """How the learning rate changes over a run."""

    @abstractmethod
    def build(self, learning_rate: float, steps: int) -> optax.Schedule:
        """The learning rate as a function of the step."""


class Constant(AbstractSchedule):
    r"""$\eta_k = \eta$: the published runs."""

    def build(self, learning_rate: float, steps: int) -> optax.Schedule:
        return optax.constant_schedule(learning_rate)


class Cosine(AbstractSchedule):
    r"""$\eta_k = \eta\left[a + (1-a)\tfrac12(1 + \cos(\pi k/K))\right]$ over the K steps of the run.

    A run that is continued with more steps follows the schedule of its new length from then on.
    """

    floor: float = 0.0  # a, the share of the learning rate that is left at the end

    def __check_init__(self):
        real("Cosine floor", self.floor, low=0.0, high=1.0)

    def build(self, learning_rate: float, steps: int) -> optax.Schedule:
        return optax.cosine_decay_schedule(learning_rate, max(steps, 1), self.floor)


class Adam(AbstractOptimizer):
    r"""Adam (Kingma and Ba, 2015)."""

    learning_rate: float = 1e-3  # η
    schedule: AbstractSchedule = Constant()  # Constant() or Cosine()
    b1: float = 0.9  # β₁
    b2: float = 0.999  # β₂
    eps: float = 1e-8  # ε

    def __check_init__(self):
        real("Adam learning_rate", self.learning_rate, low=0.0)
        real("Adam b1", self.b1, low=0.0, below=1.0)
        real("Adam b2", self.b2, low=0.0, below=1.0)
        real("Adam eps", self.eps, low=0.0)

    def build(self, steps: int) -> optax.GradientTransformation:
        return optax.adam(self.schedule.build(self.learning_rate, steps), self.b1, self.b2, self.eps)


class Muon(AbstractOptimizer):
    """Muon (Jordan et al., 2024): a weight matrix moves by η U Vᵀ, where U Σ Vᵀ is its averaged gradient; what is not
    a matrix moves by Adam with Nesterov's momentum. Directions in which the gradient is weak are learnt as fast as the strong ones.
    """

    learning_rate: float = 1e-2  # η, of the matrices
    schedule: AbstractSchedule = Cosine()  # a constant rate never comes to rest: every step has the same size
    beta: float = 0.95  # of the averaged gradient
    vectors: float = 0.3  # the rate of Adam as a share of η

    def __check_init__(self):
        real("Muon learning_rate", self.learning_rate, low=0.0)
        real("Muon beta", self.beta, low=0.0, below=1.0)
        real("Muon vectors", self.vectors, low=0.0)

    def build(self, steps: int) -> optax.GradientTransformation:
        rate, others = (self.schedule.build(share * self.learning_rate, steps) for share in (1.0, self.vectors))
        return optax.contrib.muon(rate, beta=self.beta, adam_learning_rate=others)


class Transformation(AbstractOptimizer):
    """Any optax transformation, as it is."""

    transformation: optax.GradientTransformation

    def build(self, steps: int) -> optax.GradientTransformation:
        return self.transformation
