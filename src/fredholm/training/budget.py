"""How many steps fit into a time budget, so that the learning rate comes to its end within it."""

import dataclasses
import time
from collections.abc import Callable

from fredholm.training.processes import agreed
from fredholm.training.settings import RECORDS
from fredholm.training.training import Training

TRIED = 1.5  # seconds of steps whose speed is measured, after the program was compiled
USED = 0.9  # the share of the time that is planned: checkpoints and other processes take some too


def within(training: Training, left: Callable[[], float]) -> Training:
    """The training itself where its steps fit into the time that is left; else a new one with as many steps as do.

    The first steps are done to measure their speed. A learning rate that falls over the run must know its steps from the beginning: so the
    new training starts again, and is compiled again.
    """
    begin = left()
    if begin == float("inf"):
        return training
    compiling, each = measured(training, left)
    planned = training.settings.steps
    if not agreed((planned - training.step) * each > USED * left()):
        return training
    steps = agreed(affordable(planned, left(), compiling, each))
    settings = dataclasses.replace(
        training.settings, steps=steps, record_every=min(training.settings.record_every, max(1, steps // RECORDS))
    )
    return Training(settings)


def affordable(planned: int, left: float, compiling: float, each: float) -> int:
    """The number of steps for the seconds that are left, of which compiling takes some."""
    return max(1, min(planned, int((USED * left - compiling) / max(each, 1e-9))))


def measured(training: Training, left: Callable[[], float]) -> tuple[float, float]:
    """The seconds that the first chunk took, most of them to compile, and the seconds of a step after it."""
    begin = time.perf_counter()
    training.advance(training.settings.steps)
    compiling, start, first = time.perf_counter() - begin, time.perf_counter(), training.step
    while training.step < training.settings.steps and agreed(time.perf_counter() - start < TRIED and left() > 0):
        training.advance(training.settings.steps)
    return compiling, (time.perf_counter() - start) / max(training.step - first, 1)
