"""The commands that train: solve, compare and resume."""

import json
import shlex
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import fredholm as fr
from fredholm.checks import positive_integer
from fredholm.cli import values
from fredholm.cli.choices import keywords_of, method_of, problem_of
from fredholm.cli.files import is_file, split
from fredholm.cli.folders import Failure, Paused, folder_for, training_in, write_pages
from fredholm.equation import Equation
from fredholm.recipes import NotRebuildable, decode
from fredholm.statistics import bootstrap_interval
from fredholm.status import Status
from fredholm.storage import RunFolder, write_atomically
from fredholm.training.setup import GENERAL_RULE, GENERAL_STEPS
from fredholm.training.stopping import Tolerance

COMPARISON = "compare.json"  # the command of a comparison, so that resume can start what had not begun


def solve(options: Namespace) -> int:
    """`fredholm solve`."""
    problem = problem_of(options.problem, options.set)
    method, keywords = method_of(problem, options.method, options), keywords_of(problem, options)
    folder = folder_for(options.problem, options.out)
    with training_in(folder, options.problem):
        solution = fr.solve(
            problem, method, **keywords, out=folder, throw=False, progress=True, label=options.label, origin=_origin(options)
        )
    return finish({str(solution.settings["label"]): solution}, folder)


def compare(options: Namespace) -> int:
    """`fredholm compare`."""
    names = list(options.methods)
    if len(set(names)) != len(names):
        raise ValueError(f"--methods: got {' '.join(names)}; expected different methods.")
    problem = problem_of(options.problem, options.set)
    methods, keywords = _compared(problem, options)
    folder = folder_for(options.problem, options.out)
    with training_in(folder, options.problem):
        command = json.dumps({"command": options.command}, indent=2, ensure_ascii=False)
        write_atomically(RunFolder.create(folder).path / COMPARISON, lambda file: file.write(command.encode()))
        solutions = _train_all(problem, methods, keywords, folder, options)
    return finish(solutions, folder)


def resume(options: Namespace) -> int:
    """`fredholm resume`: a run, or a comparison with its runs that are not finished."""
    folder = Path(options.run)
    if (folder / COMPARISON).is_file() and not (folder / "run.json").exists():
        return _resume_comparison(folder, options)
    settings = RunFolder.open(folder).read_settings()
    total = _total(options.steps, settings)
    if not _is_unfinished(settings, total):
        raise ValueError(
            f"{folder}: the run has done all of its {settings['done']} steps. Continue it with a larger total, --steps {2 * settings['done']}, "
            f"or with some more, --steps +{settings['done']}."
        )
    source = _source(folder, settings, options.problem)
    with training_in(folder, source):
        solution = _resumed(folder, settings, total, source, options)
    return finish({str(solution.settings["label"]): solution}, folder)


def finish(solutions: Mapping[str, fr.Solution], folder: Path) -> int:
    """Prints the result, makes the pages, and says where they are; 1 if a seed failed."""
    if len(solutions) == 1:
        print(next(iter(solutions.values())), flush=True)
    else:
        print_table(solutions)
    try:
        page = write_pages(solutions, folder)
    except KeyboardInterrupt:
        raise Paused(
            f"interrupted; the training is done and saved. Make its page with: fredholm report {shlex.quote(str(folder))}"
        ) from None
    print(f"{'run':<10}{folder}\n{'page':<10}{page}", flush=True)
    failed = [name for name, solution in solutions.items() if not solution.good.all()]
    if failed:
        raise Failure(f"{'; '.join(_failed(solutions[name], name) for name in failed)}. The last good states are in {folder}")
    return 0


def print_table(solutions: Mapping[str, fr.Solution]) -> None:
    """One row for each run: the error with its interval over seeds, or where there is no exact solution the last loss."""
    scores = {name: solution.score() for name, solution in solutions.items()}
    metric = next((score[0] for score in scores.values() if score), "loss")
    table = Table(box=SIMPLE_HEAD)
    for heading in ("method", f"{metric}, mean", "95 % interval over seeds", "seeds well", "steps", "seconds"):
        table.add_column(heading, justify="left" if heading == "method" else "right", overflow="fold")
    for name, solution in solutions.items():
        score = scores[name]
        if score is not None:
            _, (mean, low, high) = score
        else:
            mean, low, high = bootstrap_interval(np.asarray(solution.history["loss"])[solution.good, -1])
        seeds = f"{int(solution.good.sum())} of {len(solution.seeds)}"
        table.add_row(
            name, f"{mean:.3g}", f"[{low:.3g}, {high:.3g}]".replace("[", r"\["), seeds, str(solution.steps), f"{solution.seconds:.1f}"
        )
    Console().print(table)


def _failed(solution: fr.Solution, name: str) -> str:
    where = ", ".join(
        f"seed {seed} at step {entry.step}" for seed, entry in zip(solution.seeds, solution.status, strict=True) if entry.status.is_failure
    )
    return f"{name}: {int((~solution.good).sum())} of {len(solution.seeds)} seeds failed ({where})"


def _origin(options: Namespace) -> dict[str, Any]:
    return {"command": options.command, "file": options.problem if is_file(options.problem) else None, "set": list(options.set)}


def _compared(problem: Equation, options: Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """The methods by name and the keywords of all; each is tried on the rules, so that nothing starts if one cannot."""
    keywords = keywords_of(problem, options)
    methods = {name: method_of(problem, name, options, among=options.methods) for name in options.methods}
    rule = keywords["rule"] or problem.defaults.rule or GENERAL_RULE
    for method in methods.values():
        method.check(problem, tuple(integral.rule or rule for integral in problem.integrals))
    return methods, keywords


def _train_all(
    problem: Equation, methods: Mapping[str, Any], keywords: Mapping[str, Any], folder: Path, options: Namespace
) -> dict[str, fr.Solution]:
    """Trains one method after the other, the same seeds for all; what is there already is loaded or continued."""
    solutions = {}
    with RunFolder(folder).locked():
        for name, method in methods.items():
            place = folder / ("".join(letter if letter.isalnum() or letter in "-_.=" else "-" for letter in name).strip("-.") or "run")
            if (place / "run.json").exists():
                settings = RunFolder.open(place).read_settings()
                total = _total(getattr(options, "steps", None), settings) if options.name == "resume" else None
                if _is_unfinished(settings, total):
                    solutions[name] = fr.resume(
                        place, total, problem=problem, throw=False, progress=True, **_given_again(problem, settings, options)
                    )
                else:
                    solutions[name] = fr.load(place, problem=problem, network=own_part(problem, settings, "network"))
            else:
                solutions[name] = fr.solve(
                    problem, method, **{**keywords, "out": place, "throw": False, "progress": True, "label": name}, origin=_origin(options)
                )
    return solutions


def _resume_comparison(folder: Path, options: Namespace) -> int:
    from fredholm.cli.parser import parse  # the parser knows the commands, so this module cannot import it at the top

    try:
        command = json.loads((folder / COMPARISON).read_text(encoding="utf-8"))["command"]
        started = parse([str(part) for part in command])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder / COMPARISON} cannot be read: {error}") from error
    if started.name != "compare":
        raise ValueError(f"{folder / COMPARISON}: expected the command of a comparison, got {started.name!r}.")
    source = options.problem or started.problem
    if is_file(source) and options.problem is None:
        _announce(folder, source)
    problem = problem_of(source, started.set)
    methods, keywords = _compared(problem, started)
    planned = keywords["steps"] or problem.defaults.steps or GENERAL_STEPS
    steps = _total(options.steps, {"steps": planned}) or planned
    started.steps, started.name, started.minutes = options.steps, "resume", options.minutes
    started.checkpoint_every, started.stop_at = (
        options.checkpoint_every,
        options.stop_at if options.stop_at is not None else started.stop_at,
    )
    with training_in(folder, source):
        solutions = _train_all(problem, methods, {**keywords, "steps": steps, "minutes": options.minutes}, folder, started)
    return finish(solutions, folder)


def _resumed(folder: Path, settings: dict[str, Any], total: int | None, source: str | None, options: Namespace) -> fr.Solution:
    problem = None
    if source is not None:
        problem = problem_of(source, (settings["origin"] or {}).get("set") or () if is_file(source) else ())
    return fr.resume(folder, total, problem=problem, throw=False, progress=True, **_given_again(problem, settings, options))


def _given_again(problem: Equation | None, settings: Mapping[str, Any], options: Namespace) -> dict[str, Any]:
    """What the folder cannot hold: the user's own network or optimiser, from the defaults of the user's equation."""
    own = {name: own_part(problem, settings, name) for name in ("method", "rule", "network", "optimizer")}
    stop = None if options.stop_at is None else Tolerance(options.stop_at)
    return {**own, "stop": stop, "minutes": options.minutes, "checkpoint_every": options.checkpoint_every}


def own_part(problem: Equation | None, settings: Mapping[str, Any], name: str) -> Any:
    """The user's own network, or another part that the folder cannot hold, from the defaults of the user's equation; else None."""
    try:
        decode(settings[name])
    except NotRebuildable:
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
    except NotRebuildable:
        raise ValueError(
            f"{folder}: its equation was made in Python and is not in the folder; give --problem path/to/file.py:name."
        ) from None
    return None


def _announce(folder: Path, recorded: str) -> None:
    """Says what is about to be imported. A file inside the run folder came with it, so it is imported only if the user names it."""
    path, name = split(recorded)
    if path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(
            f"{folder} says that its equation is in {path}, inside the run folder. If you trust that file, give --problem {recorded}."
        )
    print(f"importing {path} for {name}, which this run was started with", flush=True)


def _total(steps: str | None, settings: Mapping[str, Any]) -> int | None:
    """The new total number of steps; +N adds to what was planned."""
    if steps is None:
        return None
    try:
        number = values.whole(steps)
    except ValueError:
        raise ValueError(f"--steps: got {steps!r}; expected the new total, for instance 20000, or +5000 for so many more.") from None
    return settings["steps"] + positive_integer("--steps", number) if steps.startswith("+") else positive_integer("--steps", number)


def _is_unfinished(settings: Mapping[str, Any], total: int | None) -> bool:
    ends = {Status[name] for name, _ in settings["status"]}
    goes_on = bool(ends & {Status.INTERRUPTED, Status.OUT_OF_TIME}) or not ends
    return settings["done"] < settings["steps"] and goes_on if total is None else total != settings["done"]
