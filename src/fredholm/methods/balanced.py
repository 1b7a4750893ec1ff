"""Weights of the conditions that adapt to the equation."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from fredholm.common.checks import real
from fredholm.domains.base import Place
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import independent_residuals
from fredholm.equation.residual import AbstractCondition, AbstractResidual
from fredholm.functions.field import Function
from fredholm.methods.adapting import AbstractAdaptation
from fredholm.methods.protocol import lerp
from fredholm.rules.base import AbstractRule

POINTS = 64  # points x of each residual in a measurement
REMEMBERED = 10  # measurements in their running mean


class Balance(eqx.Module):
    """The state of `Balanced`."""

    squares: Float[Array, "r"]  # running means of the squared slopes, of the equation and of each condition
    weights: Float[Array, "c"]  # factors of the weights of the conditions


class Balanced(AbstractAdaptation[Balance]):
    r"""Weights of the conditions with which their residuals decay at the rate of the equation's: the weight of condition i is multiplied by

    $$w_i = \frac{\mathbb{E}_x\,|\partial_\theta r(x)|^2}{\mathbb{E}_x\,|\partial_\theta r_i(x)|^2},$$

    the ratio of the traces of the neural tangent kernels (Wang, Yu and Perdikaris, 2022). Each squared slope is the product of two slopes
    with independent nodes, so that random nodes do not bias it, whatever the method is. Where the conditions can be met, weights do not
    change the solution. The history has the factors as `condition_weight_1`, ...

    Weights by the norms of the losses' gradients, $|\partial_\theta L|/|\partial_\theta L_i|$, were tried and left out: where one part is
    nearly solved its gradient is noise, and its weight follows that (docs/practice.md).

    Args:
        every: steps between two measurements.
        strongest: the factors stay between 1/strongest and strongest.

    Examples:
        >>> import fredholm as fr
        >>> weights = fr.Balanced(every=200)  # fr.solve(problem, adapt=weights)

    See also:
        `ResidualPoints`, `Causal`, `Condition`.
    """

    every: int = 100  # steps between two measurements
    strongest: float = 100.0  # the largest factor of a weight, and the smallest is its inverse

    def __check_init__(self):
        real("Balanced strongest", self.strongest, low=1.0)

    def check(self, problem: Equation, rules: Sequence[AbstractRule]) -> None:
        if not problem.conditions:
            raise ValueError("Balanced: the equation has no conditions, so there is nothing to balance; leave it out.")

    def init(self, problem: Equation) -> Balance:
        count = len(problem.conditions)
        return Balance(jnp.zeros(1 + count), jnp.ones(count))

    def measured(
        self, state: Balance, u: Function, equation: Equation, rules: Sequence[AbstractRule], step: Int[Array, ""], key: Key[Array, ""]
    ) -> Balance:
        found = [
            self._square(residual, own, u, jax.random.fold_in(key, number))
            for number, (residual, own) in enumerate(residuals(equation, rules))
        ]
        weight = jnp.maximum(1 / REMEMBERED, self.every / (step + self.every))
        squares = lerp(state.squares, jnp.stack(found), weight)
        tiny = jnp.finfo(squares.dtype).tiny
        ratio = jnp.maximum(squares[0], tiny) / jnp.maximum(squares[1:], tiny)
        known = jnp.isfinite(ratio) & (squares[0] > 0)
        return Balance(squares, jnp.where(known, jnp.clip(ratio, 1 / self.strongest, self.strongest), state.weights))

    def _square(self, residual: AbstractResidual, rules: Sequence[AbstractRule], u: Function, key: Key[Array, ""]) -> Float[Array, ""]:
        """The mean squared slope of a residual, without bias."""
        key_points, key_nodes, key_signs = jax.random.split(key, 3)
        if isinstance(residual, AbstractCondition):
            points = residual.points(POINTS, rules, key_points)
        else:
            points = jax.vmap(residual.law.sample)(jax.random.split(key_points, POINTS))
        arrays, static = eqx.partition(u, eqx.is_inexact_array)

        def at_one_point(x: Place, key: Key[Array, ""], key_sign: Key[Array, ""]) -> Float[Array, ""]:
            def along(arrays: Any) -> tuple[Float[Array, ""], Float[Array, ""]]:
                one, other = independent_residuals(residual, eqx.combine(arrays, static), rules, x, key)
                signs = jax.random.rademacher(key_sign, one.shape, one.dtype)
                return jnp.sum(signs * one), jnp.sum(signs * other)

            one, other = jax.jacrev(along)(arrays)
            return sum((jnp.sum(a * b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)), jnp.zeros(()))

        n = len(jax.tree.leaves(points)[0])
        return jnp.mean(jax.vmap(at_one_point)(points, jax.random.split(key_nodes, n), jax.random.split(key_signs, n)))

    def applied(self, equation: Equation, state: Balance) -> Equation:
        weights = tuple(one.weight * factor for one, factor in zip(equation.conditions, state.weights, strict=True))
        return eqx.tree_at(lambda e: tuple(one.weight for one in e.conditions), equation, weights)

    def recorded(self, state: Balance) -> dict[str, Float[Array, ""]]:
        return {f"condition_weight_{number}": weight for number, weight in enumerate(state.weights, start=1)}
