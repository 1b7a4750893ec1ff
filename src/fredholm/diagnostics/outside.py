"""Where u is evaluated but not trained: integrals that reach outside of the domain, and conditions that hold there."""

from collections.abc import Iterable, Iterator

import equinox as eqx
import jax
import numpy as np

from fredholm.domains.base import Base
from fredholm.equation.conditions import Condition
from fredholm.equation.equation import Equation
from fredholm.equation.frame import frame_of
from fredholm.equation.probe import sample_points, show
from fredholm.functions.frame import OUTSIDE, Frame

POINTS = 16  # of each condition


def outside(equation: Equation) -> Iterator[str]:
    """A text for the integrals that evaluate u where nothing trains it, and for each condition of which the equation notices nothing."""
    frame = frame_of(eqx.tree_at(lambda one: one.conditions, equation, ()))
    low, high = np.array(frame.domain_low), np.array(frame.domain_high)
    if any(base in (Base.NORMAL, Base.HALF_LINE) for base in equation.law.bases):  # points x are drawn there too, though seldom
        low, high = np.where(frame.below, -np.inf, low), np.where(frame.above, np.inf, high)
    width = OUTSIDE * (np.array(frame.domain_high) - np.array(frame.domain_low))
    for number, condition in enumerate(equation.conditions, start=1):
        if not isinstance(condition, Condition):
            continue
        points = np.asarray(sample_points(condition, POINTS))
        if points.ndim != 2 or points.shape[1] != len(low):
            continue
        seen = np.all((points >= np.minimum(low, frame.low) - width) & (points <= np.maximum(high, frame.high) + width), axis=1)
        if not seen.any():
            where = show(jax.numpy.asarray(points[0]))
            yield f"condition {number} holds at x = {where}, where neither the equation nor an integral evaluates u: it changes nothing."
        low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    if frame.reaches_outside and not _is_covered(frame, low - width, high + width):
        reached = _box(np.where(frame.below, -np.inf, frame.low), np.where(frame.above, np.inf, frame.high))
        yield (
            f"the integrals evaluate u on {reached}, outside of the domain {_box(frame.domain_low, frame.domain_high)}, where nothing "
            "trains it. Use a wider domain, a Condition that says what u is there, or a form of the network, Constrained(...)."
        )


def _box(low: Iterable[float], high: Iterable[float]) -> str:
    return " × ".join(f"[{a:.3g}, {b:.3g}]" for a, b in zip(low, high, strict=True))


def _is_covered(frame: Frame, low: np.ndarray, high: np.ndarray) -> bool:
    """True where all that is evaluated lies in this box."""
    reached = np.where(frame.below, -np.inf, frame.low), np.where(frame.above, np.inf, frame.high)
    return bool(np.all(reached[0] >= low) and np.all(reached[1] <= high))
