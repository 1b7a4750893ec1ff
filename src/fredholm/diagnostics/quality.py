"""How good an answer is where the truth is not known: residuals relative to the terms that should cancel in them."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from fredholm.common.compiling import filter_compiled_once
from fredholm.diagnostics.kinks import kinks
from fredholm.diagnostics.moments import Moments, moments
from fredholm.domains.base import Nodes, Place
from fredholm.equation.conditions import Data
from fredholm.equation.equation import Equation
from fredholm.equation.estimate import draw, draw_pairs, weighted_integrand
from fredholm.equation.probe import measures_of, probe_points
from fredholm.equation.reference import independent_rules, reference_rules
from fredholm.equation.residual import AbstractCondition, AbstractResidual, network_point
from fredholm.functions.constrained import Formed
from fredholm.functions.field import Field
from fredholm.rules.base import AbstractRule

LARGE = 0.05  # a residual above this share of its terms is said loudly: u is not a solution
POINTS = 256  # points x of each residual
TOGETHER = 32  # points that are evaluated at once
FINE, COARSE = (64, 24), (48, 16)  # nodes of fixed rules on one axis, and on each of two; the two rules' difference shows their error
SAFETY = 3.0  # the error of the fine rule is at most this many times the difference, also where it falls only as 1/n
NET = 512  # nodes of each of two independent estimates, where fixed nodes do not fit or do not converge
MANY, FEWER = 20, 32  # where u has more inputs than this, a pass through the network is dear: so many nodes, as unbiased
TRUSTED, NOTHING = 0.3, 1e-4  # fixed nodes are trusted where their error is below this share of the residual, or of the terms
PIECES = 8  # parts of the domain along each axis
MASKS = 3  # ways in which some of the axes of u are frozen


class Region(NamedTuple):
    """A part of the points, by one of their coordinates: each eighth in order."""

    axis: int  # the coordinate
    low: float  # its range
    high: float
    residual: float  # the relative residual in this part of the domain, against the terms there


class Quality(eqx.Module):
    r"""How well a function u satisfies an equation. For each equation, over its domain in the root mean square,

    $$\frac{\|r\|}{\|f\| + \sum_k \|\int g_k\| + \|y\|},$$

    which is 0 for a solution, and 1 where nothing cancels. It needs no exact solution. It is not an error of u: an equation may amplify a
    small residual, or have several solutions.

    - The integrals come from fine fixed nodes, which are compared with coarser ones; where these do not converge, or there are many axes,
      $\|r\|^2$ is a mean of products of two independent estimates, which is unbiased. `uncertainty` says what the integrals leave open.
    - f is a black box, and may be a sum that cancels, as in $u'' + u = 0$. So $\|f\|$ is the largest of f[u] and of f with some of the
      derivatives switched off or halved: u is then replaced by $p \mapsto u(x + S (p - x))$ with a diagonal S between 0 and 1.
    - In weak form $\|\int g_k\|$ is the norm of $\int |g_k|$: there the integral itself may be 0.
    - A condition $B[u] = b$ is off by $\|B[u] - b\|$, relative to $\|b\|$ and to $B[u]$ on the condition's points and on the whole domain:
      a condition u(0) = 0 is compared with the size of u.
    """

    equations: tuple[float, ...]  # the relative residual of each equation; NaN where a single given sample allows no estimate
    conditions: tuple[float, ...]  # of each condition without data
    data: tuple[float, ...]  # of each `Data`: its noise is a part of it
    uncertainty: float  # how much of the largest of `equations` may come from the integrals, at twice the standard error
    regions: tuple[Region, ...] = ()  # eighths of the points, from early to late, along each axis; empty where x is no point
    moments: Moments | None = None  # of the residual on given rows, where `equations` is NaN
    kinks: str = ""  # why the residual means nothing, where a form has kinks that its derivatives do not see

    @property
    def residual(self) -> float:
        """The largest relative residual of the equations."""
        return max(self.equations)

    @property
    def known(self) -> float:
        """The residual; where it is NaN and the moments on given rows show that it is not 0, the part of it that they see."""
        return self.moments.relative if self.moments is not None and self.moments.is_wrong else self.residual

    @property
    def worst(self) -> float:
        """The largest of all known relative residuals, besides that of data. NaN where that of the equation is not known."""
        return self.known if math.isnan(self.known) else max(self.known, *self.conditions, 0.0)


def quality(equation: Equation, u: Field, has_rules: bool = False) -> Quality:
    """How well u satisfies an equation and its conditions, in the present precision. With `has_rules` every integral has a rule of its own
    that is known to be accurate."""
    return qualities([equation], [u], has_rules)[0]


def qualities(equations: Sequence[Equation], fields: Sequence[Field], has_rules: bool = False) -> list[Quality]:
    """The same for several seeds, each with its equation and its u: they must differ in their arrays only, and are compiled once."""
    measures = [_Measure(equations[0], number, has_rules) for number in range(1 + len(equations[0].conditions))]
    is_data = [isinstance(condition, Data) for condition in equations[0].conditions]
    found = []
    for equation, u in zip(equations, fields, strict=True):
        own, *others = (measure(equation, u) for measure in measures)
        worst = [max(one.shares) for one in others]
        conditions, data = (tuple(w for w, is_one in zip(worst, is_data, strict=True) if is_one == kind) for kind in (False, True))
        seen = moments(equation, u) if any(map(math.isnan, own.shares)) else None
        unseen = kinks(equation, u) if isinstance(u.network, Formed) else ""
        found.append(Quality(own.shares, conditions, data, own.uncertainty, own.regions, seen, unseen))
    return found


Values = np.ndarray | Array  # on the device, and then on the host


class _Values(NamedTuple):
    """The parts of a residual at n points."""

    residual: Float[Values, "n 2 e"]  # by two rules
    local: Float[Values, "n s e"]  # f − y, with u itself and with its derivatives partly switched off
    zero: Float[Values, "n e"]  # the same with u = 0
    elsewhere: Float[Values, "n e"]  # of a condition: what u adds to it at points of the domain
    inside: Float[Values, "n k e"]  # the size of each integral
    point: Float[Values, "n d"]  # x; NaN where x is no point


class _Found(NamedTuple):
    """The measured residual of an equation or a condition."""

    shares: tuple[float, ...]  # the relative residual of each equation
    uncertainty: float  # of the largest
    regions: tuple[Region, ...] = ()


class _Measure:
    """Measures one residual, the equation (number 0) or a condition, for one seed after the other."""

    def __init__(self, like: Equation, number: int, has_rules: bool):
        residual = _part(like, number)
        self._number, self._net = number, NET if like.inputs <= MANY else FEWER
        self._fixed: tuple[Sequence[AbstractRule], Sequence[AbstractRule]] | None
        if has_rules:
            rules = [integral.rule for integral in residual.integrals if integral.rule is not None]
            self._fixed = (rules, rules)
        else:
            fine, coarse = (reference_rules(residual, gauss=gauss, net=self._net) for gauss in (FINE, COARSE))
            is_given = any(measure.samples is not None for measure in measures_of(residual))
            self._fixed = None if is_given or any(rule.is_random for rule in fine) else (fine, coarse)
        self._others = None if number == 0 else probe_points(like, POINTS)
        self._like, self._programs = like, dict[bool, Callable[[PyTree], _Values]]()

    def __call__(self, equation: Equation, u: Field) -> _Found:
        """The relative residual of each of its equations, and the uncertainty of the largest."""
        best = None if self._fixed is None else self._by(True, equation, u)
        if best is None or best.uncertainty > max(TRUSTED * max(best.shares), NOTHING):
            try:
                other = self._by(False, equation, u)
            except ValueError:  # a single given sample at each x
                return best or _Found((math.nan,), math.nan)
            best = other if best is None or other.uncertainty < best.uncertainty else best
        return best

    def _by(self, is_fixed: bool, equation: Equation, u: Field) -> _Found:
        arrays, static = eqx.partition((equation, u), eqx.is_array)
        if is_fixed not in self._programs:
            self._programs[is_fixed] = self._program(is_fixed, static)
        values = self._programs[is_fixed](arrays)
        return _Found(*_shares(values, is_fixed), _regions(values, is_fixed) if self._number == 0 else ())

    def _program(self, is_fixed: bool, static: PyTree) -> Callable[[PyTree], _Values]:
        number, others = self._number, self._others
        like = _part(self._like, number)
        if is_fixed:
            assert self._fixed is not None
            first, second = self._fixed
        else:
            first = second = independent_rules(like, net=self._net)

        def compute(arrays: PyTree) -> _Values:
            equation, u = eqx.combine(arrays, static)
            residual = _part(equation, number)
            of_points, of_nodes = jax.random.split(jax.random.fold_in(jax.random.key(18), number))
            if isinstance(residual, AbstractCondition) and residual.batch is None:
                points = residual.points(POINTS, first, of_points)  # all rows of data
            else:
                points = jax.vmap(residual.law.sample)(jax.random.split(of_points, POINTS))
            count = len(jax.tree.leaves(points)[0])
            rows = jnp.arange(max(count, POINTS))  # a condition at one point is compared with the whole domain
            points = jax.tree.map(lambda leaf: jnp.asarray(leaf)[rows % count], points)
            places = None if others is None else others[rows % len(others)]

            def at_one_point(drawn: tuple[Place, Array | None, Key[Array, ""]]) -> _Values:
                return _at_one_point(residual, u, first, second, is_fixed, *drawn)

            return jax.lax.map(at_one_point, (points, places, jax.random.split(of_nodes, len(rows))), batch_size=TOGETHER)

        return filter_compiled_once(compute)


def _at_one_point(
    residual: AbstractResidual,
    u: Field,
    first: Sequence[AbstractRule],
    second: Sequence[AbstractRule],
    is_fixed: bool,
    x: Place,
    place: Float[Array, "d"] | None,
    key: Key[Array, ""],
) -> _Values:
    nothing = Field(lambda p: jnp.zeros((u.outputs,), p.dtype), u.unknowns, u.inputs, u.outputs)
    zero = residual.local_residual(nothing, x)
    local = jnp.stack([residual.local_residual(one, x) for one in _switched(residual, u, x)])
    pair = (draw(residual, first, x, key), draw(residual, second, x, key)) if is_fixed else draw_pairs(residual, first, second, x, key)
    totals, sizes = zip(*(_integrals(residual, u, x, nodes) for nodes in pair), strict=True)
    both = jnp.stack([local[0] + residual.sign * total for total in totals])
    elsewhere = jnp.zeros_like(zero)
    if place is not None:
        moved = _moved(x, place)
        elsewhere = residual.local_residual(u, moved) - residual.local_residual(nothing, moved)
    shape = both.shape[1:]
    inside = jnp.stack([jnp.broadcast_to(size, shape) for size in sizes[0]]) if sizes[0] else jnp.zeros((1, *shape))
    at = network_point(x)
    point = at if isinstance(at, jax.Array) and at.shape == (u.inputs,) else jnp.full((1,), jnp.nan)  # a map in batches refuses size 0
    return _Values(both, local, zero, elsewhere, inside, point)


def _integrals(residual: AbstractResidual, u: Field, x: Place, nodes: Sequence[Nodes]) -> tuple[Float[Array, "e"], list[Float[Array, "e"]]]:
    """The sum of the integrals, and the size of each: its value, and in weak form the integral of |g|."""
    terms = [weighted_integrand(integral, u, x, one) for integral, one in zip(residual.integrals, nodes, strict=True)]
    values = [jnp.sum(term, axis=0) for term in terms]
    sizes = [jnp.sum(jnp.abs(term), axis=0) for term in terms] if residual.is_weak else values
    return sum(values, jnp.zeros((1,))), sizes


def _switched(residual: AbstractResidual, u: Field, x: Place) -> list[Field]:
    """u, and u with its derivatives at x switched off, halved, and left along some axes only."""
    center = network_point(x)
    if residual.is_weak or not isinstance(center, jax.Array) or center.shape != (u.inputs,):
        return [u]
    axes = u.inputs
    masks = np.eye(axes) if axes <= MASKS else np.random.default_rng(0).permuted(np.tile(np.arange(axes) % 2, (MASKS, 1)), axis=1)
    kept = [np.zeros(axes), np.full(axes, 0.5), *(masks if axes > 1 else [])]

    def along(some: np.ndarray) -> Field:
        return Field(lambda p: u.network(center + jnp.asarray(some, p.dtype) * (p - center)), u.unknowns, u.inputs, u.outputs)

    return [u, *map(along, kept)]


def _shares(values: _Values, is_fixed: bool) -> tuple[tuple[float, ...], float]:
    """The norm of the residual over the norms of its terms, and what the integrals leave open in the largest of them."""
    one, other = np.moveaxis(np.asarray(values.residual, float), 1, 0)
    product = one**2 if is_fixed else one * other
    square = product.mean(axis=0)
    norm = np.sqrt(np.maximum(square, 0.0))
    if is_fixed:
        unresolved = SAFETY * _norm(one - other)
    else:
        unresolved = np.sqrt(np.maximum(square, 0.0) + 2 * product.std(axis=0) / math.sqrt(len(product))) - norm
    zero = np.nan_to_num(np.asarray(values.zero, float), posinf=0.0, neginf=0.0)  # f may not be defined for u = 0
    added = np.max(_norm(np.asarray(values.local, float) - zero[:, None]), axis=0)
    terms = _norm(zero) + np.maximum(added, _norm(values.elsewhere)) + np.sum(_norm(values.inside), axis=0)
    shares, left = (np.divide(part, terms, out=np.zeros_like(norm), where=terms > 0) for part in (norm, unresolved))
    return tuple(shares.tolist()), float(left[np.argmax(shares)])


def _regions(values: _Values, is_fixed: bool) -> tuple[Region, ...]:
    """The relative residual in each part of the points, by each coordinate."""
    on_host = jax.tree.map(lambda leaf: np.asarray(leaf, float), values)
    found = []
    for axis, coordinates in enumerate(on_host.point.T):
        if not np.ptp(coordinates) > 0:
            continue
        for rows in np.array_split(np.argsort(coordinates), PIECES):
            shares, _ = _shares(jax.tree.map(lambda leaf, rows=rows: leaf[rows], on_host), is_fixed)
            found.append(Region(axis, float(coordinates[rows].min()), float(coordinates[rows].max()), max(shares)))
    return tuple(found)


def _norm(values: Values) -> np.ndarray:
    """The root mean square over the points where the values are finite."""
    kept = np.nan_to_num(np.asarray(values, float), posinf=0.0, neginf=0.0)
    return np.sqrt(np.mean(np.square(kept), axis=0))


def _part(equation: Equation, number: int) -> AbstractResidual:
    return equation if number == 0 else equation.conditions[number - 1]


def _moved(x: Place, place: Float[Array, "d"]) -> Place:
    """x with its first part that is a point at another place."""
    leaves, tree = jax.tree.flatten(x)
    at = next((index for index, leaf in enumerate(leaves) if leaf.shape == place.shape), None)
    return x if at is None else jax.tree.unflatten(tree, [*leaves[:at], place, *leaves[at + 1 :]])
