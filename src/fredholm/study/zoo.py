"""The zoo: equations of the literature with their truths, each solved by the recipe of its class, and what the bias costs there."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fredholm import problems
from fredholm.common.statistics import bootstrap_interval
from fredholm.equation.equation import Defaults, Equation
from fredholm.functions.mlp import MLP
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.protocol import AbstractMethod
from fredholm.methods.standard import Standard
from fredholm.optimizers.protocol import AbstractOptimizer
from fredholm.problems.classes import ONE_SAMPLE, SINGULAR, SMOOTH, Class
from fredholm.rules.base import AbstractRule
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.study.outcome import Outcome
from fredholm.study.run import Run, make_run

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
    recipe: Defaults | None = None  # the class's recipe for this problem; default: the problem's own


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


def zoo_runs(cases: Sequence[str], columns: Sequence[str], seeds: int | Sequence[int], scale: float = 1.0) -> list[Run]:
    """The runs of these cases and columns, for a share of their steps."""
    return [run for case in cases for run in case_runs(case, seeds, scale) if run.labels["column"] in columns]


def case_runs(case: str, seeds: int | Sequence[int], scale: float = 1.0) -> list[Run]:
    """The runs of a case: the recipe, then every method with one sample of each integral, for as many steps and as many evaluations of u in
    a step. A method that is the recipe already is not run twice."""
    problem = CASES[case].problem()
    chosen = CASES[case].recipe or problem.defaults
    assert chosen.steps is not None
    assert chosen.batch is not None
    assert chosen.rule is not None
    common = {"network": chosen.network, "steps": max(20, round(scale * chosen.steps)), "average": chosen.average, "seeds": seeds}

    def run(column: str, method: AbstractMethod, rule: AbstractRule, optimizer: AbstractOptimizer, batch: int) -> Run:
        own = {"rule": rule, "optimizer": optimizer, "batch": batch}
        return make_run(f"{case}: {column}", problem, method, labels={"case": case, "column": column}, **common, **own)

    found = [run(RECIPE, chosen.method, chosen.rule, chosen.optimizer, chosen.batch)]
    budget = chosen.method.evaluations(problem, problem.rules(chosen.rule)).of_step(chosen.batch)
    for column, (method, rule) in ONE_SAMPLE_METHODS.items():
        if (method, rule) != (chosen.method, chosen.rule):
            batch = max(1, round(budget / method.evaluations(problem, problem.rules(rule)).of_step(1)))
            found.append(run(column, method, rule, ONE_SAMPLE.optimizer, batch))
    return found


class Result(NamedTuple):
    """A cell of the table."""

    mean: float  # of the relative L2 error over the seeds that succeeded
    low: float  # its 95 % interval
    high: float
    failed: int  # seeds that failed
    minutes: float


Results = dict[str, dict[str, Result]]  # by case, by column


def results(found: Mapping[str, Outcome]) -> Results:
    """The finished runs of the zoo, as its table has them."""
    made: Results = {}
    for one in found.values():
        interval = bootstrap_interval(one.scores["relative_l2"][one.kept()], least=0.0)
        cell = Result(*interval, int((~one.good).sum()), one.seconds / 60)
        made.setdefault(str(one.run.labels["case"]), {})[str(one.run.labels["column"])] = cell
    return made


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
