"""What a command prints and writes of solutions: the result, the pictures and the page."""

import logging
import shlex
from collections.abc import Mapping
from pathlib import Path

from fredholm.cli.folders import CommandError, Paused
from fredholm.report.terminal import print_results
from fredholm.results.solution import Solution
from fredholm.training.status import describe_failures

logger = logging.getLogger("fredholm")


def finish(solutions: Mapping[str, Solution], folder: Path) -> int:
    """Prints the result, makes the pages, and says where they are; an error if a seed failed."""
    try:
        print_results(solutions)  # measures residuals and estimates the error, which takes some seconds
        page = write_pages(solutions, folder)
    except KeyboardInterrupt:
        again = f"fredholm report {shlex.quote(str(folder))}"
        raise Paused(f"interrupted; the training is done and saved. Make its page with: {again}") from None
    print(f"{'run':<10}{folder}\n{'page':<10}{page}", flush=True)
    failed = [_failed(name, solution) for name, solution in solutions.items() if not solution.good.all()]
    if failed:
        raise CommandError(f"{'; '.join(failed)}. The last good states are in {folder}")
    return 0


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
