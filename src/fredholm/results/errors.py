"""The errors that `solve` raises with what was reached."""

from fredholm.report.solved import Solved


class SolveError(RuntimeError):
    """At least one seed failed; `.solution` holds all of them, each at its last good state."""

    def __init__(self, message: str, solution: Solved):
        super().__init__(message)
        self.solution = solution


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during training; `.solution` holds what was reached."""

    def __init__(self, message: str, solution: Solved):
        super().__init__(message)
        self.solution = solution
