"""Tries an equation on a few concrete points before anything is compiled, with errors in the user's own terms."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree

from fredholm.common.compiling import compiled_once, shapes_of
from fredholm.diagnostics.memory import check_memory
from fredholm.domains.base import AbstractDomain
from fredholm.equation.conditions import IntegralCondition
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import draw, weighted_integrand
from fredholm.equation.indices import out_of_range
from fredholm.equation.probe import POINTS, edge_points, fresh, pick, points_of, show, traced
from fredholm.equation.residual import AbstractResidual, Integral, Place, as_vector, call
from fredholm.functions.field import Field
from fredholm.functions.protocol import AbstractNetwork
from fredholm.rules.base import AbstractRule

TRIES = 16
SINGULAR = (
    "Put a singular kernel into the measure, and only the smooth factor into g: over=lambda x: AbsPower(0.0, 1.0, at=x[0], power=-0.5) for "
    "|x - t|^(-1/2), LogDistance(0.0, 1.0, at=x[0]) for log|x - t|, PowerLaw for a power of t."
)
Flags = list[Bool[Array, "*n"]]  # of one residual: for f − y, then for each integrand


def check_equation(equation: Equation, rules: Sequence[AbstractRule], network: AbstractNetwork, batch: int = 1, seeds: int = 1) -> None:
    """Raises `ValueError` for wrong shapes, reversed limits at some x, NaN, or code that cannot be traced, conditions included; and where
    the nodes, the batch or the seeds do not fit into memory."""
    u = traced("network", lambda: shapes_of(fresh, equation, network, jax.random.key(0)))
    traced("network", lambda: shapes_of(u, jax.ShapeDtypeStruct((equation.inputs,), float)))
    parts = [("", equation), *((f"condition {number}, ", one) for number, one in enumerate(equation.conditions, start=1))]
    stacked = _tried([residual.law for _, residual in parts])
    for (where, residual), (_, own), some in zip(parts, residuals(equation, rules), stacked, strict=True):
        points = [pick(some, index) for index in range(len(jax.tree.leaves(some)[0]))]
        _check_limits(where, residual, own, points)
        _check_shapes(where, _shapes(where, residual, u, points[0], own))
    check_memory(equation, rules, u, batch, seeds)
    finite = _are_finite(equation, rules, network, stacked)
    for (where, residual), flags, some in zip(parts, finite, stacked, strict=True):
        _check_finite(where, residual, flags, some)
    if equation.exact is not None and equation.evaluation is not None:
        evaluation = equation.evaluation
        truth = traced("exact", lambda: shapes_of(lambda: equation.truth(evaluation.points(2))))
        if truth.shape[1] != equation.outputs:
            raise ValueError(f"exact: it returned {truth.shape[1]} value(s); expected {equation.outputs}, as Equation(outputs=...) says.")


def _tried(laws: Sequence[AbstractDomain]) -> list[PyTree]:
    """Random points of each law, and its corners and edges."""
    drawn, edges = points_of(laws, TRIES, seed=0), edge_points(laws)
    return [
        some if edge is None else jax.tree.map(lambda a, b: jnp.concatenate([a, b]), some, edge)
        for some, edge in zip(drawn, edges, strict=True)
    ]


def _check_limits(where: str, residual: AbstractResidual, rules: Sequence[AbstractRule], points: Sequence[Place]) -> None:
    """Computes the measures twice: at concrete points, where a reversed limit shows, and traced, as the training does."""
    for number, (integral, rule) in enumerate(zip(residual.integrals, rules, strict=True)):
        name = f"{where}integral {number + 1}"
        for x in points:
            rule.check(traced(f"{name}, at x = {show(x)}", lambda integral=integral, x=x: integral.measure(x)))
        traced(f"{name}: over", lambda integral=integral: jax.eval_shape(lambda at: integral.measure(at).mass * jnp.ones(()), points[0]))


def _shapes(where: str, residual: AbstractResidual, u: Field, x: Place, rules: Sequence[AbstractRule]) -> dict[str, int]:
    """The number of values of f, y and g, or of a condition's parts, by name."""
    if isinstance(residual, Equation):
        name = "y" if residual.f is None else "f"
    else:
        name = "value" if isinstance(residual, IntegralCondition) else "of"
    # First what is on the right alone, so that an error in y is not said of f.
    right, value = ("y", residual.y) if isinstance(residual, Equation) else ("value", getattr(residual, "value", 0.0))
    _size(f"{where}{right} at one x", lambda u, x: as_vector(right, call(value, x)), u, x)
    shapes = {f"{where}{name}": _size(f"{where}{name} at one x", residual.local_residual, u, x)}
    for number, (integral, rule) in enumerate(zip(residual.integrals, rules, strict=True)):

        def integrand(u: Field, x: Place, integral: Integral = integral, rule: AbstractRule = rule) -> Float[Array, "e"]:
            nodes = rule.nodes(integral.measure(x), jax.random.key(0))
            return integral.integrand(u, x, jax.tree.map(lambda leaf: leaf[0], nodes.points))

        shapes[f"{where}g of integral {number + 1}"] = _size(f"{where}g of integral {number + 1}", integrand, u, x)
    return shapes


def _size(name: str, compute: Callable[[Field, Place], Array], u: Field, x: Place) -> int:
    program, shape, _ = traced(name, lambda: eqx.filter_make_jaxpr(compute)(u, x))
    if (missed := out_of_range(program.jaxpr)) is not None:
        index, length = missed
        raise ValueError(f"{name}: it takes entry {index} of an array of {length}, and JAX would take the nearest that there is. {POINTS}.")
    return shape.shape[0]


def _check_shapes(where: str, shapes: dict[str, int]) -> None:
    """All parts of a residual must have one value for each equation; y and value may be one number for all."""
    expected = shapes.get(f"{where}f", max(shapes.values()))
    for name, size in shapes.items():
        if size != expected and not (size == 1 and name.endswith(("y", "value"))):
            other = next(one for one, count in shapes.items() if count == expected)
            raise ValueError(
                f"{name}: it returned {size} value(s), and {other} returned {expected}; expected the same, one for each equation. {POINTS}."
            )


def _are_finite(equation: Equation, rules: Sequence[AbstractRule], network: AbstractNetwork, stacked: list[PyTree]) -> list[Flags]:
    """Whether f − y and every g of each residual are finite at points x, with a fresh network."""

    def at_one_point(u: Field, residual: AbstractResidual, own: Sequence[AbstractRule], x: Place) -> Flags:
        finite = [jnp.all(jnp.isfinite(residual.local_residual(u, x)))]
        for integral, nodes in zip(residual.integrals, draw(residual, own, x, jax.random.key(0)), strict=True):
            finite.append(jnp.all(jnp.isfinite(weighted_integrand(integral, u, x, nodes))))
        return finite

    def at_all_points(key: Key[Array, ""], stacked: list[PyTree]) -> list[Flags]:
        u = fresh(equation, network, key)
        parts = zip(residuals(equation, rules), stacked, strict=True)
        return [jax.vmap(lambda x, one=one, own=own: at_one_point(u, one, own, x))(some) for (one, own), some in parts]

    return compiled_once(at_all_points)(jax.random.key(0), stacked)


def _check_finite(where: str, residual: AbstractResidual, flags: Flags, stacked: PyTree) -> None:
    """Names the first x where f, y or g is not finite."""
    for number, finite in enumerate(flags):
        for index in np.flatnonzero(~np.asarray(finite)):
            left = "f or y" if isinstance(residual, Equation) else "its value"
            what = left if number == 0 else f"g of integral {number}"
            raise ValueError(
                f"{where}{what} is not finite at x = {show(pick(stacked, int(index)))} with a fresh network. "
                f"Is there a division by 0, a log of 0, a singularity?{f' {SINGULAR}' if number else ''}"
            )
