"""Neural solvers for integro-differential equations, without the integral bias."""

from fredholm.common import starting  # noqa: F401 - first: from here on Ctrl-C ends the command without a traceback

# isort: split
import difflib

from fredholm import problems
from fredholm.api import resume, solve
from fredholm.diagnostics import check
from fredholm.domains import (
    Abel,
    AbsPower,
    Ball,
    Box,
    Circle,
    Directions,
    Disc,
    Discrete,
    Exponential,
    Given,
    HalfLine,
    Interval,
    Jumps,
    Law,
    Line,
    LogDistance,
    LogNormal,
    Mixture,
    Normal,
    NormalizedSphere,
    Offline,
    Point,
    PoissonCounts,
    PowerLaw,
    Product,
    Simplex,
    Sphere,
    Split,
)
from fredholm.equation.conditions import Condition, Data, IntegralCondition, Periodic
from fredholm.equation.control import without_first_order
from fredholm.equation.equation import Defaults, Equation
from fredholm.equation.evaluation import Evaluation
from fredholm.equation.kernels import caputo, convolution, memory
from fredholm.equation.operators import curl, derivative, directional, divergence, gradient, hessian, laplacian
from fredholm.equation.residual import Integral
from fredholm.equation.view import View
from fredholm.functions.built_in import BuiltIn
from fredholm.functions.chebyshev import Chebyshev, Fourier
from fredholm.functions.constrained import Constrained
from fredholm.functions.mlp import MLP
from fredholm.functions.random_features import RandomFeatures
from fredholm.functions.scaled import Scaled
from fredholm.functions.slabs import Slabs
from fredholm.methods import AbstractAdaptation, Auto, Balanced, Causal, DelayedTarget, DoubleSampling, ResidualPoints, Standard
from fredholm.optimizers import Adam, ConstantRate, Cosine, GaussNewton, Muon
from fredholm.results.errors import Interrupted, SolveError
from fredholm.results.load import load
from fredholm.results.solution import Solution
from fredholm.rules import (
    AdditiveRecursion,
    Antithetic,
    ClenshawCurtis,
    Even,
    Focused,
    Gauss,
    Halton,
    Importance,
    Lattice,
    LearnedFoci,
    Leja,
    MonteCarlo,
    Orthogonal,
    QuasiMonteCarlo,
    Radial,
    Resolved,
    Rotation,
    Scramble,
    Shared,
    Shift,
    Smolyak,
    Sobol,
    WithoutReplacement,
    fit_importance,
)
from fredholm.study.comparison import compare
from fredholm.study.continuation import continuation
from fredholm.training.callbacks import AbstractCallback, AfterRecord
from fredholm.training.devices import use_all_cores
from fredholm.training.loggers import MLflow, TensorBoard, WandB
from fredholm.training.program_cache import keep_programs
from fredholm.training.status import ProblemWarning, SeedStatus, Status
from fredholm.training.stopping import Plateau, Tolerance

__version__ = "0.1.0"

__all__ = [
    "MLP",
    "Abel",
    "AbsPower",
    "AbstractAdaptation",
    "AbstractCallback",
    "Adam",
    "AdditiveRecursion",
    "AfterRecord",
    "Antithetic",
    "Auto",
    "Balanced",
    "Ball",
    "Box",
    "BuiltIn",
    "Causal",
    "Chebyshev",
    "Circle",
    "ClenshawCurtis",
    "Condition",
    "ConstantRate",
    "Constrained",
    "Cosine",
    "Data",
    "Defaults",
    "DelayedTarget",
    "Directions",
    "Disc",
    "Discrete",
    "DoubleSampling",
    "Equation",
    "Evaluation",
    "Even",
    "Exponential",
    "Focused",
    "Fourier",
    "Gauss",
    "GaussNewton",
    "Given",
    "HalfLine",
    "Halton",
    "Importance",
    "Integral",
    "IntegralCondition",
    "Interrupted",
    "Interval",
    "Jumps",
    "Lattice",
    "Law",
    "LearnedFoci",
    "Leja",
    "Line",
    "LogDistance",
    "LogNormal",
    "MLflow",
    "Mixture",
    "MonteCarlo",
    "Muon",
    "Normal",
    "NormalizedSphere",
    "Offline",
    "Orthogonal",
    "Periodic",
    "Plateau",
    "Point",
    "PoissonCounts",
    "PowerLaw",
    "ProblemWarning",
    "Product",
    "QuasiMonteCarlo",
    "Radial",
    "RandomFeatures",
    "ResidualPoints",
    "Resolved",
    "Rotation",
    "Scaled",
    "Scramble",
    "SeedStatus",
    "Shared",
    "Shift",
    "Simplex",
    "Slabs",
    "Smolyak",
    "Sobol",
    "Solution",
    "SolveError",
    "Sphere",
    "Split",
    "Standard",
    "Status",
    "TensorBoard",
    "Tolerance",
    "View",
    "WandB",
    "WithoutReplacement",
    "caputo",
    "check",
    "compare",
    "continuation",
    "convolution",
    "curl",
    "derivative",
    "directional",
    "divergence",
    "fit_importance",
    "gradient",
    "hessian",
    "keep_programs",
    "laplacian",
    "load",
    "memory",
    "problems",
    "resume",
    "solve",
    "use_all_cores",
    "without_first_order",
]


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"]


def __getattr__(name: str) -> object:
    if name == "theory":  # on first use: it is for readers of the paper
        from fredholm.paper import theory

        return theory
    if name == "Constant":
        raise AttributeError("fr.Constant is now fr.ConstantRate")
    near = [] if name.startswith("_") else difflib.get_close_matches(name, __all__, n=1, cutoff=0.7)
    raise AttributeError(f"module 'fredholm' has no attribute {name!r}{f'. Did you mean {near[0]!r}?' if near else ''}")
