"""Every form of an equation that the README promises, through the public API: the truth has no residual, and the loss has a gradient."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.diagnostics.exact import exact_residuals
from fredholm.equation.probe import fresh_field
from fredholm.training.settings import settings_of
from table import RULES

UNIT = fr.Interval(0.0, 1.0)
SQUARE = fr.Box((0.0, 0.0), (1.0, 1.0))


def volume():
    """The mean value property of x² − y²: x is a record of a point and a radius."""
    return fr.Equation(
        domain=fr.Law(point=SQUARE, radius=fr.Interval(0.1, 0.5)),
        f=lambda u, x: u(x.point),
        integrals=fr.Integral(lambda x: fr.Sphere(x.point, x.radius), lambda u, x, t: u(t) / (2 * jnp.pi * x.radius)),
        exact=lambda x: x[0] ** 2 - x[1] ** 2,
    )


def system():
    """u' = v and v = 1 − ∫₀ˣ u dt: sine and cosine, an integral in the second equation only."""
    return fr.Equation(
        domain=UNIT,
        f=lambda u, x: jnp.stack([fr.derivative(u, x)[0] - u(x)[1], u(x)[1]]),
        integrals=fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: jnp.stack([0.0, -u(t)[0]])),
        y=lambda x: jnp.array([0.0, 1.0]),
        conditions=fr.Condition(fr.Point(0.0), lambda x: jnp.array([0.0, 1.0])),
        exact=lambda x: jnp.stack([jnp.sin(x[0]), jnp.cos(x[0])]),
        outputs=2,
    )


def derivatives():
    """u_tt − u_xx + u_xt = … for sin(x) e^t, with value and time derivative at t = 0 and the sides joined periodically in between."""
    start = fr.Product(fr.Interval(0.0, 2 * math.pi), fr.Point(0.0))
    sides = [fr.Product(fr.Point(end), UNIT) for end in (0.0, 2 * math.pi)]
    return fr.Equation(
        domain=fr.Box((0.0, 0.0), (2 * math.pi, 1.0)),
        f=lambda u, x: fr.derivative(u, x, 1, 2) - fr.derivative(u, x, 0, 2) + fr.derivative(u, x, (0, 1)),
        y=lambda x: (2 * jnp.sin(x[0]) + jnp.cos(x[0])) * jnp.exp(x[1]),
        conditions=[
            fr.Condition(start, lambda x: jnp.sin(x[0])),
            fr.Condition(start, lambda x: jnp.sin(x[0]), of=lambda u, x: fr.derivative(u, x, 1)),
            fr.Periodic(*sides, order=1),
        ],
        exact=lambda x: jnp.sin(x[0]) * jnp.exp(x[1]),
    )


def measures():
    """u(x) = x under eight measures at once; their integrals of x + t, x t or e^(−2t) (x + t) are known."""
    shifted = lambda u, x, t: u(x + t)  # noqa: E731
    stretched = lambda u, x, t: u(x * t)  # noqa: E731
    integrals = [
        fr.Integral(fr.Normal(0.5, 0.2), shifted),  # x + 1/2
        fr.Integral(fr.LogNormal(0.0, 0.5), stretched),  # x e^(1/8)
        fr.Integral(fr.Exponential(0.0, 2.0), shifted),  # x + 2
        fr.Integral(fr.HalfLine(0.0, 0.5), lambda u, x, t: jnp.exp(-2 * t[0]) * u(x + t)),  # x/2 + 1/4
        fr.Integral(fr.Line(0.0, 0.5), lambda u, x, t: jnp.exp(-2 * t[0] ** 2) * u(x + t)),  # x √(π/2)
        fr.Integral(fr.Discrete([1.0, 2.0], [0.5, 3.0]), shifted),  # 3.5 x + 6.5
        fr.Integral(fr.PoissonCounts(1.5), shifted),  # x + 1.5
        fr.Integral(fr.Jumps(0.7, fr.Normal(0.1, 0.2)), lambda u, x, t: u(x + t) - u(x)),  # 0.07
        fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: u(t)),  # x²/2
    ]
    slope = 1 + math.exp(1 / 8) + 1 + 0.5 + math.sqrt(math.pi / 2) + 3.5 + 1
    constant = 0.5 + 2 + 0.25 + 6.5 + 1.5 + 0.07
    return fr.Equation(UNIT, lambda u, x: u(x), integrals, y=lambda x: (1 - slope) * x[0] - constant - x[0] ** 2 / 2, exact=lambda x: x[0])


def inside():
    """u at x, at t, at x − t and u' inside a nonlinear g: for u(x) = x, ∫₀ˣ (x t + (x − t)) dt = (x³ + x²)/2."""
    return fr.Equation(
        UNIT,
        lambda u, x: u(x),
        fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: u(x) * u(t) + fr.derivative(u, t) * u(x - t)),
        y=lambda x: x[0] - (x[0] ** 3 + x[0] ** 2) / 2,
        exact=lambda x: x[0],
    )


@pytest.mark.parametrize("make", [volume, system, derivatives, measures, inside], ids=lambda make: make.__name__)
def test_the_truth_has_no_residual_and_the_loss_a_gradient(make):
    equation = make()
    for found in exact_residuals(equation):
        assert not found.is_wrong, found
        assert found.size < 1e-3 * max(found.scale, 1.0), found
    method, network = fr.DelayedTarget() if equation.integrals else fr.Standard(), fr.MLP(4, 1)
    settings = settings_of(equation, method, rule=fr.MonteCarlo(1), network=network)
    u = fresh_field(equation, network)
    compute = eqx.filter_jit(eqx.filter_value_and_grad(method.loss, has_aux=True))
    (loss, info), gradient = compute(u, method.init(u), equation, settings.rules, 4, jax.random.key(0))
    assert np.isfinite(loss)
    assert ("conditions" in info) == bool(equation.conditions)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


SUMS = {
    "discrete": (fr.Discrete([0.0, 1.0, 3.0], [0.5, 1.0, 2.5]), 0.5 + math.e + 2.5 * math.exp(3)),
    "counts with an interval": (fr.Product(fr.PoissonCounts(0.8), UNIT), math.exp(0.8 * (math.e - 1))),
}


@pytest.mark.parametrize("name", SUMS)
def test_every_rule_takes_a_sum_or_refuses_with_the_reason(name, key):
    """Rules on one axis take every atom and are exact; random ones are unbiased; a shift of atoms is refused."""
    measure, exact = SUMS[name]
    for rule in RULES.values():
        if isinstance(rule, (fr.Even, fr.Gauss, fr.Smolyak)) and isinstance(rule.randomize, fr.Shift):
            with pytest.raises(ValueError, match="numbers of the atoms"):
                rule.check(measure)
            continue
        rule.check(measure)
        nodes = jax.jit(lambda rule=rule: rule.nodes(measure, key))()
        found = float(jnp.sum(nodes.weights * jnp.exp(nodes.points[:, 0])))
        if not rule.is_random and not isinstance(rule, fr.QuasiMonteCarlo):
            assert found == pytest.approx(exact, rel=1e-5), rule
    draws = jax.jit(jax.vmap(lambda k: jnp.sum(fr.MonteCarlo(50).nodes(measure, k).weights * jnp.exp(0.0))))(jax.random.split(key, 4))
    assert np.allclose(draws, float(measure.mass), rtol=1e-5)
    many = fr.MonteCarlo(20_000).nodes(measure, key)
    terms = 20_000 * np.asarray(many.weights * jnp.exp(many.points[:, 0]))
    assert abs(terms.mean() - exact) < 5 * terms.std() / math.sqrt(20_000)


def test_weights_and_points_of_a_sum_may_depend_on_x(key):
    def total(x, rule):
        nodes = rule.nodes(fr.Discrete(jnp.stack([x, 2 * x])[:, None], jnp.stack([1.0 + x, x])), key)
        return jnp.sum(nodes.weights * nodes.points[:, 0])

    assert float(jax.jit(lambda x: total(x, fr.Even(2)))(0.5)) == pytest.approx(1.5 * 0.5 + 0.5 * 1.0)
    assert float(jax.jit(lambda x: total(x, fr.MonteCarlo(40_000)))(0.5)) == pytest.approx(1.25, rel=0.02)
    rate = jax.jit(lambda x: jnp.sum(fr.Even(1).nodes(fr.PoissonCounts(x, most=30), key).weights))
    assert float(rate(1.5)) == pytest.approx(1.0, rel=1e-5)
    with pytest.raises(ValueError, match="most=20"):
        jax.jit(lambda x: fr.PoissonCounts(x).map(jnp.zeros(1))[1])(1.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fr.Discrete([0.0, 1.0], [1.0]), "one for each point"),
        (lambda: fr.Discrete([0.0, 1.0], [1.0, -1.0]), "sign belongs into g"),
        (lambda: fr.Discrete(np.zeros((2, 2, 2))), r"\(n, d\)"),
        (lambda: fr.PoissonCounts(-1.0), "rate.*positive"),
        (lambda: fr.PoissonCounts(1e4), "less than 700"),
        (lambda: fr.Jumps(0.5, fr.HalfLine()), "law of a jump"),
        (lambda: fr.Smolyak(fr.Gauss(1), 3).size(fr.Product(*[fr.Discrete(np.arange(100.0))] * 4)), "more than 1,000,000"),
    ],
)
def test_wrong_sums_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
