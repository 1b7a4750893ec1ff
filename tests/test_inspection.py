"""`check` says what is wrong, and says nothing where nothing is."""

import math
import re
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.diagnostics.check import describe_undetermined, is_intended
from fredholm.diagnostics.exact import exact_residuals
from fredholm.diagnostics.tails import SAMPLES, heavy_tails, tail_index
from fredholm.diagnostics.uniqueness import undetermined

UNIT = fr.Interval(0.0, 1.0)
SQUARE = fr.Product(fr.Interval(0.0, math.pi / 2), UNIT)
START, LEFT, RIGHT = (
    fr.Condition(fr.Product(fr.Interval(0.0, math.pi / 2), fr.Point(0.0)), lambda x: jnp.sin(x[0])),
    fr.Condition(fr.Product(fr.Point(0.0), UNIT), 0.0),
    fr.Condition(fr.Product(fr.Point(math.pi / 2), UNIT), lambda x: jnp.exp(-x[1])),
)


def volterra(**changes):
    parts = {
        "domain": fr.Interval(0.0, 5.0),
        "f": lambda u, x: fr.derivative(u, x) + u(x),
        "integrals": fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: jnp.exp(t[0] - x[0]) * u(t)),
        "conditions": fr.Condition(fr.Point(0.0), 1.0),
        "exact": lambda x: jnp.exp(-x[0]) * jnp.cosh(x[0]),
    }
    return fr.Equation(**{**parts, **changes})


def heat(*conditions):
    return fr.Equation(
        domain=SQUARE,
        f=lambda u, x: fr.derivative(u, x, 1) - fr.derivative(u, x, 0, 2),
        integrals=fr.Integral(fr.Interval(0.0, math.pi / 2), lambda u, x, t: u(jnp.stack([t[0], x[1]]))),
        y=lambda x: -jnp.exp(-x[1]),
        conditions=conditions,
    )


def oscillator(*conditions, **changes):
    return fr.Equation(**{"domain": UNIT, "f": lambda u, x: fr.derivative(u, x, order=2) + u(x), "conditions": conditions, **changes})


def breakage(*conditions):
    """∂n/∂t = −x n + 2 ∫ₓ^∞ n(s) ds: pieces that break, on the half-line."""
    return fr.Equation(
        domain=fr.Product(fr.Exponential(), UNIT),
        f=lambda u, x: fr.derivative(u, x, 1) + x[0] * u(x),
        integrals=fr.Integral(lambda x: fr.HalfLine(x[0]), lambda u, x, t: 2 * u(jnp.stack([t[0], x[1]]))),
        conditions=conditions,
    )


VALUE, SLOPE = fr.Condition(fr.Point(0.0), 0.0), fr.Condition(fr.Point(0.0), 1.0, of=lambda u, x: fr.derivative(u, x))
DETERMINED = {
    "volterra": volterra(),
    "heat": heat(START, LEFT, RIGHT),
    "on the half-line": breakage(fr.Condition(fr.Product(fr.Exponential(), fr.Point(0.0)), lambda x: jnp.exp(-x[0]))),
    "oscillator by its mass": oscillator(VALUE, fr.IntegralCondition(fr.Integral(UNIT, lambda u, x, t: u(t)), 1.0)),
    "kappa from data": oscillator(
        fr.Data(np.linspace(0, 1, 9), np.ones(9)), f=lambda u, x: fr.derivative(u, x) - u.kappa * u(x), unknowns={"kappa": 1.0}
    ),
}
OPEN = {
    "volterra": (volterra(conditions=()), "order 1 along axis 0"),
    "heat without a start": (heat(LEFT, RIGHT), "order 2 along axis 0, 1 along axis 1"),
    "a condition of weight 0": (oscillator(VALUE, fr.Condition(fr.Point(1.0), 0.0, weight=0.0)), "order 2"),
    "periodic": (
        oscillator(fr.Periodic(fr.Point(0.0), fr.Point(1.0), order=1), f=lambda u, x: fr.derivative(u, x, order=2)),
        "a constant can",
    ),
    "kappa without data": (
        oscillator(VALUE, f=lambda u, x: fr.derivative(u, x) - u.kappa * u(x), unknowns={"kappa": 1.0}),
        "the unknown kappa",
    ),
    "the first kind": (
        fr.Equation(UNIT, integrals=fr.Integral(UNIT, lambda u, x, t: jnp.exp(-((x[0] - t[0]) ** 2)) * u(t)), y=1.0),
        "ill-posed",
    ),
    "nodes outside": (
        fr.Equation(UNIT, lambda u, x: u(x), fr.Integral(fr.Interval(0.0, 2.0), lambda u, x, t: u(x + t))),
        "evaluate u outside of the domain.*jnp.clip",
    ),
    "a flux through volumes": (
        fr.Equation(
            domain=fr.Law(center=UNIT, radius=fr.Interval(0.1, 0.5)),
            integrals=fr.Integral(lambda x: fr.Interval(x.center - x.radius, x.center + x.radius), lambda u, x, t: fr.derivative(u, t)),
            y=1.0,
            inputs=1,
        ),
        "a constant can",
    ),
}


@pytest.mark.parametrize("name", DETERMINED)
def test_a_solution_that_is_determined_is_called_so(name):
    assert undetermined(DETERMINED[name]) is None


@pytest.mark.parametrize("name", OPEN)
def test_a_missing_condition_is_found_and_what_it_leaves_open_is_named(name):
    equation, words = OPEN[name]
    found = undetermined(equation)
    assert found is not None
    assert re.search(words, describe_undetermined(found))
    assert ("ill-posed" in describe_undetermined(found)) == (name == "the first kind")
    assert found.evaluates_outside == (name == "nodes outside")


def test_a_form_can_hold_the_condition():
    equation = volterra(conditions=())
    assert undetermined(equation, lambda n, x: 1.0 + x[0] * n(x)) is None


@pytest.mark.probing
def test_solve_warns_where_the_solution_is_not_unique_and_only_there(monkeypatch):
    monkeypatch.setattr(sys.modules["fredholm.api"], "Training", lambda setup: pytest.fail("stop here"))
    with pytest.warns(fr.ProblemWarning, match="not unique.*order 2.*Add a Condition"), pytest.raises(pytest.fail.Exception):
        fr.solve(oscillator(VALUE), fr.Standard())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for quiet in (
            oscillator(VALUE, SLOPE),
            oscillator(f=lambda u, x: fr.derivative(u, x), evaluation=fr.Evaluation(at=UNIT, score="mse_mean_free")),
            fr.problems.Poisson(),
        ):
            with pytest.raises(pytest.fail.Exception):
                fr.solve(quiet, fr.Standard())


@pytest.mark.probing
def test_solve_warns_where_random_nodes_have_no_variance_and_only_there(monkeypatch):
    monkeypatch.setattr(sys.modules["fredholm.api"], "Training", lambda setup: pytest.fail("stop here"))
    monkeypatch.setattr(sys.modules["fredholm.diagnostics.before"], "undetermined", lambda *parts: None)
    with pytest.warns(fr.ProblemWarning, match="integral 1: .* infinite variance.*Constrained"), pytest.raises(pytest.fail.Exception):
        fr.solve(breakage(), fr.Standard(), rule=fr.MonteCarlo(1))
    falling = fr.Constrained(fr.MLP(4, 1, "tanh"), lambda n, x: jnp.exp(-x[0]) * n(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for quiet in ({"rule": fr.Gauss(4)}, {"rule": fr.MonteCarlo(1), "network": falling}):
            with pytest.raises(pytest.fail.Exception):
                fr.solve(breakage(), fr.Standard(), **quiet)


@pytest.mark.parametrize(("power", "heavy"), [(0.0, False), (0.3, False), (0.7, True), (1.2, True)])
def test_the_tail_index_tells_a_variance_from_none(power, heavy):
    """x^(−p) with x uniform has a tail of index 1/p."""
    with jax.enable_x64(True):
        x = np.asarray(jax.random.uniform(jax.random.key(0), (SAMPLES,)))
    assert (tail_index((1 + 0.1 * np.sin(9 * x)) * x**-power) < 2) == heavy


def test_singular_kernels_have_no_variance():
    def kernel(power):
        singular = fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: (x[0] - t[0]) ** -power * (1 + u(t) ** 2))
        return fr.Equation(UNIT, lambda u, x: 10 * u(x), singular)

    found = heavy_tails(kernel(0.7))
    assert [(entry.where, entry.is_endless) for entry in found] == [("integral 1", False)]
    assert found[0].index == pytest.approx(1 / 0.7, rel=0.2)
    assert heavy_tails(kernel(0.2)) == []


def test_what_does_not_fall_off_has_no_variance_on_the_half_line():
    (found,) = heavy_tails(breakage())
    assert found.is_endless
    assert heavy_tails(breakage(), lambda n, x: jnp.exp(-x[0]) * n(x)) == []


def test_a_wrong_solution_is_told_from_a_right_one():
    equation, condition = exact_residuals(volterra(exact=lambda x: jnp.exp(-x[0])))
    assert equation.is_wrong
    assert not condition.is_wrong
    assert equation.size > 100 * equation.error
    # The equation is linear, so twice the solution is wrong in the condition only.
    equation, condition = exact_residuals(volterra(exact=lambda x: 2 * jnp.exp(-x[0]) * jnp.cosh(x[0])))
    assert not equation.is_wrong
    assert condition.is_wrong


def test_check_passes_what_is_right():
    found = fr.check(volterra())
    assert found.ok, found
    assert [finding.about for finding in found.findings] == [
        "shapes and numbers",
        "exact solution",
        "exact solution",
        "variance",
        "uniqueness",
    ]
    assert "the equation: residual" in str(found)


def test_check_tells_errors_suspicious_shapes_and_what_is_open():
    broken = fr.check(volterra(f=lambda u, x: jnp.log(-(u(x) ** 2))))
    assert [finding.level for finding in broken.findings] == ["error"]
    assert "not finite" in str(broken)
    plane = fr.check(fr.Equation(fr.Box((0.0, 0.0), (1.0, 1.0)), lambda u, x: x * u(x)))
    assert "2 equations for 1 unknown function" in str(plane)
    assert not plane.ok
    slope = {"domain": UNIT, "f": lambda u, x: fr.derivative(u, x), "exact": lambda x: 1.0 + 0 * x[0]}
    assert "uniqueness: the solution is not unique: a constant can be added" in str(fr.check(fr.Equation(**slope)))
    meant = fr.check(fr.Equation(**slope, evaluation=fr.Evaluation(at=UNIT, score="mse_mean_free")))
    assert meant.ok
    assert "leaves out a constant" in str(meant)
    assert is_intended(fr.problems.Poisson())
    assert is_intended(fr.problems.Poisson(dim=5))
    assert is_intended(fr.problems.Maxwell())
