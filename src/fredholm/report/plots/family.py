"""Charts of a family: u with a slider for its parameter, and the error over the parameter."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from fredholm.equation.equation import Equation
from fredholm.equation.family import spread
from fredholm.report.plots.interactive import FONT, Chart
from fredholm.report.plots.names import output_names
from fredholm.report.plots.shown import has_region, scatter_points, values_at
from fredholm.report.solved import Solved

PLACES, POINTS, SIDE, SCORED = 25, 101, 41, 400  # positions of the slider; points of a curve, of a side of a map, and of an error
AXIS = {"gridcolor": "#e8e8e8", "linecolor": "#888", "ticks": "outside", "tickcolor": "#888", "zeroline": False, "automargin": True}


def family_charts(number: int, solution: Solved) -> list[Chart]:
    """The charts of a family, the solution of this number on its page; none for a single equation."""
    problem = solution.problem
    if problem is None or not problem.parameters or not has_region(problem) or problem.is_drawn:
        return []
    found = []
    many = "; the other parameters at their middle" if len(problem.parameters) > 1 else ""
    for index, parameter in enumerate(problem.parameters):
        about = f"The mean over seeds, over {parameter}{many}."
        title = f"{solution.label}: move {parameter}"
        found.append(Chart(f"family-{number}-{parameter}", title, about, _slider(solution, problem, index)))
    if problem.exact is not None:
        about = "Relative L² error against the exact solution, at each value."
        for index, parameter in enumerate(problem.parameters):
            title = f"{solution.label}: error over {parameter}"
            found.append(Chart(f"family-{number}-{parameter}-error", title, about, _errors(solution, problem, index)))
    return found


def _values(problem: Equation, index: int) -> np.ndarray:
    """Values of a parameter, from nearly the least to nearly the largest: an end may lie at infinity."""
    law = list(problem.parameters.values())[index]
    has_end = all(base.has_end for base in law.bases)
    return spread(law, np.linspace(0.0 if has_end else 0.02, 1.0 if has_end else 0.98, PLACES))


def _points(problem: Equation, index: int, value: float, x: np.ndarray) -> np.ndarray:
    """Points x at this value of a parameter, with the others at their middle."""
    others = [spread(law, [0.5])[0] for law in problem.parameters.values()]
    others[index] = value
    return np.concatenate([x, np.tile(others, (len(x), 1))], axis=1)


def _grid(problem: Equation) -> tuple[np.ndarray, list[np.ndarray]]:
    """Points x on a line or a plane, with the other coordinates at their middle, and the axes."""
    known = scatter_points(problem)[:, : -len(problem.parameters)]
    shown = min(known.shape[1], 2)
    axes = [np.linspace(known[:, axis].min(), known[:, axis].max(), POINTS if shown == 1 else SIDE) for axis in range(shown)]
    grid = np.stack([one.ravel() for one in np.meshgrid(*axes, indexing="xy")], axis=-1)
    return np.concatenate([grid, np.tile(np.median(known[:, shown:], axis=0), (len(grid), 1))], axis=1), axes


def _slider(solution: Solved, problem: Equation, index: int) -> go.Figure:
    parameter, values = list(problem.parameters)[index], _values(problem, index)
    x, axes = _grid(problem)
    shown = [values_at(solution, problem, _points(problem, index, value, x)) for value in values]
    names, inputs = output_names(problem, problem.outputs), [name.strip("$") for name in problem.view.inputs]
    sets: list[list[Any]] = []
    for one in shown:
        if len(axes) == 2:
            image = one.mean[:, 0].reshape(len(axes[1]), len(axes[0]))
            sets.append([go.Heatmap(x=axes[0], y=axes[1], z=image, colorscale="Viridis", showscale=True)])
            continue
        curves = [
            go.Scatter(x=axes[0], y=one.mean[:, output], mode="lines", name=name.strip("$"), line={"width": 2})
            for output, name in enumerate(names)
        ]
        if one.truth is not None:
            line = {"width": 1.2, "dash": "dash", "color": "#222"}
            curves += [
                go.Scatter(x=axes[0], y=one.truth[:, output], mode="lines", name="exact", line=line, showlegend=not output)
                for output in range(len(names))
            ]
        sets.append(curves)
    start, count = PLACES // 2, len(sets[0])
    traces = [trace.update(visible=place == start) for place, own in enumerate(sets) for trace in own]
    steps = [
        {"label": f"{value:.3g}", "method": "restyle", "args": ["visible", [at // count == place for at in range(len(traces))]]}
        for place, value in enumerate(values)
    ]
    everything = np.concatenate([one.mean.ravel() for one in shown])
    low, high = float(np.nanmin(everything)), float(np.nanmax(everything))
    margin = 0.05 * (high - low) or 1.0
    if len(axes) == 2:
        traces = [trace.update(zmin=low, zmax=high) for trace in traces]
    slider = {"active": start, "currentvalue": {"prefix": f"{parameter} = "}, "steps": steps, "pad": {"t": 44}}
    second = {**AXIS, "title": inputs[1]} if len(axes) == 2 else {**AXIS, "range": [low - margin, high + margin]}
    return go.Figure(traces, _layout(inputs[0], second, sliders=[slider]))


def _errors(solution: Solved, problem: Equation, index: int) -> go.Figure:
    parameter, values = list(problem.parameters)[index], _values(problem, index)
    x = scatter_points(problem)[:SCORED, : -len(problem.parameters)]
    errors = []
    for value in values:
        shown = values_at(solution, problem, _points(problem, index, value, x))
        assert shown.truth is not None
        errors.append(np.linalg.norm(shown.mean - shown.truth) / np.linalg.norm(shown.truth))
    second = {**AXIS, "type": "log", "exponentformat": "power"}
    line = go.Scatter(x=values, y=np.where(np.array(errors) > 0, errors, np.nan), mode="lines+markers", line={"width": 2})
    return go.Figure([line], _layout(parameter, second))


def _layout(first: str, second: dict[str, Any], **further: Any) -> go.Layout:
    return go.Layout(
        template="none",
        height=440 if further else 320,
        margin={"l": 60, "r": 22, "t": 20, "b": 44},
        font={"family": FONT, "size": 13, "color": "#222"},
        xaxis={**AXIS, "title": {"text": first, "standoff": 4}},
        yaxis=second,
        **further,
    )
