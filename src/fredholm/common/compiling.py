"""Fast compilation for programs that run only a few times: compiling them takes longer than running them."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax


def in_a_hurry() -> dict[str, Any] | None:
    """Compiler options for a small program that is called a few times. On a CPU, LLVM's optimisation takes half of the compile time."""
    if jax.default_backend() != "cpu":
        return None
    return {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def compiled_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.jit` with fast compilation."""
    return jax.jit(function, compiler_options=in_a_hurry())


def filter_compiled_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """`eqx.filter_jit` with fast compilation: arguments and results may have parts that are not arrays."""
    jit: Any = eqx.filter_jit  # it passes the options of jax.jit on, but its types do not list them
    return jit(function, compiler_options=in_a_hurry())
