"""Runs from their folders, with what the user gives again."""

from pathlib import Path

from fredholm.cli.choices import problem_of
from fredholm.equation.equation import Equation
from fredholm.results.load import load
from fredholm.results.solution import Solution
from fredholm.storage.run_folder import RunFolder
from fredholm.training.record import RecordedSettings, RunRecord


def loaded(folder: Path, given: str | None) -> Solution:
    """A run from its folder, with the equation that the user gives again."""
    record = RunRecord.read(RunFolder.open(folder))
    problem = None if given is None else problem_of(given, (record.origin or {}).get("set") or ())
    return load(folder, problem=problem, network=own_part(problem, record.settings, "network"))


def own_part(problem: Equation | None, settings: RecordedSettings, name: str) -> object:
    """The user's own network, or another part that a folder cannot hold, from the defaults of the user's equation; else None."""
    return getattr(problem.defaults, name) if problem is not None and settings.is_own(name) else None
