"""How a seed's training stands."""

import enum
from collections.abc import Sequence
from typing import NamedTuple


class Status(enum.Enum):
    """The value is the message."""

    FINISHED = "finished"
    STOPPED = "stopped early: the stopping rule was met"
    OUT_OF_TIME = "stopped: the time budget was used up; resume continues it"
    INTERRUPTED = "interrupted; resume continues it"
    NONFINITE = "the loss or the network turned non-finite; the last good state is kept"
    DIVERGED = "the loss grew beyond a million times its first value; the last good state is kept"

    @property
    def is_failure(self) -> bool:
        """True where the training of the seed went wrong."""
        return self in (Status.NONFINITE, Status.DIVERGED)


class SeedStatus(NamedTuple):
    """Where one seed's training ended, and why."""

    status: Status
    step: int  # the steps that were done; for a failure, the step where it happened

    def __str__(self) -> str:
        return f"{self.status.value} (step {self.step})"


def describe_failures(status: Sequence[SeedStatus], seeds: Sequence[int]) -> list[str]:
    """A line for each seed that failed."""
    return [f"seed {seed}: {entry}" for seed, entry in zip(seeds, status, strict=True) if entry.status.is_failure]


class ProblemWarning(UserWarning):
    """Something in the equation is suspicious: most often a condition is missing, so that the solution is not unique."""
