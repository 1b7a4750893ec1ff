"""Several methods on one problem: the solutions beside the truth, the errors over training, the loss against its excess variance."""

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from fredholm.equation.equation import Equation
from fredholm.report.plots.curves import Curve, draw_curve, error_panel, log_scale, seed_curve
from fredholm.report.plots.names import metric_name, output_names, with_interval
from fredholm.report.plots.panels import color_bar, heat_map, profile_panel, symmetric_limit
from fredholm.report.plots.scales import scale_of
from fredholm.report.plots.shown import (
    field_lines,
    has_plane,
    has_region,
    has_truth,
    plane,
    profiles,
    removed,
    shared_problem,
    values_at,
)
from fredholm.report.plots.style import colors, finish, house_style, new_figure, plain, step_axis
from fredholm.report.solved import Solved

PER_ROW = 5  # methods beside each other


def plot_comparison(
    solutions: Mapping[str, Solved],
    path: str | os.PathLike[str] | None = None,
    *,
    problem: Equation | None = None,
    output: int | None = None,
) -> Figure:
    """The solutions of one problem by several methods, beside the truth, and their errors over training; written to `path` if given.

    All pictures of one kind have the same scale. `output` is the component that is shown where the solution has several,
    default: that of the problem's view.
    """
    problem = problem or shared_problem(solutions)
    outputs = next(iter(solutions.values())).outputs
    output = (problem.view.output if problem is not None else 0) if output is None else output
    if not 0 <= output < outputs:
        raise ValueError(f"output: got {output}; the solution has {outputs} outputs, expected 0 to {outputs - 1}.")
    with house_style():
        if problem is not None and has_region(problem) and has_plane(problem):
            figure = _heat_maps(solutions, problem, output)
        else:
            figure = _lines(solutions, problem, output)
        return finish(figure, path)


def plot_variance(solutions: Mapping[str, Solved], path: str | os.PathLike[str] | None = None) -> Figure:
    """For each method its loss over training against the excess variance, by which the standard loss is biased (Saleh et al., ICML 2024,
    Figure 1, right): the standard loss cannot go below it, and goes down by lowering it; the others' targets do not see it.
    """
    recorded = {name: seed_curve(solution, "loss") for name, solution in solutions.items()}
    curves = {name: curve for name, curve in recorded.items() if curve is not None}
    if not curves:
        raise ValueError("plot_variance: nothing was recorded yet; expected solutions with a history of the loss.")
    palette = colors(solutions)
    columns = min(len(curves), PER_ROW)
    rows = math.ceil(len(curves) / columns)
    with house_style():
        figure = new_figure(max(4.2, 2.6 * columns + 0.4), 2.6 * rows + 0.5)
        panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        drawn: list[Curve] = []
        for axes, (name, loss) in zip(panels, curves.items(), strict=False):
            drawn += _variance_panel(axes, solutions[name], loss, palette[name], name)
        for axes in panels[len(curves) :]:
            axes.remove()
        linear = log_scale(panels[0], drawn)
        for axes in panels[: len(curves) : columns]:
            axes.set_ylabel("loss and variance" + (f"\n(linear within ±{linear:g})" if linear else ""))
        _shared_legend(figure, list(panels[: len(curves)]))
        return finish(figure, path)


def _variance_panel(axes: Axes, solution: Solved, loss: Curve, color: str, name: str) -> list[Curve]:
    draw_curve(axes, loss, color, "loss", width=1.4)
    axes.lines[0].set_label("loss (in the method's colour)")
    drawn = [loss]
    for variance, label, style in (
        ("excess_variance", "excess variance of the network's integral", "--"),
        ("target_variance", "excess variance of the target's integral", ":"),
    ):
        curve = seed_curve(solution, variance)
        if curve is None:
            continue
        if np.nanmax(curve.mean) > 0:
            axes.plot(curve.steps, curve.mean, style, color="#222222", linewidth=1.3, label=label)
            drawn.append(curve._replace(low=curve.mean, high=curve.mean))
        elif variance == "excess_variance":
            _note(axes, "fixed nodes: no excess variance")
    axes.set_title(plain(name, 30), color=color)
    step_axis(axes)
    return drawn


def _note(axes: Axes, text: str) -> None:
    axes.text(0.98, 0.97, text, ha="right", va="top", fontsize=7, color="#444444", transform=axes.transAxes)


def _shared_legend(figure: Figure, panels: list[Axes]) -> None:
    """One legend below all panels, each label once, lines in grey where the colour is the method's."""
    entries = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=min(3, len(entries)))


def _lines(solutions: Mapping[str, Solved], problem: Equation | None, output: int) -> Figure:
    """All methods over the truth along a line or along the radius, and their errors over training."""
    palette = colors(solutions)
    lines = profiles(problem)[:2] if problem is not None and has_region(problem) else []
    figure = new_figure(4.6 * len(lines) + 4.0, 3.9)
    panels = figure.subplots(1, len(lines) + 1, width_ratios=[1.15] * len(lines) + [1.0], squeeze=False)[0]
    for axes, profile in zip(panels, lines, strict=False):
        assert problem is not None
        shown = {name: values_at(solution, problem, profile.points) for name, solution in solutions.items()}
        profile_panel(axes, profile, shown, palette, output)
        name = output_names(problem, problem.outputs)[output]
        about = removed(problem) if has_truth(problem) else ""
        axes.set_title(f"solution {name}" + (f", {about}" if about else "") + _band_note(solutions, profile.width))
        axes.set_ylabel(name, rotation=0, labelpad=8)
    _curve_panel(panels[-1], solutions, problem, palette)
    handles, labels = panels[0].get_legend_handles_labels()
    results = {plain(name): text for name, text in _results(solutions, problem).items()}
    labels = [f"{label}:  {results[label]}" if label in results else label for label in labels]
    score = problem.evaluation.score if problem is not None and problem.evaluation is not None else ""
    title = f"final {metric_name(score)}: mean [95 % interval over seeds]" if results else None
    figure.legend(handles, labels, loc="outside lower center", ncols=min(2, len(handles)), title=title, title_fontsize=8)
    return figure


def _band_note(solutions: Mapping[str, Solved], width: int) -> str:
    if width > 1:
        return "; bands: range over directions"
    seeds = max(len(solution.seeds) for solution in solutions.values())
    return f"; bands: range of {seeds} seeds" if seeds > 1 else ""


def _results(solutions: Mapping[str, Solved], problem: Equation | None) -> dict[str, str]:
    """The score of each method in words, where there is a truth."""
    if problem is None or not has_truth(problem):
        return {}
    assert problem.evaluation is not None
    score = problem.evaluation.score
    return {name: with_interval(solution.summary(problem=problem)[score]) for name, solution in solutions.items()}


def _curve_panel(axes: Axes, solutions: Mapping[str, Solved], problem: Equation | None, palette: dict[str, str]) -> None:
    """The errors over training; the losses where there is no truth."""
    errors = {name: curve for name, solution in solutions.items() if (curve := seed_curve(solution, "error")) is not None}
    if errors:
        score = problem.evaluation.score if problem is not None and problem.evaluation is not None else "error"
        error_panel(axes, errors, palette, score)
        return
    losses = {name: curve for name, solution in solutions.items() if (curve := seed_curve(solution, "loss")) is not None}
    for name, curve in losses.items():
        draw_curve(axes, curve, palette[name], name)
    if losses:
        log_scale(axes, list(losses.values()))
    axes.set_title("loss over training")
    step_axis(axes)


def _heat_maps(solutions: Mapping[str, Solved], problem: Equation, output: int) -> Figure:
    """The truth, large; each method's prediction, and its error below it; the errors over training and at the end."""
    palette = colors(solutions)
    grid = plane(problem)
    shown = {name: values_at(solution, problem, grid.points) for name, solution in solutions.items()}
    means = {name: item.mean[:, output] for name, item in shown.items()}
    truth = next((item.truth[:, output] for item in shown.values() if item.truth is not None), None)
    groups, kinds = math.ceil(len(solutions) / PER_ROW), 1 if truth is None else 2
    per_row = math.ceil(len(solutions) / groups)
    large = 0 if truth is None else 2
    upper_height, lower_height = 2.15 * groups * kinds + 0.5, max(2.9, 0.9 + 0.42 * len(solutions))
    figure = new_figure(1.95 * (per_row + large) + 1.3, upper_height + lower_height)
    parts: Any = figure.subfigures(2, 1, height_ratios=[upper_height, lower_height])
    above, below = parts
    cells = above.add_gridspec(groups * kinds, per_row + large)
    limits = scale_of([grid.image(truth)] if truth is not None else [grid.image(mean) for mean in means.values()])
    symbol = output_names(problem, problem.outputs)[output]
    upper, lower = [], []
    image = bad = None
    if truth is not None:
        axes = above.add_subplot(cells[:, :large])
        image = heat_map(axes, grid, truth, limits, lines=field_lines(problem, None))
        about = removed(problem)
        place = f" at {grid.where}" if grid.where else ""
        axes.set_title(f"exact {symbol}{place}" + (f" ({about})" if about else ""))
        errors = {name: mean - truth for name, mean in means.items()}
        error_limits = symmetric_limit([grid.image(error).compressed() for error in errors.values()])
    for index, (name, mean) in enumerate(means.items()):
        row, column = kinds * (index // per_row), large + index % per_row
        axes = above.add_subplot(cells[row, column])
        image = heat_map(axes, grid, mean, limits, lines=field_lines(problem, solutions[name]))
        axes.set_title(plain(name, 22), color=palette[name], fontweight="bold", fontsize=8.5)
        upper.append(axes)
        if truth is not None:
            axes = above.add_subplot(cells[row + 1, column])
            bad = heat_map(axes, grid, errors[name], error_limits, error=True)
            axes.set_title("error", fontsize=8)
            lower.append(axes)
    for axes in (*upper, *lower):
        axes.set(xlabel="", ylabel="", xticks=[], yticks=[])
    assert image is not None
    seen = [*means.values()] if truth is None else [truth, *means.values()]
    # The bars stand beside the first row of methods; all rows have their scales.
    color_bar(image, upper[:per_row], [grid.image(values).compressed() for values in seen], label=symbol, aspect=14)
    if bad is not None:
        color_bar(bad, lower[:per_row], [grid.image(values).compressed() for values in errors.values()], label="error", aspect=14)
    _lower_row(below, solutions, problem, palette)
    return figure


def _lower_row(figure: SubFigure, solutions: Mapping[str, Solved], problem: Equation, palette: dict[str, str]) -> None:
    if not has_truth(problem):
        axes = figure.subplots()
        _curve_panel(axes, solutions, problem, palette)
        axes.legend()
        return
    assert problem.evaluation is not None
    left, right = figure.subplots(1, 2, width_ratios=[1.2, 1.0])
    _curve_panel(left, solutions, problem, palette)
    score = problem.evaluation.score
    for index, (name, solution) in enumerate(solutions.items()):
        mean, low, high = solution.summary(problem=problem)[score]
        if not mean > 0:  # a logarithmic axis has no place for it
            continue
        if low == low:
            right.plot([max(low, 1e-3 * mean), high], [index, index], color=palette[name], linewidth=4, alpha=0.35, solid_capstyle="butt")
        right.plot([mean], [index], "o", color=palette[name], markersize=6)
        right.annotate(with_interval((mean, low, high)), (mean, index), (0, 7), textcoords="offset points", ha="center", fontsize=7.5)
    right.set_yticks(range(len(solutions)), [plain(name, 28) for name in solutions])
    for label, name in zip(right.get_yticklabels(), solutions, strict=True):
        label.set_color(palette[name])
    right.set_ylim(len(solutions) - 0.5, -0.7)
    right.set_xscale("log")
    right.margins(x=0.25)
    right.grid(axis="y", visible=False)
    right.set_xlabel(metric_name(score))
    right.set_title("final error: mean and 95 % interval over seeds")
