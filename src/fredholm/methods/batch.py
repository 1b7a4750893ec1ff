"""What a step draws: for the equation and for each condition the points of its part of the loss, whole or a few at a time."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from fredholm.equation.conditions import AbstractCondition
from fredholm.equation.equation import Equation, residuals
from fredholm.rules import AbstractRule


class Share(eqx.Module):
    """What one residual, the equation's or a condition's, has of a step: its part of the loss is a mean over these points."""

    residual: Any
    rules: Sequence[AbstractRule]
    points: Any  # stacked
    keys: Key[Array, "n"]  # of the nodes at each of them

    def at(self, points: Any, keys: Key[Array, "k"]) -> "Share":
        """The same at other points."""
        return Share(self.residual, self.rules, points, keys)


def shares(equation: Equation, rules: Sequence[AbstractRule], batch: int, key: Key[Array, ""]) -> list[Share]:
    """Everything that a step draws, but for the nodes at each point."""
    key_points, key_nodes, key_conditions, key_step = jax.random.split(key, 4)
    points = jax.vmap(equation.domain.sample)(jax.random.split(key_points, batch))
    rules = [rule.in_step(jax.random.fold_in(key_step, index)) for index, rule in enumerate(rules)]
    (_, own), *others = residuals(equation, rules)
    drawn = [Share(equation, own, points, jax.random.split(key_nodes, batch))]
    for index, (condition, own) in enumerate(others):
        key = jax.random.fold_in(key_conditions, index)
        assert isinstance(condition, AbstractCondition)
        points = condition.points(batch, own, key)
        drawn.append(Share(condition, own, points, jax.random.split(jax.random.fold_in(key, 0), len(jax.tree.leaves(points)[0]))))
    return drawn


def mean_in_tiles(mean: Callable[[Share], Any], share: Share, at_once: int) -> Any:
    """What is a mean over the points of a share, from so many of them at a time."""

    def add(total: Any, drawn: tuple[Any, Array]) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, mean(share.at(*drawn))), None

    tiles = equal_parts(share.keys.size, at_once)
    if tiles == 1:
        return mean(share)
    zeros = jax.tree.map(lambda value: jnp.zeros(value.shape, value.dtype), jax.eval_shape(lambda: mean(share)))
    cut = jax.tree.map(lambda values: values.reshape(tiles, len(values) // tiles, *values.shape[1:]), (share.points, share.keys))
    total, _ = jax.lax.scan(add, zeros, cut)
    return jax.tree.map(lambda value: value / tiles, total)


def equal_parts(count: int, at_most: int) -> int:
    """Into how many parts of one size, and of at most so many, to cut; 1 where that would leave less than a quarter of it in each."""
    size = max(size for size in range(1, min(count, at_most) + 1) if count % size == 0)
    return count // size if 4 * size > at_most or size == count else 1
