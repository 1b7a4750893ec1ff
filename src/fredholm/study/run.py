"""A run of a study: its settings as a file holds them, and their hash, the key of its result."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fredholm.equation.equation import Equation, residuals
from fredholm.equation.files import equation_from_file
from fredholm.equation.probe import measures_of
from fredholm.methods.auto import Auto
from fredholm.methods.protocol import AbstractMethod
from fredholm.study.own import file_record, from_file, object_record, part_record
from fredholm.training.record import PARTS, RecordedSettings, recorded
from fredholm.training.settings import RunSettings, settings_of

Labels = dict[str, str | float]


class Run(NamedTuple):
    """A run by name. Two runs with the same settings have the same key, and are trained once."""

    name: str  # unique in its study
    settings: RecordedSettings  # everything that defines the run; the user's own equation by its content
    labels: Labels = {}  # columns of the study's table: where in a sweep the run stands
    source: str = ""  # path/to/file.py:name of the user's own equation
    own: Mapping[str, Any] = {}  # what was made in Python, the equation or a network: it stays in this process

    @property
    def is_own(self) -> bool:
        """True where the equation is the user's own."""
        problem = self.settings.values["problem"]
        return isinstance(problem, dict) and "sha256" in problem

    def record(self) -> dict[str, Any]:
        """The run as JSON: all but what was made in Python."""
        return {"name": self.name, "settings": self.settings.values, "labels": self.labels, "source": self.source}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "Run":
        """The run of a record; `arrays` are those of its settings that are too large for a text."""
        settings = RecordedSettings(dict(record["settings"]), arrays)
        return cls(str(record["name"]), settings, dict(record["labels"]), str(record.get("source", "")))

    def problem(self) -> Equation:
        """The equation. A user's file is imported, so this is called only to train."""
        recorded = self.settings.values["problem"]
        if "problem" in self.own:
            return self.own["problem"]
        return from_file(self.source, recorded) if self.source else self.settings.rebuilt_part("problem", "make_run(...)")

    def rebuilt(self) -> RunSettings:
        """The settings, ready to train."""
        return self.settings.rebuilt("make_run(...)", **{**self.own, "problem": self.problem()})

    @property
    def key(self) -> str:
        """The hash of the settings, whatever the order in which they were given."""
        return self.settings.key

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return self.settings.seeds


def check_run(settings: RunSettings) -> None:
    """Raises `ValueError` where the method refuses the equation or the number of nodes, or the rule an integral: before anything is run."""
    problem = settings.problem
    for residual, rules in residuals(problem, settings.rules):
        for measure, rule in zip(measures_of(residual), rules, strict=True):
            rule.check(measure)
    if isinstance(settings.method, AbstractMethod):
        settings.method.check(problem, settings.rules)


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
    if isinstance(problem, Equation) and options:
        raise ValueError(f"run {name!r}: got options and an equation already made; expected options for a 'path/to/file.py:name' only.")
    equation = equation_from_file(problem, options or {}) if isinstance(problem, str) else problem
    if (method is None and equation.defaults.method is None) or isinstance(method, Auto):
        raise ValueError(
            f"run {name!r}: got no method, or Auto(), whose pilot chooses one; expected a method: a study names what it compares."
        )
    plain = recorded(settings_of(equation, method, **keywords))
    made = [part for part in PARTS if part != "problem" and plain.is_own(part)]
    if made:
        raise ValueError(
            f"run {name!r}: its {made[0]} was made in Python, and other processes cannot rebuild it from its settings. "
            "Use the library's own, or fredholm.compare."
        )
    if plain.values["stop"] is not None:
        raise ValueError(f"run {name!r}: got a stopping rule; expected none, so that all runs of a study have the same steps.")
    run = own_run(name, equation, method, labels=labels, **keywords)
    if not isinstance(problem, str):
        return run
    settings = run.settings.replaced(problem=file_record(problem, options or {}))
    return run._replace(settings=settings, source=problem, own={})


def own_run(
    name: str,
    problem: Equation,
    method: AbstractMethod | Auto | None = None,
    *,
    labels: Mapping[str, str | float] | None = None,
    **keywords: Any,
) -> Run:
    """As `make_run`, for this process only: whatever was made in Python, a network say, goes with the run and is known by what it
    computes."""
    settings = settings_of(problem, method, **keywords)
    found, own = recorded(settings), {}
    for part in PARTS:
        if found.is_own(part):
            own[part] = getattr(settings, part)
            text = object_record(problem) if part == "problem" else part_record(own[part], problem)
            found = found.replaced(**{part: text})
    if settings.stop is not None:
        own["stop"] = settings.stop
    return Run(name, found, dict(labels or {}), "", own)
