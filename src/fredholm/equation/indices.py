"""Entries that an array does not have: JAX takes the nearest one in silence."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from jax.extend.core import Jaxpr, Literal, subjaxprs

# What a constant index goes through before an entry is taken.
FOLDED: Mapping[str, Callable[..., Any]] = {
    "lt": operator.lt,
    "add": operator.add,
    "select_n": lambda which, *cases: cases[int(which)],
    "convert_element_type": lambda value: value,
}


def out_of_range(program: Jaxpr) -> tuple[int, int] | None:
    """The first constant index in a traced program that lies outside of its array, with the array's length; None where there is none."""
    known: dict[Any, Any] = {}
    for equation in program.eqns:
        values = [one.val if isinstance(one, Literal) else known.get(one) for one in equation.invars]
        name = equation.primitive.name
        if name == "dynamic_slice":
            lengths = equation.invars[0].aval.shape  # type: ignore[attr-defined]
            for start, size, length in zip(values[1:], equation.params["slice_sizes"], lengths, strict=True):
                if start is not None and not 0 <= start <= length - size:
                    return int(start) if start >= 0 else int(start) - length, length
        elif name in FOLDED and all(value is not None for value in values):
            known[equation.outvars[0]] = FOLDED[name](*values)
    inner = (out_of_range(one) for one in subjaxprs(program))
    return next((found for found in inner if found is not None), None)
