"""Normal numbers: those of JAX, however they are batched, and computed as one row."""

import jax
import jax.numpy as jnp
import numpy as np

from fredholm.normals import standard_normals


def test_they_are_the_numbers_of_jax_under_every_batch(key):
    assert np.array_equal(standard_normals(key, 7), jax.random.normal(key, (7,)))
    keys = jax.random.split(key, (3, 5))
    ours = jax.vmap(jax.vmap(lambda k: standard_normals(k, 4)))(keys)
    assert np.allclose(ours, jax.vmap(jax.vmap(lambda k: jax.random.normal(k, (4,))))(keys), rtol=1e-6)


def test_a_batch_is_one_row_where_the_costly_function_is_computed(key):
    batched = jax.vmap(jax.vmap(lambda k: standard_normals(k, 4)))
    text = jax.jit(batched).lower(jax.random.split(key, (3, 5))).as_text()
    shapes = {line.rsplit("tensor<")[-1].split(">")[0] for line in text.splitlines() if "erf_inv" in line}
    assert shapes == {"60xf32"}, shapes


def test_they_pass_through_a_gradient_of_something_else(key):
    slope = jax.grad(lambda scale: jnp.sum(jax.vmap(lambda k: scale * standard_normals(k, 3))(jax.random.split(key, 5))))(2.0)
    assert np.isclose(slope, jnp.sum(jax.vmap(lambda k: standard_normals(k, 3))(jax.random.split(key, 5))), rtol=1e-5)
