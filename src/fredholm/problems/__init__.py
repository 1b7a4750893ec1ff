"""Problems of the paper and of the literature, each an `Equation` like the user's own."""

from fredholm.problems.coagulation import Collocation, EulerGrid
from fredholm.problems.coagulation_kernels import AdditiveKernel, ConstantKernel, CutOffKernel, SaturatingKernel
from fredholm.problems.evaluation import InsideBalls, RadialGrid, evaluation_profiles
from fredholm.problems.maxwell import InsideDiscs, Maxwell
from fredholm.problems.poisson import Charges, Poisson
from fredholm.problems.smoluchowski import Smoluchowski
from fredholm.problems.smoluchowski_exact import SmoluchowskiConstant, SmoluchowskiGolovin
from fredholm.problems.volterra import Volterra
from fredholm.problems.wires import Wires

__all__ = [
    "AdditiveKernel",
    "Charges",
    "Collocation",
    "ConstantKernel",
    "CutOffKernel",
    "EulerGrid",
    "InsideBalls",
    "InsideDiscs",
    "Maxwell",
    "Poisson",
    "RadialGrid",
    "SaturatingKernel",
    "Smoluchowski",
    "SmoluchowskiConstant",
    "SmoluchowskiGolovin",
    "Volterra",
    "Wires",
    "evaluation_profiles",
]
