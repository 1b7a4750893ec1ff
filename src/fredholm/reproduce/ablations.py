"""Figures 8 to 21: the ablations."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fredholm.domains import AbstractDomain, Ball, Box, Interval, Normal, PowerLaw
from fredholm.methods import DelayedTarget
from fredholm.networks import MLP
from fredholm.problems import Maxwell, Poisson
from fredholm.reproduce.claims import Claim, better, every, interior, more_robust, negated, similar
from fredholm.reproduce.families import (
    MAXWELL,
    POISSON,
    SMOLUCHOWSKI,
    Family,
    Scale,
    by_variable,
    delayed,
    deterministic,
    more_samples,
    standard,
)
from fredholm.reproduce.panels import Bars, Curves, Figure, Lines, Panel
from fredholm.reproduce.published import Series, published
from fredholm.study import Run

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 400)
LEARNING_RATES = {1e-4: "1e-4", 2e-4: "2e-4", 5e-4: "5e-4", 1e-3: "1e-3", 2e-3: "2e-3", 5e-3: "5e-3"}
WIDTHS, DEPTHS = (32, 64, 128), (2, 3, 4, 5)
ACTIVATIONS = {"SiLU": "silu", "tanh": "tanh", "ReLU": "relu"}
NAMES = {"poisson-2d": "Poisson", "maxwell": "Maxwell", "smoluchowski-1d": "Smoluchowski"}
PLAIN, TARGET = "Standard (N=1)", "Delayed Target (N=1)"
Make = Callable[..., Run]


def bars(found: Mapping[str, Series]) -> dict[str, float]:
    """Published bars: series of one point."""
    return {name: float(series.y[0]) for name, series in found.items()}


def _sampling(scale: Scale, figure: int, family: Family) -> tuple[list[Panel], list[Claim]]:
    """A row of Figures 8 and 9: deterministic against i.i.d., the batch, and the standard curves by batch."""
    kind, name = family.kind, NAMES[family.kind]
    plain = {float(batch): standard(scale, family, 1, _mark("batch", batch, 400), batch=batch) for batch in BATCHES}
    target = {float(batch): delayed(scale, family, _mark("batch", batch, 400), batch=batch) for batch in BATCHES}
    even = {n: deterministic(scale, family, n) for n in (1, 10, 100)}
    scheme = {"S N=1 (iid)": plain[400.0], **{f"D N={n}": run for n, run in even.items()}}
    curves = published(figure, kind, "standard N=1 curves by batch size")
    by_batch = {f"{batch:g} volumes/equations": run for batch, run in plain.items() if batch in (1, 8, 64, 400)}
    panels: list[Panel] = [
        Bars(f"{name}: i.i.d. and deterministic", scheme, bars(published(figure, kind, "sampling scheme (standard)"))),
        Lines("batch", "volumes or equations a step", {PLAIN: plain, TARGET: target}, published(figure, kind, "batch size")),
        Curves("standard, N=1, by batch", by_batch, published={label: curves[label] for label in by_batch if label in curves}),
    ]
    claims = [
        Claim(
            f"{name}: a larger batch does not help standard (64 and 400 within a factor 1.25).", similar(plain[400.0], plain[64.0], 1.25)
        ),
        Claim(f"{name}: a larger batch helps the delayed target (400 against 8).", better(target[400.0], target[8.0])),
        Claim(
            f"{name}: deterministic sampling with N=1 does not remedy the bias: the delayed target is better.",
            better(target[400.0], even[1]),
        ),
        Claim(f"{name}: deterministic sampling improves with N=100.", better(even[100], even[1])),
    ]
    own = "Not the paper's: deterministic N={} beats the delayed target with N=1 at equal budget"
    claims += [Claim(f"{name}: {own.format(n)}.", better(even[n], target[400.0])) for n in (10, 100)]
    return panels, claims


def _mark(name: str, value: Any, usual: Any) -> str:
    """What a changed setting adds to a run's name; nothing for the base, which every sweep shares."""
    return "" if value == usual else f", {name}={value:g}" if isinstance(value, (int, float)) else f", {name}={value}"


def figure_8(scale: Scale) -> Figure:
    """Sampling, Poisson."""
    panels, claims = _sampling(scale, 8, POISSON)
    return Figure(8, "Sampling on the 2D Poisson problem", [panels], claims)


def figure_9(scale: Scale) -> Figure:
    """Sampling, the other problems."""
    made = [_sampling(scale, 9, family) for family in (MAXWELL, SMOLUCHOWSKI)]
    return Figure(9, "Sampling on Maxwell and Smoluchowski", [row for row, _ in made], [claim for _, own in made for claim in own])


class _Networks:
    """The runs of an architecture ablation: one change at a time."""

    def __init__(self, scale: Scale, family: Family):
        base = family.network

        def both(mark: str, network: MLP) -> tuple[Run, Run]:
            return standard(scale, family, 1, mark, network=network), delayed(scale, family, mark, network=network)

        width, depth, activation = base.width, base.depth, base.activation
        self.depths = {n: both(_mark("depth", n, depth), MLP(width, n, activation)) for n in DEPTHS}
        self.widths = {n: both(_mark("width", n, width), MLP(n, depth, activation)) for n in WIDTHS}
        self.activations = {n: both(_mark("activation", f, activation), MLP(width, depth, f)) for n, f in ACTIVATIONS.items()}


def _architecture(scale: Scale, figure: int, family: Family) -> tuple[list[Panel], list[Claim]]:
    kind, name, runs = family.kind, NAMES[family.kind], _Networks(scale, family)

    def lines(found: Mapping[int, tuple[Run, Run]]) -> dict[str, dict[float, Run]]:
        return {label: {float(n): pair[place] for n, pair in found.items()} for place, label in enumerate((PLAIN, TARGET))}

    def activation(place: int, label: str) -> Bars:
        found = bars(published(figure, kind, f"activation ({label} N=1)"))
        return Bars(f"{label}, activation", {n: pair[place] for n, pair in runs.activations.items()}, found)

    panels: list[Panel] = [
        Lines(f"{name}: depth", "hidden layers", lines(runs.depths), published(figure, kind, "depth"), logarithmic=False),
        activation(0, "standard"),
        activation(1, "delayed target"),
        Lines("width", "units", lines(runs.widths), published(figure, kind, "width")),
    ]
    relu, base = runs.activations["ReLU"][1], delayed(scale, family)
    deep, shallow = runs.depths[5][1], runs.depths[2][1]
    claims = [
        Claim(f"{name}: ReLU fails for delayed targets (worse by more than 3).", better(base, relu, 1 / 3)),
        Claim(f"{name}: depth helps delayed targets (5 layers against 2).", better(deep, shallow)),
        Claim(f"{name}: width helps delayed targets (128 units against 32).", better(runs.widths[128][1], runs.widths[32][1])),
        Claim(
            f"{name}: depth does not matter to standard (5 and 2 layers within a factor 1.5).",
            similar(runs.depths[5][0], runs.depths[2][0], 1.5),
        ),
    ]
    if family is MAXWELL:
        claims.append(Claim("Maxwell: width 128 hurts (against 64).", better(runs.widths[64][1], runs.widths[128][1])))
    return panels, claims


def figure_10(scale: Scale) -> Figure:
    """Architecture, Poisson."""
    panels, claims = _architecture(scale, 10, POISSON)
    return Figure(10, "Architecture on the 2D Poisson problem", [panels], claims)


def figure_11(scale: Scale) -> Figure:
    """Architecture, the other problems."""
    made = [_architecture(scale, 11, family) for family in (MAXWELL, SMOLUCHOWSKI)]
    return Figure(11, "Architecture on Maxwell and Smoluchowski", [row for row, _ in made], [claim for _, own in made for claim in own])


def _curves_by_architecture(scale: Scale, figure: int, family: Family) -> list[Panel]:
    kind, name, runs = family.kind, NAMES[family.kind], _Networks(scale, family)
    depth = {f"{n}-layer": pair[1] for n, pair in runs.depths.items()}
    activation = {n: pair[1] for n, pair in runs.activations.items()}
    width = {f"{n} units": pair[1] for n, pair in runs.widths.items()}
    return [
        Curves(f"{name}: by depth", depth, published=published(figure, kind, "DT curves by depth")),
        Curves("by activation", activation, published=published(figure, kind, "DT curves by act")),
        Curves("by width", width, published=published(figure, kind, "DT curves by width")),
    ]


def _learns(scale: Scale, family: Family) -> Claim:
    """ReLU keeps the delayed target from improving at all."""
    relu = delayed(scale, family, ", activation=relu", network=MLP(family.network.width, family.network.depth, "relu"))
    return Claim(
        f"{NAMES[family.kind]}: with ReLU the delayed target hardly improves (worse by more than 3).",
        better(delayed(scale, family), relu, 1 / 3),
    )


def figure_12(scale: Scale) -> Figure:
    """Curves by architecture, Poisson."""
    return Figure(12, "Delayed targets by architecture, Poisson", [_curves_by_architecture(scale, 12, POISSON)], [_learns(scale, POISSON)])


def figure_13(scale: Scale) -> Figure:
    """Curves by architecture, the other problems."""
    families = (MAXWELL, SMOLUCHOWSKI)
    rows = [_curves_by_architecture(scale, 13, family) for family in families]
    return Figure(13, "Delayed targets by architecture, Maxwell and Smoluchowski", rows, [_learns(scale, family) for family in families])


def _volumes(scale: Scale, family: Family, noun: str) -> tuple[list[Panel], list[Claim]]:
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
        mark = _mark("radius", radius, usual_radius) + _mark("centre", center.removeprefix("centre "), usual_center.removeprefix("centre "))
        if not mark:
            return make(mark)
        noun: Any = Poisson if planar else Maxwell
        problem = noun(radii=radii[radius], centers=centers[center], **({} if planar else {"evaluation": evaluation}))
        return make(mark, problem)

    def plain(mark: str, problem: Any = None) -> Run:
        return standard(scale, family, 1, mark, **({} if problem is None else {"problem": problem}))

    def target(mark: str, problem: Any = None) -> Run:
        return delayed(scale, family, mark, **({} if problem is None else {"problem": problem}))

    panels: list[Panel] = []
    sweeps: list[list[Run]] = []
    for make, label in ((plain, "standard"), (target, "delayed target")):
        by_radius = {radius: run(make, radius, usual_center) for radius in radii}
        by_center = {center: run(make, usual_radius, center) for center in centers}
        found = {part: bars(published(14, kind, f"{noun} {part} ({label} N=1)")) for part in ("radius", "centre")}
        panels += [Bars(f"{name}, {label}: radius", by_radius, found["radius"]), Bars(f"{label}: centre", by_center, found["centre"])]
        sweeps.append(list({one.key: one for one in (*by_radius.values(), *by_center.values())}.values()))
    text = f"{name}: the delayed target is more robust to the law of the volumes than standard."
    return panels, [Claim(text, more_robust(sweeps[1], sweeps[0]))]


def figure_14(scale: Scale) -> Figure:
    """The laws of the volumes."""
    made = [_volumes(scale, POISSON, "ball"), _volumes(scale, MAXWELL, "disc")]
    return Figure(14, "The laws of the integration volumes", [row for row, _ in made], [claim for _, own in made for claim in own])


def figure_15(scale: Scale) -> Figure:
    """The laws of the charges."""
    laws: dict[str, AbstractDomain | None] = {"fixed": None, "U[-1,1]^2": Box((-1.0, -1.0), (1.0, 1.0))}
    laws |= {"unit ball": Ball((0.0, 0.0), 1.0), "N(0,I)": Normal((0.0, 0.0), 1.0)}

    def run(make: Make, name: str, law: AbstractDomain | None) -> Run:
        return make("") if law is None else make(f", charges={name}", problem=Poisson(charges=law))

    plain = {name: run(lambda mark, **o: standard(scale, POISSON, 1, mark, **o), name, law) for name, law in laws.items()}
    target = {name: run(lambda mark, **o: delayed(scale, POISSON, mark, **o), name, law) for name, law in laws.items()}
    panels = [
        Bars("standard, N=1", plain, bars(published(15, "poisson-2d", "charge placement (standard N=1)"))),
        Bars("delayed target, N=1", target, bars(published(15, "poisson-2d", "charge placement (delayed target N=1)"))),
    ]
    claims = [Claim(f"Charges {name}: the delayed target beats standard.", better(target[name], plain[name])) for name in laws]
    claims.append(
        Claim(
            "The delayed target is more robust to the law of the charges than standard.", more_robust([*target.values()], [*plain.values()])
        )
    )
    return Figure(15, "The laws of the charges", [panels], claims)


TAUS = {POISSON.kind: (0.9, 0.99, 0.999, 0.9999, 0.99999), MAXWELL.kind: (0.5, 0.75, 0.875, 0.9375, 0.96875)}
TAUS[SMOLUCHOWSKI.kind] = TAUS[POISSON.kind]
LAMBDAS = {POISSON.kind: (0.1, 1.0, 10.0), MAXWELL.kind: (16.0, 32.0, 64.0, 128.0, 256.0), SMOLUCHOWSKI.kind: (0.1, 1.0, 10.0)}
SPLITS = (10.0, 100.0, 1000.0, 10_000.0)


def _targets(scale: Scale, figure: int, family: Family) -> tuple[list[Panel], list[Claim]]:
    """A row of Figures 16 and 17: τ, λ and M."""
    base, kind, name = family.delayed, family.kind, NAMES[family.kind]

    def run(mark: str, method: DelayedTarget) -> Run:
        return delayed(scale, family, mark, method=method)

    tau = {t: run(_mark("τ", t, base.tau), DelayedTarget(t, base.regularization, base.split)) for t in TAUS[kind]}
    pull = {w: run(_mark("λ", w, base.regularization), DelayedTarget(base.tau, w, base.split)) for w in LAMBDAS[kind]}
    panels: list[Panel] = [
        Bars(f"{name}: τ", {f"tau={t:g}": one for t, one in tau.items()}, bars(published(figure, kind, "tau (DT N=1)"))),
        Bars("λ", {f"lambda={w:g}": one for w, one in pull.items()}, bars(published(figure, kind, "lambda (DT N=1)"))),
    ]
    smallest, usual = pull[LAMBDAS[kind][0]], pull[base.regularization]
    claims = [Claim(f"{name}: τ has an interior optimum.", interior([*tau.values()]))]
    if family is POISSON:
        claims.append(Claim("Poisson: a small λ diverges (λ=0.1 is worse than λ=1 by more than 3).", better(usual, smallest, 1 / 3)))
    else:
        claims.append(Claim(f"{name}: a small λ is worse than the base.", better(usual, smallest)))
    if base.split is not None:
        split = {m: run(_mark("M", m, base.split), DelayedTarget(base.tau, base.regularization, m)) for m in SPLITS}
        panels.append(Bars("M", {f"M={m:g}": one for m, one in split.items()}, bars(published(figure, kind, "M (DT N=1)"))))
        claims.append(Claim(f"{name}: M trades bias for variance: an interior optimum.", interior([*split.values()])))
    return panels, claims


def figure_16(scale: Scale) -> Figure:
    """The parameters of delayed targets."""
    made = [_targets(scale, 16, family) for family in (POISSON, MAXWELL)]
    return Figure(16, "τ, λ and M on Poisson and Maxwell", [row for row, _ in made], [claim for _, own in made for claim in own])


def figure_17(scale: Scale) -> Figure:
    """The parameters of delayed targets, Smoluchowski."""
    panels, claims = _targets(scale, 17, SMOLUCHOWSKI)
    return Figure(17, "τ and λ on Smoluchowski", [panels], claims)


def figure_18(scale: Scale) -> Figure:
    """The integration variable."""
    quantity = "quadrature/QMC integration dimension (2D Poisson, 1 charge)"
    series = by_variable(scale)
    panels = [Lines(name, "N", lines, published(18, "poisson-single-charge", quantity, name)) for name, lines in series.items()]
    (gauss_angle, gauss_normals), (qmc_angle, qmc_normals) = (list(lines.values()) for lines in series.values())
    claims = [
        Claim("Gauss: the angle beats two normals (64 against 63 + 1 nodes).", better(gauss_angle[64], gauss_normals[63])),
        Claim("QMC: the angle beats two normals (N=64).", better(qmc_angle[64], qmc_normals[64])),
        Claim(
            "Quadrature is hurt by more than 3, QMC by less.",
            every(better(gauss_angle[64], gauss_normals[63], 1 / 3), negated(better(qmc_angle[64], qmc_normals[64], 1 / 3))),
        ),
    ]
    return Figure(18, "The integration variable", [panels], claims)


def figure_19(scale: Scale) -> Figure:
    """τ and λ together."""
    taus, pulls = (0.6, 0.65, 0.7, 0.75, 0.8), (16.0, 32.0, 64.0, 128.0)

    def run(tau: float, pull: float) -> Run:
        mark = _mark("τ", tau, 0.75) + _mark("λ", pull, 64.0)
        return delayed(scale, MAXWELL, mark, method=DelayedTarget(tau, pull, 1000.0))

    grid = {pull: {f"tau={tau:g}": run(tau, pull) for tau in taus} for pull in pulls}
    quantity = "Maxwell DT tau x lambda grid"
    panels = [
        Curves(f"λ = {pull:g}", lines, published=published(19, "maxwell", quantity, f"lambda={pull:g}")) for pull, lines in grid.items()
    ]
    slow, fast = grid[128.0]["tau=0.8"], grid[16.0]["tau=0.6"]
    claims = [
        Claim("λ = 64 has an interior optimum of τ.", interior([*grid[64.0].values()])),
        Claim("τ = 0.75 has an interior optimum of λ.", interior([lines["tau=0.75"] for lines in grid.values()])),
        Claim("The slowest target (τ=.8, λ=128) is worse than the fastest (τ=.6, λ=16).", better(fast, slow)),
    ]
    return Figure(19, "τ and λ together, Maxwell", [panels], claims)


def figure_20(scale: Scale) -> Figure:
    """N and N' together."""
    by_dimension = {dim: more_samples(scale, dim) for dim in scale.high}
    names: Sequence[str] = list(next(iter(by_dimension.values())))
    panels = [
        Lines(
            name,
            "N" if "vary N'" not in name else "N'",
            {f"{dim}D": series[name] for dim, series in by_dimension.items()},
            {
                label: found
                for label, found in published(20, "poisson-single-charge", "DT sample-size scaling", name).items()
                if label in {f"{dim}D" for dim in scale.high}
            },
            logarithmic=False,
        )
        for name in names
    ]
    claims = []
    for dim, series in by_dimension.items():
        target, main, both, plain = (series[name] for name in names)
        claims += [
            Claim(f"d = {dim}: at N+N' = 6, N=N'=3 beats N'=5, N=1.", better(both[3], main[5])),
            Claim(f"d = {dim}: at N+N' = 6, N'=5, N=1 beats N=5, N'=1.", better(main[5], target[5])),
            Claim(f"d = {dim}: more samples help standard (500 against 100).", better(plain[500], plain[100])),
        ]
    note = "" if len(scale.high) > 2 else f"Only d = {', '.join(map(str, scale.high))}."
    return Figure(20, "More samples in high dimension", [panels], claims, note=note)


def figure_21(scale: Scale) -> Figure:
    """The learning rate."""
    rows, claims = [], []
    for family in (POISSON, MAXWELL, SMOLUCHOWSKI):
        kind, name = family.kind, NAMES[family.kind]
        runs = {rate: standard(scale, family, 1, _mark("lr", rate, 1e-3), learning_rate=rate) for rate in LEARNING_RATES}
        curves = published(21, kind, "standard N=1 curves by learning rate")
        rows.append(
            [
                Lines(f"{name}: standard, N=1", "learning rate", {PLAIN: runs}, published(21, kind, "learning rate (standard N=1)")),
                Curves("by learning rate", {f"lr={text}": runs[rate] for rate, text in LEARNING_RATES.items()}, published=curves),
            ]
        )
        target = delayed(scale, family)
        for rate in (1e-4, 5e-3):
            text = f"{name}: the learning rate does not cure the bias of standard: at {rate:g} it is still worse than the delayed target."
            claims.append(Claim(text, better(target, runs[rate])))
        claims.append(Claim(f"{name}: learning rates 5e-4 and 2e-3 are within a factor 1.25.", similar(runs[5e-4], runs[2e-3], 1.25)))
    more = [delayed(scale, family) for family in (POISSON, MAXWELL, SMOLUCHOWSKI)]
    return Figure(21, "The learning rate of standard training", rows, claims, more)
