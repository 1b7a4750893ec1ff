"""How noisy the gradient of one x is: what decides how many x a step needs."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from fredholm.common.compiling import compiled_once
from fredholm.equation.equation import Equation
from fredholm.functions.field import Field
from fredholm.methods.protocol import AbstractMethod
from fredholm.rules.base import AbstractRule

POINTS = 512  # points x, each with a gradient of its own
FLOOR = 10.0  # a signal below its own error is unknown, not zero: it is taken for this part of the error at least


def noise_to_signal(equation: Equation, u: Field, method: AbstractMethod, rules: Sequence[AbstractRule]) -> float:
    """The variance of the gradient of one x, from x and nodes, over the square of its mean; of a batch it is this over the batch."""
    state = method.init(u)
    inner = rules[: len(equation.integrals)]

    def loss(u: Field, key: Key[Array, ""]) -> Float[Array, ""]:
        of_x, of_nodes = jax.random.split(key)
        rows = method.rows(u, state, equation, inner, equation.domain.sample(of_x), of_nodes)
        return sum((part.loss() for part in rows.values()), jnp.zeros(()))

    @compiled_once
    def compute(keys: Key[Array, "n"]) -> tuple[PyTree, Float[Array, ""]]:
        def add(total: tuple[PyTree, Array], key: Key[Array, ""]) -> tuple[tuple[PyTree, Array], None]:
            slopes = eqx.filter_grad(loss)(u, key)
            square = sum((jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)), jnp.zeros(()))
            return (jax.tree.map(jnp.add, total[0], slopes), total[1] + square), None

        zeros = jax.tree.map(jnp.zeros_like, eqx.filter(u, eqx.is_inexact_array))
        return jax.lax.scan(add, (zeros, jnp.zeros(())), keys)[0]

    total, squares = compute(jax.random.split(jax.random.key(21), POINTS))
    mean = sum(float(np.sum((np.asarray(leaf, float) / POINTS) ** 2)) for leaf in jax.tree.leaves(total))
    variance = (float(squares) - POINTS * mean) / (POINTS - 1)
    signal = max(mean - variance / POINTS, variance / POINTS / FLOOR)
    return variance / signal if signal > 0 else 0.0
