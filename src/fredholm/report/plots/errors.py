"""Errors of several methods on several cases, one row for each case."""

import os
from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fredholm.report.plots.style import TRUTH, colors, finish, house_style, new_figure, plain

ROW = 0.3  # inches for a case
MARKERS = "osD^v<>"


def plot_errors(
    rows: Mapping[str, Mapping[str, tuple[float, float, float]]],
    targets: Mapping[str, float],
    xlabel: str,
    title: str,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """By case and method the mean with the ends of its interval, on a logarithmic axis; a black stroke is the target of a case. Written to
    `path` if given."""
    methods = list(dict.fromkeys(method for found in rows.values() for method in found))
    palette, height = colors(methods), len(rows)
    with house_style():
        figure = new_figure(7.0, ROW * height + 1.2)
        axes = figure.add_subplot()
        axes.set_xscale("log")
        for row, (case, found) in enumerate(rows.items()):
            for index, method in enumerate(methods):
                if method in found:
                    mean, low, high = found[method]
                    at = row + 0.5 * ((index + 0.5) / len(methods) - 0.5)  # beside each other, so that no interval hides another
                    axes.plot([max(low, mean / 100), high], [at, at], color=palette[method], linewidth=1.2)
                    axes.plot(mean, at, MARKERS[index % len(MARKERS)], color=palette[method], markersize=4.5)
            if case in targets:
                axes.plot([targets[case]] * 2, [row - 0.42, row + 0.42], color=TRUTH, linewidth=1.4)
        axes.set_yticks(range(height), [plain(case) for case in rows])
        axes.set_ylim(height - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(xlabel)
        shown = [
            Line2D([], [], color=palette[method], marker=MARKERS[index % len(MARKERS)], markersize=4.5, linewidth=1.2, label=plain(method))
            for index, method in enumerate(methods)
        ]
        if targets:
            shown.append(Line2D([], [], color=TRUTH, marker="|", markersize=9, linestyle="none", markeredgewidth=1.4, label="target"))
        figure.legend(handles=shown, loc="outside lower center", ncols=min(3, len(shown)))
        figure.suptitle(title)
        return finish(figure, path)
