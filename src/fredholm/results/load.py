"""`load`: a run from its folder."""

import os

import equinox as eqx
import jax
import jax.numpy as jnp

from fredholm.equation.equation import Equation
from fredholm.functions.field import Field
from fredholm.functions.protocol import AbstractNetwork, as_network
from fredholm.results.solution import Solution
from fredholm.storage.run_folder import Arrays, RunFolder, unflatten
from fredholm.training.record import RunRecord


def load(path: str | os.PathLike[str], network: object = None, problem: Equation | None = None) -> Solution:
    """Loads a run from its folder: `solution = fr.load("runs/volterra")`.

    Nothing in the folder is imported or executed. So a network or an equation that was your own is not in it, and must be given again.

    Args:
        path: the folder, which `solve(out=...)` or `Solution.save` wrote.
        network: the network of the run, where it was not the library's own.
        problem: the equation of the run, where it was not the library's own. Without it the solution still predicts, but cannot be
            evaluated against an exact solution.
    """
    folder = RunFolder.open(path)
    record = RunRecord.read(folder)
    arrays, step = folder.read_checkpoint()
    history = folder.read_history()
    history = history.sel(step=history.step <= step)
    problem = problem or record.settings.part("problem")
    skeleton = _field_skeleton(_network(network, problem, record), record)
    with jax.enable_x64(record.settings.precision == "float64"):
        main, average, delayed = (_saved(skeleton, arrays, part) for part in (".u", ".average", ".method"))
        delayed = delayed or _saved(skeleton, arrays, ".method.target")  # an adaptive method keeps its measurements beside the target
        assert main is not None
        answer, target = main if average is None else average, main if delayed is None else delayed
    return Solution(record, problem, history, answer, target, arrays, main)


def _saved(skeleton: Field, arrays: Arrays, part: str) -> Field | None:
    """The network in this part of the training state, or None where there is none."""
    kept = {name.removeprefix(part): value for name, value in arrays.items() if name.startswith((f"{part}.network", f"{part}.unknowns"))}
    return _stacked(skeleton, kept) if kept else None


def _network(network: object, problem: Equation | None, record: RunRecord) -> AbstractNetwork:
    """The network that is given, or recorded, or the default of the given problem."""
    found = network if network is not None else record.settings.part("network")
    if found is None and problem is not None:
        found = problem.defaults.network
    if found is None:
        raise ValueError(
            "this run's network was your own and is not in its folder: give load(path, network=...), the same object or function, "
            "or problem=... if the network is among its defaults."
        )
    return as_network(found)


def _field_skeleton(settings: AbstractNetwork, record: RunRecord) -> Field:
    """A field with the structure of the run's networks, and other numbers."""
    network = settings.build(record.inputs, record.outputs, jax.random.key(0))
    return Field(network, {name: jnp.zeros(()) for name in record.unknowns}, record.inputs, record.outputs)


def _stacked(skeleton: Field, arrays: Arrays) -> Field:
    """The skeleton filled with arrays that have a leading axis of seeds."""
    dynamic, static = eqx.partition(skeleton, eqx.is_array)
    seeds = len(next(iter(arrays.values())))
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((seeds, *leaf.shape), leaf.dtype), dynamic)
    return eqx.combine(jax.tree.map(jnp.asarray, unflatten(shapes, arrays)), static)
