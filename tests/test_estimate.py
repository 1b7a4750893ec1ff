"""The estimated error of networks: near the true one, said with every solution, and never an exception."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.solving import correction_by_sums

pytestmark = [pytest.mark.estimating, pytest.mark.quality]
UNIT = fr.Interval(0.0, 1.0)
TINY = {"batch": 8, "seeds": 2, "network": fr.MLP(8, 1, "tanh"), "progress": False}
HALF = fr.Integral(UNIT, lambda u, x, t: u(t) / 2)


def second_kind(**changes):
    """u(x) = ∫₀¹ u(t)/2 dt + x, whose solution is x + 1/2."""
    return fr.Equation(**{"domain": UNIT, "f": lambda u, x: u(x), "integrals": HALF, "y": lambda x: x[0], **changes})


def said(solution, heading):
    return next((line[10:] for line in repr(solution).splitlines() if line.startswith(heading)), None)


def off(solution, exact, points):
    truth = np.array([exact(x) for x in points])
    return np.linalg.norm(solution(points) - truth) / np.linalg.norm(truth)


def test_it_contains_the_true_error_and_is_printed_and_on_the_page(tmp_path):
    solution = fr.solve(second_kind(), fr.Standard(), rule=fr.MonteCarlo(4), steps=200, **TINY)
    points = np.linspace(0, 1, 101)[:, None]
    true, found = off(solution, lambda x: x[0] + 0.5, points), solution.estimate()
    assert true < found.error < 5 * true
    line = said(solution, "estimate")
    assert re.match(r"the error of u is at most about \S+ % of u: a Chebyshev series of degree \d+ corrects it", line)
    assert "true loss from fresh points and nodes, the best seed first" in said(solution, "certified")
    page = solution.report(tmp_path / "page.html").read_text()
    assert line in page


def test_with_random_nodes_on_four_axes(monkeypatch):
    """Random features, and rows of two independent estimates: their noise is a part of the estimate."""
    for name, value in {"FEATURES": 12, "POINTS": 64}.items():
        monkeypatch.setattr(correction_by_sums, name, value)
    box = fr.Box((0.0,) * 4, (1.0,) * 4)
    equation = fr.Equation(box, lambda u, x: u(x), fr.Integral(box, lambda u, x, t: u(t) / 2), y=lambda x: jnp.sum(x) - 1.0)
    solution = fr.solve(equation, fr.Standard(), rule=fr.MonteCarlo(4), steps=50, **{**TINY, "seeds": 1})
    points = np.random.default_rng(0).uniform(size=(200, 4))
    true, found = off(solution, lambda x: x.sum() + 1.0, points), solution.estimate()
    assert true < found.error < 10 * true, f"{found}"


def test_a_form_that_meets_its_condition_stays():
    """u' = u with u = 1 + x n: what is added to n keeps u(0) = 1, which no condition asks for."""
    form = fr.Constrained(fr.MLP(8, 1, "tanh"), lambda n, x: 1.0 + x[0] * n(x))
    equation = fr.Equation(UNIT, lambda u, x: fr.derivative(u, x) - u(x))
    solution = fr.solve(equation, fr.Standard(), steps=20, **{**TINY, "network": form})
    points = np.linspace(0, 1, 21)[:, None]
    true, found = off(solution, lambda x: np.exp(x[0]), points), solution.estimate()
    assert true < found.error < 5 * true
    np.testing.assert_allclose(solution.refined(points).value, np.exp(points[:, 0]), rtol=1e-8)


def test_a_scalar_of_a_network_has_the_interval_of_least_squares():
    t = np.linspace(0.1, 2.0, 20)
    values = np.exp(-1.3 * t) + 0.01 * np.random.default_rng(0).normal(size=20)
    equation = fr.Equation(
        fr.Interval(0.0, 2.0),
        lambda u, x: fr.derivative(u, x) + u.kappa * u(x),
        conditions=[fr.Condition(fr.Point(0.0), 1.0), fr.Data(t[:, None], values, sigma=0.01)],
        unknowns={"kappa": 1.0},
    )
    found = fr.solve(equation, fr.Standard(), steps=20, **TINY).estimate()
    slope = -t * np.exp(-found.unknowns["kappa"] * t)
    half = 1.959964 * 0.01 / np.linalg.norm(slope)
    assert abs(slope @ (values - np.exp(-found.unknowns["kappa"] * t))) < 1e-4 * np.linalg.norm(slope)
    assert found.intervals["kappa"] == pytest.approx((found.unknowns["kappa"] - half, found.unknowns["kappa"] + half), abs=1e-5)


def test_where_there_is_none_it_says_why():
    solution = fr.solve(second_kind(), fr.Standard(), rule=fr.MonteCarlo(4), steps=1, **TINY)
    broken = second_kind(f=lambda u, x: u(x) + [].pop())
    assert str(solution.estimate(problem=broken)) == "not available: IndexError: pop from empty list"
    nowhere = fr.Equation(UNIT, lambda u, x: jnp.log(-x[0]) * u(x), y=1.0)
    assert "not finite" in str(solution.estimate(problem=nowhere))


def test_certificates_rank_seeds():
    """The loss from fresh points orders networks at different distances from the solution as their errors do."""
    solution = fr.solve(second_kind(), fr.Standard(), rule=fr.MonteCarlo(4), steps=30, **{**TINY, "seeds": 6})
    points = np.linspace(0, 1, 101)
    errors = np.linalg.norm(solution.members(points) - points - 0.5, axis=1)
    losses = [one.loss for one in solution.certify()]
    assert np.argmin(losses) == np.argmin(errors)
    assert np.argmax(losses) == np.argmax(errors)
