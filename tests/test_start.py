"""A training that begins with the solution of another: the same network exactly, another one by imitation."""

import numpy as np
import pytest

import fredholm as fr

SETTINGS = {"rule": fr.MonteCarlo(2), "steps": 30, "batch": 8, "seeds": 2, "average": 0.0, "progress": False}
POINTS = np.linspace(0.0, 5.0, 9)
PROBLEM = fr.problems.Volterra()


@pytest.fixture(scope="module")
def before():
    return fr.solve(PROBLEM, fr.DelayedTarget(), network=fr.MLP(8, 1), **SETTINGS)


class First(fr.AbstractCallback):
    """Stops before the first step."""

    def before_chunk(self, training):
        return fr.Status.STOPPED


def begun(start, problem=PROBLEM, **changes):
    """The solution before any step."""
    return fr.solve(problem, fr.DelayedTarget(), start=start, callbacks=[First()], **{**SETTINGS, **changes})


def test_a_run_begins_with_the_networks_of_the_other(before):
    own = begun(before)
    np.testing.assert_allclose(own.members(POINTS), before.members(POINTS), rtol=1e-6)
    np.testing.assert_allclose(own.target(POINTS), before(POINTS), rtol=1e-6)
    more = begun(before, seeds=3)
    np.testing.assert_allclose(more.members(POINTS)[2], before.members(POINTS)[0], rtol=1e-6)


def test_the_equation_may_be_another_one(before):
    other = fr.Equation(
        domain=fr.Interval(0.0, 3.0),
        f=lambda u, x: fr.derivative(u, x),
        integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: 7.0 * u(t)),
        conditions=[fr.Condition(fr.Point(0.0), lambda x: 40.0), fr.Condition(fr.Point(1.0), lambda x: 3.0)],
        unknowns={"kappa": 2.0},
    )
    own = begun(before, other)
    np.testing.assert_allclose(own.members(POINTS), before.members(POINTS), rtol=1e-6)
    assert own.unknowns["kappa"].tolist() == [2.0, 2.0]
    trained = fr.solve(other, fr.DelayedTarget(), start=before, throw=False, **SETTINGS)
    assert trained.steps == 30


def test_another_network_is_fitted_to_the_values(before):
    own = begun(before, network=fr.MLP(16, 2, "tanh"))
    apart = np.abs(own.members(POINTS) - before.members(POINTS)).max() / np.abs(before.members(POINTS)).max()
    assert apart < 0.02


def test_a_run_from_another_is_continued_as_if_it_had_not_been_interrupted(before, tmp_path):
    whole = fr.solve(PROBLEM, fr.DelayedTarget(), start=before, **SETTINGS)
    fr.solve(PROBLEM, fr.DelayedTarget(), start=before, out=tmp_path / "run", callbacks=[First()], **SETTINGS)
    resumed = fr.resume(tmp_path / "run", progress=False)
    np.testing.assert_array_equal(resumed.members(POINTS), whole.members(POINTS))


def test_what_cannot_begin_is_refused(before):
    with pytest.raises(ValueError, match="1 inputs and 1 outputs; expected 2 and 1"):
        begun(before, fr.problems.Poisson())
    with pytest.raises(ValueError, match="solved for, and not trained"):
        fr.solve(PROBLEM, network=fr.Chebyshev(5), start=before)
