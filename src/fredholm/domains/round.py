"""Balls, spheres and circles."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.common.checks import Number, Numbers, Scalar, Vector, is_concrete, scalar, vector
from fredholm.common.linear_algebra import orthonormal_columns
from fredholm.domains.base import AbstractDomain, Base, Nodes
from fredholm.domains.sphere_map import direction_from_unit


def unit_sphere_area(dimension: int) -> float:
    r"""$|S^{d-1}| = 2\pi^{d/2}/\Gamma(d/2)$, through the logarithm so that no d overflows."""
    return math.exp(math.log(2.0) + 0.5 * dimension * math.log(math.pi) - math.lgamma(0.5 * dimension))


def random_directions(key: Key[Array, ""], n: int, dimension: int) -> Float[Array, "n d"]:
    """n independent uniform directions: an angle in the plane, normalised normals elsewhere."""
    if dimension == 2:
        angle = 2 * jnp.pi * jax.random.uniform(key, (n,))
        return jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
    z = jax.random.normal(key, (n * dimension,)).reshape(n, dimension)
    return z / jnp.linalg.norm(z, axis=-1, keepdims=True)


class Sphere(AbstractDomain):
    r"""$\{t : |t - c| = r\}$ with surface area as its measure, $A = r^{d-1}\,|S^{d-1}|$.

    The cube's nodes reach it through the inverse distribution functions of the hyperspherical angles; the unit
    normal at t is $(t - c)/r$.

    Args:
        center (array): c, of shape (d,), d >= 2.
        radius (number): r, a positive number; default: 1.0.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> round(float(fr.Sphere((0.0, 0.0, 0.0)).mass), 4)
        12.5664

    See also:
        `Ball`, `Circle`, `NormalizedSphere`.
    """

    center: Vector  # c, of shape (d,), d >= 2
    radius: Scalar  # r, a positive number

    def __init__(self, center: Numbers, radius: Number = 1.0):
        self.center, self.radius = vector("Sphere center", center), radius_of("Sphere", radius)
        if len(self.center) < 2:
            raise ValueError("Sphere: got a center in 1 dimension; expected 2 or more. In 1-D the sphere is two Points.")

    @property
    def dimension(self) -> int:
        return len(self.center)

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.UNIT,) * (self.dimension - 1)

    @property
    def mass(self) -> Float[Array, ""]:
        return unit_sphere_area(self.dimension) * jnp.asarray(self.radius) ** (self.dimension - 1)

    def map(self, z: Float[Array, "k"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        return jnp.asarray(self.center) + self.radius * direction_from_unit(z), self.mass

    def draws(self, key: Key[Array, ""], n: int) -> Nodes:
        points = jnp.asarray(self.center)[None] + self.radius * random_directions(key, n, self.dimension)
        return Nodes(points, jnp.full((n,), self.mass / n))

    def rotate(self, key: Key[Array, ""], points: Float[Array, "n d"]) -> Float[Array, "n d"]:
        center = jnp.asarray(self.center)[None]
        return center + (points - center) @ haar_rotation(key, self.dimension).T


class Ball(AbstractDomain):
    r"""$\{t : |t - c| \le r\}$ with volume as its measure, $V = r^d\,|S^{d-1}|/d$; the first base axis is $(\rho/r)^d$.

    Args:
        center (array): c, of shape (d,).
        radius (number): r, a positive number; default: 1.0.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> round(float(fr.Ball((0.0, 0.0, 0.0), 2.0).mass), 4)
        33.5103

    See also:
        `Sphere`, `Disc`.
    """

    center: Vector  # c, of shape (d,)
    radius: Scalar  # r, a positive number

    def __init__(self, center: Numbers, radius: Number = 1.0):
        self.center, self.radius = vector("Ball center", center), radius_of("Ball", radius)
        if len(self.center) < 2:
            raise ValueError("Ball: got a center in 1 dimension; expected 2 or more. In 1-D use Interval.")

    @property
    def dimension(self) -> int:
        return len(self.center)

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.UNIT,) * self.dimension

    @property
    def mass(self) -> Scalar:
        # A known radius stays a Python number: in 100 dimensions the volume of the unit ball, 2e-40, is 0 in float32.
        return unit_sphere_area(self.dimension) / self.dimension * self.radius**self.dimension

    def map(self, z: Float[Array, "d"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        radius = self.radius * z[0] ** (1 / self.dimension)
        return jnp.asarray(self.center) + radius * direction_from_unit(z[1:]), jnp.asarray(self.mass, float)

    def draws(self, key: Key[Array, ""], n: int) -> Nodes:
        key_radius, key_direction = jax.random.split(key)
        radius = self.radius * jax.random.uniform(key_radius, (n, 1)) ** (1 / self.dimension)
        points = jnp.asarray(self.center)[None] + radius * random_directions(key_direction, n, self.dimension)
        return Nodes(points, jnp.full((n,), self.mass / n))

    def density(self, point: Float[Array, "d"]) -> Float[Array, ""]:
        return jnp.where(jnp.sum((point - jnp.asarray(self.center)) ** 2) <= jnp.asarray(self.radius) ** 2, 1.0, 0.0)


class Circle(AbstractDomain):
    r"""The circle of radius r round c in the plane with unit normal n in 3-D, with arc length as its measure, $2\pi r$.

    $t(z) = c + r(\cos 2\pi z\, e_1 + \sin 2\pi z\, e_2)$ with $e_1, e_2, n$ right-handed, so that the positive tangent at t is
    $n \times (t - c)/r$.

    Args:
        center (array): c, of shape (3,).
        radius (number): r, a positive number; default: 1.0.
        normal (array): n, of shape (3,); it is normalised; default: (0.0, 0.0, 1.0).

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> round(float(fr.Circle((0.0, 0.0, 0.0), 1.0, (0.0, 0.0, 1.0)).mass), 4)
        6.2832

    See also:
        `Disc`, `Sphere`.
    """

    center: Vector  # c, of shape (3,)
    radius: Scalar  # r, a positive number
    normal: Vector  # n, of shape (3,); it is normalised

    def __init__(self, center: Numbers, radius: Number = 1.0, normal: Numbers = (0.0, 0.0, 1.0)):
        self.center, self.radius = vector("Circle center", center), radius_of("Circle", radius)
        self.normal = vector("Circle normal", normal)
        if len(self.center) != 3 or len(self.normal) != 3:
            raise ValueError(
                f"Circle: got a center in {len(self.center)} and a normal in {len(self.normal)} dimensions; expected 3 and 3. "
                "In the plane use Sphere."
            )
        if is_concrete(self.normal) and not any(float(entry) for entry in self.normal):
            raise ValueError("Circle normal: got the zero vector; expected a direction.")

    @property
    def dimension(self) -> int:
        return 3

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.UNIT,)

    @property
    def mass(self) -> Float[Array, ""]:
        return 2 * math.pi * jnp.asarray(self.radius)

    def map(self, z: Float[Array, "1"]) -> tuple[Float[Array, "3"], Float[Array, ""]]:
        first, second = plane_basis(jnp.asarray(self.normal))
        angle = 2 * jnp.pi * z[0]
        return jnp.asarray(self.center) + self.radius * (jnp.cos(angle) * first + jnp.sin(angle) * second), self.mass

    def rotate(self, key: Key[Array, ""], points: Float[Array, "n 3"]) -> Float[Array, "n 3"]:
        first, second = plane_basis(jnp.asarray(self.normal))
        center, plane = jnp.asarray(self.center)[None], jnp.stack([first, second])
        return center + (points - center) @ plane.T @ haar_rotation(key, 2).T @ plane


def plane_basis(normal: Float[Array, "3"]) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
    """Two unit vectors that make a right-handed frame with the normal, without a branch (Duff et al., JCGT 2017)."""
    x, y, z = normal / jnp.linalg.norm(normal)
    sign = jnp.where(z >= 0, 1.0, -1.0)
    a = -1.0 / (sign + z)
    b = x * y * a
    return jnp.stack([1 + sign * x * x * a, sign * b, -sign * x]), jnp.stack([b, sign + y * y * a, -y])


def radius_of(owner: str, value: Number) -> Scalar:
    """A radius. The size of a traced value is not checked."""
    known = scalar(f"{owner} radius", value)
    if is_concrete(known) and float(known) < 0:
        raise ValueError(f"{owner} radius: got {float(known):g}; expected a finite number of at least 0.")
    return known


def haar_rotation(key: Key[Array, ""], dimension: int) -> Float[Array, "d d"]:
    """An orthogonal matrix drawn from the Haar measure on O(d): Q of a Gaussian matrix, with a positive diagonal of R."""
    if dimension == 2:  # A closed form, since it is faster: a rotation, and in half of the cases also a reflection.
        angle, flip = jax.random.uniform(key, (2,))
        cos, sin, sign = jnp.cos(2 * jnp.pi * angle), jnp.sin(2 * jnp.pi * angle), jnp.where(flip < 0.5, 1.0, -1.0)
        return jnp.stack([jnp.stack([cos, -sign * sin]), jnp.stack([sin, sign * cos])])
    return orthonormal_columns(jax.random.normal(key, (dimension**2,)).reshape(dimension, dimension))
