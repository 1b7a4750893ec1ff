"""Auto: a pilot chooses the method, its rule, batch and optimiser."""

import equinox as eqx

from fredholm.common.checks import instance, positive_integer, real
from fredholm.methods.protocol import AbstractMethod


class Auto(eqx.Module):
    """A short pilot chooses method, rule, nodes, batch, optimiser and average, and gives its reasons. Arguments of `solve` are kept.

    The standard loss is chosen only where its bias is small. With random nodes, their squared error must be at most the share `bias` of the
    squared terms of the equation; with fixed nodes, at most `bias`². Otherwise an equation with f gets delayed targets. In the weak form
    the noise decides between double sampling and delayed targets. docs/choosing.md has the measurements.

    Args:
        points (int): evaluations of u in each step; more where its gradient is noise; default: 1600.
        bias (float): the largest shift of the solution, as a share of it, that a standard loss may cause; default: 0.001.
        pilot (int): steps of the pilot's training; default: 200.
        using (method): use this method, and choose its rule and batch; None: choose the method too.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Auto(points=800).pilot
        200

    See also:
        `solve`, `DelayedTarget`.
    """

    points: int = eqx.field(
        default=1600, converter=lambda n: positive_integer("Auto points", n, least=16)
    )  # evaluations of u in each step; more where its gradient is noise
    bias: float = 1e-3  # the largest shift of the solution, as a share of it, that a standard loss may cause
    pilot: int = eqx.field(default=200, converter=lambda n: positive_integer("Auto pilot", n))  # steps of the pilot's training
    using: AbstractMethod | None = None  # use this method, and choose its rule and batch; None: choose the method too

    def __check_init__(self):
        real("Auto bias", self.bias, low=0.0)
        if self.using is not None:
            instance("Auto using", self.using, AbstractMethod, "DelayedTarget()")
