"""The progress of a whole study: finished runs, and the time that is left."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from fredholm.study.estimate import words
from fredholm.study.run import Run
from fredholm.training.progress import Watched


class Total:
    """Counts what was done against what was estimated; the time left follows from the pace so far."""

    def __init__(self, costs: Mapping[str, float], show: Callable[["Total", str], None]):
        self._costs, self._show = costs, show
        self._parts = dict.fromkeys(costs, 0.0)  # the share of each run that is done
        self._at_first: dict[str, float] = {}  # the share that an earlier session had done
        self._begin = time.monotonic()
        self.finished = self.failed = 0
        self.runs = len(costs)

    @property
    def share(self) -> float:
        """The share of the whole work that is done."""
        return sum(self._costs[key] * part for key, part in self._parts.items()) / max(sum(self._costs.values()), 1e-9)

    @property
    def left(self) -> float:
        """The estimated seconds that are left."""
        done = sum(self._costs[key] * (part - self._at_first.get(key, 0.0)) for key, part in self._parts.items())
        to_do = sum(self._costs[key] * (1 - part) for key, part in self._parts.items())
        pace = (time.monotonic() - self._begin) / done if done > 0 else 1.0
        return to_do * pace

    def callback(self, run: Run) -> Callable[[Watched], None]:
        """The callback that follows a run's training."""
        return lambda training: self.at(run, training.step)

    def at(self, run: Run, step: int) -> None:
        """A run, here or elsewhere, has come to this step."""
        part = step / run.settings.steps
        if self._parts[run.key] < 1.0:  # it has not ended in the meantime
            self._at_first.setdefault(run.key, part)  # an earlier session may have done most of it
            self._parts[run.key] = part
            self._show(self, f"{run.name}: step {step} of {run.settings.steps}")

    def end(self, run: Run, reason: str = "") -> None:
        """A run has ended, or failed for a reason."""
        self._parts[run.key] = 1.0
        self.finished, self.failed = self.finished + (not reason), self.failed + bool(reason)
        self._show(self, f"{run.name}: {'failed: ' + reason if reason else 'finished'}")

    def __str__(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.finished} of {self.runs} runs{failed}, {100 * self.share:.0f} %, about {words(self.left)} left"


@contextmanager
def total_progress(costs: Mapping[str, float], *, shown: bool = True) -> Iterator[Total]:
    """The progress on standard error: a bar on a terminal, elsewhere a line for every run that ends."""
    if not shown:
        yield Total(costs, lambda total, text: None)
        return
    console = Console(stderr=True)
    if not sys.stderr.isatty():
        seen = 0

        def line(total: Total, text: str) -> None:
            nonlocal seen
            if total.finished + total.failed > seen:
                seen = total.finished + total.failed
                console.print(f"{total}; {text}", highlight=False, markup=False, soft_wrap=True)

        yield Total(costs, line)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[last]}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task: TaskID = bar.add_task("study", total=1.0, last="")
        yield Total(costs, lambda total, text: bar.update(task, completed=total.share, last=f"{total}  {escape(text)}"))
