"""Compiled programs for values with parts that are not arrays, and fast compilation for programs that run only a few times.

`eqx.filter_jit` keeps every program for ever, with whatever its functions hold: each solve of a new equation would take 10 MB more. Here a
program is forgotten with its function, and of a function that lives as long as the process the last `KEPT` programs are kept.

JAX keeps the structure of what a program returns, too. So no part of a result that is not an array may leave a program through it:
`eqx.filter_eval_shape` would keep the user's f for ever.
"""

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np

KEPT = 16  # programs of one function


def in_a_hurry() -> dict[str, Any] | None:
    """Compiler options for a small program that is called a few times. On a CPU, LLVM's optimisation takes half of the compile time."""
    if jax.default_backend() != "cpu":
        return None
    return {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def compiled_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.jit` with fast compilation."""
    return jax.jit(function, compiler_options=in_a_hurry())


def filter_compiled_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """`filter_compiled` with fast compilation."""
    return _filtered(function, compiled_once)


def filter_compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.jit` for arguments and results that may have parts that are not arrays; a program for each combination of such parts."""
    return _filtered(function, jax.jit)


def shapes_of(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns, with a `ShapeDtypeStruct` for each array: it is traced and not computed. Arguments may have parts that are
    not arrays, and so may the result."""
    everything = (function, *arguments)  # a network is a function with arrays of its own
    arrays, static = eqx.partition(everything, lambda leaf: _is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct))
    of_arrays, rest = _split(lambda function, *own: function(*own), static)
    return eqx.combine(jax.eval_shape(of_arrays, arrays), rest[0])


def _filtered(function: Callable[..., Any], compiled: Callable[..., Any]) -> Callable[..., Any]:
    programs: OrderedDict[Any, tuple[Callable[..., Any], list[Any]]] = OrderedDict()

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        arrays, static = eqx.partition(arguments, _is_array)
        leaves, structure = jax.tree.flatten(static)
        key = structure, tuple(leaves), jax.config.jax_enable_x64  # type: ignore[attr-defined]
        if key not in programs:
            programs[key] = _program(function, static, compiled)
            if len(programs) > KEPT:
                programs.popitem(last=False)
        programs.move_to_end(key)
        program, rest = programs[key]
        found = program(arrays)
        return eqx.combine(found, rest[0])

    return call


def _program(function: Callable[..., Any], static: Any, compiled: Callable[..., Any]) -> tuple[Callable[..., Any], list[Any]]:
    """A program of the arrays alone, and a list for the parts of its result that are not arrays, which it fills when it is traced."""
    of_arrays, rest = _split(function, static)
    return compiled(of_arrays), rest


def _split(function: Callable[..., Any], static: Any) -> tuple[Callable[[Any], Any], list[Any]]:
    """The function of the arrays alone, and the list that it fills."""
    rest: list[Any] = []

    def of_arrays(arrays: Any) -> Any:
        found, other = eqx.partition(function(*eqx.combine(arrays, static)), _is_array)
        rest[:] = [other]
        return found

    return of_arrays, rest


def _is_array(leaf: object) -> bool:
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic))
