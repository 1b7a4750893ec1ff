"""Less noise with the same mean: antithetic pairs, a fixed rule on the radius, and integrands without their first order."""

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


BETA = fr.Product(fr.PowerLaw(0.0, 1.0, 1.5), fr.Directions(4, "sphere"))  # E[r] = 3/5, E[r²] = 3/7


def test_a_fixed_rule_on_the_radius_leaves_the_noise_of_the_directions_alone():
    of_radius = lambda t: t[0] ** 2  # noqa: E731
    of_both = lambda t: t[0] * (1 + t[1]) ** 2  # noqa: E731
    assert np.allclose(estimates(fr.Radial(fr.Gauss(8)), BETA, of_radius, 50), 3 / 7, rtol=1e-3)
    for rule in (fr.Radial(fr.Gauss(8)), fr.Radial(fr.Even(4, fr.Shift()), 2)):
        assert rule.size(BETA) == 8
        found = estimates(rule, BETA, of_both)
        assert abs(np.mean(found) - 3 / 5 * 2) < 4.5 * np.std(found) / math.sqrt(len(found)) + 1e-3
    ball = estimates(fr.Radial(fr.Even(4, fr.Shift())), fr.Ball((0.0,) * 4), lambda t: jnp.sum(t**2) + t[0])
    assert abs(np.mean(ball) - math.pi**2 / 2 * 4 / 6) < 4.5 * np.std(ball) / math.sqrt(len(ball))


def test_without_its_first_order_an_integrand_keeps_its_integral_and_loses_most_of_its_noise():
    d = 50
    jumps, u = fr.Normal((0.1,) * d, 0.2), lambda x: jnp.sin(jnp.sum(x) / d) + jnp.sum(x)
    jump = lambda u, x, t: u(x + t) - u(x)  # noqa: E731
    x = jnp.linspace(-1.0, 1.0, d)
    plain, left = (estimates(fr.MonteCarlo(1), jumps, lambda t, g=g: g(u, x, t)) for g in (jump, fr.without_first_order(jump, (0.1,) * d)))
    mean = float(jax.jvp(lambda t: u(x + t), (jnp.zeros(d),), (jnp.full(d, 0.1),))[1])
    assert abs(np.mean(plain) - np.mean(left) - 0.0) < 4.5 * np.std(plain) / math.sqrt(len(plain)), "the mean of both is the same"
    assert abs(np.mean(left) - mean) < 0.05 * abs(mean)
    assert np.std(left) < 0.05 * np.std(plain)
    of_x = fr.without_first_order(jump, lambda x: jnp.full(d, 0.1))
    t = jumps.sample(jax.random.key(3))
    assert of_x(u, x, t) == pytest.approx(float(fr.without_first_order(jump, (0.1,) * d)(u, x, t)))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fr.Radial().check(fr.Interval(0.0, 1.0)), "one axis more"),
        (lambda: fr.without_first_order(lambda u, x, t: t[0], (0.0,))(jnp.sum, jnp.zeros(2), jnp.zeros(2)), "shape"),
    ],
)
def test_what_makes_no_sense_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
