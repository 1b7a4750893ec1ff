"""Trials of an equation: a few concrete points, an untrained u, and errors of the user's code in the user's terms."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from fredholm.common.compiling import filter_compiled_once
from fredholm.domains.base import AbstractDomain, Atoms, Base
from fredholm.equation.equation import Equation
from fredholm.equation.residual import AbstractResidual, Place
from fredholm.functions.field import Field
from fredholm.functions.protocol import AbstractNetwork
from fredholm.rules.monte_carlo import MonteCarlo

POINTS = "x and t are points of shape (d,), also for d = 1: a number is x[0], not x"
Found = TypeVar("Found")
EDGE = 1e-6  # how near an edge is tried, as a share of the axis: exactly on it an equation may be singular
FEW_AXES = 3  # up to here all combinations of ends are tried
_FAR = {Base.NORMAL: (-4.0, 0.0, 4.0), Base.HALF_LINE: (EDGE, 0.7, 8.0)}


def fresh_field(equation: Equation, network: AbstractNetwork, seed: int = 0) -> Field:
    """u before any training."""
    return traced("network", lambda: filter_compiled_once(lambda key: fresh(equation, network, key))(jax.random.key(seed)))


def fresh(equation: Equation, network: AbstractNetwork, key: Key[Array, ""]) -> Field:
    """u before any training, traced."""
    unknowns = {name: jnp.asarray(value, float) for name, value in equation.unknowns.items()}
    return Field(network.build(equation.inputs, equation.outputs, key), unknowns, equation.inputs, equation.outputs)


def sample_points(residual: AbstractResidual, n: int, seed: int = 0) -> Any:
    """n points x, stacked."""
    return points_of([residual.law], n, seed)[0]


def points_of(laws: Sequence[AbstractDomain], n: int, seed: int) -> list[Any]:
    """n points of each law."""
    return _sampler()(list(laws), n, jax.random.key(seed))


@functools.cache
def _sampler() -> Callable[..., Any]:
    """One compiled program for all laws of one form: points are needed about ten times before a training."""
    return filter_compiled_once(lambda laws, n, key: [jax.vmap(law.sample)(jax.random.split(key, n)) for law in laws])


def edge_points(laws: Sequence[AbstractDomain]) -> list[Any]:
    """Corners, edges and the middle of each law, stacked: random points hardly ever come near. None for given rows, or one point."""
    return [None if not law.bases or law.samples is not None else _edges(law, _edge_nodes(law.bases)) for law in laws]


def _edge_nodes(bases: Sequence[Base]) -> np.ndarray:
    """Nodes of the base measure: every combination of both ends and the middle on few axes, one end after the other on many."""
    ends = [
        (0.0, base.count // 2, base.count - 1.0) if isinstance(base, Atoms) else _FAR.get(base, (EDGE, 0.5, 1 - EDGE)) for base in bases
    ]
    if len(bases) <= FEW_AXES:
        return np.array(list(itertools.product(*ends)))
    low, middle, high = np.array(ends).T
    one_at_a_time = [np.where(np.arange(len(bases)) == axis, end, middle) for axis in range(len(bases)) for end in (low, high)]
    return np.array([low, high, middle, *one_at_a_time])


@functools.cache
def _mapped() -> Callable[..., Any]:
    return filter_compiled_once(lambda law, z: jax.vmap(lambda one: law.map(one)[0])(z))


def _edges(law: AbstractDomain, z: np.ndarray) -> Any:
    return _mapped()(law, jnp.asarray(z, float))


def pick(stacked: PyTree, index: int) -> Any:
    """One of the stacked points. It goes through numpy, since on the device every index would compile a new program."""
    return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[index]), stacked)


def measures_of(residual: AbstractResidual, *, without_rule: bool = False) -> list[AbstractDomain]:
    """The measures of the integrals of an equation, or of a condition, at one x; or only of those without their own rule."""
    x = pick(sample_points(residual, 1), 0)
    return [integral.measure(x) for integral in residual.integrals if not (without_rule and integral.rule is not None)]


def probe_points(equation: Equation, n: int) -> Float[Array, "n d"] | None:
    """About n points where the network is evaluated: those of the evaluation, or nodes of the first integral. None where there is
    neither."""
    if equation.evaluation is not None:
        return equation.evaluation.points(n)
    if not equation.integrals:
        return None
    integral = equation.integrals[0]

    def one(key: Key[Array, ""]) -> Any:
        key_point, key_node = jax.random.split(key)
        x = equation.domain.sample(key_point)
        return integral.network_input(x, MonteCarlo(1).nodes(integral.measure(x), key_node).points[0])

    points = jax.vmap(one)(jax.random.split(jax.random.key(2024), n))
    return points if isinstance(points, jax.Array) and points.shape[1:] == (equation.inputs,) else None


def traced(name: str, compute: Callable[[], Found]) -> Found:
    """Traces the user's code. An error says in the user's terms what cannot be traced."""
    try:
        return compute()
    except jax.errors.TracerIntegerConversionError as error:
        raise ValueError(
            f"{name}: it uses a traced value, unknown until run time, as an index or a count. Put what is indexed into a JAX array: "
            "jnp.asarray(values)[i]."
        ) from error
    except jax.errors.TracerBoolConversionError as error:
        raise ValueError(
            f"{name}: it branches in Python (if, while, and, or, max, min) on a traced value, unknown until run time. "
            "Use jnp.where(condition, a, b), jnp.maximum or jnp.minimum."
        ) from error
    except jax.errors.TracerArrayConversionError as error:
        raise ValueError(
            f"{name}: it calls numpy on a traced value, unknown until run time. Use jax.numpy (jnp) instead of numpy: jnp.sin for np.sin, "
            "jnp.interp for np.interp, jnp.asarray(table)[i] for an indexed table."
        ) from error
    except jax.errors.ConcretizationTypeError as error:
        raise ValueError(
            f"{name}: it needs the number of a traced value, unknown until run time (float(...), math.exp, range). "
            "Use jax.numpy: jnp.exp for math.exp."
        ) from error
    except ValueError as error:
        part, colon, rest = str(error).partition(": ")
        said = rest if colon and part in name.split() else str(error)  # not "f at one x: f: it returned"
        raise ValueError(f"{name}: {said}") from error
    except IndexError as error:
        hint = " With one output u(x) is a number: write u(x), not u(x)[0]." if "0-dimensional" in str(error) else f" {POINTS}."
        raise ValueError(f"{name}: {_first_line(error)}.{hint}") from error
    except TypeError as error:
        hint = f" {POINTS}." if "shape" in str(error) else ""
        raise ValueError(f"{name}: it cannot be computed for one point: {_first_line(error)}{hint}") from error
    except Exception as error:  # the user's own mistake, whatever it is
        raise ValueError(f"{name}: {type(error).__name__}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    """The first line of a message, which may go on for pages."""
    return " ".join((str(error).strip().splitlines() or ["no message"])[0].split())[:300]


def show(x: Place) -> str:
    """A point, or the parts of a record, in a message."""
    if isinstance(x, jax.Array):
        return np.array2string(np.asarray(x), precision=4)
    return ", ".join(f"{name} = {np.array2string(np.asarray(value), precision=4)}" for name, value in vars(x).items())
