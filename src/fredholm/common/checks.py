"""Checks of input. A message says what was given, what is expected and what to do."""

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Real

Number = float | int | np.number | np.ndarray | Array  # a number as it is given: its shape is still to be checked
Numbers = Number | Sequence[Number] | Sequence[Sequence[Number]]  # numbers as they are given: an array, or tuples and lists
if TYPE_CHECKING:
    Scalar = float | Array  # numpy's numbers count as floats here: a sum of one of them and a JAX array is a JAX array
else:
    Scalar = float | int | np.number | Real[np.ndarray | Array, ""]  # a number after the check; it is traced where it depends on x
Kind = TypeVar("Kind")
MANY = 40  # names that are not listed where one of them is near
Vector = tuple[float, ...] | Real[Array, "_"]  # the coordinates of a point after the check
Matrix = tuple[tuple[float, ...], ...] | Real[Array, "_ _"]


def is_concrete(*values: object) -> bool:
    """True where no value is traced, so that the numbers are known."""
    return not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(values))


def limit(name: str, value: Number) -> Scalar:
    """One end of a range: a float where the number is known, a scalar array where it depends on x."""
    if isinstance(value, float) and math.isinf(value):
        raise ValueError(f"{name}: got {value!r}; expected a finite number. For an unbounded range use HalfLine.")
    return scalar(name, value)


def scalar(name: str, value: Number) -> Scalar:
    """A finite number: a float where it is known, a scalar array where it depends on x."""
    if not isinstance(value, (Array, np.ndarray, np.generic)):
        return real(name, value)
    if value.shape != ():
        raise ValueError(f"{name}: got an array of shape {value.shape}; expected a scalar. x is a point of shape (d,): write x[0], not x.")
    if is_concrete(value):
        real(name, value)
    return value  # type: ignore[return-value]


def positive_integer(name: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """`value` as an `int` from `least` to `most`, or a `ValueError` that names the argument. 1e4 is a whole number too."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name}: got {shortened(value)}; expected a whole number of at least {least}.")
    if most is not None and value > most:
        raise ValueError(f"{name}: got {shortened(value)}; expected a whole number from {least} to {most:,}.")
    return int(value)


def shortened(value: object) -> str:
    """A value in a message: one line of at most 100 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whatever it is, it must not hide the message: numbers of thousands of digits have no text
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:97]}..."


def real(name: str, value: object, *, low: float = -math.inf, high: float = math.inf, below: float = math.inf) -> float:
    """`value` as a finite `float` in [low, high] and strictly below `below`, or a `ValueError` that names the argument."""
    try:
        number = float("text" if isinstance(value, str) else value)  # type: ignore[arg-type]  # what cannot be a float raises
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: got {shortened(value)}; expected a number.") from None
    if not math.isfinite(number) or not low <= number <= high or number >= below:
        if high == below == math.inf:
            limits = "" if low == -math.inf else f" of at least {low:g}"
        else:
            limits = f" in [{low:g}, {high:g}]" if below == math.inf else f" in [{low:g}, {below:g})"
        raise ValueError(f"{name}: got {value!r}; expected a finite number{limits}.")
    return number


def vector(name: str, value: object) -> Vector:
    """A point's coordinates: a tuple of floats where the numbers are known, else an array of shape (d,).

    Known numbers stay Python floats, so that the same domain serves float32 and float64 runs without loss.
    """
    value = _stacked(name, value)
    if isinstance(value, jax.Array):
        if value.ndim != 1:
            raise ValueError(f"{name}: got an array of shape {value.shape}; expected one point, shape (d,).")
        return value
    array = numbers(name, value)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name}: got {value!r}; expected the coordinates of one point, for instance (0.0, 1.0).")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name}: got {value!r}; expected finite numbers.")
    return tuple(float(entry) for entry in array)


def numbers(name: str, value: object) -> np.ndarray | Array:
    """Numbers as an array, or a `ValueError` that names the argument."""
    try:
        return value if isinstance(value, jax.Array) else np.asarray(value, float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: got {shortened(value)}; expected numbers, as an array or as tuples of equal length.") from None


def instance(name: str, value: Kind, kind: type | tuple[type, ...], example: str) -> Kind:
    """`value`, which must be an object of this kind; `example` is how one is written."""
    if not isinstance(value, kind):
        hint = f" Write {value.__name__}(...), with its parentheses." if isinstance(value, type) and issubclass(value, kind) else ""
        raise ValueError(f"{name}: got {shortened(value)}; expected for instance {example}.{hint}")
    return value


def sequence(name: str, value: object) -> tuple[Any, ...]:
    """Several things as a tuple, or a `ValueError` that names the argument."""
    is_one = isinstance(value, (str, bytes, Mapping, type)) or (isinstance(value, np.ndarray) and not value.ndim)
    if is_one or not isinstance(value, Iterable):
        raise ValueError(f"{name}: got {shortened(value)}; expected several, as a tuple or a list.")
    return tuple(value)


def nearest(kind: str, name: object, known: Iterable[str]) -> ValueError:
    """The error for an unknown name, with the nearest known one."""
    known = sorted(known)
    if not isinstance(name, str):
        return ValueError(f"{kind}: got {shortened(name)}; expected one of {', '.join(known)}.")
    name = name[:100]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listed = "" if close and len(known) > MANY else f" Known: {', '.join(known)}."
    return ValueError(f"unknown {kind} {name!r}.{hint}{listed}")


def rows(name: str, value: object) -> Real[np.ndarray | Array, "n d"]:
    """Points as an array of shape (n, d). Shape (n,) means n points of the line."""
    value = _stacked(name, value)
    array = numbers(name, value)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name}: got shape {array.shape}; expected (n, d), one point in each row, or (n,) for points of the line.")
    if is_concrete(array) and not np.all(np.isfinite(np.asarray(array))):
        raise ValueError(f"{name}: got a number that is not finite.")
    return array


def positive(name: str, value: Scalar, meaning: str) -> Scalar:
    """A positive number. A traced value is not checked."""
    if is_concrete(value):
        known = value if isinstance(value, float) else real(name, value)
        if not 0 < known < math.inf:
            raise ValueError(f"{name}: got {known:g}; expected a positive, finite number ({meaning}).")
    return value


def _stacked(name: str, value: object) -> object:
    """Tuples and lists with traced numbers, as limits that depend on x are, as one JAX array; anything else unchanged."""
    if not isinstance(value, (tuple, list)) or is_concrete(value):
        return value
    try:
        return jnp.asarray(value, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: got {value!r}, which is no array: {error}. x is a point of shape (d,): write x[0], not x.") from None
