"""The equation as the user writes it, for one point at a time."""

from fredholm.equation.conditions import Condition, Data, IntegralCondition, Periodic
from fredholm.equation.equation import Defaults, Equation
from fredholm.equation.evaluation import Evaluation
from fredholm.equation.operators import curl, derivative, directional, divergence, gradient, laplacian
from fredholm.equation.residual import Integral
from fredholm.equation.view import View

__all__ = [
    "Condition",
    "Data",
    "Defaults",
    "Equation",
    "Evaluation",
    "Integral",
    "IntegralCondition",
    "Periodic",
    "View",
    "curl",
    "derivative",
    "directional",
    "divergence",
    "gradient",
    "laplacian",
]
