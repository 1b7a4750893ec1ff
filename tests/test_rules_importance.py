"""Importance sampling: right weights whatever the proposal, and less variance where it fits."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fredholm.domains import Box, Exponential, HalfLine, Interval, Jumps, Mixture, Normal, PowerLaw, Product, Sphere
from fredholm.rules import Importance, MonteCarlo, QuasiMonteCarlo, Shift, fit_importance

REPLICATES = 4000


def replicate(rule, domain, g):
    @jax.jit
    @jax.vmap
    def estimate(key):
        nodes = rule.nodes(domain, key)
        return jnp.sum(nodes.weights * jax.vmap(g)(nodes.points))

    return np.asarray(estimate(jax.random.split(jax.random.key(5), REPLICATES)), float)


def peak(t):
    return jnp.exp(-0.5 * jnp.sum((t - 0.3) ** 2) / 0.02**2)


PEAK = 0.02 * math.sqrt(2 * math.pi)  # its integral on the unit interval, to 12 digits

CASES = [
    # A normal over the peak, part of which falls outside of the interval.
    (Importance(MonteCarlo(8), Normal((0.3,), 0.2)), Interval(0.0, 1.0), peak, PEAK),
    # Quasi-random nodes of the proposal.
    (Importance(QuasiMonteCarlo(8, randomize=Shift()), Normal((0.3,), 0.1)), Interval(0.0, 1.0), peak, PEAK),
    # A distribution as the integral's own measure: p/q with both densities.
    (Importance(MonteCarlo(8), Normal((1.0,), 1.5)), Normal((0.0,), 1.0), lambda t: jnp.exp(t[0]), math.exp(0.5)),
    # An infinite measure, and a product of proposals.
    (Importance(MonteCarlo(8), Exponential(1.0, 0.7)), HalfLine(1.0), lambda t: jnp.exp(-2 * (t[0] - 1)), 0.5),
    (
        Importance(MonteCarlo(8), Product(PowerLaw(0.0, 1.0, 2.0), PowerLaw(0.0, 1.0, 1.0))),
        Box((0.0, 0.0), (1.0, 1.0)),
        lambda t: t[0] * (1 + t[1]),
        0.75,
    ),
    # A defensive mixture of the jumps' own law and of one over the peak.
    (
        Importance(MonteCarlo(8), Mixture((Normal((0.0,), 1.0), Normal((0.3,), 0.02)), (0.5, 0.5))),
        Jumps(2.0, Normal((0.0,), 1.0)),
        peak,
        2 * PEAK / math.sqrt(2 * math.pi) / math.sqrt(1 + 0.02**2) * math.exp(-0.5 * 0.3**2 / (1 + 0.02**2)),
    ),
    # A function of the integral's domain.
    (Importance(MonteCarlo(8), lambda domain: Exponential(domain.low, 0.4)), HalfLine(2.0), lambda t: jnp.exp(-3 * (t[0] - 2)), 1 / 3),
]


@pytest.mark.parametrize(("rule", "domain", "g", "exact"), CASES)
def test_a_given_proposal_is_unbiased(rule, domain, g, exact):
    rule.check(domain)
    assert rule.is_random
    assert rule.size(domain) == 8
    estimates = replicate(rule, domain, g)
    assert np.std(estimates) < 2 * exact  # Else the next line would pass for want of precision.
    assert abs(np.mean(estimates) - exact) < 4.5 * np.std(estimates) / math.sqrt(REPLICATES) + 1e-6


def test_the_integrand_is_never_asked_outside_of_the_domain():
    rule = Importance(MonteCarlo(500), Normal((0.0,), 1.0))
    nodes = jax.jit(lambda key: rule.nodes(Interval(0.0, 1.0), key))(jax.random.key(0))
    assert np.all((np.asarray(nodes.points) >= 0) & (np.asarray(nodes.points) <= 1))
    root = float(jnp.sum(nodes.weights * jnp.sqrt(nodes.points[:, 0])))  # NaN times weight 0 would be NaN
    assert root == pytest.approx(2 / 3, abs=0.15)


FITTED = [
    ("interval", Interval(0.0, 1.0), peak, PEAK, 20),
    ("box", Box((0.0,) * 3, (1.0,) * 3), peak, PEAK**3, 500),
    ("sphere", Sphere((0.0, 0.0, 0.0)), lambda t: jnp.exp(40 * (t[0] - 1)), 2 * math.pi / 40, 5),
    ("half-line", HalfLine(0.0, 1.0), lambda t: jnp.exp(-0.5 * ((t[0] - 3) / 0.1) ** 2), 0.1 * math.sqrt(2 * math.pi), 20),
]


@pytest.mark.parametrize(("name", "domain", "g", "exact", "gain"), FITTED, ids=[case[0] for case in FITTED])
def test_a_fitted_proposal_is_unbiased_with_less_variance(name, domain, g, exact, gain):
    rule = fit_importance(g, domain, jax.random.key(0), rule=MonteCarlo(8), rounds=8 if name == "box" else 4)
    rule.check(domain)
    fitted, plain = replicate(rule, domain, g), replicate(MonteCarlo(8), domain, g)
    assert abs(np.mean(fitted) - exact) < 4.5 * np.std(fitted) / math.sqrt(REPLICATES) + 1e-6 * exact
    assert np.var(fitted) * gain < np.var(plain)


def test_a_fit_in_base_variables_serves_moved_limits():
    rule = fit_importance(lambda t: t[0] ** 8, Interval(0.0, 1.0), jax.random.key(0), rule=MonteCarlo(4))
    estimates = replicate(rule, Interval(0.0, 2.0), lambda t: t[0] ** 8)
    assert abs(np.mean(estimates) - 2**9 / 9) < 4.5 * np.std(estimates) / math.sqrt(REPLICATES)
    assert hash(rule) == hash(fit_importance(lambda t: t[0] ** 8, Interval(0.0, 1.0), jax.random.key(0), rule=MonteCarlo(4)))


def test_a_fit_to_nothing_is_uniform_and_a_fit_to_nan_is_refused():
    rule = fit_importance(lambda t: 0.0 * t[0], Interval(0.0, 1.0), jax.random.key(0))
    np.testing.assert_allclose(rule.proposal.edges[0], np.linspace(0, 1, 33), atol=1e-6)
    with pytest.raises(ValueError, match="not finite"):
        fit_importance(lambda t: jnp.log(t[0] - 0.5), Interval(0.0, 1.0), jax.random.key(0))
