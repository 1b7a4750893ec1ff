"""The unit ball of many dimensions: a form that vanishes at its surface, a law of points that sees its inside, and the scale of its
coordinates."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.domains.base import AbstractDistribution, Base, Nodes
from fredholm.domains.round import random_directions
from fredholm.domains.sphere_map import direction_from_unit
from fredholm.functions.field import Function
from fredholm.functions.mlp import MLP
from fredholm.functions.scaled import Scaled

Place = Float[Array, "d"]


class InsideBall(eqx.Module):
    r"""The form $u(x) = (1 - |x|^2)_+^p\,n(x)$: zero outside the unit ball, with the right behaviour at its surface.

    For a smooth f, a solution of the fractional equation of order α vanishes like the distance to the surface to the power α/2 (Ros-Oton
    and Serra, 2014). So with p = α/2 the network has to learn a smooth factor only.
    """

    power: float  # p

    def __call__(self, n: Function, x: Place) -> Float[Array, ""]:
        room = 1 - jnp.sum(x**2)
        return jnp.where(room > 0, jnp.where(room > 0, room, 1.0) ** self.power * n(x), 0.0)


class EvenRadius(AbstractDistribution):
    """A point of the unit ball with uniform direction and uniform radius. Uniform points of a ball in many dimensions are all at its
    surface, where a solution that vanishes there is small."""

    dim: int  # d, at least 2

    @property
    def dimension(self) -> int:
        return self.dim

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.UNIT,) * self.dim

    def map(self, z: Float[Array, "d"]) -> tuple[Place, Float[Array, ""]]:
        return z[0] * direction_from_unit(z[1:]), jnp.ones(())

    def draws(self, key: Key[Array, ""], n: int) -> Nodes:
        key_radius, key_direction = jax.random.split(key)
        return Nodes(jax.random.uniform(key_radius, (n, 1)) * random_directions(key_direction, n, self.dim), jnp.full((n,), 1 / n))


def network_in_ball(network: MLP, dim: int) -> Scaled:
    r"""A network whose inputs are the coordinates times √d: those of a point of the unit ball have the size $d^{-1/2}$. Without it a layer
    sees $|x|^2$ a hundred times too weakly in 100 dimensions. Outputs stay as they are."""
    return Scaled(network, (0.0,) * dim, (1 / math.sqrt(dim),) * dim, (0.0,), (1.0,), units=())
