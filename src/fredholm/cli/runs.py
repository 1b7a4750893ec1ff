"""Runs from their folders, with what the user gives again. No file is imported because a folder names it."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fredholm.cli.choices import problem_of
from fredholm.equation.equation import Equation
from fredholm.equation.files import is_file
from fredholm.results.load import load
from fredholm.results.solution import Solution
from fredholm.storage.run_folder import RunFolder
from fredholm.training.record import RecordedSettings, RunRecord


def loaded(folder: Path, given: str | None) -> Solution:
    """A run from its folder, with the equation that the user gives again."""
    record = RunRecord.read(RunFolder.open(folder))
    problem = None if given is None else problem_of(given, recorded_options(record.origin, given))
    return load(folder, problem=problem, network=own_part(problem, record.settings, "network"))


def own_part(problem: Equation | None, settings: RecordedSettings, name: str) -> object:
    """The user's own network, or another part that a folder cannot hold, from the defaults of the user's equation; else None."""
    return getattr(problem.defaults, name) if problem is not None and settings.is_own(name) else None


def recorded_options(origin: Mapping[str, Any] | None, given: str) -> Sequence[str]:
    """What --set gave to the function in the user's file."""
    return list((origin or {}).get("set") or ()) if is_file(given) else []


def asking_for_problem(folder: Path, origin: Mapping[str, Any] | None, command: Sequence[str]) -> ValueError:
    """The error where a command needs an equation that the folder does not hold: it names the recorded file, and says what to type."""
    recorded = str((origin or {}).get("file") or "")
    again = shlex.join(["fredholm", *command, "--problem", recorded or "FILE.py:NAME"])
    if recorded:
        return ValueError(f"{folder}: its equation is {recorded}. A file is imported only where you name it. If you trust it: {again}")
    return ValueError(f"{folder}: its equation was made in Python and is not in the folder. Put it into a file: {again}")
