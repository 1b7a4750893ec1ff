"""Integration rules: nodes and weights for any domain."""

from fredholm.rules.antithetic import Antithetic
from fredholm.rules.base import AbstractNodeRule, AbstractRandomization, AbstractRule
from fredholm.rules.even import Even
from fredholm.rules.focused import Focused
from fredholm.rules.gauss import Gauss
from fredholm.rules.importance import Importance, Warp, fit_importance
from fredholm.rules.interpolatory import ClenshawCurtis, Leja
from fredholm.rules.learned import LearnedFoci
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.rules.orthogonal import Orthogonal
from fredholm.rules.quasi_monte_carlo import QuasiMonteCarlo
from fredholm.rules.radial import Radial
from fredholm.rules.randomize import Rotation, Scramble, Shift
from fredholm.rules.resolved import Resolved
from fredholm.rules.sequences import AbstractSequence, AdditiveRecursion, Halton, Lattice, Sobol
from fredholm.rules.shared import Shared
from fredholm.rules.smolyak import Smolyak
from fredholm.rules.tensor import AbstractTensorRule
from fredholm.rules.without_replacement import WithoutReplacement

__all__ = [
    "AbstractNodeRule",
    "AbstractRandomization",
    "AbstractRule",
    "AbstractSequence",
    "AbstractTensorRule",
    "AdditiveRecursion",
    "Antithetic",
    "ClenshawCurtis",
    "Even",
    "Focused",
    "Gauss",
    "Halton",
    "Importance",
    "Lattice",
    "LearnedFoci",
    "Leja",
    "MonteCarlo",
    "Orthogonal",
    "QuasiMonteCarlo",
    "Radial",
    "Resolved",
    "Rotation",
    "Scramble",
    "Shared",
    "Shift",
    "Smolyak",
    "Sobol",
    "Warp",
    "WithoutReplacement",
    "fit_importance",
]
