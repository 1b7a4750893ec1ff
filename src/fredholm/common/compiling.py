"""Programs that run once are compiled in a hurry: compiling them takes longer than running them."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax


def in_a_hurry() -> dict[str, Any] | None:
    """Options of the compiler for what is called a few times and has little to do: on a CPU LLVM's optimisation is half of its time."""
    if jax.default_backend() != "cpu":
        return None
    return {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def compiled_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.jit`, in a hurry."""
    return jax.jit(function, compiler_options=in_a_hurry())


def filter_compiled_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """`eqx.filter_jit`, in a hurry: what it takes and returns may have parts that are no arrays."""
    jit: Any = eqx.filter_jit  # its types do not have the options of jax.jit, which it passes on
    return jit(function, compiler_options=in_a_hurry())
