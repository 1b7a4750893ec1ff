"""What a picture shows: the points, and the values of a solution there without the part that the problem's metric ignores."""

from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import ConvexHull

from fredholm.domains.base import AbstractDomain
from fredholm.domains.combined import Product
from fredholm.domains.flat import Box, Interval
from fredholm.equation.conditions import Data
from fredholm.equation.equation import Equation
from fredholm.equation.evaluation import METRICS, AbstractEvaluation
from fredholm.equation.residual import AbstractCondition, network_point
from fredholm.equation.view import View
from fredholm.functions.field import Field
from fredholm.problems.evaluation import RadialGrid
from fredholm.report.plots.names import axis_names
from fredholm.report.solved import Solved

LINE, SQUARE = 301, 161  # points of a line, and of each side of a heat map
RADII, DIRECTIONS = 60, 64  # the grid of a radial profile
LINES = 41  # points of each side of a field that is drawn as lines
FITTED = 4000  # points at which the removed part is fitted, and that a scatter shows
SLICES = 4  # fixed times
TIMES = ("t", "time", "tau", "s")
FULL = 0.97  # a convex hull that fills this much of its box is the box


class Shown(NamedTuple):
    """Values at points: of each seed that succeeded, and of the truth if there is one."""

    members: np.ndarray  # (s, n, m)
    truth: np.ndarray | None  # (n, m)

    @property
    def mean(self) -> np.ndarray:
        """The mean over seeds, (n, m)."""
        return self.members.mean(axis=0)


class Profile(NamedTuple):
    """A line through the domain: k abscissas, each with r points of the domain."""

    label: str
    abscissa: np.ndarray  # (k,)
    points: np.ndarray  # (k * r, d), the r points of an abscissa together

    @property
    def width(self) -> int:
        """r."""
        return len(self.points) // len(self.abscissa)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values (..., k * r, m) as (..., k, r, m)."""
        return values.reshape(*values.shape[:-2], len(self.abscissa), self.width, values.shape[-1])


class Lines(NamedTuple):
    """A vector field on the plane, drawn as field lines: (k,), (k,), and two of (k, k), the second axis slow."""

    first: np.ndarray
    second: np.ndarray
    along_first: np.ndarray
    along_second: np.ndarray


class Plane(NamedTuple):
    """A grid over the domain's bounding box, or over the plane that the problem's view has; `inside` says which of its points belong to
    the domain."""

    extent: tuple[float, float, float, float]
    points: np.ndarray  # (SQUARE², d), the second axis slow
    inside: np.ndarray  # (SQUARE, SQUARE)
    names: list[str]  # of the two axes
    where: str  # the values of the other inputs, in words; empty where there are none

    def image(self, values: np.ndarray) -> np.ma.MaskedArray:
        """Values at the points, (n,), as a masked image with the second axis upwards."""
        return np.ma.masked_array(values.reshape(SQUARE, SQUARE), ~self.inside | ~np.isfinite(values.reshape(SQUARE, SQUARE)))


def has_region(problem: Equation | None) -> bool:
    """True where the problem says at which points its solution matters."""
    return problem is not None and problem.evaluation is not None


def has_truth(problem: Equation | None) -> bool:
    """True where predictions can be compared with an exact solution."""
    return problem is not None and problem.evaluation is not None and problem.exact is not None


def chosen_seeds(solution: Solved, problem: Equation) -> list[int]:
    """The places of the seeds to show: all that succeeded; one where every seed has a problem of its own."""
    good = [int(index) for index in np.flatnonzero(solution.good)] or list(range(len(solution.seeds)))
    return good[:1] if problem.is_drawn else good


def removed(problem: Equation) -> str:
    """What `values_at` removes, in words; empty for nothing."""
    return METRICS[problem.evaluation.score].removed if problem.evaluation is not None else ""


def values_at(solution: Solved, problem: Equation, points: np.ndarray) -> Shown:
    """The solution and the truth at points, without the part that the problem's metric ignores."""
    assert problem.evaluation is not None
    chosen = chosen_seeds(solution, problem)
    score = problem.evaluation.score
    with jax.enable_x64(solution.precision == "float64"):
        own = problem.for_seed(solution.seeds[chosen[0]])

        def members(at: np.ndarray) -> np.ndarray:
            values = np.asarray(solution.members(at), float)[chosen]
            return values.reshape(len(chosen), len(at), problem.outputs)

        def truth(at: np.ndarray) -> np.ndarray:
            return np.asarray(own.truth(jnp.asarray(at, float)), float).reshape(len(at), problem.outputs)

        predicted, exact = members(points), None if problem.exact is None else truth(points)
        if exact is None or not METRICS[score].removed:
            return Shown(predicted, exact)
        fitted = scatter_points(problem)
        known = members(fitted)
        kept = [_visible(score, known[index], fitted, predicted[index], points) for index in range(len(chosen))]
        return Shown(np.stack(kept), _visible(score, truth(fitted), fitted, exact, points))


def _visible(score: str, known: np.ndarray, fitted: np.ndarray, values: np.ndarray, points: np.ndarray) -> np.ndarray:
    """`values` without the part that `score` ignores, which is found from the `known` values at the `fitted` points."""
    if score == "mse_linear_free":
        design, here = (np.concatenate([np.ones((len(at), 1)), at], axis=1) for at in (fitted, points))
        return values - here @ np.linalg.lstsq(design, known, rcond=None)[0]
    values = values - known.mean(axis=0)
    return values / known.std(axis=0) if score == "mse_normalized" else values


def scatter_points(problem: Equation) -> np.ndarray:
    """Points at which the problem is scored."""
    assert problem.evaluation is not None
    return np.asarray(problem.evaluation.points(FITTED), float)


def radial_profile(problem: Equation, directions: int = DIRECTIONS) -> Profile:
    """Quantiles of the radius, each with points in random directions."""
    radii = np.quantile(np.linalg.norm(scatter_points(problem), axis=1), np.linspace(0.005, 0.995, RADII))
    units = np.random.default_rng(0).normal(size=(directions, problem.inputs))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    return Profile("radius $|x|$", radii, (radii[:, None, None] * units).reshape(-1, problem.inputs))


def profiles(problem: Equation) -> list[Profile]:
    """The lines on which a solution is shown: the domain itself in 1-D, the radius where the problem is scored on radii, else
    lines along the first three axes through the middle of the domain."""
    assert problem.evaluation is not None
    drawn = scatter_points(problem)
    low, high = _limits(problem.evaluation, drawn)
    names = axis_names(problem, problem.inputs)
    if problem.inputs == 1:
        line = np.linspace(low[0], high[0], LINE)
        return [Profile(names[0], line, line[:, None])]
    if isinstance(problem.evaluation, RadialGrid):
        return [radial_profile(problem)]
    lines = []
    for axis in range(min(3, problem.inputs)):
        points = np.tile(np.median(drawn, axis=0), (LINE, 1))
        points[:, axis] = np.linspace(low[axis], high[axis], LINE)
        lines.append(Profile(f"{names[axis]}, the other axes at their middle", points[:, axis].copy(), points))
    return lines


def has_plane(problem: Equation) -> bool:
    """True where a heat map shows the solution: with two inputs, or on the plane that the problem's view has."""
    return problem.inputs == 2 or (problem.inputs > 2 and bool(problem.view.through))


def plane(problem: Equation) -> Plane:
    """The grid of a heat map."""
    if problem.inputs > 2:
        return _slice(problem)
    assert problem.evaluation is not None
    drawn = scatter_points(problem)
    low, high = _limits(problem.evaluation, drawn)
    first, second = (np.linspace(low[axis], high[axis], SQUARE) for axis in (0, 1))
    points = np.stack([axis.ravel() for axis in np.meshgrid(first, second)], axis=-1)
    hull = ConvexHull(drawn)  # a point is inside where it is on the inner side of every edge; in 2-D the hull's volume is its area
    within = np.all(points @ hull.equations[:, :2].T + hull.equations[:, 2] <= 1e-9, axis=1)
    inside = np.ones(len(points), bool) if hull.volume > FULL * np.prod(high - low) else within
    half = (high - low) / (SQUARE - 1) / 2
    left, bottom = (float(edge) for edge in low - half)
    right, top = (float(edge) for edge in high + half)
    return Plane((left, right, bottom, top), points, inside.reshape(SQUARE, SQUARE), axis_names(problem, 2), "")


def _slice(problem: Equation) -> Plane:
    """The plane of the problem's view."""
    view, names = problem.view, axis_names(problem, problem.inputs)
    (left, bottom), (right, top) = view.low, view.high
    half = np.array([right - left, top - bottom]) / SQUARE / 2  # centres of cells, so that the picture ends where the view does
    axes = [np.linspace(low + h, high - h, SQUARE) for low, high, h in zip(view.low, view.high, half, strict=True)]
    others = [f"{names[axis]} = {view.through[axis]:g}" for axis in range(problem.inputs) if axis not in view.along]
    inside = np.ones((SQUARE, SQUARE), bool)
    return Plane((left, right, bottom, top), _on_plane(view, *axes), inside, [names[axis] for axis in view.along], ", ".join(others))


def _on_plane(view: View, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The points of the plane with these coordinates, the second axis slow."""
    points = np.tile(np.asarray(view.through, float), (len(first) * len(second), 1))
    points[:, view.along[0]], points[:, view.along[1]] = (axis.ravel() for axis in np.meshgrid(first, second))
    return points


def field_lines(problem: Equation, solution: Solved | None) -> Lines | None:
    """What the view's `lines` give on its plane, for a solution (the mean over seeds) or, with None, for the truth; None without any."""
    view, lines = problem.view, problem.view.lines
    if lines is None or not view.through or (solution is None and problem.exact is None):
        return None
    first, second = (np.linspace(low, high, LINES) for low, high in zip(view.low, view.high, strict=True))
    points = _on_plane(view, first, second)
    if solution is None:
        assert problem.exact is not None
        truth = Field(problem.exact, {}, problem.inputs, problem.outputs)
        vectors = np.asarray(jax.vmap(lambda x: lines(truth, x))(jnp.asarray(points, float)))
    else:
        vectors = np.asarray(solution(points, of=lines))
    along = [vectors[:, axis].reshape(LINES, LINES) for axis in view.along]
    return Lines(first, second, *along)


def shared_problem(solutions: Mapping[str, Solved]) -> Equation | None:
    """The problem that all solutions solve, from the first that knows it; None where none does."""
    if not solutions:
        raise ValueError("solutions: got none; expected a mapping from names to solutions, as compare returns.")
    if not comparable(solutions):
        raise ValueError(f"solutions: {', '.join(solutions)} solve different problems; compare those of one problem at a time.")
    return next((solution.problem for solution in solutions.values() if solution.problem is not None), None)


def comparable(solutions: Mapping[str, Solved]) -> bool:
    """True where the solutions are recorded as those of one problem."""
    found = [(one.shown().settings["problem"], one.inputs, one.outputs) for one in solutions.values()]
    return all(other == found[0] for other in found)


def time_axis(problem: Equation) -> int | None:
    """Which of two inputs is a parameter, or time: by its name in the view, or because a condition holds at its beginning only. None where
    neither is."""
    if problem.inputs != 2:
        return None
    if problem.parameters:
        return 1
    named = [axis for axis, name in enumerate(problem.view.inputs) if name.strip("$\\ ").lower() in TIMES]
    if named:
        return named[-1]
    assert problem.evaluation is not None
    low, high = _limits(problem.evaluation, scatter_points(problem))
    fixed = [_fixed_axes(condition, low, high) for condition in problem.conditions]
    starts, ends = ({axis for at_low, at_high in fixed for axis in (at_low, at_high)[end]} for end in (0, 1))
    only = sorted(starts - ends)
    return only[0] if len(only) == 1 else None


def _fixed_axes(condition: AbstractCondition, low: np.ndarray, high: np.ndarray) -> tuple[list[int], list[int]]:
    """The axes of which all points of a condition are at the lower end, and at the upper end."""
    points = network_point(jax.vmap(condition.law.sample)(jax.random.split(jax.random.key(20), 8)))
    if not isinstance(points, jax.Array) or points.shape[1:] != low.shape:
        return [], []
    at, near = np.asarray(points, float), 1e-6 * (high - low)
    return [list(np.flatnonzero((np.abs(at - edge) <= near).all(axis=0))) for edge in (low, high)]  # pyright: ignore[reportReturnType]


def slices(problem: Equation, axis: int) -> list[Profile]:
    """Lines along the other input, at fixed values of this one."""
    assert problem.evaluation is not None
    low, high = _limits(problem.evaluation, scatter_points(problem))
    names, along, found = axis_names(problem, 2), 1 - axis, []
    line = np.linspace(low[along], high[along], LINE)
    for value in np.linspace(low[axis], high[axis], SLICES):
        points = np.empty((LINE, 2))
        points[:, along], points[:, axis] = line, value
        found.append(Profile(f"{names[axis]} = {value:.3g}", line, points))
    return found


def data_of(problem: Equation, output: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Points (n, d) and values (n,) of the data that were observed of u itself."""
    found = []
    for condition in problem.conditions:
        if isinstance(condition, Data) and condition.is_of_u:
            points, values = (np.asarray(condition.observed.columns[name], float) for name in ("point", "value"))
            values = values.reshape(len(values), -1)
            if values.shape[1] == problem.outputs and points.shape[1] == problem.inputs:
                found.append((points, values[:, output]))
    return found


def robust_limits(values: list[np.ndarray], tails: float = 0.01) -> tuple[float, float]:
    """Limits for an axis or a colour scale, which a singularity does not spoil: with far outliers only the inner quantiles count."""
    pooled = np.concatenate([np.ravel(np.ma.compressed(array) if np.ma.isMaskedArray(array) else array) for array in values])
    pooled = pooled[np.isfinite(pooled)]
    if not len(pooled):
        return 0.0, 1.0
    low, high = np.quantile(pooled, [tails, 1 - tails])
    least, most = pooled.min(), pooled.max()
    if most - least <= 2 * (high - low):
        low, high = least, most
    margin = 1e-6 * max(abs(low), abs(high), 1e-6) if high - low < 1e-9 * max(abs(low), abs(high)) or high == low else 0.0
    return float(low - margin), float(high + margin)


def _limits(evaluation: AbstractEvaluation, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bounding box: exact for intervals and boxes, else that of the drawn points."""
    exact = _box(getattr(evaluation, "at", None))
    if exact is not None and len(exact[0]) == drawn.shape[1]:
        return exact
    return drawn.min(axis=0), drawn.max(axis=0)


def _box(domain: AbstractDomain | None) -> tuple[np.ndarray, np.ndarray] | None:
    if isinstance(domain, (Interval, Box)):
        return np.atleast_1d(np.asarray(domain.low, float)), np.atleast_1d(np.asarray(domain.high, float))
    if isinstance(domain, Product):
        boxes = [_box(part) for part in domain.parts]
        if all(box is not None for box in boxes):
            return np.concatenate([box[0] for box in boxes if box]), np.concatenate([box[1] for box in boxes if box])
    return None
