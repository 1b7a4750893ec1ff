"""Lists of settings: the full grid of some values, and one value changed at a time."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Settings = dict[str, Any]


def grid(axes: Mapping[str, Sequence[Any]]) -> Iterator[Settings]:
    """Every combination of the values: `{"width": [32, 64], "depth": [2, 3]}` are four settings."""
    for chosen in itertools.product(*axes.values()):
        yield dict(zip(axes, chosen, strict=True))


def one_at_a_time(axes: Mapping[str, Sequence[Any]]) -> Iterator[Settings]:
    """Each value by itself, the rest as in the base: `{"width": [32, 64], "depth": [2]}` are three settings."""
    for name, values in axes.items():
        for value in values:
            yield {name: value}


def name_of(settings: Mapping[str, Any]) -> str:
    """What a run of a sweep is called: `width=32, depth=2`."""
    return ", ".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in settings.items())
