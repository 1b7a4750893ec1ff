"""The perceptron is the formula it says, from the law it says; its products are those of JAX to every order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.common.keys import Keys, seed_keys
from fredholm.functions.mlp import ACTIVATIONS
from fredholm.functions.rows_times import rows_times


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_perceptron_is_its_formula(activation, key):
    network = fr.MLP(5, 2, activation).build(3, 2, key)
    x = jnp.array([0.3, -0.7, 1.1])
    (w1, b1), (w2, b2), (w3, b3) = network.layers
    sigma = ACTIVATIONS[activation]
    expected = np.asarray(sigma(sigma(x @ w1 + b1) @ w2 + b2)) @ w3 + b3
    assert [np.shape(w) for w in (w1, w2, w3)] == [(3, 5), (5, 5), (5, 2)]
    assert np.allclose(network(x), expected, rtol=1e-5)


def test_weights_and_biases_start_uniform_within_one_over_the_root_of_the_fan_in(key):
    for rows, (weights, biases) in zip((2, 400, 400), fr.MLP(400, 2).build(2, 300, key).layers, strict=True):
        for values in (np.asarray(weights).ravel(), np.asarray(biases)):
            scaled = values * np.sqrt(rows)
            assert np.abs(scaled).max() <= 1 + 1e-6
            error = 5 / np.sqrt(len(scaled))  # five standard errors of a mean of numbers within ±1
            assert abs(scaled.mean()) < error
            assert abs((scaled**2).mean() - 1 / 3) < error
    assert not np.array_equal(*(fr.MLP(4, 1).build(1, 1, jax.random.key(seed)).layers[0][0] for seed in (0, 1)))


def test_the_keys_of_seeds_are_those_that_jax_makes():
    seeds = [0, 1, 7, 2**31, 2**32 - 1]
    stacked = jax.vmap(Keys.split)(seed_keys(seeds))
    for index, seed in enumerate(seeds):
        assert np.array_equal(jax.random.key_data(stacked.network[index]), jax.random.key_data(Keys.of(seed).network))


X, W = jax.random.normal(jax.random.key(1), (4, 5, 3)), jax.random.normal(jax.random.key(2), (2, 3, 6))


def second_derivative(times):
    return lambda x, w: jax.jvp(lambda x: jax.jvp(lambda x: times(times(x, w) ** 3, w.T), (x,), (x,))[1], (x,), (jnp.cos(x),))[1]


WAYS = {
    "the value": lambda times: times(X, W[0]),
    "nested batches of x": lambda times: jax.vmap(jax.vmap(times, (0, None)), (1, None), 1)(X, W[0]),
    "a batch of both": lambda times: jax.vmap(times)(X[:2], W),
    "a batch of weights": lambda times: jax.vmap(times, (None, 0))(X, W),
    "the gradient by x": lambda times: jax.grad(lambda x: jnp.sum(times(x, W[0]) ** 2))(X),
    "the gradient by W through batches": lambda times: jax.grad(
        lambda w: jnp.sum(jax.vmap(jax.vmap(times, (0, None)), (0, None))(X, w) ** 2)
    )(W[0]),
    "a gradient inside of a batch": lambda times: jax.vmap(jax.jacrev(times, argnums=1), (0, None))(X[0], W[0]),
    "for each seed, the gradient of a second derivative": lambda times: jax.vmap(
        jax.grad(lambda w: jnp.sum(jax.vmap(second_derivative(times), (0, None))(X[0], w) ** 2))
    )(W),
}


@pytest.mark.parametrize("way", WAYS)
def test_rows_times_a_matrix_is_the_product_in_every_way_that_jax_has(way):
    assert np.allclose(WAYS[way](rows_times), WAYS[way](jnp.matmul), rtol=1e-4, atol=1e-5)


def test_the_gradient_of_nested_batches_is_one_product_of_matrices():
    def text(times):
        return jax.jit(lambda: WAYS["the gradient by W through batches"](times)).lower().as_text()

    assert "(tensor<3x20xf32>, tensor<20x6xf32>)" in text(rows_times)
    assert "contracting_dims = [0, 1]" not in text(rows_times)
    assert "contracting_dims = [0, 1]" in text(jnp.matmul)
