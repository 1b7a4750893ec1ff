"""Auto: a method that is chosen by a pilot, with everything that goes with it."""

import equinox as eqx

from fredholm.common.checks import positive_integer, real
from fredholm.methods.protocol import AbstractMethod


class Auto(eqx.Module):
    """Lets a short pilot choose method, rule, nodes, batch, optimiser and average, and says why. What `solve` is given stays as it is.

    The standard loss is chosen only where the bias that it would leave is small: where the squared error of random nodes is at most the
    share `bias` of the squared terms of the equation, and that of fixed ones `bias`². Otherwise f decides between delayed targets, and in
    the weak form the noise between double sampling and delayed targets. docs/choosing.md has the measurements behind it.
    """

    points: int = eqx.field(default=1600, converter=lambda n: positive_integer("Auto points", n, least=16))  # evaluations of u in each step
    bias: float = 1e-3  # the largest shift of the solution, as a share of it, that a standard loss may cause
    pilot: int = eqx.field(default=200, converter=lambda n: positive_integer("Auto pilot", n))  # steps of the pilot's training
    using: AbstractMethod | None = None  # this method, with a rule and a batch that suit it; None: chosen too

    def __check_init__(self):
        real("Auto bias", self.bias, low=0.0)
