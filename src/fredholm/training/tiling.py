"""Tiles: a large batch goes through forward and backward pass a few x at a time, so that its arrays stay in a core's cache.

400 x with 100 nodes each take less than half the time, and a fiftieth of the memory (`python benchmarks/compiler_parts.py`).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
from jax.extend.core import Jaxpr, subjaxprs
from jaxtyping import Array, Key

from fredholm.common.compiling import shapes_of
from fredholm.methods.protocol import equal_parts
from fredholm.training.devices import points_at_once
from fredholm.training.step import Step, seed_start

AGAIN = 0.1  # largest share of a step that may be computed again, so that the rest fits into a cache


class Outline(eqx.Module):
    """The arrays in the loss of one seed, by their sizes, before anything is computed."""

    parts: dict[str, jax.ShapeDtypeStruct]  # the loss and its parts
    largest: int  # bytes of the largest array
    all: int  # bytes of all arrays


def outline(step: Step, key: Key[Array, ""]) -> Outline:
    """Traces the loss without computing it."""
    settings = step.settings
    keys, equation, state = shapes_of(seed_start, step, key)
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
    """The step with the number of x at once that is fastest on this device.

    All x stay together where they fit, where the batch cannot be divided, or where much of a step is the same for all x, such as the
    network at shared nodes: each tile would compute it again.
    """
    settings = step.settings
    batch = settings.batch
    if points_at_once(batch, known.largest) == batch:
        return step
    # Conditions have points of their own, which are not tiled, so they do not count.
    alone = replace(step, settings=replace(settings, problem=eqx.tree_at(lambda equation: equation.conditions, settings.problem, ())))
    of_all = outline(alone, key)
    tile = points_at_once(batch, of_all.largest)
    parts = equal_parts(batch, tile)
    if parts == 1:
        return step
    of_one = outline(replace(alone, settings=replace(alone.settings, batch=1)), key).all
    same = of_one - (of_all.all - of_one) / (batch - 1)
    return replace(step, tile=tile) if parts * same <= AGAIN * of_all.all else step
