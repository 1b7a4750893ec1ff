"""Figures 10 to 13: the network."""

from collections.abc import Mapping
from dataclasses import replace

from fredholm.functions.mlp import MLP
from fredholm.paper.reproduction import statements as say
from fredholm.paper.reproduction.claims import better, similar, unimproved
from fredholm.paper.reproduction.families import (
    MAXWELL,
    NAMES,
    PLAIN,
    POISSON,
    SMOLUCHOWSKI,
    TARGET,
    Family,
    Scale,
    delayed,
    mark,
    standard,
)
from fredholm.paper.reproduction.panels import Bars, Curves, Figure, Lines, Panel, Row
from fredholm.paper.reproduction.published import bars, published
from fredholm.paper.reproduction.verdicts import Claim
from fredholm.study.run import Run

WIDTHS, DEPTHS = (32, 64, 128), (2, 3, 4, 5)
ACTIVATIONS = {"SiLU": "silu", "tanh": "tanh", "ReLU": "relu"}


class _Networks:
    """The runs of an architecture ablation: one change at a time."""

    def __init__(self, scale: Scale, family: Family):
        base = family.network

        def both(mark: str, network: MLP) -> tuple[Run, Run]:
            return standard(scale, family, 1, mark, network=network), delayed(scale, family, mark, network=network)

        self.depths = {n: both(mark("depth", n, base.depth), replace(base, depth=n)) for n in DEPTHS}
        self.widths = {n: both(mark("width", n, base.width), replace(base, width=n)) for n in WIDTHS}
        self.activations = {n: both(mark("activation", f, base.activation), replace(base, activation=f)) for n, f in ACTIVATIONS.items()}


def _architecture(scale: Scale, figure: int, family: Family) -> Row:
    kind, name, runs = family.kind, NAMES[family.kind], _Networks(scale, family)

    def lines(found: Mapping[int, tuple[Run, Run]]) -> dict[str, dict[float, Run]]:
        return {label: {float(n): pair[place] for n, pair in found.items()} for place, label in enumerate((PLAIN, TARGET))}

    def activation(place: int, label: str) -> Bars:
        found = bars(figure, kind, f"activation ({label} N=1)")
        return Bars(f"{label}, activation", {n: pair[place] for n, pair in runs.activations.items()}, found)

    panels: list[Panel] = [
        Lines(f"{name}: depth", "hidden layers", lines(runs.depths), published(figure, kind, "depth"), logarithmic=False),
        activation(0, "standard"),
        activation(1, "delayed target"),
        Lines("width", "units", lines(runs.widths), published(figure, kind, "width")),
    ]
    relu, tanh, silu = (runs.activations[name][1] for name in ("ReLU", "tanh", "SiLU"))
    deep, shallow, wide, narrow = runs.depths[5], runs.depths[2], runs.widths[128], runs.widths[32]
    claims = [
        Claim(f"{name}: ReLU fails for delayed targets (worse by more than 3).", better(delayed(scale, family), relu, 1 / 3), say.RELU),
        Claim(f"{name}: SiLU and tanh are within a factor 2 for delayed targets.", similar(silu, tanh, 2.0), say.SILU_TANH),
        Claim(
            f"{name}: depth does not matter to standard (5 and 2 layers within a factor 1.5).",
            similar(deep[0], shallow[0], 1.5),
            say.STEADY_NETWORKS,
        ),
    ]
    if family is SMOLUCHOWSKI:  # where the paper says the opposite
        alike = "does not matter to delayed targets"
        claims += [
            Claim(
                f"{name}: depth {alike} (5 and 2 layers within a factor 1.5).", similar(deep[1], shallow[1], 1.5), say.DEPTH_SMOLUCHOWSKI
            ),
            Claim(
                f"{name}: width {alike} (128 and 32 units within a factor 1.5).", similar(wide[1], narrow[1], 1.5), say.WIDTH_SMOLUCHOWSKI
            ),
        ]
    else:
        claims.append(Claim(f"{name}: depth helps delayed targets (5 layers against 2).", better(deep[1], shallow[1]), say.DEEPER))
        if family is MAXWELL:
            claims.append(Claim("Maxwell: width 128 hurts (against 64).", better(runs.widths[64][1], wide[1]), say.TOO_WIDE))
        else:
            claims.append(Claim(f"{name}: width helps delayed targets (128 units against 32).", better(wide[1], narrow[1]), say.WIDER))
    return panels, claims


def figure_10(scale: Scale) -> Figure:
    """Architecture, Poisson."""
    return Figure.of_rows(10, "Architecture on the 2D Poisson problem", [_architecture(scale, 10, POISSON)])


def figure_11(scale: Scale) -> Figure:
    """Architecture, the other problems."""
    rows = [_architecture(scale, 11, family) for family in (MAXWELL, SMOLUCHOWSKI)]
    return Figure.of_rows(11, "Architecture on Maxwell and Smoluchowski", rows)


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
    relu = delayed(scale, family, ", activation=relu", network=replace(family.network, activation="relu"))
    return Claim(
        f"{NAMES[family.kind]}: with ReLU the delayed target stays above half of what a constant scores.",
        unimproved(relu, family.constant),
        say.RELU_STUCK,
    )


def figure_12(scale: Scale) -> Figure:
    """Curves by architecture, Poisson."""
    return Figure(12, "Delayed targets by architecture, Poisson", [_curves_by_architecture(scale, 12, POISSON)], [_learns(scale, POISSON)])


def figure_13(scale: Scale) -> Figure:
    """Curves by architecture, the other problems."""
    families = (MAXWELL, SMOLUCHOWSKI)
    rows = [_curves_by_architecture(scale, 13, family) for family in families]
    return Figure(13, "Delayed targets by architecture, Maxwell and Smoluchowski", rows, [_learns(scale, family) for family in families])
