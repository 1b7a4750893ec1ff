"""Figures 1 to 7: the main text."""

import itertools

from fredholm.methods.delayed_target import DelayedTarget
from fredholm.paper.reproduction import statements as say
from fredholm.paper.reproduction.checking import every
from fredholm.paper.reproduction.claims import better, comparable, similar
from fredholm.paper.reproduction.endings import cures, floors, larger, never_below, stable, turns_up
from fredholm.paper.reproduction.families import (
    MAXWELL,
    POISSON,
    SMOLUCHOWSKI,
    Options,
    Scale,
    delayed,
    deterministic,
    double,
    high_dimension,
    smoluchowski,
    standard,
)
from fredholm.paper.reproduction.panels import Curves, Figure, Lines, Map, Nodes, Panel, Radial
from fredholm.paper.reproduction.published import published
from fredholm.paper.reproduction.verdicts import Claim
from fredholm.rules.even import Even
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.rules.randomize import Rotation
from fredholm.study.run import Run

SCORE = "hi-dim Poisson MSE vs dimension"


def figure_1(scale: Scale) -> Figure:
    """The bias of the standard loss."""
    one, hundred = standard(scale, POISSON, 1), standard(scale, POISSON, 100)
    rows = [
        [Map("analytical", hundred, "truth"), Map("standard, N=100", hundred), Map("standard, N=1", one)],
        [
            Curves("training loss and integration variance", {"N=1": one, "N=100": hundred}, "loss", also=("integration_variance",)),
            Curves("error", {"N=1": one, "N=100": hundred}),
        ],
    ]
    claims = [
        Claim("The standard solution with N=1 is over-smooth: N=100 is better.", better(hundred, one), say.OVER_SMOOTH),
        Claim("The loss of N=1 comes to rest at the integration variance.", floors(one, "integration_variance"), say.FLOORED),
        Claim("The loss of N=1 is bounded from below by its excess variance.", never_below(one, "excess_variance"), say.BOUNDED),
        Claim(
            "N=1 finds a solution with a smaller integration variance than N=100.",
            larger(hundred, one, "integration_variance"),
            say.LESS_VARIANCE,
        ),
        Claim("The loss of N=100 ends lower.", larger(one, hundred, "loss"), say.LOWER_LOSS),
    ]
    note = "Besides the paper's picture, the errors over training."
    return Figure(1, "The standard loss under different sample sizes", rows, claims, note=note)


def figure_2(scale: Scale) -> Figure:
    """Deterministic sampling and double sampling."""
    d1, d100 = deterministic(scale, POISSON, 1), deterministic(scale, POISSON, 100)
    s1, s100, target = double(scale, POISSON, 1), double(scale, POISSON, 100), delayed(scale, POISSON)
    plain = standard(scale, POISSON, 1)
    few = {"deterministic, N=1": d1, "double sampling, N=1": s1, "delayed target, N=1": target}
    many = {"deterministic, N=100": d100, "double sampling, N=100": s100, "delayed target, N=1": target}
    rows = [
        [
            Map("deterministic, N=1", d1),
            Map("double sampling, N=1", s1),
            Map("deterministic, N=100", d100),
            Map("double sampling, N=100", s100),
        ],
        [Curves("error with N=1", few), Curves("error with N=100", many)],
    ]
    claims = [
        Claim("Deterministic sampling with N=1 is stable.", stable(d1), say.STEADY),
        Claim("Deterministic and standard with N=1 are within a factor 2.", similar(d1, plain, 2.0), say.STEADY),
        Claim("Double sampling with N=1 is unstable.", turns_up(s1), say.UNSTABLE),
        Claim("Double sampling with N=100 is stable.", stable(s100), say.BETTER_WITH_MORE),
        Claim("Deterministic sampling with N=100 is stable.", stable(d100), say.BETTER_WITH_MORE),
        Claim("Double sampling improves with N=100.", better(s100, s1), say.BETTER_WITH_MORE),
        Claim("Deterministic sampling improves with N=100.", better(d100, d1), say.BETTER_WITH_MORE),
        Claim("The delayed target with N=1 is better than double sampling with N=100.", better(target, s100), say.BEST),
        Claim("The delayed target with N=1 is better than deterministic sampling with N=100.", better(target, d100), say.BEST),
    ]
    return Figure(2, "Deterministic and double sampling on the 2D Poisson problem", rows, claims, [plain])


def figure_3(scale: Scale) -> Figure:
    """Delayed targets that diverge, that are biased, and that are cured."""
    free = delayed(scale, POISSON, ", M=100, λ=0", method=DelayedTarget(0.999, 0.0, 100.0))
    small = delayed(scale, POISSON, ", M=10, λ=0", method=DelayedTarget(0.999, 0.0, 10.0))
    cured = delayed(scale, POISSON, ", M=1000, λ=1", method=DelayedTarget(0.999, 1.0, 1000.0))
    base, one, hundred = delayed(scale, POISSON), standard(scale, POISSON, 1), standard(scale, POISSON, 100)
    quiet = {"standard, N=1": one, "standard, N=100": hundred}

    def panels(title: str, run: Run) -> list[Panel]:
        return [
            Map(f"{title}: main", run),
            Map("target", run, "target"),
            Curves("training loss", {"delayed target": run}, "loss", quiet=quiet),
            Curves("error", {"delayed target": run}, quiet=quiet),
        ]

    rows = [
        panels("M=100, λ=0", free),
        panels("M=10, λ=0", small),
        panels("M=1000, λ=1", cured),
        [Nodes("deterministic sampling, N=100", Even(100, Rotation())), Nodes("i.i.d. sampling, N=100", MonteCarlo(100))],
    ]
    claims = [
        Claim("With M=100 and λ=0 the delayed target diverges.", turns_up(free, 1.5), say.DIVERGES),
        Claim("Then main and target drift apart.", larger(free, base, "drift", 3.0), say.DRIFT),
        Claim("With M=10 and λ=0 it is stable.", stable(small, 1.5), say.SMALL_SPLIT),
        Claim("With M=10 it is biased: worse than with M=100 and λ=1.", better(base, small), say.BIASED_SPLIT),
        Claim("λ=1 cures the divergence (M=1000).", cures(cured, free), say.CURED),
        Claim("λ=1 cures the divergence (M=100).", cures(base, free)),
    ]
    return Figure(3, "Delayed targets on the 2D Poisson problem", rows, claims, [base])


def figure_4(scale: Scale) -> Figure:
    """Higher dimension."""
    by_dimension = {dim: high_dimension(scale, dim) for dim in scale.dimensions}
    names = list(next(iter(by_dimension.values())))
    shown = {
        "Delayed Target (N=1)": "Delayed Target N=1",
        "Standard (N=100)": "Standard N=100",
        "Double Sampling (N=100)": "Dbl. Sampling N=100",
    }
    shown = {name: label for name, label in shown.items() if name in names}
    rows = []
    for dim in (scale.dimensions[0], scale.dimensions[-1]):
        curves = {
            name: published(4, "poisson-single-charge", "prediction vs radius (main)", f"{dim}D {label}") for name, label in shown.items()
        }
        rows.append([Radial(f"d = {dim}, {name}", by_dimension[dim][name], curves[name].get("trained model")) for name in shown])
    lines = {name: {float(dim): runs[name] for dim, runs in by_dimension.items()} for name in names}
    rows.append([Lines("standardised MSE", "dimension", lines, published(4, "poisson-single-charge", SCORE), logarithmic=False)])
    claims = []
    for dim, runs in by_dimension.items():
        base, plain, qmc = runs["Delayed Target (N=1)"], runs["Standard (N=100)"], runs["QMC (N=100)"]
        claims += [
            Claim(
                f"d = {dim}: the delayed target with N=1 is comparable to standard with N=100.",
                comparable(base, plain),
                say.COMPARABLE_HIGH,
            ),
            Claim(f"d = {dim}: the delayed target with N=1 is comparable to QMC with N=100.", comparable(base, qmc), say.COMPARABLE_QMC),
            Claim(f"d = {dim}: QMC is better than i.i.d. with N=100.", better(qmc, plain), say.QMC),
            Claim(f"d = {dim}: more samples improve the delayed target.", better(runs["Delayed Target (N=100)"], base), say.MORE_SAMPLES),
        ]
        claims += [
            Claim(
                f"d = {dim}: {rule} quadrature is worse than standard with N=100.",
                better(plain, runs[f"{rule} Quadrature"]),
                say.QUADRATURE,
            )
            for rule in ("Gaussian", "Leja")
            if f"{rule} Quadrature" in runs
        ]
    for name in ("Standard (N=100)", "Delayed Target (N=1)"):
        runs = [found[name] for found in by_dimension.values()]
        harder = every(*(better(lower, higher) for lower, higher in itertools.pairwise(runs)))
        claims.append(Claim(f"{name}: each higher dimension is harder.", harder, say.HARDER))
    note = "" if len(scale.dimensions) > 8 else f"Only d = {', '.join(map(str, scale.dimensions))}."
    note += "" if scale.methods is None else f" Only {', '.join(scale.methods)}."
    return Figure(4, "Poisson in higher dimension", rows, claims, note=note)


def figure_5(scale: Scale) -> Figure:
    """Maxwell's equations."""
    budget: Options = {"budget": "maxwell-main"}
    one, hundred = standard(scale, MAXWELL, 1, **budget), standard(scale, MAXWELL, 100, **budget)
    even, twice = deterministic(scale, MAXWELL, 1, **budget), double(scale, MAXWELL, 1, **budget)
    target = delayed(scale, MAXWELL, **budget)
    curves = published(5, "maxwell", "Maxwell training curves")
    names = {"Standard (N=1)": one, "Standard (N=100)": hundred, "Det Sampling (N=1)": even, "Dbl Sampling (N=1)": twice}
    names["Delayed Target (N=1)"] = target
    short = {name.partition(" tau")[0]: series for name, series in curves.items()}
    rows = [
        [Map("truth", one, "truth"), Map("standard, N=1", one), Map("standard, N=100", hundred)],
        [Map("deterministic, N=1", even), Map("double sampling, N=1", twice), Map("delayed target, N=1", target)],
        [Curves("error", names, published=short)],
    ]
    claims = [
        Claim("The delayed target with N=1 is comparable to standard with N=100.", comparable(target, hundred), say.COMPARABLE_MAXWELL),
        Claim("Double sampling with N=1 is better than standard with N=1 at its best.", better(twice, one), say.AT_FIRST),
        Claim("Double sampling with N=1 turns back up.", turns_up(twice), say.AT_FIRST),
        Claim("Standard with N=1 is over-smooth: N=100 is better.", better(hundred, one), say.SMOOTH_MAXWELL),
        Claim("Deterministic with N=1 is over-smooth: the delayed target is better.", better(target, even), say.SMOOTH_MAXWELL),
    ]
    return Figure(5, "Maxwell: the vector potential around a current", rows, claims)


def figure_6(scale: Scale) -> Figure:
    """Smoluchowski's equation."""
    one, hundred, target = standard(scale, SMOLUCHOWSKI, 1), standard(scale, SMOLUCHOWSKI, 100), delayed(scale, SMOLUCHOWSKI)
    loss = {"N=1": one, "N=100": hundred}
    rows = [
        [Map("truth", one, "truth"), Map("standard, N=100", hundred), Map("standard, N=1", one), Map("delayed target, N=1", target)],
        [
            Curves("standard: loss and integration variance", loss, "loss", also=("integration_variance",)),
            Curves("delayed target: loss and integration variance", {"delayed target": target}, "loss", also=("integration_variance",)),
            Curves("error", {"standard, N=1": one, "standard, N=100": hundred, "delayed target, N=1": target}),
        ],
    ]
    claims = [
        Claim("Standard with N=1 is biased: N=100 is better.", better(hundred, one), say.BIASED_SMOLUCHOWSKI),
        Claim(
            "The delayed target with N=1 is comparable to standard with N=100.", comparable(target, hundred), say.COMPARABLE_SMOLUCHOWSKI
        ),
        Claim("The delayed target with N=1 beats standard with N=1.", better(target, one), say.NO_BOTTLENECK),
    ]
    return Figure(6, "Smoluchowski coagulation, d = 1", rows, claims)


def figure_7(scale: Scale) -> Figure:
    """Smoluchowski's equation with more sizes."""
    panels, claims = [], []
    for dim in (1, 2, 3):
        options: Options = {} if dim == 1 else {"problem": smoluchowski(dim), "labels": {"dimension": dim}}
        mark = "" if dim == 1 else f", d={dim}"
        one, hundred = standard(scale, SMOLUCHOWSKI, 1, mark, **options), standard(scale, SMOLUCHOWSKI, 100, mark, **options)
        target = delayed(scale, SMOLUCHOWSKI, mark, **options)
        panels.append(
            Curves(f"particle dimension {dim}", {"standard, N=1": one, "standard, N=100": hundred, "delayed target, N=1": target})
        )
        claims += [
            Claim(
                f"d = {dim}: the delayed target with N=1 is better than standard with N=100.", better(target, hundred), say.SLIGHTLY_BETTER
            ),
            Claim(
                f"d = {dim}: standard with N=1 is far worse than the delayed target with N=1 (by more than 10).",
                better(target, one, 0.1),
                say.KEEPS_QUALITY,
            ),
        ]
    return Figure(7, "Smoluchowski coagulation, d = 1, 2, 3", [panels], claims)
