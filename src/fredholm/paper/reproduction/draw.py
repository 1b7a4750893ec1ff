"""The figures in the paper's layout, ours beside the published numbers."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import figure as mpl
from matplotlib.axes import Axes

from fredholm.common.statistics import bootstrap_interval
from fredholm.domains.round import Sphere
from fredholm.paper.reproduction.panels import Bars, Curves, Figure, Lines, Map, Nodes, Panel, Radial
from fredholm.paper.reproduction.published import Series, panels
from fredholm.report.plots.curves import draw_curve, log_scale, seed_curve
from fredholm.report.plots.names import metric_name
from fredholm.report.plots.panels import color_bar, empty_panel, heat_map, profile_panel
from fredholm.report.plots.shown import Shown, plane, radial_profile, robust_limits, scatter_points, values_at
from fredholm.report.plots.style import PALETTE, TRUTH, compose, distinct_colors, finish, house_style, plain, step_axis
from fredholm.results.load import load
from fredholm.study.folder import StudyFolder
from fredholm.study.outcome import Outcome
from fredholm.study.run import Run

PUBLISHED = "#555555"
NO_RESULT = "no result yet"
NO_NETWORKS = "only its curves were kept"
DIRECTIONS = 1000  # of each radius in Figure 4, whose range is the band
DOTTED: Any = {"linestyle": (0, (1, 1.2)), "linewidth": 1.3, "alpha": 0.8}  # what is published
LEGEND_ROW = 0.09  # of the height of a panel: room above the curves
VEILED: Any = {"fontsize": 6.5, "frameon": True, "framealpha": 0.8, "edgecolor": "none"}  # legible where curves leave no room
LEGEND = "solid: ours, means with 95 % intervals or ranges over seeds; dotted, crosses or hatched: published"
HEADLINE = 42  # letters that fit above one panel
CIRCLES = ((-0.9, 0.75, 0.5), (0.7, 0.8, 0.75), (-0.55, -0.75, 0.8), (0.95, -0.8, 0.45))  # centre and radius


class _Drawing:
    """What the panels of one figure share: the finished runs, loaded networks, and the truth's colour scale."""

    def __init__(self, folder: StudyFolder, found: Mapping[str, Outcome]):
        self._folder = folder
        self._found = {one.run.key: one for one in found.values()}

    def outcome(self, run: Run) -> Outcome | None:
        """The run's result, if it has one."""
        return self._found.get(run.key)

    def panel(self, axes: Axes, panel: Panel) -> None:
        """Draws one panel; a run without a result leaves a gap."""
        if isinstance(panel, Map):
            self._map(axes, panel)
        elif isinstance(panel, Curves):
            self._curves(axes, panel)
        elif isinstance(panel, Bars):
            self._bars(axes, panel)
        elif isinstance(panel, Lines):
            self._lines(axes, panel)
        elif isinstance(panel, Radial):
            self._radial(axes, panel)
        else:
            _nodes(axes, panel)
        axes.set_title(plain(panel.title, 34))

    def _map(self, axes: Axes, panel: Map) -> None:
        if not self._folder.has_folder(panel.run):
            return empty_panel(axes, NO_RESULT if self.outcome(panel.run) is None else NO_NETWORKS)
        own = load(self._folder.place(panel.run))
        own = own.targets() if panel.shows == "target" else own
        problem = own.problem
        assert problem is not None
        grid = plane(problem)
        shown, output = values_at(own, problem, grid.points), problem.view.output
        assert shown.truth is not None
        values = shown.truth[:, output] if panel.shows == "truth" else shown.mean[:, output]
        image = heat_map(axes, grid, values, robust_limits([grid.image(shown.truth[:, output])]))
        color_bar(image, axes, grid.image(values).compressed())
        return None

    def _radial(self, axes: Axes, panel: Radial) -> None:
        if not self._folder.has_folder(panel.run):
            return empty_panel(axes, NO_RESULT if self.outcome(panel.run) is None else NO_NETWORKS)
        own = load(self._folder.place(panel.run))
        problem = own.problem
        assert problem is not None
        line, fitted = radial_profile(problem, DIRECTIONS), scatter_points(problem)
        # As in the published figure: in the units of U, each seed shifted to the truth's mean.
        shift = np.asarray(problem.truth(jnp.asarray(fitted))).mean() - own.members(fitted).mean(axis=1)
        members = (own.members(line.points) + shift[:, None])[own.good if own.good.any() else slice(None), :, None]
        shown = Shown(members, np.asarray(problem.truth(jnp.asarray(line.points)), float))
        profile_panel(axes, line, {"ours": shown}, {"ours": distinct_colors([panel.title])[panel.title]})
        if panel.published is not None:
            axes.plot(panel.published.x, panel.published.y, **DOTTED, color=PUBLISHED, label="published")
        axes.set_ylabel("$U$")
        axes.legend(**VEILED)
        return None

    def _curves(self, axes: Axes, panel: Curves) -> None:
        palette, drawn, steps = distinct_colors(panel.lines), [], 0
        for lines, quiet in ((panel.quiet, True), (panel.lines, False)):
            for index, (name, run) in enumerate(lines.items()):
                one = self.outcome(run)
                curve = None if one is None else seed_curve(one, panel.quantity)
                if one is None or curve is None:
                    continue
                color = PALETTE[index % len(PALETTE)] if quiet else palette[name]
                steps = max(steps, int(curve.steps[-1]))
                if quiet:
                    axes.plot(curve.steps, curve.mean, ":", color=color, linewidth=1.1, label=plain(name))
                else:
                    draw_curve(axes, curve, color, name)
                    for other in panel.also:
                        more = seed_curve(one, other)
                        if more is not None:
                            axes.plot(
                                more.steps, more.mean, "--", color=color, linewidth=1.1, label=plain(f"{name}: {other.replace('_', ' ')}")
                            )
                            drawn.append(more._replace(low=more.mean, high=more.mean))
                drawn.append(curve)
        if not drawn:
            return empty_panel(axes, NO_RESULT)
        log_scale(axes, drawn)
        low, high = axes.get_ylim()
        for name, series in panel.published.items():
            near = series.x <= steps
            if name in palette and near.sum() > 1:
                axes.plot(series.x[near], series.y[near], **DOTTED, color=palette[name])
                low, high = min(low, 0.7 * series.y[near].min()), max(high, 1.4 * series.y[near].max())
        columns = 2 if len(palette) > 4 else 1
        rows = -(-len(axes.get_legend_handles_labels()[1]) // columns)
        axes.set_ylim(low, high * (high / low) ** (LEGEND_ROW * rows))
        if panel.quantity == "error":
            axes.set_ylabel(self._metric(panel.lines.values()))
        step_axis(axes)
        axes.legend(**VEILED, ncols=columns)
        return None

    def _bars(self, axes: Axes, panel: Bars) -> None:
        names = list(panel.bars)
        palette = distinct_colors(panel.bars)
        for place, (name, run) in enumerate(panel.bars.items()):
            one, reported = self.outcome(run), panel.published.get(name)
            if one is not None:
                mean, low, high = bootstrap_interval(one.best()[one.kept()], least=0.0)
                axes.bar(place - 0.2, mean, 0.38, color=palette[name])
                if low == low:
                    axes.plot([place - 0.2] * 2, [max(low, 1e-3 * mean), high], color=TRUTH, linewidth=1.0)
                if not one.good.all():
                    top = max(mean, high) if high == high else mean
                    axes.annotate(f"{int((~one.good).sum())} failed", (place - 0.2, top), ha="center", va="bottom", fontsize=6)
            if reported is not None:
                axes.bar(place + 0.2, reported, 0.38, color="white", edgecolor=palette[name], hatch="////", linewidth=0.8)
        axes.set_yscale("log")
        axes.set_xticks(range(len(names)), [plain(_label(name)) for name in names], fontsize=6.5)
        if len(names) > 3:
            for label in axes.get_xticklabels():
                label.set(rotation=25, ha="right")
        axes.grid(axis="x", visible=False)
        axes.set_ylabel(self._metric(panel.bars.values()))

    def _lines(self, axes: Axes, panel: Lines) -> None:
        if not any(self.outcome(run) for runs in panel.lines.values() for run in runs.values()):
            return empty_panel(axes, NO_RESULT)
        palette = distinct_colors(panel.lines)
        for name, runs in panel.lines.items():
            points = [(x, *bootstrap_interval(one.best()[one.kept()], least=0.0)) for x, run in runs.items() if (one := self.outcome(run))]
            if points:
                x, mean, low, high = np.array(sorted(points)).T
                axes.plot(x, mean, "o-", color=palette[name], markersize=3.5, label=plain(_label(name)))
                axes.fill_between(x, np.maximum(low, 1e-2 * mean), high, color=palette[name], alpha=0.18, linewidth=0)
            if name in panel.published:
                series: Series = panel.published[name]
                axes.plot(series.x, series.y, marker="x", **DOTTED, color=palette[name], markersize=4)
        axes.set_yscale("log")
        if panel.logarithmic:
            axes.set_xscale("log")
        axes.set_xlabel(panel.axis)
        axes.set_ylabel(self._metric(run for runs in panel.lines.values() for run in runs.values()))
        beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if len(palette) > 4 else {}
        axes.legend(**VEILED, **beside)
        return None

    def _metric(self, runs: Iterable[Run]) -> str:
        found = {one.metric for run in runs if (one := self.outcome(run)) is not None}
        return metric_name(found.pop()) if len(found) == 1 else "error"


def _nodes(axes: Axes, panel: Nodes) -> None:
    """The points of a rule on some circles, with their normals."""
    for index, (x, y, radius) in enumerate(CIRCLES):
        nodes = panel.rule.nodes(Sphere((x, y), radius), jax.random.key(index))
        points = np.asarray(nodes.points)
        normals = (points - [x, y]) / radius
        axes.quiver(*points.T, *normals.T, color=PALETTE[index], width=0.003, scale=16)
        axes.plot(*points.T, ".", color=PALETTE[index], markersize=2)
    axes.set_aspect("equal")
    axes.set(xlim=(-1.9, 1.9), ylim=(-1.9, 1.9))
    axes.set_axis_off()


def _label(name: str) -> str:
    """A label with Greek letters; where it names another law than the published runs had (r² for r³ on Maxwell), that of the runs."""
    return (name.partition("(code: ")[2].rstrip(")") or name).replace("tau=", "τ=").replace("lambda=", "λ=")


def draw(figure: Figure, folder: StudyFolder, found: Mapping[str, Outcome], path: str | os.PathLike[str] | None = None) -> mpl.Figure:
    """The figure, written to `path` if given."""
    drawing = _Drawing(folder, found)
    rows = [[lambda axes, panel=panel: drawing.panel(axes, panel) for panel in row] for row in figure.rows]
    wide = max(len(row) for row in figure.rows)
    lines = [f"Figure {figure.number}: {figure.title}", *([LEGEND] if panels(figure.number) else [])]
    with house_style():
        made = compose(rows, "\n".join(plain(line, wide * HEADLINE) for line in lines), panel=(3.5 if wide < 4 else 3.1, 2.8))
        return finish(made, path)
