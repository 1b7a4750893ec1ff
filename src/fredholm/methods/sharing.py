"""The points of a step, and how they are shared out: over the devices that work on one seed, and on each of them in tiles."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Key, PyTree

from fredholm.equation.residual import AbstractResidual
from fredholm.rules.base import AbstractRule

Tree = TypeVar("Tree")
AXIS = "points"  # of the mesh: devices along it have different points of the same seed


class Share(eqx.Module):
    """The share of one residual, the equation or a condition, in a step: its part of the loss is a mean over these points."""

    residual: AbstractResidual
    rules: Sequence[AbstractRule]
    points: PyTree  # stacked
    keys: Key[Array, "n"]  # of the nodes at each of them
    weights: Float[Array, "n"]  # of each of them in the mean; their sum is 1 where all points of the step are here

    @classmethod
    def of(cls, residual: AbstractResidual, rules: Sequence[AbstractRule], points: PyTree, keys: Key[Array, "n"]) -> "Share":
        """All points of a step, of equal weight."""
        return cls(residual, rules, points, keys, jnp.full(keys.size, 1 / keys.size))

    def at(self, points: PyTree, keys: Key[Array, "k"], weights: Float[Array, "k"]) -> "Share":
        """The same at other points."""
        return Share(self.residual, self.rules, points, keys, weights)

    def mean(self, values: Float[Array, "n"]) -> Float[Array, ""]:
        """The mean of the values at the points; of some of the points, their part of it."""
        return jnp.sum(self.weights * values)


class Sharing(eqx.Module):
    """How the points of a step are shared out. Each device has equally many, in tiles of equal size. Where they cannot be divided, some of
    the last ones come twice, with the weight 0. Every point has the same key and the same nodes, wherever it goes."""

    devices: int = 1  # that work on one seed: the length of the axis of points of the mesh
    tile: int | None = None  # x of the equation that go through the forward and the backward pass together; None: all of a device

    def own(self, share: Share) -> Share:
        """The points of this device."""
        if self.devices == 1:
            return share
        part = -(-share.keys.size // self.devices)
        return taken(share, jax.lax.axis_index(AXIS) * part + jnp.arange(part))

    def total(self, part: Tree) -> Tree:
        """The sum over the devices, in one exchange of one vector."""
        if self.devices == 1:
            return part
        vector, shaped = ravel_pytree(part)
        return shaped(jax.lax.psum(vector, AXIS))

    def rows(self, part: Tree) -> Tree:
        """The rows of all devices, one after the other, on each of them."""
        return part if self.devices == 1 else jax.tree.map(lambda rows: jax.lax.all_gather(rows, AXIS, tiled=True), part)


WHOLE = Sharing()


def taken(share: Share, index: Array) -> Share:
    """The points with these numbers. Those beyond the last are the last one again, with the weight 0."""
    size = share.keys.size
    inside = jnp.minimum(index, size - 1)
    points, keys, weights = jax.tree.map(lambda values: values[inside], (share.points, share.keys, share.weights))
    return share.at(points, keys, jnp.where(index < size, weights, 0.0))


def mean_in_tiles(mean: Callable[[Share], PyTree], share: Share, tile: int | None) -> PyTree:
    """A mean over the points of a share, computed in tiles of equal size, of at most `tile` points."""
    count = share.keys.size
    tiles = 1 if tile is None else -(-count // tile)
    if tiles == 1:
        return mean(share)

    def add(total: PyTree, drawn: tuple[PyTree, Array, Array]) -> tuple[PyTree, None]:
        return jax.tree.map(jnp.add, total, mean(share.at(*drawn))), None

    size = -(-count // tiles)
    whole = taken(share, jnp.arange(tiles * size))
    drawn = jax.tree.map(lambda values: values.reshape(tiles, size, *values.shape[1:]), (whole.points, whole.keys, whole.weights))
    zeros = jax.tree.map(lambda value: jnp.zeros(value.shape, value.dtype), jax.eval_shape(lambda: mean(whole)))
    return jax.lax.scan(add, zeros, drawn)[0]
