"""Problems from the paper and the literature. Each is an `Equation`, like the user's own."""

from fredholm.problems.ball import PoissonBall
from fredholm.problems.basket import Basket, Call, Prices, SmoothedPayoff
from fredholm.problems.bellman import Bellman
from fredholm.problems.coagulation import Collocation, EulerGrid
from fredholm.problems.coagulation_kernels import AdditiveKernel, ConstantKernel, CutOffKernel, SaturatingKernel
from fredholm.problems.evaluation import InsideBalls, RadialGrid, evaluation_profiles
from fredholm.problems.fractional import FractionalInterval, FractionalPoisson
from fredholm.problems.fredholm import FredholmFirstKind, FredholmNonlinear, FredholmSecondKind
from fredholm.problems.inside_ball import EvenRadius, InsideBall
from fredholm.problems.jump_diffusion import AfterJumps, JumpDiffusion
from fredholm.problems.maxwell import InsideDiscs, Maxwell
from fredholm.problems.parabolic import Parabolic
from fredholm.problems.poisson import Charges, Poisson, PoissonSeveral
from fredholm.problems.smoluchowski import Smoluchowski
from fredholm.problems.smoluchowski_exact import SmoluchowskiConstant, SmoluchowskiGolovin
from fredholm.problems.transport import TransportSlab
from fredholm.problems.volterra import Volterra, Volterra2
from fredholm.problems.wires import Wires

__all__ = [
    "AdditiveKernel",
    "AfterJumps",
    "Basket",
    "Bellman",
    "Call",
    "Charges",
    "Collocation",
    "ConstantKernel",
    "CutOffKernel",
    "EulerGrid",
    "EvenRadius",
    "FractionalInterval",
    "FractionalPoisson",
    "FredholmFirstKind",
    "FredholmNonlinear",
    "FredholmSecondKind",
    "InsideBall",
    "InsideBalls",
    "InsideDiscs",
    "JumpDiffusion",
    "Maxwell",
    "Parabolic",
    "Poisson",
    "PoissonBall",
    "PoissonSeveral",
    "Prices",
    "RadialGrid",
    "SaturatingKernel",
    "Smoluchowski",
    "SmoluchowskiConstant",
    "SmoluchowskiGolovin",
    "SmoothedPayoff",
    "TransportSlab",
    "Volterra",
    "Volterra2",
    "Wires",
    "evaluation_profiles",
]
