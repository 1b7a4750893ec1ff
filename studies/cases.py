"""The problems that the studies of this folder train on."""

import fredholm as fr
from fredholm.cli.zoo import kebab_words
from fredholm.study.zoo import CASES


def radial(dim: int) -> fr.Equation:
    """Poisson's problem with one charge, scored by Algorithm 2 with 100 directions in place of 500, which takes a fifth of the time; and
    without its linear part too, which no weak form sees."""
    usual = fr.problems.Poisson(dim=dim).evaluation
    assert isinstance(usual, fr.problems.RadialGrid)
    return fr.problems.Poisson(
        dim=dim, evaluation=fr.problems.RadialGrid(at=usual.at, directions=100, metrics=(*usual.metrics, "mse_linear_free"))
    )


PAPER = {
    "poisson-2": fr.problems.Poisson,
    "poisson-5": lambda: radial(5),
    "poisson-10": lambda: radial(10),
    "maxwell": fr.problems.Maxwell,
    "smoluchowski-1": fr.problems.Smoluchowski,
    "smoluchowski-2": lambda: fr.problems.Smoluchowski(2),
}
# One case of each problem: the zoo has Volterra's equation twice, with its integral and with one sample of it.
ZOO = {kebab_words(name): case for name, case in CASES.items() if name != "volterra, one sample"}
