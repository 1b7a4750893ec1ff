"""The exceptions that `solve` raises; each holds the solution so far."""

from fredholm.report.solved import Solved


class SolveError(RuntimeError):
    """At least one seed failed. `.solution` holds all seeds, the failed ones at their last good state."""

    def __init__(self, message: str, solution: Solved):
        super().__init__(message)
        self.solution = solution


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during training. `.solution` holds the training as far as it came."""

    def __init__(self, message: str, solution: Solved):
        super().__init__(message)
        self.solution = solution
