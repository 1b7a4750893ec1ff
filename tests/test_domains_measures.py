"""Every domain integrates what its measure says, and a random draw has that law."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fredholm.domains import (
    Ball,
    Box,
    Circle,
    Disc,
    Exponential,
    HalfLine,
    Interval,
    Law,
    Line,
    LogNormal,
    Mixture,
    Normal,
    NormalizedSphere,
    Point,
    PowerLaw,
    Product,
    Simplex,
    Sphere,
    Warped,
)
from fredholm.rules import Gauss, MonteCarlo, QuasiMonteCarlo

TRIANGLE = Simplex(((1.0, 0.0), (3.0, 1.0), (1.0, 2.0)))
SIXTH = Simplex(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
NORMAL_3D = (1.0, 2.0, -2.0)

# name: domain, integrand, exact integral, Gauss nodes per axis, allowed relative error of Gauss
CASES = {
    "interval": (Interval(-1.0, 2.0), lambda t: t[0] ** 3, 15 / 4, 2, 1e-12),
    "box": (Box((0.0, 1.0), (2.0, 4.0)), lambda t: t[0] * t[1] ** 2, 2 * 21.0, 2, 1e-12),
    "simplex 2d": (TRIANGLE, lambda t: t[0], 2 * 5 / 3, 12, 1e-3),
    "simplex 3d": (SIXTH, lambda t: t[0] + t[1] * t[2], 1 / 24 + 1 / 120, 12, 1e-3),
    "ball": (Ball((0.0, 0.0, 1.0), 2.0), lambda t: (t[2] - 1) ** 2, 4 * math.pi / 3 * 8 * 4 / 5, 12, 1e-3),
    "sphere": (Sphere((0.0, 0.0, 1.0), 2.0), lambda t: (t[2] - 1) ** 2, 16 * math.pi * 4 / 3, 12, 1e-3),
    "normalized sphere": (NormalizedSphere((0.0, 0.0), 2.0), lambda t: t[0] ** 2, 4 * math.pi * 2, 40, 2e-2),
    "circle": (Circle((1.0, 0.0, 0.0), 2.0, NORMAL_3D), lambda t: 1 + (t[0] - 1) ** 2, 4 * math.pi * (1 + 2 * (1 - 1 / 9)), 16, 1e-6),
    "disc": (Disc((1.0, 0.0), 2.0), lambda t: (t[0] - 1) ** 2, math.pi * 4, 16, 1e-6),
    "disc in space": (Disc((0.0, 0.0, 0.0), 2.0, NORMAL_3D), lambda t: 1 + t[0] ** 2, 4 * math.pi * (1 + 1 - 1 / 9), 16, 1e-6),
    "half-line": (HalfLine(1.0, 0.5), lambda t: t[0] * jnp.exp(-2 * (t[0] - 1)), 0.75, 3, 1e-10),
    "line": (Line(1.0, 2.0), lambda t: t[0] ** 2 * jnp.exp(-((t[0] - 1) ** 2) / 8), 5 * 2 * math.sqrt(2 * math.pi), 3, 1e-10),
    "normal": (Normal((1.0, 0.0), 2.0), lambda t: t[0] ** 2 * t[1] ** 2, 20.0, 3, 1e-12),
    "normal with a covariance": (
        Normal((1.0, 0.0), covariance=((2.0, 0.5), (0.5, 1.0))),
        lambda t: t[0] * t[1] + t[0] ** 2 * t[1] ** 2,
        0.5 + 2 * 1 + 2 * 0.5**2 + 1.0,
        3,
        1e-12,
    ),
    "exponential": (Exponential(1.0, 0.5), lambda t: t[0] ** 2, 1 + 1 + 0.5, 3, 1e-12),
    "log-normal": (LogNormal(0.5, 0.3), lambda t: t[0], math.exp(0.5 + 0.045), 8, 1e-10),
    "power law": (PowerLaw(0.0, 2.0, 3.0), lambda t: t[0] ** 3, 4.0, 3, 1e-9),
    "product": (Product(Interval(0.0, 2.0), Point(3.0), Normal((0.0,), 1.0)), lambda t: t[0] * t[1] * t[2] ** 2, 6.0, 3, 1e-12),
    "half-line in a product": (Product(HalfLine(), Interval(0.0, 2.0)), lambda t: t[1] * jnp.exp(-t[0]), 2.0, 3, 1e-12),
    "mixture": (Mixture((Normal((1.0,), 2.0), Interval(0.0, 3.0)), (0.5, 0.5)), lambda t: t[0] ** 2, 0.5 * 5 + 0.5 * 3, 8, 1e-9),
    "warped": (Warped(Interval(0.0, 1.0), ((0.0, 0.1, 0.3, 1.0),)), lambda t: t[0] ** 2, 1 / 3, 120, 1e-3),
}


def terms_of(rules, domain, g, seed=0):
    """Each node's term of the sum, for several rules in one compiled call."""

    @jax.jit
    def evaluate(key):
        drawn = [rule.nodes(domain, key) for rule in rules]
        return [nodes.weights * jax.vmap(g)(nodes.points) for nodes in drawn]

    return [np.asarray(terms, float) for terms in evaluate(jax.random.key(seed))]


def integrate(rule, domain, g):
    return float(np.sum(terms_of([rule], domain, g)))


@pytest.mark.parametrize("name", CASES)
def test_gauss_meets_the_closed_form(name):
    domain, g, exact, n, allowed = CASES[name]
    with jax.enable_x64(True):
        assert integrate(Gauss(n), domain, g) == pytest.approx(exact, rel=allowed)


@pytest.mark.parametrize("name", CASES)
def test_random_and_quasi_random_nodes_meet_it_too(name):
    domain, g, exact, _, _ = CASES[name]
    random, quasi_random = terms_of([MonteCarlo(20_000), QuasiMonteCarlo(4096)], domain, g, seed=3)
    terms = 20_000 * random
    assert abs(np.mean(terms) - exact) < 5 * np.std(terms) / math.sqrt(20_000) + 1e-5 * abs(exact)
    assert np.sum(quasi_random) == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[0].is_finite and name != "warped"])
def test_weights_sum_to_the_mass(name):
    domain = CASES[name][0]
    assert integrate(Gauss(3), domain, lambda t: 1.0) == pytest.approx(float(domain.mass), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("interval", -2.0, 3.0),
        ("box", -1.0, 5.0),
        ("simplex 2d", -1.0, 4.0),
        ("simplex 3d", -0.1, 1.1),
        ("ball", -2.1, 3.1),
        ("disc", -2.1, 3.1),
        ("normal", -9.0, 11.0),
        ("normal with a covariance", -9.0, 11.0),
        ("exponential", 0.0, 9.0),
        ("log-normal", -1.0, 9.0),
        ("power law", -1.0, 3.0),
        ("mixture", -9.0, 11.0),
    ],
)
def test_the_density_is_that_of_the_measure(name, low, high):
    """Integrated over a box that holds the domain, the density gives the mass, and with g the integral."""
    domain, g, exact, _, _ = CASES[name]
    box, rule = Box((low,) * domain.dimension, (high,) * domain.dimension), QuasiMonteCarlo(20_000)
    assert integrate(rule, box, domain.density) == pytest.approx(float(domain.mass), rel=0.02)
    assert integrate(rule, box, lambda t: domain.density(t) * g(t)) == pytest.approx(exact, rel=0.02)


def test_simplex_points_are_uniform_in_barycentric_coordinates():
    points = np.asarray(SIXTH.draws(jax.random.key(0), 20_000).points)
    shares = np.column_stack([points, 1 - points.sum(axis=1)])
    assert shares.min() > -1e-6
    np.testing.assert_allclose(shares.mean(axis=0), 0.25, atol=0.01)
    np.testing.assert_allclose((shares**2).mean(axis=0), 0.1, atol=0.01)


def test_limits_may_be_traced():
    """A domain whose limits depend on x works inside a compiled function, and its integral can be differentiated by x."""

    def integral(x):
        nodes = Gauss(8).nodes(HalfLine(x, 1.0), jax.random.key(0))
        return jnp.sum(nodes.weights * jnp.exp(-1.5 * nodes.points[:, 0]))

    value, slope = jax.jit(jax.value_and_grad(integral))(1.0)
    assert float(value) == pytest.approx(math.exp(-1.5) / 1.5, rel=1e-4)
    assert float(slope) == pytest.approx(-math.exp(-1.5), rel=1e-3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: HalfLine(0.0, 0.0), "scale.*positive"),
        (lambda: Line(0.0, -1.0), "scale.*positive"),
        (lambda: Exponential(0.0, -1.0), "scale.*positive"),
        (lambda: LogNormal(0.0, math.inf), "scale.*positive"),
        (lambda: Normal((0.0,), 0.0), "scale.*positive"),
        (lambda: Normal((0.0, 0.0), covariance=((1.0, 2.0), (2.0, 1.0))), "covariance.*positive eigenvalues"),
        (lambda: Normal((0.0,), covariance=((1.0, 0.0), (0.0, 1.0))), r"covariance.*\(1, 1\)"),
        (lambda: Normal((0.0, 0.0), 2.0, ((1.0, 0.0), (0.0, 1.0))), "one of them"),
        (lambda: Simplex(((0.0, 0.0), (1.0, 0.0))), "d\\+1"),
        (lambda: Simplex(((0.0, 0.0), (1.0, 1.0), (2.0, 2.0))), "plane"),
        (lambda: Disc((0.0,) * 4), "Ball"),
        (lambda: Disc((0.0, 0.0), 1.0, (0.0, 0.0, 1.0)), "normal"),
        (lambda: Disc((0.0, 0.0, 0.0), 1.0, (0.0, 0.0, 0.0)), "zero vector"),
        (lambda: HalfLine().sample(jax.random.key(0)), "infinite measure"),
        (lambda: Line().sample(jax.random.key(0)), "infinite measure"),
        (lambda: Product(HalfLine(), Interval(0.0, 1.0)).sample(jax.random.key(0)), "infinite measure"),
        (lambda: Law(time=HalfLine()), "infinite measure"),
        (lambda: PowerLaw(-1.0, 1.0), "0 <= low < high"),
        (lambda: Interval(0.0, math.inf), "HalfLine"),
        (lambda: Warped(Interval(0.0, 1.0), ()), "1, the axes"),
        (lambda: Sphere((0.0, 0.0)).density(jnp.zeros(2)), "fit_importance"),
    ],
)
def test_wrong_input_is_refused_with_what_to_do(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("x", [0.5, 2.0])
def test_a_power_law_up_to_x_takes_up_abels_kernel(x):
    """∫₀ˣ s^(−½) (x − s) ds = 4/3 x^(3/2)."""

    @jax.jit
    def integral(x):
        nodes = Gauss(4).nodes(PowerLaw(0.0, x, power=0.5), jax.random.key(0))
        return 2 * jnp.sqrt(x) * jnp.sum(nodes.weights * (x - nodes.points[:, 0]))

    assert integral(jnp.asarray(x)) == pytest.approx(4 / 3 * x**1.5, rel=1e-5)
    with pytest.raises(ValueError, match=r"PowerLaw high: .*write x\[0\]"):
        PowerLaw(0.0, jnp.ones(1))


def test_limits_in_several_dimensions_may_be_tuples_of_traced_numbers():
    """∫∫ over [0, p₀] × [0, p₁] of t₀ t₁ = (p₀ p₁)²/4; so are centres, points and covariances."""

    def integral(p, domain):
        nodes = Gauss(4).nodes(domain(p), jax.random.key(0))
        return jnp.sum(nodes.weights * nodes.points[:, 0] * nodes.points[:, -1])

    p = jnp.array([0.5, 0.8])
    assert jax.jit(lambda p: integral(p, lambda p: Box((0.0, 0.0), (p[0], p[1]))))(p) == pytest.approx(0.04, rel=1e-5)
    assert jax.jit(lambda p: integral(p, lambda p: Ball((p[0], p[1]), 1.0)))(p) == pytest.approx(0.4 * math.pi, rel=1e-2)
    moving = jax.jit(lambda p: integral(p, lambda p: Normal((0.0, 0.0), covariance=((1.0, p[0]), (p[0], 1.0)))))
    assert moving(p) == pytest.approx(0.5, rel=1e-5)


def test_the_density_of_a_covariance_that_depends_on_x_is_that_of_the_known_one():
    known = Normal((0.0, 1.0), covariance=((2.0, 0.5), (0.5, 1.0)))
    found = jax.jit(lambda c: Normal((0.0, 1.0), covariance=((2.0, c), (c, 1.0))).density(jnp.array([0.3, 0.1])))(0.5)
    assert found == pytest.approx(float(known.density(jnp.array([0.3, 0.1]))), rel=1e-5)
