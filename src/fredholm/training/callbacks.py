"""Callbacks on the host between two chunks of steps: time budget, Ctrl-C, checkpoints, progress, early stop.

A callback sees the training between chunks, never inside the compiled code. A status that it returns ends the training; None does not.
"""

import contextlib
import time
from collections.abc import Callable, Iterator

import numpy as np

from fredholm.training.interrupt import deferred_interrupt
from fredholm.training.progress import Shown, Watched, show_progress
from fredholm.training.status import Status
from fredholm.training.stopping import AbstractStop

CHECKPOINT_SECONDS = 20.0  # between two checkpoints, where the caller gives no number of steps


class AbstractCallback:
    """Called between two chunks of steps. Each method does nothing by default.

    Examples:
        >>> import fredholm as fr
        >>> class Stop(fr.AbstractCallback):
        ...     def after_chunk(self, training):
        ...         return fr.Status.STOPPED if training.step >= 1000 else None

    See also:
        `AfterRecord`, `TensorBoard`, `Plateau`.
    """

    @contextlib.contextmanager
    def during(self, training: Watched) -> Iterator["AbstractCallback"]:
        """A context that is open during the whole training; it yields the callback."""
        yield self

    def next_stop(self, training: Watched) -> int:
        """The last step at which the next chunk may end."""
        return training.settings.steps

    def before_chunk(self, training: Watched) -> Status | None:
        """Before every chunk; a status ends the training."""
        return None

    def after_chunk(self, training: Watched) -> Status | None:
        """After every chunk; a status ends the training."""
        return None

    def judged(self, training: Watched, ended: Status) -> Status:
        """How the training ended, seen by the callback; once, before `at_end`."""
        return ended

    def at_end(self, training: Watched, ended: Status) -> None:
        """Once, after the training; `ended` says how."""


class TimeBudget(AbstractCallback):
    """Ends a training when its seconds are used up."""

    def __init__(self, seconds: float):
        self._seconds, self._begin = seconds, time.perf_counter()

    def left(self) -> float:
        """The seconds that are left."""
        return self._seconds - (time.perf_counter() - self._begin)

    def before_chunk(self, training: Watched) -> Status | None:
        return Status.OUT_OF_TIME if self.left() <= 0 else None


class Interruption(AbstractCallback):
    """Ends a training after Ctrl-C, between two chunks, where the state is consistent."""

    def __init__(self):
        self._is_noted: Callable[[], bool] = lambda: False

    @contextlib.contextmanager
    def during(self, training: Watched) -> Iterator[AbstractCallback]:
        with deferred_interrupt() as self._is_noted:
            yield self

    def after_chunk(self, training: Watched) -> Status | None:
        return Status.INTERRUPTED if self._is_noted() else None


class Checkpoints(AbstractCallback):
    """Saves at the start, after every `every` steps (None: about every 20 seconds), and at the end."""

    def __init__(self, save: Callable[[Status, bool], None], every: int | None):
        self._save, self._every = save, every
        self._last_step, self._last_time = 0, time.perf_counter()

    @contextlib.contextmanager
    def during(self, training: Watched) -> Iterator[AbstractCallback]:
        self._note(training)
        try:
            yield self
        except Exception:  # a callback's own: the training up to here is kept
            self._note(training)
            raise

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
        self._save(Status.INTERRUPTED, False)  # the status if the process ends before the next checkpoint
        self._last_step, self._last_time = training.step, time.perf_counter()

    def at_end(self, training: Watched, ended: Status) -> None:
        self._save(ended, True)


class Progress(AbstractCallback):
    """Shows the progress of a training. `shown` is True, False, None (a bar on a terminal or in a notebook), or a function that is called
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
    """A callback after each new record.

    Examples:
        >>> import fredholm as fr
        >>> class Watch(fr.AfterRecord):
        ...     def after_record(self, training):
        ...         print(training.step)

    See also:
        `AbstractCallback`, `TensorBoard`.
    """

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
    """Ends a training once every seed has failed."""

    def after_record(self, training: Watched) -> Status | None:
        return Status.FINISHED if np.isnan(training.records[-1]["loss"]).all() else None


class EarlyStop(AfterRecord):
    """Ends a training when a stopping rule says so."""

    def __init__(self, rule: AbstractStop):
        super().__init__()
        self._rule = rule

    def after_record(self, training: Watched) -> Status | None:
        return Status.STOPPED if self._rule(training.history()) else None
