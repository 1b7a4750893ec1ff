"""What the four families share: a batch of points, integrals at one point, and the conditions."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.domains import Nodes
from fredholm.equation import Equation, Integral
from fredholm.networks import Field
from fredholm.rules import AbstractRule

Info = dict[str, Float[Array, ""]]


class AbstractMethod(eqx.Module):
    """How the residual, whose integrals are only estimated, becomes a loss.

    `init` makes what the next step needs besides the network, `loss` is differentiated with respect to the network, `update` follows
    the optimiser's step.
    """

    def check(self, equation: Equation, rules: Sequence[AbstractRule]) -> None:
        """Raises `ValueError` where the method makes no sense for the equation or the rules."""

    def init(self, u: Field) -> Any:
        """The state before the first step."""
        return None

    @abstractmethod
    def residual_loss(self, u: Field, state: Any, equation: Equation, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]) -> Info:
        """The parts of the loss at one x; what is trained on is their sum."""

    def update(self, u: Field, state: Any, step: Array) -> Any:
        """The state after the optimiser's step."""
        return state

    def target(self, u: Field, state: Any) -> Field:
        """The network inside the integrals."""
        return u

    def loss(
        self, u: Field, state: Any, equation: Equation, rules: Sequence[AbstractRule], batch: int, key: Key[Array, ""]
    ) -> tuple[Float[Array, ""], Info]:
        """The loss of one step and its parts: the mean over a fresh batch of x, plus the conditions."""
        key_points, key_nodes, key_conditions = jax.random.split(key, 3)
        points = jax.vmap(equation.domain.sample)(jax.random.split(key_points, batch))
        keys = jax.random.split(key_nodes, batch)
        parts = jax.vmap(lambda x, k: self.residual_loss(u, state, equation, rules, x, k))(points, keys)
        info = {name: jnp.mean(values) for name, values in parts.items()}
        if equation.conditions:
            info["conditions"] = condition_loss(u, equation, batch, key_conditions)
        return sum(info.values(), jnp.zeros(())), info


def condition_loss(u: Field, equation: Equation, batch: int, key: Key[Array, ""]) -> Float[Array, ""]:
    """The weighted mean squares of all conditions."""
    total = jnp.zeros(())
    for index, condition in enumerate(equation.conditions):
        points = condition.points(batch, jax.random.fold_in(key, index))
        errors = jax.vmap(lambda x, condition=condition: condition.error(u, x))(points)
        total = total + condition.weight * jnp.mean(jnp.sum(errors**2, axis=-1))
    return total


def weighted_integrand(integral: Integral, u: Field, x: Any, nodes: Nodes) -> Float[Array, "k e"]:
    r"""$w_i\, g(u, x, t_i)$ at every node; the sum over i estimates the integral."""
    return jax.vmap(lambda t, w: w * integral.integrand(u, x, t))(nodes.points, nodes.weights)


def estimate(equation: Equation, u: Field, x: Any, nodes: Sequence[Nodes]) -> Float[Array, "e"]:
    """The sum of all integrals at x, each from its own nodes."""
    return sum(
        (jnp.sum(weighted_integrand(integral, u, x, n), axis=0) for integral, n in zip(equation.integrals, nodes, strict=True)),
        jnp.zeros((1,)),
    )


def draw(equation: Equation, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]) -> list[Nodes]:
    """One draw of nodes for every integral."""
    return [
        rule.nodes(integral.measure(x), jax.random.fold_in(key, index))
        for index, (integral, rule) in enumerate(zip(equation.integrals, rules, strict=True))
    ]


def draw_pairs(
    equation: Equation, first: Sequence[AbstractRule], second: Sequence[AbstractRule], x: Any, key: Key[Array, ""]
) -> tuple[list[Nodes], list[Nodes]]:
    """Two independent draws of nodes for every integral."""
    pairs = [
        one.pair(other, integral.measure(x), jax.random.fold_in(key, index))
        for index, (integral, one, other) in enumerate(zip(equation.integrals, first, second, strict=True))
    ]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
