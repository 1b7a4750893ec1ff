"""Programs within a program, where a CPU is faster with them."""

from collections.abc import Callable
from typing import Any

import jax
from jax.experimental.xla_metadata import set_xla_metadata


def kept_apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function. On a CPU the compiler fuses nothing across its edge: what goes in and what comes out is computed once and is in
    memory. XLA fuses a product of matrices with nothing, but what stands before it with everything else that uses it, and computes it again
    in each place, across the rows where the other place goes down the columns. A barrier of `jax.lax` is gone before XLA fuses."""
    compiled = jax.jit(function)

    def called(*arguments: Any) -> Any:
        if jax.default_backend() != "cpu":
            return function(*arguments)
        with set_xla_metadata(inlineable="false"):
            return compiled(*arguments)

    return called
