"""What the studies share: rows of a table, each a training with matched seeds, printed as it ends."""

from collections.abc import Mapping
from typing import Any

import fredholm as fr


def radial(dim: int) -> fr.Equation:
    """Poisson's problem with one charge, scored by Algorithm 2 on a grid of 100 radii by 100 directions."""
    usual = fr.problems.Poisson(dim=dim).evaluation
    assert isinstance(usual, fr.problems.RadialGrid)
    return fr.problems.Poisson(dim=dim, evaluation=fr.problems.RadialGrid(at=usual.at, radii=100, directions=100))


def print_table(title: str, problem: fr.Equation, rows: Mapping[str, Mapping[str, Any]], **keywords: Any) -> None:
    """Trains every row and prints it in Markdown: mean and 95 % interval over the seeds of the problem's own metric.

    A row holds keywords of `solve` (`problem` too, where it is a variant), and under `published` the paper's number after 200 000 steps.
    """
    assert problem.evaluation is not None
    score = problem.evaluation.score
    settings = ", ".join(f"{name} {value}" for name, value in keywords.items())
    print(f"\n**{title}** ({settings})\n\n| method | x a step | {score} | 95 % interval | published |\n|---|---|---|---|---|", flush=True)
    for name, row in rows.items():
        own = {key: value for key, value in row.items() if key != "published"}
        solution = fr.solve(**{"problem": problem, "label": name, "throw": False, **keywords, **own})
        failed = sum(entry.status.is_failure for entry in solution.status)
        mean, low, high = solution.summary()[score]
        note = f" ({failed} of {len(solution.status)} seeds failed)" if failed else ""
        batch = solution.settings["batch"]
        print(f"| {name}{note} | {batch} | {mean:.2e} | {low:.2e} to {high:.2e} | {row.get('published', '')} |", flush=True)
