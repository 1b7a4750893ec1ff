"""How a seed's training stands, and the errors that `solve` raises."""

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fredholm.solution import Solution


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


class ProblemWarning(UserWarning):
    """Something in the equation is suspicious: most often a condition is missing, so that the solution is not unique."""


class SolveError(RuntimeError):
    """At least one seed failed; `.solution` holds all of them, each at its last good state."""

    def __init__(self, message: str, solution: "Solution"):
        super().__init__(message)
        self.solution = solution


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during training; `.solution` holds what was reached."""

    def __init__(self, message: str, solution: "Solution"):
        super().__init__(message)
        self.solution = solution
