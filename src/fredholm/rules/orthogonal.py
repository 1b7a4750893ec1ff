"""Random directions that are perpendicular to each other."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.common.checks import positive_integer
from fredholm.common.linear_algebra import orthonormal_columns
from fredholm.domains.base import AbstractDomain, Nodes
from fredholm.domains.directions import Directions
from fredholm.rules.base import AbstractRule


class Orthogonal(AbstractRule):
    r"""n random directions of `Directions(d, "sphere")`, perpendicular to each other in blocks of at most d: each is uniform, and

    $$\Delta u \approx \frac1n \sum_i \partial_{v_i}^2 u$$

    is unbiased with variance $\frac{d - n}{d - 1}\,\text{Var}/n$ for n ≤ d, which is 0 for n = d: a whole block is the trace of the Hessian
    in a turned frame (Choromanski et al., 2017). The directions of one draw depend on each other, so double sampling draws twice. The
    blocks are made by Gram and Schmidt, which costs n² d operations for each x.

    Args:
        n: the number of directions.

    Examples:
        >>> import fredholm as fr
        >>> fr.Orthogonal(3).size(fr.Directions(10, "sphere"))
        3

    See also:
        `Directions`, `WithoutReplacement`, `laplacian`.
    """

    n: int = eqx.field(converter=lambda n: positive_integer("Orthogonal n", n))  # directions

    def size(self, domain: AbstractDomain) -> int:
        return self.n

    @property
    def is_random(self) -> bool:
        return True

    def check(self, domain: AbstractDomain) -> None:
        if not isinstance(domain, Directions) or domain.kind != "sphere":
            raise ValueError(
                f"{self!r}: got {domain if isinstance(domain, Directions) else type(domain).__name__}; expected Directions(d, 'sphere'). "
                "Use MonteCarlo(n)."
            )

    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        self.check(domain)
        d = domain.dimension
        blocks = math.ceil(self.n / d)

        def block(key: Key[Array, ""]) -> Float[Array, "k d"]:
            return orthonormal_columns(jax.random.normal(key, (d, min(self.n, d)))).T

        directions = jnp.concatenate(list(jax.vmap(block)(jax.random.split(key, blocks))))[: self.n]
        return Nodes(math.sqrt(d) * directions, jnp.full((self.n,), 1 / self.n))
