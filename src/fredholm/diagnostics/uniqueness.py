"""Is the solution unique? Test functions are added to u: does the residual of the equation, or of a condition, change?"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from fredholm.common.compiling import compiled_once
from fredholm.domains.base import AbstractDomain, Base
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import draw, estimate
from fredholm.equation.frame import noting
from fredholm.equation.probe import fresh_field, pick, sample_points
from fredholm.equation.reference import reference_rules
from fredholm.equation.residual import AbstractCondition, AbstractResidual, Integral, Place, network_point
from fredholm.functions.constrained import Form, Formed
from fredholm.functions.field import Field, Function
from fredholm.functions.mlp import MLP
from fredholm.rules.base import AbstractRule

Numbers = TypeVar("Numbers", np.ndarray, Array)
PROBE = MLP(8, 1, "tanh")  # the equation is linearised about this u
POINTS = 128  # least number of points for the equation and for each condition
GAUSS, NET = (24, 12), 512  # nodes of an integral: for each axis of one and of two, and in all for more axes
MOST_FUNCTIONS = 60  # test functions for each output
HIGHEST_DEGREE = 14
UNBOUNDED_DEGREE = 8  # the same where nodes may lie far outside the domain, and high powers are huge
FALL = 30.0  # how fast test functions decay beyond the domain where an integral has an infinite measure
SMOOTH = 3  # polynomials up to this degree define the usual change of the residual
BLIND = 1e-4  # a direction that changes the residual by less than this share of the usual change is free; measured in docs/method.md
MARGIN = 0.1  # in widths of the domain: only beyond this is a point outside; closer, it may lie between the last sampled point and the edge
EVERYWHERE = ("a constant", "a linear function")
WAVES = 40.0, 80.0  # radians across the domain of two waves; the ratio of their residuals gives the order of the derivatives


class Undetermined(eqx.Module):
    """A direction in which u can change without changing the equation or its conditions."""

    name: str  # "a constant", ...
    share: float  # how much it changes the residual, relative to the usual change
    orders: tuple[int, ...] | None  # the order of the derivatives of f along each axis of the network's input, where f can be probed
    is_rough: bool  # an ill-posed equation: u appears only under integrals, which smooth the direction away; smooth ones are determined
    evaluates_outside: bool  # the integrals evaluate u outside the domain

    def __str__(self) -> str:
        text = f"{self.name} can be added to u, and neither the equation nor its conditions notice (share {self.share:.0e})"
        if self.orders is not None and any(self.orders):
            found = ", ".join(f"{order} along axis {axis}" for axis, order in enumerate(self.orders) if order)
            text += f"; f has derivatives of order {found}, which need conditions"
        if self.evaluates_outside:
            text += "; the integrals evaluate u outside of the domain, where no equation holds"
        return text


class Perturbed(eqx.Module):
    r"""A network with polynomials of the point added to each output.

    On an infinite measure no polynomial has a finite integral. There the sum is multiplied by a function that is 1 in the box of the
    domain, $|\xi_i| \le 1$, and falls as $e^{-30(|\xi_i| - 1)^2}$ beyond.
    """

    network: Function
    coefficients: Float[Array, "m k"]
    center: np.ndarray  # of shape (d,)
    scale: np.ndarray  # of shape (d,)
    exponents: np.ndarray  # of shape (k, d)
    falls: bool = eqx.field(static=True)  # whether it decays to 0 beyond the domain

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "m"]:
        xi = (x - self.center) / self.scale
        value = self.network(x) + self.coefficients @ polynomials(self.exponents, xi)
        return value * jnp.exp(-FALL * jnp.sum(jnp.maximum(jnp.abs(xi) - 1, 0.0) ** 2)) if self.falls else value


def polynomials(exponents: np.ndarray, x: Numbers) -> Numbers:
    """Every monomial of a point; QR makes them orthonormal later."""
    powers: Any = x[..., None, :] ** exponents  # numpy's or JAX's, whose products type checkers do not tell apart
    return powers.prod(axis=-1)


def undetermined(equation: Equation, form: Form | None = None) -> Undetermined | None:
    """A direction of u that the equation and its conditions leave free, or None. `form` is the form of a `Constrained` network."""
    with jax.enable_x64(True):
        equation = equation.realize(jax.random.key(0))
        u = fresh_field(equation, PROBE)
        places = _places(equation)
        exponents = exponents_of(equation.inputs, UNBOUNDED_DEGREE if any(map(_has_no_end, _measures(equation))) else HIGHEST_DEGREE)
        low, high = np.min(places, axis=0), np.max(places, axis=0)
        center, scale = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)  # maps the box of the places to [-1, 1]
        # Test functions live where the network is evaluated, which is another box where a form rescales its input.
        inside = places if form is None else _inside(form, places, equation)
        low, high = np.min(inside, axis=0), np.max(inside, axis=0)
        own_center, own_scale = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
        jacobian = np.concatenate(list(_jacobians(equation, u, own_center, own_scale, exponents, form)))
        if not np.all(np.isfinite(jacobian)):
            return None
        basis = polynomials(exponents, (inside - own_center) / own_scale)
        # Orthonormalises the test functions on the places, in the order of their degrees.
        orthonormal = np.linalg.inv(np.linalg.qr(basis / np.sqrt(len(basis)))[1])
        k, m = len(exponents), equation.outputs
        changes = _whitened(jacobian, orthonormal, m)
        smooth = np.tile(exponents.sum(axis=1) <= SMOOTH, m)
        usual = float(np.median(np.linalg.norm(changes[:, : m * k][:, smooth], axis=0)))
        _, sizes, directions = np.linalg.svd(changes, full_matrices=False)
        share = float(sizes[-1]) / usual if usual > 0 else 0.0
        if share > BLIND:
            return None
        name = _named(changes, exponents, m, usual) or _described(
            equation, directions[-1], orthonormal, exponents, own_center, own_scale, inside
        )
        seen = float(np.linalg.svd(changes[:, : m * k][:, smooth], compute_uv=False)[-1])
        is_rough = equation.is_weak and usual > 0 and seen > BLIND * usual
        return Undetermined(name, share, _orders(equation, u, center, scale), is_rough, _evaluates_outside(equation, u, center, scale))


def _inside(form: Form, places: np.ndarray, equation: Equation) -> np.ndarray:
    """Where a form evaluates the network in it, for u at these places."""
    seen: list[np.ndarray] = []
    with jax.enable_x64(False):  # callbacks run in another thread, which does not know of double precision
        network = Field(noting(seen, equation.outputs), {}, equation.inputs, equation.outputs)
        values = compiled_once(jax.vmap(lambda x: form(network, x)))(jnp.asarray(places, jnp.float32))
        jax.block_until_ready(values)
    found = np.concatenate([np.reshape(part, (-1, equation.inputs)) for part in seen]) if seen else places
    found = found[np.isfinite(found).all(axis=1)]
    return found if len(found) else places


def _whitened(jacobian: np.ndarray, orthonormal: np.ndarray, outputs: int) -> np.ndarray:
    """The change of the residual with each orthonormal test function, and with each unknown."""
    k = len(orthonormal)
    blocks = [jacobian[:, output * k : (output + 1) * k] @ orthonormal for output in range(outputs)]
    return np.concatenate([*blocks, jacobian[:, outputs * k :]], axis=1)


def _jacobians(
    equation: Equation, u: Field, center: np.ndarray, scale: np.ndarray, exponents: np.ndarray, form: Form | None
) -> Iterator[np.ndarray]:
    """The Jacobian of the equation's residual, then of each condition's, by the test functions' coefficients and the unknowns."""
    own = [rule for residual in (equation, *equation.conditions) for rule in reference_rules(residual, gauss=GAUSS, net=NET)]
    names = sorted(u.unknowns)
    count = max(POINTS, 2 * u.outputs * len(exponents))
    falls = not all(measure.is_finite for measure in _measures(equation))
    start = (jnp.zeros((u.outputs, len(exponents))), [u.unknowns[name] for name in names])

    def slopes_of(residual: AbstractResidual, rules: Sequence[AbstractRule]) -> tuple[Array, list[Array]]:
        def value(parameters: tuple[Float[Array, "m k"], list[Float[Array, ""]]], x: Place) -> Float[Array, "e"]:
            coefficients, unknowns = parameters
            network = Perturbed(u.network, coefficients, center, scale, exponents, falls)
            if form is not None:
                network = Formed(Field(network, {}, u.inputs, u.outputs), form)
            field = Field(network, dict(zip(names, unknowns, strict=True)), u.inputs, u.outputs)
            nodes = draw(residual, rules, x, jax.random.key(0))
            return residual.local_residual(field, x) + residual.sign * estimate(residual, field, x, nodes)

        @compiled_once
        def jacobian(start: PyTree, key: Key[Array, ""]) -> PyTree:
            if isinstance(residual, AbstractCondition):
                points = residual.points(POINTS, rules, key)
            else:
                points = jax.vmap(residual.law.sample)(jax.random.split(key, count))
            return jax.vmap(jax.jacrev(value), in_axes=(None, 0))(start, points)

        return jacobian(start, jax.random.key(1))

    for residual, rules in residuals(equation, own):
        if isinstance(residual, AbstractCondition) and residual.weight == 0:
            continue
        by_coefficients, by_unknowns = slopes_of(residual, rules)
        n, e = by_coefficients.shape[:2]
        flat = [np.asarray(by_coefficients).reshape(n * e, -1), *(np.asarray(slope).reshape(n * e, 1) for slope in by_unknowns)]
        yield np.concatenate(flat, axis=1) / np.sqrt(n)


def _places(equation: Equation) -> np.ndarray:
    """Points where the network is evaluated: x itself, or where x is a volume, nodes of its integrals."""
    points = sample_points(equation, POINTS, seed=1)
    if network_point(points) is not None:
        return np.asarray(network_point(points))
    nodes = []
    for integral in equation.integrals:

        def inputs(key: Key[Array, ""], integral: Integral = integral) -> Float[Array, "d"]:
            x = equation.domain.sample(key)
            t = integral.measure(x).draws(key, 1).points
            return integral.network_input(x, jax.tree.map(lambda leaf: leaf[0], t))

        nodes.append(compiled_once(jax.vmap(inputs))(jax.random.split(jax.random.key(1), POINTS)))
    return np.concatenate(nodes)


def exponents_of(inputs: int, highest: int) -> np.ndarray:
    """The exponents of all monomials up to some total degree: `highest`, or less where there would be more than `MOST_FUNCTIONS`."""
    degree = 1
    while degree < highest and math.comb(inputs + degree + 1, inputs) <= MOST_FUNCTIONS:
        degree += 1
    if inputs > MOST_FUNCTIONS:
        return np.zeros((1, inputs), int)
    found = [e for e in itertools.product(range(degree + 1), repeat=inputs) if sum(e) <= degree] if inputs <= 6 else _low(inputs, degree)
    return np.array(sorted(found, key=lambda e: (sum(e), e)))


def _low(inputs: int, degree: int) -> list[tuple[int, ...]]:
    """The exponents up to total degree 2, without the full grid of exponents."""
    units = [tuple(int(i == axis) for i in range(inputs)) for axis in range(inputs)]
    pairs = [tuple(np.add(a, b)) for a, b in itertools.combinations_with_replacement(units, 2)] if degree > 1 else []
    return [(0,) * inputs, *units, *pairs]


def _named(changes: np.ndarray, exponents: np.ndarray, outputs: int, usual: float) -> str | None:
    """\"a constant\" or \"a linear function\" where that alone is free, else None."""
    k, degrees = len(exponents), exponents.sum(axis=1)
    for degree, name in enumerate(EVERYWHERE):
        for output in range(outputs):
            block = changes[:, output * k : (output + 1) * k][:, degrees == degree]
            if np.linalg.norm(block, axis=0).min() < BLIND * usual:
                return name if outputs == 1 else f"{name} in output {output}"
    return None


def _described(
    equation: Equation,
    direction: np.ndarray,
    orthonormal: np.ndarray,
    exponents: np.ndarray,
    center: np.ndarray,
    scale: np.ndarray,
    places: np.ndarray,
) -> str:
    """The direction in words: an unknown that can change, or a function by three of its values."""
    k, m = len(exponents), equation.outputs
    unknowns = direction[m * k :]
    if unknowns.size and np.abs(unknowns).max() > 0.01:
        other = " together with a change of u" if np.linalg.norm(direction[: m * k]) > 0.01 else ""
        return f"a change of the unknown {sorted(equation.unknowns)[int(np.abs(unknowns).argmax())]}{other}"
    coefficients = direction[: m * k].reshape(m, k) @ orthonormal.T
    shown = places[np.argsort(places[:, 0])][[0, len(places) // 2, -1]]
    values = polynomials(exponents, (shown - center) / scale) @ coefficients.T
    values = values[:, np.abs(values).max(axis=0).argmax()]
    values = values / values[np.abs(values).argmax()]
    text = ", ".join(f"{value:.2f} at {np.array2string(point, precision=2)}" for value, point in zip(values, shown, strict=True))
    return f"a multiple of a function with the values {text}"


def _measures(equation: Equation) -> list[AbstractDomain]:
    """The measure of each integral, at one x."""
    return [
        integral.measure(pick(sample_points(residual, 1), 0))
        for residual in (equation, *equation.conditions)
        for integral in residual.integrals
    ]


def _has_no_end(domain: AbstractDomain) -> bool:
    return any(base in (Base.NORMAL, Base.HALF_LINE) for base in domain.bases)


def _evaluates_outside(equation: Equation, u: Field, center: np.ndarray, scale: np.ndarray) -> bool:
    """True where a function that is 0 in the box of the domain and positive outside changes the residual."""
    points = sample_points(equation, 32, seed=2)
    if network_point(points) is None or _has_no_end(equation.domain):
        return False
    rules = reference_rules(equation, gauss=GAUSS, net=NET)

    def beyond(p: Float[Array, "d"]) -> Float[Array, ""]:
        return jnp.sum(jnp.maximum(jnp.abs(p - center) / scale - 1 - 2 * MARGIN, 0.0) ** 3)

    def value(u: Field, x: Place) -> Float[Array, "e"]:
        return equation.local_residual(u, x) + equation.sign * estimate(equation, u, x, draw(equation, rules, x, jax.random.key(0)))

    return bool(np.any(compiled_once(jax.vmap(lambda x: _slope(value, u, beyond, x)))(points) != 0))


def _slope(value: Callable[[Field, Place], Array], u: Field, function: Function, x: Place) -> Float[Array, "e"]:
    """The derivative of value(u + amplitude * function, x) by the amplitude, at 0."""

    def added(amplitude: Float[Array, ""]) -> Float[Array, "e"]:
        return value(Field(lambda p: u.network(p) + amplitude * function(p), u.unknowns, u.inputs, u.outputs), x)

    return jax.jvp(added, (jnp.zeros(()),), (jnp.ones(()),))[1]


def _orders(equation: Equation, u: Field, center: np.ndarray, scale: np.ndarray) -> tuple[int, ...] | None:
    """The order of the derivatives of f along each axis: order p multiplies a wave of s radians by s to the power p."""
    points = sample_points(equation, 32, seed=2)
    if equation.f is None or network_point(points) is None or equation.inputs > 20:
        return None

    @compiled_once
    def size(direction: Float[Array, "d"], radians: Float[Array, ""]) -> Float[Array, ""]:
        def wave(p: Float[Array, "d"]) -> Float[Array, ""]:
            return jnp.cos(radians * jnp.dot(direction, (p - center) / scale) + 0.3)

        return jnp.sqrt(jnp.mean(jax.vmap(lambda x: _slope(equation.local_residual, u, wave, x))(points) ** 2))

    orders = []
    for direction in jnp.eye(equation.inputs):
        slow, fast = (float(size(direction, radians)) for radians in WAVES)
        orders.append(max(0, round(math.log2(fast / slow))) if slow > 0 and fast > 0 else 0)
    return tuple(orders)
