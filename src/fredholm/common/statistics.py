"""Uncertainty over seeds, and over independent replicates."""

import numpy as np
import scipy

RESAMPLES = 2000


def student_interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """The mean of independent replicates and its interval by Student's t. Each should be nearly normal, as a mean of many values is."""
    values = np.asarray(values, float)
    mean, n = float(values.mean()), len(values)
    half = float(scipy.special.stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


def bootstrap_interval(values: np.ndarray, level: float = 0.95, *, least: float = -np.inf) -> tuple[float, float, float]:
    r"""The mean of the values and the bootstrap interval of that mean, from a fixed stream of resamples.

    With one value there is no interval: low and high are NaN. The percentile interval of few values is too narrow: resampling n values
    understates their spread by $\sqrt{(n-1)/n}$, and treats the spread as known. So both arms are stretched by $\sqrt{n/(n-1)}$ and by the
    ratio of the quantiles of Student's t with n − 1 degrees of freedom and of the normal. `tests/test_statistics.py` measures the coverage.
    `least` is the smallest possible value, 0 for an error. No interval goes below it.
    """
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    n = len(values)
    if n == 0:
        return float("nan"), float("nan"), float("nan")
    mean = float(values.mean())
    if n == 1:
        return mean, float("nan"), float("nan")
    picks = np.random.default_rng(0).integers(0, n, (RESAMPLES, n))
    tail = (1 - level) / 2
    low, high = np.quantile(values[picks].mean(axis=1), [tail, 1 - tail])
    stretch = float(np.sqrt(n / (n - 1)) * scipy.special.stdtrit(n - 1, 1 - tail) / scipy.special.ndtri(1 - tail))
    return mean, max(least, mean - stretch * (mean - float(low))), mean + stretch * (float(high) - mean)
