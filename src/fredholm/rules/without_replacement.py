"""Different atoms at random."""

import equinox as eqx
import jax
from jaxtyping import Array, Key

from fredholm.common.checks import positive_integer
from fredholm.domains.base import AbstractDomain, Atoms, Nodes
from fredholm.rules.base import AbstractRule


class WithoutReplacement(AbstractRule):
    r"""n different ones of m equally likely atoms: $\int g\,d\mu \approx \frac1n \sum_i \omega_i\,g(t_i)$, unbiased with variance
    $\frac{m - n}{m - 1}\,\text{Var}/n$, which is 0 where n is m.

    For `Directions(d, "axes")` and `Discrete(points)`. The nodes of one draw depend on each other, so double sampling draws twice.

    Args:
        n (int): how many of the atoms.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.WithoutReplacement(3).size(fr.Directions(10, "axes"))
        3

    See also:
        `Directions`, `Discrete`.
    """

    n: int = eqx.field(converter=lambda n: positive_integer("WithoutReplacement n", n))  # how many of the atoms

    def size(self, domain: AbstractDomain) -> int:
        return self.n

    @property
    def is_random(self) -> bool:
        return True

    def check(self, domain: AbstractDomain) -> None:
        base = domain.bases[0] if len(domain.bases) == 1 else None
        if not isinstance(base, Atoms) or base.shares is not None:
            raise ValueError(
                f"{self!r}: got {type(domain).__name__}; expected atoms that are all equally likely, as those of "
                "Directions(d, 'axes') or Discrete(points). Use MonteCarlo(n)."
            )
        if self.n > base.count:
            raise ValueError(f"{self!r}: {type(domain).__name__} has only {base.count} atoms; use Even(1), which takes them all.")

    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        self.check(domain)
        (base,) = domain.bases
        assert isinstance(base, Atoms)
        z = jax.random.permutation(key, base.count)[: self.n].astype(float)
        points, weights = jax.vmap(domain.map)(z[:, None])
        return Nodes(points, weights / self.n)
