"""Least squares and Newton's method on the host: systems of a few hundred unknowns, to rounding error."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Rows = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # parameters -> residuals (r,), derivatives (r, p)

ITERATIONS = 40
FEW_ITERATIONS = 8  # from the solution of a smaller system
AFFINE = 1e-8  # the residual and the derivatives after a full step differ from the predicted ones by at most this share: affine rows
STAYS = 1e-3  # steps that reduce the residual by a smaller share have converged
TRUNCATIONS = 10.0 ** np.arange(-8, -16.5, -0.5)  # relative singular values below which a direction may be dropped
DISCREPANCY = 5.0  # the fewest directions whose residual is at most this many times the least one


class Solved(NamedTuple):
    """The end of an iteration."""

    parameters: np.ndarray
    residual: float  # the norm of the weighted residuals
    is_affine: bool
    condition: float  # of the system: its largest singular value over its smallest
    dropped: int  # directions of the parameters that the rows do not determine
    iterations: int


class Decomposed(NamedTuple):
    """Derivatives as U diag(s) Vᵀ, with the columns scaled."""

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, slopes: np.ndarray) -> "Decomposed":
        """The singular values of derivatives."""
        norms = np.linalg.norm(slopes, axis=0)
        columns = np.maximum(norms, np.mean(norms)) + np.finfo(float).tiny
        try:
            left, values, right = np.linalg.svd(slopes / columns, full_matrices=False)
        except np.linalg.LinAlgError:  # the divide-and-conquer algorithm may fail; a little noise helps it
            noise = np.random.default_rng(0).normal(size=slopes.shape) * 1e-15
            left, values, right = np.linalg.svd(slopes / columns + noise, full_matrices=False)
        return cls(left, values, right, columns)

    def step(self, residual: np.ndarray, damping: float) -> np.ndarray:
        """The damped least-squares step."""
        shares = self.values / (self.values**2 + damping * self.values[0] ** 2)
        return -(self.right.T @ (shares * (self.left.T @ residual))) / self.columns

    def regularized(self, residual: np.ndarray, floor: float) -> tuple[np.ndarray, int]:
        """The least-squares step with as few directions as the residual allows, and the number of those that are dropped.

        A direction whose singular value is below rounding error would only magnify that error. `floor` is the size of the rounding errors
        of the residual.
        """
        parts = self.left.T @ residual
        outside = max(float(np.sum(residual**2) - np.sum(parts**2)), 0.0)
        squares = np.concatenate([[0.0], np.cumsum(parts[::-1] ** 2)])[::-1]  # what is left with the first k directions
        least = np.finfo(float).eps * max(residual.size, self.values.size)
        kept = [int(np.sum(self.values > max(share, least) * self.values[0])) for share in TRUNCATIONS]
        norms = [np.sqrt(outside + squares[k]) for k in kept]
        enough = DISCREPANCY * max(min(norms), floor)
        k = next(count for count, norm in zip(kept, norms, strict=True) if norm <= enough)
        return -(self.right[:k].T @ (parts[:k] / self.values[:k])) / self.columns, len(self.values) - k


def solve_rows(rows: Rows, start: np.ndarray, most: int = ITERATIONS) -> Solved:
    """The parameters with the least squared residuals, from a start: one step where the rows are affine, else Levenberg–Marquardt."""
    theta = np.asarray(start, float)
    residual, slopes = rows(theta)
    if not (np.isfinite(residual).all() and np.isfinite(slopes).all()):
        return Solved(theta, np.inf, False, np.inf, 0, 0)
    norm, damping, is_affine = float(np.linalg.norm(residual)), 0.0, False
    known = Decomposed.of(slopes)
    dropped = iterations = 0
    for iterations in range(1, most + 1):
        # What cancels within a residual leaves rounding errors of about this size.
        floor = np.finfo(float).eps * float(np.linalg.norm(np.abs(slopes) @ np.abs(theta))) if theta.any() else 0.0
        if damping == 0.0:
            step, dropped = known.regularized(residual, floor)
        else:
            step = known.step(residual, damping)
        new_residual, new_slopes = rows(theta + step)
        new_norm = float(np.linalg.norm(new_residual)) if np.isfinite(new_residual).all() else np.inf
        if iterations == 1 and np.isfinite(new_norm):
            apart, turned = np.linalg.norm(new_residual - residual - slopes @ step), np.linalg.norm(new_slopes - slopes)
            is_affine = bool(step.any() and apart <= AFFINE * norm and turned <= AFFINE * np.linalg.norm(slopes))
        if not new_norm < norm:
            if norm <= 10 * floor or damping > 1e6 or is_affine:
                break
            damping = max(10 * damping, 1e-6)
            continue
        converged = new_norm > (1 - STAYS) * norm and damping < 1e-3
        theta, residual, slopes, norm = theta + step, new_residual, new_slopes, new_norm
        known = known if is_affine else Decomposed.of(slopes)
        damping = 0.0 if damping < 1e-7 else damping / 30
        if converged or norm == 0 or (is_affine and iterations >= 2):  # the second step corrects the rounding errors of the first
            break
    smallest = float(known.values[-1])
    condition = float(known.values[0]) / smallest if smallest > 0 else np.inf
    return Solved(theta, norm, is_affine, condition, dropped, iterations)
