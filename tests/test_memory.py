"""A network goes through its layers once at each point, however often it is asked there, and nothing else changes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import subjaxprs

import fredholm as fr
from fredholm.functions.field import Field

UNIT = fr.Interval(0.0, 1.0)
NETWORK = fr.MLP(4, 2, "silu")
SQUARE = fr.Box((0.0, 0.0), (1.0, 1.0))


def ball(x):
    return fr.Sphere(x.center, x.radius)


def flux(u, x, t):
    return fr.directional(u, t, (t - x.center) / x.radius)


def branch(u, x):
    return jax.lax.cond(x[0] > 0.5, lambda: 2 * u(x) + fr.derivative(u, x), lambda: u(x))


VOLUMES = fr.Law(center=SQUARE, radius=fr.Interval(0.1, 0.5))
WEAK = {"domain": VOLUMES, "y": 1.0, "inputs": 2}
INSIDE = fr.Integral(UNIT, lambda u, x, t: u(x) * u(t))
BOTH = fr.Equation(domain=UNIT, f=lambda u, x: fr.derivative(u, x) + u(x), integrals=INSIDE, y=1.0)
CASES = {
    "value and slope": (BOTH, fr.Standard()),
    "slope and target": (BOTH, fr.DelayedTarget(tau=0.9, regularization=1.0)),
    "slopes along two axes": (
        fr.Equation(
            domain=SQUARE,
            f=lambda u, x: fr.derivative(u, x) + fr.derivative(u, x, axis=1) * u(x),
            integrals=fr.Integral(UNIT, lambda u, x, t: u(jnp.stack([t[0], x[1]]))),
        ),
        fr.DoubleSampling(),
    ),
    "a flux and the distance to the target": (
        fr.Equation(integrals=fr.Integral(ball, flux), **WEAK),
        fr.DelayedTarget(tau=0.9, regularization=1.0),
    ),
    "inside of a branch": (fr.Equation(domain=UNIT, f=branch, integrals=INSIDE, y=1.0), fr.Standard()),
}


def gradient_of(equation, method, key):
    keys = jax.random.split(key)
    u = Field(NETWORK.build(equation.inputs, equation.outputs, keys[0]), {}, equation.inputs, equation.outputs)
    state, rules = method.init(u), equation.rules(fr.MonteCarlo(2))

    def loss(u):
        return method.loss(u, state, equation, rules, 5, keys[1])[0]

    return eqx.filter_value_and_grad(loss), u


def products(jaxpr) -> int:
    """How often a layer is multiplied, on the way forward and back."""
    own = sum(equation.primitive.name == "rows_times_matrix" for equation in jaxpr.eqns)
    return own + sum(map(products, subjaxprs(jaxpr)))


@pytest.mark.parametrize("name", CASES)
def test_loss_and_gradient_are_the_same_without_it(name, key, monkeypatch):
    compute, u = gradient_of(*CASES[name], key)
    with_memory = jax.tree.leaves(compute(u))
    monkeypatch.setattr(Field, "remembering", lambda self: self)
    compute, u = gradient_of(*CASES[name], key)
    for one, other in zip(with_memory, jax.tree.leaves(compute(u)), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["value and slope", "slope and target", "slopes along two axes", "a flux and the distance to the target"])
def test_layers_are_multiplied_less_often_with_it(name, key, monkeypatch):
    compute, u = gradient_of(*CASES[name], key)
    once = products(eqx.filter_make_jaxpr(compute)(u)[0].jaxpr)
    monkeypatch.setattr(Field, "remembering", lambda self: self)
    compute, u = gradient_of(*CASES[name], key)
    assert once < products(eqx.filter_make_jaxpr(compute)(u)[0].jaxpr)


def test_a_value_besides_a_slope_costs_no_product(key):
    slope = fr.Equation(domain=UNIT, f=lambda u, x: fr.derivative(u, x))
    both = fr.Equation(domain=UNIT, f=lambda u, x: fr.derivative(u, x) + jnp.sin(u(x)) * fr.directional(u, x, x))
    counts = []
    for equation in (slope, both):
        compute, u = gradient_of(equation, fr.Standard(), key)
        counts.append(products(eqx.filter_make_jaxpr(compute)(u)[0].jaxpr))
    layers = 3
    # The second direction has a tangent of its own, forward and back by rows and by weights; the value has none.
    assert counts[1] - counts[0] <= 3 * layers
