"""A correction of u by a Chebyshev series, on up to three axes with fixed nodes: least squares at collocation points."""

import math
import time
from collections.abc import Iterator, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from fredholm.equation.accurate import Accurate, accurate, sample_of
from fredholm.equation.conditions import Data
from fredholm.equation.equation import Equation
from fredholm.equation.frame import frame_of
from fredholm.functions.axes import AbstractAxis, Ray, WholeLine
from fredholm.functions.chebyshev import Chebyshev
from fredholm.functions.field import Field
from fredholm.rules.resolved import Resolved
from fredholm.solving.collocation import MOST_AXES, System, blocks_of
from fredholm.solving.correction import Correction, Sizes, with_part
from fredholm.solving.intervals import intervals_of_unknowns
from fredholm.solving.newton import Decomposed, Rows, solve_rows

DEGREES = {1: (32, 96), 2: (10, 18), 3: (5, 8)}  # that are tried, for each number of axes of u
OVERSAMPLED = {1: 3.0, 2: 2.0, 3: 1.5}  # points on each axis of the law of x, for each polynomial of it; half of them are for the check
ITERATIONS = 6  # of Newton's method, where the equation is not linear
LARGER = 4.0  # times the cost of a series is that of the next one, about
FOLLOWED = 0.3  # a correction that leaves at most this share of the residual has followed it


def corrected_by_series(equation: Equation, members: Field, seconds: float) -> Correction | None:
    """One Newton correction of the mean of several networks, stacked, in double precision. None where a measure has no fixed nodes.

    Where a series does not follow the residual, a larger one is tried if that fits into so many seconds.
    """
    begin, found, why = time.perf_counter(), list[Correction](), ValueError()
    for recipe in classes_of(equation):
        try:
            correction = _attempted(equation, members, recipe)
        except ValueError as error:
            why = error
        else:
            if correction is None:
                return None
            found.append(correction)
        is_enough = any(one.left <= FOLLOWED for one in found)
        if is_enough or LARGER * (time.perf_counter() - begin) > seconds:
            break
    if not found:
        raise why
    return min(found, key=lambda one: one.left)


def classes_of(equation: Equation) -> Iterator[Chebyshev]:
    """Series in the frame of the equation, of growing degree."""
    axes = tuple(map(_falling, Chebyshev().axes_on(frame_of(equation))))
    for degree in DEGREES[equation.inputs]:
        yield Chebyshev((degree,) * equation.inputs, axes)


def _falling(axis: AbstractAxis) -> AbstractAxis:
    """An infinite axis whose functions fall to 0, so that their integrals exist."""
    if isinstance(axis, Ray):
        return Ray(axis.end, axis.scale, 2, axis.to_the_right)
    return WholeLine(axis.center, axis.scale, 1) if isinstance(axis, WholeLine) else axis


def _attempted(equation: Equation, members: Field, recipe: Chebyshev) -> Correction | None:
    """The correction in one class: solved for at half of the points, and checked at the others."""
    part = recipe.build(equation.inputs, equation.outputs, jax.random.key(0))
    skeleton = with_part(members, part)
    nodes = nodes_of(equation, skeleton)
    if nodes is None:
        return None
    work = [one.on(residual) for one, residual in zip(nodes, (equation, *equation.conditions), strict=True)]
    degree, axes = max(recipe.degrees(equation.inputs)), max(equation.inputs, min(len(equation.law.bases), MOST_AXES))
    counts = int(OVERSAMPLED[axes] * (degree + 2)) | 1  # odd: every second point of a grid is then that of a chessboard
    system = System(blocks_of(equation, work, Resolved(), counts, 4 * part.coefficients.size, recipe.axes), skeleton)
    rows, check = halves_of(system, equation)
    start = np.asarray(system.start, float)
    solved = solve_rows(rows, start, ITERATIONS)
    theta = solved.parameters
    (before, _), (after, slopes) = check(start), check(theta)
    if not (np.isfinite(before).all() and np.isfinite(after).all() and np.isfinite(slopes).all()):
        raise ValueError("the residual is not finite at some points")
    rounding = np.finfo(float).eps * float(np.linalg.norm(np.abs(slopes) @ np.abs(theta)))
    second, _ = Decomposed.of(slopes).regularized(after, rounding)
    return Sizes.of(equation, system.field).correction(
        (start, theta, theta + second),
        float(np.linalg.norm(after)) / max(float(np.linalg.norm(before)), np.finfo(float).tiny),
        dropped=solved.dropped,
        intervals=intervals_of_unknowns(system, theta, equation),
        names=sorted(equation.unknowns),
        about=f"a Chebyshev series of degree {degree}",
    )


def halves_of(system: System, equation: Equation) -> tuple[Rows, Rows]:
    """The rows of a system at every second point, of the equation and of each condition. Data and single points are in both halves."""
    parts: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for one, (value, _) in zip((equation, *equation.conditions), system.raw(np.asarray(system.start, float)), strict=True):
        is_whole = isinstance(one, Data) or len(value) == 1
        for which, own in enumerate(parts):
            kept = np.full(len(value), True) if is_whole else np.arange(len(value)) % 2 == which
            own.append(np.repeat(kept, value[0].size))

    def half(kept: np.ndarray) -> Rows:
        def rows(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            values, slopes = system(theta)
            return values[kept], slopes[kept]

        return rows

    return half(np.concatenate(parts[0])), half(np.concatenate(parts[1]))


def nodes_of(equation: Equation, skeleton: Field) -> Sequence[Accurate] | None:
    """Nodes for all integrals, tried on u itself and on u with a wave of the class; None where a measure allows no fixed nodes."""
    parameters, static = eqx.partition(skeleton, eqx.is_inexact_array)
    start, unravel = ravel_pytree(parameters)
    wave = 0.1 * np.random.default_rng(0).normal(size=start.shape) / math.sqrt(start.size)
    wave[start.size - len(skeleton.unknowns) :] = 0.0
    trials = [eqx.combine(unravel(start + jnp.asarray(one, start.dtype)), static) for one in (np.zeros(start.shape), wave)]
    found = []
    for index, residual in enumerate((equation, *equation.conditions)):
        nodes = accurate(residual, trials, sample_of(residual, jax.random.fold_in(jax.random.key(9), index)))
        if nodes is None:
            return None
        found.append(nodes)
    return found
