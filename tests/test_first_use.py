"""Tasks as a new user brings them, each with the error that the answer must have, and with what print says of it."""

import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr

pytestmark = [pytest.mark.quality, pytest.mark.scaling]
SERIES = {"network": fr.Chebyshev(), "seeds": 1, "progress": False}


def history(x):
    return fr.Interval(0.0, x[0])


def renewal():
    """u(t) = g(t) + ∫₀ᵗ g(t − s) u(s) ds with g = t e⁻ᵗ: the rate of renewals, (1 − e⁻²ᵗ)/2, on a long interval."""

    def g(t):
        return t * jnp.exp(-t)

    past = fr.Integral(history, lambda u, x, t: g(x[0] - t[0]) * u(t))
    return fr.Equation(fr.Interval(0.0, 10.0), lambda u, x: u(x), past, lambda x: g(x[0]), exact=lambda x: (1 - jnp.exp(-2 * x[0])) / 2)


def oscillator():
    """u'' + u = −∫₀ᵗ e^{s−t} u'(s) ds: friction with memory. The Laplace transform is (p² + p + 1)/(p³ + p² + 2p + 1)."""
    roots = np.roots([1, 1, 2, 1])
    shares = np.polyval([1, 1, 1], roots) / np.polyval([3, 2, 2], roots)
    past = fr.Integral(history, lambda u, x, t: -jnp.exp(t[0] - x[0]) * fr.derivative(u, t))
    start = [fr.Condition(fr.Point(0.0), 1.0), fr.Condition(fr.Point(0.0), 0.0, of=fr.derivative)]
    return fr.Equation(
        fr.Interval(0.0, 20.0),
        lambda u, x: fr.derivative(u, x, order=2) + u(x),
        past,
        conditions=start,
        exact=lambda x: jnp.sum(jnp.real(jnp.asarray(shares) * jnp.exp(jnp.asarray(roots) * x[0]))),
    )


def singular():
    """u − ∫₀¹ u(t)/(10 √|x − t|) dt = y with the solution 1 + x."""

    def y(x):
        near, far = x[0], 1 - x[0]
        return 1 + x[0] - ((1 + x[0]) * 2 * (near**0.5 + far**0.5) + 2 / 3 * (far**1.5 - near**1.5)) / 10

    kernel = fr.Integral(lambda x: fr.AbsPower(0.0, 1.0, at=x[0], power=-0.5), lambda u, x, t: u(t) / 10)
    return fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x), kernel, y, exact=lambda x: 1 + x[0])


def far_units():
    """A decay over 10⁸ seconds of a density of 10⁻¹²."""
    return fr.Equation(
        fr.Interval(0.0, 1e8),
        lambda u, x: fr.derivative(u, x) + 3e-8 * u(x),
        conditions=fr.Condition(fr.Point(0.0), 1e-12),
        exact=lambda x: 1e-12 * jnp.exp(-3e-8 * x[0]),
    )


@pytest.mark.parametrize(("task", "error"), [(renewal, 1e-9), (oscillator, 1e-7), (singular, 1e-9)])
def test_a_series_answers_and_says_so(task, error):
    solution = fr.solve(task(), fr.Standard(), **SERIES)
    assert solution.evaluate()["relative_l2"][0] < error
    assert "1 of 1 seeds succeeded" in repr(solution)
    assert solution.quality()[0].worst < 1e-6


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
    assert "not known: with one given sample at each x" in repr(solution)
    network = fr.solve(problem, fr.DelayedTarget(), steps=2, batch=8, **keywords | {"network": fr.MLP(4, 1)})
    assert network.record.settings.part("network").radius == pytest.approx((0.5,), rel=0.2), "the box of all samples"
