"""`fredholm resume`: the only command that may import what a run recorded, the file of a user's own equation, and it says so."""

import json
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fredholm as fr
from fredholm.cli import values
from fredholm.cli.choices import problem_of
from fredholm.cli.folders import training_in
from fredholm.cli.training import COMPARISON, compared, finish, place_in, start
from fredholm.common.checks import positive_integer
from fredholm.equation.equation import Equation
from fredholm.equation.files import is_file, split
from fredholm.storage.run_folder import RunFolder
from fredholm.storage.serialisation import NotRebuildableError, decode
from fredholm.training.settings import GENERAL_STEPS
from fredholm.training.status import Status
from fredholm.training.stopping import Tolerance


def resume(options: Namespace) -> int:
    """`fredholm resume`: a run, or a comparison with those of its runs that are not finished."""
    folder = Path(options.run)
    if (folder / COMPARISON).is_file() and not (folder / "run.json").exists():
        return _resume_comparison(folder, options)
    settings = RunFolder.open(folder).read_settings()
    total = _total(options.steps, settings["steps"])
    done = settings["done"]
    if done == (settings["steps"] if total is None else total):
        more = f"--steps {2 * done} for a larger total, or --steps +{done} for so many more"
        raise ValueError(f"{folder}: the run has done all of its {done} steps. To go on, give {more}.")
    with RunFolder(folder).locked():
        pass  # Refuses at once a run that another process has, before anything is imported or compiled.
    source = _source(folder, settings, options.problem)
    with training_in(folder, source):
        problem = None if source is None else problem_of(source, _recorded_options(settings, source))
        solution = _continued(folder, settings, total, problem, options)
    return finish({str(solution.settings["label"]): solution}, folder)


def _resume_comparison(folder: Path, options: Namespace) -> int:
    """Runs that are finished are loaded, others are continued, and what had not begun is started as the comparison's command says."""
    from fredholm.cli.parser import parse  # the parser knows every command, so this module cannot import it at the top

    try:
        started = parse([str(part) for part in json.loads((folder / COMPARISON).read_text(encoding="utf-8"))["command"]])
    except (OSError, ValueError, KeyError, TypeError, SystemExit) as error:
        raise ValueError(f"{folder / COMPARISON} cannot be read: {error}") from None
    if started.name != "compare":
        raise ValueError(f"{folder / COMPARISON}: expected the command of a comparison, got {started.name!r}.")
    if options.problem is None and is_file(started.problem):
        _announce(folder, started.problem)
    started.problem = options.problem or started.problem
    problem = problem_of(started.problem, started.set)
    methods, keywords = compared(problem, started)
    keywords["steps"] = _total(options.steps, keywords["steps"] or problem.defaults.steps or GENERAL_STEPS) or keywords["steps"]
    options.stop_at = started.stop_at if options.stop_at is None else options.stop_at
    solutions = {}
    with training_in(folder, started.problem), RunFolder(folder).locked():
        for name, method in methods.items():
            place = place_in(folder, name)
            if not (place / "run.json").exists():
                solutions[name] = start(problem, method, {**keywords, "minutes": options.minutes}, place, name, started)
                continue
            settings = RunFolder.open(place).read_settings()
            total = _total(options.steps, settings["steps"])
            if total == settings["done"] or (total is None and _has_ended(settings)):
                solutions[name] = fr.load(place, problem=problem, network=own_part(problem, settings, "network"))
            else:
                solutions[name] = _continued(place, settings, total, problem, options)
    return finish(solutions, folder)


def _continued(folder: Path, settings: Mapping[str, Any], total: int | None, problem: Equation | None, options: Namespace) -> fr.Solution:
    parts = {name: own_part(problem, settings, name) for name in ("method", "rule", "network", "optimizer")}
    stop = None if options.stop_at is None else Tolerance(options.stop_at)
    limits = {"stop": stop, "minutes": options.minutes, "checkpoint_every": options.checkpoint_every}
    return fr.resume(folder, total, problem=problem, throw=False, progress=True, **parts, **limits)


def own_part(problem: Equation | None, settings: Mapping[str, Any], name: str) -> Any:
    """The user's own network, or another part that a folder cannot hold, from the defaults of the user's equation; else None."""
    try:
        decode(settings[name])
    except NotRebuildableError:
        return None if problem is None else getattr(problem.defaults, name)
    return None


def _source(folder: Path, settings: Mapping[str, Any], given: str | None) -> str | None:
    """Where the equation is found again: as the user says now, or as the run recorded it; None where the folder holds it."""
    if given is not None:
        return given
    recorded = (settings.get("origin") or {}).get("file")
    if recorded:
        _announce(folder, str(recorded))
        return str(recorded)
    try:
        decode(settings["problem"])
    except NotRebuildableError:
        raise ValueError(f"{folder}: its equation was made in Python and is not in the folder; give --problem file.py:name.") from None
    return None


def _announce(folder: Path, recorded: str) -> None:
    """Says what is about to be imported. A file inside the run folder came with it, so it is imported only if the user names it."""
    path, name = split(recorded)
    if path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{folder}: its equation is in {path}, inside the run folder. If you trust that file, give --problem {recorded}.")
    print(f"importing {name} from {path}, which the run was started with", flush=True)


def _recorded_options(settings: Mapping[str, Any], source: str) -> list[str]:
    """What --set gave to the function in the user's file."""
    return list((settings.get("origin") or {}).get("set") or ()) if is_file(source) else []


def _total(steps: str | None, planned: int) -> int | None:
    """The new total number of steps; +N is N more than planned."""
    if steps is None:
        return None
    try:
        number = positive_integer("--steps", values.whole(steps))
    except ValueError:
        raise ValueError(f"--steps: got {steps!r}; expected the new total, for instance 20000, or +5000 for so many more.") from None
    return planned + number if steps.startswith("+") else number


def _has_ended(settings: Mapping[str, Any]) -> bool:
    ends = {Status[name] for name, _ in settings["status"]}
    return not ends & {Status.INTERRUPTED, Status.OUT_OF_TIME}
