"""Programs that run once: they are compiled in a hurry, since compiling them takes longer than running them."""

from collections.abc import Callable
from typing import Any

import jax

# On a CPU LLVM's optimisation is half of the compiler's time.
HURRIED = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def compiled_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.jit` for what is called a few times and has little to do."""
    return jax.jit(function, compiler_options=HURRIED if jax.default_backend() == "cpu" else None)
