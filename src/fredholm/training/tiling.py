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
from fredholm.methods.sharing import Sharing
from fredholm.training.devices import EXCHANGE, Layout, available, has_idle_cores, points_at_once, tell_of_idle_cores
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


def shared_out(step: Step, known: Outline, key: Key[Array, ""], devices: int) -> Step:
    """The step with its points over so many devices, and on each of them with the number of x at once that is fastest.

    All x of a device stay together where they fit, or where much of a step is the same for all x, such as the network at shared nodes: each
    tile would compute it again.
    """
    settings = step.settings
    batch = -(-settings.batch // devices)  # of a device
    whole = replace(step, sharing=Sharing(devices))
    if points_at_once(settings.batch, known.largest) >= batch:
        return whole
    # Conditions have points of their own, which are not tiled, so they do not count.
    alone = replace(step, settings=replace(settings, problem=eqx.tree_at(lambda equation: equation.conditions, settings.problem, ())))
    of_all = outline(alone, key)
    tile = points_at_once(settings.batch, of_all.largest)
    if tile >= batch:
        return whole
    again = (-(-batch // tile) - 1) * same_for_all(alone, of_all, key)
    share = batch / settings.batch
    return replace(step, sharing=Sharing(devices, tile)) if again <= AGAIN * share * of_all.all else whole


def layout_of(step: Step, known: Outline, key: Key[Array, ""]) -> Layout:
    """How the seeds and the points of a step are laid out on the devices."""
    settings = step.settings
    seeds = len(settings.seeds)
    if has_idle_cores() and (seeds > 1 or known.all > 2 * EXCHANGE):
        tell_of_idle_cores()
    if seeds % len(available()) == 0:
        return Layout.of(seeds)
    return Layout.of(seeds, settings.batch, known.all, same_for_all(step, known, key))


def same_for_all(step: Step, known: Outline, key: Key[Array, ""]) -> float:
    """Bytes of the arrays that do not grow with the number of x."""
    if step.settings.batch == 1:
        return 0.0
    of_one = outline(replace(step, settings=replace(step.settings, batch=1)), key).all
    return of_one - (known.all - of_one) / (step.settings.batch - 1)
