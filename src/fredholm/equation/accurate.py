"""Integrals to rounding error: finds nodes for which the integrals of a residual no longer change."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fredholm.common.compiling import compiled_once
from fredholm.domains.base import AbstractDomain, Nodes
from fredholm.domains.flat import Interval
from fredholm.domains.graded import Algebraic, Graded
from fredholm.domains.unbounded import HalfLine, Line
from fredholm.equation.residual import AbstractResidual, Integral, Place
from fredholm.functions.field import Field
from fredholm.rules.base import AbstractRule
from fredholm.rules.gauss import Gauss
from fredholm.rules.resolved import graded_levels, levels

PLACES = 12  # points x at which candidates are compared
ENOUGH = 100  # an error of so many units of rounding is resolved
FINER = 2  # nodes that check others are at least this many times as many
GAP = 8  # the nodes of a graded interval stay this many roundings inside of it
ALGEBRAIC, INFINITE = -1, (24, 48, 96, 192)
PIECES = 2  # an axis may be singular in its middle


class Candidate(NamedTuple):
    """Nodes for one integral: how the measure is cut and mapped, and the rule on each part."""

    cut: int | None  # the coordinate of x at which an interval is cut, or None
    pieces: int  # of graded nodes on each axis; 0: the measure as it is; ALGEBRAIC: by the algebraic map of an infinite axis
    rule: AbstractRule
    cuts: tuple[float, ...] = ()  # places at which an interval is cut whatever x is

    def parts(self, integral: Integral) -> list[Integral]:
        """The integral with these nodes, as one or two integrals."""

        def measure_of(side: int) -> Any:
            def over(x: Place) -> AbstractDomain:
                measure = integral.measure(x)
                if isinstance(measure, Interval) and (count > 1 or self.pieces):
                    low, high = jnp.asarray(measure.low, float), jnp.asarray(measure.high, float)
                    if count > 1:
                        own = [x[self.cut]] if self.cut is not None and isinstance(x, jax.Array) else []
                        inner = jnp.sort(jnp.clip(jnp.stack([*own, *map(jnp.asarray, self.cuts)]).astype(low.dtype), low, high))
                        edges = jnp.concatenate([low[None], inner, high[None]])
                        low, high = edges[side], edges[side + 1]
                    # A little inside, so that no node of a singular integrand is rounded to the end.
                    gap = jnp.where(self.pieces > 0, GAP * jnp.finfo(low.dtype).eps * jnp.maximum(jnp.abs(low), jnp.abs(high)), 0.0)
                    gap = jnp.minimum(gap, 0.25 * (high - low))
                    measure = Interval(low + gap, high - gap)
                if self.pieces == ALGEBRAIC and isinstance(measure, (HalfLine, Line)):
                    return Algebraic(measure)
                return Graded(measure, self.pieces) if self.pieces else measure

            return over

        count = self.count
        return [Integral(measure_of(side), integral.g, self.rule, at=integral.at) for side in range(count)]

    @property
    def count(self) -> int:
        """The number of parts."""
        return 1 + len(self.cuts) + (self.cut is not None)


class Accurate(eqx.Module):
    """The integrals of a residual with nodes of their own."""

    integrals: tuple[Integral, ...]  # with enough nodes for the functions they were tried on
    finer: tuple[Integral, ...]  # with more nodes, or with others: to check the result
    error: float  # the largest change of an integral between the two, as a share of the integral of |g|

    def on(self, residual: AbstractResidual, finer: bool = False) -> AbstractResidual:
        """The residual with these integrals."""
        return eqx.tree_at(lambda one: one.integrals, residual, self.finer if finer else self.integrals, is_leaf=lambda one: one is None)


def accurate(residual: AbstractResidual, fields: Sequence[Field], places: Any, cuts: tuple[float, ...] = ()) -> Accurate | None:
    """Nodes for every integral of the residual, tried on these u at these stacked points x; None where a measure allows no fixed nodes.

    An integral that has a rule of its own keeps it. Gauss on the measure as it is comes first, since that is nearly always enough.
    Intervals are cut at `cuts`, where u is not smooth.
    """
    if not residual.integrals:
        return Accurate((), (), 0.0)
    first = _compared(residual, fields, places, cuts, is_first=True)
    enough = ENOUGH * np.finfo(np.dtype(jnp.result_type(float))).eps
    return first if first is not None and first.error <= 10 * enough else _compared(residual, fields, places, cuts, is_first=False)


def _compared(residual: AbstractResidual, fields: Sequence[Field], places: Any, cuts: tuple[float, ...], is_first: bool) -> Accurate | None:
    """The best of the candidates; with `is_first` only of the plainest kind."""
    x = jax.tree.map(lambda leaf: leaf[0], places)
    kinds = [_kinds(integral, x, cuts)[: 1 if is_first else None] for integral in residual.integrals]
    if any(not own for own in kinds):
        return None
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(eqx.filter(u, eqx.is_array) for u in fields))
    static = eqx.filter(fields[0], eqx.is_array, inverse=True)

    @compiled_once
    def compute(arrays: Any, places: Any) -> list[tuple[list[list[Array]], Array]]:
        def at_one(arrays: Any, x: Place) -> list[tuple[list[list[Array]], Array]]:
            u = eqx.combine(arrays, static)
            return [_values(integral, own, u, x) for integral, own in zip(residual.integrals, kinds, strict=True)]

        return jax.vmap(lambda one: jax.vmap(lambda x: at_one(one, x))(places))(arrays)

    found = [_chosen(own, *values) for own, values in zip(kinds, compute(stacked, places), strict=True)]
    pairs = zip(residual.integrals, found, strict=True)
    work, check = zip(*((one.parts(integral), other.parts(integral)) for integral, (one, other, _) in pairs), strict=True)
    return Accurate(
        tuple(part for parts in work for part in parts),
        tuple(part for parts in check for part in parts),
        max((error for *_, error in found), default=0.0),
    )


def _kinds(integral: Integral, x: Place, places: tuple[float, ...]) -> list[list[Candidate]]:
    """The kinds of nodes that suit an integral, each with growing numbers of nodes."""
    measure = integral.measure(x)
    if integral.rule is not None:
        return [[Candidate(None, 0, integral.rule)]]
    if measure.samples is not None:
        return []
    cuts: list[int | None] = [None]
    own = places if isinstance(measure, Interval) else ()
    if isinstance(measure, Interval) and isinstance(x, jax.Array):
        cuts += range(x.shape[0])
    found = []
    for cut in cuts:
        found.append([Candidate(cut, 0, rule, own) for rule in levels(measure)])
        for pieces in range(1, PIECES + 1 if cut is None else 2):
            found.append([Candidate(cut, pieces, rule, own) for rule in graded_levels(Graded(measure, pieces))])
    if isinstance(measure, (HalfLine, Line)):
        found.append([Candidate(None, ALGEBRAIC, Gauss(n)) for n in INFINITE])
    return [kind for kind in found if kind]


def _values(integral: Integral, kinds: Sequence[Sequence[Candidate]], u: Field, x: Place) -> tuple[list[list[Array]], Array]:
    """The integral at one x by every candidate, and the integral of |g|. The integrand is traced once for all nodes."""
    drawn = [[_nodes(candidate, integral, x) for candidate in kind] for kind in kinds]
    everything = [nodes for kind in drawn for nodes in kind]
    points = jax.tree.map(lambda *parts: jnp.concatenate(parts), *(nodes.points for nodes in everything))
    values = jax.vmap(lambda t: integral.integrand(u, x, t))(points)
    pieces = iter(_split(values, [len(nodes.weights) for nodes in everything]))
    sums, sizes = [], []
    for kind in drawn:
        own = []
        for nodes in kind:
            value = next(pieces)
            # A node of weight 0 may lie where g is not finite.
            weighted = jnp.where(nodes.weights[:, None] == 0, 0.0, value * nodes.weights[:, None])
            own.append(jnp.sum(weighted, axis=0))
            sizes.append(jnp.max(jnp.sum(jnp.abs(weighted), axis=0)))
        sums.append(own)
    # The median: a candidate with bad nodes may be far off.
    return sums, jnp.nanmedian(jnp.where(jnp.isfinite(jnp.stack(sizes)), jnp.stack(sizes), jnp.nan))


def _nodes(candidate: Candidate, integral: Integral, x: Place) -> Nodes:
    """All nodes of a candidate at one x."""
    key = jax.random.key(0)
    parts = [part.rule.nodes(part.measure(x), key) for part in candidate.parts(integral) if part.rule is not None]
    points = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *(part.points for part in parts))
    return Nodes(points, jnp.concatenate([part.weights for part in parts]))


def _split(values: Float[Array, "k e"], sizes: Sequence[int]) -> Iterator[Float[Array, "_ e"]]:
    start = 0
    for size in sizes:
        yield values[start : start + size]
        start += size


def _chosen(kinds: Sequence[Sequence[Candidate]], sums: list[list[Array]], size: Array) -> tuple[Candidate, Candidate, float]:
    """The candidate with the fewest nodes that agrees with the best one, a finer one to check it, and how far it is from the best."""
    scale = np.maximum(np.max(np.asarray(size), axis=1, keepdims=True), np.finfo(float).tiny)[..., None]  # over x, for each u

    def apart(one: Array, other: Array) -> float:
        with np.errstate(invalid="ignore"):
            difference = np.abs(np.asarray(one) - np.asarray(other)) / scale
        return float(np.max(difference)) if np.isfinite(difference).all() else np.inf

    candidates = [(candidate, value) for kind, own in zip(kinds, sums, strict=True) for candidate, value in zip(kind, own, strict=True)]
    if len(candidates) == 1:
        return candidates[0][0], candidates[0][0], 0.0
    # The change from the last number of nodes but one to the last says how good a kind of nodes is.
    changes = [apart(own[-1], own[-2]) if len(own) > 1 else np.inf for own in sums]
    best = int(np.argmin(changes))
    reference, truth = kinds[best][-1], sums[best][-1]
    enough = max(ENOUGH * np.finfo(np.asarray(truth).dtype).eps, 3 * changes[best])
    errors = [apart(value, truth) for _, value in candidates]
    counts = [_cost(candidate) for candidate, _ in candidates]
    fitting = [index for index, error in enumerate(errors) if error <= enough]
    index = min(fitting, key=lambda one: counts[one]) if fitting else int(np.argmin(errors))
    others = [candidates[one][0] for one in sorted(fitting, key=lambda one: counts[one]) if counts[one] >= FINER * counts[index]]
    return candidates[index][0], next(iter(others), reference), max(errors[index], changes[best])


def _cost(candidate: Candidate) -> int:
    """An order of candidates by their nodes."""
    return int(getattr(candidate.rule, "n", 1)) * candidate.count * max(candidate.pieces, 1)


def sample_of(residual: AbstractResidual, key: Key[Array, ""], places: int = PLACES) -> Any:
    """Points x at which candidates are compared."""
    return jax.vmap(residual.law.sample)(jax.random.split(key, places))
