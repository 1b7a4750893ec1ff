"""`make demo`: the bias of the integral loss and its cures, in two acts, as tables and one page."""

import argparse
import datetime
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fredholm.equation.equation import Equation
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.standard import Standard
from fredholm.optimizers.adam import Adam
from fredholm.optimizers.schedules import Cosine
from fredholm.problems.poisson import Poisson
from fredholm.problems.volterra import Volterra
from fredholm.report.page import Section, write_page
from fredholm.report.plots.comparison import plot_comparison, plot_variance
from fredholm.results.solution import Solution
from fredholm.rules.even import Even
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.rules.randomize import Rotation
from fredholm.study.comparison import compare
from fredholm.training.devices import use_all_cores

VOLTERRA_STEPS, POISSON_STEPS = 8_000, 3_500

# One sample of the integral at each of 200 points; double sampling has two at each of 100, the same budget.
VOLTERRA: Mapping[str, dict[str, Any]] = {
    "standard, N=1": {"method": Standard(), "rule": MonteCarlo(1), "batch": 200},
    "double sampling, N=1+1": {"method": DoubleSampling(), "rule": MonteCarlo(2), "batch": 100},
    "delayed target, N=1": {"method": DelayedTarget(tau=0.99, regularization=1.0), "rule": MonteCarlo(1), "batch": 200},
}
# About 800 points a step for each, with the point counts of the published runs (N + 1 in the weak form). Their τ = .999 pays off
# after 10 000 steps; in the time of a demo .99 is better.
POISSON: Mapping[str, dict[str, Any]] = {
    "standard, N=1": {"method": Standard(), "rule": MonteCarlo(2), "batch": 400},
    "standard, N=100": {"method": Standard(), "rule": MonteCarlo(101), "batch": 8},
    "double sampling, N=100": {"method": DoubleSampling(), "rule": MonteCarlo(100), "batch": 8},
    "deterministic, N=100": {"method": Standard(), "rule": Even(101, Rotation()), "batch": 8},
    "delayed target, N=1": {"method": DelayedTarget(tau=0.99, regularization=1.0, split=100.0), "rule": MonteCarlo(1), "batch": 400},
}


def main(arguments: list[str] | None = None) -> int:
    """Runs both acts and prints where the page is."""
    parser = argparse.ArgumentParser(prog="python -m fredholm.study.demo", description=__doc__)
    parser.add_argument("--out", default="runs/demo", help="the folder of the results; a new one beside it if it exists")
    parser.add_argument("--seeds", type=int, default=4, help="seeds of each method, the same for all (default 4)")
    parser.add_argument("--steps-scale", type=float, default=1.0, help="share of the steps to do, for a quick look (default 1)")
    options = parser.parse_args(arguments)
    use_all_cores()
    out, console = _new_folder(Path(options.out)), Console()
    acts = (
        ("Act 1. Volterra's equation, one sample of the integral per point", Volterra(), VOLTERRA, VOLTERRA_STEPS, Adam(1e-3, Cosine())),
        ("Act 2. Poisson's equation with three charges, about 800 points a step", Poisson(), POISSON, POISSON_STEPS, Adam(1e-3, Cosine())),
    )
    sections = []
    for title, problem, methods, steps, optimizer in acts:
        console.rule(title)
        folder = out / type(problem).__name__.lower()
        steps = max(20, int(steps * options.steps_scale))
        # The networks themselves, not averages of their parameters, as in the published runs: the difference is the method alone.
        settings: Any = {"steps": steps, "seeds": options.seeds, "optimizer": optimizer, "average": 0.0}
        solutions = compare(problem, methods, **settings, out=folder, progress=True)
        console.print(_table(problem, solutions))
        plot_comparison(solutions, folder / "comparison.png")
        plot_variance(solutions, folder / "variance.png")
        sections.append(Section(title, solutions))
    page = write_page(sections, out / "report.html", "The bias of the integral loss, and its cures")
    console.print(f"The page with pictures and curves: {page}", soft_wrap=True)
    return 0


def _table(problem: Equation, solutions: Mapping[str, Solution]) -> Table:
    score = problem.evaluation.score if problem.evaluation else "error"
    table = Table(caption=f"error: {score}, mean over the seeds; × better: than the first row", caption_justify="left")
    for column in ("method", "error", "95 % interval", "× better", "seconds"):
        table.add_column(column, justify="left" if column == "method" else "right", no_wrap=True)
    biased = next(iter(solutions.values())).summary()[score][0]
    for name, solution in solutions.items():
        mean, low, high = solution.summary()[score]
        failed = "" if solution.good.all() else f" ({int((~solution.good).sum())} of {len(solution.seeds)} seeds failed)"
        table.add_row(f"{name}{failed}", f"{mean:.2e}", f"[{low:.1e}, {high:.1e}]", f"{biased / mean:.1f}", f"{solution.seconds:.0f}")
    return table


def _new_folder(path: Path) -> Path:
    """The folder itself, or one with the time in its name where it exists."""
    if not path.exists():
        return path
    return path.with_name(f"{path.name}-{datetime.datetime.now():%Y%m%d-%H%M%S}")


if __name__ == "__main__":
    sys.exit(main())
