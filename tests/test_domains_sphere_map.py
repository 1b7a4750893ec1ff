"""The cube reaches the sphere with the uniform measure, to the stated error, in every dimension and at the poles."""

from fractions import Fraction
from math import comb, prod

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import betaincinv

from fredholm.domains import NormalizedSphere, Sphere
from fredholm.domains.round import unit_sphere_area
from fredholm.domains.sphere_map import STATED_ERROR_IN_EPS, direction_from_unit, sine_power_angles
from fredholm.rules import Gauss, MonteCarlo, QuasiMonteCarlo, Rotation


def distribution_function(s: Fraction, a: int) -> Fraction:
    """I_s(a, a) for a whole a, exactly."""
    n = 2 * a - 1
    return sum((comb(n, j) * s**j * (1 - s) ** (n - j) for j in range(a, n + 1)), Fraction(0))


@pytest.mark.parametrize("power", [1, 3, 9, 39, 99])
def test_the_angle_inverts_the_distribution_function_to_the_stated_error_against_exact_fractions(power):
    a = (power + 1) // 2
    z = np.concatenate([np.random.default_rng(power).random(12), [1e-12, 1e-6, 1e-3, 0.4999999, 0.5, 0.5000001, 1 - 1e-6]])
    with jax.enable_x64(True):
        cosines, _ = jax.jit(jax.vmap(lambda one: sine_power_angles(one[None], (power,))))(jnp.asarray(z))
        for one, cosine in zip(z, np.asarray(cosines)[:, 0], strict=True):
            s = (1 - Fraction(float(cosine))) / 2
            density = float(s * (1 - s)) ** (a - 1) * a * comb(2 * a - 1, a)
            slack = abs(float(distribution_function(s, a) - Fraction(float(one)))) / density * 2  # as an error of the cosine
            assert slack <= STATED_ERROR_IN_EPS * np.finfo(float).eps


@pytest.mark.parametrize("power", [1, 2, 3, 4, 7, 8, 20, 98])
def test_cosine_and_sine_in_single_precision(power):
    eps = np.finfo(np.float32).eps
    z = np.concatenate([np.random.default_rng(0).random(500), [0, eps, 1e-7, 1e-3, 0.5, 1 - eps / 2, 1 - eps, 1]]).astype(np.float32)
    cosine, sine = jax.jit(jax.vmap(lambda one: sine_power_angles(one[None], (power,))))(jnp.asarray(z))
    tail = np.minimum(z.astype(float), 1 - z.astype(float))
    square = betaincinv((power + 1) / 2, (power + 1) / 2, tail)
    assert np.max(np.abs(np.asarray(cosine)[:, 0] - np.where(z <= 0.5, 1 - 2 * square, 2 * square - 1))) <= STATED_ERROR_IN_EPS * eps
    assert np.max(np.abs(np.asarray(sine)[:, 0] - 2 * np.sqrt(square * (1 - square)))) <= STATED_ERROR_IN_EPS * eps


@pytest.mark.parametrize("dimension", range(2, 11))
def test_directions_are_uniform(dimension):
    """Moments of the sphere: E[x_i²] = 1/d, E[x_i⁴] = 3/(d(d+2)), E[x_i² x_j²] = 1/(d(d+2)), odd ones 0."""
    n = 4096
    z = np.asarray(QuasiMonteCarlo(n).base_nodes(Sphere((0.0,) * dimension).bases)[0], np.float32)
    t = np.asarray(jax.jit(jax.vmap(direction_from_unit))(jnp.asarray(z)), float)
    d = dimension
    np.testing.assert_allclose(np.sum(t**2, axis=1), 1, atol=1e-5)
    allowed = 0.02 / d**0.5
    np.testing.assert_allclose(np.mean(t, axis=0), 0, atol=allowed)
    np.testing.assert_allclose(t.T @ t / n, np.eye(d) / d, atol=allowed)
    fourth = (t**2).T @ t**2 / n
    np.testing.assert_allclose(fourth, (1 + 2 * np.eye(d)) / (d * (d + 2)), atol=allowed)


@pytest.mark.parametrize("dimension", range(2, 8))
def test_gauss_on_the_angles_meets_the_second_moment(dimension):
    """E[x_d²] = r²/d; only the map's kink at the poles limits the error."""
    n = {2: 12, 3: 10, 4: 10, 5: 8, 6: 6, 7: 5}[dimension]
    sphere = Sphere((0.0,) * dimension, 2.0)
    nodes = jax.jit(lambda key: Gauss(n).nodes(sphere, key))(jax.random.key(0))
    estimate = float(jnp.sum(nodes.weights * nodes.points[:, -1] ** 2))
    area = unit_sphere_area(dimension) * 2.0 ** (dimension - 1)
    assert float(jnp.sum(nodes.weights)) == pytest.approx(area, rel=1e-5)
    assert estimate == pytest.approx(area * 4 / dimension, rel=0.02)


def test_surface_measure_against_the_known_areas():
    known = {2: 2 * np.pi, 3: 4 * np.pi, 4: 2 * np.pi**2, 5: 8 * np.pi**2 / 3, 6: np.pi**3}
    for dimension, area in known.items():
        assert unit_sphere_area(dimension) == pytest.approx(area, rel=1e-14)
        assert float(Sphere((0.0,) * dimension, 3.0).mass) == pytest.approx(area * 3 ** (dimension - 1), rel=1e-6)


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_normals_normalised_are_the_same_measure(dimension):
    sphere, other = Sphere((1.0,) * dimension, 2.0), NormalizedSphere((1.0,) * dimension, 2.0)
    assert float(sphere.mass) == float(other.mass)
    nodes = jax.jit(lambda key: QuasiMonteCarlo(4096).nodes(other, key))(jax.random.key(0))
    moments = np.einsum("n,ni,nj->ij", *map(np.asarray, (nodes.weights, nodes.points - 1, nodes.points - 1))) / float(sphere.mass)
    np.testing.assert_allclose(moments, 4 * np.eye(dimension) / dimension, atol=0.03)


def test_the_middle_node_of_an_odd_gauss_rule_on_normals_is_a_point_of_the_sphere():
    nodes = Gauss(3, randomize=Rotation()).nodes(NormalizedSphere((0.0, 0.0)), jax.random.key(1))
    np.testing.assert_allclose(np.linalg.norm(np.asarray(nodes.points), axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("dimension", [2, 3, 6])
def test_haar_rotation_is_orthogonal_and_uniform(dimension):
    """First column uniform on the sphere, both signs of the determinant equally often."""
    from fredholm.domains.round import haar_rotation

    turns = np.asarray(jax.jit(jax.vmap(lambda key: haar_rotation(key, dimension)))(jax.random.split(jax.random.key(0), 4000)))
    np.testing.assert_allclose(turns @ turns.transpose(0, 2, 1), np.broadcast_to(np.eye(dimension), turns.shape), atol=1e-5)
    for i in range(dimension):
        for j in range(dimension):
            assert abs(np.mean(turns[:, i, j])) < 4 / np.sqrt(4000 * dimension)
    assert np.mean(turns[:, 0, 0] ** 2) == pytest.approx(1 / dimension, abs=0.03)
    assert np.mean(np.linalg.det(turns)) == pytest.approx(0, abs=0.07)


def test_monte_carlo_and_mapped_nodes_agree_on_a_sphere_in_ten_dimensions():
    sphere = Sphere((0.0,) * 10)

    @jax.jit
    def mean(key):
        nodes = [rule.nodes(sphere, key) for rule in (MonteCarlo(40_000), QuasiMonteCarlo(10_000))]
        return [jnp.sum(one.weights * jax.vmap(lambda t: jnp.exp(t[0] + 0.5 * t[9]))(one.points)) / sphere.mass for one in nodes]

    values = [float(value) for value in mean(jax.random.key(0))]
    # E exp(a·t) on the sphere of dimension d is the series of |a|²ᵏ/(2ᵏ k! d(d+2)...(d+2k-2)).
    exact = sum(1.25**k / (2**k * float(prod(range(1, k + 1))) * prod(range(10, 10 + 2 * k, 2))) for k in range(12))
    assert values == pytest.approx([exact, exact], abs=8e-3)
