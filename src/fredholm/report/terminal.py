"""Tables on the terminal."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fredholm.common.statistics import bootstrap_interval
from fredholm.report.solved import Solved


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str | Text]], *, title: str = "", caption: str = "", left: int = 1) -> None:
    """Prints a table whose first `left` columns are text and whose others are numbers. Cells are shown as they are, without markup."""
    made = Table(box=SIMPLE_HEAD, title=title or None, caption=caption or None, title_justify="left", padding=(0, 1, 0, 0))
    for place, head in enumerate(heads):
        made.add_column(Text(head), justify="left" if place < left else "right", overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    Console().print(made)


def print_results(solutions: Mapping[str, Solved]) -> None:
    """One solution as it prints itself; several as a table, a row each."""
    if len(solutions) == 1:
        print(next(iter(solutions.values())), flush=True)
        return
    scores = {name: solution.score() for name, solution in solutions.items()}
    metric = next((score[0] for score in scores.values() if score), "loss")
    unknowns = list(dict.fromkeys(name for solution in solutions.values() for name in solution.unknowns))
    rows = []
    for name, solution in solutions.items():
        score = scores[name]
        mean, low, high = score[1] if score else _last_loss(solution)
        interval = f"[{low:.3g}, {high:.3g}]" if np.isfinite(low) else "needs at least two seeds"
        learned = [_learned(solution, unknown) for unknown in unknowns]
        seeds = f"{int(solution.good.sum())} of {len(solution.seeds)}"
        rows.append([name, f"{mean:.3g}", interval, *learned, seeds, str(solution.steps), f"{solution.seconds:.1f}"])
    heads = ["method", metric, "95 % interval", *unknowns, "trained", "steps", "seconds"]
    print_table(
        heads,
        rows,
        caption="mean over the seeds that were trained to the end, with its 95 % interval over seeds, which is no interval of the truth",
    )


def _learned(solution: Solved, name: str) -> str:
    """A learned scalar with its interval over the seeds."""
    mean, low, high = bootstrap_interval(solution.unknowns[name][solution.good])
    return f"{mean:.4g} [{low:.4g}, {high:.4g}]"


def _last_loss(solution: Solved) -> tuple[float, float, float]:
    """The last recorded loss: without an exact solution there is no error to show."""
    if not solution.history.sizes["step"] or not solution.good.any():
        return (np.nan, np.nan, np.nan)
    return bootstrap_interval(np.asarray(solution.history["loss"])[solution.good, -1])
