"""Neural solvers for integro-differential equations, without the integral bias."""

from fredholm import problems, theory
from fredholm.domains import (
    Ball,
    Box,
    Circle,
    Disc,
    Exponential,
    HalfLine,
    Interval,
    Law,
    Line,
    LogNormal,
    Normal,
    NormalizedSphere,
    Point,
    PowerLaw,
    Product,
    Simplex,
    Sphere,
)
from fredholm.equation import Condition, Defaults, Equation, Integral
from fredholm.methods import DelayedTarget, DoubleSampling, Standard
from fredholm.metrics import Evaluation
from fredholm.networks import MLP, Constrained
from fredholm.operators import curl, derivative, directional, divergence, gradient, laplacian
from fredholm.optimizers import Adam, Constant, Cosine
from fredholm.rules import (
    AdditiveRecursion,
    ClenshawCurtis,
    Even,
    Gauss,
    Halton,
    Importance,
    Lattice,
    Leja,
    MonteCarlo,
    QuasiMonteCarlo,
    Rotation,
    Scramble,
    Shift,
    Smolyak,
    Sobol,
    fit_importance,
)
from fredholm.solution import Solution, load
from fredholm.solve import compare, resume, solve
from fredholm.status import Interrupted, SeedStatus, SolveError, Status
from fredholm.training.devices import use_all_cores
from fredholm.training.stopping import Plateau, Tolerance
from fredholm.view import View

__version__ = "0.1.0"

__all__ = [
    "MLP",
    "Adam",
    "AdditiveRecursion",
    "Ball",
    "Box",
    "Circle",
    "ClenshawCurtis",
    "Condition",
    "Constant",
    "Constrained",
    "Cosine",
    "Defaults",
    "DelayedTarget",
    "Disc",
    "DoubleSampling",
    "Equation",
    "Evaluation",
    "Even",
    "Exponential",
    "Gauss",
    "HalfLine",
    "Halton",
    "Importance",
    "Integral",
    "Interrupted",
    "Interval",
    "Lattice",
    "Law",
    "Leja",
    "Line",
    "LogNormal",
    "MonteCarlo",
    "Normal",
    "NormalizedSphere",
    "Plateau",
    "Point",
    "PowerLaw",
    "Product",
    "QuasiMonteCarlo",
    "Rotation",
    "Scramble",
    "SeedStatus",
    "Shift",
    "Simplex",
    "Smolyak",
    "Sobol",
    "Solution",
    "SolveError",
    "Sphere",
    "Standard",
    "Status",
    "Tolerance",
    "View",
    "compare",
    "curl",
    "derivative",
    "directional",
    "divergence",
    "fit_importance",
    "gradient",
    "laplacian",
    "load",
    "problems",
    "resume",
    "solve",
    "theory",
    "use_all_cores",
]
