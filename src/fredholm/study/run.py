"""One run of a study as plain data: its settings, and the hash of them, by which its result is found again."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from fredholm.equation import Equation
from fredholm.methods import AbstractMethod
from fredholm.training.setup import fill_in

PARTS = ("problem", "method", "rule", "network", "optimizer")
Labels = dict[str, str | float]


class Run(NamedTuple):
    """A run by name. Two runs with the same settings have the same key, and are trained once."""

    name: str  # unique in its study
    settings: dict[str, Any]  # everything that defines the run, as JSON: what run.json records
    labels: Labels = {}  # columns of the study's table: where in a sweep the run stands

    @property
    def key(self) -> str:
        """The hash of the settings, whatever the order in which they were given."""
        text = json.dumps(self.settings, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return tuple(self.settings["seeds"])


def make_run(
    name: str, problem: Equation, method: AbstractMethod | None = None, *, labels: Mapping[str, str | float] | None = None, **keywords: Any
) -> Run:
    """A run with the keywords of `solve`; what is not given is the problem's own default.

    A run is rebuilt from its settings in other processes and on other machines, so it is made of the library's own problems, methods,
    rules, networks and optimisers.
    """
    settings = fill_in(problem, method, **keywords).describe()
    for part in PARTS:
        if _is_opaque(settings[part]):
            raise ValueError(
                f"run {name!r}: its {part} was made in Python, and other processes cannot rebuild it from its settings. "
                "Use the library's own, or fredholm.compare for your own equation."
            )
    if settings["stop"] is not None:
        raise ValueError(f"run {name!r}: got a stopping rule; expected none, so that all runs of a study have the same steps.")
    return Run(name, settings, dict(labels or {}))


def _is_opaque(data: Any) -> bool:
    if isinstance(data, dict):
        return "opaque" in data or any(map(_is_opaque, data.values()))
    return isinstance(data, list) and any(map(_is_opaque, data))
