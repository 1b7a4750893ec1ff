"""Differential operators against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr

P = jnp.array([0.3, -0.7, 1.1])


def scalar(x):
    return jnp.sin(x[0]) * x[1] ** 3 + jnp.exp(x[2]) * x[0]


def vector(x):
    return jnp.stack([x[0] * x[1], jnp.sin(x[2]), x[0] ** 2 * x[2]])


def test_derivatives_along_axes_and_mixed():
    assert fr.derivative(scalar, P) == pytest.approx(float(jnp.cos(P[0]) * P[1] ** 3 + jnp.exp(P[2])), rel=1e-5)
    assert fr.derivative(scalar, P, axis=1, order=2) == pytest.approx(float(jnp.sin(P[0]) * 6 * P[1]), rel=1e-5)
    assert fr.derivative(scalar, P, axis=(0, 1)) == pytest.approx(float(jnp.cos(P[0]) * 3 * P[1] ** 2), rel=1e-5)
    assert fr.derivative(scalar, P, axis=-1) == pytest.approx(float(jnp.exp(P[2]) * P[0]), rel=1e-5)


def test_directional_is_gradient_times_direction(key):
    direction = jax.random.normal(key, (3,))
    assert fr.directional(scalar, P, direction) == pytest.approx(float(fr.gradient(scalar, P) @ direction), rel=1e-5)


def test_divergence_curl_and_laplacian():
    assert fr.divergence(vector, P) == pytest.approx(float(P[1] + P[0] ** 2), rel=1e-5)
    assert np.allclose(fr.curl(vector, P), [-jnp.cos(P[2]), -2 * P[0] * P[2], -P[0]], rtol=1e-5)
    expected = -jnp.sin(P[0]) * P[1] ** 3 + jnp.sin(P[0]) * 6 * P[1] + jnp.exp(P[2]) * P[0]
    assert fr.laplacian(scalar, P) == pytest.approx(float(expected), rel=1e-5)
    assert np.allclose(fr.laplacian(vector, P), [0.0, -jnp.sin(P[2]), 2 * P[2]], rtol=1e-5)


def test_the_divergence_theorem_holds_for_a_smooth_field():
    """∮ F·n dS over a sphere = ∫ div F dV over its ball, with the library's own domains, in 2 and 3 dimensions."""
    for center in ((0.2, -0.3), (0.2, -0.3, 0.4)):
        d = len(center)
        field = lambda x: jnp.sin(x * jnp.arange(1.0, x.shape[0] + 1)) + x[0] * x  # noqa: E731
        sphere, ball = fr.Sphere(center, 0.8), fr.Ball(center, 0.8)
        n = 400 if d == 2 else 40
        on, inside = fr.Even(n).nodes(sphere, jax.random.key(0)), fr.Even(n).nodes(ball, jax.random.key(0))
        flux = jax.vmap(lambda t: field(t) @ (t - jnp.asarray(center)) / 0.8)(on.points) @ on.weights  # noqa: B023
        volume = jax.vmap(lambda t: fr.divergence(field, t))(inside.points) @ inside.weights  # noqa: B023
        assert float(flux) == pytest.approx(float(volume), rel=2e-3)


def test_a_laplacian_along_some_axes_and_the_hessian():
    hessian = fr.hessian(scalar, P)
    assert hessian.shape == (3, 3)
    assert fr.laplacian(scalar, P, axes=(0, 2)) == pytest.approx(float(hessian[0, 0] + hessian[2, 2]), rel=1e-5)
    assert fr.laplacian(scalar, P, axes=1) == pytest.approx(float(jnp.sin(P[0]) * 6 * P[1]), rel=1e-5)
    assert hessian[0, 1] == pytest.approx(float(fr.derivative(scalar, P, axis=(0, 1))), rel=1e-5)
    assert fr.hessian(vector, P).shape == (3, 3, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: fr.derivative(scalar, P, axis=3),
        lambda: fr.derivative(scalar, P, order=0),
        lambda: fr.laplacian(scalar, P, axes=(0, 3)),
        lambda: fr.laplacian(scalar, P, axes=()),
    ],
)
def test_wrong_axes_and_orders_are_refused(call):
    with pytest.raises(ValueError, match="expected"):
        call()


def test_shapes_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="as many outputs as inputs"):
        fr.divergence(lambda x: x[:2], P)
    with pytest.raises(ValueError, match=r"\(3, 3\)"):
        fr.curl(lambda x: x, P[:2])
