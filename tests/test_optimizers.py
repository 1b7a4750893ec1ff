"""What a recipe of an optimiser does to a weight matrix and to a bias."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

import fredholm as fr


def first_update(transformation, gradient):
    parameters = {name: jnp.zeros_like(value) for name, value in gradient.items()}
    return transformation.update(gradient, transformation.init(parameters), parameters)[0]


def test_muon_turns_a_matrix_in_all_directions_alike_and_moves_a_bias_as_adam_does():
    random = np.random.default_rng(0)
    left, right = (np.linalg.qr(random.standard_normal((6, 6)))[0] for _ in range(2))
    gradient = {"weight": jnp.asarray(left * np.geomspace(1.0, 0.02, 6) @ right.T), "bias": jnp.asarray([1.0, -0.01])}
    update = first_update(fr.Muon(0.1, fr.ConstantRate(), vectors=0.5).build(10), gradient)
    along = -np.diag(left.T @ np.asarray(update["weight"]) @ right)
    assert np.all((along > 0.06) & (along < 0.13))  # Newton-Schulz leaves 0.7 to 1.2 of η; the gradient's own range is 50
    np.testing.assert_allclose(update["bias"], first_update(optax.nadam(0.05), gradient)["bias"], rtol=1e-5)


def test_a_line_search_is_refused_with_what_to_use_instead():
    with pytest.raises(ValueError, match=r"cannot make a step of a gradient alone.*fr\.Muon"):
        fr.solve(fr.problems.FredholmSecondKind(), fr.Standard(), optimizer=optax.lbfgs(), steps=2, seeds=1, progress=False)


def test_the_rate_of_cosine_falls_to_its_floor():
    rate = fr.Cosine(0.1).build(2.0, 100)
    np.testing.assert_allclose([rate(0), rate(50), rate(100)], [2.0, 1.1, 0.2], rtol=1e-5)
