"""What trains or solves: the part of a run between its settings and its solution, and the loop on the host around it."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from fredholm.functions.field import Field
from fredholm.storage.run_folder import Arrays
from fredholm.training.callbacks import AbstractCallback
from fredholm.training.processes import agreed
from fredholm.training.settings import RunSettings
from fredholm.training.status import SeedStatus, Status
from fredholm.training.step import TrainState

if TYPE_CHECKING:
    import xarray


class AbstractEngine(ABC):
    """A training of networks, or a solve of linear systems: it advances in steps, between which callbacks look at it."""

    settings: RunSettings
    step: int
    seconds: float
    records: list[dict[str, np.ndarray]]
    recorded_steps: list[int]

    @property
    @abstractmethod
    def states(self) -> TrainState:
        """The states of all seeds, stacked."""

    @property
    def reasons(self) -> list[str]:
        """What was chosen on the way, and what limits the result."""
        return []

    @abstractmethod
    def advance(self, stop: int) -> None:
        """Goes on, at most to step `stop`."""

    def start_from(self, fields: Field) -> None:
        """Begins with these networks, one for each seed."""
        raise ValueError("start: these functions are solved for, and not trained, so that nothing begins anywhere; leave start out.")

    @abstractmethod
    def snapshot(self) -> Arrays:
        """Everything that the next step needs, by path."""

    @abstractmethod
    def restore(self, arrays: Arrays, step: int, history: "xarray.Dataset", seconds: float) -> None:
        """Continues from a checkpoint."""

    @abstractmethod
    def status(self, ended: Status) -> list[SeedStatus]:
        """The status of each seed."""

    def run(self, callbacks: Iterable[AbstractCallback] = ()) -> Status:
        """Advances to the last step, or until a callback ends it; returns how it ended."""
        with contextlib.ExitStack() as stack:
            entered = [stack.enter_context(callback.during(self)) for callback in callbacks]
            ended = None
            while self.step < self.settings.steps:
                if (ended := _agreed(callback.before_chunk(self) for callback in entered)) is not None:
                    break
                self.advance(min([self.settings.steps, *(callback.next_stop(self) for callback in entered)]))
                if (ended := _agreed(callback.after_chunk(self) for callback in entered)) is not None:
                    break
            ended = ended or Status.FINISHED
            for callback in entered:
                ended = callback.judged(self, ended)
            for callback in entered:
                callback.at_end(self, ended)
            agreed(0)  # no process ends before the first one has saved
        return ended

    def history(self) -> "xarray.Dataset":
        """All records over (seed, step)."""
        import xarray  # imported on first use: it would take a sixth of the library's import time

        names, seeds = list(dict.fromkeys(name for record in self.records for name in record)), self.settings.seeds
        empty = np.full(len(seeds), np.nan)
        data = {name: (("seed", "step"), np.stack([record.get(name, empty) for record in self.records], axis=1)) for name in names}
        return xarray.Dataset(data, coords={"seed": list(seeds), "step": list(self.recorded_steps)})


def _agreed(ends: Iterable[Status | None]) -> Status | None:
    """The first status that is not None, here or in another process of the run."""
    known = list(Status)
    number = agreed(next((known.index(end) for end in ends if end is not None), -1))
    return None if number < 0 else known[number]
