"""A closed polygon of thin wires with a current: its vector potential, its magnetic field, and the current through a disc."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.checks import real, shortened
from fredholm.domains.base import Record

FOUR_PI = 4 * np.pi
TINY = 1e-30  # The square of a length below the resolution of float32: it keeps values on a wire finite.


class Wires(eqx.Module):
    r"""The current I around the polygon $v_1 \to v_2 \to \cdots \to v_m \to v_1$, with one convention of signs throughout:

    $$\nabla \times A = B, \qquad \nabla \times B = J, \qquad A(x) = +\frac{I}{4\pi} \oint \frac{dl'}{|x - l'|}.$$

    So the loop integral of B around a disc, by the right-hand rule about its normal n, is the current that crosses the disc along +n. (The
    paper's closed forms have −I: there $\nabla\times\nabla\times A = -J$.)
    """

    vertices: Float[Array, "m 3"]  # v, in the direction of the current; the last is joined to the first
    current: float  # I

    def __init__(self, vertices: object, current: float = 1.0):
        """`vertices` of shape (m, 3), or the segments as pairs (start, end) of shape (m, 2, 3), which must close."""
        self.vertices = jnp.asarray(_polygon(vertices), float)
        self.current = real("current", current)

    @property
    def segments(self) -> tuple[Float[Array, "m 3"], Float[Array, "m 3"]]:
        """The starts and the ends of the wires."""
        return self.vertices, jnp.roll(self.vertices, -1, axis=0)

    def potential(self, x: Float[Array, "3"]) -> Float[Array, "3"]:
        r"""$A(x) = \frac{I}{4\pi} \sum_k e_k \ln\frac{r_a + r_b + \ell}{r_a + r_b - \ell}$, over segments of direction e and length ℓ.

        The denominator is the sum of $r_a - z_a$ and $r_b + z_b$, where z is measured along the wire from either end. Each is computed
        without a difference of nearly equal numbers, so that no digits are lost near a wire or on its axis.
        """
        near = _Seen(x, *self.segments)
        gap = _without_cancelling(near.distance_start, near.along_start, near.off_axis_squared)
        gap += _without_cancelling(near.distance_end, -near.along_end, near.off_axis_squared)
        return self.current / FOUR_PI * jnp.log1p(2 * near.length / jnp.maximum(gap, TINY)) @ near.direction

    def field(self, x: Float[Array, "3"]) -> Float[Array, "3"]:
        r"""$B(x) = \frac{I}{4\pi} \sum_k \frac{(r_a + r_b)\;\vec r_a \times \vec r_b}{r_a r_b\,(r_a r_b + \vec r_a \cdot \vec r_b)}$, with
        $\vec r_a, \vec r_b$ from the ends of the segment to x, and $\vec r_a \times \vec r_b = \ell\,e \times \vec r_a$."""
        near = _Seen(x, *self.segments)
        lengths, along, off_axis = near.distance_start * near.distance_end, near.along_start * near.along_end, near.off_axis_squared
        # Beside the wire z_a z_b < 0, and r_a r_b + z_a z_b is a small difference of large numbers. So it is computed as
        # (r_a r_b)² - (z_a z_b)² over r_a r_b - z_a z_b.
        beside = off_axis * (near.along_start**2 + near.along_end**2 + off_axis) / (lengths + jnp.abs(along))
        bracket = off_axis + jnp.where(along < 0, beside, lengths + jnp.maximum(along, 0.0))
        scale = near.length * (near.distance_start + near.distance_end) / (lengths * jnp.maximum(bracket, TINY))
        return self.current / FOUR_PI * scale @ near.across

    def enclosed(self, center: Float[Array, "3"], radius: Float[Array, ""] | float, normal: Float[Array, "3"]) -> Float[Array, ""]:
        """The current through a disc: +I for every wire that crosses it along the normal, −I for every wire that crosses it against."""
        start, end = self.segments
        height_start, height_end = (start - center[None]) @ normal, (end - center[None]) @ normal
        above_start, above_end = height_start > 0, height_end > 0  # A vertex in the plane counts as below, for both of its wires.
        crosses = above_start != above_end
        share = height_start / jnp.where(crosses, height_start - height_end, 1.0)
        crossing = start + share[:, None] * (end - start)
        inside = jnp.sum((crossing - center[None]) ** 2, axis=-1) < radius**2
        sign = above_end.astype(float) - above_start.astype(float)
        return self.current * jnp.sum(jnp.where(inside, sign, 0.0))

    def through(self, disc: Record) -> Float[Array, ""]:
        """`enclosed` for a disc with named parts."""
        return self.enclosed(disc.center, disc.radius, disc.normal)


class _Seen(eqx.Module):
    """The segments relative to a point x: distances, and coordinates along and across each wire."""

    direction: Float[Array, "m 3"]  # e
    length: Float[Array, "m"]  # ℓ
    along_start: Float[Array, "m"]  # z_a = (x - a)·e
    along_end: Float[Array, "m"]  # z_b = (x - b)·e
    across: Float[Array, "m 3"]  # e × (x - a)
    off_axis_squared: Float[Array, "m"]  # ρ², the squared distance from the wire's axis
    distance_start: Float[Array, "m"]  # r_a
    distance_end: Float[Array, "m"]  # r_b

    def __init__(self, x: Float[Array, "3"], start: Float[Array, "m 3"], end: Float[Array, "m 3"]):
        self.length = jnp.linalg.norm(end - start, axis=-1)
        self.direction = (end - start) / self.length[:, None]
        self.along_start = jnp.sum((x[None] - start) * self.direction, axis=-1)
        self.along_end = jnp.sum((x[None] - end) * self.direction, axis=-1)
        # From the nearer end, whose difference to x is more exact.
        nearer = jnp.where((self.along_start + self.along_end > 0)[:, None], x[None] - end, x[None] - start)
        self.across = jnp.cross(self.direction, nearer)
        self.off_axis_squared = jnp.sum(self.across**2, axis=-1)
        self.distance_start = jnp.sqrt(self.along_start**2 + self.off_axis_squared + TINY)
        self.distance_end = jnp.sqrt(self.along_end**2 + self.off_axis_squared + TINY)


def _without_cancelling(r: Float[Array, "m"], z: Float[Array, "m"], off_axis_squared: Float[Array, "m"]) -> Float[Array, "m"]:
    r"""$r - z$ for $r^2 = z^2 + \rho^2$: directly where z < 0, and as $\rho^2/(r + z)$ where the difference would cancel."""
    return jnp.where(z > 0, off_axis_squared / (r + jnp.abs(z)), r + jnp.abs(z))


def _polygon(vertices: object) -> np.ndarray:
    """The vertices of a closed polygon as an array (m, 3), or a `ValueError` that says what is wrong."""
    try:
        given = np.asarray(vertices, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"vertices: got {shortened(vertices)}; expected points of 3 coordinates each.") from None
    if given.ndim == 3 and given.shape[1:] == (2, 3):
        if not np.allclose(given[:, 1], np.roll(given[:, 0], -1, axis=0)):
            raise ValueError(
                "vertices: the segments do not close; expected every segment to start where the previous one ends, the first one too."
            )
        given = given[:, 0]
    if given.ndim != 2 or given.shape[1] != 3:
        raise ValueError(
            f"vertices: got shape {given.shape}; expected (m, 3), the corners of a closed polygon, or (m, 2, 3), its segments."
        )
    if not np.all(np.isfinite(given)):
        raise ValueError("vertices: got a coordinate that is not finite.")
    if len(given) > 1 and np.array_equal(given[0], given[-1]):
        given = given[:-1]  # The first corner may be repeated at the end.
    if len(given) < 3:
        raise ValueError(f"vertices: got {len(given)} different corners; a current needs a closed polygon of at least 3.")
    if not np.all(np.linalg.norm(given - np.roll(given, -1, axis=0), axis=1) > 0):
        raise ValueError("vertices: got the same corner twice in a row; expected wires of positive length.")
    return given
