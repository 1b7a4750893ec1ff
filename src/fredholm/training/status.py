"""How the training of a seed ended."""

import enum
import math
from collections.abc import Sequence
from typing import NamedTuple


class Status(enum.Enum):
    """How a training ended; the value is the message.

    Examples:
        >>> import fredholm as fr
        >>> fr.Status.FINISHED.is_failure
        False

    See also:
        `SeedStatus`, `SolveError`.
    """

    FINISHED = "finished"
    UNREACHED = "finished; the tolerance was not reached"
    STOPPED = "stopped early: the stopping rule or the tolerance was met"
    OUT_OF_TIME = "stopped: the time budget was used up"
    INTERRUPTED = "interrupted"
    NONFINITE = "the loss or the network became non-finite; the last good state is kept"
    DIVERGED = "the loss grew beyond a million times its first value; the last good state is kept"

    @property
    def is_failure(self) -> bool:
        """True where the seed failed."""
        return self in (Status.NONFINITE, Status.DIVERGED)

    @property
    def is_unfinished(self) -> bool:
        """True where the training can go on as it was planned."""
        return self in (Status.OUT_OF_TIME, Status.INTERRUPTED)


class SeedStatus(NamedTuple):
    """How the training of one seed ended, and at which step.

    Args:
        status (Status): how it ended.
        step (int): the steps done; for a failed seed, the step where it failed.

    Examples:
        >>> import fredholm as fr
        >>> str(fr.SeedStatus(fr.Status.FINISHED, 2000))
        'finished (step 2000)'

    See also:
        `Status`, `Solution`.
    """

    status: Status
    step: int  # the steps done; for a failed seed, the step where it failed

    def __str__(self) -> str:
        return f"{self.status.value} (step {self.step})"


def failure(loss: float) -> Status:
    """How a seed failed, from its loss at that step."""
    return Status.DIVERGED if math.isfinite(loss) else Status.NONFINITE


def describe_failures(status: Sequence[SeedStatus], seeds: Sequence[int]) -> list[str]:
    """A line for each seed that failed."""
    return [f"seed {seed}: {entry}" for seed, entry in zip(seeds, status, strict=True) if entry.status.is_failure]


class ProblemWarning(UserWarning):
    """Something in the equation is suspicious: most often a condition is missing, so that the solution is not unique.

    Examples:
        >>> import fredholm as fr
        >>> issubclass(fr.ProblemWarning, UserWarning)
        True

    See also:
        `check`.
    """
