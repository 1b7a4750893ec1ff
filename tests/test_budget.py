"""A time budget shapes the run: its steps fit into it, and the learning rate comes to its end."""

import sys

import jax.numpy as jnp
import pytest

import fredholm as fr
from fredholm.solving.choice import solved_by_series
from fredholm.training import budget
from fredholm.training.budget import affordable
from fredholm.training.callbacks import AbstractCallback, TimeBudget
from fredholm.training.settings import resolve
from fredholm.training.status import Status

VOLTERRA = fr.problems.Volterra2()
TINY = {"rule": fr.Gauss(2), "network": fr.MLP(4, 1), "batch": 4, "seeds": 1, "progress": False}


@pytest.mark.parametrize("each", [1e-3, 0.1, 10.0])
def test_the_steps_fit_into_the_time_that_is_left(each):
    steps = affordable(10_000, 60.0, 5.0, each)
    assert 5.0 + steps * each <= 60.0 or steps == 1
    assert steps == 10_000 or 5.0 + (steps + 1) * each > budget.USED * 60.0 or steps == 1
    assert affordable(7, 60.0, 5.0, 1e-3) == 7


def test_the_run_has_the_steps_that_fit_and_ends_by_itself(monkeypatch):
    monkeypatch.setattr(budget, "measured", lambda training, left: (0.0, 60.0))
    solution = fr.solve(VOLTERRA, fr.Standard(), minutes=20.0, **TINY)
    assert solution.record.settings.steps == solution.steps == 17, "each step takes a minute, and 9/10 of the time is planned"
    assert solution.status[0].status is Status.FINISHED
    given = fr.solve(VOLTERRA, fr.Standard(), minutes=20.0, steps=19, **TINY)
    assert given.steps == 19, "what is given stays"


def test_a_run_that_fits_is_as_without_a_budget():
    keywords = TINY | {"network": fr.MLP(2, 1)}
    problem = fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x), y=1.0, defaults=fr.Defaults(steps=30))
    free = fr.solve(problem, fr.Standard(), **keywords)
    bound = fr.solve(problem, fr.Standard(), minutes=1000.0, **keywords)
    assert free([[0.5]]) == bound([[0.5]])
    assert bound.steps == 30
    assert bound.history.sizes == free.history.sizes


def test_nothing_promises_a_resume_that_has_no_folder():
    solution = fr.solve(VOLTERRA, fr.Standard(), minutes=0.0, steps=9, **TINY)
    assert "used up" in repr(solution)
    assert "resume" not in repr(solution)


def test_a_series_that_is_tried_first_leaves_most_of_the_time_to_a_network(monkeypatch):
    """It could use up all of `minutes=`, and the network was trained for one step."""
    limits = []
    monkeypatch.setattr(
        sys.modules["fredholm.api"], "solved_by_series", lambda settings, callbacks: (limits.extend(callbacks), (None, []))[1]
    )
    unit, defaults = fr.Interval(0.0, 1.0), fr.Defaults(steps=2, network=fr.MLP(2, 1))
    problem = fr.Equation(unit, lambda u, x: u(x), fr.Integral(unit, lambda u, x, t: u(t) / 2), 1.0, defaults=defaults)
    fr.solve(problem, minutes=10.0, seeds=1, progress=False)
    assert min(one.left() for one in limits if isinstance(one, TimeBudget)) < 0.4 * 600


class Late(AbstractCallback):
    """Time is used up after the first series."""

    def after_chunk(self, training):
        return Status.OUT_OF_TIME


def test_a_series_without_time_is_not_called_a_solution_that_is_not_smooth():
    problem = fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x), y=lambda x: jnp.sin(300 * x[0]))
    settings = resolve(problem, fr.Defaults(), seeds=1)
    assert solved_by_series(settings, [TimeBudget(0.0)]) == (None, [])
    engine, (reason,) = solved_by_series(settings, [Late()])
    assert engine is None
    assert "when its time was used up" in reason
