"""The picture of one solution: beside the truth, its error, its training."""

import os
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fredholm.equation.equation import Equation
from fredholm.report.plots.curves import error_panel, loss_panel, seed_curve, unknown_panel
from fredholm.report.plots.names import metric_name, output_names, with_interval
from fredholm.report.plots.panels import color_bar, heat_map, profile_error_panel, profile_panel, scatter_panel, symmetric_limit
from fredholm.report.plots.shown import (
    Lines,
    Plane,
    Profile,
    Shown,
    chosen_seeds,
    field_lines,
    has_plane,
    has_truth,
    look,
    plane,
    profiles,
    removed,
    robust_limits,
    scatter_points,
)
from fredholm.report.plots.style import Panel, colors, compose, finish, house_style, plain
from fredholm.report.solved import Solved

MOST_OUTPUTS = 4  # rows of a figure; further outputs are named in its title and left out


def plot_solution(solution: Solved, path: str | os.PathLike[str] | None = None, *, problem: Equation | None = None) -> Figure:
    """A picture of a solution, written to `path` if given.

    One input: the mean over seeds with the range over seeds, the truth, the error. Two inputs: heat maps. More: prediction against
    truth, and a heat map on the plane of the problem's view if it has one, else lines through the domain or a radial profile. Below,
    the error, the loss and the learned scalars over training. What the problem's metric cannot see (a constant, a linear part) is
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
            rows = [[_nothing]]
        return finish(compose(rows, _title(solution, problem)), path)


def _field_rows(solution: Solved, problem: Equation, color: str) -> list[list[Panel]]:
    """A row for each output."""
    names = output_names(problem, problem.outputs)[:MOST_OUTPUTS]
    if has_plane(problem):
        grid = plane(problem)
        shown = look(solution, problem, grid.points)
        if problem.inputs == 2:
            return [_heat_row(grid, shown, output, name) for output, name in enumerate(names)]
        output = problem.view.output
        heat = _heat_row(grid, shown, output, names[output], field_lines(problem, None), field_lines(problem, solution))
        at_points = look(solution, problem, scatter_points(problem)) if has_truth(problem) else None
        scatters = [partial(_scatter, at_points, name, color, output) for output, name in enumerate(names)] if at_points is not None else []
        return [heat, scatters] if scatters else [heat]
    lines = [(profile, look(solution, problem, profile.points)) for profile in profiles(problem)]
    seeds = len(chosen_seeds(solution, problem))
    at_points = look(solution, problem, scatter_points(problem)) if problem.inputs > 2 and has_truth(problem) else None
    rows = []
    for output, name in enumerate(names):
        row: list[Panel] = [partial(_scatter, at_points, name, color, output)] if at_points is not None else []
        for profile, shown in lines:
            row.append(partial(_profile, profile, shown, name, color, output, seeds))
            if problem.inputs == 1 and has_truth(problem):
                row.append(partial(_profile_error, profile, shown, color, output))
        rows.append(row)
    return rows


def _profile(profile: Profile, shown: Shown, name: str, color: str, output: int, seeds: int, axes: Axes) -> None:
    band = "range over directions" if profile.width > 1 else f"range of {seeds} seeds"
    label = "mean and " + band if seeds > 1 or profile.width > 1 else "prediction"
    profile_panel(axes, profile, {label: shown}, {label: color}, output)
    axes.set_title(f"solution {name}")
    axes.set_ylabel(name, rotation=0, labelpad=8)
    axes.legend()


def _profile_error(profile: Profile, shown: Shown, color: str, output: int, axes: Axes) -> None:
    profile_error_panel(axes, profile, {"error": shown}, {"error": color}, output)


def _scatter(shown: Shown, name: str, color: str, output: int, axes: Axes) -> None:
    scatter_panel(axes, shown, name, color, output)
    axes.set_title("prediction against truth")


def _heat_row(
    grid: Plane, shown: Shown, output: int, name: str, true_lines: Lines | None = None, lines: Lines | None = None
) -> list[Panel]:
    """Truth, prediction and error; without a truth the prediction and the spread over seeds."""
    mean = shown.mean[:, output]
    truth = None if shown.truth is None else shown.truth[:, output]
    limits = robust_limits([grid.image(mean if truth is None else truth)])

    def image(title: str, values: np.ndarray, limits: tuple[float, float], lines: Lines | None, error: bool, axes: Axes) -> None:
        color_bar(heat_map(axes, grid, values, limits, error=error, lines=lines), axes, grid.image(values).compressed())
        axes.set_title(title)

    here = f"{name} at {grid.where}" if grid.where else name
    row: list[Panel] = [] if truth is None else [partial(image, f"exact {here}", truth, limits, true_lines, False)]
    row.append(partial(image, f"predicted {here}" + (", mean over seeds" if len(shown.members) > 1 else ""), mean, limits, lines, False))
    if truth is not None:
        error = mean - truth
        row.append(partial(image, "prediction − exact", error, symmetric_limit([grid.image(error).compressed()]), None, True))
    elif len(shown.members) > 1:
        spread = shown.members[..., output].std(axis=0, ddof=1)
        row.append(partial(image, "standard deviation over seeds", spread, robust_limits([grid.image(spread)]), None, False))
    return row


def _training_row(solution: Solved, problem: Equation | None, color: str) -> list[Panel]:
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


def _nothing(axes: Axes) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, "nothing was recorded yet", ha="center", va="center", transform=axes.transAxes)


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
