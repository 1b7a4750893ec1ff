"""Rays from foci: the points where they meet a sphere or end inside a ball, with their exact density."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from fredholm.domains.base import AbstractDistribution, AbstractDomain, Base, Nodes
from fredholm.domains.normalized_sphere import NormalizedSphere
from fredholm.domains.round import Ball, Circle, Sphere, plane_basis, random_directions
from fredholm.domains.sphere_map import direction_from_unit

ROOM = 1e-3  # a focus is at least this share of the radius away from the surface: nearer, float32 does not know the direction of a ray


class Rays(AbstractDistribution):
    r"""The point where a ray of uniform direction from a focus s inside a sphere meets it. Relative to the uniform law of the sphere of
    radius r round c its density is, with $\rho = |t - s|/r$ and the angle α between the ray and the normal,

    $$q(t) = \frac{\cos\alpha}{\rho^{d-1}} = \frac{\rho^2 + 1 - |s - c|^2/r^2}{2\,\rho^d},$$

    the flux of a unit charge at s. A focus outside is replaced by its mirror point $c + r^2 (s - c)/|s - c|^2$. On a circle in space it is
    projected into the plane. In a ball the ray ends at a uniform share of its length L r, and $q(t) = 1/(d\,\rho^{d-1} L)$: that takes
    up a singularity of $|t - s|^{1-d}$. Of several foci one is drawn in proportion to $w_i \min(1, (|s_i - c|/r)^{1-d})$, the flux that
    a charge of this weight sends through the sphere where it is nearest.
    """

    over: AbstractDomain  # a Sphere, a NormalizedSphere, a Circle or a Ball
    foci: Float[Array, "c d"]  # s, in the coordinates of the domain's points
    weights: Float[Array, "c"]  # w > 0

    @property
    def dimension(self) -> int:
        return self.over.dimension

    @property
    def bases(self) -> tuple[Base, ...]:
        place = _place(self.over)
        return (Base.UNIT,) * ((len(self.foci) > 1) + place.axes - 1 + place.is_ball)

    def map(self, z: Float[Array, "k"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        place = _place(self.over)
        shares, first = self._sources(place)[1], int(len(self.foci) > 1)
        chosen = jnp.searchsorted(jnp.cumsum(jnp.exp(shares))[:-1], z[0], side="right") if first else jnp.asarray(0)
        length = z[-1] if place.is_ball else jnp.ones(())
        point = self._end(place, chosen, direction_from_unit(z[first : first + place.axes - 1]), length)
        return place.outward(point), jnp.ones(())

    def draws(self, key: Key[Array, ""], n: int) -> Nodes:
        place = _place(self.over)
        key_focus, key_direction, key_length = jax.random.split(key, 3)
        _, shares = self._sources(place)
        chosen = jax.random.categorical(key_focus, shares, shape=(n,)) if len(self.foci) > 1 else jnp.zeros((n,), int)
        lengths = jax.random.uniform(key_length, (n,)) if place.is_ball else jnp.ones((n,))
        ends = jax.vmap(lambda *ray: place.outward(self._end(place, *ray)))
        return Nodes(ends(chosen, random_directions(key_direction, n, place.axes), lengths), jnp.full((n,), 1 / n))

    def log_ratio(self, point: Float[Array, "d"]) -> Float[Array, ""]:
        """The logarithm of q, the density relative to the uniform law of the domain."""
        place = _place(self.over)
        sources, shares = self._sources(place)
        away = place.inward(point)[None] - sources
        square = jnp.maximum(jnp.sum(away**2, axis=1), jnp.finfo(away.dtype).tiny)
        room = 1 - jnp.sum(sources**2, axis=1)
        if place.is_ball:
            reach = _reach(sources, away / jnp.sqrt(square)[:, None])
            each = -jnp.log(place.axes * reach) - 0.5 * (place.axes - 1) * jnp.log(square)
        else:
            each = jnp.log(0.5 * (square + room)) - 0.5 * place.axes * jnp.log(square)
        return jax.scipy.special.logsumexp(shares + each)

    def _sources(self, place: "_Place") -> tuple[Float[Array, "c a"], Float[Array, "c"]]:
        """Where the rays start, as points of the unit ball, and the logarithm of the share of each focus."""
        relative = jax.vmap(place.inward)(jnp.asarray(self.foci, float))
        distance = jnp.linalg.norm(relative, axis=1, keepdims=True)
        beyond = jnp.maximum(distance, 1.0)
        mirrored = relative / (beyond if place.is_ball else beyond**2)
        inside = jnp.linalg.norm(mirrored, axis=1, keepdims=True)
        sources = mirrored * jnp.minimum(1.0, (1 - ROOM) / jnp.maximum(inside, 1 - ROOM))
        strength = jnp.log(jnp.asarray(self.weights, float)) - (place.axes - 1) * jnp.log(beyond[:, 0])
        return sources, jax.nn.log_softmax(strength)

    def _end(self, place: "_Place", chosen: Int[Array, ""], direction: Float[Array, "a"], length: Float[Array, ""]) -> Float[Array, "a"]:
        """The end of a ray, as a point of the unit ball."""
        source = self._sources(place)[0][chosen]
        end = source + length * _reach(source[None], direction[None])[0] * direction
        return end if place.is_ball else end / jnp.linalg.norm(end)


def _reach(sources: Float[Array, "c a"], directions: Float[Array, "c a"]) -> Float[Array, "c"]:
    """The length of a ray from a point of the unit ball to its surface."""
    along = jnp.sum(sources * directions, axis=1)
    return jnp.sqrt(along**2 + 1 - jnp.sum(sources**2, axis=1)) - along


class _Place(NamedTuple):
    """A round domain as the unit sphere, circle or ball."""

    center: Float[Array, "d"]
    radius: Float[Array, ""]
    plane: Float[Array, "2 d"] | None  # two unit vectors of the plane of a circle in space
    is_ball: bool

    @property
    def axes(self) -> int:
        """a, the dimension of the unit ball: 2 for a circle in space."""
        return self.center.shape[0] if self.plane is None else 2

    def inward(self, point: Float[Array, "d"]) -> Float[Array, "a"]:
        relative = (point - self.center) / self.radius
        return relative if self.plane is None else self.plane @ relative

    def outward(self, unit: Float[Array, "a"]) -> Float[Array, "d"]:
        return self.center + self.radius * (unit if self.plane is None else unit @ self.plane)


def _place(domain: AbstractDomain) -> _Place:
    if isinstance(domain, NormalizedSphere):
        domain = domain.sphere
    if not isinstance(domain, (Sphere, Circle, Ball)):
        raise ValueError(
            f"rays from foci: got {type(domain).__name__}; expected a Sphere, a Circle or a Ball. Elsewhere use Importance(rule, proposal)."
        )
    center, radius = jnp.asarray(domain.center, float), jnp.asarray(domain.radius, float)
    plane = jnp.stack(plane_basis(jnp.asarray(domain.normal, float))) if isinstance(domain, Circle) else None
    return _Place(center, radius, plane, isinstance(domain, Ball))
