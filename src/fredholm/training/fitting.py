"""Fits the recipe of the network to the equation: scales, degrees and whatever else depends on where u is evaluated."""

import dataclasses

from fredholm.equation.frame import frame_of
from fredholm.equation.size import sized
from fredholm.training.settings import RunSettings


def fitted(settings: RunSettings) -> RunSettings:
    """The settings with a network that knows the frame of the equation. Recipes that take nothing from it stay as they are."""
    if not settings.network.needs_frame:
        return settings
    frame = frame_of(settings.problem)
    if settings.network.needs_size:
        frame = sized(frame, settings.problem, settings.network)
    return dataclasses.replace(settings, network=settings.network.fitted(frame, settings.problem.outputs))
