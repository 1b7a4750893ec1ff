"""A form that vanishes at the surface of the unit ball."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from fredholm.functions.field import Function


class InsideBall(eqx.Module):
    r"""The form $u(x) = (1 - |x|^2)_+^p\,n(x)$: zero outside the unit ball, with the right behaviour at its surface.

    For a smooth f, a solution of the fractional equation of order α vanishes like the distance to the surface to the power α/2 (Ros-Oton
    and Serra, 2014). So with p = α/2 the network has to learn a smooth factor only.
    """

    power: float  # p

    def __call__(self, n: Function, x: Float[Array, "d"]) -> Float[Array, ""]:
        room = 1 - jnp.sum(x**2)
        return jnp.where(room > 0, jnp.where(room > 0, room, 1.0) ** self.power * n(x), 0.0)
