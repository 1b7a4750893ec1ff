"""The predictions of a solution on a grid, as an `xarray.Dataset`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from fredholm.equation.equation import Equation
from fredholm.results.prediction import Values

if TYPE_CHECKING:
    import xarray

SHOWN, MANY = {1: 201, 2: 101}, 2000  # points on each axis of the default grid; points where there are more axes


@runtime_checkable
class Predicting(Protocol):
    """A solution, as a dataset sees it."""

    problem: Equation | None

    @property
    def inputs(self) -> int: ...
    @property
    def outputs(self) -> int: ...
    @property
    def seeds(self) -> tuple[int, ...]: ...
    def __call__(self, points: ArrayLike) -> Values: ...
    def members(self, points: ArrayLike) -> Values: ...
    def main(self, points: ArrayLike) -> Values: ...
    def target(self, points: ArrayLike) -> Values: ...


class Grid(NamedTuple):
    """Points, and where they stand in a dataset."""

    points: np.ndarray  # (n, d)
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    coordinates: Mapping[str, object]


def dataset(solution: Predicting, grid: Mapping[str, ArrayLike] | ArrayLike | None) -> "xarray.Dataset":
    """What `Solution.to_dataset` returns."""
    import xarray

    at = _grid(solution, _default(solution) if grid is None else grid)
    outputs, tail = ((), ()) if solution.outputs == 1 else (("output",), (solution.outputs,))
    dims = (*at.dims, *outputs)

    def on_grid(values: Values) -> np.ndarray:
        return np.asarray(values).reshape(*at.shape, *tail)

    members = np.asarray(solution.members(at.points)).reshape(len(solution.seeds), *at.shape, *tail)
    data = {
        "mean": (dims, on_grid(solution(at.points))),
        "members": (("seed", *dims), members),
        "main": (dims, on_grid(solution.main(at.points))),
        "target": (dims, on_grid(solution.target(at.points))),
    }
    problem = solution.problem
    if problem is not None and problem.exact is not None and not problem.is_drawn:
        data["exact"] = (dims, on_grid(problem.truth(jnp.asarray(at.points, float))))
    return xarray.Dataset(data, coords={"seed": list(solution.seeds), **at.coordinates}, attrs={"made_by": "fredholm"})


def _grid(solution: Predicting, given: Mapping[str, ArrayLike] | ArrayLike) -> Grid:
    if not isinstance(given, Mapping):
        points = np.asarray(given, float)
        return Grid(points, (len(points),), ("point",), {f"x{axis}": ("point", points[:, axis]) for axis in range(points.shape[1])})
    axes = {str(name): np.asarray(values, float) for name, values in given.items()}
    if len(axes) != solution.inputs or any(values.ndim != 1 for values in axes.values()):
        raise ValueError(f"grid: got {len(axes)} axes {list(axes)}; expected {solution.inputs}, each a list of numbers.")
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes.values(), indexing="ij")], axis=-1)
    return Grid(points, tuple(map(len, axes.values())), tuple(axes), axes)


def _default(solution: Predicting) -> Mapping[str, ArrayLike] | ArrayLike:
    problem = solution.problem
    if problem is None or problem.evaluation is None:
        raise ValueError("to_dataset: give a grid, for instance {'x': numpy.linspace(0, 1, 101)}, or points of shape (n, d).")
    points = np.asarray(problem.evaluation.points(MANY))
    if points.shape[1] not in SHOWN:
        return points
    counts = SHOWN[points.shape[1]]
    names = [f"x{axis}" for axis in range(points.shape[1] - len(problem.parameters))] + list(problem.parameters)
    return {name: np.linspace(points[:, axis].min(), points[:, axis].max(), counts) for axis, name in enumerate(names)}
