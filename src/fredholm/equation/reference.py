"""Rules for reference integrals: as exact as possible, or two independent estimates."""

from fredholm.domains.base import AbstractDomain, Atoms
from fredholm.equation.probe import measures_of
from fredholm.equation.residual import AbstractResidual
from fredholm.rules.base import AbstractRule
from fredholm.rules.even import Even
from fredholm.rules.gauss import Gauss
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.rules.quasi_monte_carlo import QuasiMonteCarlo
from fredholm.rules.randomize import Scramble
from fredholm.rules.sequences import Sobol


def reference_rule(measure: AbstractDomain, *, gauss: tuple[int, int] = (64, 24), net: int = 4096) -> AbstractRule:
    """A rule that is much more accurate for smooth integrands than any rule for training: all atoms or all given samples, Gauss on one and
    two axes (`gauss`: nodes on each axis), a scrambled net (`net` nodes) on more."""
    if measure.samples is not None or _is_discrete(measure):
        return Even(1) if measure.bases else MonteCarlo(1)
    axes = sum(not isinstance(base, Atoms) for base in measure.bases)
    if axes == 1 and can_turn(measure):
        return Even(2 * gauss[0])
    # On a half-line the weights of many nodes leave the range of float32.
    tried = () if axes > 2 else (Gauss(gauss[axes - 1]), Gauss(2 * gauss[axes - 1] // 3))
    return next((rule for rule in tried if rule.fits(measure)), QuasiMonteCarlo(net, Sobol(), Scramble()))


def independent_rule(measure: AbstractDomain, *, net: int = 64) -> AbstractRule:
    """A rule whose draws are independent and unbiased, or exact: all atoms, half of the given samples, a scrambled net."""
    if measure.samples is not None:
        if measure.samples < 2:
            raise ValueError(
                "certificate: there is one given sample at each x, and the true loss needs two independent estimates of the integral. "
                "Give at least 2 samples at each x."
            )
        return MonteCarlo(measure.samples // 2)
    if _is_discrete(measure):
        return Even(1) if measure.bases else MonteCarlo(1)
    return QuasiMonteCarlo(net, Sobol(), Scramble())


def reference_rules(residual: AbstractResidual, *, gauss: tuple[int, int] = (64, 24), net: int = 4096) -> list[AbstractRule]:
    """`reference_rule` for every integral of an equation or of a condition."""
    return [reference_rule(measure, gauss=gauss, net=net) for measure in measures_of(residual)]


def independent_rules(residual: AbstractResidual, *, net: int = 64) -> list[AbstractRule]:
    """`independent_rule` for every integral of an equation or of a condition."""
    return [independent_rule(measure, net=net) for measure in measures_of(residual)]


def can_turn(measure: AbstractDomain) -> bool:
    """True where the measure has a rotation that makes every single node uniform on it."""
    return type(measure).rotate is not AbstractDomain.rotate


def _is_discrete(measure: AbstractDomain) -> bool:
    return all(isinstance(base, Atoms) for base in measure.bases)
