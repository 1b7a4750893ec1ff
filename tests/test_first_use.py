"""Tasks as a new user brings them, each with the error that the answer must have, and with what print says of it."""

import math
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import tasks
from tasks import oscillator, renewal, singular

pytestmark = [pytest.mark.quality, pytest.mark.scaling]
ONE = {"seeds": 1, "progress": False}


def population():
    """uₜ + uₐ = −u/2 with births, u(0, t) = b ∫₀¹ u(a, t) da: for this b the shape stays and the number grows, e^{t/2 − a}."""
    ages, times, b = fr.Interval(0.0, 1.0), fr.Interval(0.0, 1.0), 1 / (1 - math.exp(-1))
    births = fr.Integral(ages, lambda u, x, a: b * u(jnp.stack([a[0], x[1]])))
    return fr.Equation(
        fr.Product(ages, times),
        lambda u, x: fr.derivative(u, x, axis=0) + fr.derivative(u, x, axis=1) + u(x) / 2,
        conditions=[
            fr.Condition(fr.Product(ages, fr.Point(0.0)), lambda x: jnp.exp(-x[0])),
            fr.Condition(fr.Product(fr.Point(0.0), times), 0.0, integrals=births),
        ],
        exact=lambda x: jnp.exp(x[1] / 2 - x[0]),
    )


def far_units():
    """A decay over 10⁸ seconds of a density of 10⁻¹²."""
    return fr.Equation(
        fr.Interval(0.0, 1e8),
        lambda u, x: fr.derivative(u, x) + 3e-8 * u(x),
        conditions=fr.Condition(fr.Point(0.0), 1e-12),
        exact=lambda x: 1e-12 * jnp.exp(-3e-8 * x[0]),
    )


@pytest.mark.parametrize(
    ("task", "degree", "error"), [(renewal, None, 1e-9), (oscillator, None, 1e-7), (singular, None, 1e-9), (population, 8, 1e-7)]
)
def test_a_series_answers_and_says_so(task, degree, error):
    solution = fr.solve(task(), fr.Standard(), network=fr.Chebyshev(degree), **ONE)
    assert solution.evaluate()["relative_l2"][0] < error
    assert "1 of 1 seeds succeeded" in repr(solution)
    assert solution.quality()[0].worst < 1e-6


@pytest.mark.pilot
def test_the_plain_call_solves_a_kink():
    """It trained a network for minutes, and ended three times as far off as the series that it had refused."""
    kink = fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x), y=lambda x: jnp.abs(x[0] - 0.3), exact=lambda x: jnp.abs(x[0] - 0.3))
    solution = fr.solve(kink, **ONE)
    assert "Chebyshev" in solution.settings["network"], solution
    assert solution.evaluate()["relative_l2"][0] < 1e-3


def test_the_smallest_sizes_of_a_coagulation_are_right_where_they_have_room():
    """In v itself they came out twice too large, and "nothing is wrong" was said. Here the coordinate is the logarithm of v."""
    solution = fr.solve(tasks.brownian(form=True), fr.Standard(), rule=fr.Gauss(12), network=fr.Chebyshev((8, 5)), **ONE)
    points, values = tasks.brownian_reference()
    found, is_small = solution(np.stack([np.log(points[:, 0]), points[:, 1]], axis=1)), points[:, 0] < 0.1
    assert tasks.relative(found, values) < 0.04
    assert tasks.relative(found[is_small], values[is_small]) < 0.05


def test_a_basket_of_prices_that_jump():
    """Two prices and few steps: half as far off as what the put would pay at once. The plain call and five: benchmarks/first_use.py."""
    keywords = {"rule": fr.MonteCarlo(2), "optimizer": fr.Muon(), "steps": 400, "batch": 128, **ONE}
    solution = fr.solve(tasks.basket(2), fr.DelayedTarget(), network=fr.MLP(24, 2, "tanh"), **keywords)
    points, values = tasks.basket_reference(2, paths=20_000)
    assert tasks.relative(solution(points), values) < 0.2
    assert tasks.relative(np.array([tasks.payoff(p) for p in points]), values) > 0.27


def test_a_network_answers_in_far_units():
    keywords = {"rule": fr.Gauss(4), "network": fr.MLP(8, 2, "tanh"), "optimizer": fr.Muon(), "batch": 24, "seeds": 1, "progress": False}
    solution = fr.solve(far_units(), fr.Standard(), steps=800, **keywords)
    assert solution.evaluate()["relative_l2"][0] < 0.02
    assert "DOES NOT" not in repr(solution)


def test_a_network_that_was_hardly_trained_is_not_called_a_solution():
    """98.6 % off, and print said "4 of 4 seeds succeeded": the renewal equation with few steps."""
    solution = fr.solve(
        renewal(), fr.Standard(), rule=fr.Gauss(8), network=fr.MLP(8, 1, "tanh"), steps=5, batch=16, seeds=1, progress=False
    )
    assert solution.evaluate()["relative_l2"][0] > 0.3
    assert "u DOES NOT SOLVE THE EQUATION" in repr(solution)
    assert "0 of 1 seeds succeeded" in repr(solution)


def test_values_of_a_policy_from_given_transitions():
    """V(s) = s + 0.9 E V(s'), s' = 0.8 s + noise, from one observed s' at each s: V = s/(1 − 0.72), the exact answer to 2 %."""
    random = np.random.default_rng(0)
    states = random.uniform(0, 1, 4000)
    following = 0.8 * states + random.uniform(-0.1, 0.1, 4000)
    problem = fr.Equation(
        fr.Offline(point=states, next=following[:, None]),
        lambda u, x: u(x.point),
        fr.Integral(lambda x: fr.Given(x.next[None]), lambda u, x, t: 0.9 * u(t)),
        lambda x: x.point[0],
        exact=lambda x: x[0] / (1 - 0.72),
    )
    keywords = {"rule": fr.MonteCarlo(1), "network": fr.Chebyshev(1), "seeds": 1, "progress": False}
    solution = fr.solve(problem, fr.DelayedTarget(), steps=200, batch=200, **keywords)
    assert solution.evaluate()["relative_l2"][0] < 0.02
    assert "the smooth part of the residual is" in repr(solution)
    assert "DOES NOT" not in repr(solution)
    network = fr.solve(problem, fr.DelayedTarget(), steps=2, batch=8, **keywords | {"network": fr.MLP(4, 1)})
    assert "0 of 1 seeds succeeded" in repr(network), "it was hardly trained, and print said that it succeeded"
    assert "u DOES NOT SOLVE THE EQUATION" in repr(network)
    assert network.record.settings.part("network").radius == pytest.approx((0.5,), rel=0.2), "the box of all samples"
