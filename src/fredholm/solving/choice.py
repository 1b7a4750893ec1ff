"""Auto's first choice: a series where the solution is smooth, in up to three dimensions."""

import dataclasses
from collections.abc import Iterable

import jax

from fredholm.diagnostics.quality import quality
from fredholm.equation.equation import Defaults, Equation
from fredholm.equation.probe import pick, sample_points
from fredholm.equation.residual import network_point
from fredholm.functions.chebyshev import Chebyshev
from fredholm.functions.mlp import MLP
from fredholm.methods.standard import Standard
from fredholm.optimizers.gauss_newton import GaussNewton
from fredholm.rules.resolved import Resolved
from fredholm.solving.series import SeriesSolve
from fredholm.training.callbacks import AbstractCallback, TimeBudget
from fredholm.training.fitting import fitted
from fredholm.training.settings import RunSettings, for_second_order
from fredholm.training.status import Status

SMALL = MLP(32, 2, "tanh")  # a network whose systems are solved in milliseconds
SECOND_ORDER = "GaussNewton() with MLP(32, 2, 'tanh'): few inputs and nodes without noise, where steps of second order reach more digits"
MOST_AXES = 3  # of u: the coefficients of a series grow like a power of them
LARGEST_ERROR = 0.01  # an estimated error above this is no answer
LENIENT = 100.0  # a residual relative to the equation's own terms may be this much larger
SECONDS = 40.0  # after this no larger series is begun
GOOD = 1e-5  # a relative residual that networks rarely reach


def as_series(settings: RunSettings) -> RunSettings | None:
    """The settings of a solve by a series; None where there are many axes, x is no point, or an integral allows no fixed nodes."""
    problem = settings.problem
    if problem.inputs > MOST_AXES or problem.domain.samples is not None:
        return None
    if network_point(pick(sample_points(problem, 1), 0)) is None:
        return None
    found = fitted(dataclasses.replace(settings, network=Chebyshev(), method=Standard(), precision="float64"), has_rule=False)
    return found if isinstance(found.rule, Resolved) else None


def of_second_order(problem: Equation) -> Defaults | None:
    """What `solve` trains where a series was tried and is not good enough: a small network with steps of second order. None where the nodes
    have noise, and where the equation has defaults of its own."""
    found = for_second_order(problem, Defaults())
    if found.rule is None or problem.defaults != Defaults():
        return None
    return Defaults(found.method, found.rule, SMALL, GaussNewton(), found.steps, found.batch, found.average)


def solved_by_series(settings: RunSettings, callbacks: Iterable[AbstractCallback]) -> tuple[SeriesSolve | None, list[str]]:
    """A finished solve by a series if it is good enough, and the reasons for or against it."""
    own = as_series(settings)
    if own is None:
        return None, []
    with jax.enable_x64(True):
        solve = SeriesSolve(own)
        ended = solve.run([*callbacks, TimeBudget(SECONDS)])
    if ended is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solve.best[0] is None:
        return None, []
    enough = max(GOOD, settings.tolerance or 0.0, solve.explained)
    if solve.residual <= enough:
        doubt = doubt_of(solve, enough)
        if not doubt:
            solve.end_here()
            return solve, []
        return None, [f"a network: {doubt}, so a series is not to be trusted here"]
    if ended is Status.OUT_OF_TIME:
        return None, [f"a network: a Chebyshev series left a relative residual of {solve.residual:.1e} when its time was used up"]
    left = f"a Chebyshev series leaves a relative residual of {solve.residual:.1e}, and at most {enough:.0e} is wanted"
    return None, [f"a network: {left}, so the solution is not smooth enough for a series"]


def doubt_of(solve: SeriesSolve, enough: float) -> str:
    """Why a series with a small residual is not a solution; empty where it is one.

    Large coefficients that cancel make a residual look small beside them. `quality` compares it with the terms of the equation themselves.
    """
    best = solve.best[0]
    assert best is not None
    if not best.error <= (LARGEST_ERROR if best.regularized is None else 1.0):
        return f"the estimated error of a Chebyshev series is {best.error:.1e} of u"
    with jax.enable_x64(True):
        measured = quality(best.equation, best.u, has_rules=True)
    off = max(measured.residual if measured.residual > measured.uncertainty else 0.0, *measured.conditions, 0.0)
    return f"a Chebyshev series leaves {off:.1e} of the equation's own terms" if off > LENIENT * enough else ""
