"""Auto beside a grid of settings that a person would try, at equal evaluations of u and steps: by which factor is it off the best of them?

`python studies/automatic.py [NAME ...]` with poisson-2, poisson-5, poisson-10, maxwell, smoluchowski-1, smoluchowski-2, or a case of the
zoo as `fredholm compare --zoo --cases` names it; default: all of them. Every problem is a study in `--out`, with its tables: what is
finished is not run again. At the end automatic.md and automatic.png have a row for each problem that is finished.

`--only NAME ...` trains only these settings of the grid, as its table names them, and `--first 4` takes seeds from 4 on: so the best of a
grid is scored on seeds that it was not chosen by.

The grid: every method with every rule that suits the problem, trained by Muon, and on the problems of the paper every method with one of
these rules by Adam. The best of it is chosen by the same seeds that it is scored on, which favours the grid.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from cases import PAPER, ZOO

import fredholm as fr
from fredholm.common.checks import nearest
from fredholm.common.statistics import bootstrap_interval
from fredholm.equation.probe import measures_of
from fredholm.functions.protocol import AbstractNetwork
from fredholm.report.plots.errors import plot_errors
from fredholm.rules import AbstractRule
from fredholm.storage.run_folder import write_atomically
from fredholm.study import Outcome, Run, StudyFolder, make_run, outcomes, run_study
from fredholm.training.choice import accepts, choose
from fredholm.training.settings import LEFT_TO_AUTO, settings_of

OPTIMIZERS = {"Adam": fr.Adam(3e-3, fr.Cosine()), "Muon": fr.Muon(1e-2, fr.Cosine())}
POINTS = 800  # evaluations of u in each step, as the published runs have
AUTO = "Auto"
REACH = 1.5  # how far off the best of the grid Auto may be
METHODS = ("standard", "double sampling", "fixed delayed target", "adaptive delayed target")


def problem_of(name: str) -> fr.Equation:
    """The problem of a name."""
    return PAPER[name]() if name in PAPER else ZOO[name].problem()


def rules_for(name: str, problem: fr.Equation) -> list[AbstractRule]:
    """The rules that a person would try."""
    if name in ("poisson-2", "maxwell"):
        return [fr.MonteCarlo(2), *(fr.Even(n, fr.Rotation()) for n in (8, 16, 32))]
    if name.startswith("poisson"):
        return [fr.MonteCarlo(2), *(fr.QuasiMonteCarlo(n, randomize=fr.Rotation()) for n in (8, 64))]
    if all(len(measure.bases) == 1 for measure in measures_of(problem)):
        return [fr.MonteCarlo(2), fr.Even(8, fr.Shift()), *([fr.Gauss(8)] if name in PAPER else []), fr.Gauss(16)]
    return [fr.MonteCarlo(2), fr.MonteCarlo(8), fr.QuasiMonteCarlo(16, fr.Sobol(), fr.Scramble())]


def runs_of(name: str, steps: int, seeds: list[int], only: list[str]) -> tuple[list[Run], list[str]]:
    """Each method with each rule that it allows by Muon, and for the paper with the middle one by Adam too; and what Auto chose."""
    problem = problem_of(name)
    network = ((ZOO[name].recipe if name in ZOO else None) or problem.defaults).network
    assert isinstance(network, AbstractNetwork)
    common: dict[str, Any] = {"network": network, "steps": steps, "seeds": seeds, "record_every": max(1, steps // 10)}
    known = problem.defaults.method
    delayed = known if isinstance(known, fr.DelayedTarget) and known.split is not None else fr.DelayedTarget(tau=0.99, regularization=1.0)
    tried = dict(zip(METHODS, (fr.Standard(), fr.DoubleSampling("all"), delayed, fr.DelayedTarget()), strict=True))
    runs = []
    for label, method in tried.items():
        rules = [rule for rule in rules_for(name, problem) if accepts(method, problem, rule)]
        for rule in rules:
            batch = max(1, POINTS // method.evaluations(problem, problem.rules(rule)).of_step(1))
            for by in ("Muon", "Adam") if name in PAPER and rule is rules[len(rules) // 2] else ("Muon",):
                settings = {"rule": rule, "optimizer": OPTIMIZERS[by], "batch": batch, "average": 0.999, "labels": {"method": label}}
                runs.append(make_run(f"{label}, {rule!r}, {by}", problem, method, **settings, **common))
    named = [run for run in runs if run.name in only]
    if len(named) < len(only):
        unknown = next(one for one in only if one not in {run.name for run in named})
        raise SystemExit(str(nearest("run", unknown, [run.name for run in runs])))
    runs = named or runs
    auto = fr.Auto(points=POINTS)
    choice = choose(auto, settings_of(problem, auto, **common), LEFT_TO_AUTO)
    chosen = {name: getattr(choice.settings, name) for name in LEFT_TO_AUTO}
    runs.append(make_run(AUTO, problem, choice.settings.known_method, labels={"method": AUTO}, **chosen, **common))
    return runs, list(choice.reasons)


def study_of(name: str, out: Path, steps: int, seeds: list[int], only: list[str]) -> StudyFolder:
    """The study of a problem; one that has begun is taken as it is, without another pilot."""
    place = out / name
    if (place / "study.json").is_file():
        folder = StudyFolder.open(place)
        if folder.about["steps"] != steps or folder.about["seeds"] != seeds:
            raise SystemExit(
                f"{place} was made with {folder.about['steps']} steps and {folder.about['seeds']} seeds. Choose another --out."
            )
        return folder
    runs, reasons = runs_of(name, steps, seeds, only)
    return StudyFolder.create(place, f"Auto beside a grid: {name}", runs, about={"steps": steps, "seeds": seeds, "reasons": reasons})


def scores(one: Outcome) -> np.ndarray:
    """The error of each seed at the end, of the averaged network."""
    return one.scores[one.metric]


def best_of(found: dict[str, Outcome], method: str | None = None) -> Outcome | None:
    """The run of the grid, or of one of its methods, with the least mean error among those of which no seed failed."""
    kept = [one for name, one in found.items() if name != AUTO and one.good.all() and method in (None, one.run.labels["method"])]
    return min(kept, key=lambda one: scores(one).mean(), default=None)


def report(out: Path) -> None:
    """The tables and the picture of all problems of which every run has ended, well or not."""
    lines, by_method, rows = [], [], {}
    for name in (*PAPER, *ZOO):
        if not (out / name / "study.json").is_file():
            continue
        folder = StudyFolder.open(out / name)
        if any(not folder.failure(run) for run in folder.missing()):
            continue
        found = outcomes(folder)
        auto, best = found.get(AUTO), best_of(found)
        if auto is None or best is None:
            ends = ("failed" if one is None else _interval(one) for one in (auto, best))
            lines.append(f"| {name} | | | {' | '.join(ends)} | | |")
            continue
        ratio, low, high = np.exp(bootstrap_interval(np.log(scores(auto) / scores(best))))
        failed = "" if auto.good.all() else f" ({(~auto.good).sum()} of {len(auto.good)} seeds failed)"
        cells = (
            name,
            auto.metric,
            str(folder.about["steps"]),
            _interval(auto) + failed,
            _interval(best),
            best.run.name,
            f"{ratio:.2f} [{low:.2f}, {high:.2f}]",
        )
        lines.append(f"| {' | '.join(cells)} |")
        per_method = {AUTO: auto, **{method: one for method in METHODS if (one := best_of(found, method)) is not None}}
        rows[name] = {label: bootstrap_interval(scores(one) / scores(best).mean(), least=0.0) for label, one in per_method.items()}
        ends = (_interval(per_method[method]) if method in per_method else "–" for method in METHODS)
        by_method.append(f"| {name} | {' | '.join(ends)} |")
    header = ["| problem | metric | steps | Auto | best of the grid | which is | Auto / best |", "|---|---|---|---|---|---|---|"]
    methods = [f"| problem | {' | '.join(METHODS)} |", "|---" * (1 + len(METHODS)) + "|"]
    text = "\n".join([*header, *lines, "", "The best of each method:", "", *methods, *by_method]) + "\n"
    write_atomically(out / "automatic.md", lambda file: file.write(text.encode()))
    title = "Auto beside the best settings of each method"
    if rows:
        plot_errors(rows, dict.fromkeys(rows, REACH), "error / best of the grid", title, out / "automatic.png")
    print(text)


def _interval(one: Outcome) -> str:
    mean, low, high = bootstrap_interval(scores(one), least=0.0)
    return f"{mean:.2e} [{low:.1e}, {high:.1e}]"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first", type=int, default=0, help="the first of the seeds")
    parser.add_argument("--only", nargs="+", default=[], help="these settings of the grid, as its table names them")
    parser.add_argument("--workers", type=int, default=None, help="number of parallel processes; default: one, whose seeds have all cores")
    parser.add_argument("--out", type=Path, default=Path("runs/automatic"))
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in {*PAPER, *ZOO}]:
        parser.error(str(nearest("problem", unknown[0], (*PAPER, *ZOO))))
    fr.use_all_cores()
    seeds = list(range(options.first, options.first + options.seeds))
    for chosen in options.names or (*PAPER, *ZOO):
        print(chosen, file=sys.stderr, flush=True)
        run_study(study_of(chosen, options.out, options.steps, seeds, options.only), workers=options.workers)
    report(options.out)
