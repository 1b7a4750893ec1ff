"""The curves of a run as charts for plotly.js: plain data, drawn by the reader's browser."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from fredholm.plots.curves import Curve, loss_parts, seed_curve
from fredholm.plots.style import colors
from fredholm.solution import Solution

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


class Chart(NamedTuple):
    """One chart of the page."""

    name: str  # its id on the page
    title: str
    about: str  # one sentence below the title
    figure: dict[str, Any]  # data and layout, as plotly.js takes them


def charts(solutions: Mapping[str, Solution], metric: str) -> list[Chart]:
    """The error, the loss with its parts, the variances, the drift and the learned scalars: those that were recorded."""
    parts = list(dict.fromkeys(part for solution in solutions.values() for part in loss_parts(solution)))
    unknowns = list(dict.fromkeys(name for solution in solutions.values() for name in solution.unknowns))
    variances = {
        "excess_variance": "excess variance",
        "target_variance": "excess variance of the target",
        "integration_variance": "integration variance",
    }
    made = [
        _chart(solutions, "error", "Error", f"Against the exact solution: {metric}.", {"error": ""}),
        _chart(
            solutions,
            "loss",
            "Loss",
            "What the optimiser sees, averaged between two records. Click a part in the legend to show it."
            if parts
            else "What the optimiser sees, averaged between two records.",
            {"loss": "loss" if parts else "", **{part: part for part in parts}},
            hidden=parts,
        ),
        _chart(
            solutions,
            "variance",
            "Variance of the integrals",
            "The excess variance is that of the estimate in the residual: the standard loss is biased by it.",
            variances,
            hidden=("integration_variance",),
        ),
        _chart(solutions, "drift", "Drift", "Root mean square difference between the network and its delayed target.", {"drift": ""}),
        _chart(solutions, "unknowns", "Learned scalars", "", {f"unknown_{name}": name for name in unknowns}, logarithmic=False),
    ]
    return [chart for chart in made if chart is not None]


def _chart(
    solutions: Mapping[str, Solution],
    name: str,
    title: str,
    about: str,
    quantities: Mapping[str, str],
    *,
    hidden: Sequence[str] = (),
    logarithmic: bool = True,
) -> Chart | None:
    """A line with a band for each method and quantity; None where nothing but zeros was recorded."""
    palette, data = colors(solutions), []
    for method, solution in solutions.items():
        for dash, (quantity, label) in zip(DASHES * len(quantities), quantities.items(), strict=False):
            curve = seed_curve(solution, quantity)
            if curve is not None and (np.nan_to_num(curve.mean) != 0).any():
                text = f"{method}: {label}" if label and len(solutions) > 1 else label or method
                data += _traces(curve, escape(text), f"{name} {method} {quantity}", palette[method], dash, quantity not in hidden)
    return Chart(name, title, about, {"data": data, "layout": _layout(logarithmic)}) if data else None


def _traces(curve: Curve, label: str, group: str, color: str, dash: str, shown: bool) -> list[dict[str, Any]]:
    common = {"type": "scatter", "mode": "lines", "legendgroup": escape(group), "visible": True if shown else "legendonly"}
    steps = [int(step) for step in curve.steps]
    silent = {**common, "hoverinfo": "skip", "showlegend": False}
    traces: list[dict[str, Any]] = []
    # A logarithmic axis has no place for a band that reaches 0, and plotly would draw it wrong; its range is in the hover text.
    if not (np.nan_to_num(curve.low, nan=1.0) <= 0).any() and not np.array_equal(curve.low, curve.high, equal_nan=True):
        edge = {"line": {"width": 0, "color": color}}
        traces.append({**silent, **edge, "x": steps, "y": numbers(curve.low)})
        traces.append({**silent, **edge, "x": steps, "y": numbers(curve.high), "fill": "tonexty", "fillcolor": _faint(color)})
    traces.append(
        {
            **common,
            "x": steps,
            "y": numbers(curve.mean),
            "customdata": [list(pair) for pair in zip(numbers(curve.low), numbers(curve.high), strict=True)],
            "name": label,
            "line": {"color": color, "dash": dash, "width": 2},
            "hovertemplate": "%{y:.3g}  [%{customdata[0]:.3g}, %{customdata[1]:.3g}]",
        }
    )
    for seed, values in curve.failed.items():
        line = {"color": color, "dash": "dot", "width": 1}
        traces.append({**common, "showlegend": False, "x": steps, "y": numbers(values), "line": line, "name": f"{label}, seed {seed} (failed)"})
    return traces


def _layout(logarithmic: bool) -> dict[str, Any]:
    axis = {"gridcolor": "#e8e8e8", "linecolor": "#888", "ticks": "outside", "tickcolor": "#888", "zeroline": False, "automargin": True}
    return {
        "height": 380,
        "margin": {"l": 60, "r": 16, "t": 10, "b": 44},
        "font": {"family": "inherit", "size": 13, "color": "#222"},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "hovermode": "x unified",
        "legend": {"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0},
        "xaxis": {**axis, "title": {"text": "training step"}, "rangemode": "tozero"},
        "yaxis": {**axis, "type": "log" if logarithmic else "linear", "exponentformat": "power"},
    }


def numbers(values: np.ndarray) -> list[float | None]:
    """Numbers as JSON has them: what is not finite is a gap; six digits are more than a screen shows."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in np.asarray(values, float)]


def _faint(color: str) -> str:
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
