"""Figures 8, 9, 18, 20 and 21: how integrals are sampled, how many equations, how fast."""

from collections.abc import Sequence

from fredholm.paper.reproduction import statements as say
from fredholm.paper.reproduction.checking import every, negated
from fredholm.paper.reproduction.claims import better, similar
from fredholm.paper.reproduction.families import (
    MAXWELL,
    NAMES,
    PLAIN,
    POISSON,
    SMOLUCHOWSKI,
    TARGET,
    Family,
    Scale,
    by_variable,
    delayed,
    deterministic,
    mark,
    more_samples,
    standard,
)
from fredholm.paper.reproduction.panels import Bars, Curves, Figure, Lines, Panel, Row
from fredholm.paper.reproduction.published import bars, published
from fredholm.paper.reproduction.verdicts import Claim

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 400)
LEARNING_RATES = {1e-4: "1e-4", 2e-4: "2e-4", 5e-4: "5e-4", 1e-3: "1e-3", 2e-3: "2e-3", 5e-3: "5e-3"}


def _sampling(scale: Scale, figure: int, family: Family) -> Row:
    """A row of Figures 8 and 9: deterministic against i.i.d., the batch, and the standard curves by batch."""
    kind, name = family.kind, NAMES[family.kind]
    plain = {float(batch): standard(scale, family, 1, mark("batch", batch, 400), batch=batch) for batch in BATCHES}
    target = {float(batch): delayed(scale, family, mark("batch", batch, 400), batch=batch) for batch in BATCHES}
    even = {n: deterministic(scale, family, n) for n in (1, 10, 100)}
    scheme = {"S N=1 (iid)": plain[400.0], **{f"D N={n}": run for n, run in even.items()}}
    curves = published(figure, kind, "standard N=1 curves by batch size")
    by_batch = {f"{batch:g} volumes/equations": run for batch, run in plain.items()}
    panels: list[Panel] = [
        Bars(f"{name}: i.i.d. and deterministic", scheme, bars(figure, kind, "sampling scheme (standard)")),
        Lines("batch", "volumes or equations a step", {PLAIN: plain, TARGET: target}, published(figure, kind, "batch size")),
        Curves("standard, N=1, by batch", by_batch, published={label: curves[label] for label in by_batch if label in curves}),
    ]
    claims = [
        Claim(
            f"{name}: a larger batch does not help standard (64 and 400 within a factor 1.25).",
            similar(plain[400.0], plain[64.0], 1.25),
            say.BATCH_STANDARD,
        ),
        Claim(f"{name}: a larger batch helps the delayed target (400 against 8).", better(target[400.0], target[8.0]), say.BATCH_DELAYED),
        Claim(
            f"{name}: deterministic sampling with N=1 does not remedy the bias: the delayed target is better.",
            better(target[400.0], even[1]),
            say.NO_REMEDY,
        ),
        Claim(f"{name}: deterministic sampling improves with N=100.", better(even[100], even[1]), say.LARGE_N),
    ]
    own = "deterministic N={} beats the delayed target with N=1 at equal budget"
    claims += [Claim(f"{name}: {own.format(n)}.", better(even[n], target[400.0])) for n in (10, 100)]
    return panels, claims


def figure_8(scale: Scale) -> Figure:
    """Sampling, Poisson."""
    return Figure.of_rows(8, "Sampling on the 2D Poisson problem", [_sampling(scale, 8, POISSON)])


def figure_9(scale: Scale) -> Figure:
    """Sampling, the other problems."""
    rows = [_sampling(scale, 9, family) for family in (MAXWELL, SMOLUCHOWSKI)]
    return Figure.of_rows(9, "Sampling on Maxwell and Smoluchowski", rows)


def figure_18(scale: Scale) -> Figure:
    """The integration variable."""
    quantity = "quadrature/QMC integration dimension (2D Poisson, 1 charge)"
    series = by_variable(scale)
    panels = [Lines(name, "N", lines, published(18, "poisson-single-charge", quantity, name)) for name, lines in series.items()]
    (gauss_angle, gauss_normals), (qmc_angle, qmc_normals) = (list(lines.values()) for lines in series.values())
    claims = [
        Claim("Gauss: the angle beats two normals (64 against 63 + 1 nodes).", better(gauss_angle[64], gauss_normals[63]), say.ONE_ANGLE),
        Claim("QMC: the angle beats two normals (N=64).", better(qmc_angle[64], qmc_normals[64]), say.ONE_ANGLE),
        Claim(
            "Quadrature is hurt by more than 3, QMC by less.",
            every(better(gauss_angle[64], gauss_normals[63], 1 / 3), negated(better(qmc_angle[64], qmc_normals[64], 1 / 3))),
            say.QUADRATURE_SENSITIVE,
        ),
    ]
    return Figure(18, "The integration variable", [panels], claims)


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
        for most, balanced, more in ((3, None, None), (5, say.BALANCED, say.MAIN_SAMPLES)):
            half, given = (most + 1) // 2, f"d = {dim}: at N+N' = {most + 1},"
            claims += [
                Claim(f"{given} N=N'={half} beats N'={most}, N=1.", better(both[half], main[most]), balanced),
                Claim(f"{given} N'={most}, N=1 beats N={most}, N'=1.", better(main[most], target[most]), more),
            ]
        claims.append(Claim(f"d = {dim}: more samples help standard (500 against 100).", better(plain[500], plain[100])))
    note = "" if len(scale.high) > 2 else f"Only d = {', '.join(map(str, scale.high))}."
    return Figure(20, "More samples in high dimension", [panels], claims, note=note)


def figure_21(scale: Scale) -> Figure:
    """The learning rate."""
    rows, claims = [], []
    for family in (POISSON, MAXWELL, SMOLUCHOWSKI):
        kind, name = family.kind, NAMES[family.kind]
        runs = {rate: standard(scale, family, 1, mark("lr", rate, 1e-3), learning_rate=rate) for rate in LEARNING_RATES}
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
            claims.append(Claim(text, better(target, runs[rate]), say.RATES))
        near = similar(runs[5e-4], runs[2e-3], 1.25)
        claims.append(Claim(f"{name}: learning rates 5e-4 and 2e-3 are within a factor 1.25.", near, say.RATES))
    more = [delayed(scale, family) for family in (POISSON, MAXWELL, SMOLUCHOWSKI)]
    return Figure(21, "The learning rate of standard training", rows, claims, more)
