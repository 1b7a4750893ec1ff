"""Predictions: values of networks that are stacked over the seeds, at points on the host or inside of a JAX transformation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from fredholm.common.checks import is_concrete
from fredholm.common.compiling import filter_compiled
from fredholm.functions.field import Field, Function

BLOCK = 20_000  # points in one prediction
Values = np.ndarray | Array  # a JAX array only where the points are traced
Predicted = Callable[..., Any]  # a function of u and one point


def predict(u: Field, points: ArrayLike | float, of: Predicted | None, precision: str) -> Values:
    """u, or `of` of it, for every seed: (s, n, ...), without the axis n for one point."""
    if not is_concrete(points):  # inside of jax.grad, jax.jit or jax.vmap, in the precision of the caller
        known = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf), float) if eqx.is_inexact_array(leaf) else leaf, u)
        rows, is_one = rows_of(jnp.asarray(points, float), u.inputs)
        values = _stacked_values(known, rows, of)
        return values[:, 0] if is_one else values
    with jax.enable_x64(precision == "float64"):
        rows, is_one = rows_of(jnp.asarray(points, float), u.inputs)
        # In blocks: a large grid may not fit into the devices' memory for all seeds at once.
        starts = range(0, max(1, len(rows)), BLOCK)
        found = np.concatenate([np.asarray(_stacked_values(u, rows[start : start + BLOCK], of)) for start in starts], axis=1)
        return found[:, 0] if is_one else found


class MeanNetwork(eqx.Module):
    """The mean over the networks of several seeds."""

    networks: Function  # stacked over the seeds

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "..."]:
        return jnp.mean(eqx.filter_vmap(lambda network: network(x), in_axes=(eqx.if_array(0),))(self.networks), axis=0)


def rows_of(points: Any, inputs: int) -> tuple[Any, bool]:
    """Points as rows, and whether it was one point. With one input, a number is a point and n numbers are n points."""
    if points.shape == (inputs,) or (points.ndim == 0 and inputs == 1):
        return points.reshape(1, inputs), True
    if points.ndim == 1 and inputs == 1:
        return points[:, None], False
    if points.ndim != 2 or points.shape[1] != inputs:
        numbers = ", or (n,) numbers" if inputs == 1 else ""
        raise ValueError(
            f"points: got shape {points.shape}; expected (n, {inputs}), one point in each row, or ({inputs},) for one{numbers}."
        )
    return points, False


def with_parameters(
    points: ArrayLike | float, names: Sequence[str], values: Mapping[str, ArrayLike | float], inputs: int
) -> ArrayLike | float:
    """Points of u: those of x, beside the values of a family's parameters. Without values the points are complete."""
    if not values:
        if names and np.shape(points)[-1:] != (inputs,):
            given = ", ".join(f"{name}=..." for name in names)
            raise ValueError(
                f"points: got shape {np.shape(points)}; expected (n, {inputs}), with the parameters, or points of x and {given}."
            )
        return points
    if set(values) != set(names):
        expected = f"a value for each of {list(names)}" if names else "none, as the equation has none"
        raise ValueError(f"parameters: got {sorted(values)}; expected {expected}.")
    numpy = np if all(map(is_concrete, (points, *values.values()))) else jnp
    rows, is_one = rows_of(numpy.asarray(points, float), inputs - len(names))
    columns = [numpy.broadcast_to(numpy.asarray(values[name], float), (len(rows),))[:, None] for name in names]
    complete = numpy.concatenate([rows, *columns], axis=1)
    return complete[0] if is_one else complete


def member(stacked: Field, at: int) -> Field:
    """The network of one seed."""
    return jax.tree.map(lambda leaf: leaf[at] if eqx.is_array(leaf) else leaf, stacked)


@filter_compiled
def _stacked_values(u: Field, points: Float[Array, "n d"], of: Callable[..., Any] | None) -> Float[Array, "s n ..."]:
    value = (lambda one, x: one(x)) if of is None else of
    return eqx.filter_vmap(lambda one: jax.vmap(lambda x: jnp.asarray(value(one, x)))(points), in_axes=(eqx.if_array(0),))(u)
