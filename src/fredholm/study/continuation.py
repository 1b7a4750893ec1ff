"""`continuation`: one equation after the other along a parameter, each begun with the solution before."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fredholm.api import solve
from fredholm.common.checks import sequence
from fredholm.common.tracebacks import with_short_tracebacks
from fredholm.equation.equation import Equation
from fredholm.methods.auto import Auto
from fredholm.methods.protocol import AbstractMethod
from fredholm.results.solution import Solution


@with_short_tracebacks
def continuation(
    problem: Callable[[float], Equation], values: Sequence[float], method: AbstractMethod | Auto | None = None, **settings: Any
) -> dict[float, Solution]:
    """Solves `problem(value)` for each value, in their order; each training begins with the solution before.

    A series, which is solved and not trained, begins anew each time.

    Args:
        problem (function): makes the equation of a value of the parameter.
        values (sequence): the values, from the easiest on.
        method (method): as in `solve`; default: None.
        settings: the other keywords of `solve`; `network` is that of the first solve, and `out` holds a folder for each value.

    Returns:
        The solutions by value.

    Raises:
        ValueError: where `problem` is no function, or as `solve` does.

    Examples:
        >>> import fredholm as fr
        >>> def growth(kappa):
        ...     f, start = lambda u, x: fr.derivative(u, x) - kappa * u(x), fr.Condition(fr.Point(0.0), 1.0)
        ...     return fr.Equation(fr.Interval(0.0, 1.0), f, conditions=start)
        >>> small = {"network": fr.MLP(4, 1), "steps": 2, "batch": 4, "seeds": 1, "progress": False, "throw": False}
        >>> list(fr.continuation(growth, [1.0, 2.0], fr.Standard(), **small))
        [1.0, 2.0]

    See also:
        `solve`, `compare`, `Equation`.
    """
    if not callable(problem):
        raise ValueError(f"continuation problem: got {problem!r}; expected a function of one number, lambda kappa: fr.Equation(...).")
    found: dict[float, Solution] = {}
    before: Solution | None = None
    for value in sequence("continuation values", values):
        own = {"label": f"{value:g}", **settings}
        if settings.get("out") is not None:
            own["out"] = Path(settings["out"]) / f"{value:g}"
        known = None if before is None else before.record.settings.part("network")
        if before is not None and not (known is not None and known.is_linear):
            own |= {"start": before} | ({} if known is None else {"network": None})
        before = solve(problem(value), method, **own)
        found[float(value)] = before
    return found
