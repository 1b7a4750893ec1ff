"""Singular kernels as measures: the moments of every rule are those of the closed form."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.training.choice import candidates

KEY = jax.random.key(0)


def sided(until, low, high, at):
    """The integrals of (t − c)^k w(|t − c|), k = 0, 1, 2, from those on (0, r]; with signs on the left."""
    ends = [(max(at - high, 0.0), max(at - low, 0.0), -1.0), (max(low - at, 0.0), max(high - at, 0.0), 1.0)]
    return [sum(sign**k * (until(far, k) - until(near, k)) for near, far, sign in ends) for k in range(3)]


def power_until(p):
    return lambda r, k: r ** (k + p + 1) / (k + p + 1)


def log_until(r, k):
    return r ** (k + 1) * (math.log(r) - 1 / (k + 1)) / (k + 1) if r > 0 else 0.0


def moments(rule, domain, at):
    nodes = rule.nodes(domain, KEY)
    return jnp.stack([jnp.sum(nodes.weights * (nodes.points[:, 0] - at) ** k) for k in range(3)])


PLACES = (0.0, 0.3, 2.0, -0.5, 3.0)
RULES = {
    fr.Even(4000): 2e-3,
    fr.ClenshawCurtis(257): 1e-3,
    fr.Leja(100): 5e-3,
    fr.QuasiMonteCarlo(1 << 15, fr.Sobol()): 1e-2,
    fr.MonteCarlo(1 << 16): 4e-2,
}


@pytest.mark.parametrize("at", PLACES)
@pytest.mark.parametrize("p", [-0.5, -0.9, -1 / 3, 0.5])
def test_gauss_is_exact_for_a_power_and_a_polynomial(p, at):
    with jax.enable_x64(True):
        inside = 0.0 <= at <= 2.0
        found = jax.jit(lambda c: moments(fr.Gauss(2 if inside else 100), fr.AbsPower(0.0, 2.0, at=c, power=p), c))(jnp.asarray(at))
        np.testing.assert_allclose(found, sided(power_until(p), 0.0, 2.0, at), rtol=1e-11 if inside else 2e-3, atol=1e-14)
        assert float(fr.AbsPower(0.0, 2.0, at, p).mass) == pytest.approx(sided(power_until(p), 0.0, 2.0, at)[0], rel=1e-12)


@pytest.mark.parametrize("at", PLACES)
def test_gauss_converges_fast_for_a_logarithm(at):
    exact = sided(log_until, 0.0, 2.0, at)
    with jax.enable_x64(True):
        for n, allowed in ((8, 3e-6), (16, 3e-9), (32, 1e-11)):
            found = jax.jit(lambda c, n=n: moments(fr.Gauss(n), fr.LogDistance(0.0, 2.0, at=c), c))(jnp.asarray(at))
            np.testing.assert_allclose(found, exact, atol=allowed if 0.0 <= at <= 2.0 else 1e-3)
        assert float(fr.LogDistance(0.0, 2.0, at).mass) == pytest.approx(exact[0], rel=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_every_rule_has_the_moments(rule):
    with jax.enable_x64(True):
        for at in (0.0, 0.3):
            for domain, until in ((fr.AbsPower(0.0, 2.0, at, -0.5), power_until(-0.5)), (fr.LogDistance(0.0, 2.0, at), log_until)):
                np.testing.assert_allclose(moments(rule, domain, at), sided(until, 0.0, 2.0, at), atol=RULES[rule])


def test_the_density_is_that_of_the_measure():
    box = fr.QuasiMonteCarlo(20_000).nodes(fr.Interval(-1.0, 3.0), KEY)
    for domain in (fr.AbsPower(0.0, 2.0, 0.3, -0.3), fr.LogDistance(0.0, 2.0, 0.3)):
        assert float(jnp.sum(box.weights * jax.vmap(domain.density)(box.points))) == pytest.approx(float(domain.mass), abs=0.02)


def test_an_equation_with_abels_kernel_has_no_residual_and_auto_has_rules_for_it():
    """u(x) = 1 + ∫₀¹ |x − t|^(−1/2) (u − 1) dt is solved by u = 1; with u = t the integral is 2/3 (1−x)^1.5 + ... by the moments."""
    measure = lambda x: fr.AbsPower(0.0, 1.0, at=x[0], power=-0.5)  # noqa: E731
    problem = fr.Equation(
        domain=fr.Interval(0.0, 1.0),
        f=lambda u, x: u(x),
        integrals=fr.Integral(measure, lambda u, x, t: 0.2 * u(t)),
        y=lambda x: x[0] - 0.2 * (x[0] * 2 * (jnp.sqrt(x[0]) + jnp.sqrt(1 - x[0])) + 2 / 3 * ((1 - x[0]) ** 1.5 - x[0] ** 1.5)),
        exact=lambda x: x[0],
    )
    report = fr.check(problem)
    assert report.ok, report
    assert fr.Gauss(8) in candidates([measure(jnp.array([0.5]))])


def test_a_singular_g_is_told_which_measure_takes_it_up():
    problem = fr.Equation(
        domain=fr.Interval(0.0, 1.0),
        f=lambda u, x: u(x),
        integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: (x[0] - t[0]) ** -0.5 * u(t)),
    )
    with pytest.raises(ValueError, match=r"g of integral 1 is not finite.*AbsPower\(0.0, 1.0, at=x\[0\], power=-0.5\).*LogDistance"):
        fr.solve(problem, fr.Standard(), rule=fr.Even(8))


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="more than -1"):
        fr.AbsPower(0.0, 1.0, 0.5, power=-1.0)
    with pytest.raises(ValueError, match="no domain= of x"):
        fr.LogDistance(0.0, 4.0, 0.5).sample(KEY)
    with pytest.raises(ValueError, match=r"AbsPower at: .*write x\[0\]"):
        fr.AbsPower(0.0, 1.0, jnp.ones(1), -0.5)
