"""Figures 16, 17 and 19: the parameters of delayed targets."""

from fredholm.methods.delayed_target import DelayedTarget
from fredholm.paper.reproduction import statements as say
from fredholm.paper.reproduction.claims import better, interior
from fredholm.paper.reproduction.endings import cures, turns_up
from fredholm.paper.reproduction.families import (
    MAXWELL,
    NAMES,
    POISSON,
    SMOLUCHOWSKI,
    Family,
    Scale,
    delayed,
    mark,
)
from fredholm.paper.reproduction.panels import Bars, Curves, Figure, Panel, Row
from fredholm.paper.reproduction.published import bars, published
from fredholm.paper.reproduction.verdicts import Claim
from fredholm.study.run import Run

TAUS = {POISSON.kind: (0.9, 0.99, 0.999, 0.9999, 0.99999), MAXWELL.kind: (0.5, 0.75, 0.875, 0.9375, 0.96875)}
TAUS[SMOLUCHOWSKI.kind] = TAUS[POISSON.kind]
LAMBDAS = {POISSON.kind: (0.1, 1.0, 10.0), MAXWELL.kind: (16.0, 32.0, 64.0, 128.0, 256.0), SMOLUCHOWSKI.kind: (0.1, 1.0, 10.0)}
SPLITS = (10.0, 100.0, 1000.0, 10_000.0)


def _targets(scale: Scale, figure: int, family: Family) -> Row:
    """A row of Figures 16 and 17: τ, λ and M."""
    base, kind, name = family.delayed, family.kind, NAMES[family.kind]

    def run(mark: str, method: DelayedTarget) -> Run:
        return delayed(scale, family, mark, method=method)

    tau = {t: run(mark("τ", t, base.tau), DelayedTarget(t, base.regularization, base.split)) for t in TAUS[kind]}
    pull = {w: run(mark("λ", w, base.regularization), DelayedTarget(base.tau, w, base.split)) for w in LAMBDAS[kind]}
    panels: list[Panel] = [
        Bars(f"{name}: τ", {f"tau={t:g}": one for t, one in tau.items()}, bars(figure, kind, "tau (DT N=1)")),
        Bars("λ", {f"lambda={w:g}": one for w, one in pull.items()}, bars(figure, kind, "lambda (DT N=1)")),
    ]
    smallest, usual, largest = (pull[w] for w in (LAMBDAS[kind][0], base.regularization, LAMBDAS[kind][-1]))
    claims = [Claim(f"{name}: τ has an interior optimum.", interior([*tau.values()]), say.INNER_TAU)]
    if family is POISSON:
        claims.append(Claim("Poisson: a small λ diverges (λ=0.1).", turns_up(smallest, 1.5), say.SMALL_PULL))
    else:
        claims.append(Claim(f"{name}: a small λ is worse than the base.", better(usual, smallest)))
    if family is not SMOLUCHOWSKI:
        claims.append(Claim(f"{name}: a large λ is worse than the base.", better(usual, largest), say.LARGE_PULL))
    if base.split is not None:
        split = {m: run(mark("M", m, base.split), DelayedTarget(base.tau, base.regularization, m)) for m in SPLITS}
        panels.append(Bars("M", {f"M={m:g}": one for m, one in split.items()}, bars(figure, kind, "M (DT N=1)")))
        claims.append(Claim(f"{name}: a small M is worse than the base.", better(split[base.split], split[SPLITS[0]]), say.BIASED_SPLIT))
        claims.append(Claim(f"{name}: a large M is worse than the base.", better(split[base.split], split[SPLITS[-1]]), say.LARGE_SPLIT))
    return panels, claims


def figure_16(scale: Scale) -> Figure:
    """The parameters of delayed targets."""
    return Figure.of_rows(16, "τ, λ and M on Poisson and Maxwell", [_targets(scale, 16, family) for family in (POISSON, MAXWELL)])


def figure_17(scale: Scale) -> Figure:
    """The parameters of delayed targets, Smoluchowski."""
    return Figure.of_rows(17, "τ and λ on Smoluchowski", [_targets(scale, 17, SMOLUCHOWSKI)])


def figure_19(scale: Scale) -> Figure:
    """τ and λ together."""
    taus, pulls = (0.6, 0.65, 0.7, 0.75, 0.8), (16.0, 32.0, 64.0, 128.0)

    def run(tau: float, pull: float) -> Run:
        changes = mark("τ", tau, 0.75) + mark("λ", pull, 64.0)
        return delayed(scale, MAXWELL, changes, method=DelayedTarget(tau, pull, 1000.0))

    grid = {pull: {f"tau={tau:g}": run(tau, pull) for tau in taus} for pull in pulls}
    quantity = "Maxwell DT tau x lambda grid"
    panels = [
        Curves(f"λ = {pull:g}", lines, published=published(19, "maxwell", quantity, f"lambda={pull:g}")) for pull, lines in grid.items()
    ]
    slow, fast = grid[128.0]["tau=0.8"], grid[16.0]["tau=0.6"]
    claims = [
        Claim("λ = 64 has an interior optimum of τ.", interior([*grid[64.0].values()]), say.TAU_PEAK),
        Claim("τ = 0.75 has an interior optimum of λ.", interior([lines["tau=0.75"] for lines in grid.values()])),
        Claim(
            "τ = 0.75 turns up with λ = 16 and not with λ = 128.", cures(grid[128.0]["tau=0.75"], grid[16.0]["tau=0.75"]), say.PULL_STABLE
        ),
        Claim("The slowest target (τ=.8, λ=128) is worse than the fastest (τ=.6, λ=16).", better(fast, slow), say.SPEED),
    ]
    return Figure(19, "τ and λ together, Maxwell", [panels], claims)
