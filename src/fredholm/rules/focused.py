"""Nodes where a field is concentrated: rays from foci, and the plain nodes of the domain."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fredholm.common.checks import positive, positive_integer, real, rows
from fredholm.domains.base import AbstractDomain, Nodes
from fredholm.domains.rays import Rays
from fredholm.rules.base import AbstractRule
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.rules.quasi_monte_carlo import QuasiMonteCarlo
from fredholm.rules.randomize import Shift
from fredholm.rules.sequences import Lattice

Foci = tuple[tuple[float, ...], ...]


class Focused(AbstractRule):
    r"""Nodes on spheres, circles and balls that go where the field of point sources is: n₀ plain nodes, and n₁ by rays from the foci,

    $$\int g\,d\mu \approx \sum_i \frac{\mu}{n_0 + n_1\,q(t_i)}\,g(t_i),$$

    with q the density of the rays relative to the uniform law (`Rays`) and μ the measure of the domain. Both kinds of nodes have the
    same weight function, the balance heuristic (Veach and Guibas, 1995): the estimate is unbiased for every integrand and any focus, also a
    wrong one, and no weight exceeds μ/n₀. On a sphere in many dimensions the flux of a charge goes through a small cap, which uniform
    nodes miss: in ten dimensions 100 of them see less than half of it on three spheres of four.

    A focus outside of a sphere acts by its mirror point. With n = 1 the kind of the node is drawn.

    Args:
        n (int): n₀ + n₁, exactly this many points.
        foci (array): where the sources are, as points of the space: ((0.0, 0.0), ...).
        weights (array): their sizes; None: all alike.
        plain (float): the share of plain nodes; default: 0.5.
        quasi (bool): evenly spread nodes of each kind, a shifted lattice, instead of independent ones; default: False.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.Focused(16, foci=((0.0, 0.0),)).size(fr.Box((-1.0, -1.0), (1.0, 1.0)))
        16

    See also:
        `Importance`, `Mixture`.
    """

    n: int = eqx.field(converter=lambda n: positive_integer("Focused n", n))  # n₀ + n₁, exactly this many points
    foci: Foci = eqx.field(converter=lambda foci: _points(foci))  # where the sources are, as points of the space: ((0.0, 0.0), ...)
    weights: tuple[float, ...] | None = eqx.field(default=None, converter=lambda weights: _weights(weights))  # their sizes; None: all alike
    plain: float = 0.5  # the share of plain nodes
    quasi: bool = False  # evenly spread nodes of each kind, a shifted lattice, instead of independent ones

    def __check_init__(self) -> None:
        real("Focused plain", self.plain, low=0.0, high=1.0)
        if self.weights is not None and len(self.weights) != len(self.foci):
            raise ValueError(f"Focused weights: got {len(self.weights)}; expected {len(self.foci)}, one for each focus.")

    def size(self, domain: AbstractDomain) -> int:
        return self.n

    @property
    def is_random(self) -> bool:
        return True

    @property
    def groups(self) -> tuple[int, ...]:
        return () if self.quasi else tuple(n for n in self._counts if n)

    @property
    def _counts(self) -> tuple[int, int]:
        return counts_of(self.n, self.plain)

    def check(self, domain: AbstractDomain) -> None:
        if len(self.foci[0]) != domain.dimension:
            raise ValueError(
                f"Focused foci: got points in {len(self.foci[0])} dimensions; expected {domain.dimension}, as {type(domain).__name__} has."
            )
        _ = self._rays(domain).bases  # raises where there are no rays

    def nodes(self, domain: AbstractDomain, key: Key[Array, ""]) -> Nodes:
        self.check(domain)
        rays, (n_plain, n_rays) = self._rays(domain), self._counts
        key_plain, key_rays, key_kind = jax.random.split(key, 3)
        if self.n == 1:
            kinds = [self._drawn(one, 1, k) for one, k in ((domain, key_plain), (rays, key_rays))]
            points = jnp.where(jax.random.uniform(key_kind) < self.plain, *kinds)
            plain, focused = self.plain, 1 - self.plain
        else:
            kinds = [self._drawn(one, n, k) for one, n, k in ((domain, n_plain, key_plain), (rays, n_rays, key_rays)) if n]
            points, plain, focused = jnp.concatenate(kinds), n_plain, n_rays
        return mixed_nodes(domain, rays, points, plain, focused)

    def _drawn(self, domain: AbstractDomain, n: int, key: Key[Array, ""]) -> Array:
        rule = QuasiMonteCarlo(n, Lattice(), Shift()) if self.quasi else MonteCarlo(n)
        return rule.nodes(domain, key).points

    def _rays(self, domain: AbstractDomain) -> Rays:
        weights = jnp.ones(len(self.foci)) if self.weights is None else jnp.asarray(self.weights, float)
        return Rays(domain, jnp.asarray(self.foci, float), weights)


def counts_of(n: int, share: float) -> tuple[int, int]:
    """n₀ and n₁. At least one of each kind that there is; a single node is drawn from the mixture and counts as a ray."""
    plain = round(share * n)
    if n > 1:
        plain = max(plain, int(share > 0))
        plain = min(plain, n - int(share < 1))
    return (plain, n - plain) if n > 1 else (0, 1)


def mixed_nodes(domain: AbstractDomain, rays: Rays, points: Float[Array, "k d"], plain: float | int, focused: float | int) -> Nodes:
    """These points with the weights of the mixture of n₀ plain nodes and n₁ rays."""
    # The logarithm of n₀ + n₁ q: q itself overflows in many dimensions.
    shares = [math.log(share) if share else -math.inf for share in (plain, focused)]
    each = jnp.logaddexp(shares[0], shares[1] + jax.vmap(rays.log_ratio)(points))
    return Nodes(points, jnp.asarray(domain.mass) * jnp.exp(-each))


def _points(given: object) -> Foci:
    return tuple(tuple(float(entry) for entry in row) for row in rows("Focused foci", given))


def _weights(given: Sequence[float] | np.ndarray | None) -> tuple[float, ...] | None:
    return None if given is None else tuple(float(positive("Focused weights", abs(float(w)), "the size of a source")) for w in given)
