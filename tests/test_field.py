"""u with what it is at one point known ahead: the same function, in one pass through the network."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.functions.field import Evaluated, Field, evaluated


def field(key, outputs=1):
    return Field(fr.MLP(8, 2, "tanh").build(2, outputs, key), {"kappa": jnp.asarray(2.0)}, 2, outputs)


FORMS = {
    "value and slope": lambda u, x: u(x) + fr.derivative(u, x, axis=1),
    "slope along a direction": lambda u, x: fr.directional(u, x, jnp.array([0.3, -0.8])),
    "mixed and higher": lambda u, x: fr.derivative(u, x, axis=(0, 1)) * u.kappa + fr.laplacian(u, x),
    "at another point": lambda u, x: u(2 * x) + fr.derivative(u, x + 1.0),
    "inside a branch": lambda u, x: jax.lax.cond(x[0] > 0, lambda: u(x), lambda: -fr.derivative(u, x)),
    "inside a loop": lambda u, x: jax.lax.fori_loop(0, 3, lambda i, total: total + u(x), 0.0),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_evaluated_field_is_the_field_and_so_is_its_gradient(form, key):
    u, points = field(key), jax.random.normal(jax.random.key(2), (5, 2))

    def total(wrap):
        def loss(u):
            return jnp.sum(jax.vmap(lambda x: FORMS[form](wrap(u, x), x))(points) ** 2)

        return jax.jit(jax.value_and_grad(loss, allow_int=True))(u)

    plain, known = total(lambda u, x: u), total(evaluated)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6), plain, known)


def test_value_and_slope_are_one_pass_through_the_network(key):
    u, x = field(key), jnp.array([0.3, 0.4])

    def products(wrap):
        return str(jax.make_jaxpr(lambda x: FORMS["value and slope"](wrap(u, x), x))(x)).count("rows_times_matrix")

    assert products(evaluated) == 6, "three layers, each with its derivative"
    assert products(lambda u, x: u) == 9


def test_what_is_no_point_of_the_network_is_left_alone(key):
    u = field(key)
    assert isinstance(evaluated(u, jnp.zeros(2)), Evaluated)
    assert evaluated(u, jnp.zeros(3)) is u
    assert evaluated(u, None) is u
    assert evaluated(jnp.sin, jnp.zeros(2)) is jnp.sin
