"""Before anything is compiled: the equation is tried on a few concrete points, and what is wrong with it is said in its own terms."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fredholm.conditions import IntegralCondition
from fredholm.equation import Equation
from fredholm.methods.base import draw, residuals, weighted_integrand
from fredholm.networks import AbstractNetwork, Field
from fredholm.residual import AbstractResidual
from fredholm.rules import AbstractRule

TRIES = 16
POINTS = "x and t are points of shape (d,), also for d = 1: a number is x[0], not x"


def check_equation(equation: Equation, rules: Sequence[AbstractRule], network: AbstractNetwork) -> None:
    """Raises `ValueError` for wrong shapes, reversed limits at some x, NaN, or code that cannot be traced, conditions included."""
    u = fresh_field(equation, network)
    traced("network", lambda: jax.eval_shape(u, jax.ShapeDtypeStruct((equation.inputs,), float)))
    for number, (residual, own) in enumerate(residuals(equation, rules)):
        where = f"condition {number}, " if number else ""
        stacked = sample_points(residual, TRIES)
        points = [pick(stacked, index) for index in range(TRIES)]
        _check_limits(where, residual, own, points)
        _check_shapes(where, _shapes(where, residual, u, points[0], own))
        _check_finite(where, residual, u, stacked, own)
    if equation.exact is not None and equation.evaluation is not None:
        places = equation.evaluation.points(2)
        truth = traced("exact", lambda: jax.eval_shape(equation.truth, places))
        if truth.shape[1] != equation.outputs:
            raise ValueError(f"exact: it returned {truth.shape[1]} value(s); expected {equation.outputs}, as Equation(outputs=...) says.")


def fresh_field(equation: Equation, network: AbstractNetwork, seed: int = 0) -> Field:
    """u before any training."""
    unknowns = {name: jnp.asarray(value, float) for name, value in equation.unknowns.items()}
    built = traced("network", lambda: eqx.filter_jit(network.build)(equation.inputs, equation.outputs, jax.random.key(seed)))
    return Field(built, unknowns, equation.inputs, equation.outputs)


def sample_points(residual: AbstractResidual, n: int, seed: int = 0) -> Any:
    """n points x, stacked."""
    return jax.jit(lambda key: jax.vmap(residual.law.sample)(jax.random.split(key, n)))(jax.random.key(seed))


def pick(stacked: Any, index: int) -> Any:
    """One of the stacked points."""
    return jax.tree.map(lambda leaf: leaf[index], stacked)


def _check_limits(where: str, residual: AbstractResidual, rules: Sequence[AbstractRule], points: Sequence[Any]) -> None:
    """The measures at concrete points, where a reversed limit can be seen, and traced, as the training will need them."""
    for number, (integral, rule) in enumerate(zip(residual.integrals, rules, strict=True)):
        name = f"{where}integral {number + 1}"
        for x in points:
            try:
                measure = integral.measure(x)
            except ValueError as error:
                raise ValueError(f"{name}, at x = {show(x)}: {error}") from error
            rule.check(measure)
        traced(f"{name}: over", lambda integral=integral: jax.eval_shape(lambda at: integral.measure(at).mass * jnp.ones(()), points[0]))


def _shapes(where: str, residual: AbstractResidual, u: Field, x: Any, rules: Sequence[AbstractRule]) -> dict[str, int]:
    """How many values f, y and g, or a condition's parts, give."""
    if isinstance(residual, Equation):
        name = "y" if residual.f is None else "f"
    else:
        name = "value" if isinstance(residual, IntegralCondition) else "of"
    shapes = {f"{where}{name}": _size(f"{where}{name} at one x", lambda x: residual.left(u, x), x)}
    for number, (integral, rule) in enumerate(zip(residual.integrals, rules, strict=True)):

        def value(x: Any, integral: Any = integral, rule: AbstractRule = rule) -> Any:
            nodes = rule.nodes(integral.measure(x), jax.random.key(0))
            return integral.integrand(u, x, pick(nodes.points, 0))

        shapes[f"{where}g of integral {number + 1}"] = _size(f"{where}g of integral {number + 1}", value, x)
    return shapes


def _size(name: str, compute: Callable[[Any], Any], x: Any) -> int:
    return traced(name, lambda: jax.eval_shape(compute, x)).shape[0]


def _check_shapes(where: str, shapes: dict[str, int]) -> None:
    """All parts of a residual have one value for each equation; a y or value of one number holds for all of them."""
    expected = shapes.get(f"{where}f", max(shapes.values()))
    for name, size in shapes.items():
        if size != expected and not (size == 1 and name.endswith(("y", "value"))):
            other = next(one for one, count in shapes.items() if count == expected)
            raise ValueError(
                f"{name}: it returned {size} value(s), and {other} returned {expected}; expected the same, one for each equation. {POINTS}."
            )


def _check_finite(where: str, residual: AbstractResidual, u: Field, stacked: Any, rules: Sequence[AbstractRule]) -> None:
    """f, y and g at concrete points with a fresh network."""

    def are_finite(x: Any) -> list[Any]:
        finite = [jnp.all(jnp.isfinite(residual.left(u, x)))]
        for integral, nodes in zip(residual.integrals, draw(residual, rules, x, jax.random.key(0)), strict=True):
            finite.append(jnp.all(jnp.isfinite(weighted_integrand(integral, u, x, nodes))))
        return finite

    for number, finite in enumerate(jax.jit(jax.vmap(are_finite))(stacked)):
        for index in np.flatnonzero(~np.asarray(finite)):
            left = "f or y" if isinstance(residual, Equation) else "its value"
            what = left if number == 0 else f"g of integral {number}"
            raise ValueError(
                f"{where}{what} is not finite at x = {show(pick(stacked, int(index)))} with a fresh network. "
                "Is there a division by 0, a log of 0, a singularity?"
            )


def traced(name: str, compute: Callable[[], Any]) -> Any:
    """Runs a trace of the user's code, and says in its terms what cannot be traced."""
    try:
        return compute()
    except (jax.errors.TracerBoolConversionError, jax.errors.TracerIntegerConversionError) as error:
        raise ValueError(
            f"{name}: it branches in Python (if, while, and, or, max, min) on a value that is only known later. "
            "Use jnp.where(condition, a, b), jnp.maximum or jnp.minimum."
        ) from error
    except jax.errors.TracerArrayConversionError as error:
        raise ValueError(
            f"{name}: it calls numpy on a value that is only known later. Use jax.numpy (jnp) instead of numpy: jnp.sin for np.sin."
        ) from error
    except jax.errors.ConcretizationTypeError as error:
        raise ValueError(
            f"{name}: it needs a number that is only known later (float(...), math.exp, range). Use jax.numpy: jnp.exp for math.exp."
        ) from error
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    except TypeError as error:
        hint = f" {POINTS}." if "shape" in str(error) else ""
        raise ValueError(f"{name}: it cannot be computed for one point: {error}{hint}") from error


def show(x: Any) -> str:
    """A point, or the parts of a record, in a message."""
    if isinstance(x, jax.Array):
        return np.array2string(np.asarray(x), precision=4)
    return ", ".join(f"{name} = {np.array2string(np.asarray(value), precision=4)}" for name, value in vars(x).items())
