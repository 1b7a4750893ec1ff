"""One recipe for each class of equation: what the zoo uses, with nothing tuned to a single case but network, steps and batch."""

import equinox as eqx

from fredholm.equation.equation import Defaults
from fredholm.functions.protocol import AbstractNetwork
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.protocol import AbstractMethod
from fredholm.methods.standard import Standard
from fredholm.optimizers.adam import Adam
from fredholm.optimizers.protocol import AbstractOptimizer
from fredholm.optimizers.schedules import Cosine
from fredholm.rules.base import AbstractRule
from fredholm.rules.gauss import Gauss
from fredholm.rules.monte_carlo import MonteCarlo


class Class(eqx.Module):
    """A class of equations and the method, rule and optimiser that serve it; the parameters are averaged in all of them."""

    name: str
    when: str  # the equations that it is for
    method: AbstractMethod
    rule: AbstractRule
    optimizer: AbstractOptimizer

    def defaults(self, network: AbstractNetwork, steps: int, batch: int) -> Defaults:
        """The defaults of a problem of this class."""
        return Defaults(self.method, self.rule, network, self.optimizer, steps, batch)


SMOOTH = Class(
    "smooth",
    "the integral has one dimension and a smooth integrand: the nodes' error is far below the network's, and there is no noise",
    Standard(),
    Gauss(16),
    Adam(3e-3, Cosine()),
)
ONE_SAMPLE = Class(
    "one sample",
    "f holds u on to its place and only one random sample of the integral is to be had at each point",
    DelayedTarget(),
    MonteCarlo(1),
    Adam(3e-3, Cosine()),
)
SINGULAR = Class(
    "singular",
    "a singular or high-dimensional integral, whose samples are noisy, with derivatives of u inside",
    DoubleSampling("all"),
    MonteCarlo(4),
    Adam(3e-3, Cosine()),
)
CLASSES = (SMOOTH, ONE_SAMPLE, SINGULAR)
