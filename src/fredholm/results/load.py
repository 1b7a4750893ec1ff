"""`load`: a run from its folder."""

import os

import equinox as eqx
import jax
import jax.numpy as jnp

from fredholm.common.compiling import shapes_of
from fredholm.common.tracebacks import with_short_tracebacks
from fredholm.equation.building import with_conditions
from fredholm.equation.equation import Equation
from fredholm.functions.field import Field
from fredholm.functions.protocol import AbstractNetwork, as_network
from fredholm.results.solution import Solution
from fredholm.storage.files import Arrays
from fredholm.storage.run_folder import RunFolder, unflatten
from fredholm.training.record import RunRecord, SavedRun


@with_short_tracebacks
def load(path: str | os.PathLike[str], network: object = None, problem: Equation | None = None) -> Solution:
    """Loads a run from its folder: `solution = fr.load("runs/volterra")`.

    Nothing in the folder is imported or executed. So a network or an equation that was your own is not in it, and must be given again.

    Args:
        path: the folder, which `solve(out=...)` or `Solution.save` wrote.
        network: the network of the run, where it was not the library's own.
        problem: the equation of the run, where it was not the library's own. Without it the solution still predicts, but cannot be
            evaluated against an exact solution.

    Returns:
        The `Solution`.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> solution = fr.solve(fr.problems.Volterra(), network=fr.Chebyshev(8), seeds=1, progress=False)
        >>> loaded = fr.load(solution.save("runs/loaded"))
        >>> bool((loaded([[1.0]]) == solution([[1.0]])).all())
        True

    See also:
        `resume`, `Solution`.
    """
    record, arrays, history = SavedRun.read(RunFolder.open(path))
    with jax.enable_x64(record.settings.precision == "float64"):
        skeleton = _field_skeleton(_network(network, problem, record), record)
        main, average, delayed = (_saved(skeleton, record, arrays, part) for part in (".u", ".average", ".method"))
        # An adaptive method keeps its measurements beside the target.
        delayed = delayed or _saved(skeleton, record, arrays, ".method.target")
        if main is None:
            raise ValueError(f"{path}: its checkpoint has no network.")
        answer, target = main if average is None else average, main if delayed is None else delayed
    problem = problem or record.settings.part("problem")
    return Solution(record, problem, history, answer, target, arrays, main)


def _saved(skeleton: Field, record: RunRecord, arrays: Arrays, part: str) -> Field | None:
    """The network in this part of the training state, or None where there is none."""
    kept = {name.removeprefix(part): value for name, value in arrays.items() if name.startswith((f"{part}.network", f"{part}.unknowns"))}
    if not kept:
        return None
    seeds = len(record.settings.seeds)
    dynamic, static = eqx.partition(skeleton, _is_shape)
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((seeds, *leaf.shape), leaf.dtype), dynamic)
    return eqx.combine(jax.tree.map(jnp.asarray, unflatten(shapes, kept)), static)


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
    found = as_network(found)
    if not found.built_in:
        return found
    problem = problem if problem is not None else record.settings.part("problem")
    if problem is None:
        raise ValueError("this run has conditions built into u, and its equation was your own: give load(path, problem=...), the same one.")
    return with_conditions(found, problem)


def _field_skeleton(recipe: AbstractNetwork, record: RunRecord) -> Field:
    """A field with the shapes of the run's networks. Nothing is built: whatever sizes a file says, its arrays are what is allocated."""
    unknowns = {name: jnp.zeros(()) for name in record.unknowns}

    def build() -> Field:
        return Field(recipe.build(record.inputs, record.outputs, jax.random.key(0)), unknowns, record.inputs, record.outputs)

    try:
        return shapes_of(build)
    except (TypeError, OverflowError, MemoryError, ZeroDivisionError) as error:
        raise ValueError(f"network: {recipe!r:.200} cannot be built: {' '.join(str(error).split())[:200]}.") from error


def _is_shape(leaf: object) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)
