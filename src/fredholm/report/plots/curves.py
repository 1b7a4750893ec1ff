"""Training curves: the mean over seeds with the range over seeds, and the seeds that failed."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from fredholm.report.plots.names import metric_name, number
from fredholm.report.plots.style import PALETTE, plain, step_axis
from fredholm.report.solved import Solved

ODD = 0.02  # the share of means that a logarithmic axis may leave out
FEW_RECORDS = 10  # up to here each record is a dot
NOT_PARTS = (
    "loss",
    "integration_variance",
    "excess_variance",
    "target_variance",
    "drift",
    "size",
    "regularization_weight",
    "error",
    "error_main",
    *("relative_residual", "estimated_error", "standard_error", "condition", "dropped", "slowest"),  # of a solve
)


class Curve(NamedTuple):
    """One recorded quantity over training."""

    steps: np.ndarray  # (n,)
    mean: np.ndarray  # over the seeds that succeeded
    low: np.ndarray  # the least of them
    high: np.ndarray  # the greatest
    failed: dict[int, np.ndarray]  # the curves of the seeds that failed, up to where they did

    @property
    def best(self) -> tuple[float, int]:
        """The least value of the mean curve, and its step."""
        at = int(np.nanargmin(self.mean))
        return float(self.mean[at]), int(self.steps[at])

    @property
    def last(self) -> float:
        """The last value that there is of the mean curve."""
        return float(self.mean[np.isfinite(self.mean)][-1])


@runtime_checkable
class Recorded(Protocol):
    """A solution, or the outcome of a run of a study, as far as its curves go."""

    @property
    def history(self) -> xr.Dataset: ...

    @property
    def seeds(self) -> tuple[int, ...]: ...

    @property
    def good(self) -> np.ndarray: ...


def seed_curve(solution: Recorded, name: str) -> Curve | None:
    """The curve of a quantity of the history; None where nothing finite was recorded."""
    history = solution.history
    if name not in history or not np.isfinite(history[name].to_numpy()).any():
        return None
    values = np.asarray(history[name].transpose("seed", "step").to_numpy(), float)
    kept = solution.good if np.isfinite(values[solution.good]).any() else np.ones(len(values), bool)
    failed = {seed: values[index] for index, seed in enumerate(solution.seeds) if not solution.good[index]}
    shown = np.ma.masked_invalid(values[kept])
    mean, low, high = (np.ma.filled(part, np.nan) for part in (shown.mean(axis=0), shown.min(axis=0), shown.max(axis=0)))
    return Curve(history.step.to_numpy(), mean, low, high, failed)


def loss_parts(solution: Solved) -> list[str]:
    """The names of the parts of the loss, where it has more than one."""
    names = map(str, solution.history)
    parts = [name for name in names if name not in NOT_PARTS and not name.startswith(("unknown_", "low_", "high_"))]
    return parts if len(parts) > 1 else []


def draw_curve(axes: Axes, curve: Curve, color: str, label: str, *, style: str = "-", width: float = 1.6) -> None:
    """The mean as a line, the range as a band, failed seeds as thin dotted lines that end in a cross."""
    marker = "o" if len(curve.steps) <= FEW_RECORDS else None  # a line of one point cannot be seen
    axes.plot(curve.steps, curve.mean, style, color=color, label=plain(label), linewidth=width, marker=marker, markersize=5)
    axes.fill_between(curve.steps, curve.low, curve.high, color=color, alpha=0.2, linewidth=0)
    for values in curve.failed.values():
        alive = np.isfinite(values)
        axes.plot(curve.steps[alive], values[alive], ":", color=color, linewidth=0.9)
        axes.plot(curve.steps[alive][-1:], values[alive][-1:], "x", color=color, markersize=5)


def log_scale(axes: Axes, curves: Sequence[Curve]) -> float:
    """A logarithmic axis; where many means are not positive, as double sampling's loss, one that is linear round 0.

    Returns the half-width of the linear part, 0 for none.
    """
    means = np.concatenate([curve.mean for curve in curves])
    means = means[np.isfinite(means)]
    positive, others = means[means > 0], means[means <= 0]
    if not len(positive):
        return 0.0
    lows, highs = (np.concatenate([getattr(curve, name) for curve in curves]) for name in ("low", "high"))
    if len(others) > ODD * len(means):
        threshold = 10.0 ** np.ceil(np.log10(max(np.quantile(np.abs(others), 0.9), 1e-6 * positive.max())))
        axes.set_yscale("symlog", linthresh=threshold, linscale=0.6)
        axes.set_ylim(1.2 * min(others.min(), -0.3 * threshold), 1.4 * np.nanmax(highs))
        return threshold
    axes.set_yscale("log", nonpositive="mask")
    bottom = min([positive.min(), *lows[lows > positive.min() / 30]])
    axes.set_ylim(0.7 * bottom, 1.4 * max(positive.max(), np.nanmax(highs)))
    return 0.0


def error_panel(axes: Axes, curves: dict[str, Curve], palette: dict[str, str], score: str) -> None:
    """The error of one or several methods over training."""
    for name, curve in curves.items():
        draw_curve(axes, curve, palette[name], name)
    log_scale(axes, list(curves.values()))
    axes.set_ylabel(metric_name(score))
    axes.set_title("error over training")
    step_axis(axes)


def loss_panel(axes: Axes, solution: Solved, color: str) -> None:
    """The loss with the variances that bias it or floor it."""
    loss = seed_curve(solution, "loss")
    assert loss is not None
    drawn = [loss]
    draw_curve(axes, loss, color, "loss")
    for name, label, style in (
        ("excess_variance", "excess variance of $u$", "--"),
        ("target_variance", "excess variance of the target", ":"),
    ):
        curve = seed_curve(solution, name)
        if curve is not None and np.nanmax(curve.mean) > 0:
            axes.plot(curve.steps, curve.mean, style, color="#333333", label=label, linewidth=1.3)
            drawn.append(curve._replace(low=curve.mean, high=curve.mean))
    linear = log_scale(axes, drawn)
    axes.set_title("loss over training" + (f" (linear within ±{linear:g})" if linear else ""))
    axes.legend()
    step_axis(axes)


def unknown_panel(axes: Axes, solution: Solved) -> None:
    """The learned scalars over training, with their final values."""
    good = solution.good if solution.good.any() else np.ones(len(solution.seeds), bool)
    for index, (name, values) in enumerate(solution.unknowns.items()):
        color = PALETTE[index % len(PALETTE)]
        kept = values[good]
        spread = f", seeds from {number(kept.min())} to {number(kept.max())}" if len(kept) > 1 else ""
        label = f"{name} = {number(kept.mean())}{spread}"
        curve = seed_curve(solution, f"unknown_{name}")
        if curve is None:
            axes.axhline(float(values[good].mean()), color=color, label=plain(label))
        else:
            draw_curve(axes, curve, color, label)
    axes.set_title("learned scalars")
    axes.legend()
    step_axis(axes)
