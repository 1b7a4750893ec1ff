"""The commands that start a training: solve and compare."""

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
from fredholm.cli.choices import keywords_of, method_of, problem_of
from fredholm.cli.folders import CommandError, Paused, folder_for, training_in, write_pages
from fredholm.common.statistics import bootstrap_interval
from fredholm.equation.equation import Equation
from fredholm.equation.files import is_file
from fredholm.methods import AbstractMethod
from fredholm.storage.run_folder import RunFolder, file_name
from fredholm.training.settings import GENERAL
from fredholm.training.status import describe_failures


def solve(options: Namespace) -> int:
    """`fredholm solve`."""
    problem = problem_of(options.problem, options.set)
    method, keywords = method_of(problem, options.method, options), keywords_of(problem, options)
    folder = folder_for(options.problem, options.out)
    with training_in(folder, options.problem):
        solution = fr.solve(
            problem, method, **keywords, out=folder, throw=False, progress=True, label=options.label, origin=origin_of(options)
        )
    return finish({solution.label: solution}, folder)


def compare(options: Namespace) -> int:
    """`fredholm compare`."""
    names = list(options.methods)
    if len({file_name(name) for name in names}) != len(names):
        raise ValueError(f"--methods: got {' '.join(names)}; expected different methods.")
    problem = problem_of(options.problem, options.set)
    methods, keywords = compared(problem, options)
    folder = folder_for(options.problem, options.out)
    RunFolder.free(folder)  # what is there already is continued by fredholm resume
    with training_in(folder, options.problem):
        solutions = fr.compare(problem, methods, **keywords, out=folder, progress=True, origin=origin_of(options))
    return finish(solutions, folder)


def compared(problem: Equation, options: Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """The methods by name and the keywords of all; each is tried on the rules, so that nothing starts if one of them cannot."""
    keywords = keywords_of(problem, options)
    methods = {name: method_of(problem, name, options, among=options.methods) for name in options.methods}
    rule = keywords["rule"] or problem.defaults.rule or GENERAL.rule
    assert rule is not None
    for method in methods.values():
        if isinstance(method, AbstractMethod):
            method.check(problem, problem.rules(rule))
    return methods, keywords


def origin_of(options: Namespace) -> dict[str, Any]:
    """What a run records of its command. The file of a user's own equation is among it, so that resume can ask for it again."""
    file = options.problem if is_file(options.problem) else None
    return {"command": ["fredholm", *options.command], "file": file, "set": list(options.set)}


def finish(solutions: Mapping[str, fr.Solution], folder: Path) -> int:
    """Prints the result, makes the pages, and says where they are; an error if a seed failed."""
    print_results(solutions)
    try:
        page = write_pages(solutions, folder)
    except KeyboardInterrupt:
        again = f"fredholm report {shlex.quote(str(folder))}"
        raise Paused(f"interrupted; the training is done and saved. Make its page with: {again}") from None
    print(f"{'run':<10}{folder}\n{'page':<10}{page}", flush=True)
    failed = [_failed(name, solution) for name, solution in solutions.items() if not solution.good.all()]
    if failed:
        raise CommandError(f"{'; '.join(failed)}. The last good states are in {folder}")
    return 0


def print_results(solutions: Mapping[str, fr.Solution]) -> None:
    """One run as its solution prints itself; several as a table, a row each."""
    if len(solutions) == 1:
        print(next(iter(solutions.values())), flush=True)
        return
    scores = {name: solution.score() for name, solution in solutions.items()}
    metric = next((score[0] for score in scores.values() if score), "loss")
    table = Table(box=SIMPLE_HEAD)
    unknowns = list(dict.fromkeys(name for solution in solutions.values() for name in solution.unknowns))
    for heading in ("method", f"{metric}, mean", "95 % interval over seeds", *unknowns, "succeeded", "steps", "seconds"):
        table.add_column(heading, justify="left" if heading == "method" else "right", overflow="fold")
    for name, solution in solutions.items():
        score = scores[name]
        mean, low, high = score[1] if score else _last_loss(solution)
        seeds = f"{int(solution.good.sum())} of {len(solution.seeds)}"
        learned = [_learned(solution, unknown) for unknown in unknowns]
        interval = rf"\[{low:.3g}, {high:.3g}]" if np.isfinite(low) else "needs at least two seeds"
        table.add_row(name, f"{mean:.3g}", interval, *learned, seeds, str(solution.steps), f"{solution.seconds:.1f}")
    Console().print(table)


def _learned(solution: fr.Solution, name: str) -> str:
    """A learned scalar with its interval over the seeds."""
    mean, low, high = bootstrap_interval(solution.unknowns[name][solution.good])
    return rf"{mean:.4g} \[{low:.4g}, {high:.4g}]"


def _last_loss(solution: fr.Solution) -> tuple[float, float, float]:
    """Without an exact solution there is no error to show; the last loss is what there is, once there is a record."""
    if not solution.history.sizes["step"] or not solution.good.any():
        return (np.nan, np.nan, np.nan)
    return bootstrap_interval(np.asarray(solution.history["loss"])[solution.good, -1])


def _failed(name: str, solution: fr.Solution) -> str:
    lines = describe_failures(solution.status, solution.seeds)
    return f"{name}: {len(lines)} of {len(solution.seeds)} seeds failed: {'; '.join(lines)}"
