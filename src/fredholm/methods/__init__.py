"""The four families of the paper: how an estimated integral becomes a loss. A new one is a file here, and a name in `METHODS`."""

from fredholm.methods.adapting import AbstractAdaptation
from fredholm.methods.auto import Auto
from fredholm.methods.balanced import Balanced
from fredholm.methods.causal import Causal
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.protocol import AbstractMethod
from fredholm.methods.residual_points import ResidualPoints
from fredholm.methods.standard import Standard

METHODS = (Standard, DoubleSampling, DelayedTarget)  # what texts, run folders and the command line know by name

__all__ = [
    "METHODS",
    "AbstractAdaptation",
    "AbstractMethod",
    "Auto",
    "Balanced",
    "Causal",
    "DelayedTarget",
    "DoubleSampling",
    "ResidualPoints",
    "Standard",
]
