"""Mixtures of distributions: defensive proposals for importance sampling."""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.common.checks import real, sequence
from fredholm.domains.base import AbstractDistribution, AbstractDomain, Base


class Mixture(AbstractDistribution):
    r"""One of several distributions, drawn with the shares $s_k$: the density is $\sum_k s_k\,p_k(t)$.

    As a proposal it is defensive where the plain law is one of the parts: with the share s of it, no weight of
    `Importance(rule, Mixture((plain, proposal), (s, 1 - s)))` exceeds 1/s. A measure with a mass, a box, counts as the uniform law on it.

    Args:
        parts (domains): the domains.
        shares (list): s, which sum to 1; default: None.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Mixture([fr.Interval(0.0, 1.0), fr.Interval(0.0, 0.1)], [0.5, 0.5]).dimension
        1

    See also:
        `Focused`, `Importance`.
    """

    parts: tuple[AbstractDomain, ...]
    shares: tuple[float, ...]  # s, which sum to 1

    def __init__(self, parts: Sequence[AbstractDomain], shares: Sequence[float] | None = None):
        self.parts = sequence("Mixture parts", parts)
        if not self.parts or not all(isinstance(part, AbstractDomain) and part.is_finite for part in self.parts):
            raise ValueError(f"Mixture parts: got {parts!r}; expected distributions, for instance (Normal((0.0,)), Normal((1.0,), 0.1)).")
        if len({part.dimension for part in self.parts}) > 1:
            raise ValueError(f"Mixture parts: got {[part.dimension for part in self.parts]} dimensions; expected the same.")
        shares = [1.0] * len(self.parts) if shares is None else sequence("Mixture shares", shares)
        given = [real("Mixture shares", share, low=0.0) for share in shares]
        if len(given) != len(self.parts) or not sum(given) > 0:
            raise ValueError(f"Mixture shares: got {shares!r}; expected {len(self.parts)} numbers of at least 0, not all 0.")
        self.shares = tuple(share / sum(given) for share in given)

    @property
    def dimension(self) -> int:
        return self.parts[0].dimension

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.UNIT, *(base for part in self.parts for base in part.bases))

    def map(self, z: Float[Array, "k"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        points, weights, start = [], [], 1
        for part in self.parts:
            point, weight = part.map(z[start : start + len(part.bases)])
            points.append(point)
            weights.append(weight / part.mass)  # 1, but where the part's own draws are not evenly weighted
            start += len(part.bases)
        chosen = jnp.searchsorted(jnp.cumsum(jnp.asarray(self.shares))[:-1], z[0], side="right")
        return jnp.stack(points)[chosen], jnp.stack([jnp.asarray(weight, float) for weight in weights])[chosen]

    def density(self, point: Float[Array, "d"]) -> Float[Array, ""]:
        each = [share * part.density(point) / part.mass for part, share in zip(self.parts, self.shares, strict=True)]
        return jnp.sum(jnp.stack(each))
