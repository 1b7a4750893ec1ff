"""The zoo: equations of the literature with their truths, each solved by the recipe of its class, and what the bias costs there."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax

from fredholm import problems
from fredholm.api import resume, solve
from fredholm.equation.equation import Defaults, Equation
from fredholm.functions.mlp import MLP
from fredholm.methods import DoubleSampling, Standard
from fredholm.problems.classes import ONE_SAMPLE, SINGULAR, SMOOTH, Class
from fredholm.results.solution import Solution, load
from fredholm.rules import AbstractRule, MonteCarlo
from fredholm.storage.run_folder import RunFolder
from fredholm.storage.serialisation import encode

RECIPE = "recipe"  # the first run of every case; the others show what bias costs, with one sample of every integral
ONE_SAMPLE_METHODS = {
    "standard N=1": (Standard(), MonteCarlo(1)),
    "double N=1+1": (DoubleSampling(), MonteCarlo(2)),
    "delayed N=1": (ONE_SAMPLE.method, MonteCarlo(1)),
}
COLUMNS = (RECIPE, *ONE_SAMPLE_METHODS)


class Case(NamedTuple):
    """A row of the table."""

    problem: Callable[[], Equation]
    kind: Class  # its class, whose recipe it uses
    target: float | None = None  # the relative L2 error that the recipe must reach
    published: Mapping[str, float] = {}  # relative L2 errors of others
    recipe: Defaults | None = None  # the class's recipe for this problem; the problem's own defaults unless given


CASES: Mapping[str, Case] = {
    "volterra": Case(
        problems.Volterra,
        SMOOTH,
        2e-4,
        {"DeepXDE": 2e-3, "A-PINN": 2.6e-4, "PaddleScience": 2.3e-4, "pinnies": 1.8e-4},
        SMOOTH.defaults(MLP(32, 3, "tanh"), 10_000, 64),
    ),
    "volterra, one sample": Case(problems.Volterra, ONE_SAMPLE, 1e-3, recipe=ONE_SAMPLE.defaults(MLP(32, 3, "tanh"), 20_000, 1200)),
    "volterra 2": Case(problems.Volterra2, SMOOTH, 1e-3),
    "fredholm, nonlinear": Case(problems.FredholmNonlinear, SMOOTH, 4e-4, {"A-PINN": 4.8e-4}),
    "fredholm, second kind": Case(problems.FredholmSecondKind, SMOOTH),
    "fredholm, first kind": Case(problems.FredholmFirstKind, SMOOTH),
    "parabolic": Case(problems.Parabolic, SMOOTH, 1e-3),
    "fractional, interval": Case(problems.FractionalInterval, SMOOTH),
    "fractional, d=2": Case(problems.FractionalPoisson, SINGULAR, 5e-2),
    "fractional, d=10": Case(lambda: problems.FractionalPoisson(10), SINGULAR, 1e-1),
    "bellman, d=4": Case(problems.Bellman, ONE_SAMPLE),
    "transport slab": Case(problems.TransportSlab, ONE_SAMPLE),
    "smoluchowski, constant": Case(problems.SmoluchowskiConstant, ONE_SAMPLE, 1e-2),
    "smoluchowski, golovin": Case(problems.SmoluchowskiGolovin, SMOOTH, 1e-2),
}


class Plan(NamedTuple):
    """One run of a case: what `solve` is given."""

    case: str
    column: str
    keywords: dict[str, Any]

    @property
    def place(self) -> Path:
        """Its folder, inside of the zoo's."""
        return Path(file_name(self.case)) / file_name(self.column)


def file_name(text: str) -> str:
    """A name without blanks and signs."""
    return "-".join("".join(letter if letter.isalnum() else " " for letter in text).split())


def plans(case: str, problem: Equation, scale: float = 1.0) -> list[Plan]:
    """The runs of a case: the recipe, then every method with one sample of each integral, for as many steps and as many evaluations of u in
    a step. A method that is the recipe already is not run twice."""
    chosen = CASES[case].recipe or problem.defaults
    assert chosen.steps is not None
    assert chosen.batch is not None
    assert chosen.rule is not None
    steps = max(20, round(scale * chosen.steps))
    common = {"network": chosen.network, "steps": steps, "average": chosen.average}
    own = {"method": chosen.method, "rule": chosen.rule, "optimizer": chosen.optimizer, "batch": chosen.batch}
    found = [Plan(case, RECIPE, {**common, **own})]
    budget = chosen.batch * evaluations(problem, chosen.rule)
    for column, (method, rule) in ONE_SAMPLE_METHODS.items():
        if (method, rule) != (chosen.method, chosen.rule):
            batch = max(1, round(budget / evaluations(problem, rule)))
            found.append(Plan(case, column, {**common, "method": method, "rule": rule, "optimizer": ONE_SAMPLE.optimizer, "batch": batch}))
    return found


def evaluations(problem: Equation, rule: AbstractRule) -> int:
    """Points at which u is looked at for one x: x itself and the nodes of every integral."""
    x = problem.domain.sample(jax.random.key(0))
    return 1 + sum((integral.rule or rule).size(integral.measure(x)) for integral in problem.integrals)


def run(plan: Plan, problem: Equation, folder: Path, seeds: Any) -> Solution:
    """A run from its beginning, or from where it was left; a finished one is only loaded."""
    place = folder / plan.place
    if not (place / "run.json").exists():
        label = f"{plan.case}: {plan.column}"
        return solve(problem, **plan.keywords, seeds=seeds, out=place, throw=False, progress=True, label=label)
    settings = RunFolder.open(place).read_settings()
    wanted = {name: encode(plan.keywords[name]) for name in ("method", "rule", "network", "optimizer", "steps", "batch")}
    wanted["seeds"] = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    other = [name for name, value in wanted.items() if settings[name] != value]
    if other:
        raise ValueError(f"--out: {place} was made with another {other[0]}; choose another folder, or the same --scale and --seeds.")
    if settings["done"] < settings["steps"] and not all(name in ("NONFINITE", "DIVERGED") for name, _ in settings["status"]):
        return resume(place, throw=False, progress=True)
    return load(place)


def solved(cases: list[str], columns: list[str], folder: Path, seeds: Any, scale: float) -> Iterator[tuple[Plan, Solution]]:
    """Every run of these cases and columns, one after the other."""
    for case in cases:
        problem = CASES[case].problem()
        for plan in plans(case, problem, scale):
            if plan.column in columns:
                yield plan, run(plan, problem, folder, seeds)


class Result(NamedTuple):
    """A cell of the table."""

    mean: float  # of the relative L2 error over the seeds that ended well
    low: float  # its 95 % interval
    high: float
    failed: int  # seeds that did not end well
    minutes: float


def result(solution: Solution) -> Result:
    """What the table shows of a run."""
    return Result(*solution.summary()["relative_l2"], int((~solution.good).sum()), solution.seconds / 60)


def cell(results: Mapping[str, Result], case: str, column: str) -> Result | None:
    """The result of a case in a column; a method that is the recipe itself has the recipe's."""
    if column in results:
        return results[column]
    chosen = CASES[case].kind
    is_recipe = column in ONE_SAMPLE_METHODS and ONE_SAMPLE_METHODS[column] == (chosen.method, chosen.rule)
    return results.get(RECIPE) if is_recipe else None


def is_met(case: str, found: Result) -> bool | None:
    """True where the mean error is at most the target; None where there is none."""
    target = CASES[case].target
    return None if target is None else found.mean <= target and not found.failed
