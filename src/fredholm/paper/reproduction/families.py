"""The settings behind the published figures: one function for each method of each problem."""

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypedDict, Unpack

from fredholm.domains.distributions import PowerLaw
from fredholm.domains.round import Ball
from fredholm.equation.equation import Equation
from fredholm.functions.mlp import MLP
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.protocol import AbstractMethod
from fredholm.methods.standard import Standard
from fredholm.optimizers.adam import Adam
from fredholm.problems.evaluation import InsideBalls, RadialGrid
from fredholm.problems.maxwell import Maxwell
from fredholm.problems.poisson import Poisson
from fredholm.problems.smoluchowski import Smoluchowski
from fredholm.rules.base import AbstractRule
from fredholm.rules.even import Even
from fredholm.rules.gauss import Gauss
from fredholm.rules.interpolatory import Leja
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.rules.quasi_monte_carlo import QuasiMonteCarlo
from fredholm.rules.randomize import Rotation
from fredholm.rules.smolyak import Smolyak
from fredholm.rules.tensor import AbstractTensorRule
from fredholm.study.run import Run, make_run

BUDGET = 1000  # points a step in high dimension; the paper's text has it everywhere, its runs in the plane had 800 to 1000


class Budget(NamedTuple):
    """How long and how often a run is trained."""

    steps: int
    seeds: int


NAMES = {"poisson-2d": "Poisson", "maxwell": "Maxwell", "smoluchowski-1d": "Smoluchowski"}
PLAIN, TARGET = "Standard (N=1)", "Delayed Target (N=1)"  # as the published table calls them


class Scale(NamedTuple):
    """How much of the paper's effort is spent; the settings are the same."""

    name: str
    budgets: Mapping[str, Budget]  # by the kind of problem
    dimensions: tuple[int, ...]  # of Figure 4
    high: tuple[int, ...]  # of Figure 20
    record_every: int | None  # None: a hundredth of the run
    batch: int | None = None  # the most points x in a step; None: as published
    radial: int = 500  # radii and directions of the score in high dimension
    methods: tuple[str, ...] | None = None  # of Figure 4, as published; None: all eleven
    figures: tuple[str, ...] | None = None  # what `all` is at this scale, in order of weight; None: every figure


LAPTOP = {
    "poisson-2d": Budget(20_000, 4),
    "poisson-single-charge": Budget(10_000, 4),
    "poisson-samples": Budget(10_000, 2),  # Figure 20
    "maxwell": Budget(10_000, 4),
    "maxwell-main": Budget(20_000, 4),  # Figure 5
    "smoluchowski-1d": Budget(20_000, 4),
}
SCALES = {
    "smoke": Scale("smoke", dict.fromkeys(LAPTOP, Budget(40, 2)), (2, 3), (3,), 10, 16, 60),
    "laptop": Scale("laptop", LAPTOP, (2, 5, 10), (10,), None),
    "headline": Scale(
        "headline",
        dict.fromkeys(LAPTOP, Budget(200_000, 4)),
        (2, 5, 10),
        (10,),
        None,
        methods=(PLAIN, "Standard (N=100)", "QMC (N=100)", TARGET, "Delayed Target (N=10)", "Delayed Target (N=100)"),
        figures=("figure-5", "figure-1", "figure-6", "figure-4", "figure-2", "figure-3"),
    ),
    "paper": Scale("paper", dict.fromkeys(LAPTOP, Budget(200_000, 100)), tuple(range(2, 11)), (8, 9, 10), 2000),
}


class Family(NamedTuple):
    """A problem of the paper with the settings that its figures share."""

    kind: str  # its name in the published table
    problem: Callable[..., Equation]  # makes the problem from its options
    extra: int  # points that "N" evaluates beyond N: the published runs on weak forms have N + 1
    batches: Mapping[int, int]  # equations or volumes in a step, for N
    delayed: DelayedTarget
    network: MLP
    constant: float  # what a constant predictor scores


@functools.cache
def smoluchowski(dim: int = 1, loss_rule: AbstractRule | None = None) -> Equation:
    """The truth is a table that is computed once: a problem is made once."""
    return Smoluchowski(dim, loss_rule=loss_rule)


WEAK = {1: 400, 10: 80, 100: 8, 1000: 1}
POISSON = Family(
    "poisson-2d", functools.cache(Poisson), 1, WEAK, DelayedTarget(0.999, 1.0, 100.0), MLP(64, 3, "silu", scaled=False), 0.0226
)
MAXWELL = Family("maxwell", functools.cache(Maxwell), 1, WEAK, DelayedTarget(0.75, 64.0, 1000.0), MLP(64, 5, "tanh", scaled=False), 0.019)
SMOLUCHOWSKI = Family(
    "smoluchowski-1d", smoluchowski, 0, {1: 400, 10: 40, 100: 4, 1000: 1}, DelayedTarget(0.99, 1.0), MLP(64, 3, "silu", scaled=False), 0.201
)


class Options(TypedDict, total=False):
    """What a run of a family may change, and labels that say where in a sweep it stands."""

    problem: Equation
    network: MLP
    learning_rate: float
    budget: str  # the kind of problem whose budget is taken
    labels: Mapping[str, float]


def train(
    scale: Scale,
    family: Family,
    what: str,
    method: AbstractMethod,
    rule: AbstractRule,
    batch: int,
    *,
    problem: Equation | None = None,
    network: MLP | None = None,
    learning_rate: float = 1e-3,
    budget: str | None = None,
    labels: Mapping[str, float] = MappingProxyType({}),
) -> Run:
    """A run of a family, by what it is called."""
    steps, seeds = scale.budgets[budget or family.kind]
    return make_run(
        f"{family.kind}: {what}",
        family.problem() if problem is None else problem,
        method,
        rule=rule,
        network=network or family.network,
        optimizer=Adam(learning_rate),
        steps=steps,
        batch=batch if scale.batch is None else min(batch, scale.batch),
        seeds=seeds,
        record_every=scale.record_every,
        average=0.0,  # the scores are those of the network itself
        labels={"problem": family.kind, "method": what.split(",")[0], **labels},
    )


def mark(name: str, value: object, usual: object) -> str:
    """What a changed setting adds to a run's name; nothing for the base, which every sweep shares."""
    return "" if value == usual else f", {name}={value:g}" if isinstance(value, (int, float)) else f", {name}={value}"


def standard(scale: Scale, family: Family, n: int = 1, changes: str = "", batch: int | None = None, **options: Unpack[Options]) -> Run:
    """The standard loss with "N" independent samples."""
    rule = MonteCarlo(n + family.extra)
    return train(scale, family, f"standard N={n}{changes}", Standard(), rule, batch or family.batches[n], **options)


def deterministic(scale: Scale, family: Family, n: int, **options: Unpack[Options]) -> Run:
    """The standard loss with evenly spaced points. On Smoluchowski, as in the published runs, only the gain integral has them; the loss
    integral keeps independent samples."""
    rule = Even(n + family.extra, Rotation())
    if family is SMOLUCHOWSKI:
        rule, options["problem"] = Even(n), smoluchowski(1, MonteCarlo(n))
    return train(scale, family, f"deterministic N={n}", Standard(), rule, family.batches[n], **options)


def double(scale: Scale, family: Family, n: int, **options: Unpack[Options]) -> Run:
    """Double sampling as published: 1 + 1 points for N = 1, 50 + 50 for N = 100."""
    return train(scale, family, f"double sampling N={n}", DoubleSampling(), MonteCarlo(max(2, n)), family.batches[n], **options)


def delayed(
    scale: Scale, family: Family, changes: str = "", batch: int = 400, method: DelayedTarget | None = None, **options: Unpack[Options]
) -> Run:
    """Delayed targets with one sample of each part."""
    return train(scale, family, f"delayed target N=1{changes}", method or family.delayed, MonteCarlo(1), batch, **options)


def single_charge(scale: Scale, dim: int, variable: Literal["angles", "normals"] = "angles") -> Equation:
    """The problem of Figures 4, 18 and 20: one charge at the origin, in any dimension."""
    center, radius = Ball((0.0,) * dim, 1.0), PowerLaw(0.0, 1.0, power=float(dim))
    grid = RadialGrid(at=InsideBalls(center, radius), radii=scale.radial, directions=scale.radial)
    return Poisson(dim, charges=[[0.0] * dim], centers=center, radii=radius, variable=variable, evaluation=grid)


SINGLE = Family(
    "poisson-single-charge",
    single_charge,
    1,
    {1: 500, 10: 100, 100: 10, 200: 10, 300: 10, 400: 10, 500: 10},
    DelayedTarget(0.996, 4.0, 500.0),
    MLP(64, 5, "silu", scaled=False),
    2.0,
)
GAUSS_NODES, LEJA_NODES = (3, 14, 28, 45, 66, 91, 120, 153, 190), (3, 6, 10, 15, 21, 28, 36, 45, 55)  # for d = 2 .. 10


def high_dimension(scale: Scale, dim: int) -> dict[str, Run]:
    """The methods of Figure 4 in d dimensions, by their published names: eleven, or those of the scale."""
    problem = single_charge(scale, dim)

    def run(what: str, method: AbstractMethod, rule: AbstractRule, batch: int) -> Run:
        return train(scale, SINGLE, f"{what}, d={dim}", method, rule, batch, problem=problem, labels={"dimension": dim})

    def smolyak(rule: AbstractTensorRule, nodes: int, merge: bool) -> tuple[AbstractRule, int]:
        return Smolyak(rule, 2, Rotation(), merge=merge), BUDGET // nodes

    plain, both = Standard(), DoubleSampling()
    gauss, leja = smolyak(Gauss(1), GAUSS_NODES[dim - 2], False), smolyak(Leja(1), LEJA_NODES[dim - 2], True)
    found = {
        "Standard (N=1)": run("standard N=1", plain, MonteCarlo(2), 500),
        "Standard (N=100)": run("standard N=100", plain, MonteCarlo(101), 10),
        "Double Sampling (N=1)": run("double sampling N=1", both, MonteCarlo(2), 500),
        "Double Sampling (N=100)": run("double sampling N=100", both, MonteCarlo(100), 10),
        "Gaussian Quadrature": run("Gauss and Smolyak", plain, *gauss),
        "Leja Quadrature": run("Leja and Smolyak", plain, *leja),
        "QMC (N=1)": run("QMC N=1", plain, QuasiMonteCarlo(2, randomize=Rotation()), 500),
        "QMC (N=100)": run("QMC N=100", plain, QuasiMonteCarlo(101, randomize=Rotation()), 10),
        "Delayed Target (N=1)": run("delayed target N=1", DelayedTarget(0.996, 4.0, 500.0, main=1), MonteCarlo(1), 500),
        "Delayed Target (N=10)": run("delayed target N=10", DelayedTarget(0.996, 4.0, 250.0, main=6), MonteCarlo(5), 100),
        "Delayed Target (N=100)": run("delayed target N=100", DelayedTarget(0.996, 4.0, 100.0, main=51), MonteCarlo(50), 10),
    }
    return found if scale.methods is None else {name: found[name] for name in scale.methods}


def more_samples(scale: Scale, dim: int) -> dict[str, dict[float, Run]]:
    """Figure 20 in d dimensions: the series by their published names, each by its N or N'. The batch is fixed, so that cost grows."""
    problem = single_charge(scale, dim)

    def target(n: int, main: int) -> Run:
        method = DelayedTarget(0.996, 4.0, 500.0, main=main)
        what, labels = f"delayed target N={n} N'={main}, d={dim}", {"dimension": dim, "N": n, "main": main}
        return train(scale, SINGLE, what, method, MonteCarlo(n), 500, problem=problem, budget="poisson-samples", labels=labels)

    def plain(n: int) -> Run:
        labels = {"dimension": dim, "N": n}
        return standard(scale, SINGLE, n, f", d={dim}", batch=10, problem=problem, budget="poisson-samples", labels=labels)

    ones = range(1, 6)
    return {
        "DT: vary N (N'=1)": {n: target(n, 1) for n in ones},
        "DT: vary N' (N=1)": {n: target(1, n) for n in ones},
        "DT: N=N'": {n: target(n, n) for n in ones},
        "Standard: vary N (10 balls)": {100 * n: plain(100 * n) for n in ones},
    }


def by_variable(scale: Scale) -> dict[str, dict[str, dict[float, Run]]]:
    """Figure 18: deterministic rules in the plane, by angle or by two normals; the series by their published names."""
    angle, normals = single_charge(scale, 2), single_charge(scale, 2, "normals")

    def run(what: str, n: int, rule: AbstractRule, problem: Equation) -> Run:
        return train(scale, SINGLE, f"{what} N={n}", Standard(), rule, BUDGET // (n + 1), problem=problem, labels={"N": n})

    one, two = "1D integration (cube2sphr)", "2D integration (normscale)"
    powers = [2**k for k in range(8)]
    turn = Rotation()
    return {
        "Gaussian quadrature (dense)": {
            one: {n: run("Gauss by angle", n, Gauss(n + 1, turn), angle) for n in (1, 2, 4, 8, 16, 32, 64, 118)},
            two: {k**2 - 1: run("Gauss by normals", k**2 - 1, Gauss(k, turn), normals) for k in range(2, 12)},
        },
        "QMC additive recursion": {
            one: {n: run("QMC by angle", n, QuasiMonteCarlo(n + 1, randomize=turn), angle) for n in powers},
            two: {n: run("QMC by normals", n, QuasiMonteCarlo(n + 1, randomize=turn), normals) for n in powers},
        },
    }
