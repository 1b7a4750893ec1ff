"""Adaptations between chunks of steps: when they are due, and the compiled program that measures them for every seed."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

from fredholm.common.keys import Keys
from fredholm.equation.equation import Equation
from fredholm.training.settings import RunSettings
from fredholm.training.step import Step, TrainState

APART = 2**31  # no step has this number: keys of adaptations are not those of records


def periods(settings: RunSettings) -> tuple[int, ...]:
    """After how many steps each time something is measured, or the next part of the time begins."""
    marching = (settings.steps_of_a_slab,) if settings.network.slabs > 1 else ()
    return (*(part.every for part in settings.adapt), *marching)


def next_due(every: Sequence[int], step: int, last: int) -> int:
    """The first step after this one at which something is due; at most the last one."""
    return min([last, *((step // one + 1) * one for one in every)])


def is_due(every: Sequence[int], step: int) -> bool:
    """True where something is due before this step."""
    return any(step % one == 0 for one in every)


def measured(settings: RunSettings, state: TrainState, equation: Equation, keys: Keys, step: Int[Array, ""]) -> TrainState:
    """The state of a seed with everything measured anew that is due before this step."""
    found = []
    for number, (part, before) in enumerate(zip(settings.adapt, state.adapted, strict=True)):
        key = jax.random.fold_in(jax.random.fold_in(keys.measure, APART + number), step)
        after = part.measured(before, state.u, equation, settings.rules, step, key)
        found.append(jax.tree.map(lambda new, old, part=part: jnp.where(step % part.every == 0, new, old), after, before))
    return eqx.tree_at(lambda s: s.adapted, state, tuple(found))


def one_seed(one_step: Step, static: PyTree, equation: Equation) -> Callable[..., PyTree]:
    """`measure(arrays, equation_arrays, keys, step) -> arrays` of one seed."""
    settings = one_step.settings
    _, equation_static = eqx.partition(equation, eqx.is_array)

    def measure(arrays: PyTree, equation_arrays: PyTree, keys: Keys, step: Int[Array, ""]) -> PyTree:
        state, own = eqx.combine(arrays, static), eqx.combine(equation_arrays, equation_static)
        if settings.network.slabs > 1:
            state = one_step.next_slab(state, step)
        return eqx.filter(measured(settings, state, own, keys, step), eqx.is_array)

    return measure
