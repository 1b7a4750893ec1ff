"""The law of rows: whatever the method is, its gradient is 2 E[w ∂aᵀ b], and its loss E[w aᵀ b]."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import fredholm as fr
from fredholm.functions.field import Field
from fredholm.methods.protocol import Rows, shares
from table import METHODS

BATCH, RULE = 3, fr.MonteCarlo(2)


def equation(form):
    unknowns = {"kappa": 0.7} if "unknown" in form else {}

    def g(u, x, t):
        return (u.kappa if unknowns else 1.0) * jnp.exp(t[0] - x[0]) * u(t) ** 2

    return fr.Equation(
        domain=fr.Interval(0.5, 1.0),
        f=None if form == "weak" else lambda u, x: fr.derivative(u, x) + u(x),
        integrals=fr.Integral(lambda x: fr.Interval(0.0, x[0]), g),
        y=lambda x: jnp.sin(x[0]),
        conditions=[
            fr.Condition(at=fr.Point(0.0), value=1.0, weight=3.0),
            fr.IntegralCondition(fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: u(t)), 0.5, weight=2.0, batch=2),
        ],
        unknowns=unknowns,
    )


def network(equation, seed):
    unknowns = {name: jnp.asarray(value) for name, value in equation.unknowns.items()}
    return Field(fr.MLP(3, 1, "tanh").build(1, 1, jax.random.key(seed)), unknowns, 1, 1)


def loss_and_gradient_by_jacobians(method, u, state, equation, key):
    """At the same x and nodes as a step draws, with the whole matrix ∂a at each x."""
    flat, unravel = ravel_pytree(u)
    loss, gradient = 0.0, np.zeros(flat.size)
    for share in shares(equation, equation.rules(RULE), BATCH, key):
        condition_weight = getattr(share.residual, "weight", 1.0)

        def rows(flat, x, key, share=share):
            return method.rows(unravel(flat), state, share.residual, share.rules, x, key)

        parts = jax.vmap(rows, (None, 0, 0))(flat, share.points, share.keys)
        jacobians = jax.vmap(jax.jacfwd(rows), (None, 0, 0))(flat, share.points, share.keys)
        for name, part in parts.items():
            a, b, weight, slope = map(np.asarray, (part.a, part.b, part.weight, jacobians[name].a))
            loss += condition_weight * np.mean(weight * np.sum(a * b, axis=1))
            gradient += 2 * condition_weight * np.mean(weight[:, None] * np.einsum("nrp,nr->np", slope, b), axis=0)
    return loss, gradient


@pytest.mark.parametrize("form", ["weak", "with f", "with f and an unknown"])
@pytest.mark.parametrize("method", METHODS)
def test_the_gradient_of_a_method_is_that_of_its_rows(method, form, key):
    own, problem = METHODS[method], equation(form)
    with jax.enable_x64(True):
        u, target = network(problem, 1), network(problem, 2)
        state = own.state_at(u, target, problem, BATCH, jax.random.key(5))  # a target that is not the network, and so a λ that is not 0
        expected, slope = loss_and_gradient_by_jacobians(own, u, state, problem, key)
        (loss, _), gradient = own.loss_and_gradient(u, state, problem, problem.rules(RULE), BATCH, key)
        assert float(loss) == pytest.approx(expected, rel=1e-10)
        found = np.asarray(ravel_pytree(gradient)[0])
        assert np.abs(slope).max() > 1e-3
        np.testing.assert_allclose(found, slope, rtol=1e-9, atol=1e-12)


def test_what_delayed_targets_penalise_has_the_weight_of_their_state(key):
    """λ is measured, and moves nothing itself: it is the weight of rows."""
    problem = equation("with f")
    u, target = network(problem, 1), network(problem, 2)
    method = fr.DelayedTarget()
    state = method.state_at(u, target, problem, BATCH, jax.random.key(5))
    x = jnp.array([0.6])
    rows = method.rows(u, state, problem, [RULE], x, key)
    assert list(rows) == ["residual", "regularization"]
    assert float(rows["regularization"].weight) == float(method.weight(state)) > 0
    np.testing.assert_allclose(rows["regularization"].a, [float(u(x) - target(x))], rtol=1e-6)


def test_a_weight_scales_loss_and_gradient_and_b_is_not_differentiated():
    """a = θ, b = θ², w = θ at θ = 3: the loss is w aᵀ b = 81, and its gradient 2 w ∂aᵀ b = 54; through b and w it would be more."""

    def loss(theta):
        return Rows(jnp.reshape(theta, (1,)), jnp.reshape(theta**2, (1,)), theta).loss()

    value, slope = jax.value_and_grad(loss)(jnp.asarray(3.0))
    assert (float(value), float(slope)) == (81.0, 54.0)
