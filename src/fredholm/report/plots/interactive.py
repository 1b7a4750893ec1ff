"""The curves of a run as plotly figures, which the reader's browser draws; their menus are plotly's own."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
from markupsafe import escape
from plotly.graph_objs.layout import Updatemenu
from plotly.graph_objs.layout.updatemenu import Button

from fredholm.report.plots.curves import FEW_RECORDS, Curve, loss_parts, seed_curve
from fredholm.report.plots.series import is_series
from fredholm.report.plots.style import colors
from fredholm.report.solved import Solved

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif'  # that of the page
FEW = 12  # lines whose names have room below a chart


class Chart(NamedTuple):
    """One chart of the page."""

    name: str  # its id on the page
    title: str
    about: str  # one sentence below the title
    figure: go.Figure


def charts(solutions: Mapping[str, Solved], metric: str) -> list[Chart]:
    """The error, the loss with its parts, the variances, the drift and the learned scalars: those that were recorded."""
    parts = dict.fromkeys(part for solution in solutions.values() for part in loss_parts(solution))
    unknowns = dict.fromkeys(name for solution in solutions.values() for name in solution.unknowns)
    variances = {"excess_variance": "excess", "target_variance": "target", "integration_variance": "integration"}
    loss = "What the optimiser sees, averaged between two records."
    if any(curve is not None and (curve.mean <= 0).any() for curve in (seed_curve(solution, "loss") for solution in solutions.values())):
        loss += " A logarithmic scale leaves out values that are not positive."
    bias = "Excess: of the estimated integral, by which the standard loss is biased. Target: that of the target. Integration: of a sample."
    drift = "Root mean square difference between the network and its delayed target."
    if all(map(is_series, solutions.values())):
        return []  # nothing was trained; the picture has the series that were tried
    made = {
        ("error", "Error", f"Against the exact solution: {metric}."): _figure(solutions, {"error": "error"}),
        ("loss", "Loss", loss): _figure(solutions, {"loss": "loss", **{part: part for part in parts}}, shown=1),
        ("variance", "Variance of integrals", bias): _figure(solutions, variances, shown=2),
        ("drift", "Drift", drift): _figure(solutions, {"drift": "drift"}),
        ("unknowns", "Learned scalars", ""): _figure(solutions, {f"unknown_{name}": name for name in unknowns}, logarithmic=False),
    }
    return [Chart(*words, figure) for words, figure in made.items() if figure is not None]


def _figure(
    solutions: Mapping[str, Solved], quantities: Mapping[str, str], *, shown: int | None = None, logarithmic: bool = True
) -> go.Figure | None:
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
    first, traces, of = used[:shown], list[go.Scatter](), list[str]()
    for (method, quantity), curve in curves.items():
        name = ": ".join(([method] if len(solutions) > 1 else []) + ([quantities[quantity]] if len(used) > 1 else [])) or method
        dash = DASHES[used.index(quantity) % len(DASHES)]
        made = lines(curve, name, palette[method], dash=dash, visible=quantity in first, logarithmic=logarithmic)
        traces += made
        of += [quantity] * len(made)
    sets = {"all" if first == used else " and ".join(quantities[quantity] for quantity in first): first}
    sets = {**sets, **{quantities[quantity]: [quantity] for quantity in used}, "all": used}
    rescaled = {"yaxis.autorange": True, "xaxis.autorange": True}
    choices = [
        Button(label=plain(label), method="update", args=[{"visible": [quantity in chosen for quantity in of]}, rescaled])
        for label, chosen in sets.items()
    ]
    return figure(traces, choices if len(used) > 1 else (), logarithmic=logarithmic)


def lines(curve: Curve, name: str, color: str, *, dash: str = "solid", visible: bool = True, logarithmic: bool = True) -> list[go.Scatter]:
    """The ends of a curve's range with a band between them, its mean, and the seeds that failed: always 3 and one for each of these."""
    common = {"x": curve.steps, "mode": "lines", "legendgroup": plain(name), "visible": visible}
    low, high = finite(curve.low), finite(curve.high)
    # A logarithmic axis has no place for a band that reaches 0, and plotly would draw it wrong; its range is in the hover text.
    has_band = not (logarithmic and (low <= 0).any())
    edge = {**common, "showlegend": False, "hoverinfo": "skip", "line": {"width": 0, "color": color}}
    made = [
        go.Scatter(y=low if has_band else np.full_like(low, np.nan), **edge),
        go.Scatter(y=high if has_band else np.full_like(high, np.nan), fill="tonexty", fillcolor=_faint(color), **edge),
        go.Scatter(
            y=finite(curve.mean),
            name=plain(name),
            customdata=np.stack([low, high], axis=1),
            hovertemplate="%{y:.3g}  [%{customdata[0]:.3g}, %{customdata[1]:.3g}]",
            line={"color": color, "dash": dash, "width": 2},
            **{**common, "mode": "lines+markers" if len(curve.steps) <= FEW_RECORDS else "lines"},
        ),
    ]
    for seed, values in curve.failed.items():
        line = {"color": color, "dash": "dot", "width": 1}
        made.append(go.Scatter(y=finite(values), name=plain(f"{name}, seed {seed} (failed)"), showlegend=False, line=line, **common))
    return made


def figure(traces: Sequence[go.Scatter], choices: Sequence[Button] = (), *, logarithmic: bool = True, height: int = 400) -> go.Figure:
    """Curves over training steps, with a menu for the scale and one of `choices` where there are any."""
    axis = {"gridcolor": "#e8e8e8", "linecolor": "#888", "ticks": "outside", "tickcolor": "#888", "zeroline": False, "automargin": True}
    menus = [_menu("buttons", _scales(traces), 1.0, active=0 if logarithmic else 1)]
    menus += [_menu("dropdown", choices, 0.0)] if choices else []
    # Below the chart, many names would take its place; beside it they scroll.
    if sum(bool(trace.visible) and trace.showlegend is not False for trace in traces) > FEW:
        legend = {"x": 1.01, "y": 1.0, "font": {"size": 10}, "tracegroupgap": 0}
    else:
        legend = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom", "font": {"size": 12}, "tracegroupgap": 0}
    layout = go.Layout(
        template="none",
        height=height,
        margin={"l": 60, "r": 22, "t": 44, "b": 44},
        font={"family": FONT, "size": 13, "color": "#222"},
        hovermode="x unified",
        legend=legend,
        updatemenus=menus,
        xaxis={**axis, "title": {"text": "training step", "standoff": 8, "font": {"size": 13}}, "rangemode": "tozero"},
        yaxis={**axis, "type": "log" if logarithmic else "linear", "exponentformat": "power"},
    )
    made = go.Figure(list(traces), layout)
    return made.for_each_trace(lambda trace: trace.update(y=positive(np.asarray(trace.y)))) if logarithmic else made


def _scales(traces: Sequence[go.Scatter]) -> list[Button]:
    """A logarithmic axis would draw a value that is not positive as a fall to minus infinity: there its button leaves a gap."""
    changed = [index for index, trace in enumerate(traces) if (np.asarray(trace.y) <= 0).any()]
    values = [np.asarray(traces[index].y) for index in changed]
    shown = {"log": [positive(one) for one in values], "linear": values}
    return [
        Button(label=scale, method="update", args=[{"y": y} if changed else {}, {"yaxis.type": scale, "yaxis.autorange": True}, changed])
        for scale, y in shown.items()
    ]


def _menu(kind: Literal["buttons", "dropdown"], buttons: Sequence[Button], x: float, *, active: int = 0) -> Updatemenu:
    """A menu above the chart, at its left end for x = 0 and at its right end for 1."""
    style = {"pad": {"b": 8}, "bgcolor": "white", "bordercolor": "#b9c0c8", "font": {"size": 12, "color": "#5c636b"}}
    place = {"x": x, "xanchor": "right" if x else "left", "y": 1.0, "yanchor": "bottom"}
    return Updatemenu(type=kind, buttons=list(buttons), active=active, direction="right" if kind == "buttons" else "down", **place, **style)


def plain(text: str) -> str:
    """Text as plotly should show it: in names it reads tags and entities."""
    return str(escape(text))


def finite(values: np.ndarray) -> np.ndarray:
    """The values in single precision, which is more than a screen shows, with a gap for each that is not finite."""
    with np.errstate(over="ignore"):
        short = np.asarray(values, np.float32)
    return np.where(np.isfinite(short), short, np.float32(np.nan))


def positive(values: np.ndarray) -> np.ndarray:
    """The values, with a gap for each that is not positive."""
    return np.where(values > 0, values, np.float32(np.nan))


def _faint(color: str) -> str:
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
