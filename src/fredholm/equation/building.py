"""Conditions built into u: the form F(n, x) that meets them, made from what they ask on each axis."""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.domains.base import AbstractDomain
from fredholm.domains.combined import Point, Product
from fredholm.equation.conditions import Condition, Periodic
from fredholm.equation.equation import Equation
from fredholm.equation.frame import box_of
from fredholm.equation.operators import derivative
from fredholm.equation.residual import AbstractCondition
from fredholm.functions.built_in import BuiltIn, Winding
from fredholm.functions.field import Field, Function
from fredholm.functions.protocol import AbstractNetwork

HIGHEST = 2  # order of a slope that can be built in; one more is asked for, to notice what is no combination of these
SAME = 1e-6  # numbers that differ by less, in units of their scale, are equal
OFF = 1e-7  # of the size of u: what a form may be off, in double precision, with derivatives of second order
WAYS = 4  # random points at which a condition is looked at, and random functions with which a form is tried


class Asked(NamedTuple):
    """One equation of a condition: Σ_k slopes[k] ∂_a^k u_i = b at x_a = at."""

    number: int  # of the condition
    output: int  # i
    axis: int  # a
    at: float
    slopes: tuple[float, ...]
    right: Callable[[Float[Array, "d"]], Float[Array, ""]]  # b(x)

    def of(self, v: Function, x: Float[Array, "d"]) -> Float[Array, ""]:
        """The left side for a function v of one number, at x with its coordinate moved to the face."""
        p = x.at[self.axis].set(self.at)
        found = jnp.zeros((), x.dtype)
        for order, share in enumerate(self.slopes):
            if share:
                found = found + share * (v(p) if order == 0 else derivative(v, p, self.axis, order))
        return found

    def wanted(self, x: Float[Array, "d"]) -> Float[Array, ""]:
        """The right side there."""
        return self.right(x.at[self.axis].set(self.at))


class Axis(NamedTuple):
    """The conditions of one output on one axis: the polynomials φ_j and D, in the scaled coordinate (x_a − middle)/half."""

    axis: int
    middle: float
    half: float
    asked: tuple[Asked, ...]
    basis: tuple[tuple[float, ...], ...]  # coefficients of φ_j, lowest first
    zeros: tuple[float, ...]  # of D, in the scaled coordinate, as often as each comes
    open: tuple[int, ...]  # the conditions that D does not meet

    def polynomials(self, x: Float[Array, "d"]) -> list[Float[Array, ""]]:
        """φ_j(x_a)."""
        s = (x[self.axis] - self.middle) / self.half
        return [sum((value * s**power for power, value in enumerate(one)), jnp.zeros((), x.dtype)) for one in self.basis]

    def factor(self, x: Float[Array, "d"]) -> Float[Array, ""]:
        """D(x_a)."""
        s = (x[self.axis] - self.middle) / self.half
        found = jnp.ones((), x.dtype)
        for zero in self.zeros:
            found = found * 0.5 * (s - zero)
        return found

    def homogeneous(self, v: Function) -> Function:
        """v changed so that every condition of this axis has the value 0."""

        def w(x: Float[Array, "d"]) -> Float[Array, ""]:
            return self.factor(x) * v(x)

        def after(x: Float[Array, "d"]) -> Float[Array, ""]:
            found, phi = w(x), self.polynomials(x) if self.open else []
            for j in self.open:
                found = found - phi[j] * self.asked[j].of(w, x)
            return found

        return after

    def lifted(self, before: Function) -> Function:
        """A function that meets the conditions of this axis, and those that `before` meets."""

        def after(x: Float[Array, "d"]) -> Float[Array, ""]:
            found = before(x)
            for phi, one in zip(self.polynomials(x), self.asked, strict=True):
                found = found + phi * (one.wanted(x) - one.of(before, x))
            return found

        return after


class Ansatz(NamedTuple):
    """u = G + H[n] for each output: G meets the conditions, and H[n] has the value 0 in all of them."""

    axes: tuple[tuple[Axis, ...], ...]  # of each output
    points: tuple[tuple[Asked, ...], ...]  # values at single points, of each output
    places: tuple[tuple[tuple[float, ...], ...], ...]  # these points

    def __call__(self, n: Function, x: Float[Array, "d"]) -> Float[Array, "..."]:
        outputs = len(self.axes)
        if not any(self.points) and not any(axis.open for axes in self.axes for axis in axes):
            factors = [_product([axis.factor(x) for axis in axes], x) for axes in self.axes]
            value = jnp.reshape(n(x), (outputs,)) * jnp.stack(factors) + jnp.stack([self._particular(i, x) for i in range(outputs)])
        else:
            value = jnp.stack([self._output(i, n, x) for i in range(outputs)])
        return value[0] if outputs == 1 else value

    def _particular(self, i: int, x: Float[Array, "d"]) -> Float[Array, ""]:
        """G."""

        def function(p: Float[Array, "d"]) -> Float[Array, ""]:
            return jnp.zeros((), p.dtype)

        for axis in self.axes[i]:
            function = axis.lifted(function)
        return function(x)

    def _output(self, i: int, n: Function, x: Float[Array, "d"]) -> Float[Array, ""]:
        def own(p: Float[Array, "d"]) -> Float[Array, ""]:
            return jnp.reshape(n(p), (-1,))[i]

        if self.points[i]:
            return own(x) + self._at_points(i, own, x)
        function: Function = own
        for axis in self.axes[i]:
            function = axis.homogeneous(function)
        return function(x) + self._particular(i, x)

    def _at_points(self, i: int, own: Function, x: Float[Array, "d"]) -> Float[Array, ""]:
        places = [jnp.asarray(place, x.dtype) for place in self.places[i]]
        squares = [jnp.sum((x - place) ** 2) for place in places]
        shares = [_product([square for k, square in enumerate(squares) if k != j], x) for j in range(len(places))]
        off = [one.right(place) / one.slopes[0] - own(place) for one, place in zip(self.points[i], places, strict=True)]
        return sum((share * value for share, value in zip(shares, off, strict=True)), jnp.zeros((), x.dtype)) / sum(shares)


def _product(factors: Sequence[Float[Array, ""]], x: Float[Array, "d"]) -> Float[Array, ""]:
    found = jnp.ones((), x.dtype)
    for factor in factors:
        found = found * factor
    return found


class CannotBuildInError(ValueError):
    """A condition cannot be built into u; the message says why."""


def with_conditions(network: AbstractNetwork, problem: Equation) -> AbstractNetwork:
    """The network with the conditions built in that ask for it; with those that can be where it is a `BuiltIn` without numbers. Series and
    other linear classes stay as they are."""
    wanted = tuple(number for number, one in enumerate(problem.conditions) if getattr(one, "exact", False))
    if network.is_linear:
        return network
    if not isinstance(network, BuiltIn):
        if not wanted:
            return network
        if network.slabs > 1:
            raise CannotBuildInError("exact: each slab of Slabs has conditions of its own, in the loss; leave exact out, or the slabs.")
        network = BuiltIn(network, wanted)
    with jax.enable_x64(True):
        if network.conditions is None:
            return _as_many_as_possible(network, problem, wanted)
        return _built(network, problem, network.conditions)


def _as_many_as_possible(network: BuiltIn, problem: Equation, wanted: Sequence[int]) -> BuiltIn:
    """The network with each condition built in that can be beside those before it."""
    found = _built(network, problem, tuple(wanted))
    for number in range(len(problem.conditions)):
        if number not in wanted:
            try:
                found = _built(network, problem, tuple(sorted((*found.built_in, number))))
            except CannotBuildInError:
                continue
    return found


def _built(network: BuiltIn, problem: Equation, numbers: tuple[int, ...]) -> BuiltIn:
    box = box_of(problem.domain)
    if numbers and (problem.is_drawn or box is None):
        why = "every seed has its own equation" if problem.is_drawn else "x has no point"
        raise CannotBuildInError(f"exact: conditions cannot be built into u where {why}. Leave exact out.")
    asked, windings = [], []
    for number in numbers:
        condition = problem.conditions[number]
        assert box is not None
        if isinstance(condition, Periodic):
            windings.append(_winding(condition, number, box))
        else:
            asked += _asked(condition, number, problem, box)
    form = _ansatz(asked, problem, box)
    found = dataclasses.replace(network, conditions=numbers, form=form, windings=tuple(windings))
    _try(found, problem)
    return found


def _refused(number: int, why: str) -> CannotBuildInError:
    return CannotBuildInError(f"condition {number + 1} cannot be built into u: {why}. Leave exact out there, so that it stays in the loss.")


def _coordinates(at: AbstractDomain) -> list[float | None]:
    """The coordinates of a face: a number where it is fixed, None where it is free."""
    parts = at.parts if isinstance(at, Product) else (at,)
    found: list[float | None] = []
    for part in parts:
        found += [float(value) for value in part.coordinates] if isinstance(part, Point) else [None] * part.dimension
    return found


def _face(at: AbstractDomain, number: int, box: tuple[np.ndarray, np.ndarray]) -> dict[int, float]:
    """The fixed coordinates of a condition's place."""
    coordinates = _coordinates(at)
    fixed = {axis: value for axis, value in enumerate(coordinates) if value is not None}
    if not fixed:
        raise _refused(number, f"it holds on {type(at).__name__}, which is no point and no face of a box")
    if 1 < len(fixed) < len(coordinates):
        raise _refused(number, "it holds on an edge, which is not a whole face")
    own, width = box_of(at), np.maximum(box[1] - box[0], np.finfo(float).tiny)
    free = [axis for axis in range(len(coordinates)) if axis not in fixed]
    if own is None or any(own[0][a] > box[0][a] + SAME * width[a] or own[1][a] < box[1][a] - SAME * width[a] for a in free):
        raise _refused(number, "it holds on a part of the face only, and beyond it u would be bound too")
    return fixed


def _winding(condition: Periodic, number: int, box: tuple[np.ndarray, np.ndarray]) -> Winding:
    low, high = (_face(face, number, box) for face in (condition.at, condition.to))
    if len(low) != 1 or low.keys() != high.keys() or not condition.is_of_u:
        raise _refused(number, "a periodic axis is built in between two opposite faces, for u itself")
    ((axis, first),), ((_, last),) = low.items(), high.items()
    return Winding(axis, min(first, last), abs(last - first))


def _asked(condition: AbstractCondition, number: int, problem: Equation, box: tuple[np.ndarray, np.ndarray]) -> list[Asked]:
    """What a condition asks for: each of its equations as a combination of u and its slopes along one axis."""
    if not isinstance(condition, Condition):
        raise _refused(number, f"{type(condition).__name__} is no condition on values or slopes at points and faces")
    fixed = _face(condition.at, number, box)
    axis = next(iter(fixed)) if len(fixed) == 1 else -1
    powers = _powers(problem.inputs)
    keys = jax.random.split(jax.random.key(8), WAYS)
    found = np.stack([_shares(condition, problem, powers, condition.at.sample(key), way) for way, key in enumerate(keys)])
    scale = np.abs(found).max()
    if not np.isfinite(scale) or scale == 0 or np.abs(found - found[:1]).max() > SAME * scale:
        raise _refused(number, "it is no combination of u and its slopes with constant factors")
    asked = []
    for row, shares in enumerate(np.where(np.abs(found[0]) > SAME * scale, found[0], 0.0)):
        outputs = np.flatnonzero(np.abs(shares).max(axis=1))
        used = [power for k, power in enumerate(powers) if np.any(shares[:, k])]
        if len(outputs) != 1:
            raise _refused(number, "it asks for a combination of several outputs")
        if any(sum(power) > HIGHEST or any(p for a, p in enumerate(power) if a != axis) for power in used):
            raise _refused(number, "it asks for other than values and slopes of at most second order along the axis of its face")
        slopes = [0.0] * (HIGHEST + 1)
        for k, power in enumerate(powers):
            if shares[outputs[0], k]:
                slopes[sum(power)] = float(shares[outputs[0], k])

        def right(x: Float[Array, "d"], row: int = row) -> Float[Array, ""]:
            return -condition.local_residual(_field(lambda point: jnp.zeros(problem.outputs, point.dtype), problem), x)[row]

        while len(slopes) > 1 and not slopes[-1]:
            slopes.pop()
        asked.append(Asked(number, int(outputs[0]), axis, fixed.get(axis, 0.0), tuple(slopes), right))
    return asked


def _powers(inputs: int) -> list[tuple[int, ...]]:
    """The exponents of the monomials that a condition is tried with; of many variables, powers of one and products of two of them."""
    if inputs <= 4:
        return [power for power in itertools.product(range(HIGHEST + 2), repeat=inputs) if sum(power) <= HIGHEST + 1]
    single = [tuple(p if a == b else 0 for b in range(inputs)) for a in range(inputs) for p in range(1, HIGHEST + 2)]
    pairs = [tuple(int(c in (a, b)) for c in range(inputs)) for a in range(inputs) for b in range(a)]
    return [(0,) * inputs, *single, *pairs]


def _field(function: Function, problem: Equation, shift: float = 0.0) -> Field:
    return Field(function, {name: jnp.asarray(value + shift) for name, value in problem.unknowns.items()}, problem.inputs, problem.outputs)


def _shares(condition: Condition, problem: Equation, powers: Sequence[tuple[int, ...]], x: Array, way: int) -> np.ndarray:
    """B of every Taylor monomial about x in every output, (e, m, powers). A nonlinear B differs with the size of what it is given."""
    size, exponents = 1.0 + way, jnp.asarray(powers)
    factorials = jnp.asarray([float(np.prod([float(jnp.prod(jnp.arange(1, p + 1))) for p in power])) for power in powers])

    def of(k: Array, output: Array) -> Float[Array, "e"]:
        def u(p: Float[Array, "d"]) -> Float[Array, "m"]:
            factors = [_power(p[axis] - x[axis], exponents[k, axis]) for axis in range(problem.inputs)]
            return jnp.zeros(problem.outputs).at[output].set(size * _product(factors, p) / factorials[k])

        return condition.local_residual(_field(u, problem, 0.1 * way), x)

    zero = condition.local_residual(_field(lambda p: jnp.zeros(problem.outputs), problem, 0.1 * way), x)
    each = jax.vmap(jax.vmap(of, (0, None)), (None, 0))(jnp.arange(len(powers)), jnp.arange(problem.outputs))
    return np.moveaxis((np.asarray(each) - np.asarray(zero)) / size, -1, 0)


def _power(base: Float[Array, ""], exponent: Array) -> Float[Array, ""]:
    """A small whole power, with its derivatives at 0."""
    found = jnp.ones_like(base)
    for turn in range(HIGHEST + 1):
        found = jnp.where(exponent > turn, found * base, found)
    return found


def _ansatz(asked: Sequence[Asked], problem: Equation, box: tuple[np.ndarray, np.ndarray] | None) -> Ansatz:
    axes, points, places = [], [], []
    for output in range(problem.outputs):
        own = [one for one in asked if one.output == output]
        at_points = [one for one in own if one.axis < 0]
        if at_points and (len(at_points) < len(own) or any(len(one.slopes) > 1 for one in at_points)):
            why = "in several dimensions a point has a value only, and no conditions on faces beside it"
            raise _refused(at_points[0].number, why)
        sorted_ = {axis: [one for one in own if one.axis == axis] for axis in sorted({one.axis for one in own if one.axis >= 0})}
        axes.append(tuple(_axis(axis, found, box) for axis, found in sorted_.items()))
        points.append(tuple(at_points))
        places.append(tuple(tuple(float(v or 0.0) for v in _coordinates(problem.conditions[one.number].law)) for one in at_points))
    return Ansatz(tuple(axes), tuple(points), tuple(places))


def _axis(axis: int, asked: Sequence[Asked], box: tuple[np.ndarray, np.ndarray] | None) -> Axis:
    assert box is not None
    low, high = min(box[0][axis], *(one.at for one in asked)), max(box[1][axis], *(one.at for one in asked))
    middle, half = float(low + high) / 2, float(high - low) / 2 or 1.0
    for count in range(len(asked), len(asked) + HIGHEST + 1):  # two slopes without a value need one power more than there are conditions
        rows = np.array([[_of_power(one, power, middle, half) for power in range(count)] for one in asked])
        solved = np.linalg.pinv(rows)
        if np.abs(rows @ solved - np.eye(len(asked))).max() < SAME:
            break
    else:
        raise _refused(asked[-1].number, "together with the others on its axis it asks twice for the same, or for what contradicts them")
    zeros, met = [], set()
    for at in sorted({one.at for one in asked}):
        here = {len(one.slopes) - 1: j for j, one in enumerate(asked) if one.at == at and sum(map(bool, one.slopes)) == 1}
        for order in range(HIGHEST + 1):
            if order not in here:
                break
            zeros.append((at - middle) / half)
            met.add(here[order])
    is_open = tuple(j for j in range(len(asked)) if j not in met)
    basis = tuple(tuple(float(value) for value in solved[:, j]) for j in range(len(asked)))
    return Axis(axis, middle, half, tuple(asked), basis, tuple(zeros), is_open)


def _of_power(one: Asked, power: int, middle: float, half: float) -> float:
    """The left side for ((x_a − middle)/half)^power."""
    s, found = (one.at - middle) / half, 0.0
    for order, share in enumerate(one.slopes):
        if order <= power:
            found += share * np.prod(np.arange(power - order + 1, power + 1)) / half**order * s ** (power - order)
    return float(found)


def _try(network: BuiltIn, problem: Equation) -> None:
    """Refuses a form that does not meet its conditions: these contradict each other where their faces meet, or are not finite."""
    center = jnp.zeros(problem.inputs)

    def n(p: Float[Array, "d"]) -> Float[Array, "m"]:
        for winding in network.windings:
            p = p.at[winding.axis].set(jnp.cos(2 * jnp.pi * (p[winding.axis] - winding.low) / winding.period))
        return jnp.stack([jnp.cos(jnp.sum((p - center) * (1.0 + 0.3 * i)) + i) for i in range(problem.outputs)])

    for number in network.built_in:
        condition = problem.conditions[number]
        u = _field(network.around(n, problem.inputs, problem.outputs), problem)
        places = jax.vmap(condition.law.sample)(jax.random.split(jax.random.key(9), 4 * WAYS))
        off = np.asarray(jax.vmap(lambda x, u=u, one=condition: one.local_residual(u, x))(places))
        if not np.isfinite(off).all():
            raise _refused(number, "its value, or one that meets it, is not finite")
        if np.abs(off).max() > OFF * 100:
            raise _refused(number, f"it contradicts others where their faces meet, by {np.abs(off).max():.1e}")
