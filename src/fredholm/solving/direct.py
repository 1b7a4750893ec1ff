"""A solve: a series in the frame of the equation, with as many coefficients and nodes as it needs."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.domains.distributions import Exponential, Normal
from fredholm.domains.flat import Interval
from fredholm.equation.accurate import Accurate, accurate, sample_of
from fredholm.equation.conditions import Condition
from fredholm.equation.equation import Equation
from fredholm.equation.probe import measures_of
from fredholm.equation.residual import AbstractResidual, call, network_point
from fredholm.functions.axes import AbstractAxis, Pieces, Ray, Segment, WholeLine
from fredholm.functions.chebyshev import Chebyshev, Series
from fredholm.functions.field import Field
from fredholm.rules.base import AbstractRule
from fredholm.rules.resolved import Resolved
from fredholm.solving.collocation import Block, System, blocks_of
from fredholm.solving.first_kind import ROUNDING, Regularized, regularized
from fredholm.solving.intervals import intervals_of_unknowns
from fredholm.solving.newton import FEW_ITERATIONS, Decomposed, Solved, solve_rows
from fredholm.solving.pieces import cuts_of, is_of_first_kind, joined

GROWTH = {1: (24, 64, 160), 2: (8, 16, 24), 3: (6, 10, 14)}  # degrees that are tried, for each number of axes
OVERSAMPLED = {1: 2.0, 2: 1.5, 3: 1.0}  # points on each axis, for each polynomial of it
PIECEWISE = (12, 24, 48)  # degrees of the pieces of a series that is cut
MOST_IN_PIECES = 700  # coefficients of all pieces together
UNUSABLE = 0.1  # integrals of functions of the class that are off by this share: the class does not suit the measure
ILL_POSED = 1e-7  # an equation of the first kind is regularised where the estimated error is above this
GOOD_ENOUGH, COSTLY = 1e-8, 300  # from this residual on no series is tried after one with more coefficients than this
GROWTH_RATE = 0.75  # of functions that grow at infinity, in units of the scale of the axis, which is 1.5 times that of its measure
CLUSTERING = 9.0  # of a series for a solution that is singular at an end: it is resolved down to 1e-8 of the width
STALLED = 0.2  # a larger series that leaves more than this share of the residual does not help
MORE_CHECKS = 3  # points on each axis by which a check has more: all of them lie elsewhere
NORM_POINTS = 300  # points at which errors of u are averaged
FASTEST = 0.1  # the next coefficients are taken to be at least this share of the last ones
STILL_GOOD = 1e-5  # a residual with which a determined series is preferred to one that is not
UNDETERMINED = 1e-3  # an estimated error of a series that satisfies the equation: the equation does not determine it
SAFETY = 2.0  # an estimated error is this many times what was found
WAVES, LARGE_WAVES = 16.0, 4.0  # starts of Newton's method: their coefficients fall by so many decades
PROMISING = 0.1  # Newton's method begins with a smaller series whose residual is below this
FOUND = 1e-10  # a start that ends at such a residual is good enough
BASE = 8.0  # functions that nodes are tried on: their coefficients fall to 10^-BASE
TRIED = 2  # functions that nodes are tried on


class Attempt(NamedTuple):
    """A series that was solved for."""

    recipe: Chebyshev
    equation: Equation  # with the finer nodes
    u: Field
    residual: float  # the largest relative residual; infinite where it is not a number
    solved: Solved
    nodes_error: float  # of the integrals, as a share of the integral of |g|
    error: float  # of u, estimated, as a share of u
    intervals: Mapping[str, tuple[float, float]]  # of learned scalars, where there are data
    seconds: float
    regularized: float | None = None  # the directions that determine u, where the equation is of the first kind and the others do not

    @property
    def is_determined(self) -> bool:
        """False where functions that differ much satisfy the equation."""
        return self.error <= UNDETERMINED or self.regularized is not None

    def is_better_than(self, other: "Attempt") -> bool:
        """True where it is determined and the other is not, or else its residual is smaller."""
        if self.is_determined != other.is_determined:
            return self.is_determined and self.residual <= max(other.residual, STILL_GOOD)
        return self.residual < other.residual


def attempts(equation: Equation, recipe: Chebyshev, rule: AbstractRule, target: float, enough: float) -> Iterator[Attempt]:
    """Series for an equation until one has a relative residual of at most `target`: of growing degree, then on other axes.

    The recipe is fitted to the frame of the equation. With a degree of its own it is the only one. Where one kind of axes ends at `enough`,
    no other is tried.
    """
    best, before = np.inf, list[float]()  # the residuals of the best kind so far, by degree
    for kind, own_equation in kinds_of(recipe, equation):
        if best <= enough:
            return
        last: Attempt | None = None
        own = list[float]()
        for series in degrees_of(kind, equation.inputs):
            attempt = attempted(own_equation, series, rule, last)
            own.append(attempt.residual)
            best = min(best, attempt.residual if attempt.is_determined else np.inf)
            yield attempt
            if not attempt.is_determined and attempt.residual <= target:
                break  # it satisfies the equation, which leaves it open: another kind, or another domain, may not
            if attempt.regularized is not None and (attempt.residual <= STILL_GOOD or equation.sigma is not None):
                return  # more coefficients are not determined either
            is_costly = best <= GOOD_ENOUGH < enough and np.prod(series.degrees(equation.inputs)) > COSTLY
            if attempt.residual <= target or is_costly:
                return
            if attempt.nodes_error > UNUSABLE or (last is not None and attempt.residual > STALLED * last.residual):
                break
            if equation.inputs > 1 and len(before) >= len(own) and own[-1] > before[len(own) - 1]:
                break  # the other kind was better at this size, and large series on many axes take long
            last = attempt
        before = own if not before or min(own) < min(before) else before


def degrees_of(recipe: Chebyshev, inputs: int) -> list[Chebyshev]:
    """The recipe with the degrees that are tried."""
    if recipe.degree is not None:
        return [recipe.with_degree(recipe.degrees(inputs))]
    if inputs == 1 and isinstance(recipe.axes[0], Pieces):
        pieces = len(recipe.axes[0].edges) - 1
        return [recipe.with_degree((degree,)) for degree in PIECEWISE if degree == PIECEWISE[0] or pieces * degree <= MOST_IN_PIECES]
    return [recipe.with_degree((degree,) * inputs) for degree in GROWTH.get(inputs, (4,))]


def kinds_of(recipe: Chebyshev, equation: Equation) -> Iterator[tuple[Chebyshev, Equation]]:
    """The recipe, then in pieces, with axes for solutions that are singular at the ends, and with other scales on infinite axes; each with
    the equation on the domain where it is taken to hold."""
    yield recipe, equation
    if recipe.degree is not None:
        return
    if len(recipe.axes) == 1 and isinstance(ray := recipe.axes[0], Ray) and isinstance(equation.law, Interval) and equation.f is not None:
        # u is evaluated beyond the domain, where only the same equation can determine it.
        beyond = Exponential(ray.end, ray.scale) if ray.to_the_right else Normal(ray.end - ray.scale, ray.scale)
        equation = equation.with_parts(equation.integrals, equation.conditions, beyond)
        yield recipe, equation
    if len(recipe.axes) == 1 and isinstance(segment := recipe.axes[0], Segment):
        cuts = cuts_of(equation, segment.low, segment.high)
        if cuts:
            yield recipe.on((Pieces((segment.low, *cuts, segment.high)),)), equation
    infinite = [measure for measure in measures_of(equation) if not all(base.has_end for base in measure.bases)]
    on_infinite = (_growing, _longer, _shorter) if all(measure.is_finite for measure in infinite) else (_falling, _longer, _shorter)
    for change in (*on_infinite, _clustered):
        axes = tuple(map(change, recipe.axes))
        if axes != recipe.axes:
            yield recipe.on(axes), equation


def _growing(axis: AbstractAxis) -> AbstractAxis:
    return Ray(axis.end, axis.scale, 0, axis.to_the_right, GROWTH_RATE / axis.scale) if isinstance(axis, Ray) else axis


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
    cuts, own = tuple[float, ...](), len(equation.conditions)
    if len(recipe.axes) == 1 and isinstance(axis := recipe.axes[0], Pieces):
        equation, cuts = joined(equation, axis), axis.edges[1:-1]
    network = recipe.build(equation.inputs, equation.outputs, jax.random.key(0))
    unknowns = {name: jnp.asarray(value, float) for name, value in equation.unknowns.items()}
    skeleton = Field(network, unknowns, equation.inputs, equation.outputs)
    found = nodes_of(equation, skeleton, rule, cuts)
    parts: Sequence[AbstractResidual] = (equation, *equation.conditions)
    work = [one.on(part) for one, part in zip(found, parts, strict=True)]
    size = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(skeleton, eqx.is_inexact_array)))
    counts = int(OVERSAMPLED.get(equation.inputs, 1.0) * (max(recipe.degrees(equation.inputs)) + 2))
    blocks = blocks_of(equation, work, rule, counts, 3 * size, recipe.axes)
    system = System(blocks, skeleton)
    solved = _from_starts(system, skeleton, equation, last)
    finer: list[Any] = [one.on(part, finer=True) for one, part in zip(found, parts, strict=True)]
    check = System(blocks_of(equation, finer, rule, counts + MORE_CHECKS, 3 * size, recipe.axes), skeleton)
    u, points = system.field(solved.parameters), places_of(equation, blocks[0])
    nodes_error = max((one.error for one in found), default=0.0)
    error = math.hypot(estimated_error(check, solved.parameters, u, points), nodes_error)
    regular = _if_ill_posed(system, equation, solved, error)
    if regular is not None:
        solved, u = solved._replace(parameters=regular.parameters), system.field(regular.parameters)
        error = _spread_of(regular, u, points)
    return Attempt(
        recipe,
        equation.with_parts(finer[0].integrals, finer[1 : 1 + own]),
        u,
        check.relative_residual(solved.parameters),
        solved,
        nodes_error,
        error,
        intervals_of_unknowns(system, solved.parameters, equation),
        time.perf_counter() - begin,
        None if regular is None else regular.seen,
    )


def _if_ill_posed(system: System, equation: Equation, solved: Solved, error: float) -> Regularized | None:
    """The most probable series, where the equation is of the first kind, affine, and leaves much open; None elsewhere."""
    is_noisy = equation.sigma is not None
    if not solved.is_affine or equation.unknowns or not is_of_first_kind(equation) or (error <= ILL_POSED and not is_noisy):
        return None
    rows, slopes = system(np.zeros_like(solved.parameters))
    block = system.blocks_of_rows()
    largest = np.array([np.max(np.abs(rows[block == number])) for number in block])
    noise = ROUNDING * np.finfo(float).eps * np.maximum(largest, 1e-3 * np.max(np.abs(rows)))
    if equation.sigma is not None:
        noise[block == 0] = np.maximum(noise[block == 0], equation.sigma * system.scale_of(0))
    network = system.field(solved.parameters).network
    assert isinstance(network, Series)
    orders = np.tile(network.orders().sum(axis=1), network.coefficients.shape[0])
    return regularized(rows, slopes, noise, orders)


def _spread_of(regular: Regularized, u: Field, points: Float[Array, "n d"]) -> float:
    """Two standard deviations of u in the root mean square, as a share of u."""
    network = u.network
    assert isinstance(network, Series)
    deviation = np.sqrt(np.mean(np.sum(_values_of(network, regular.spread.T, points) ** 2, axis=0)))
    return float(2 * deviation / (np.sqrt(np.mean(np.asarray(jax.vmap(network)(points)) ** 2)) or 1.0))


def _values_of(network: Series, coefficients: np.ndarray, points: Float[Array, "n d"]) -> np.ndarray:
    """The values (k, n m) at these points of series with these coefficients (k, m p)."""

    def at(one: Float[Array, "_"]) -> Float[Array, "_"]:
        return jax.vmap(eqx.tree_at(lambda u: u.coefficients, network, one.reshape(network.coefficients.shape)))(points).ravel()

    return np.asarray(jax.vmap(at)(jnp.asarray(coefficients)))


def estimated_error(check: System, theta: np.ndarray, u: Field, points: Float[Array, "n d"]) -> float:
    """The error of u in the root mean square, as a share of u: from one more Newton step on rows that the solve has not used, with other
    points and nodes, and from the last coefficients, which show what the class of functions leaves out."""
    rows, slopes = check(theta)
    if not (np.isfinite(rows).all() and np.isfinite(slopes).all()):
        return np.inf
    rounding = np.finfo(float).eps * float(np.linalg.norm(np.abs(slopes) @ np.abs(theta)))
    known = Decomposed.of(slopes)
    step, dropped = known.regularized(rows, rounding)
    network = u.network
    assert isinstance(network, Series)
    parts = (network, check.field(step).network, network.last(), network.last(before=1))
    size, correction, last, before = (float(np.sqrt(np.mean(np.asarray(jax.vmap(part)(points)) ** 2))) for part in parts)
    left_out = last * min(1.0, max(FASTEST, last / before if before > 0 else 1.0))  # as much as the next coefficients, if they fall on
    free = _left_free(check, theta, known.right[len(known.right) - dropped :] / known.columns, points) if dropped else 0.0
    return SAFETY * math.hypot(correction, left_out, free) / (size or 1.0) + np.finfo(float).eps


def _left_free(check: System, theta: np.ndarray, directions: np.ndarray, points: Float[Array, "n d"]) -> float:
    """How much u may change at these points along directions that the rows do not determine, if its coefficients have the sizes of those
    found."""
    network = check.field(theta).network
    assert isinstance(network, Series)
    c = np.abs(np.asarray(network.coefficients))
    order = np.argsort(network.orders().sum(axis=1), kind="stable")
    envelope = np.zeros_like(c)
    envelope[:, order] = np.maximum.accumulate(c[:, order][:, ::-1], axis=1)[:, ::-1]
    own = directions[:, : c.size] / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), np.finfo(float).tiny)
    sizes = np.sqrt(np.mean(_values_of(network, own, points) ** 2, axis=1))
    return float(np.linalg.norm((np.abs(own) @ envelope.ravel()) * sizes))


def places_of(equation: Equation, block: Block) -> Float[Array, "n d"]:
    """Points at which errors of u are averaged: those of the evaluation, else those of the rows, else the middle of the frame."""
    if equation.evaluation is not None:
        return equation.evaluation.points(NORM_POINTS)
    points = network_point(block.points)
    return jnp.zeros((1, equation.inputs)) if points is None else points


def nodes_of(equation: Equation, skeleton: Field, rule: AbstractRule, cuts: tuple[float, ...] = ()) -> list[Accurate]:
    """Nodes for the integrals of the equation and of each condition; intervals are cut where u is."""
    found = []
    for index, residual in enumerate((equation, *equation.conditions)):
        if isinstance(rule, Resolved):
            nodes = accurate(residual, trials(skeleton), sample_of(residual, jax.random.fold_in(jax.random.key(9), index)), cuts)
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
    orders = network.orders()
    order = np.sum(orders / np.maximum(orders.max(axis=0), 1), axis=1)
    found = []
    for number in range(TRIED):
        c = np.random.default_rng(number).normal(size=network.coefficients.shape) * 10.0 ** (-decades * order)
        c *= 0.5 / np.sum(np.abs(c), axis=1, keepdims=True)
        c[:, order == 0] += 1.0
        found.append(eqx.tree_at(lambda u: u.network.coefficients, skeleton, jnp.asarray(c, network.coefficients.dtype)))
    return found


def _from_starts(system: System, skeleton: Field, equation: Equation, last: Attempt | None) -> Solved:
    """Newton's method from the last series, or from 0 and where the equation is not affine from other functions too."""
    if last is not None and not last.solved.is_affine and last.residual < PROMISING:
        return solve_rows(system, _prolonged(system, skeleton, last), FEW_ITERATIONS)
    zero = np.asarray(system.start, float)
    best = solve_rows(system, zero)
    if best.is_affine:
        return best
    for start in _starts(system, skeleton, equation):
        if best.residual < FOUND:
            break
        other = solve_rows(system, start)
        best = other if other.residual < 0.5 * best.residual else best
    return best


def _starts(system: System, skeleton: Field, equation: Equation) -> Iterator[np.ndarray]:
    """Functions to begin with: with learned scalars the one that nearly solves the homogeneous equation for their first values, as in
    inverse iteration; constants; smooth waves."""
    network = skeleton.network
    assert isinstance(network, Series)
    count = network.coefficients.size
    if equation.unknowns:
        _, slopes = system(np.asarray(system.start, float))
        free = slopes[:, :count]
        if np.isfinite(free).all():
            known = Decomposed.of(free)
            c = (known.right[-1] / known.columns).reshape(network.coefficients.shape)
            nearly = eqx.tree_at(lambda u: u.coefficients, network, jnp.asarray(c / np.max(np.abs(c))))
            for sign in (_sign_of(nearly), -_sign_of(nearly)):
                yield system.flat(eqx.tree_at(lambda u: u.network.coefficients, skeleton, sign * nearly.coefficients))
    constant = network.orders().sum(axis=1) == 0
    for value in _constants(equation):
        yield system.flat(
            eqx.tree_at(lambda u: u.network.coefficients, skeleton, jnp.zeros_like(network.coefficients).at[:, constant].set(value))
        )
    for decades in (WAVES, LARGE_WAVES):
        for trial in trials(skeleton, decades):
            yield system.flat(trial)
            yield system.flat(eqx.tree_at(lambda u: u.network.coefficients, trial, -trial.network.coefficients))


def _sign_of(network: Series) -> float:
    """The sign with which a function is positive where its coordinates are small, if it has one: the usual choice for eigenfunctions."""
    s = np.random.default_rng(0).uniform(-1, 1, (256, len(network.axes)))
    points = np.stack([axis.coordinate(column) for axis, column in zip(network.axes, s.T, strict=True)], axis=1)
    values = np.asarray(jax.vmap(network)(jnp.asarray(points)))[:, 0]
    return 1.0 if float(np.sum(values * np.prod(1 - s, axis=1))) >= 0 else -1.0


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
    before, place = old.labels(), {label: index for index, label in enumerate(new.labels())}
    kept = [(index, place[label]) for index, label in enumerate(before) if label in place]
    c = np.zeros(new.coefficients.shape)
    c[:, [at for _, at in kept]] = np.asarray(old.coefficients)[:, [index for index, _ in kept]]
    u = Field(eqx.tree_at(lambda s: s.coefficients, new, jnp.asarray(c)), last.u.unknowns, skeleton.inputs, skeleton.outputs)
    return system.flat(u)
