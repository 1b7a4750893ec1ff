"""Flat discs, in the plane or in space."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.common.checks import Number, Numbers, Scalar, Vector, is_concrete, vector
from fredholm.domains.base import AbstractDomain, Base
from fredholm.domains.round import plane_basis, radius_of


class Disc(AbstractDomain):
    r"""The disc of radius r round c, with area as its measure, $\pi r^2$: in the plane, or in 3-D across a unit normal n.

    $t(z) = c + r\sqrt{z_1}\,(\cos 2\pi z_2\, e_1 + \sin 2\pi z_2\, e_2)$ with $e_1, e_2, n$ right-handed: the inside of
    `Circle(center, radius, normal)`, so that the two meet in Stokes' theorem.

    Args:
        center (array): c, of shape (2,) or (3,).
        radius (number): r, a positive number; default: 1.0.
        normal (array): n, of shape (3,), normalised; None in the plane; default: None.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> round(float(fr.Disc((0.0, 0.0), 2.0).mass), 4)
        12.5664

    See also:
        `Ball`, `Circle`.
    """

    center: Vector  # c, of shape (2,) or (3,)
    radius: Scalar  # r, a positive number
    normal: Vector | None  # n, of shape (3,), normalised; None in the plane

    def __init__(self, center: Numbers, radius: Number = 1.0, normal: Numbers | None = None):
        self.center, self.radius = vector("Disc center", center), radius_of("Disc", radius)
        if len(self.center) not in (2, 3):
            raise ValueError(f"Disc: got a center in {len(self.center)} dimensions; expected 2, or 3 with a normal. Elsewhere use Ball.")
        if normal is None and len(self.center) == 3:
            normal = (0.0, 0.0, 1.0)
        self.normal = None if normal is None else vector("Disc normal", normal)
        if self.normal is not None:
            if (len(self.center), len(self.normal)) != (3, 3):
                raise ValueError(f"Disc: got a normal in {len(self.normal)} dimensions; expected 3, with a center in 3-D.")
            if is_concrete(self.normal) and not any(float(entry) for entry in self.normal):
                raise ValueError("Disc normal: got the zero vector; expected a direction.")

    @property
    def dimension(self) -> int:
        return len(self.center)

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.UNIT, Base.UNIT)

    @property
    def mass(self) -> Float[Array, ""]:
        return math.pi * jnp.asarray(self.radius) ** 2

    def map(self, z: Float[Array, "2"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        first, second = jnp.eye(2) if self.normal is None else plane_basis(jnp.asarray(self.normal))
        angle = 2 * jnp.pi * z[1]
        return jnp.asarray(self.center) + self.radius * jnp.sqrt(z[0]) * (jnp.cos(angle) * first + jnp.sin(angle) * second), self.mass

    def density(self, point: Float[Array, "d"]) -> Float[Array, ""]:
        if self.normal is not None:
            return super().density(point)  # a surface in space has no density: the error says what to do
        return jnp.where(jnp.sum((point - jnp.asarray(self.center)) ** 2) <= jnp.asarray(self.radius) ** 2, 1.0, 0.0)
