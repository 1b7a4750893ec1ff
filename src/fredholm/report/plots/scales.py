"""Scales on which nothing of u is cut off: linear; logarithmic where sizes span decades; linear near 0 and logarithmic beyond at a peak."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize, SymLogNorm

DECADES = 100.0  # positive values whose inner four fifths span this ratio are shown on a logarithmic scale
TAILS, FAR = 0.01, 4.0  # a range so many times that of its inner 98 % has a peak or a singularity, which would hide the rest
MARGIN = 0.06  # of an axis, beyond the values


class Scale(NamedTuple):
    """A scale for an axis or for colours."""

    kind: Literal["linear", "log", "symlog"]
    low: float
    high: float
    within: float = 1.0  # of symlog: it is linear within this

    def norm(self) -> Normalize:
        """The same for colours."""
        if self.kind == "log":
            return LogNorm(self.low, self.high)
        if self.kind == "symlog":
            return SymLogNorm(self.within, vmin=self.low, vmax=self.high)
        return Normalize(self.low, self.high)

    def set(self, axes: Axes, axis: Literal["x", "y"] = "y") -> None:
        """Sets an axis to this scale, with a margin."""
        low, high = self.low, self.high
        if self.kind == "log":
            low, high = low * (low / high) ** MARGIN, high * (high / low) ** MARGIN
        elif self.kind == "symlog":
            low, high = low - MARGIN * max(abs(low), self.within), high + MARGIN * max(abs(high), self.within)
        else:
            low, high = low - MARGIN * (high - low), high + MARGIN * (high - low)
        words = {"linthresh": self.within} if self.kind == "symlog" else {}
        (axes.set_yscale if axis == "y" else axes.set_xscale)(self.kind, **words)
        (axes.set_ylim if axis == "y" else axes.set_xlim)(low, high)


def scale_of(values: Sequence[np.ndarray]) -> Scale:
    """The scale that shows all of these values."""
    pooled = np.concatenate([np.ravel(np.ma.compressed(array) if np.ma.isMaskedArray(array) else array) for array in values])
    pooled = pooled[np.isfinite(pooled)]
    if not len(pooled):
        return Scale("linear", 0.0, 1.0)
    low, high = float(pooled.min()), float(pooled.max())
    if spans_decades(pooled):
        return Scale("log", low, high)
    inner = np.quantile(pooled, [TAILS, 1 - TAILS])
    usual = float(max(np.abs(inner)))
    if high - low > FAR * (inner[1] - inner[0]) and max(-low, high) > FAR * usual > 0:
        return Scale("symlog", low, high, usual)
    flat = high - low < 1e-9 * max(abs(low), abs(high)) or high == low
    margin = 1e-6 * max(abs(low), abs(high), 1e-300) if flat else 0.0
    return Scale("linear", low - margin, high + margin)


def spans_decades(values: np.ndarray) -> bool:
    """True for positive numbers of very different sizes."""
    if not len(values) or not np.min(values) > 0:
        return False
    low, high = np.quantile(values, [0.1, 0.9])
    return bool(high > DECADES * low)
