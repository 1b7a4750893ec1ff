"""`fredholm resume`: the only command that may import what a run recorded, the file of a user's own equation, and it says so."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fredholm.api import resume as resume_run
from fredholm.cli import values
from fredholm.cli.choices import problem_of
from fredholm.cli.folders import training_in
from fredholm.cli.output import finish
from fredholm.cli.runs import own_part
from fredholm.common.checks import positive_integer
from fredholm.equation.files import is_file, split
from fredholm.storage.run_folder import RunFolder
from fredholm.study.comparison import continued
from fredholm.study.folder import STUDY, StudyFolder
from fredholm.training.record import RecordedSettings, RunRecord
from fredholm.training.stopping import Tolerance


def resume(options: Namespace) -> int:
    """`fredholm resume`: a run, or a comparison with those of its runs that are not finished."""
    folder = Path(options.run)
    if (folder / STUDY).is_file():
        return _resume_comparison(StudyFolder.open(folder), options)
    record = RunRecord.read(RunFolder.open(folder))
    total = _total(options.steps, record.settings.steps)
    if record.done == (record.settings.steps if total is None else total):
        more = f"--steps {2 * record.done} for a larger total, or --steps +{record.done} for so many more"
        raise ValueError(f"{folder}: the run has done all of its {record.done} steps. To go on, give {more}.")
    with RunFolder(folder).locked():
        pass  # Refuses at once a run that another process has, before anything is imported or compiled.
    source = _source(folder, record.origin, record.settings, options.problem)
    with training_in(folder, source):
        problem = None if source is None else problem_of(source, _recorded_options(record.origin, source))
        parts = {name: own_part(problem, record.settings, name) for name in ("method", "rule", "network", "optimizer")}
        stop = None if options.stop_at is None else Tolerance(options.stop_at)
        limits = {"stop": stop, "minutes": options.minutes, "checkpoint_every": options.checkpoint_every}
        solution = resume_run(folder, total, problem=problem, throw=False, progress=True, **parts, **limits)
    return finish({solution.label: solution}, folder)


def _resume_comparison(study: StudyFolder, options: Namespace) -> int:
    """Runs that are finished are loaded, others are continued or started."""
    if not study.is_by_name:
        raise ValueError(f"{study.path} is the folder of a study. To go on with it, give the command that started it again.")
    origin, first = study.about.get("origin") or {}, study.runs[0].settings
    source = _source(study.path, origin, first, options.problem)
    steps = {run.name: _total(options.steps, run.settings.steps) or run.settings.steps for run in study.runs}
    with training_in(study.path, source):
        problem = None if source is None else problem_of(source, _recorded_options(origin, source))
        how = {"minutes": options.minutes, "checkpoint_every": options.checkpoint_every, "progress": True, "origin": origin}
        solutions = continued(study, problem, steps, how)
    return finish(solutions, study.path)


def _source(folder: Path, origin: Mapping[str, Any] | None, settings: RecordedSettings, given: str | None) -> str | None:
    """Where the equation is found again: as the user says now, or as the run recorded it; None where the folder holds it."""
    if given is not None:
        return given
    recorded = (origin or {}).get("file")
    if recorded:
        _announce(folder, str(recorded))
        return str(recorded)
    if settings.is_own("problem"):
        raise ValueError(f"{folder}: its equation was made in Python and is not in the folder; give --problem file.py:name.")
    return None


def _announce(folder: Path, recorded: str) -> None:
    """Says what is about to be imported. A file inside the run folder came with it, so it is imported only if the user names it."""
    path, name = split(recorded)
    if path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{folder}: its equation is in {path}, inside the run folder. If you trust that file, give --problem {recorded}.")
    print(f"importing {name} from {path}, which the run was started with", flush=True)


def _recorded_options(origin: Mapping[str, Any] | None, source: str) -> list[str]:
    """What --set gave to the function in the user's file."""
    return list((origin or {}).get("set") or ()) if is_file(source) else []


def _total(steps: str | None, planned: int) -> int | None:
    """The new total number of steps; +N is N more than planned."""
    if steps is None:
        return None
    try:
        number = positive_integer("--steps", values.whole(steps))
    except ValueError:
        raise ValueError(f"--steps: got {steps!r}; expected the new total, for instance 20000, or +5000 for so many more.") from None
    return planned + number if steps.startswith("+") else number
