"""Gaussian quadrature: the most polynomials for n nodes."""

import equinox as eqx
import numpy as np
import scipy
from numpy.polynomial.legendre import leggauss

from fredholm.common.checks import positive_integer
from fredholm.domains.base import AbstractDomain, Base, Power
from fredholm.rules.base import AbstractRandomization
from fredholm.rules.tensor import AbstractTensorRule

# Up to here the nodes and the weights are right to 1e-12; beyond, Laguerre's outer weights leave the range of float64.
MAXIMUM_ORDER = {Base.UNIT: 500, Base.NORMAL: 300, Base.HALF_LINE: 180}


class Gauss(AbstractTensorRule):
    r"""The n zeros of the orthogonal polynomial of the axis' measure: Legendre's on the unit interval, Hermite's on a normal
    axis, Laguerre's on a half-line, Jacobi's beside a singularity (`AbsPower`). Exact to degree $2n - 1$ in z on each axis (Gauss, 1814);
    all weights are positive.

    Args:
        n (int): nodes on each axis.
        randomize (randomisation): Rotation(), Shift() on bounded domains, or None; default: None.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Gauss(16).size(fr.Interval(0.0, 1.0))
        16
        >>> fr.Gauss(4).size(fr.Box((0.0, 0.0), (1.0, 1.0)))  # on each axis
        16

    See also:
        `ClenshawCurtis`, `Smolyak`, `Even`.
    """

    n: int = eqx.field(converter=lambda n: positive_integer("Gauss n", n))  # nodes on each axis
    randomize: AbstractRandomization | None = None  # Rotation(), Shift() on bounded domains, or None

    def axis_measure(self, base: Base) -> Base:
        return base

    def axis_nodes(self, base: Base) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(base, Power):
            nodes, weights = scipy.special.roots_jacobi(self.n, 0.0, base.exponent - 1)
            return 0.5 * (nodes + 1), weights / np.sum(weights)
        nodes, weights = _POLYNOMIALS[base](self.n)
        if base is Base.UNIT:
            nodes = 0.5 * (nodes + 1)
        if base is not Base.HALF_LINE and self.n % 2:  # Exactly the middle, so that sparse grids recognise the node in every level.
            nodes[self.n // 2] = 0.5 if base is Base.UNIT else 0.0
        return nodes, weights / np.sum(weights)

    def refined(self, level: int) -> "Gauss":
        return Gauss(self.n + level)

    def check_axes(self, domain: AbstractDomain) -> None:
        for base in domain.bases:
            if self.n > MAXIMUM_ORDER.get(base, self.n):
                raise ValueError(
                    f"Gauss n: got {self.n}; expected at most {MAXIMUM_ORDER[base]} on {base.value}, where it is known to be accurate. "
                    "Use fewer nodes, or split the domain."
                )


_POLYNOMIALS = {
    Base.UNIT: leggauss,
    Base.NORMAL: lambda n: scipy.special.roots_hermitenorm(n),  # scipy loads scipy.special on first use
    Base.HALF_LINE: lambda n: scipy.special.roots_laguerre(n),
}
