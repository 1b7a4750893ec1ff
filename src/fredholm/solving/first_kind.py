r"""Equations of the first kind: least squares with a prior, since directions that the rows hardly see would only magnify errors.

The rows are taken to have independent errors ν: of rounding, or of a given σ of y. The coefficients are taken to have the sizes
$\alpha\,\rho^{-k}$, k their degree, as those of an analytic function. Their most probable values minimise

$$\sum_i \frac{(r + A\theta)_i^2}{\nu_i^2} + \sum_k \frac{\theta_k^2}{\alpha^2 \rho^{-2k}},$$

and α and ρ are those under which y is most probable (type II maximum likelihood: MacKay, Neural Computation 1992). The residual then ends
at ν, as the discrepancy principle asks, and the spread that is left is the error bar.
"""

from typing import NamedTuple

import numpy as np

RATES = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 8.0)  # ρ
SIZES = np.exp(np.linspace(-4.0, 14.0, 73))  # α, in units of the size of the least-squares solution with one direction
ROUNDING = 4.0  # errors of rows, in units of rounding of the largest term


class Regularized(NamedTuple):
    """The most probable coefficients and their spread."""

    parameters: np.ndarray  # (p,)
    spread: np.ndarray  # (p, k): the covariance is its product with its transpose
    seen: float  # directions that the rows determine: the sum of their shares


def regularized(rows: np.ndarray, slopes: np.ndarray, noise: np.ndarray, orders: np.ndarray) -> Regularized:
    """The most probable θ of rows r + Aθ with standard errors `noise`; `orders` are the degrees of the coefficients."""
    right, matrix = -rows / noise, slopes / noise[:, None]
    best: tuple[float, float, np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None = None
    for rate in RATES:
        prior = rate ** -orders.astype(float)
        left, values, turned = np.linalg.svd(matrix * prior, full_matrices=False)
        parts = left.T @ right
        for size in SIZES * (np.abs(parts[0]) / max(values[0], np.finfo(float).tiny) or 1.0):
            variance = (values * size) ** 2 + 1
            surprise = float(np.sum(parts**2 / variance + np.log(variance)))
            if best is None or surprise < best[0]:
                best = surprise, size, prior, values, turned, parts
    assert best is not None
    _, size, prior, values, turned, parts = best
    share = (values * size) ** 2 / ((values * size) ** 2 + 1)
    inverse = np.divide(share, values, out=np.zeros_like(values), where=values > 0)
    spread = size * prior[:, None] * np.concatenate([turned.T * np.sqrt(1 - share), _rest(turned)], axis=1)
    return Regularized(prior * (turned.T @ (inverse * parts)), spread, float(np.sum(share)))


def _rest(turned: np.ndarray) -> np.ndarray:
    """Directions that no row sees, where there are fewer rows than coefficients."""
    count, size = turned.shape
    if count == size:
        return np.zeros((size, 0))
    return np.linalg.svd(turned, full_matrices=True)[2][count:].T
