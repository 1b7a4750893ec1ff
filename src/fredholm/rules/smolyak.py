"""Sparse grids: a rule on one axis, combined so that the cost grows gently with the number of axes."""

import math

import equinox as eqx
import numpy as np

from fredholm.common.checks import positive_integer
from fredholm.domains.base import AbstractDomain, Base
from fredholm.rules.base import MAXIMUM_NODES, AbstractNodeRule, AbstractRandomization
from fredholm.rules.tensor import AbstractTensorRule, cached_axis_nodes, tensor_product


class Smolyak(AbstractNodeRule):
    r"""The sparse grid of level q from a rule $U_l$ on one axis and its refinements, $l = 0, 1, \ldots$ (Smolyak, 1963):

    $$A_q = \sum_{q-k+1 \le |l| \le q} (-1)^{q-|l|} \binom{k-1}{q-|l|}\; U_{l_1} \otimes \cdots \otimes U_{l_k}.$$

    `rule` is $U_0$ and says how $U_l$ grows: `Gauss(n)` and `Leja(n)` to n + l nodes, `ClenshawCurtis` and `Even` to nested ones.
    "Order q" of the paper is `Smolyak(Gauss(1), q)`. Weights may be negative, and $\sum|w|$ grows with the level and the axes.

    Args:
        rule (rule): U_0, the rule of level 0 on one axis: Gauss(1), Leja(1), ClenshawCurtis(1), Even(1), .
        level (int): q, the level of the sparse grid.
        randomize (randomisation): Rotation(), Shift() on bounded domains, or None; default: None.
        merge (bool): equal nodes become one; False keeps equal nodes, as the published runs do (same integral, more points); default: True.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Smolyak(fr.Gauss(1), 2).size(fr.Box((0.0,) * 4, (1.0,) * 4))
        41

    See also:
        `Gauss`, `Leja`, `QuasiMonteCarlo`.
    """

    rule: AbstractTensorRule = eqx.field(
        converter=lambda given: _axis_rule(given)
    )  # U_0, the rule of level 0 on one axis: Gauss(1), Leja(1), ClenshawCurtis(1), Even(1), ...
    level: int = eqx.field(converter=lambda level: positive_integer("Smolyak level", level, least=0))  # q, the level of the sparse grid
    randomize: AbstractRandomization | None = None  # Rotation(), Shift() on bounded domains, or None
    merge: bool = True  # equal nodes become one; False keeps equal nodes, as the published runs do (same integral, more points)

    def axis_measure(self, base: Base) -> Base:
        return self.rule.axis_measure(base)

    def base_nodes(self, bases: tuple[Base, ...]) -> tuple[np.ndarray, np.ndarray]:
        axes = len(bases)
        if axes == 0:
            raise ValueError(f"{self!r}: got a domain without an axis (a Point); expected one or more. Use MonteCarlo(1) or Even(1).")
        count = self._count(bases)
        if count > MAXIMUM_NODES:
            raise ValueError(
                f"{self!r} on {axes} axes needs {count:,} nodes, more than {MAXIMUM_NODES:,}. Lower the level, or use QuasiMonteCarlo(n)."
            )
        nodes, weights = [], []
        for total in range(max(0, self.level - axes + 1), self.level + 1):
            sign = (-1) ** (self.level - total) * math.comb(axes - 1, self.level - total)
            for levels in _compositions(total, axes):
                one = [cached_axis_nodes(self.rule.refined(level), base) for level, base in zip(levels, bases, strict=True)]
                product_nodes, product_weights = tensor_product(one)
                nodes.append(product_nodes)
                weights.append(sign * product_weights)
        stacked, signed = np.concatenate(nodes), np.concatenate(weights)
        return _merged(stacked, signed) if self.merge else (stacked, signed)

    def check(self, domain: AbstractDomain) -> None:
        self.rule.refined(self.level).check_axes(domain)
        super().check(domain)

    def _count(self, bases: tuple[Base, ...]) -> int:
        """The nodes before merging, without building them: a convolution of the sizes of the levels."""
        axes, counts = len(bases), [1, *[0] * self.level]
        for base in bases:
            sizes = [self.rule.refined(level).size_on(base) for level in range(self.level + 1)]
            counts = [sum(counts[total - level] * sizes[level] for level in range(total + 1)) for total in range(self.level + 1)]
        return sum(counts[max(0, self.level - axes + 1) :])


def _axis_rule(given: object) -> AbstractTensorRule:
    if not isinstance(given, AbstractTensorRule):
        raise ValueError(f"Smolyak rule: got {given!r}; expected a rule on one axis, for instance Gauss(1) or Leja(1).")
    if given.randomize is not None:
        raise ValueError(f"Smolyak rule: got {given!r}; expected one without randomize. Write Smolyak(..., randomize=...).")
    return given


def _compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to write `total` as an ordered sum of `parts` numbers from 0 up."""
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total, -1, -1) for rest in _compositions(total - first, parts - 1)]


def _merged(nodes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Equal nodes as one, with the sum of their weights; equal to 13 digits, since levels may round differently."""
    _, first, group = np.unique(np.round(nodes, 13) + 0.0, axis=0, return_index=True, return_inverse=True)
    return nodes[first], np.bincount(group.ravel(), weights=weights)
