"""Auto beside a grid of hand-tuned settings, at equal looks at u and steps: by which factor is it off the best of them?

`python studies/automatic.py NAME` with poisson-2, poisson-5, poisson-10, maxwell, smoluchowski-1, smoluchowski-2, or a case of the zoo by
its file name (`fredholm compare --help` lists them) prints one table: 20 000 steps, a tenth of the published, and 4 seeds. `--steps` and
`--seeds` for a quick look.

`python studies/automatic.py stability` prints how many of 16 seeds turn non-finite or end worse than a constant, for the adaptive delayed
target and for the published form without its regulariser (Figure 3), over problems and batches.
"""

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

import fredholm as fr
from fredholm.auto import looks, measures_of
from fredholm.rules import AbstractRule
from fredholm.zoo import CASES, file_name

COSINE = fr.Adam(1e-3, fr.Cosine())
FAST = fr.Adam(3e-3, fr.Cosine())
POINTS = 800  # looks at u in each step, as the published runs have


def radial(dim: int) -> fr.Equation:
    """Poisson's problem with one charge, scored by Algorithm 2 on a grid of 100 radii by 100 directions."""
    usual = fr.problems.Poisson(dim=dim).evaluation
    assert isinstance(usual, fr.problems.RadialGrid)
    return fr.problems.Poisson(dim=dim, evaluation=fr.problems.RadialGrid(at=usual.at, radii=100, directions=100))


PROBLEMS = {
    "poisson-2": fr.problems.Poisson,
    "poisson-5": lambda: radial(5),
    "poisson-10": lambda: radial(10),
    "maxwell": fr.problems.Maxwell,
    "smoluchowski-1": fr.problems.Smoluchowski,
    "smoluchowski-2": lambda: fr.problems.Smoluchowski(2),
    **{file_name(name): case.problem for name, case in CASES.items()},
}
PUBLISHED = {"poisson-2": "1.10e-4", "maxwell": ".00126", "smoluchowski-1": "9.7e-4"}  # the best of any method after 200 000 steps


def grid(name: str, problem: fr.Equation) -> dict[str, dict[str, Any]]:
    """The hand-tuned settings: each method with the rules that suit the domain, at a few N and both learning rates."""
    if name.startswith(("poisson-2", "maxwell")):
        rules: list[AbstractRule] = [fr.MonteCarlo(2), *(fr.Even(n, fr.Rotation()) for n in (8, 16, 32))]
    elif name.startswith("poisson"):
        rules = [fr.MonteCarlo(2), *(fr.QuasiMonteCarlo(n, randomize=fr.Rotation()) for n in (8, 64))]
    elif problem.f is not None and all(len(measure.bases) == 1 for measure in measures_of(problem)):
        rules = [fr.MonteCarlo(2), fr.Even(8, fr.Shift()), fr.Gauss(8), fr.Gauss(16)]
    else:
        rules = [fr.MonteCarlo(2), fr.MonteCarlo(8), fr.QuasiMonteCarlo(16, fr.Sobol(), fr.Scramble())]
    published = problem.defaults.method if isinstance(problem.defaults.method, fr.DelayedTarget) else fr.DelayedTarget(0.99, 1.0)
    methods = {"standard": fr.Standard(), "double sampling": fr.DoubleSampling(), "delayed target, fixed": published}
    methods["delayed target, adaptive"] = fr.DelayedTarget()
    rows = {}
    for label, method in methods.items():
        for rule in rules:
            for rate, optimizer in (("1e-3", COSINE), ("3e-3", FAST)):
                rows[f"{label}, {rule!r}, lr {rate}"] = {"method": method, "rule": rule, "optimizer": optimizer}
    return rows


def table(name: str, steps: int, seeds: int) -> None:
    """Every row of the grid, then Auto, and the factor between it and the best."""
    problem = PROBLEMS[name]()
    assert problem.evaluation is not None
    score = problem.evaluation.score
    print(f"\n**{name}** ({steps} steps, {seeds} seeds, about {POINTS} looks at u a step; published best: {PUBLISHED.get(name, 'none')})\n")
    print(f"| settings | x a step | {score} | 95 % interval |\n|---|---|---|---|", flush=True)
    means = {}
    for label, row in grid(name, problem).items():
        batch = max(1, POINTS // looks(problem, row["method"], row["rule"]))
        means[label] = printed(label, problem, score, {**row, "batch": batch}, steps, seeds)
    auto = printed("**Auto**", problem, score, {"method": fr.Auto(points=POINTS)}, steps, seeds)
    known = {label: mean for label, mean in means.items() if np.isfinite(mean)}
    best = min(known, key=lambda label: known[label])
    print(f"\nAuto: {auto / known[best]:.2f} times the best of the grid ({best}).", flush=True)


def printed(label: str, problem: fr.Equation, score: str, row: Mapping[str, Any], steps: int, seeds: int) -> float:
    """Trains a row, prints it, and returns its mean; NaN where it was refused or all seeds failed."""
    try:
        solution = fr.solve(problem, **{"average": 0.999, **row}, steps=steps, seeds=seeds, throw=False, label=label)
    except ValueError as error:
        print(f"| {label} | | refused: {str(error).splitlines()[0][:80]} | |", flush=True)
        return float("nan")
    failed = int((~solution.good).sum())
    mean, low, high = solution.summary()[score]
    note = f" ({failed} of {seeds} seeds failed)" if failed else ""
    print(f"| {label}{note} | {solution.settings['batch']} | {mean:.2e} | {low:.2e} to {high:.2e} |", flush=True)
    for reason in (solution.settings["auto"] or {}).get("reasons", ()):
        print(f"| … {reason} | | | |", flush=True)
    return float("inf") if failed == seeds else mean


def stability(steps: int, seeds: int) -> None:
    """Seeds that fail, or end worse than a constant."""
    cases = {"poisson-2": PROBLEMS["poisson-2"], "poisson-5": PROBLEMS["poisson-5"], "poisson-10": PROBLEMS["poisson-10"]}
    cases |= {name: PROBLEMS[name] for name in ("maxwell", "smoluchowski-1")}
    print(
        f"\n**Stability** ({steps} steps, {seeds} seeds, N = 1)\n\n| problem | x a step | adaptive | M = 100, λ = 0 |\n|---|---|---|---|",
        flush=True,
    )
    for name, make in cases.items():
        problem = make()
        for batch in (1, 20, 400):
            counts = []
            for method in (fr.DelayedTarget(), fr.DelayedTarget(tau=0.999, regularization=0.0, split=100.0)):
                row = {"rule": fr.MonteCarlo(1), "batch": batch, "optimizer": fr.Adam(1e-3), "average": 0.0}
                solution = fr.solve(problem, method, **row, steps=steps, seeds=seeds, throw=False)
                counts.append(int((~solution.good | worse_than_a_constant(solution)).sum()))
            print(f"| {name} | {batch} | {counts[0]} of {seeds} | {counts[1]} of {seeds} |", flush=True)


def worse_than_a_constant(solution: fr.Solution) -> np.ndarray:
    """Whether each seed scores worse than the mean of the truth does."""
    problem = solution.problem
    assert problem is not None
    assert problem.evaluation is not None
    points = problem.evaluation.points()
    truth = problem.truth(points)
    constant = problem.evaluation(truth * 0 + truth.mean(axis=0, keepdims=True), truth, points)[problem.evaluation.score]
    limit = 2.0 if problem.evaluation.score == "mse_normalized" else float(constant)  # a constant has no correlation with the truth
    return solution.evaluate()[problem.evaluation.score] > limit


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=[*PROBLEMS, "stability"], metavar="NAME")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seeds", type=int)
    options = parser.parse_args()
    fr.use_all_cores()
    if options.name == "stability":
        stability(options.steps, options.seeds or 16)
    else:
        table(options.name, options.steps, options.seeds or 4)
