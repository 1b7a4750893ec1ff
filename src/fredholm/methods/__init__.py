"""The four families of the paper: how an estimated integral becomes a loss. A new one is a file here, and a name in `METHODS`."""

from fredholm.methods.auto import Auto
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.protocol import AbstractMethod
from fredholm.methods.standard import Standard

METHODS = (Standard, DoubleSampling, DelayedTarget)  # what texts, run folders and the command line know by name

__all__ = ["METHODS", "AbstractMethod", "Auto", "DelayedTarget", "DoubleSampling", "Standard"]
