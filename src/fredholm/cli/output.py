"""What a command prints and writes of solutions: the result, the pictures and the page."""

import logging
import shlex
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from fredholm.cli.folders import CommandError, Paused
from fredholm.common.statistics import bootstrap_interval
from fredholm.results.solution import Solution
from fredholm.training.status import describe_failures

logger = logging.getLogger("fredholm")


def finish(solutions: Mapping[str, Solution], folder: Path) -> int:
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


def print_results(solutions: Mapping[str, Solution]) -> None:
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


def _learned(solution: Solution, name: str) -> str:
    """A learned scalar with its interval over the seeds."""
    mean, low, high = bootstrap_interval(solution.unknowns[name][solution.good])
    return rf"{mean:.4g} \[{low:.4g}, {high:.4g}]"


def _last_loss(solution: Solution) -> tuple[float, float, float]:
    """Without an exact solution there is no error to show; the last loss is what there is, once there is a record."""
    if not solution.history.sizes["step"] or not solution.good.any():
        return (np.nan, np.nan, np.nan)
    return bootstrap_interval(np.asarray(solution.history["loss"])[solution.good, -1])


def _failed(name: str, solution: Solution) -> str:
    lines = describe_failures(solution.status, solution.seeds)
    return f"{name}: {len(lines)} of {len(solution.seeds)} seeds failed: {'; '.join(lines)}"


def write_pages(solutions: Mapping[str, Solution], folder: Path) -> Path:
    """Pictures and report.html of a run, or of a comparison, into its folder."""
    try:
        from fredholm.report.page import write_report

        if len(solutions) == 1:
            next(iter(solutions.values())).plot(folder / "solution.png")
        else:
            from fredholm.report.plots.comparison import plot_comparison, plot_variance

            plot_comparison(dict(solutions), folder / "comparison.png")
            plot_variance(dict(solutions), folder / "variance.png")
        return Path(write_report(dict(solutions), folder / "report.html"))
    except Exception as error:
        logger.debug("the pages of %s", folder, exc_info=True)
        reason = f"{type(error).__name__}: {error}"
        raise CommandError(f"the pictures and the page could not be made ({reason}); the run itself is safe in {folder}") from error
