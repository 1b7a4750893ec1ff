"""Nodes that are refined until the integral is resolved."""

import math

from jaxtyping import Array, Key

from fredholm.domains.base import AbstractDomain, Atoms, Nodes
from fredholm.rules.base import AbstractRule
from fredholm.rules.even import Even
from fredholm.rules.gauss import Gauss
from fredholm.rules.monte_carlo import MonteCarlo

NODES = {1: 64, 2: 24, 3: 12}  # on each axis, where a single draw of nodes is asked for


class Resolved(AbstractRule):
    """Fixed nodes, as many as the integral needs and of the kind that suits it: Gauss, graded towards singular ends, split at t = x.

    A solve with a series (`network=fr.Chebyshev()`) refines them until the integrals no longer change. Elsewhere: Gauss with many nodes.

    Examples:
        >>> import fredholm as fr
        >>> fr.solve(fr.problems.Volterra(), network=fr.Chebyshev(8), rule=fr.Resolved(), seeds=1, progress=False).steps
        1

    See also:
        `Gauss`, `Chebyshev`.
    """

    @property
    def is_random(self) -> bool:
        return False

    def size(self, domain: AbstractDomain) -> int:
        return self._rule(domain).size(domain)

    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        return self._rule(domain).nodes(domain, key)

    def check(self, domain: AbstractDomain) -> None:
        axes = [base for base in domain.bases if not isinstance(base, Atoms)]
        if domain.samples is None and len(axes) > max(NODES):
            raise ValueError(
                f"Resolved: got a measure with {len(axes)} axes; expected at most {max(NODES)}, since its nodes are a product of axes. "
                "Use MonteCarlo(n) or QuasiMonteCarlo(n)."
            )
        if domain.samples is not None:
            raise ValueError("Resolved: the measure is known by given samples only; use MonteCarlo(n).")

    def _rule(self, domain: AbstractDomain) -> AbstractRule:
        self.check(domain)
        axes = sum(not isinstance(base, Atoms) for base in domain.bases)
        return Gauss(NODES.get(axes, 1)) if domain.bases else MonteCarlo(1)


def levels(domain: AbstractDomain) -> list[AbstractRule]:
    """Gauss rules of growing size for a measure, the last one as large as is affordable."""
    axes = sum(not isinstance(base, Atoms) for base in domain.bases)
    counts = {0: (1,), 1: (12, 24, 48, 96, 192), 2: (8, 16, 32, 48), 3: (6, 10, 16)}.get(axes, ())
    return [rule for n in counts if (rule := Gauss(n)).fits(domain)]


def graded_levels(domain: AbstractDomain) -> list[AbstractRule]:
    """Evenly spaced nodes of growing number, for a `Graded` measure."""
    axes = sum(not isinstance(base, Atoms) for base in domain.bases)
    atoms = math.prod(base.count for base in domain.bases if isinstance(base, Atoms))
    counts = {1: (40, 80, 160), 2: (32, 48, 72)}.get(axes, ())
    return [Even(n) for n in counts if atoms * n**axes <= 25_000]
