"""Neural solvers for integro-differential equations, without the integral bias."""

from fredholm import problems
from fredholm.domains import Ball, Box, Circle, Interval, Law, Normal, Point, PowerLaw, Product, Sphere
from fredholm.equation import Condition, Defaults, Equation, Integral
from fredholm.methods import DelayedTarget, DoubleSampling, Standard
from fredholm.metrics import Evaluation
from fredholm.networks import MLP
from fredholm.operators import curl, derivative, directional, divergence, gradient, laplacian
from fredholm.optimizers import Adam, Constant, Cosine
from fredholm.rules import Even, MonteCarlo, Rotation, Shift
from fredholm.solution import Solution, load
from fredholm.solve import compare, resume, solve
from fredholm.status import Interrupted, SeedStatus, SolveError, Status
from fredholm.training.devices import use_all_cores
from fredholm.training.stopping import Plateau, Tolerance

__version__ = "0.1.0"
