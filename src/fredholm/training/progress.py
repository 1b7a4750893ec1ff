"""The progress of a training, as a bar, as lines, or through a callback."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from fredholm.training.settings import RunSettings

if TYPE_CHECKING:
    import xarray


@runtime_checkable
class Watched(Protocol):
    """The part of a training that callbacks see."""

    settings: RunSettings
    step: int
    seconds: float
    records: list[dict[str, np.ndarray]]

    def history(self) -> "xarray.Dataset":
        """All records over (seed, step)."""
        ...


Shown = bool | Callable[[Watched], object] | None  # True, False, None (a bar on a terminal or in a notebook), or a callback


class Rate(ProgressColumn):
    """Steps per second; each is a step of every seed."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.0f} steps/s" if task.speed else "")


class Silent:
    """Shows nothing."""

    def update(self, training: Watched) -> None:
        """Does nothing."""


class Called:
    """Shows nothing itself, but calls a function: for instance the progress bar of a study."""

    def __init__(self, function: Callable[[Watched], object]):
        self._function = function

    def update(self, training: Watched) -> None:
        """Calls the function."""
        self._function(training)


class Bar:
    """A progress bar with speed, time left, loss and error, on a terminal or in a notebook."""

    def __init__(self, progress: Progress, task: TaskID):
        self._progress, self._task = progress, task

    def update(self, training: Watched) -> None:
        """Moves the bar."""
        self._progress.update(self._task, completed=training.step, last=_last(training))


class Lines:
    """A line for every tenth of the steps, where there is no terminal."""

    def __init__(self, label: str, steps: int, console: Console):
        self._label, self._steps, self._console, self._shown = label, steps, console, 0

    def update(self, training: Watched) -> None:
        """Prints a line when another tenth is done."""
        tenth = 10 * training.step // self._steps
        if tenth > self._shown and training.records:
            self._shown = tenth
            self._console.print(f"{self._label}: step {training.step}/{self._steps}  {_last(training)}", highlight=False)


def _last(training: Watched) -> str:
    """The newest loss and error, as the mean over the seeds that have not failed."""
    if not training.records:
        return ""
    record = training.records[-1]
    shown = [(name, record[name]) for name in ("loss", "error") if name in record]
    return "  ".join(f"{name} {np.nanmean(value):.2e}" for name, value in shown if np.isfinite(value).any())


def _has_screen() -> bool:
    """True on a terminal and in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _is_shown(shown: Shown) -> bool:
    return shown is True or (shown is None and _has_screen())


def announce(lines: Sequence[str], shown: Shown) -> None:
    """Prints lines on standard error before a training, where its progress will be shown."""
    if _is_shown(shown):
        for line in lines:
            Console(stderr=True).print(line, highlight=False, markup=False)


@contextmanager
def show_progress(label: str, start: int, steps: int, *, shown: Shown) -> Iterator[Silent | Called | Bar | Lines]:
    """Shows the progress of one training on standard error.

    `shown=None`: a bar on a terminal or in a notebook, nothing elsewhere. True: the same bar, and lines elsewhere. False: nothing. A
    function: it is called, and nothing is shown.
    """
    if callable(shown):
        yield Called(shown)
        return
    if not _is_shown(shown):
        yield Silent()
        return
    console = Console(stderr=True)
    if not _has_screen():
        yield Lines(label, steps, console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[last]}"))
    times = (Rate(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    # Once a second is enough: rich's default of ten times a second costs the training two percent.
    with Progress(*columns, *times, console=console, speed_estimate_period=60, refresh_per_second=1) as bar:
        yield Bar(bar, bar.add_task(label, total=steps, completed=start, last=""))
