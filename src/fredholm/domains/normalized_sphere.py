"""The sphere with other base variables: normalised normal vectors."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.common.checks import Number, Numbers
from fredholm.domains.base import AbstractDomain, Base, Nodes
from fredholm.domains.round import Sphere


class NormalizedSphere(AbstractDomain):
    r"""The same sphere and the same measure as `Sphere`, from d standard normals instead of d-1 angles: $t = c + r\,z/|z|$.

    It has one axis more than the sphere, and its map jumps at z = 0. Rules that rely on smoothness become less accurate: Figure 18 of
    the paper measures this. The node z = 0 of an odd Gauss rule has no direction and becomes $c + r e_1$.

    Args:
        center (array): c, of shape (d,).
        radius (number): r, a positive number; default: 1.0.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.NormalizedSphere((0.0, 0.0, 0.0)).dimension
        3

    See also:
        `Sphere`, `Directions`.
    """

    sphere: Sphere

    def __init__(self, center: Numbers, radius: Number = 1.0):
        self.sphere = Sphere(center, radius)

    def arguments(self) -> dict[str, Any]:
        """The arguments that make this domain again. They are not its fields."""
        return {"center": self.sphere.center, "radius": self.sphere.radius}

    @property
    def dimension(self) -> int:
        return self.sphere.dimension

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.NORMAL,) * self.dimension

    @property
    def mass(self) -> Float[Array, ""]:
        return self.sphere.mass

    def map(self, z: Float[Array, "d"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        length = jnp.linalg.norm(z)
        first = jnp.zeros_like(z).at[0].set(1.0)
        direction = jnp.where(length > 0, z / jnp.where(length > 0, length, 1.0), first)
        return jnp.asarray(self.sphere.center) + self.sphere.radius * direction, self.mass

    def draws(self, key: Key[Array, ""], n: int) -> Nodes:
        return self.sphere.draws(key, n)

    def rotate(self, key: Key[Array, ""], points: Float[Array, "n d"]) -> Float[Array, "n d"]:
        return self.sphere.rotate(key, points)
