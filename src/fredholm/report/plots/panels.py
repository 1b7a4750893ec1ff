"""The panels that figures are made of: values along a line, heat maps, prediction against truth."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.image import AxesImage

from fredholm.report.plots.scales import Scale, scale_of, spans_decades
from fredholm.report.plots.shown import Lines, Plane, Profile, Shown
from fredholm.report.plots.style import ERROR_MAP, OUTSIDE, TRUTH, VALUES_MAP, plain


def profile_panel(
    axes: Axes,
    profile: Profile,
    shown: Mapping[str, Shown],
    palette: Mapping[str, str],
    output: int = 0,
    data: Sequence[tuple[np.ndarray, np.ndarray]] = (),
) -> None:
    """Predictions along a line with a band, over the truth as a dashed line, and data as dots. Nothing of them is cut off.

    The band is the range over seeds; on a radial profile it is the range over directions of the seed-mean.
    """
    seen = []
    truth = next((item.truth for item in shown.values() if item.truth is not None), None)
    widths = np.linspace(2.6, 1.4, len(shown)) if len(shown) > 1 else [1.6]  # a line below another one still shows at its sides
    for width, (name, item) in zip(widths, shown.items(), strict=True):
        values = profile.spread(item.members)[..., output]  # (s, k, r)
        mean = values.mean(axis=(0, 2))
        banded = values.mean(axis=0) if profile.width > 1 else values[:, :, 0].T
        axes.fill_between(profile.abscissa, banded.min(axis=1), banded.max(axis=1), color=palette[name], alpha=0.22, linewidth=0)
        axes.plot(profile.abscissa, mean, color=palette[name], label=plain(name), linewidth=width)
        seen += [mean, banded]
    if truth is not None:
        line = profile.spread(truth)[..., output].mean(axis=-1)
        axes.plot(profile.abscissa, line, color=TRUTH, linestyle=(0, (4, 2.5)), linewidth=1.3, label="exact")
        seen.append(line)
    for at, values in data:
        axes.plot(at, values, ".", color=TRUTH, markersize=5, label="data")
        seen.append(values)
    scale_of(seen).set(axes)
    axes.set_xlabel(profile.label)
    axes.margins(x=0.01)
    if spans_decades(profile.abscissa):
        axes.set_xscale("log")


def profile_error_panel(axes: Axes, profile: Profile, shown: Mapping[str, Shown], palette: Mapping[str, str], output: int = 0) -> None:
    """The mean over seeds of |prediction − truth| along a line, with its range, on a logarithmic scale."""
    lines = []
    for name, item in shown.items():
        assert item.truth is not None
        errors = profile.spread(np.abs(item.members - item.truth))[..., output]
        errors = errors.reshape(len(errors), len(profile.abscissa), -1).transpose(1, 0, 2).reshape(len(profile.abscissa), -1)
        mean = errors.mean(axis=1)
        low = np.maximum(errors.min(axis=1), 1e-3 * np.maximum(mean, 1e-300))
        axes.fill_between(profile.abscissa, low, errors.max(axis=1), color=palette[name], alpha=0.22, linewidth=0)
        axes.plot(profile.abscissa, mean, color=palette[name], label=plain(name))
        lines.append(mean[np.isfinite(mean) & (mean > 0)])
    positive = np.concatenate(lines)
    if len(positive):
        axes.set_yscale("log", nonpositive="mask")
        axes.set_ylim(0.3 * max(positive.min(), 1e-4 * positive.max()), 3 * positive.max())
    axes.set_xlabel(profile.label)
    axes.set_title("absolute error")
    axes.margins(x=0.01)


def heat_map(
    axes: Axes, plane: Plane, values: np.ndarray, limits: tuple[float, float] | Scale, *, error: bool = False, lines: Lines | None = None
) -> AxesImage:
    """An image of values at the plane's points, on a given colour scale, with field lines if given; errors have a map of their own."""
    axes.set_facecolor(OUTSIDE)
    axes.grid(False)
    image = axes.imshow(
        plane.image(values),
        origin="lower",
        extent=plane.extent,
        cmap=ERROR_MAP if error else VALUES_MAP,
        norm=limits.norm() if isinstance(limits, Scale) else Normalize(*limits),
        interpolation="nearest",
        aspect="equal" if 0.4 < np.divide(*np.subtract(plane.extent[1::2], plane.extent[::2])) < 2.5 else "auto",
    )
    if lines is not None:
        axes.streamplot(*lines, color="white", linewidth=0.45, density=0.9, arrowsize=0.5)
        axes.set_xlim(plane.extent[:2])
        axes.set_ylim(plane.extent[2:])
    axes.set_xlabel(plane.names[0])
    axes.set_ylabel(plane.names[1], rotation=0, labelpad=8)
    axes.locator_params(nbins=4)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def color_bar(
    image: ScalarMappable, axes: Axes | list[Axes], values: np.ndarray | list[np.ndarray], *, label: str = "", aspect: float = 20
) -> None:
    """A colour bar that says by its pointed ends where values were cut."""
    pooled = np.concatenate([np.ravel(array) for array in (values if isinstance(values, list) else [values])])
    pooled = pooled[np.isfinite(pooled)]
    low, high = image.get_clim()
    assert low is not None
    assert high is not None
    slack = 1e-6 * (high - low)
    below, above = bool((pooled < low - slack).any()), bool((pooled > high + slack).any())
    extend = {(True, True): "both", (True, False): "min", (False, True): "max", (False, False): "neither"}[below, above]
    first = axes[0] if isinstance(axes, list) else axes
    bar = first.figure.colorbar(image, ax=axes, extend=extend, fraction=0.05, pad=0.02, aspect=aspect, label=label)
    bar.ax.spines["outline"].set_visible(False)
    bar.ax.tick_params(labelsize=7)


def empty_panel(axes: Axes, text: str) -> None:
    """A panel with nothing but a few words."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, color="#555555")


def symmetric_limit(errors: list[np.ndarray]) -> tuple[float, float]:
    """A symmetric colour scale for errors, the widest of what each needs without its outliers."""
    needed = [np.quantile(np.abs(finite), 0.99) for error in errors if len(finite := error[np.isfinite(error)])]
    limit = float(max(needed, default=1.0)) or 1e-12
    return -limit, limit


def scatter_panel(axes: Axes, shown: Shown, name: str, color: str, output: int = 0) -> None:
    """Prediction against truth at the points at which the problem is scored; the diagonal is a perfect solution."""
    assert shown.truth is not None
    truth, mean = shown.truth[:, output], shown.mean[:, output]
    scale = scale_of([truth])
    axes.plot([scale.low, scale.high], [scale.low, scale.high], color=TRUTH, linestyle=(0, (4, 2.5)), linewidth=1.0, label="exact")
    axes.scatter(truth, mean, s=5, color=color, alpha=0.35, linewidths=0, rasterized=True)
    scale.set(axes, "x")
    both = scale_of([truth, mean])
    (both if both.kind == scale.kind else scale).set(axes)
    axes.set_xlabel(f"exact {name}")
    axes.set_ylabel(f"predicted {name}")
