"""Random numbers: those of JAX, however they are batched, and computed as one row."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fredholm import draws

DRAWS = {
    "split": (lambda key: draws.split(key, 3), lambda key: jax.random.split(key, 3)),
    "fold_in": (lambda key: draws.fold_in(key, 2**31 + 5), lambda key: jax.random.fold_in(key, 2**31 + 5)),
    "bits": (lambda key: draws.bits(key, (3, 2)), lambda key: jax.random.bits(key, (3, 2), jnp.uint32)),
    "uniform": (lambda key: draws.uniform(key, (3, 2)), lambda key: jax.random.uniform(key, (3, 2))),
    "interval": (lambda key: draws.uniform(key, (4,), -2.0, 5.0), lambda key: jax.random.uniform(key, (4,), minval=-2.0, maxval=5.0)),
}


def same(ours, theirs):
    if jnp.issubdtype(ours.dtype, jax.dtypes.prng_key):
        ours, theirs = jax.random.key_data(ours), jax.random.key_data(theirs)
    return np.array_equal(ours, theirs)


@pytest.mark.parametrize("name", DRAWS)
def test_they_are_the_numbers_of_jax_under_every_batch(name, key):
    ours, theirs = DRAWS[name]
    assert same(ours(key), theirs(key))
    keys = jax.random.split(key, (3, 5))
    assert same(jax.vmap(jax.vmap(ours))(keys), jax.vmap(jax.vmap(theirs))(keys))
    assert same(jax.jit(jax.vmap(ours))(keys[0]), jax.vmap(theirs)(keys[0]))


@pytest.mark.parametrize("name", DRAWS)
def test_a_key_of_another_generator_gives_what_jax_makes_of_it(name):
    (ours, theirs), other = DRAWS[name], jax.random.key(3, impl="rbg")
    assert same(ours(other), theirs(other))


def test_a_number_that_is_folded_in_may_be_traced(key):
    traced = jax.jit(lambda number: jax.random.key_data(draws.fold_in(key, number)))(7)
    assert np.array_equal(traced, jax.random.key_data(jax.random.fold_in(key, 7)))


def test_normals_are_those_of_jax_up_to_rounding(key):
    assert np.array_equal(draws.standard_normals(key, 7), jax.random.normal(key, (7,)))
    keys = jax.random.split(key, (3, 5))
    ours = jax.vmap(jax.vmap(lambda k: draws.standard_normals(k, 4)))(keys)
    assert np.allclose(ours, jax.vmap(jax.vmap(lambda k: jax.random.normal(k, (4,))))(keys), rtol=1e-6)


def test_a_batch_is_one_row_where_the_costly_functions_are_computed(key):
    batched = jax.vmap(jax.vmap(lambda k: draws.standard_normals(k, 4)))
    text = jax.jit(batched).lower(jax.random.split(key, (3, 5))).as_text()
    for costly, shape in (("erf_inv", "60xf32"), ("shift_left", "60xui32")):
        shapes = {line.rsplit("tensor<")[-1].split(">")[0] for line in text.splitlines() if costly in line}
        assert shapes == {shape}, shapes


def test_they_pass_through_a_gradient_of_something_else(key):
    def total(scale):
        return jnp.sum(jax.vmap(lambda k: scale * draws.standard_normals(k, 3))(draws.split(key, 5)))

    assert np.isclose(jax.grad(total)(2.0), total(1.0), rtol=1e-5)
