"""Fits the recipe of the network to the equation: scales, degrees and whatever else depends on where u is evaluated."""

import dataclasses

from fredholm.equation.frame import frame_of
from fredholm.equation.probe import measures_of
from fredholm.equation.size import sized
from fredholm.rules.resolved import Resolved
from fredholm.training.settings import RunSettings

ATTEMPTS = 30  # series that a solve may try


def fitted(settings: RunSettings, has_rule: bool) -> RunSettings:
    """The settings with a network that knows the frame of the equation. Recipes that take nothing from it stay as they are.

    A series gets nodes that are refined until they are accurate, where the measures allow
    that and the caller gives no rule.
    """
    network, problem = settings.network, settings.problem
    if network.needs_frame:
        frame = frame_of(problem)
        frame = sized(frame, problem, network) if network.needs_size else frame
        network = network.fitted(frame, problem.outputs)
    if network.is_series and not has_rule:
        measures = [measure for one in (problem, *problem.conditions) for measure in measures_of(one, without_rule=True)]
        if all(map(Resolved().fits, measures)):
            return dataclasses.replace(settings, network=network, rule=Resolved(), steps=ATTEMPTS)
    return dataclasses.replace(settings, network=network)
