"""Evenly spaced nodes: midpoints."""

import equinox as eqx
import numpy as np

from fredholm.common.checks import positive_integer
from fredholm.domains.base import Base
from fredholm.rules.base import AbstractRandomization
from fredholm.rules.tensor import AbstractTensorRule


class Even(AbstractTensorRule):
    r"""The midpoints $(i + \tfrac12)/n$ on each axis of the unit cube, with equal weights; $n^k$ nodes on k axes.

    On the circle these are n evenly spaced angles, which integrate every trigonometric polynomial of degree below n exactly.
    On a smooth integrand that is not periodic the error falls like $n^{-2}$.

    Args:
        n (int): nodes on each axis.
        randomize (randomisation): Shift(), Rotation(), or None; default: None.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Even(8).size(fr.Interval(0.0, 1.0))
        8
        >>> fr.Even(4, randomize=fr.Shift()).is_random
        True

    See also:
        `Gauss`, `Rotation`, `Shift`.
    """

    n: int = eqx.field(converter=lambda n: positive_integer("Even n", n))  # nodes on each axis
    randomize: AbstractRandomization | None = None  # Shift(), Rotation(), or None

    def axis_nodes(self, base: Base) -> tuple[np.ndarray, np.ndarray]:
        return (np.arange(self.n) + 0.5) / self.n, np.full(self.n, 1 / self.n)

    def refined(self, level: int) -> "Even":
        """Three times as many: a midpoint of n intervals is one of 3n intervals, so the nodes are nested."""
        return Even(self.n * 3**level)
