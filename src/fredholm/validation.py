"""Before anything is compiled: the equation is tried on a few concrete points, and what is wrong with it is said in its own terms."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fredholm.equation import Equation
from fredholm.methods.base import draw, weighted_integrand
from fredholm.networks import AbstractNetwork, Field
from fredholm.rules import AbstractRule

TRIES = 16


def check_equation(equation: Equation, rules: Sequence[AbstractRule], network: AbstractNetwork) -> None:
    """Raises `ValueError` for wrong shapes, reversed limits at some x, NaN, or code that cannot be traced."""
    key = jax.random.key(0)
    stacked = jax.jit(lambda key: jax.vmap(equation.domain.sample)(jax.random.split(key, TRIES)))(key)
    points = [jax.tree.map(lambda leaf, index=index: leaf[index], stacked) for index in range(TRIES)]
    unknowns = {name: jnp.asarray(value, float) for name, value in equation.unknowns.items()}
    built = eqx.filter_jit(network.build)(equation.inputs, equation.outputs, key)
    u = Field(built, unknowns, equation.inputs, equation.outputs)
    _check_limits(equation, rules, points)
    shapes = _shapes(equation, u, points[0], rules, key)
    expected = shapes["f"] if "f" in shapes else max(shapes.values())
    for name, size in shapes.items():
        if size != expected and not (name == "y" and size == 1):
            raise ValueError(f"{name}: it returned {size} value(s); expected {expected}, one for each equation.")
    _check_finite(equation, u, stacked, rules, key)
    if equation.exact is not None and equation.evaluation is not None:
        places = equation.evaluation.points(2)
        truth = _traced("exact", lambda: jax.eval_shape(equation.truth, places))
        if truth.shape[1] != equation.outputs:
            raise ValueError(f"exact: it returned {truth.shape[1]} value(s); expected {equation.outputs}, as Equation(outputs=...) says.")


def _check_limits(equation: Equation, rules: Sequence[AbstractRule], points: Sequence[Any]) -> None:
    """The measures at concrete points, where a reversed limit can be seen."""
    for number, (integral, rule) in enumerate(zip(equation.integrals, rules, strict=True)):
        for x in points:
            try:
                measure = integral.measure(x)
            except ValueError as error:
                raise ValueError(f"integral {number + 1}, at x = {_show(x)}: {error}") from error
            rule.check(measure)


def _shapes(equation: Equation, u: Field, x: Any, rules: Sequence[AbstractRule], key: Any) -> dict[str, int]:
    """How many values f, y, g and the conditions give."""
    left = "y" if equation.f is None else "f"
    shapes = {left: _traced(f"{left} at one x", lambda: jax.eval_shape(lambda x: equation.left(u, x), x)).shape[0]}
    for number, (integral, rule) in enumerate(zip(equation.integrals, rules, strict=True)):

        def value(x: Any, integral: Any = integral, rule: AbstractRule = rule) -> Any:
            nodes = rule.nodes(integral.measure(x), key)
            return integral.integrand(u, x, jax.tree.map(lambda leaf: leaf[0], nodes.points))

        shapes[f"g of integral {number + 1}"] = _traced(f"g of integral {number + 1}", lambda value=value: jax.eval_shape(value, x)).shape[
            0
        ]
    for number, condition in enumerate(equation.conditions):
        point = condition.at.sample(key)
        _traced(f"condition {number + 1}", lambda c=condition, p=point: jax.eval_shape(lambda p: c.error(u, p), p))
    return shapes


def _check_finite(equation: Equation, u: Field, stacked: Any, rules: Sequence[AbstractRule], key: Any) -> None:
    """f, y and g at concrete points with a fresh network."""

    def are_finite(x: Any) -> list[Any]:
        finite = [jnp.all(jnp.isfinite(equation.left(u, x)))]
        for integral, nodes in zip(equation.integrals, draw(equation, rules, x, key), strict=True):
            finite.append(jnp.all(jnp.isfinite(weighted_integrand(integral, u, x, nodes))))
        return finite

    for number, finite in enumerate(jax.jit(jax.vmap(are_finite))(stacked)):
        for index in np.flatnonzero(~np.asarray(finite)):
            what = "f or y" if number == 0 else f"g of integral {number}"
            x = jax.tree.map(lambda leaf, index=int(index): leaf[index], stacked)
            raise ValueError(
                f"{what} is not finite at x = {_show(x)} with a fresh network. Is there a division by 0, a log of 0, a singularity?"
            )


def _traced(name: str, compute: Any) -> Any:
    """Runs a trace of the user's code, and says in its terms what cannot be traced."""
    try:
        return compute()
    except (jax.errors.TracerBoolConversionError, jax.errors.TracerIntegerConversionError) as error:
        raise ValueError(
            f"{name}: it branches in Python (if, while, and, or) on a value that is only known later. Use jnp.where."
        ) from error
    except jax.errors.TracerArrayConversionError as error:
        raise ValueError(f"{name}: it calls numpy on a value that is only known later. Use jax.numpy (jnp) instead of numpy.") from error
    except jax.errors.ConcretizationTypeError as error:
        raise ValueError(f"{name}: it needs a number that is only known later (float(...), math.exp, range). Use jax.numpy.") from error
    except TypeError as error:
        raise ValueError(f"{name}: it cannot be computed for one point: {error}") from error


def _show(x: Any) -> str:
    if isinstance(x, jax.Array):
        return np.array2string(np.asarray(x), precision=4)
    return ", ".join(f"{name} = {np.array2string(np.asarray(value), precision=4)}" for name, value in vars(x).items())
