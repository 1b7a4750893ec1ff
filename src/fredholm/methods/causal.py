"""Causal weights: late times count once the early ones are right."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from fredholm.common.checks import positive_integer, real
from fredholm.domains.base import AbstractDomain
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import draw, estimate
from fredholm.equation.residual import network_point
from fredholm.equation.view import axis_number
from fredholm.functions.field import Function
from fredholm.methods.adapting import AbstractAdaptation, AbstractReweighted, check_independent, squared_residual
from fredholm.methods.protocol import lerp
from fredholm.rules.base import AbstractRule

POINTS = 1024  # points x of a measurement
REMEMBERED = 4  # measurements in their running mean


class Course(eqx.Module):
    """The state of `Causal`: the mean squared residual in each part of the time, and the first and last time."""

    squares: Float[Array, "k"]  # as shares of the squared terms of the equation
    ends: Float[Array, "2"]


class Timed(AbstractReweighted):
    """A domain whose points weigh less the later they are."""

    base: AbstractDomain
    axis: int = eqx.field(static=True)
    ends: Float[Array, "2"]
    weights: Float[Array, "k"]

    def weighted_sample(self, key: Key[Array, ""]) -> tuple[Any, Float[Array, ""]]:
        x, weight = self.base.weighted_sample(key)
        own = self.weights[_part(network_point(x)[self.axis], self.ends, len(self.weights))]
        return x, own if weight is None else own * weight


class Causal(AbstractAdaptation[Course]):
    r"""Causal weights (Wang, Sankaran and Perdikaris, 2024): a time weighs as much as the times before it are right,

    $$w(t) = \exp\Big(-\varepsilon\,\frac1k \sum_{t_i < t} L_i / S\Big),$$

    with $L_i$ the mean squared residual in the i-th of k parts of the time and S the mean of the equation's squared terms. $L_i$ is
    estimated without bias, as the product of two independent residuals. As the residual falls all weights become 1.
    The history has the least of them as `causal_weight`.

    Args:
        axis: the axis of time, by its number or by the letter that `View(inputs=("x", "t"))` gives it.
        sharpness: ε.
        parts: k.
        every: steps between two measurements.

    Examples:
        >>> import fredholm as fr
        >>> weights = fr.Causal(axis=0)  # fr.solve(problem, adapt=weights)

    See also:
        `Slabs`, `Balanced`, `View`.
    """

    axis: int | str = -1  # of time: its number, or its letter in the view
    sharpness: float = 5.0  # ε: later times wait until the relative squared residual is small beside 1/ε
    parts: int = 32  # k, of the time
    every: int = 100  # steps between two measurements

    def __check_init__(self):
        positive_integer("Causal parts", self.parts)
        real("Causal sharpness", self.sharpness, low=0.0)

    def check(self, problem: Equation, rules: Sequence[AbstractRule]) -> None:
        axis_number("Causal", self.axis, problem.view.inputs, problem.inputs)
        check_independent("Causal", problem)
        if network_point(problem.domain.sample(jax.random.key(0))) is None:
            raise ValueError("Causal: x is a Law without a part named point, so it has no time; leave it out.")

    def init(self, problem: Equation) -> Course:
        x = jax.vmap(problem.domain.sample)(jax.random.split(jax.random.key(0), POINTS))
        times = network_point(x)[:, axis_number("Causal", self.axis, problem.view.inputs, problem.inputs)]
        return Course(jnp.ones(self.parts), jnp.stack([jnp.min(times), jnp.max(times)]))

    def measured(
        self, state: Course, u: Function, equation: Equation, rules: Sequence[AbstractRule], step: Int[Array, ""], key: Key[Array, ""]
    ) -> Course:
        axis = axis_number("Causal", self.axis, equation.view.inputs, equation.inputs)
        key_points, key_nodes = jax.random.split(key)
        (_, own), *_ = residuals(equation, rules)

        def at_one_point(x: Any, key: Key[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
            terms = equation.squared_terms(u, x, estimate(equation, u, x, draw(equation, own, x, key)))
            return squared_residual(equation, rules, u, x, key), terms

        x = jax.vmap(equation.domain.sample)(jax.random.split(key_points, POINTS))
        squares, terms = jax.vmap(at_one_point)(x, jax.random.split(key_nodes, POINTS))
        at = _part(network_point(x)[:, axis], state.ends, self.parts)
        count = jax.ops.segment_sum(jnp.ones(POINTS), at, self.parts)
        found = jax.ops.segment_sum(squares / jnp.mean(terms), at, self.parts) / jnp.maximum(count, 1.0)
        weight = jnp.where(step == 0, 1.0, 1 / REMEMBERED)
        return Course(jnp.where(jnp.isfinite(found), lerp(state.squares, found, weight), state.squares), state.ends)

    def weights(self, state: Course) -> Float[Array, "k"]:
        """w of each part of the time."""
        before = jnp.cumsum(state.squares) - state.squares
        return jnp.exp(-self.sharpness / self.parts * jnp.maximum(before, 0.0))

    def applied(self, equation: Equation, state: Course) -> Equation:
        axis = axis_number("Causal", self.axis, equation.view.inputs, equation.inputs)
        return eqx.tree_at(lambda e: e.domain, equation, Timed(equation.domain, axis, state.ends, self.weights(state)))

    def recorded(self, state: Course) -> dict[str, Float[Array, ""]]:
        return {"causal_weight": jnp.min(self.weights(state))}


def _part(time: Float[Array, "..."], ends: Float[Array, "2"], parts: int) -> Int[Array, "..."]:
    """The part of the time that a time lies in."""
    share = (time - ends[0]) / jnp.maximum(ends[1] - ends[0], jnp.finfo(time.dtype).tiny)
    return jnp.clip(jnp.floor(parts * share).astype(int), 0, parts - 1)
