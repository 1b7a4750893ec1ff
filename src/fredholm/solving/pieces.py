"""Where a solution may have a kink or a jump: cuts of a series on one axis, and the conditions that join its pieces.

They are places where f − y jumps or has a kink, where every integrand has one at the same t, the ends of the domain inside of the frame,
and, for delays, every x at which an argument of u is such a place.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.checks import is_concrete
from fredholm.common.compiling import compiled_once
from fredholm.domains.combined import Point
from fredholm.domains.flat import Interval
from fredholm.equation.conditions import Condition
from fredholm.equation.equation import Equation
from fredholm.equation.operators import derivative
from fredholm.equation.residual import Integral
from fredholm.functions.axes import Pieces
from fredholm.functions.field import Field, Function

CELLS = 256  # of the axis, in which a jump is looked for
SEEN = 33  # points at which the arguments of u are noted
HALVINGS = 44  # of a cell: its last width is at rounding
ORDERS = 3  # jumps of f − y and of its derivatives below this order are looked for
SHARP = 1e-3  # a change across a cell of no width is a jump where it is this share of the change across the whole axis
SAME = 1e-9  # places that differ by this share of the axis are one
MOST = 48  # cuts
HIGHEST = 4  # the order of an equation that is looked for
BUMP = 1e-3  # the width of a change of u at one place, as a share of the axis
PLACES = 5  # points x at which an integrand is looked at


def cuts_of(equation: Equation, low: float, high: float) -> tuple[float, ...]:
    """The places inside of [low, high], the frame of a series on one axis, where it should be cut."""
    found = [*_jumps_outside(equation), *_jumps_inside(equation, low, high)]
    law = equation.law
    if isinstance(law, Interval):
        found += [float(law.low), float(law.high)]
    if not found:
        return ()
    known = _distinct(found, low, high)
    waiting = known + _distinct([low], -np.inf, np.inf)  # a delay carries the beginning along as well
    arguments = _arguments(equation)
    while waiting and len(known) < MOST:
        new = [place for place in _distinct(_reached(equation, arguments, waiting), low, high) if not _is_near(place, known, high - low)]
        known, waiting = known + new, new
    return tuple(sorted(known)[:MOST])


def joined(equation: Equation, axis: Pieces) -> Equation:
    """The equation with the conditions that u and its derivatives below the order of the equation are continuous at the cuts."""
    order = order_of(equation, axis.edges[0], axis.edges[-1])

    def jump_of(k: int) -> Callable[..., Any]:
        def jump(u: Function, x: Float[Array, "1"]) -> Any:
            before = jnp.nextafter(x, jnp.full_like(x, -jnp.inf))
            return u(x) - u(before) if k == 0 else derivative(u, x, order=k) - derivative(u, before, order=k)

        return jump

    joints = [Condition(Point(cut), 0.0, of=jump_of(k)) for cut in axis.edges[1:-1] for k in range(order)]
    return equation.with_parts(equation.integrals, (*equation.conditions, *joints))


def order_of(equation: Equation, low: float, high: float) -> int:
    """The highest derivative of u in f or in an integrand, by whether a change of u at one place changes them."""
    x = jnp.asarray([low + 0.614 * (high - low)])

    def at(k: int) -> list[Array]:
        u = _field(equation, lambda p: _smooth(p, low, high) + (0.0 if k < 0 else _bump(p, x, k, high - low)))
        values = [equation.local_residual(u, x)]
        for integral in equation.integrals:
            values.append(integral.integrand(u, x, x))
        return values

    @compiled_once
    def everything() -> list[list[Array]]:
        return [at(k) for k in range(-1, HIGHEST + 1)]

    plain, *changed = everything()
    seen = [k for k, values in enumerate(changed) if any(not np.allclose(a, b, rtol=1e-9) for a, b in zip(values, plain, strict=True))]
    return max(seen, default=0)


def is_of_first_kind(equation: Equation) -> bool:
    """True where u stands inside of integrals only."""
    if equation.is_weak:
        return True
    places = jax.vmap(equation.law.sample)(jax.random.split(jax.random.key(2), PLACES))

    @compiled_once
    def values() -> tuple[Array, Array]:
        fields = [_field(equation, lambda p, a=a: jnp.cos(a * jnp.sum(p)) + a) for a in (1.0, 1.7)]
        one, other = (jax.vmap(lambda x, u=u: equation.local_residual(u, x))(places) for u in fields)
        return one, other

    one, other = map(np.asarray, values())
    return bool(np.array_equal(one, other))


def _smooth(p: Float[Array, "1"], low: float, high: float) -> Array:
    s = (p[0] - low) / (high - low)
    return 1.3 + 0.4 * jnp.sin(2.0 * s) + 0.2 * s**2


def _bump(p: Float[Array, "1"], x: Float[Array, "1"], k: int, width: float) -> Array:
    z = (p[0] - x[0]) / (BUMP * width)
    return z**k * jnp.exp(-(z**2))


def _field(equation: Equation, of: Callable[..., Array]) -> Field:
    unknowns = {name: jnp.asarray(value, float) for name, value in equation.unknowns.items()}
    return Field(lambda p: jnp.full((equation.outputs,), of(p)), unknowns, equation.inputs, equation.outputs)


def _jumps_outside(equation: Equation) -> list[float]:
    """The places x where f − y with a smooth u is not smooth."""
    law = equation.law
    if not isinstance(law, Interval):
        return []
    low, high = float(law.low), float(law.high)
    u = _field(equation, lambda p: _smooth(p, low, high))
    return _jumps(lambda x: jnp.sum(equation.local_residual(u, x[None])), low, high)


def _jumps_inside(equation: Equation, low: float, high: float) -> list[float]:
    """The places t where integrands are not smooth, the same at several x."""
    law, u, found = equation.law, _field(equation, lambda p: _smooth(p, low, high)), list[float]()
    if not isinstance(law, Interval):
        return []
    width = float(law.high) - float(law.low)
    for integral in equation.integrals:
        own = list[float]()
        for share in np.linspace(0.23, 0.96, PLACES):
            x = jnp.asarray([float(law.low) + share * width])
            measure = integral.measure(x)
            if not isinstance(measure, Interval) or not float(measure.high) > float(measure.low):
                return found
            ends = float(measure.low), float(measure.high)
            own += _distinct(_jumps(_integrand(integral, u, x), *ends), *ends)
        found += [place for place in own if sum(_is_near(place, [other], high - low) for other in own) > 1]
    return found


def _integrand(integral: Integral, u: Field, x: Float[Array, "1"]) -> Callable[[Array], Array]:
    return lambda t: jnp.sum(integral.integrand(u, x, t[None]))


def _jumps(of: Callable[[Array], Array], low: float, high: float) -> list[float]:
    """The places where a function or one of its first derivatives jumps, by halving cells towards the larger change."""

    @compiled_once
    def search() -> tuple[Array, Array, Array]:
        functions = [of]
        for _ in range(ORDERS - 1):
            functions.append(_slope(functions[-1]))
        inner = (high - low) * 1e-7  # the ends themselves may be singular
        edges = jnp.linspace(low + inner, high - inner, CELLS + 1)
        places, sizes, scales = [], [], []
        for function in functions:
            values = jax.vmap(function)(edges)

            def halve(_: Any, ends: Any, function: Callable[[Array], Array] = function) -> Any:
                a, b, at_a, at_b = ends
                middle = 0.5 * (a + b)
                between = jax.vmap(function)(middle)
                is_left = jnp.abs(between - at_a) > jnp.abs(at_b - between)
                return (
                    jnp.where(is_left, a, middle),
                    jnp.where(is_left, middle, b),
                    jnp.where(is_left, at_a, between),
                    jnp.where(is_left, between, at_b),
                )

            a, b, at_a, at_b = jax.lax.fori_loop(0, HALVINGS, halve, (edges[:-1], edges[1:], values[:-1], values[1:]))
            places.append(b)
            sizes.append(jnp.abs(at_b - at_a))
            scales.append(jnp.broadcast_to(jnp.nanmax(values) - jnp.nanmin(values), a.shape))
        return jnp.concatenate(places), jnp.concatenate(sizes), jnp.concatenate(scales)

    places, sizes, scales = map(np.asarray, search())
    return places[np.isfinite(sizes) & (sizes > SHARP * scales) & (scales > 0)].tolist()


def _slope(of: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda x: jax.jvp(of, (x,), (jnp.ones_like(x),))[1]


def _arguments_at(equation: Equation, places: np.ndarray) -> np.ndarray:
    """The arguments of u in f at each of these x, (k, n): for u(x - 1) they are x - 1. Not compiled, so that they are plain numbers."""
    seen: list[float] = []

    @jax.custom_jvp
    def noted(p: Float[Array, "1"]) -> Float[Array, "1"]:
        if jnp.ndim(p) == 1 and eqx.is_array(p) and is_concrete(p):
            seen.append(float(p[0]))
        return p

    @noted.defjvp
    def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        return noted(*primals), tangents[0]

    u = eqx.tree_at(lambda one: one.network, _field(equation, lambda p: p[0]), lambda p: jnp.full((equation.outputs,), 1.0 + noted(p)[0]))
    rows = []
    for x in places:
        seen.clear()
        equation.local_residual(u, jnp.asarray([x]))
        rows.append(list(seen))
    count = min(map(len, rows))
    return np.array([row[:count] for row in rows]).T.reshape(count, len(places))


def _arguments(equation: Equation) -> tuple[np.ndarray, np.ndarray]:
    """Points x of the domain, and the arguments of u in f there, besides x itself."""
    law = equation.law
    if not isinstance(law, Interval):
        return np.zeros(0), np.zeros((0, 0))
    x = np.linspace(float(law.low), float(law.high), SEEN)
    own = _arguments_at(equation, x)
    return x, own[[not np.allclose(one, x) for one in own]]


def _reached(equation: Equation, arguments: tuple[np.ndarray, np.ndarray], places: Sequence[float]) -> list[float]:
    """The x at which an argument of u is one of these places: on the line between two points of the grid, then by the secant."""
    x, own = arguments
    found = []
    for values in own:
        for place in places:
            off = values - place
            found += x[1:-1][(off[1:-1] == 0) & (off[:-2] * off[2:] < 0)].tolist()
            before, after = off[:-1], off[1:]
            for at in np.flatnonzero(before * after < 0):  # where it stays at the place, as in max(x - 1, 0), f has a kink of its own
                root = x[at] + (x[at + 1] - x[at]) * before[at] / (before[at] - after[at])
                left = _arguments_at(equation, np.array([root]))[:, 0] - place
                nearest = left[np.argmin(np.abs(left))] if left.size else 0.0
                found.append(float(root - nearest * (x[at + 1] - x[at]) / (after[at] - before[at])))
    return found


def _distinct(places: Sequence[float], low: float, high: float) -> list[float]:
    """The places that differ, without the ends."""
    width = high - low if np.isfinite(high - low) else max(map(abs, places), default=1.0) or 1.0
    kept: list[float] = []
    for place in sorted(places):
        if not _is_near(place, [*kept, low, high], width) and low < place < high:
            kept.append(place)
    return kept


def _is_near(place: float, others: Sequence[float], width: float) -> bool:
    return any(abs(place - other) < SAME * width for other in others)
