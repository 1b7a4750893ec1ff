"""The frame is the box in which an equation evaluates u, whatever way the user writes it."""

import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.equation.frame import frame_of

LAW = fr.Law(center=fr.Box((-1.0, -1.0), (1.0, 1.0)), radius=fr.Interval(0.5, 1.5))
MASS = fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: u(t))
CASES = {
    "only a derivative": (fr.Equation(fr.Interval(0.0, 1e8), lambda u, x: fr.derivative(u, x, order=2)), [0.0], [1e8]),
    "a shift": (fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x) - u(x - 2.0)), [-2.0], [1.0]),
    "a convolution": (
        fr.Equation(fr.Interval(0.0, 3.0), lambda u, x: u(x), fr.Integral(fr.Interval(-1.0, 2.0), lambda u, x, t: u(x + t))),
        [-1.0],
        [5.0],
    ),
    "a condition elsewhere": (
        fr.Equation(fr.Interval(0.0, 1.0), fr.derivative, conditions=[fr.Condition(fr.Point(-4.0), 1.0)]),
        [-4.0],
        [1.0],
    ),
    "a condition on an integral": (
        fr.Equation(fr.Interval(2.0, 3.0), fr.derivative, conditions=[fr.IntegralCondition(MASS, 1.0)]),
        [0.0],
        [3.0],
    ),
    "volumes": (
        fr.Equation(
            LAW,
            integrals=fr.Integral(lambda v: fr.Sphere(v.center, v.radius), lambda u, v, t: fr.directional(u, t, t - v.center)),
            inputs=2,
        ),
        [-2.5, -2.5],
        [2.5, 2.5],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_frame_holds_every_evaluation(name):
    equation, low, high = CASES[name]
    found = frame_of(equation)
    assert found.is_bounded
    np.testing.assert_allclose(found.low, low, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.high, high, rtol=1e-6, atol=1e-6)


def test_an_infinite_limit_is_seen_in_its_direction():
    tail = fr.Equation(
        fr.Interval(0.0, 5.0), lambda u, x: u(x), fr.Integral(lambda x: fr.HalfLine(x[0]), lambda u, x, t: u(t) * jnp.exp(-t[0]))
    )
    noise = fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x), fr.Integral(fr.Normal(0.0, 1.0), lambda u, x, t: u(x + t)))
    assert (frame_of(tail).below, frame_of(tail).above) == ((False,), (True,))
    assert (frame_of(noise).below, frame_of(noise).above) == ((True,), (True,))
    assert frame_of(tail).reaches_outside


def test_a_bounded_volterra_equation_stays_inside():
    found = frame_of(fr.problems.Volterra())
    assert (found.low, found.high, found.reaches_outside) == ((0.0,), (5.0,), False)


def test_given_rows_and_samples_have_the_box_of_all_of_them():
    """One sample at each x, and far more rows than are drawn: the box of the points is exact."""
    rng = np.random.default_rng(0)
    state = rng.uniform(-1.0, 1.0, (5000, 2))
    problem = fr.Equation(
        domain=fr.Offline(point=state, next=0.9 * state[:, None]),
        f=lambda u, x: u(x.point),
        integrals=fr.Integral(lambda x: fr.Given(x.next), lambda u, x, t: 0.9 * u(t)),
    )
    frame = frame_of(problem)
    np.testing.assert_allclose(frame.domain_low, state.min(axis=0), rtol=1e-6)
    np.testing.assert_allclose(frame.domain_high, state.max(axis=0), rtol=1e-6)
    assert not frame.reaches_outside
