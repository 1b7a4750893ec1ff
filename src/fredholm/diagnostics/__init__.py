"""Checks of an equation before training, and diagnoses of a training during and after it."""

from fredholm.diagnostics.certificate import Certificate
from fredholm.diagnostics.check import check

__all__ = ["Certificate", "check"]
