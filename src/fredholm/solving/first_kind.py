r"""Equations of the first kind: least squares with a prior, since directions that the rows hardly see would only magnify errors.

The rows are taken to have independent errors ν: of rounding, or of a given σ of y. The coefficients are taken to have the sizes
$\alpha\,\rho^{-k}$, k their degree, as those of an analytic function. Their most probable values minimise

$$\sum_i \frac{(r + A\theta)_i^2}{\nu_i^2} + \sum_k \frac{\theta_k^2}{\alpha^2 \rho^{-2k}},$$

averaged over α and ρ with the probability of y under each (Bayesian model averaging: MacKay, Neural Computation 1992). The residual then
ends at ν, as the discrepancy principle asks, and the spread that is left is the error bar.
"""

from typing import NamedTuple

import numpy as np

RATES = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 8.0)  # ρ
SIZES = np.exp(np.linspace(-4.0, 14.0, 73))  # α, in units of the size of the least-squares solution with one direction
UNLIKELY = 1e-3  # models less probable than the best by this factor are left out
ROUNDING = 4.0  # errors of rows, in units of rounding of the largest term


class Regularized(NamedTuple):
    """The mean of the coefficients and their spread."""

    parameters: np.ndarray  # (p,)
    spread: np.ndarray  # (p, p): the covariance is its product with its transpose
    seen: float  # directions that the rows determine: the sum of their shares


def regularized(rows: np.ndarray, slopes: np.ndarray, noise: np.ndarray, orders: np.ndarray) -> Regularized:
    """The mean of θ given rows r + Aθ with standard errors `noise`; `orders` are the degrees of the coefficients."""
    right, matrix = -rows / noise, slopes / noise[:, None]
    priors = [rate ** -orders.astype(float) for rate in RATES]
    decomposed = [np.linalg.svd(matrix * prior, full_matrices=False) for prior in priors]
    models = list[tuple[float, int, float]]()  # minus twice the logarithm of their probability, the number of ρ, and α
    for number, (left, values, _) in enumerate(decomposed):
        parts = left.T @ right
        unit = float(np.abs(parts[0]) / max(values[0], np.finfo(float).tiny)) or 1.0
        for size in unit * SIZES:
            variance = (values * size) ** 2 + 1
            models.append((float(np.sum(parts**2 / variance + np.log(variance))), number, float(size)))
    least = min(models)[0]
    kept = list[tuple[float, np.ndarray, np.ndarray, float]]()  # weight, mean, covariance, directions that are seen
    for surprise, number, size in models:
        weight = float(np.exp(0.5 * (least - surprise)))
        if weight < UNLIKELY:
            continue
        (left, values, turned), prior = decomposed[number], priors[number]
        share = (values * size) ** 2 / ((values * size) ** 2 + 1)
        inverse = np.divide(share, values, out=np.zeros_like(values), where=values > 0)
        left_open = np.eye(len(orders)) - (turned.T * share) @ turned
        covariance = size**2 * prior[:, None] * left_open * prior
        kept.append((weight, prior * (turned.T @ (inverse * (left.T @ right))), covariance, float(np.sum(share))))
    total = sum(weight for weight, *_ in kept)
    mean = sum((weight / total * found for weight, found, *_ in kept), np.zeros(len(orders)))
    apart = ((weight, np.outer(found - mean, found - mean) + covariance) for weight, found, covariance, _ in kept)
    values, vectors = np.linalg.eigh(sum((weight / total * one for weight, one in apart), np.zeros((len(orders),) * 2)))
    seen = sum(weight * one for weight, _, _, one in kept) / total
    return Regularized(mean, vectors * np.sqrt(np.maximum(values, 0.0)), seen)
