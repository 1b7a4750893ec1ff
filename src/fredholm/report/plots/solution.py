"""The picture of one solution: beside the truth, its error, its training."""

import os
from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fredholm.equation.equation import Equation
from fredholm.report.plots.curves import error_panel, loss_panel, seed_curve, unknown_panel
from fredholm.report.plots.names import axis_names, metric_name, output_names, with_interval
from fredholm.report.plots.panels import (
    color_bar,
    empty_panel,
    heat_map,
    profile_error_panel,
    profile_panel,
    scatter_panel,
    symmetric_limit,
)
from fredholm.report.plots.scales import Scale, scale_of, spans_decades
from fredholm.report.plots.series import is_series, spectrum_panel, tried_panel
from fredholm.report.plots.shown import (
    Lines,
    Plane,
    Profile,
    Shown,
    chosen_seeds,
    data_of,
    field_lines,
    has_plane,
    has_truth,
    plane,
    profiles,
    removed,
    scatter_points,
    slices,
    time_axis,
    values_at,
)
from fredholm.report.plots.style import TRUTH, Panel, colors, compose, finish, house_style, plain, time_colors
from fredholm.report.solved import Solved

MOST_OUTPUTS = 4  # rows of a figure; further outputs are named in its title and left out


def plot_solution(solution: Solved, path: str | os.PathLike[str] | None = None, *, problem: Equation | None = None) -> Figure:
    """A picture of a solution, written to `path` if given.

    One input: the mean over seeds with the range over seeds, the truth, the error. Two inputs: heat maps. More: prediction against
    truth, and a heat map on the plane of the problem's view if it has one, else lines through the domain or a radial profile. Below,
    the error, the loss and the learned scalars over training. What the problem's metric ignores (a constant, a linear part) is
    removed from prediction and truth, and the title says so. `problem` is for a loaded run that could not rebuild its own.
    """
    problem = problem or solution.problem
    color = colors([solution.label]).popitem()[1]
    rows: list[list[Panel]] = []
    with house_style():
        if problem is not None and problem.evaluation is not None:
            rows += _field_rows(solution, problem, color)
        rows.append(_training_row(solution, problem, color))
        if not any(rows):
            rows = [[partial(empty_panel, text="nothing was recorded yet")]]
        return finish(compose(rows, _title(solution, problem)), path)


def _field_rows(solution: Solved, problem: Equation, color: str) -> list[list[Panel]]:
    """A row for each output."""
    names = output_names(problem, problem.outputs)[:MOST_OUTPUTS]
    if has_plane(problem):
        grid = plane(problem)
        shown = values_at(solution, problem, grid.points)
        if problem.inputs == 2:
            rows = [_heat_row(grid, shown, output, name, data=data_of(problem, output)) for output, name in enumerate(names)]
            return rows + _slice_rows(solution, problem, names)
        output = problem.view.output
        heat = _heat_row(grid, shown, output, names[output], field_lines(problem, None), field_lines(problem, solution))
        at_points = values_at(solution, problem, scatter_points(problem)) if has_truth(problem) else None
        scatters = [partial(_scatter, at_points, name, color, output) for output, name in enumerate(names)] if at_points is not None else []
        return [heat, scatters] if scatters else [heat]
    lines = [(profile, values_at(solution, problem, profile.points)) for profile in profiles(problem)]
    seeds = len(chosen_seeds(solution, problem))
    at_points = values_at(solution, problem, scatter_points(problem)) if problem.inputs > 2 and has_truth(problem) else None
    rows = []
    for output, name in enumerate(names):
        row: list[Panel] = [partial(_scatter, at_points, name, color, output)] if at_points is not None else []
        for profile, shown in lines:
            row.append(partial(_profile, profile, shown, name, color, output, seeds, data_of(problem, output)))
            if problem.inputs == 1 and has_truth(problem):
                row.append(partial(_profile_error, profile, shown, color, output))
        rows.append(row)
    return rows


def _slice_rows(solution: Solved, problem: Equation, names: list[str]) -> list[list[Panel]]:
    """Where one of two inputs is time or a parameter: u along the other at a few of its values, and its error."""
    axis = time_axis(problem)
    if axis is None:
        return []
    lines = [(profile, values_at(solution, problem, profile.points)) for profile in slices(problem, axis)]
    fixed = "fixed parameters" if problem.parameters else "fixed times"
    rows: list[list[Panel]] = []
    for output, name in enumerate(names):
        row: list[Panel] = [partial(_slices, lines, axis_names(problem, 2)[1 - axis], name, output, fixed)]
        rows.append([*row, partial(_slice_errors, lines, axis_names(problem, 2)[1 - axis], output, fixed)] if has_truth(problem) else row)
    return rows


def _slices(lines: list[tuple[Profile, Shown]], along: str, name: str, output: int, fixed: str, axes: Axes) -> None:
    """Lines of the prediction, dashed lines of the truth, the later the brighter."""
    seen = []
    for color, (profile, shown) in zip(time_colors(len(lines)), lines, strict=True):
        axes.plot(profile.abscissa, shown.mean[:, output], color=color, label=profile.label)
        seen.append(shown.mean[:, output])
        if shown.truth is not None:
            axes.plot(profile.abscissa, shown.truth[:, output], color=TRUTH, linestyle=(0, (4, 2.5)), linewidth=0.9)
            seen.append(shown.truth[:, output])
    _along(axes, along, lines, seen)
    exact = ", dashed: exact" if lines[0][1].truth is not None else ""
    axes.set_title(f"{name} at {fixed}{exact}")
    axes.set_ylabel(name, rotation=0, labelpad=8)
    axes.legend()


def _slice_errors(lines: list[tuple[Profile, Shown]], along: str, output: int, fixed: str, axes: Axes) -> None:
    seen = []
    for color, (profile, shown) in zip(time_colors(len(lines)), lines, strict=True):
        assert shown.truth is not None
        seen.append(np.abs(shown.mean - shown.truth)[:, output])
        axes.plot(profile.abscissa, seen[-1], color=color, label=profile.label)
    largest = max(float(np.nanmax(error)) for error in seen)
    if largest > 0:
        axes.set_yscale("log", nonpositive="mask")
        axes.set_ylim(1e-4 * largest, 2 * largest)
    _along(axes, along, lines, None)
    axes.set_title(f"absolute error at these {fixed.split()[-1]}")


def _along(axes: Axes, along: str, lines: list[tuple[Profile, Shown]], seen: list[np.ndarray] | None) -> None:
    if seen is not None:
        scale_of(seen).set(axes)
    axes.set_xlabel(along)
    axes.margins(x=0.01)
    if spans_decades(lines[0][0].abscissa):
        axes.set_xscale("log")


def _profile(
    profile: Profile,
    shown: Shown,
    name: str,
    color: str,
    output: int,
    seeds: int,
    data: list[tuple[np.ndarray, np.ndarray]],
    axes: Axes,
) -> None:
    band = "range over directions" if profile.width > 1 else f"range of {seeds} seeds"
    label = "mean and " + band if seeds > 1 or profile.width > 1 else "prediction"
    on_line = [(points[:, 0], values) for points, values in data if points.shape[1] == 1]
    profile_panel(axes, profile, {label: shown}, {label: color}, output, on_line)
    axes.set_title(f"solution {name}")
    axes.set_ylabel(name, rotation=0, labelpad=8)
    axes.legend()


def _profile_error(profile: Profile, shown: Shown, color: str, output: int, axes: Axes) -> None:
    profile_error_panel(axes, profile, {"error": shown}, {"error": color}, output)


def _scatter(shown: Shown, name: str, color: str, output: int, axes: Axes) -> None:
    scatter_panel(axes, shown, name, color, output)
    axes.set_title("prediction against truth")


def _heat_row(
    grid: Plane,
    shown: Shown,
    output: int,
    name: str,
    true_lines: Lines | None = None,
    lines: Lines | None = None,
    data: Sequence[tuple[np.ndarray, np.ndarray]] = (),
) -> list[Panel]:
    """Truth, prediction and error; without a truth the prediction and the spread over seeds."""
    mean = shown.mean[:, output]
    truth = None if shown.truth is None else shown.truth[:, output]
    limits = scale_of([grid.image(mean), *([] if truth is None else [grid.image(truth)])])

    def image(title: str, values: np.ndarray, limits: tuple[float, float] | Scale, lines: Lines | None, error: bool, axes: Axes) -> None:
        color_bar(heat_map(axes, grid, values, limits, error=error, lines=lines), axes, grid.image(values).compressed())
        axes.set_title(title)
        for points, _ in data:
            axes.plot(points[:, 0], points[:, 1], "o", color="white", markeredgecolor="black", markersize=3, markeredgewidth=0.5)

    here = f"{name} at {grid.where}" if grid.where else name
    row: list[Panel] = [] if truth is None else [partial(image, f"exact {here}", truth, limits, true_lines, False)]
    row.append(partial(image, f"predicted {here}" + (", mean over seeds" if len(shown.members) > 1 else ""), mean, limits, lines, False))
    if truth is not None:
        error = mean - truth
        row.append(partial(image, "prediction − exact", error, symmetric_limit([grid.image(error).compressed()]), None, True))
    elif len(shown.members) > 1:
        spread = shown.members[..., output].std(axis=0, ddof=1)
        row.append(partial(image, "standard deviation over seeds", spread, scale_of([grid.image(spread)]), None, False))
    return row


def _training_row(solution: Solved, problem: Equation | None, color: str) -> list[Panel]:
    if is_series(solution):
        return [lambda axes: spectrum_panel(axes, solution, color), lambda axes: tried_panel(axes, solution, color)]
    row: list[Panel] = []
    error = seed_curve(solution, "error")
    if error is not None:
        score = problem.evaluation.score if problem is not None and problem.evaluation is not None else "error"
        row.append(lambda axes: error_panel(axes, {"error": error}, {"error": color}, score))
    if seed_curve(solution, "loss") is not None:
        row.append(lambda axes: loss_panel(axes, solution, color))
    if solution.unknowns:
        row.append(lambda axes: unknown_panel(axes, solution))
    return row


def _title(solution: Solved, problem: Equation | None) -> str:
    lines = [plain(solution.label, 90)]
    about = []
    if problem is not None and has_truth(problem):
        assert problem.evaluation is not None
        about.append(
            f"{metric_name(problem.evaluation.score)}: {with_interval(solution.summary(problem=problem)[problem.evaluation.score])}"
        )
        if removed(problem):
            about.append(f"shown with {removed(problem)}" if removed(problem) != "standardised" else "shown standardised")
    if problem is not None and problem.is_drawn:
        about.append(f"seed {solution.seeds[chosen_seeds(solution, problem)[0]]} shown: every seed has a problem of its own")
    failed = len(solution.seeds) - int(solution.good.sum())
    if failed:
        about.append(f"{failed} of {len(solution.seeds)} seeds failed")
    if solution.outputs > MOST_OUTPUTS:
        about.append(f"the first {MOST_OUTPUTS} of {solution.outputs} outputs")
    together = "; ".join(about)
    return "\n".join([*lines, *(about if len(together) > 80 else [together] if about else [])])
