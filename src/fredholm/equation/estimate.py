"""Estimates of the integrals of a residual at one x, from nodes that rules draw."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.domains.base import Nodes
from fredholm.equation.residual import AbstractResidual, Integral, Place
from fredholm.functions.field import Function
from fredholm.rules.base import AbstractRule


def weighted_integrand(integral: Integral, u: Function, x: Place, nodes: Nodes) -> Float[Array, "k e"]:
    r"""$w_i\, g(u, x, t_i)$ at every node; the sum over i estimates the integral."""
    return jax.vmap(lambda t, w: w * integral.integrand(u, x, t))(nodes.points, nodes.weights)


def estimate(residual: AbstractResidual, u: Function, x: Place, nodes: Sequence[Nodes]) -> Float[Array, "e"]:
    """The sum of all integrals at x, each from its own nodes."""
    return sum(
        (jnp.sum(weighted_integrand(integral, u, x, n), axis=0) for integral, n in zip(residual.integrals, nodes, strict=True)),
        jnp.zeros((1,)),
    )


def estimated(residual: AbstractResidual, u: Function, x: Place, nodes: Sequence[Nodes]) -> Float[Array, "e"]:
    """The residual at x with the integrals as these nodes estimate them."""
    return residual.local_residual(u, x) + residual.sign * estimate(residual, u, x, nodes)


def draw(residual: AbstractResidual, rules: Sequence[AbstractRule], x: Place, key: Key[Array, ""]) -> list[Nodes]:
    """One draw of nodes for every integral."""
    return [
        rule.nodes(integral.measure(x), jax.random.fold_in(key, index))
        for index, (integral, rule) in enumerate(zip(residual.integrals, rules, strict=True))
    ]


def draw_pairs(
    residual: AbstractResidual, first: Sequence[AbstractRule], second: Sequence[AbstractRule], x: Place, key: Key[Array, ""]
) -> tuple[list[Nodes], list[Nodes]]:
    """Two independent draws of nodes for every integral."""
    pairs = [
        one.pair(other, integral.measure(x), jax.random.fold_in(key, index))
        for index, (integral, one, other) in enumerate(zip(residual.integrals, first, second, strict=True))
    ]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def independent_residuals(
    residual: AbstractResidual, u: Function, rules: Sequence[AbstractRule], x: Place, key: Key[Array, ""]
) -> tuple[Float[Array, "e"], Float[Array, "e"]]:
    """Two residuals at x whose integrals have independent noise: the mean of their product is the squared residual, without bias."""
    local = residual.local_residual(u, x)
    one, other = (local + residual.sign * estimate(residual, u, x, nodes) for nodes in draw_pairs(residual, rules, rules, x, key))
    return one, other
