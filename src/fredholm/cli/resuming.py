"""`fredholm resume`: a run goes on, with the equation that its folder holds or that the user names again."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fredholm.api import resume as resume_run
from fredholm.cli import values
from fredholm.cli.choices import problem_of
from fredholm.cli.folders import training_in
from fredholm.cli.output import finish
from fredholm.cli.runs import asking_for_problem, own_part, recorded_options
from fredholm.common.checks import positive_integer
from fredholm.storage.run_folder import RunFolder
from fredholm.study.comparison import continued
from fredholm.study.folder import STUDY, StudyFolder
from fredholm.training.record import RecordedSettings, RunRecord, SavedRun
from fredholm.training.stopping import Tolerance


def resume(options: Namespace) -> int:
    """`fredholm resume`: a run, or a comparison with those of its runs that are not finished."""
    folder = Path(options.run)
    if (folder / STUDY).is_file():
        return _resume_comparison(StudyFolder.open(folder), options)
    kept = RunFolder.open(folder)
    record = RunRecord.read(kept) if kept.is_before_first_checkpoint() else SavedRun.read(kept).record
    total = _total(options.steps, record.settings.steps)
    if record.done == (record.settings.steps if total is None else total):
        more = f"--steps {2 * record.done} for that total, or --steps +{record.done} for {record.done} more"
        raise ValueError(f"{folder}: the run has done all of its {record.done} steps. To go on, give {more}.")
    with RunFolder(folder).locked():
        pass  # Refuses a run that another process trains, before anything is imported or compiled.
    source = _source(folder, record.origin, record.settings, options)
    with training_in(folder, source):
        problem = None if source is None else problem_of(source, recorded_options(record.origin, source))
        parts: dict[str, Any] = {name: own_part(problem, record.settings, name) for name in ("method", "rule", "network", "optimizer")}
        stop = None if options.stop_at is None else Tolerance(options.stop_at)
        limits: dict[str, Any] = {"stop": stop, "minutes": options.minutes, "checkpoint_every": options.checkpoint_every}
        solution = resume_run(folder, total, problem=problem, throw=False, progress=True, **parts, **limits)
    return finish({solution.label: solution}, folder)


def _resume_comparison(study: StudyFolder, options: Namespace) -> int:
    """Runs that are finished are loaded, others are continued or started."""
    if not study.is_by_name:
        raise ValueError(f"{study.path} is the folder of a study. To go on with it, give the command that started it again.")
    origin, first = study.about.get("origin") or {}, study.runs[0].settings
    source = _source(study.path, origin, first, options)
    steps = {run.name: _total(options.steps, run.settings.steps) or run.settings.steps for run in study.runs}
    with training_in(study.path, source):
        problem = None if source is None else problem_of(source, recorded_options(origin, source))
        how = {"minutes": options.minutes, "checkpoint_every": options.checkpoint_every, "progress": True, "origin": origin}
        solutions = continued(study, problem, steps, how)
    return finish(solutions, study.path)


def _source(folder: Path, origin: Mapping[str, Any] | None, settings: RecordedSettings, options: Namespace) -> str | None:
    """Where the equation is found again, as the user says; None where the folder holds it."""
    if options.problem is None and ((origin or {}).get("file") or settings.is_own("problem")):
        raise asking_for_problem(folder, origin, options.command)
    return options.problem


def _total(steps: str | None, planned: int) -> int | None:
    """The new total number of steps; +N is N more than planned."""
    if steps is None:
        return None
    try:
        number = positive_integer("--steps", values.whole(steps))
    except ValueError:
        raise ValueError(f"--steps: got {steps!r}; expected the new total, for instance 20000, or +5000 for 5000 more.") from None
    return planned + number if steps.startswith("+") else number
