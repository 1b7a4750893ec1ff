"""Optimisers and schedules: recipes, built when the number of steps is known."""

from fredholm.optimizers.adam import Adam
from fredholm.optimizers.gauss_newton import GaussNewton
from fredholm.optimizers.muon import Muon
from fredholm.optimizers.protocol import AbstractOptimizer, Transformation
from fredholm.optimizers.schedules import AbstractSchedule, ConstantRate, Cosine

__all__ = ["AbstractOptimizer", "AbstractSchedule", "Adam", "ConstantRate", "Cosine", "GaussNewton", "Muon", "Transformation"]
