"""Intervals that mean what they say: refined answers, learned scalars, estimates of the error."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import curve_fit

import fredholm as fr
from fredholm.diagnostics.quality import quality

KERNEL = fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: 0.5 * x[0] * t[0] * u(t))
CONTRACTION = fr.Equation(
    fr.Interval(0.0, 1.0),
    lambda u, x: u(x),
    KERNEL,
    y=lambda x: x[0] * (1 - 0.5 / 3),
    exact=lambda x: x[0],
    defaults=fr.Defaults(rule=fr.MonteCarlo(4)),
)
POINTS = np.linspace(0.05, 0.95, 20)


def test_a_refined_interval_contains_the_solution_whatever_u_is():
    """From a poor network: the interval contains the truth at 95 % of the points or more, and the value is better than u."""
    solution = fr.solve(CONTRACTION, fr.Standard(), network=fr.MLP(8, 1, "tanh"), steps=20, batch=8, seeds=1)
    found = solution.refined(POINTS, samples=4000)
    assert np.mean((found.low <= POINTS) & (found.high >= POINTS)) >= 0.95
    assert np.linalg.norm(found.value - POINTS) < 0.5 * np.linalg.norm(solution(POINTS) - POINTS)
    assert found.about.startswith("the solution")


def test_the_noise_of_a_refined_value_is_that_of_its_samples():
    """With u the solution itself only the noise is left: 95 % intervals contain it about as often as they say."""
    exact = fr.solve(CONTRACTION, fr.Standard(), network=fr.Chebyshev(2), seeds=1)
    found = exact.refined(np.linspace(0.2, 1.0, 100), samples=500)
    inside = (found.low <= np.linspace(0.2, 1.0, 100)) & (found.high >= np.linspace(0.2, 1.0, 100))
    assert np.mean(inside) >= 0.88
    assert np.median(found.high - found.low) < 0.1


def test_an_operator_that_does_not_contract_is_named():
    equation = fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x), fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: 3.0 * u(t)), y=1.0)
    found = fr.solve(equation, fr.Standard(), network=fr.Chebyshev(2), seeds=1).refined([0.5], samples=100)
    assert "does not contract" in found.about
    np.testing.assert_allclose(found.value, -0.5, rtol=1e-6)


@pytest.mark.estimating
def test_another_form_is_refined_by_a_newton_correction():
    """f is no plain u: the interval is that of a correction in a linear class, which a poor network does not have."""
    equation = fr.problems.Volterra2()
    solution = fr.solve(equation, fr.Standard(), rule=fr.Gauss(8), network=fr.MLP(8, 1, "tanh"), steps=20, batch=8, seeds=1)
    points = np.asarray(equation.evaluation.points(50))
    found, truth = solution.refined(points), np.asarray(equation.truth(jnp.asarray(points)))[:, 0]
    slack = 1e-6 * np.max(np.abs(truth))  # exact is evaluated in single precision
    assert np.mean((found.low - slack <= truth) & (truth <= found.high + slack)) >= 0.95
    assert np.linalg.norm(found.value - truth) < 1e-4 * np.linalg.norm(solution(points) - truth)


@pytest.mark.parametrize("sigma", [None, 0.01])
def test_the_interval_of_a_learned_scalar_is_that_of_least_squares(sigma):
    t = np.linspace(0.1, 2.0, 20)
    values = np.exp(-1.3 * t) + 0.01 * np.random.default_rng(0).normal(size=20)
    equation = fr.Equation(
        fr.Interval(0.0, 2.0),
        lambda u, x: fr.derivative(u, x) + u.kappa * u(x),
        conditions=[fr.Condition(fr.Point(0.0), 1.0), fr.Data(t[:, None], values, sigma=sigma)],
        unknowns={"kappa": 1.0},
    )
    solution = fr.solve(equation, fr.Standard(), network=fr.Chebyshev(12), seeds=1)
    best, covariance = curve_fit(
        lambda x, k: np.exp(-k * x), t, values, sigma=None if sigma is None else np.full(20, sigma), absolute_sigma=sigma is not None
    )
    quantile = 2.0930 if sigma is None else 1.9600  # Student's with 19 degrees of freedom, the normal one
    half = quantile * np.sqrt(covariance[0, 0])
    assert float(solution.unknowns["kappa"][0]) == pytest.approx(best[0], abs=1e-4)
    low, high = (float(solution.history[f"{end}_kappa"][0, -1]) for end in ("low", "high"))
    assert (low, high) == pytest.approx((best[0] - half, best[0] + half), abs=2e-4)
    assert "from the noise of the data" in str(solution)


def test_infinitely_many_directions_are_counted():
    """Without a condition the solution is not unique: a direction is dropped, and the solution says so."""
    equation = fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: fr.derivative(u, x), y=1.0)
    solution = fr.solve(equation, fr.Standard(), network=fr.Chebyshev(3), seeds=1)
    assert any("not determined" in reason for reason in solution.record.auto["reasons"])
    assert jax.tree.leaves(solution.u)
    assert jnp.isfinite(solution.u(jnp.array([0.5])))


# Tolerances: reached means that an independent measurement agrees


def test_a_tolerance_is_reached_or_said_not_to_be():
    problem = fr.problems.Volterra2()
    reached, not_reached = (
        fr.solve(problem, fr.Standard(), network=fr.Chebyshev(16), seeds=1, tolerance=tolerance) for tolerance in (1e-6, 1e-30)
    )
    assert reached.status[0].status is fr.Status.FINISHED
    assert quality(problem, reached.u).worst < 1e-6
    assert not_reached.status[0].status is fr.Status.UNREACHED
    assert any("what limits it" in reason for reason in not_reached.record.auto["reasons"])


@pytest.mark.parametrize(("tolerance", "status"), [(0.999, "STOPPED"), (1e-12, "UNREACHED")])
def test_a_network_stops_at_its_tolerance(tolerance, status):
    solution = fr.solve(
        CONTRACTION, fr.Standard(), rule=fr.Gauss(4), network=fr.MLP(8, 1, "tanh"), steps=100, batch=8, seeds=2, tolerance=tolerance
    )
    assert {entry.status.name for entry in solution.status} == {status}
    assert (solution.steps < 100) == (status == "STOPPED")
