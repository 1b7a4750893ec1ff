"""A solve: a series in the frame of the equation, with as many coefficients and nodes as it needs."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.equation.accurate import Accurate, accurate, sample_of
from fredholm.equation.conditions import Condition
from fredholm.equation.equation import Equation
from fredholm.equation.residual import AbstractResidual, call, network_point
from fredholm.functions.axes import AbstractAxis, Ray, Segment, WholeLine
from fredholm.functions.chebyshev import Chebyshev, Series, sizes_of
from fredholm.functions.field import Field
from fredholm.rules.base import AbstractRule
from fredholm.rules.resolved import Resolved
from fredholm.solving.collocation import Block, System, blocks_of
from fredholm.solving.intervals import intervals_of_unknowns
from fredholm.solving.newton import FEW_ITERATIONS, Decomposed, Solved, solve_rows

GROWTH = {1: (24, 64, 160), 2: (8, 16, 24), 3: (6, 10, 14)}  # degrees that are tried, for each number of axes
OVERSAMPLED = {1: 2.0, 2: 1.5, 3: 1.0}  # points on each axis, for each polynomial of it
GOOD_ENOUGH, COSTLY = 1e-8, 300  # from this residual on no series is tried after one with more coefficients than this
CLUSTERING = 9.0  # of a series for a solution that is singular at an end: it is resolved down to 1e-8 of the width
STALLED = 0.2  # a larger series that leaves more than this share of the residual does not help
MORE_CHECKS = 3  # points on each axis by which a check has more: all of them lie elsewhere
NORM_POINTS = 300  # points at which errors of u are averaged
FASTEST = 0.1  # the next coefficients are taken to be at least this share of the last ones
SAFETY = 2.0  # an estimated error is this many times what was found
WAVES = 16.0  # starts of Newton's method vary on the largest scales only
FOUND = 1e-10  # a start that ends at such a residual is good enough
BASE = 8.0  # functions that nodes are tried on: their coefficients fall to 10^-BASE
TRIED = 2  # functions that nodes are tried on


class Attempt(NamedTuple):
    """A series that was solved for."""

    recipe: Chebyshev
    u: Field
    residual: float  # the largest relative residual; infinite where it is not a number
    solved: Solved
    nodes_error: float  # of the integrals, as a share of the integral of |g|
    error: float  # of u, estimated, as a share of u
    intervals: Mapping[str, tuple[float, float]]  # of learned scalars, where there are data
    seconds: float


def attempts(equation: Equation, recipe: Chebyshev, rule: AbstractRule, target: float, enough: float) -> Iterator[Attempt]:
    """Series for an equation until one has a relative residual of at most `target`: of growing degree, then on other axes.

    The recipe is fitted to the frame of the equation. With a degree of its own it is the only one. Where one kind of axes ends at `enough`,
    no other is tried.
    """
    best, before = np.inf, list[float]()  # the residuals of the best kind so far, by degree
    for kind in kinds_of(recipe):
        if best <= enough:
            return
        last: Attempt | None = None
        own = list[float]()
        for series in degrees_of(kind, equation.inputs):
            attempt = attempted(equation, series, rule, last)
            own.append(attempt.residual)
            best = min(best, attempt.residual)
            yield attempt
            is_costly = best <= GOOD_ENOUGH < enough and np.prod(series.degrees(equation.inputs)) > COSTLY
            if attempt.residual <= target or is_costly:
                return
            if last is not None and attempt.residual > STALLED * last.residual:
                break
            if equation.inputs > 1 and len(before) >= len(own) and own[-1] > before[len(own) - 1]:
                break  # the other kind was better at this size, and large series on many axes take long
            last = attempt
        before = own if not before or min(own) < min(before) else before


def degrees_of(recipe: Chebyshev, inputs: int) -> list[Chebyshev]:
    """The recipe with the degrees that are tried."""
    if recipe.degree is not None:
        return [recipe.with_degree(recipe.degrees(inputs))]
    return [recipe.with_degree((degree,) * inputs) for degree in GROWTH.get(inputs, (4,))]


def kinds_of(recipe: Chebyshev) -> Iterator[Chebyshev]:
    """The recipe, then with axes for solutions that are singular at the ends, and with other scales on infinite axes."""
    yield recipe
    if recipe.degree is not None:
        return
    for change in (_falling, _longer, _shorter, _clustered):
        axes = tuple(map(change, recipe.axes))
        if axes != recipe.axes:
            yield recipe.on(axes)


def _falling(axis: AbstractAxis) -> AbstractAxis:
    if isinstance(axis, Ray):
        return Ray(axis.end, axis.scale, 2, axis.to_the_right)
    return WholeLine(axis.center, axis.scale, 1) if isinstance(axis, WholeLine) else axis


def _longer(axis: AbstractAxis, times: float = 4.0) -> AbstractAxis:
    if isinstance(axis, Ray):
        return Ray(axis.end, times * axis.scale, 2, axis.to_the_right)
    return WholeLine(axis.center, times * axis.scale, 1) if isinstance(axis, WholeLine) else axis


def _shorter(axis: AbstractAxis) -> AbstractAxis:
    return _longer(axis, 0.25)


def _clustered(axis: AbstractAxis) -> AbstractAxis:
    return Segment(axis.low, axis.high, CLUSTERING) if isinstance(axis, Segment) else axis


def attempted(equation: Equation, recipe: Chebyshev, rule: AbstractRule, last: Attempt | None) -> Attempt:
    """One series, solved for and checked with other nodes and points."""
    begin = time.perf_counter()
    network = recipe.build(equation.inputs, equation.outputs, jax.random.key(0))
    unknowns = {name: jnp.asarray(value, float) for name, value in equation.unknowns.items()}
    skeleton = Field(network, unknowns, equation.inputs, equation.outputs)
    found = nodes_of(equation, skeleton, rule)
    parts: Sequence[AbstractResidual] = (equation, *equation.conditions)
    work = [one.on(part) for one, part in zip(found, parts, strict=True)]
    clustering = max((axis.clustering for axis in recipe.axes if isinstance(axis, Segment)), default=0.0)
    size = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(skeleton, eqx.is_inexact_array)))
    counts = int(OVERSAMPLED.get(equation.inputs, 1.0) * (max(recipe.degrees(equation.inputs)) + 2))
    blocks = blocks_of(equation, work, rule, counts, 3 * size, clustering)
    system = System(blocks, skeleton)
    solved = _from_starts(system, skeleton, equation, last)
    finer = [one.on(part, finer=True) for one, part in zip(found, parts, strict=True)]
    check = System(blocks_of(equation, finer, rule, counts + MORE_CHECKS, 3 * size, clustering), skeleton)
    u = system.field(solved.parameters)
    return Attempt(
        recipe,
        u,
        check.relative_residual(solved.parameters),
        solved,
        max((one.error for one in found), default=0.0),
        estimated_error(check, solved.parameters, u, places_of(equation, blocks[0])),
        intervals_of_unknowns(system, solved.parameters, equation),
        time.perf_counter() - begin,
    )


def estimated_error(check: System, theta: np.ndarray, u: Field, points: Float[Array, "n d"]) -> float:
    """The error of u in the root mean square, as a share of u: from one more Newton step on rows that the solve has not used, with other
    points and nodes, and from the last coefficients, which show what the class of functions leaves out."""
    rows, slopes = check(theta)
    if not (np.isfinite(rows).all() and np.isfinite(slopes).all()):
        return np.inf
    rounding = np.finfo(float).eps * float(np.linalg.norm(np.abs(slopes) @ np.abs(theta)))
    step, _ = Decomposed.of(slopes).regularized(rows, rounding)
    network = u.network
    assert isinstance(network, Series)
    parts = (network, check.field(step).network, network.last(), network.last(before=1))
    size, correction, last, before = (float(np.sqrt(np.mean(np.asarray(jax.vmap(part)(points)) ** 2))) for part in parts)
    left_out = last * min(1.0, max(FASTEST, last / before if before > 0 else 1.0))  # as much as the next coefficients, if they fall on
    return SAFETY * math.hypot(correction, left_out) / (size or 1.0) + np.finfo(float).eps


def places_of(equation: Equation, block: Block) -> Float[Array, "n d"]:
    """Points at which errors of u are averaged: those of the evaluation, else those of the rows, else the middle of the frame."""
    if equation.evaluation is not None:
        return equation.evaluation.points(NORM_POINTS)
    points = network_point(block.points)
    return jnp.zeros((1, equation.inputs)) if points is None else points


def nodes_of(equation: Equation, skeleton: Field, rule: AbstractRule) -> list[Accurate]:
    """Nodes for the integrals of the equation and of each condition."""
    found = []
    for index, residual in enumerate((equation, *equation.conditions)):
        if isinstance(rule, Resolved):
            nodes = accurate(residual, trials(skeleton), sample_of(residual, jax.random.fold_in(jax.random.key(9), index)))
        else:
            own = tuple(eqx.tree_at(lambda one: one.rule, one, one.rule or rule, is_leaf=lambda x: x is None) for one in residual.integrals)
            nodes = Accurate(own, own, 0.0)
        if nodes is None:
            raise ValueError(
                "a series needs fixed nodes, and a measure of the equation has too many axes or is known by given samples only. "
                "Give rule=fr.MonteCarlo(n), for a solve by random samples, or a network: network=fr.MLP()."
            )
        found.append(nodes)
    return found


def trials(skeleton: Field, decades: float = BASE) -> list[Field]:
    """Functions of the class that are positive and vary on all its scales; their coefficients fall by so many decades."""
    network = skeleton.network
    assert isinstance(network, Series)
    sizes = sizes_of(network.degrees, network.axes)
    products = network.products()
    order = np.sum(products / np.maximum(np.array(sizes) - 1, 1), axis=1)
    found = []
    for number in range(TRIED):
        c = np.random.default_rng(number).normal(size=network.coefficients.shape) * 10.0 ** (-decades * order)
        c *= 0.5 / np.sum(np.abs(c), axis=1, keepdims=True)
        c[:, 0] += 1.0
        found.append(eqx.tree_at(lambda u: u.network.coefficients, skeleton, jnp.asarray(c, network.coefficients.dtype)))
    return found


def _from_starts(system: System, skeleton: Field, equation: Equation, last: Attempt | None) -> Solved:
    """Newton's method from the last series, or from 0 and where the equation is not affine from constants too."""
    if last is not None and not last.solved.is_affine:
        return solve_rows(system, _prolonged(system, skeleton, last), FEW_ITERATIONS)
    zero = np.asarray(system.start, float)
    best = solve_rows(system, zero)
    if best.is_affine:
        return best
    network = skeleton.network
    assert isinstance(network, Series)
    constants = [jnp.zeros_like(network.coefficients).at[:, 0].set(value) for value in _constants(equation)]
    waves = [trial.network.coefficients for trial in trials(skeleton, WAVES)]  # for equations whose rows are flat at a constant
    for coefficients in (*constants, *waves):
        other = solve_rows(system, system.flat(eqx.tree_at(lambda u: u.network.coefficients, skeleton, coefficients)))
        best = other if other.residual < 0.5 * best.residual else best
        if best.residual < FOUND:
            break
    return best


def _constants(equation: Equation) -> list[float]:
    """Values that u may be near to: those of conditions at a point, and 1."""
    key, found = jax.random.key(0), [1.0]
    for condition in equation.conditions:
        if isinstance(condition, Condition):
            value = np.asarray(call(condition.value, condition.law.sample(key)), float)
            found += [float(one) for one in np.ravel(value) if np.isfinite(one) and one not in (0.0, 1.0)]
    return found[:3]


def _prolonged(system: System, skeleton: Field, last: Attempt) -> np.ndarray:
    """The parameters of the larger series that equals the last one."""
    old, new = last.u.network, skeleton.network
    assert isinstance(old, Series)
    assert isinstance(new, Series)
    before = [tuple(row) for row in old.products()]
    place = {tuple(row): index for index, row in enumerate(new.products())}
    kept = [(index, place[row]) for index, row in enumerate(before) if row in place]
    c = np.zeros(new.coefficients.shape)
    c[:, [at for _, at in kept]] = np.asarray(old.coefficients)[:, [index for index, _ in kept]]
    u = Field(eqx.tree_at(lambda s: s.coefficients, new, jnp.asarray(c)), last.u.unknowns, skeleton.inputs, skeleton.outputs)
    return system.flat(u)
