"""Settings for each class of equation, as the zoo uses them. Only network, steps and batch are tuned to a single problem."""

import equinox as eqx

from fredholm.equation.equation import Defaults
from fredholm.functions.protocol import AbstractNetwork
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.protocol import AbstractMethod
from fredholm.methods.standard import Standard
from fredholm.optimizers.adam import Adam
from fredholm.optimizers.muon import Muon
from fredholm.optimizers.protocol import AbstractOptimizer
from fredholm.optimizers.schedules import Cosine
from fredholm.rules.base import AbstractRule
from fredholm.rules.gauss import Gauss
from fredholm.rules.monte_carlo import MonteCarlo


class Class(eqx.Module):
    """A class of equations, with the method, rule and optimiser that suit it. The parameters are averaged in all classes."""

    name: str
    when: str  # which equations belong to it
    method: AbstractMethod
    rule: AbstractRule
    optimizer: AbstractOptimizer

    def defaults(self, network: AbstractNetwork, steps: int, batch: int) -> Defaults:
        """The defaults of a problem of this class."""
        return Defaults(self.method, self.rule, network, self.optimizer, steps, batch)


SMOOTH = Class(
    "smooth",
    "the integral has one dimension and a smooth integrand: the error of the nodes is far below that of the network, and there is no noise",
    Standard(),
    Gauss(16),
    Adam(3e-3, Cosine()),
)
ONE_SAMPLE = Class(
    "one sample",
    "u appears in f, and there is only one random sample of the integral at each point",
    DelayedTarget(),
    MonteCarlo(1),
    Adam(3e-3, Cosine()),
)
SINGULAR = Class(
    "singular",
    "the integral is singular or high-dimensional, its samples are noisy, and it has derivatives of u inside",
    DoubleSampling("all"),
    MonteCarlo(4),
    Adam(3e-3, Cosine()),
)
MANY_DIMENSIONS = Class(
    "many dimensions",
    "derivatives and jumps in many dimensions are expectations over random directions, with little noise: what counts is the number of x",
    DoubleSampling("all"),
    MonteCarlo(2),
    Muon(),
)
CLASSES = (SMOOTH, ONE_SAMPLE, SINGULAR, MANY_DIMENSIONS)
