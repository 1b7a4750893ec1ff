"""Independent random nodes."""

import equinox as eqx
import jax
from jaxtyping import Array, Key

from fredholm.common.checks import positive_integer
from fredholm.domains.base import AbstractDomain, Nodes
from fredholm.rules.base import AbstractRule


class MonteCarlo(AbstractRule):
    r"""N independent nodes: $\int g\,d\mu \approx \frac{1}{N}\sum_i \omega(z_i)\, g(t(z_i))$, unbiased with variance Var/N.

    Args:
        n (int): N, exactly this many points.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.MonteCarlo(8).size(fr.Box((0.0, 0.0), (1.0, 1.0)))
        8

    See also:
        `QuasiMonteCarlo`, `Antithetic`, `DelayedTarget`.
    """

    n: int = eqx.field(converter=lambda n: positive_integer("MonteCarlo n", n))  # N, exactly this many points

    def size(self, domain: AbstractDomain) -> int:
        return self.n

    @property
    def is_random(self) -> bool:
        return True

    @property
    def groups(self) -> tuple[int, ...]:
        return (self.n,)

    def check(self, domain: AbstractDomain) -> None:
        if domain.samples == 1 and self.n > 1:
            raise ValueError(
                f"{self!r}: there is one given sample at each x; use rule=MonteCarlo(1) with DelayedTarget(), which needs no more."
            )
        if domain.samples is not None and self.n > domain.samples:
            raise ValueError(
                f"{self!r}: there are only {domain.samples} given sample(s) at each x; use rule=MonteCarlo({domain.samples}) or fewer."
            )

    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        return domain.draws(key, self.n)

    def pair(self, other: AbstractRule, domain: AbstractDomain, key: Key[Array, ""]) -> tuple[Nodes, Nodes]:
        """Two parts of one draw of n + n' nodes, so that methods with equal point counts meet the same points."""
        if not isinstance(other, MonteCarlo):
            return super().pair(other, domain, key)
        total = self.n + other.n
        drawn = domain.draws(key, total)
        first, second = jax.tree.map(lambda leaf: leaf[: self.n], drawn), jax.tree.map(lambda leaf: leaf[self.n :], drawn)
        return Nodes(first.points, first.weights * (total / self.n)), Nodes(second.points, second.weights * (total / other.n))
