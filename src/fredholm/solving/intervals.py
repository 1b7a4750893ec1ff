"""Confidence intervals of learned scalars: how far the noise of data moves them, with the equation and its conditions as constraints."""

import math
from collections.abc import Mapping

import numpy as np
import scipy  # scipy.stats is loaded on first use

from fredholm.equation.conditions import Data
from fredholm.equation.equation import Equation
from fredholm.solving.collocation import System

CONSTRAINED = 1e-9  # directions whose singular value is below this share of the largest are left free by the constraints
LEVEL = 0.975  # of each end: 95 % in all


def intervals_of_unknowns(system: System, theta: np.ndarray, equation: Equation) -> Mapping[str, tuple[float, float]]:
    r"""The 95 % interval of each learned scalar, to first order in the noise of the data.

    The equation and its conditions leave free the parameters $\theta + Z a$, where Z spans the null space of their rows. The data determine
    a by least squares. With $S = \partial(\text{data})/\partial\theta\, Z$ the covariance of θ is $\sigma^2 Z (S^\top S)^{-1} Z^\top$.
    σ comes from `Data(..., sigma=)`, or from the residuals of the data. Empty where there are no data, or fewer than free parameters.
    """
    names = sorted(equation.unknowns)
    together = zip((None, *equation.conditions), system.raw(theta), strict=True)
    rows = [(one, value.reshape(-1), slope.reshape(-1, system.size)) for one, (value, slope) in together]
    held = [_scaled(slope) for one, _, slope in rows if not isinstance(one, Data)]
    observed = [(one, value, slope) for one, value, slope in rows if isinstance(one, Data)]
    if not names or not observed:
        return {}
    free = _null_space(np.concatenate(held), system.size)
    known = [_deviation(one) for one, _, _ in observed]
    residuals = np.concatenate([value / (sigma or 1.0) for (_, value, _), sigma in zip(observed, known, strict=True)])
    sensitivity = np.concatenate([slope @ free / (sigma or 1.0) for (_, _, slope), sigma in zip(observed, known, strict=True)])
    count, parameters = sensitivity.shape
    if parameters == 0 or count <= parameters or np.linalg.matrix_rank(sensitivity) < parameters:
        return {}
    is_known = all(sigma is not None for sigma in known)
    deviation = 1.0 if is_known else math.sqrt(float(np.sum(residuals**2)) / (count - parameters))
    quantile = float(scipy.stats.norm.ppf(LEVEL) if is_known else scipy.stats.t.ppf(LEVEL, count - parameters))
    covariance = free @ np.linalg.pinv(sensitivity.T @ sensitivity) @ free.T
    found = {}
    for index, name in enumerate(names, start=system.size - len(names)):
        half = quantile * deviation * math.sqrt(max(float(covariance[index, index]), 0.0))
        found[name] = (float(theta[index]) - half, float(theta[index]) + half)
    return found


def _scaled(slope: np.ndarray) -> np.ndarray:
    """The rows of a constraint in units of their size."""
    return slope / (float(np.sqrt(np.mean(np.sum(slope**2, axis=1)))) or 1.0) / math.sqrt(max(len(slope), 1))


def _null_space(rows: np.ndarray, size: int) -> np.ndarray:
    """An orthonormal basis (p, k) of the directions that the rows do not see."""
    norms = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
    columns = np.maximum(norms, norms.mean())
    _, values, right = np.linalg.svd(rows / columns, full_matrices=True)
    rank = int(np.sum(values > CONSTRAINED * values[0]))
    return (right[rank:].T / columns[:, None])[:size]


def _deviation(data: Data | None) -> float | None:
    """σ of the weighted residuals of data; None where it is not known."""
    if data is None or data.sigma is None:
        return None
    return float(1 / np.sqrt(np.mean(1 / np.asarray(data.sigma, float) ** 2)))
