"""Antithetic pairs: unbiased on every base measure, exact for odd integrands, and no gain for even ones."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr

DOMAINS = {
    "interval": (fr.Interval(0.0, 2.0), lambda t: jnp.exp(t[0]), math.exp(2.0) - 1),
    "normal": (fr.Normal((0.3, -0.2), 0.5), lambda t: t[0] ** 2 + t[1], 0.09 + 0.25 - 0.2),
    "exponential": (fr.Exponential(1.0, 0.5), lambda t: t[0] ** 2, 1 + 1 + 0.5),
    "jumps": (fr.Jumps(3.0, fr.Normal((0.5,), 0.2)), lambda t: t[0] ** 2, 3 * (0.25 + 0.04)),
    "signs": (fr.Directions(3), lambda t: (1 + t[0] + t[1]) ** 2, 3.0),
    "sphere": (fr.Sphere((0.0, 0.0, 0.0)), lambda t: (1 + t[2]) ** 2, 4 * math.pi * 4 / 3),
    "sum": (fr.Discrete([1.0, 2.0, 6.0], [0.2, 0.5, 0.3]), lambda t: t[0], 3.0),
}


def estimates(rule, domain, g, n=4000):
    @jax.jit
    @jax.vmap
    def estimate(key):
        nodes = rule.nodes(domain, key)
        return jnp.sum(nodes.weights * jax.vmap(g)(nodes.points))

    return np.asarray(estimate(jax.random.split(jax.random.key(1), n)), float)


@pytest.mark.parametrize("name", DOMAINS)
def test_pairs_are_unbiased(name):
    domain, g, exact = DOMAINS[name]
    found = estimates(fr.Antithetic(2), domain, g)
    assert fr.Antithetic(2).size(domain) == 4
    assert np.all(np.isfinite(found))
    assert abs(np.mean(found) - exact) < 4.5 * np.std(found) / math.sqrt(len(found)) + 1e-5


def test_odd_integrands_have_no_noise_and_even_ones_gain_nothing():
    normal = fr.Normal((0.5, 0.5), 0.3)
    assert np.std(estimates(fr.Antithetic(1), normal, lambda t: 3 * t[0] - t[1])) < 1e-5
    even = lambda t: jnp.sum((t - 0.5) ** 2)  # noqa: E731
    pairs, single = (np.var(estimates(rule, normal, even)) for rule in (fr.Antithetic(1), fr.MonteCarlo(1)))
    assert pairs == pytest.approx(single, rel=0.15)


def test_given_samples_have_no_mirror_image():
    with pytest.raises(ValueError, match="MonteCarlo"):
        fr.Antithetic(1).check(fr.Given([[0.0], [1.0]]))
