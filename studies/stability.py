"""How many seeds of a delayed target with one sample turn non-finite or end worse than a constant, adaptive and with M = 100 and λ = 0.

`python studies/stability.py` trains the paper's three problem classes with batches of 1, 20 and 400, 16 seeds each, at a constant learning
rate, and prints the table; what is finished is not run again.
"""

import argparse
import itertools
from pathlib import Path

from cases import PAPER

import fredholm as fr
from fredholm.storage.run_folder import write_atomically
from fredholm.study import Outcome, Run, StudyFolder, make_run, run_study

BATCHES = (1, 20, 400)
METHODS = {"adaptive": fr.DelayedTarget(), "M = 100, λ = 0": fr.DelayedTarget(tau=0.999, regularization=0.0, split=100.0)}


def runs_of(steps: int, seeds: int) -> list[Run]:
    """Problems, batches and both methods."""
    settings = {"rule": fr.MonteCarlo(1), "optimizer": fr.Adam(1e-3), "average": 0.0, "steps": steps, "seeds": seeds}
    return [
        make_run(_name(problem, batch, label), PAPER[problem](), method, batch=batch, **settings)
        for problem, batch, (label, method) in itertools.product(PAPER, BATCHES, METHODS.items())
    ]


def lost(one: Outcome) -> int:
    """The seeds that failed, or score worse than the mean of the truth does.

    Poisson's weak form does not see linear functions, so they do not count; nor may the score be normalised, which would not see how large
    u is.
    """
    problem = one.run.problem()
    assert problem.evaluation is not None
    metric = "mse_linear_free" if "mse_linear_free" in one.scores else one.metric
    points = problem.evaluation.points()
    truth = problem.truth(points)
    constant = problem.evaluation(truth * 0 + truth.mean(axis=0, keepdims=True), truth, points)[metric]
    return int((~one.good | ~(one.scores[metric] <= float(constant))).sum())


def table(found: dict[str, Outcome], seeds: int) -> str:
    """A row for each problem and batch."""
    lines = [f"| problem | x a step | {' | '.join(METHODS)} |", "|---|---|" + "---|" * len(METHODS)]
    for problem, batch in itertools.product(PAPER, BATCHES):
        ends = [found.get(_name(problem, batch, label)) for label in METHODS]
        cells = ("no result" if one is None else f"{lost(one)} of {seeds}" for one in ends)
        lines.append(f"| {problem} | {batch} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _name(problem: str, batch: int, label: str) -> str:
    return f"{problem}, batch {batch}, {label}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--workers", type=int, default=None, help="number of parallel processes; default: one, whose seeds have all cores")
    parser.add_argument("--out", type=Path, default=Path("runs/stability"))
    options = parser.parse_args()
    fr.use_all_cores()
    folder = StudyFolder.create(options.out, "Stability of delayed targets", runs_of(options.steps, options.seeds))
    text = table(run_study(folder, workers=options.workers), options.seeds)
    write_atomically(options.out / "stability.md", lambda file: file.write(text.encode()))
    print(text)
