"""What `run.json` may hold: every key with its kind and its range, checked before anything is built from it."""

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from fredholm.common.checks import nearest
from fredholm.training.status import Status

DEPTH = 60  # levels of nested lists and objects
MOST = 2**53  # of any count: JSON's numbers are exact up to here
MOST_AXES = 10_000  # inputs and outputs of a network
CHARACTERS = 1_000_000  # of a text


class Entry(NamedTuple):
    """What one key may hold."""

    is_right: Callable[[Any], bool]
    expected: str  # in words


def _whole(low: int, high: int) -> Entry:
    """A whole number of this range."""
    return Entry(lambda value: type(value) is int and low <= value <= high, f"a whole number from {low} to {high}")


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= CHARACTERS


def _all(value: object, is_right: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(is_right(item) for item in value)


def _is_seed_status(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and value[0] in Status.__members__ and type(value[1]) is int and value[1] >= -1


_TEXT = Entry(_is_text, "text")
_PART = Entry(lambda value: _is_text(value) or isinstance(value, dict), "an object as text")  # in format 1 as JSON
_OBJECT = Entry(lambda value: value is None or isinstance(value, dict), "an object with names, or null")
_TEXTS = Entry(lambda value: _all(value, _is_text), "a list of texts")
ENTRIES: Mapping[str, Entry] = {
    "label": _TEXT,
    **dict.fromkeys(("problem", "method", "rule", "network", "optimizer", "adapt"), _PART),
    **dict.fromkeys(("steps", "batch", "record_every"), _whole(1, MOST)),
    "average": Entry(lambda value: _is_number(value) and 0 <= value < 1, "a number from 0 to below 1"),
    "seeds": Entry(
        lambda value: _all(value, lambda seed: type(seed) is int and 0 <= seed < 2**63) and 0 < len(value) == len(set(value)),
        "a list of different seeds",
    ),
    "precision": Entry(lambda value: value in ("float32", "float64"), "'float32' or 'float64'"),
    "stop": Entry(lambda value: value is None or _is_text(value), "text, or null"),
    **dict.fromkeys(("inputs", "outputs"), _whole(1, MOST_AXES)),
    "unknowns": _TEXTS,
    "parameters": _TEXTS,
    **dict.fromkeys(("auto", "origin"), _OBJECT),
    "environment": Entry(lambda value: isinstance(value, dict), "an object with names"),
    "done": _whole(0, MOST),
    "seconds": Entry(lambda value: _is_number(value) and value >= 0, "a number of at least 0"),
    "status": Entry(lambda value: _all(value, _is_seed_status), "for each seed how it ended, and at which step"),
    "kept": Entry(lambda value: value == "networks", "'networks'"),
    "history": _TEXTS,
}
OF_ORIGIN: Mapping[str, Entry] = {
    "command": _TEXTS,
    "set": _TEXTS,
    "file": Entry(lambda value: value is None or _is_text(value), "text, or null"),
}
# What older versions did not write.
OPTIONAL = ("average", "parameters", "auto", "origin", "environment", "kept", "history", "stop", "record_every", "adapt")


def check_run(where: str, data: Mapping[str, Any], known: Collection[str]) -> None:
    """Raises a `ValueError` of one line where the content of a `run.json` is not what it should be. `known` are the names of all keys."""
    for name in data:
        if name not in known and name not in ENTRIES and name != "format":
            raise ValueError(f"{where}: {nearest('key', name[:50], known)}")
    missing = [name for name in ENTRIES if name not in data and name not in OPTIONAL]
    if missing:
        raise ValueError(f"{where}: {missing[0]!r} is missing.")
    check_depth(where, data)
    _check_entries(where, data, ENTRIES)
    _check_entries(f"{where}: origin", data.get("origin") or {}, OF_ORIGIN)
    if len(data["status"]) not in (0, len(data["seeds"])):
        raise ValueError(f"{where}: it has {len(data['seeds'])} seeds and says of {len(data['status'])} how they ended; expected as many.")


def _check_entries(where: str, data: Mapping[str, Any], entries: Mapping[str, Entry]) -> None:
    for name, entry in entries.items():
        if name in data and not entry.is_right(data[name]):
            raise ValueError(f"{where}: {name}: got {data[name]!r:.60}; expected {entry.expected}.")


def check_depth(where: str, data: object) -> None:
    """Raises `ValueError` for nesting so deep that a reader would run out of stack."""
    level = [data]
    for _ in range(DEPTH):
        level = [item for one in level for item in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())]
        if not level:
            return
    raise ValueError(f"{where}: nested more than {DEPTH} levels deep.")
