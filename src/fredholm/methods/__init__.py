"""The four families of the paper: how an estimated integral becomes a loss."""

from fredholm.methods.auto import Auto
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.protocol import AbstractMethod
from fredholm.methods.standard import Standard

__all__ = ["AbstractMethod", "Auto", "DelayedTarget", "DoubleSampling", "Standard"]
