"""A large batch goes through a step a few x at a time, forward and backward, so that its arrays stay in a core's cache.

400 x with 100 nodes each take less than half of the time, and a fiftieth of the memory (`python benchmarks/compiler_parts.py`).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
from jax.extend.core import Jaxpr, subjaxprs
from jaxtyping import Array, Key

from fredholm.methods.protocol import equal_parts
from fredholm.training.devices import points_at_once
from fredholm.training.step import Step, seed_start

AGAIN = 0.1  # of a step that may be computed once more than it need be, so that the rest of it fits into a cache


class Outline(eqx.Module):
    """What is known of the loss of one seed before anything is computed."""

    parts: dict[str, jax.ShapeDtypeStruct]  # of the loss, and the loss itself
    largest: int  # bytes of the largest array
    all: int  # bytes of all arrays


def outline(step: Step, key: Key[Array, ""]) -> Outline:
    """Follows the loss without computing it."""
    settings = step.settings
    keys, equation, state = eqx.filter_eval_shape(seed_start, step, key)
    follow = eqx.filter_make_jaxpr(settings.known_method.loss)
    followed, (loss, info), _ = follow(state.u, state.method, equation, settings.rules, settings.batch, keys.data)
    sizes = list(_sizes(followed.jaxpr))
    return Outline({"loss": loss, **info}, max(sizes, default=0), sum(sizes))


def _sizes(jaxpr: Jaxpr) -> Iterator[int]:
    for equation in jaxpr.eqns:
        made: list[Any] = [variable.aval for variable in equation.outvars]
        yield from (value.size * value.dtype.itemsize for value in made)
    for inner in subjaxprs(jaxpr):
        yield from _sizes(inner)


def in_tiles(step: Step, known: Outline, key: Key[Array, ""]) -> Step:
    """The step with as many x at once as are fastest here: all, unless they are too many. They also stay together where the batch
    cannot be cut so, or much of a step is the same for all x, as the network at nodes that they share: that would be computed again for
    each tile."""
    settings = step.settings
    batch = settings.batch
    if points_at_once(batch, known.largest) == batch:
        return step
    # A condition's points are not the equation's: neither are they cut with its batch, nor do they cut it.
    alone = replace(step, settings=replace(settings, problem=eqx.tree_at(lambda equation: equation.conditions, settings.problem, ())))
    of_all = outline(alone, key)
    tile = points_at_once(batch, of_all.largest)
    parts = equal_parts(batch, tile)
    if parts == 1:
        return step
    of_one = outline(replace(alone, settings=replace(alone.settings, batch=1)), key).all
    same = of_one - (of_all.all - of_one) / (batch - 1)
    return replace(step, tile=tile) if parts * same <= AGAIN * of_all.all else step
