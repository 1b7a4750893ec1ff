"""How hard the compiler works at a program: a program that runs once is compiled in a hurry, since compiling it takes longer than
running it; one that runs for long has all that the processor can do."""

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


def compiled_for_long(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.jit`. On a CPU XLA takes vectors of 256 bits for activations, though its products of matrices have the 512 of processors with
    as many: with them a step of the paper's problems takes up to 4 % less time, 1.6 % in the median."""
    return jax.jit(function, compiler_options={"xla_cpu_prefer_vector_width": 512} if jax.default_backend() == "cpu" else None)
