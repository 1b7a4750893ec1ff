"""Randomised rules: unbiased, independent, with the variance they should have and the rates they promise."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import qmc

from fredholm.domains import Base, Box, Circle, HalfLine, Interval, Normal, NormalizedSphere, Sphere
from fredholm.rules import (
    AdditiveRecursion,
    ClenshawCurtis,
    Even,
    Gauss,
    Halton,
    Lattice,
    Leja,
    MonteCarlo,
    QuasiMonteCarlo,
    Rotation,
    Scramble,
    Shared,
    Shift,
    Smolyak,
    Sobol,
)

REPLICATES = 4000


def replicate(rule, domain, g, count=REPLICATES, seed=0):
    """`count` independent estimates of the integral."""

    @jax.jit
    @jax.vmap
    def estimate(key):
        nodes = rule.nodes(domain, key)
        return jnp.sum(nodes.weights * jax.vmap(g)(nodes.points))

    return np.asarray(estimate(jax.random.split(jax.random.key(seed), count)), float)


SQUARE = Box((0.0, 0.0), (1.0, 1.0))
CASES = [
    *[(QuasiMonteCarlo(16, sequence, Shift()), SQUARE) for sequence in (AdditiveRecursion(), Lattice())],
    (QuasiMonteCarlo(16, Sobol(), Scramble()), SQUARE),
    (MonteCarlo(16), SQUARE),
    (Even(3, Shift()), SQUARE),
    (Leja(3, Shift()), SQUARE),
    (Smolyak(Gauss(1), 2, Shift()), SQUARE),
    (Smolyak(Leja(1), 2, Rotation()), Sphere((0.0,) * 4)),
    (Smolyak(Gauss(1), 2, Rotation()), Sphere((0.0,) * 3)),
    (Even(3, Rotation()), Sphere((0.0, 0.0))),
    (Gauss(2, Rotation()), NormalizedSphere((0.0, 0.0))),
    (QuasiMonteCarlo(5, randomize=Rotation()), Sphere((0.0,) * 5)),
    (Gauss(3, Rotation()), Circle((0.0, 0.0, 0.0), 1.0, (1.0, 1.0, 0.0))),
    (QuasiMonteCarlo(16, Sobol(), Scramble()), Normal((0.0, 0.0))),
    (QuasiMonteCarlo(16, randomize=Shift()), Normal((0.0, 0.0))),
    (QuasiMonteCarlo(16, randomize=Shift()), HalfLine()),
]


def integrand_and_integral(domain):
    if isinstance(domain, Box):
        return lambda t: jnp.exp(t[0]) * (1 + t[1] ** 3), (math.e - 1) * 1.25
    if isinstance(domain, HalfLine):
        return lambda t: t[0] ** 2 * jnp.exp(-2 * t[0]), 0.25
    if isinstance(domain, Normal):
        return lambda t: jnp.exp(0.3 * t[0]) + t[1] ** 2, math.exp(0.045) + 1
    d = 2 if isinstance(domain, Circle) else domain.dimension
    direction = jnp.asarray([1.0, -1.0, 0.0]) / math.sqrt(2) if isinstance(domain, Circle) else jnp.eye(domain.dimension)[0]
    return lambda t: (1 + t @ direction) ** 2, float(domain.mass) * (1 + 1 / d)


@pytest.mark.parametrize(("rule", "domain"), CASES, ids=lambda value: repr(value)[:60])
def test_a_randomised_rule_is_unbiased(rule, domain):
    assert rule.is_random
    rule.check(domain)
    g, exact = integrand_and_integral(domain)
    estimates = replicate(rule, domain, g)
    assert abs(np.mean(estimates) - exact) < 4.5 * np.std(estimates) / math.sqrt(REPLICATES) + 2e-6 * abs(exact)


@pytest.mark.parametrize(
    "rule", [Even(4, Shift()), QuasiMonteCarlo(8, Sobol(), Scramble()), MonteCarlo(3), Shared(MonteCarlo(3))], ids=repr
)
def test_a_pair_is_independent(rule):
    """The product of two independent estimates has the product of the means: what double sampling rests on."""
    interval, g = Interval(0.0, 1.0), lambda t: (t[0] > 0.37) + t[0]

    @jax.jit
    @jax.vmap
    def products(key):
        first, second = rule.pair(rule, interval, key)
        a, b = (jnp.sum(nodes.weights * jax.vmap(g)(nodes.points)) for nodes in (first, second))
        return jnp.stack([a, b, a * b])

    a, b, product = np.asarray(products(jax.random.split(jax.random.key(1), 20_000)), float).T
    error = np.std((a - a.mean()) * (b - b.mean())) / math.sqrt(20_000)
    assert abs(product.mean() - a.mean() * b.mean()) < 5 * error


def test_a_shared_draw_is_independent_of_one_of_its_own():
    """A target on shared nodes with a main part on nodes of each x."""
    steps, keys = (jax.random.split(jax.random.key(seed), 20_000) for seed in (2, 3))
    unit, one = Interval(0.0, 1.0), MonteCarlo(1)
    for order in ((0, 1), (1, 0)):

        @jax.vmap
        def both(step, key, order=order):
            rules = [Shared(one).in_step(step), one]
            first, second = (rules[at] for at in order)
            return jnp.concatenate([nodes.points[0] for nodes in first.pair(second, unit, key)])

        a, b = np.asarray(both(steps, keys), float).T
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / math.sqrt(20_000)


def test_variance_from_replicates_agrees_with_brute_force():
    """A shifted even rule in one dimension: the estimator's law is known, since the shift is one uniform number."""
    n, interval, g = 5, Interval(0.0, 1.0), lambda t: t**2 + (t > 0.3)
    estimates = replicate(Even(n, Shift()), interval, lambda t: g(t[0]), count=20_000)
    shifts = (np.arange(200_000) + 0.5) / 200_000
    brute = np.mean([g(((i + 0.5) / n + shifts) % 1.0) for i in range(n)], axis=0)
    assert np.var(estimates) == pytest.approx(np.var(brute), rel=0.05)
    independent = replicate(MonteCarlo(n), interval, lambda t: g(t[0]), count=20_000)
    assert np.var(independent) == pytest.approx(np.var(g(shifts)) / n, rel=0.05)


def test_scrambling_keeps_the_net_and_makes_every_node_uniform():
    rule = QuasiMonteCarlo(16, Sobol(), Scramble())
    draw = jax.jit(jax.vmap(lambda key: rule.nodes(SQUARE, key).points))
    points = np.asarray(draw(jax.random.split(jax.random.key(0), 3000)), float)
    for first, second in ((16, 1), (8, 2), (4, 4), (2, 8), (1, 16)):  # Each elementary box of volume 1/16 holds one point.
        cells = np.floor(points[..., 0] * first) * second + np.floor(points[..., 1] * second)
        assert all(len(set(row)) == 16 for row in cells[:200])
    for node in (0, 7):
        for axis in (0, 1):
            counts = np.bincount((points[:, node, axis] * 32).astype(int), minlength=32)
            assert np.sum((counts - 3000 / 32) ** 2 / (3000 / 32)) < 70  # chi square with 31 degrees of freedom: p < 1e-4
    assert np.all((points > 0) & (points < 1))


def test_fixed_randomisation_is_the_same_in_every_draw_and_not_random():
    for move in (Shift(fixed=True), Scramble(fixed=True)):
        rule = QuasiMonteCarlo(8, Sobol(), move)
        draw = jax.jit(lambda key, rule=rule: rule.nodes(SQUARE, key).points)
        first, second = (draw(jax.random.key(seed)) for seed in (0, 1))
        np.testing.assert_array_equal(first, second)
        assert not rule.is_random
        assert not np.allclose(first, QuasiMonteCarlo(8, Sobol()).nodes(SQUARE, jax.random.key(0)).points)
    assert not Gauss(3).is_random


def fitted_rate(rule_of, sizes, domain, g, exact, count=200):
    """The exponent of the root mean square error in the number of nodes."""
    errors = [math.sqrt(np.mean((replicate(rule_of(n), domain, g, count=count) - exact) ** 2)) for n in sizes]
    nodes = [rule_of(n).size(domain) for n in sizes]
    return -np.polyfit(np.log(nodes), np.log(errors), 1)[0]


SMOOTH = (lambda t: jnp.exp(t[0] - 0.5 * t[1]), (math.e - 1) * 2 * (1 - math.exp(-0.5)))


@pytest.mark.parametrize(
    ("name", "rule_of", "sizes", "low", "high"),
    [
        ("independent", MonteCarlo, (16, 64, 256), 0.35, 0.65),
        ("additive recursion, shifted", lambda n: QuasiMonteCarlo(n, randomize=Shift()), (16, 64, 256), 0.75, 1.3),
        ("Sobol, scrambled", lambda n: QuasiMonteCarlo(n, Sobol(), Scramble()), (16, 64, 256), 1.25, 1.8),
        ("lattice, shifted", lambda n: QuasiMonteCarlo(n, Lattice(), Shift()), (16, 64, 256), 0.8, 1.3),
        ("Halton, shifted", lambda n: QuasiMonteCarlo(n, Halton(), Shift()), (16, 64, 256), 0.75, 1.3),
        ("midpoints", Even, (4, 8, 16), 0.9, 1.1),  # n^-2 with n² nodes
    ],
)
def test_errors_fall_at_their_rate_on_a_smooth_integrand(name, rule_of, sizes, low, high):
    assert low < fitted_rate(rule_of, sizes, SQUARE, *SMOOTH, count=2 if name == "midpoints" else 200) < high


@pytest.mark.parametrize("rule_of", [Gauss, lambda n: ClenshawCurtis(2 * n), lambda n: Leja(2 * n), lambda n: Smolyak(Gauss(1), 2 * n - 2)])
def test_polynomial_rules_gain_digits_with_every_node_on_a_smooth_integrand(rule_of):
    _, exact = SMOOTH
    z, w = rule_of(2).base_nodes((Base.UNIT,) * 2)
    zz, ww = rule_of(4).base_nodes((Base.UNIT,) * 2)
    coarse, fine = (abs(np.sum(w * np.exp(z[:, 0] - 0.5 * z[:, 1])) - exact) for z, w in ((z, w), (zz, ww)))
    assert fine < 2e-3 * coarse < 2e-2


def test_lattice_of_a_periodic_smooth_integrand_converges_faster_than_first_order():
    g = lambda t: jnp.prod(1 + 0.5 * jnp.cos(2 * jnp.pi * t) + 0.3 * (t * (1 - t) - 1 / 6))  # noqa: E731
    rate = fitted_rate(lambda n: QuasiMonteCarlo(n, Lattice(), Shift()), (32, 128, 512), Box((0.0,) * 3, (1.0,) * 3), g, 1.0)
    assert rate > 1.5


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_star_discrepancy_is_below_that_of_independent_points(axes):
    n = 64
    boxes = np.random.default_rng(0).random((4000, axes))

    def star(points):  # A lower bound by many boxes anchored at 0, the same for every set of points.
        inside = np.all(points[None] < boxes[:, None], axis=2).mean(axis=1)
        return np.max(np.abs(inside - np.prod(boxes, axis=1)))

    independent = np.median([star(np.random.default_rng(seed).random((n, axes))) for seed in range(9)])
    for sequence in (AdditiveRecursion(), Sobol(), Halton(), Lattice()):
        points = sequence.points(n, axes)
        assert star(points) < 0.75 * independent
        assert qmc.discrepancy(points, method="L2-star") < 0.75 * np.median(
            [qmc.discrepancy(np.random.default_rng(seed).random((n, axes)), method="L2-star") for seed in range(9)]
        )
