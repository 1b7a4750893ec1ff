"""The exceptions that `solve` raises; each holds the solution so far."""

from fredholm.report.solved import Solved


class SolveError(RuntimeError):
    """At least one seed failed. `.solution` holds all seeds, the failed ones at their last good state.

    Args:
        message (str): what failed.
        solution (Solution): all seeds, the failed ones at their last good state.

    Examples:
        >>> import fredholm as fr
        >>> issubclass(fr.SolveError, Exception)
        True

    See also:
        `solve`, `Status`, `Interrupted`.
    """

    def __init__(self, message: str, solution: Solved):
        super().__init__(message)
        self.solution = solution


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during training. `.solution` holds the training as far as it came.

    Args:
        message (str): what happened.
        solution (Solution): the solution so far.

    Examples:
        >>> import fredholm as fr
        >>> issubclass(fr.Interrupted, Exception)
        False

    See also:
        `resume`, `SolveError`.
    """

    def __init__(self, message: str, solution: Solved):
        super().__init__(message)
        self.solution = solution
