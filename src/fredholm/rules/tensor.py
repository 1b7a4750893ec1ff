"""Rules on one axis, and their tensor products."""

import math
from abc import abstractmethod
from functools import lru_cache

import equinox as eqx
import numpy as np

from fredholm.domains.base import AbstractDomain, Atoms, Base
from fredholm.rules.base import MAXIMUM_NODES, AbstractNodeRule


class AbstractTensorRule(AbstractNodeRule):
    r"""n nodes on each axis, $n^k$ on k axes: $\sum_{i_1} w_{i_1} \cdots \sum_{i_k} w_{i_k}\, h(z_{i_1}, \ldots, z_{i_k})$."""

    n: eqx.AbstractVar[int]  # nodes on each axis

    @abstractmethod
    def axis_nodes(self, base: Base) -> tuple[np.ndarray, np.ndarray]:
        """n increasing nodes and weights that sum to 1, on one axis."""

    @abstractmethod
    def refined(self, level: int) -> "AbstractTensorRule":
        """The rule `level` steps finer, on one axis. Sparse grids are built from these."""

    def axis_measure(self, base: Base) -> Base:
        return base if isinstance(base, Atoms) else Base.UNIT

    def size_on(self, base: Base) -> int:
        """The number of nodes on one axis: n, or every atom."""
        return base.count if isinstance(base, Atoms) else self.n

    def check_axes(self, domain: AbstractDomain) -> None:
        """Raises `ValueError` where one of the domain's axes does not allow this rule."""

    def check(self, domain: AbstractDomain) -> None:
        self.check_axes(domain)
        super().check(domain)

    def base_nodes(self, bases: tuple[Base, ...]) -> tuple[np.ndarray, np.ndarray]:
        count = math.prod(map(self.size_on, bases))
        if count > MAXIMUM_NODES:
            power = "" if any(isinstance(base, Atoms) for base in bases) else f"{self.n}^{len(bases)} = "
            raise ValueError(
                f"{self!r} on {len(bases)} axes needs {power}{count:.4g} nodes, more than {MAXIMUM_NODES:,}. "
                "Use fewer, or a rule whose cost does not grow like that: Smolyak(rule, level), QuasiMonteCarlo(n), MonteCarlo(n)."
            )
        return tensor_product([cached_axis_nodes(self, base) for base in bases])


class AbstractClosedRule(AbstractTensorRule):
    """A rule that uses the end points of the unit interval, so it works on bounded axes only."""

    def check_axes(self, domain: AbstractDomain) -> None:
        unbounded = [base.value for base in domain.bases if not base.has_end]
        if unbounded:
            raise ValueError(
                f"{type(self).__name__} has nodes at the end points of the unit interval, and on {type(domain).__name__} "
                f"({unbounded[0]}) an end point is infinity. Use Gauss(n), Even(n), QuasiMonteCarlo(n) or MonteCarlo(n)."
            )


def tensor_product(axes: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Every combination of one node per axis, with the product of their weights; no axis gives one node of weight 1."""
    if not axes:
        return np.zeros((1, 0)), np.ones(1)
    nodes = np.meshgrid(*[nodes for nodes, _ in axes], indexing="ij")
    weights = np.ones(1)
    for _, axis_weights in axes:
        weights = np.multiply.outer(weights, axis_weights).ravel()
    return np.stack([axis.ravel() for axis in nodes], axis=-1), weights


@lru_cache(maxsize=1024)
def cached_axis_nodes(rule: AbstractTensorRule, base: Base) -> tuple[np.ndarray, np.ndarray]:
    """`rule.axis_nodes(base)`, cached. An axis of atoms has all atoms as nodes."""
    return base.nodes() if isinstance(base, Atoms) else rule.axis_nodes(base)
