"""What happens on the host between two chunks of steps: time budget, Ctrl-C, checkpoints, progress, warnings, early stop.

A callback sees the training between chunks and never inside the compiled code. Whatever it returns but None ends the training.
"""

import contextlib
import time
from collections.abc import Callable, Iterator

import numpy as np

from fredholm.training.interrupt import deferred_interrupt
from fredholm.training.progress import Shown, Watched, show_progress
from fredholm.training.status import Status
from fredholm.training.stopping import AbstractStop

CHECKPOINT_SECONDS = 20.0  # the least time between two checkpoints, unless the caller gives a number of steps


class AbstractCallback:
    """Called between two chunks of steps; each method does nothing unless it is overridden."""

    @contextlib.contextmanager
    def during(self, training: Watched) -> Iterator["AbstractCallback"]:
        """Held open for the whole of the training; gives the callback that is called."""
        yield self

    def next_stop(self, training: Watched) -> int:
        """The step at which the next chunk has to end at the latest."""
        return training.settings.steps

    def before_chunk(self, training: Watched) -> Status | None:
        """Before every chunk; a status ends the training."""
        return None

    def after_chunk(self, training: Watched) -> Status | None:
        """After every chunk; a status ends the training."""
        return None

    def at_end(self, training: Watched, ended: Status) -> None:
        """Once, when the training has ended as `ended` says."""


class TimeBudget(AbstractCallback):
    """Ends a training when its seconds are used up."""

    def __init__(self, seconds: float):
        self._seconds, self._begin = seconds, time.perf_counter()

    def before_chunk(self, training: Watched) -> Status | None:
        return Status.OUT_OF_TIME if time.perf_counter() - self._begin >= self._seconds else None


class Interruption(AbstractCallback):
    """Ends a training at Ctrl-C, between two chunks, when the state is whole."""

    def __init__(self):
        self._is_noted: Callable[[], bool] = lambda: False

    @contextlib.contextmanager
    def during(self, training: Watched) -> Iterator[AbstractCallback]:
        with deferred_interrupt() as self._is_noted:
            yield self

    def after_chunk(self, training: Watched) -> Status | None:
        return Status.INTERRUPTED if self._is_noted() else None


class Checkpoints(AbstractCallback):
    """Saves at the start, every so many steps, or about every 20 seconds where no number is given, and at the end."""

    def __init__(self, save: Callable[[Status], None], every: int | None):
        self._save, self._every = save, every
        self._last_step, self._last_time = 0, time.perf_counter()

    @contextlib.contextmanager
    def during(self, training: Watched) -> Iterator[AbstractCallback]:
        self._note(training)
        yield self

    def next_stop(self, training: Watched) -> int:
        return training.settings.steps if self._every is None else (training.step // self._every + 1) * self._every

    def after_chunk(self, training: Watched) -> Status | None:
        if self._every is None:
            is_due = time.perf_counter() - self._last_time > CHECKPOINT_SECONDS
        else:
            is_due = training.step // self._every > self._last_step // self._every
        if is_due and training.step > self._last_step:
            self._note(training)
        return None

    def _note(self, training: Watched) -> None:
        self._save(Status.INTERRUPTED)  # as it would stand if nothing came after
        self._last_step, self._last_time = training.step, time.perf_counter()

    def at_end(self, training: Watched, ended: Status) -> None:
        self._save(ended)


class Progress(AbstractCallback):
    """Shows how far a training is: `shown` is True, False, None for a bar on a terminal or in a notebook, or a function that is called
    instead."""

    def __init__(self, label: str, shown: Shown):
        self._label, self._shown = label, shown
        self._update: Callable[[Watched], object] = lambda training: None

    @contextlib.contextmanager
    def during(self, training: Watched) -> Iterator[AbstractCallback]:
        with show_progress(self._label, training.step, training.settings.steps, shown=self._shown) as bar:
            self._update = bar.update
            yield self

    def after_chunk(self, training: Watched) -> Status | None:
        self._update(training)
        return None


class AfterRecord(AbstractCallback):
    """Something that is done after each new record."""

    def __init__(self):
        self._seen = 0

    @contextlib.contextmanager
    def during(self, training: Watched) -> Iterator[AbstractCallback]:
        self._seen = len(training.records)
        yield self

    def after_chunk(self, training: Watched) -> Status | None:
        if len(training.records) == self._seen:
            return None
        self._seen = len(training.records)
        return self.after_record(training)

    def after_record(self, training: Watched) -> Status | None:
        """After a new record; a status ends the training."""
        return None


class AllFailed(AfterRecord):
    """Ends a training in which no seed is left."""

    def after_record(self, training: Watched) -> Status | None:
        return Status.FINISHED if np.isnan(training.records[-1]["loss"]).all() else None


class EarlyStop(AfterRecord):
    """Ends a training when a stopping rule says so."""

    def __init__(self, rule: AbstractStop):
        super().__init__()
        self._rule = rule

    def after_record(self, training: Watched) -> Status | None:
        return Status.STOPPED if self._rule(training.history()) else None
