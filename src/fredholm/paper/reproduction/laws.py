"""Figures 14 and 15: the laws of the integration volumes and of the charges."""

from collections.abc import Callable

from fredholm.domains.base import AbstractDomain
from fredholm.domains.distributions import Normal, PowerLaw
from fredholm.domains.flat import Box, Interval
from fredholm.domains.round import Ball
from fredholm.paper.reproduction import statements as say
from fredholm.paper.reproduction.checking import negated
from fredholm.paper.reproduction.claims import better, more_robust, sensitive
from fredholm.paper.reproduction.families import (
    MAXWELL,
    NAMES,
    POISSON,
    Family,
    Options,
    Scale,
    delayed,
    mark,
    standard,
)
from fredholm.paper.reproduction.panels import Bars, Figure, Panel, Row
from fredholm.paper.reproduction.published import bars
from fredholm.paper.reproduction.verdicts import Claim
from fredholm.problems.maxwell import Maxwell
from fredholm.problems.poisson import Poisson
from fredholm.study.run import Run

Make = Callable[[str, Options], Run]  # a run of a method, by the mark of its changes and its options


def _methods(scale: Scale, family: Family) -> tuple[Make, Make]:
    """The two methods that Figures 14 and 15 compare."""
    return (
        lambda changes, options: standard(scale, family, 1, changes, **options),
        lambda changes, options: delayed(scale, family, changes, **options),
    )


def _volumes(scale: Scale, family: Family, noun: str) -> Row:
    """A row of Figure 14: the laws of radius and centre, for both methods."""
    planar, kind, name = family is POISSON, family.kind, NAMES[family.kind]
    dim, power = (2, 2.0) if planar else (3, 3.0)
    origin, sides = (0.0,) * dim, (1.0,) * dim
    cube: AbstractDomain = Box(tuple(-side for side in sides), sides)
    ball, normal = Ball(origin, 1.0), Normal(origin, 1.0)
    labels = ("r^2~U[0,1]", "r^2~U[0,2]", "r^2~U[0,3]")
    if not planar:
        labels = ("label r^2~U[0,1] (code: r^3~U[0,1])", "label r^2~U[0,2] (code: r^3~U[0,5.196])", "label r^2~U[0,3] (code: r^3~U[0,8])")
    ends = (1.0, 2**0.5, 3**0.5) if planar else (1.0, 3**0.5, 2.0)
    radii: dict[str, AbstractDomain] = {"r~U[0.1,1.5]": Interval(0.1, 1.5), "r~U[0,1]": PowerLaw(0.0, 1.0)}
    radii |= {label: PowerLaw(0.0, end, power) for label, end in zip(labels, ends, strict=True)}
    centers: dict[str, AbstractDomain] = {"centre U[-1,1]^2": cube, "centre N(0,I)": normal, "centre unit ball": ball}
    usual_radius, usual_center = ("r~U[0.1,1.5]", "centre U[-1,1]^2") if planar else (labels[0], "centre unit ball")
    evaluation = None if planar else Maxwell().evaluation  # the same points for every law

    def run(make: Make, radius: str, center: str) -> Run:
        changes = mark("radius", radius, usual_radius) + mark(
            "centre", center.removeprefix("centre "), usual_center.removeprefix("centre ")
        )
        if not changes:
            return make(changes, {})
        if planar:
            return make(changes, {"problem": Poisson(radii=radii[radius], centers=centers[center])})
        return make(changes, {"problem": Maxwell(radii=radii[radius], centers=centers[center], evaluation=evaluation)})

    panels: list[Panel] = []
    sweeps: list[list[Run]] = []
    for make, label in zip(_methods(scale, family), ("standard", "delayed target"), strict=True):
        by_radius = {radius: run(make, radius, usual_center) for radius in radii}
        by_center = {center: run(make, usual_radius, center) for center in centers}
        found = {part: bars(14, kind, f"{noun} {part} ({label} N=1)") for part in ("radius", "centre")}
        panels += [Bars(f"{name}, {label}: radius", by_radius, found["radius"]), Bars(f"{label}: centre", by_center, found["centre"])]
        sweeps.append(list({one.key: one for one in (*by_radius.values(), *by_center.values())}.values()))
    claims = [
        Claim(
            f"{name}: the delayed target is more robust to the law of the volumes than standard.",
            more_robust(sweeps[1], sweeps[0]),
            say.ROBUST_VOLUMES,
        ),
        Claim(f"{name}: standard is sensitive to it, by more than a factor 2.", sensitive(sweeps[0]), say.SENSITIVE_VOLUMES),
    ]
    return panels, claims


def figure_14(scale: Scale) -> Figure:
    """The laws of the volumes."""
    rows = [_volumes(scale, POISSON, "ball"), _volumes(scale, MAXWELL, "disc")]
    return Figure.of_rows(14, "The laws of the integration volumes", rows)


def figure_15(scale: Scale) -> Figure:
    """The laws of the charges."""
    laws: dict[str, AbstractDomain | None] = {"fixed": None, "U[-1,1]^2": Box((-1.0, -1.0), (1.0, 1.0))}
    laws |= {"unit ball": Ball((0.0, 0.0), 1.0), "N(0,I)": Normal((0.0, 0.0), 1.0)}

    def run(make: Make, name: str, law: AbstractDomain | None) -> Run:
        return make("", {}) if law is None else make(f", charges={name}", {"problem": Poisson(charges=law)})

    plain, target = ({name: run(make, name, law) for name, law in laws.items()} for make in _methods(scale, POISSON))
    panels = [
        Bars("standard, N=1", plain, bars(15, "poisson-2d", "charge placement (standard N=1)")),
        Bars("delayed target, N=1", target, bars(15, "poisson-2d", "charge placement (delayed target N=1)")),
    ]
    claims = [Claim(f"Charges {name}: the delayed target beats standard.", better(target[name], plain[name]), say.CHARGES) for name in laws]
    for name, runs in (("Standard", plain), ("The delayed target", target)):
        claims.append(Claim(f"{name} varies with the charges by less than a factor 2.", negated(sensitive([*runs.values()])), say.CHARGES))
    return Figure(15, "The laws of the charges", [panels], claims)
