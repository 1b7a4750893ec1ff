"""One run of a study as plain data: its settings, and the hash of them, by which its result is found again."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from fredholm.equation.equation import Equation
from fredholm.equation.files import equation_from_file
from fredholm.methods import AbstractMethod, Auto
from fredholm.storage.serialisation import decode
from fredholm.study.own import file_record, from_file, object_record
from fredholm.training.settings import with_defaults

PARTS = ("problem", "method", "rule", "network", "optimizer")
Labels = dict[str, str | float]


class Run(NamedTuple):
    """A run by name. Two runs with the same settings have the same key, and are trained once."""

    name: str  # unique in its study
    settings: dict[str, Any]  # everything that defines the run, as JSON: what run.json records
    labels: Labels = {}  # columns of the study's table: where in a sweep the run stands
    source: str = ""  # path/to/file.py:name of the user's own equation; the settings know it by its content
    equation: Equation | None = None  # the user's own equation, made in Python: it stays in this process

    @property
    def is_own(self) -> bool:
        """True where the equation is the user's own."""
        return "sha256" in self.settings["problem"]

    def record(self) -> dict[str, Any]:
        """The run as JSON: all but an equation that was made in Python."""
        return {"name": self.name, "settings": self.settings, "labels": self.labels, "source": self.source}

    def problem(self) -> Equation:
        """The equation. That of a file is imported: this is called to train, never to look at what there is."""
        if self.equation is not None:
            return self.equation
        recorded = self.settings["problem"]
        return from_file(self.source, recorded) if self.source else decode(recorded)

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
    name: str,
    problem: Equation | str,
    method: AbstractMethod | Auto | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    labels: Mapping[str, str | float] | None = None,
    **keywords: Any,
) -> Run:
    """A run with the keywords of `solve`; what is not given is the problem's own default.

    A run is rebuilt from its settings in other processes and on other machines, so it is made of the library's own methods, rules,
    networks and optimisers. The problem is one of the library's; or `"path/to/file.py:name"`, your own equation or a function that makes
    one from `options`, and then the run is known by the file's content; or your own `Equation`, known by what it computes, which is
    trained in this process only.
    """
    source = problem if isinstance(problem, str) else ""
    if isinstance(problem, str):
        problem = equation_from_file(problem, options or {})
    elif options:
        raise ValueError(f"run {name!r}: got options and an equation already made; expected options for a 'path/to/file.py:name' only.")
    if (method is None and problem.defaults.method is None) or isinstance(method, Auto):
        raise ValueError(
            f"run {name!r}: got no method, or Auto(), whose pilot chooses one; expected a method: what a study compares is named."
        )
    settings = with_defaults(problem, method, **keywords).describe()
    own = problem if not source and _is_opaque(settings["problem"]) else None
    if source:
        settings["problem"] = file_record(source, options or {})
    elif own is not None:
        settings["problem"] = object_record(own)
    for part in PARTS[1:]:
        if _is_opaque(settings[part]):
            raise ValueError(
                f"run {name!r}: its {part} was made in Python, and other processes cannot rebuild it from its settings. "
                "Use the library's own, or fredholm.compare."
            )
    if settings["stop"] is not None:
        raise ValueError(f"run {name!r}: got a stopping rule; expected none, so that all runs of a study have the same steps.")
    return Run(name, settings, dict(labels or {}), source, own)


def _is_opaque(data: Any) -> bool:
    if isinstance(data, dict):
        return "opaque" in data or any(map(_is_opaque, data.values()))
    return isinstance(data, list) and any(map(_is_opaque, data))
