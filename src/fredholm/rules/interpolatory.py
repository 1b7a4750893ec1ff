"""Nested rules that integrate the polynomial through their nodes: Clenshaw-Curtis and Leja."""

from functools import lru_cache

import equinox as eqx
import numpy as np
from numpy.polynomial.legendre import legvander

from fredholm.common.checks import positive_integer
from fredholm.domains.base import Base
from fredholm.rules.base import AbstractRandomization
from fredholm.rules.tensor import AbstractClosedRule

MAXIMUM_CLENSHAW_CURTIS = 1025
MAXIMUM_LEJA = 200  # Up to here every monomial is right to 1e-13 and sum |w| stays below 1.2.


class ClenshawCurtis(AbstractClosedRule):
    r"""The extrema of a Chebyshev polynomial, $z_i = \tfrac12\bigl(1 - \cos\tfrac{i\pi}{n-1}\bigr)$, with both end points.

    Exact to degree $n - 1$ (n for odd n), all weights positive, and nested where $n - 1$ doubles (Clenshaw and Curtis, 1960).
    One node is the middle.

    Args:
        n (int): nodes on each axis.
        randomize (randomisation): Rotation(), Shift(), or None; default: None.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.ClenshawCurtis(9).size(fr.Interval(0.0, 1.0))
        9

    See also:
        `Gauss`, `Leja`.
    """

    n: int = eqx.field(converter=lambda n: positive_integer("ClenshawCurtis n", n))  # nodes on each axis
    randomize: AbstractRandomization | None = None  # Rotation(), Shift(), or None

    def __check_init__(self) -> None:
        if self.n > MAXIMUM_CLENSHAW_CURTIS:
            raise ValueError(f"ClenshawCurtis n: got {self.n}; expected at most {MAXIMUM_CLENSHAW_CURTIS}.")

    def axis_nodes(self, base: Base) -> tuple[np.ndarray, np.ndarray]:
        if self.n == 1:
            return np.array([0.5]), np.ones(1)
        last = self.n - 1
        # The sine of a fraction is symmetric to the last bit, and the same number for the same node in every nested level.
        nodes = 0.5 + 0.5 * np.sin(0.5 * np.pi * ((2 * np.arange(self.n) - last) / last))
        # The integral of the cosine series of the interpolant: only its even terms have one.
        even = np.arange(0, last + 1, 2)
        terms = np.cos(np.pi * np.outer(np.arange(self.n), even) / last) * np.where((even == 0) | (even == last), 1.0, 2.0) / (1 - even**2)
        weights = np.sum(terms, axis=1) / last
        weights[[0, -1]] *= 0.5
        return nodes, weights

    def refined(self, level: int) -> "ClenshawCurtis":
        """Twice as many intervals between the nodes, from 1 node to 3, 5, 9, ...: nested."""
        if level == 0:
            return self
        return ClenshawCurtis(2**level + 1 if self.n == 1 else (self.n - 1) * 2**level + 1)


class Leja(AbstractClosedRule):
    r"""The first n points of the Leja sequence: from the middle, each next node is where the product of distances is largest,

    $$z_{i+1} = \operatorname*{arg\,max}_{z\in[0,1]} \prod_{j\le i} |z - z_j|,$$

    the left one of two that tie. Each rule adds one node to the last, so a sparse grid of them is the smallest of all.
    Exact to degree $n - 1$; some weights may be zero or negative (Leja, 1957; Narayan and Jakeman, 2014).

    Args:
        n (int): nodes on each axis.
        randomize (randomisation): Rotation(), Shift(), or None; default: None.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Leja(5).size(fr.Interval(0.0, 1.0))
        5

    See also:
        `ClenshawCurtis`, `Smolyak`.
    """

    n: int = eqx.field(converter=lambda n: positive_integer("Leja n", n))  # nodes on each axis
    randomize: AbstractRandomization | None = None  # Rotation(), Shift(), or None

    def __check_init__(self) -> None:
        if self.n > MAXIMUM_LEJA:
            raise ValueError(
                f"Leja n: got {self.n}; expected at most {MAXIMUM_LEJA}, where it is known to be stable. Use Gauss(n) or ClenshawCurtis(n)."
            )

    def axis_nodes(self, base: Base) -> tuple[np.ndarray, np.ndarray]:
        x = np.sort(leja_sequence(self.n))
        # In Legendre's basis the integral picks the constant, and the system is well conditioned at Leja's points.
        weights = np.linalg.solve(legvander(x, self.n - 1).T, np.eye(self.n)[0])
        return 0.5 * (x + 1), weights

    def refined(self, level: int) -> "Leja":
        return Leja(self.n + level)


@lru_cache(maxsize=512)
def leja_sequence(n: int) -> np.ndarray:
    """The first n Leja points on [-1, 1], in their order, from 0, -1, 1."""
    if n <= 3:
        return np.array([0.0, -1.0, 1.0][:n])
    known = leja_sequence(n - 1)
    ordered = np.sort(known)
    low, high = ordered[:-1].copy(), ordered[1:].copy()
    # Between two neighbours the logarithm of the product is concave: its derivative falls through zero once, so bisect it.
    for _ in range(60):
        middle = 0.5 * (low + high)
        rising = np.sum(1 / (middle[:, None] - ordered), axis=1) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    peaks = 0.5 * (low + high)
    heights = np.sum(np.log(np.abs(peaks[:, None] - ordered)), axis=1)
    best = np.flatnonzero(heights > np.max(heights) - 1e-10)[0]  # The left one of two mirror images that differ by rounding.
    return np.append(known, peaks[best])
