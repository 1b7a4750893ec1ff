"""The curves of a run as charts for plotly.js: plain data, drawn by the reader's browser."""

from collections.abc import Mapping
from html import escape
from typing import Any, NamedTuple

import numpy as np

from fredholm.report.plots.curves import Curve, loss_parts, seed_curve
from fredholm.report.plots.style import colors
from fredholm.results.solution import Solution

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


class Switch(NamedTuple):
    """A button that shows or hides one quantity of a chart."""

    label: str  # HTML
    dash: str  # how its lines are drawn
    shown: bool  # at first


class Chart(NamedTuple):
    """One chart of the page."""

    name: str  # its id on the page
    title: str
    about: str  # one sentence below the title
    switches: list[Switch]  # in the order of the traces' `meta`; none where there is one quantity only
    figure: dict[str, Any]  # data and layout, as plotly.js takes them


def charts(solutions: Mapping[str, Solution], metric: str) -> list[Chart]:
    """The error, the loss with its parts, the variances, the drift and the learned scalars: those that were recorded."""
    parts = list(dict.fromkeys(part for solution in solutions.values() for part in loss_parts(solution)))
    unknowns = list(dict.fromkeys(name for solution in solutions.values() for name in solution.unknowns))
    variances = {"excess_variance": "excess", "target_variance": "target", "integration_variance": "integration"}
    loss = "What the optimiser sees, averaged between two records."
    if any(curve is not None and (curve.mean <= 0).any() for curve in (seed_curve(solution, "loss") for solution in solutions.values())):
        loss += " A logarithmic scale leaves out values that are not positive."
    bias = "Excess: of the estimated integral, by which the standard loss is biased. Target: that of the target. Integration: of a sample."
    apart = "Root mean square difference between the network and its delayed target."
    made = [
        _chart(solutions, "error", "Error", f"Against the exact solution: {metric}.", {"error": "error"}),
        _chart(solutions, "loss", "Loss", loss, {"loss": "loss", **{part: part for part in parts}}, shown=1),
        _chart(solutions, "variance", "Variance of integrals", bias, variances, shown=2),
        _chart(solutions, "drift", "Drift", apart, {"drift": "drift"}),
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
    shown: int | None = None,
    logarithmic: bool = True,
) -> Chart | None:
    """A line with a band for each method and quantity, of which the first `shown` are visible; None where there is nothing but zeros."""
    palette = colors(solutions)
    curves = {
        (method, quantity): curve
        for method, solution in solutions.items()
        for quantity in quantities
        if (curve := seed_curve(solution, quantity)) is not None and (np.nan_to_num(curve.mean) != 0).any()
    }
    if not curves:
        return None
    used = [quantity for quantity in quantities if any(quantity == other for _, other in curves)]
    switches = [
        Switch(escape(quantities[quantity]), DASHES[index % len(DASHES)], shown is None or index < shown)
        for index, quantity in enumerate(used)
    ]
    data = [legend_entry(method, palette[method]) for method in solutions if any(method == other for other, _ in curves)]
    for (method, quantity), curve in curves.items():
        index = used.index(quantity)
        data += traces(curve, method, switches[index], index, palette[method])
    return Chart(name, title, about, switches if len(switches) > 1 else [], {"data": data, "layout": layout(logarithmic)})


def legend_entry(method: str, color: str) -> dict[str, Any]:
    """A trace without points: the method's place in the legend, whichever quantities are shown."""
    line = {"color": color, "width": 2}
    name = escape(method)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [None],
        "y": [None],
        "name": name,
        "legendgroup": name,
        "line": line,
        "hoverinfo": "skip",
    }


def traces(curve: Curve, method: str, switch: Switch, index: int, color: str) -> list[dict[str, Any]]:
    """The mean of a quantity as a line, its range as a band, and the seeds that failed."""
    label = f"{escape(method)}: {switch.label}"
    common = {
        "type": "scatter",
        "mode": "lines",
        "legendgroup": escape(method),
        "showlegend": False,
        "visible": switch.shown,
        "meta": index,
        "x": [int(step) for step in curve.steps],
    }
    made: list[dict[str, Any]] = []
    # A logarithmic axis has no place for a band that reaches 0, and plotly would draw it wrong; its range is in the hover text.
    if not (np.nan_to_num(curve.low, nan=1.0) <= 0).any() and not np.array_equal(curve.low, curve.high, equal_nan=True):
        edge = {**common, "hoverinfo": "skip", "line": {"width": 0, "color": color}}
        made.append({**edge, "y": numbers(curve.low)})
        made.append({**edge, "y": numbers(curve.high), "fill": "tonexty", "fillcolor": _faint(color)})
    middle = {
        "y": numbers(curve.mean),
        "customdata": [list(pair) for pair in zip(numbers(curve.low), numbers(curve.high), strict=True)],
        "name": label,
        "line": {"color": color, "dash": switch.dash, "width": 2},
        "hovertemplate": "%{y:.3g}  [%{customdata[0]:.3g}, %{customdata[1]:.3g}]",
    }
    made.append({**common, **middle})
    for seed, values in curve.failed.items():
        line = {"color": color, "dash": "dot", "width": 1}
        made.append({**common, "y": numbers(values), "line": line, "name": f"{label}, seed {seed} (failed)"})
    return made


def layout(logarithmic: bool) -> dict[str, Any]:
    """The layout of a chart over training steps."""
    axis = {"gridcolor": "#e8e8e8", "linecolor": "#888", "ticks": "outside", "tickcolor": "#888", "zeroline": False, "automargin": True}
    return {
        "height": 360,
        "margin": {"l": 60, "r": 22, "t": 8, "b": 44},
        "font": {"family": "inherit", "size": 13, "color": "#222"},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "hovermode": "x unified",
        "legend": {"orientation": "h", "y": 1.01, "yanchor": "bottom", "x": 0},
        "xaxis": {**axis, "title": {"text": "training step", "standoff": 8, "font": {"size": 13}}, "rangemode": "tozero"},
        "yaxis": {**axis, "type": "log" if logarithmic else "linear", "exponentformat": "power"},
    }


def numbers(values: np.ndarray) -> list[float | None]:
    """Numbers as JSON has them: what is not finite is a gap; six digits are more than a screen shows."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in np.asarray(values, float)]


def _faint(color: str) -> str:
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
