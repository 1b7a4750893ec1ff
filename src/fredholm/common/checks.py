"""How wrong input is refused: what was given, what is wanted, what to do."""

import difflib
import math
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np
from jax.core import Tracer


def is_concrete(*values: Any) -> bool:
    """True when none of the values is being traced, so that its number can be looked at."""
    return not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(values))


def limit(name: str, value: Any) -> Any:
    """One end of a range: a float where the number is known, else a scalar array, where it depends on x."""
    if hasattr(value, "shape") and value.shape != ():
        raise ValueError(f"{name}: got an array of shape {value.shape}; expected a scalar. x is a point of shape (d,): write x[0], not x.")
    if hasattr(value, "dtype"):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name}: got {value!r}; expected a finite number. For an unbounded range use HalfLine.")
    return real(name, value)


def positive_integer(name: str, value: Any, *, least: int = 1) -> int:
    """`value` as an `int` of at least `least`, or a `ValueError` that names the argument."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{name}: got {value!r}; expected a whole number of at least {least}.")
    return int(value)


def real(name: str, value: Any, *, low: float = -math.inf, high: float = math.inf, below: float = math.inf) -> float:
    """`value` as a finite `float` in [low, high] and strictly below `below`, or a `ValueError` that names the argument."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: got {value!r}; expected a number.") from None
    if not math.isfinite(number) or not low <= number <= high or number >= below:
        if high == below == math.inf:
            limits = "" if low == -math.inf else f" of at least {low:g}"
        else:
            limits = f" in [{low:g}, {high:g}]" if below == math.inf else f" in [{low:g}, {below:g})"
        raise ValueError(f"{name}: got {value!r}; expected a finite number{limits}.")
    return number


def vector(name: str, value: Any) -> Any:
    """A point's coordinates: a tuple of floats where the numbers are known, else an array of shape (d,).

    Known numbers stay Python floats, so that the same domain serves float32 and float64 runs without loss.
    """
    if isinstance(value, jax.Array):
        if value.ndim != 1:
            raise ValueError(f"{name}: got an array of shape {value.shape}; expected one point, shape (d,).")
        return value
    array = np.asarray(value, dtype=float)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name}: got {value!r}; expected the coordinates of one point, for instance (0.0, 1.0).")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name}: got {value!r}; expected finite numbers.")
    return tuple(float(entry) for entry in array)


def nearest(kind: str, name: str, known: Iterable[str]) -> ValueError:
    """The error for an unknown name, with the nearest known one."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return ValueError(f"unknown {kind} {name!r}.{hint} Known: {', '.join(known)}.")


def rows(name: str, value: Any) -> Any:
    """Points as an array of shape (n, d): (n,) are n numbers, n points of the line."""
    array = value if isinstance(value, jax.Array) else np.asarray(value, float)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name}: got shape {array.shape}; expected (n, d), one point in each row, or (n,) for points of the line.")
    if is_concrete(array) and not np.all(np.isfinite(np.asarray(array))):
        raise ValueError(f"{name}: got a number that is not finite.")
    return array


def positive(name: str, value: Any, meaning: str) -> Any:
    """A positive number, checked where it is known."""
    if is_concrete(value) and not 0 < float(value) < math.inf:
        raise ValueError(f"{name}: got {float(value):g}; expected a positive, finite number ({meaning}).")
    return value
