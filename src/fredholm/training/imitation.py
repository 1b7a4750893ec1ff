"""A network that starts as another one: where their structures differ, it is fitted to the other's values."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from fredholm.equation.equation import Equation
from fredholm.equation.frame import frame_of
from fredholm.functions.field import Field, Function

STEPS, BATCH, RATE = 3000, 256, 3e-3


def is_alike(one: Function, other: Function) -> bool:
    """True where two networks, or stacks of them, have the same structure and sizes, so that the parameters of one fit into the other."""
    arrays, static = eqx.partition(one, eqx.is_array)
    others, other_static = eqx.partition(other, eqx.is_array)
    if jax.tree.structure(arrays) != jax.tree.structure(others) or not eqx.tree_equal(static, other_static):
        return False
    return all(a.shape == b.shape for a, b in zip(jax.tree.leaves(arrays), jax.tree.leaves(others), strict=True))


def imitated(fresh: Field, known: Field, problem: Equation) -> Function:
    """The networks of `fresh`, stacked over the seeds, after a fit by least squares to the values of `known`, at random points of the box
    in which the equation evaluates u."""
    frame = frame_of(problem)
    low, high = (jnp.asarray(edge, float) for edge in (frame.low, frame.high))
    optimizer = optax.adam(optax.cosine_decay_schedule(RATE, STEPS))

    def one_seed(own: Field, other: Field) -> Function:
        arrays, static = eqx.partition(own.network, eqx.is_inexact_array)
        scale = jnp.mean(jax.vmap(other)(jax.random.uniform(jax.random.key(1), (BATCH, fresh.inputs), minval=low, maxval=high)) ** 2)

        def loss(arrays: PyTree, points: Float[Array, "n d"]) -> Float[Array, ""]:
            u = Field(eqx.combine(arrays, static), own.unknowns, fresh.inputs, fresh.outputs)
            return jnp.mean((jax.vmap(u)(points) - jax.vmap(other)(points)) ** 2) / jnp.maximum(scale, 1e-12)

        def body(number: Array, carry: tuple[PyTree, PyTree]) -> tuple[PyTree, PyTree]:
            points = jax.random.uniform(jax.random.fold_in(jax.random.key(0), number), (BATCH, fresh.inputs), minval=low, maxval=high)
            updates, moments = optimizer.update(jax.grad(loss)(carry[0], points), carry[1])
            return eqx.apply_updates(carry[0], updates), moments

        return eqx.combine(jax.lax.fori_loop(0, STEPS, body, (arrays, optimizer.init(arrays)))[0], static)

    return eqx.filter_jit(eqx.filter_vmap(one_seed))(fresh, known)
