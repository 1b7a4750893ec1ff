"""A solve by a series in pictures: how its coefficients fall, and how good each series was that was tried."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from fredholm.report.plots.curves import seed_curve
from fredholm.report.solved import Solved

TRIED = {
    "relative_residual": "relative residual",
    "estimated_error": "estimated error of u",
    "error": "error of u",
}  # in the history of a solve
STYLES = {"relative_residual": ("o-", "#222222"), "estimated_error": ("s--", "#777777")}


def is_series(solution: Solved) -> bool:
    """True for a solve by a series: nothing was trained."""
    return solution.spectrum is not None


def spectrum_panel(axes: Axes, solution: Solved, color: str) -> None:
    """The largest coefficient of each degree. Where they reach rounding error the series is resolved."""
    sizes = solution.spectrum
    assert sizes is not None
    degrees = np.flatnonzero(sizes > 0)  # of an even function every other one is 0
    axes.semilogy(degrees, sizes[degrees], "o", color=color, markersize=4)
    axes.set_title("coefficients of the series")
    axes.set_xlabel("degree")
    axes.set_ylabel("largest coefficient")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def tried_panel(axes: Axes, solution: Solved, color: str) -> None:
    """The best series so far after each that was tried."""
    for name, label in TRIED.items():
        curve = seed_curve(solution, name)
        if curve is not None:
            style, shade = STYLES.get(name, ("^:", color))
            axes.semilogy(curve.steps, np.maximum(curve.mean, np.finfo(float).tiny), style, color=shade, label=label, markersize=5)
    axes.set_title("the best series so far")
    axes.set_xlabel("series tried")
    last = solution.steps
    axes.set_xlim(0.5, 0.5 + max(2.2, 1.6 * last))  # the right third is for the legend
    axes.set_xticks([int(tick) for tick in MaxNLocator(6, integer=True).tick_values(1, last) if 1 <= tick <= last])
    axes.margins(y=0.25)
    axes.legend(loc="upper right")
