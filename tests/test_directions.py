"""Directions: derivatives as expectations, with the variance that the docstring states."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.jet import jet

import fredholm as fr
from fredholm.equation.estimate import draw, estimated
from fredholm.functions.field import Field

KINDS = ("signs", "normal", "sphere", "axes")
N = 20_000


def stated_variance(kind, hessian):
    """Of one node, as the docstring of Directions has it."""
    d, square, trace = len(hessian), float(np.sum(hessian**2)), float(np.trace(hessian))
    diagonal = float(np.sum(np.diag(hessian) ** 2))
    return {
        "signs": 2 * (square - diagonal),
        "normal": 2 * square,
        "sphere": 2 / (d + 2) * (d * square - trace**2),
        "axes": d * diagonal - trace**2,
    }[kind]


@pytest.mark.parametrize("dim", [2, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_mass_1_and_the_identity_as_its_second_moment(kind, dim):
    domain = fr.Directions(dim, kind)
    for rule in (fr.MonteCarlo(N), fr.QuasiMonteCarlo(4096, fr.Sobol(), fr.Scramble())):
        nodes = rule.nodes(domain, jax.random.key(1))
        points, weights = np.asarray(nodes.points, float), np.asarray(nodes.weights, float)
        assert np.sum(weights) == pytest.approx(1.0, rel=1e-4)
        assert np.allclose((weights[:, None] * points).T @ points, np.eye(dim), atol=6 * dim / math.sqrt(len(points)) / 2)


@pytest.mark.parametrize("kind", KINDS)
def test_the_second_derivative_along_a_direction_is_the_laplacian_with_the_stated_variance(kind):
    d = 6
    matrix = np.random.default_rng(0).normal(size=(d, d))
    hessian = matrix + matrix.T

    def u(x):
        return 0.5 * x @ jnp.asarray(hessian, float) @ x

    x = jnp.linspace(-1.0, 1.0, d)
    nodes = fr.MonteCarlo(N).nodes(fr.Directions(d, kind), jax.random.key(2))
    values = np.asarray(jax.vmap(lambda v: fr.directional(u, x, v, order=2))(nodes.points), float)
    assert float(fr.laplacian(u, x)) == pytest.approx(np.trace(hessian), rel=1e-4)
    assert abs(np.mean(values) - np.trace(hessian)) < 4.5 * np.std(values) / math.sqrt(N)
    assert np.var(values) == pytest.approx(stated_variance(kind, hessian), rel=0.08)


def test_directional_derivatives_of_any_order():
    def u(x):
        return jnp.sin(x[0]) * jnp.exp(x[1])

    x, v = jnp.array([0.3, -0.2]), jnp.array([0.7, 1.1])
    assert fr.directional(u, x, v, order=2) == pytest.approx(float(v @ jax.hessian(u)(x) @ v), rel=1e-5)
    third = jax.jvp(lambda s: jax.grad(jax.grad(lambda r: u(x + r * v)))(s), (0.0,), (1.0,))[1]
    assert fr.directional(u, x, v, order=3) == pytest.approx(float(third), rel=1e-4)
    with pytest.raises(ValueError, match="order: got 0"):
        fr.directional(u, x, v, order=0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_divergence_is_an_expectation_too(kind):
    def field(x):
        return jnp.stack([x[0] * x[1], jnp.sin(x[2]) + x[1] ** 2, x[0] * x[2] ** 2])

    x = jnp.array([0.4, -0.3, 0.9])
    nodes = fr.MonteCarlo(N).nodes(fr.Directions(3, kind), jax.random.key(3))
    values = np.asarray(jax.vmap(lambda v: v @ fr.directional(field, x, v))(nodes.points), float)
    assert abs(np.mean(values) - float(fr.divergence(field, x))) < 4.5 * np.std(values) / math.sqrt(N) + 1e-5


def test_axes_without_replacement():
    """Unbiased, with the variance that is left when atoms are not drawn twice; all of them are exact."""
    d, n = 8, 5
    diagonal = jnp.linspace(-1.0, 3.0, d)
    domain, x = fr.Directions(d, "axes"), jnp.ones(d)

    def laplacian(rule, key):
        nodes = rule.nodes(domain, key)
        return jnp.sum(nodes.weights * jax.vmap(lambda v: fr.directional(lambda p: 0.5 * jnp.sum(diagonal * p**2), x, v, 2))(nodes.points))

    exact = float(jnp.sum(diagonal))
    assert laplacian(fr.Even(1), jax.random.key(0)) == pytest.approx(exact, rel=1e-5)
    assert laplacian(fr.WithoutReplacement(d), jax.random.key(0)) == pytest.approx(exact, rel=1e-5)
    found = np.asarray(jax.vmap(lambda key: laplacian(fr.WithoutReplacement(n), key))(jax.random.split(jax.random.key(4), N)), float)
    assert abs(np.mean(found) - exact) < 4.5 * np.std(found) / math.sqrt(N)
    one = stated_variance("axes", np.diag(np.asarray(diagonal, float)))
    assert np.var(found) == pytest.approx((d - n) / (d - 1) * one / n, rel=0.08)


def test_perpendicular_directions_leave_less_variance_and_a_whole_block_is_exact():
    d, n = 6, 4
    matrix = np.random.default_rng(1).normal(size=(d, d))
    hessian, domain = matrix + matrix.T, fr.Directions(d, "sphere")

    @jax.jit
    @jax.vmap
    def laplacians(key):
        drawn = [fr.Orthogonal(k).nodes(domain, key) for k in (n, d, d + 3)]
        return jnp.stack(
            [nodes.weights @ jnp.einsum("ki,ij,kj->k", nodes.points, jnp.asarray(hessian, float), nodes.points) for nodes in drawn]
        )

    found = np.asarray(laplacians(jax.random.split(jax.random.key(4), N)), float)
    exact, one = float(np.trace(hessian)), stated_variance("sphere", hessian)
    assert np.all(np.abs(np.mean(found, axis=0) - exact) < 4.5 * np.std(found, axis=0) / math.sqrt(N) + 1e-3)
    assert np.var(found[:, 0]) == pytest.approx((d - n) / (d - 1) * one / n, rel=0.08)
    assert np.allclose(found[:, 1], exact, atol=1e-3)


def test_a_second_derivative_takes_as_many_products_of_matrices_as_taylor_mode():
    """Three for each layer, of the value and of its two derivatives: XLA merges the equal ones of nested forward mode. So there is no
    need for a rule of `jet`; on a function that has one both agree."""
    d = 20
    weights = jnp.asarray(np.random.default_rng(2).normal(size=(d, 8)), float)
    u = lambda x: jnp.sum(jnp.tanh(x @ weights))  # noqa: E731
    x, v = jnp.linspace(-1.0, 1.0, d), jnp.ones(d)
    taylor = jet(u, (x,), ((v, jnp.zeros(d)),))[1][1]
    assert fr.directional(u, x, v, order=2) == pytest.approx(float(taylor), rel=1e-4)
    network = fr.MLP(16, 2, "tanh").build(d, 1, jax.random.key(0))
    batch = jnp.ones((32, d))
    compiled = jax.jit(jax.vmap(lambda x: fr.directional(network, x, x + 1, order=2))).lower(batch).compile().as_text()
    assert compiled.count(" dot(") + compiled.count("__onednn$matmul") <= 3 * 3


LAWS = {
    "a length and a direction": fr.Product(fr.PowerLaw(0.0, 1.0, 1.5), fr.Directions(4, "sphere"), fr.Interval(-1.0, 2.0)),
    "even radius": fr.problems.EvenRadius(4),
    "after jumps": fr.problems.AfterJumps(4, 0.4, 0.25),
}


@pytest.mark.parametrize("name", LAWS)
def test_draws_and_the_map_of_the_unit_cube_have_the_same_law(name):
    """Mass and moments, to second order."""
    law, moments = LAWS[name], []
    for nodes in (law.draws(jax.random.key(1), N), fr.QuasiMonteCarlo(4096, fr.Sobol(), fr.Scramble()).nodes(law, jax.random.key(2))):
        points, weights = np.asarray(nodes.points, float), np.asarray(nodes.weights, float)
        extended = np.concatenate([np.ones((len(points), 1)), points], axis=1)
        moments.append((weights[:, None] * extended).T @ extended)
    assert moments[0][0, 0] == pytest.approx(float(law.mass), rel=1e-4)
    assert np.allclose(*moments, atol=0.05)


def test_points_after_jumps_have_the_moments_of_their_jumps():
    """None, one and two of them with the shares .6, .3 and .1: the mean is half of a jump's."""
    points = np.asarray(LAWS["after jumps"].draws(jax.random.key(3), N).points, float)
    jumps = 0.3 + 2 * 0.1
    variance = 1 / 3 + jumps * 0.25**2 + (0.3 + 4 * 0.1 - jumps**2) * 0.4**2
    assert np.allclose(points.mean(axis=0), 0.4 * jumps, atol=0.03)
    assert np.allclose(points.var(axis=0), variance, rtol=0.05)


def test_double_sampling_over_directions_is_unbiased_in_50_dimensions_and_the_standard_loss_is_not():
    d = 50
    equation = fr.Equation(
        domain=fr.Ball((0.0,) * d),
        integrals=fr.Integral(fr.Directions(d), lambda u, x, v: fr.directional(u, x, v, order=2), at=lambda x, v: x),
        y=0.01,
    )
    u, rules = Field(fr.MLP(16, 2, "tanh").build(d, 1, jax.random.key(5)), {}, d, 1), [fr.MonteCarlo(4)]
    x = equation.domain.sample(jax.random.key(6))
    exact = float(fr.laplacian(u, x) - 0.01) ** 2

    def losses(key):
        double = [fr.DoubleSampling(pairs).rows(u, None, equation, rules, x, key)["residual"].loss() for pairs in ("split", "all")]
        r = estimated(equation, u, x, draw(equation, rules, x, key))[0]
        return jnp.stack([*double, r**2]), r

    found, residual = jax.jit(jax.vmap(losses))(jax.random.split(jax.random.key(7), 4000))
    found, noise = np.asarray(found, float), float(np.var(np.asarray(residual, float)))
    means, errors = found.mean(axis=0), found.std(axis=0) / math.sqrt(len(found))
    assert np.all(np.abs(means[:2] - exact) < 4.5 * errors[:2])
    assert abs(means[2] - exact - noise) < 4.5 * errors[2]
    assert noise > 20 * errors[2], "the bias is large enough to be seen"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fr.Directions(0), "at least 1"),
        (lambda: fr.Directions(1, "sphere"), "at least 2"),
        (lambda: fr.Orthogonal(2).check(fr.Directions(3)), "'sphere'"),
        (lambda: fr.WithoutReplacement(2).check(fr.Directions(3)), "MonteCarlo"),
        (lambda: fr.WithoutReplacement(4).check(fr.Directions(3, "axes")), "only 3 atoms"),
        (lambda: fr.DoubleSampling().check(weak(1), weak(1).rules(fr.Even(1))), "always the same"),
    ],
)
def test_what_makes_no_sense_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def weak(d):
    return fr.Equation(fr.Normal((0.0,) * d), integrals=fr.Integral(fr.Directions(d, "axes"), lambda u, x, v: u(x)))
