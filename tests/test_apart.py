"""What the compiler is asked to keep apart stays apart, and is the same function."""

import jax
import jax.numpy as jnp
import numpy as np

from fredholm.common.apart import kept_apart


def turned(x):
    return jnp.sum(x.T * jnp.arange(3.0)[:, None], axis=0)


def test_it_is_the_same_function_in_every_way_that_jax_has(key):
    x = jax.random.normal(key, (5, 2, 3))
    for way in (jax.vmap, lambda f: jax.vmap(jax.jacfwd(f)), lambda f: jax.vmap(jax.jacrev(f)), lambda f: jax.jit(jax.vmap(f))):
        assert np.allclose(way(kept_apart(turned))(x), way(turned)(x), rtol=1e-6)


def test_the_compiler_does_not_look_across_its_edge():
    def calls(function):
        compiled = jax.jit(lambda x: function(jnp.tanh(x) * x)).lower(jnp.zeros((2, 3))).compile()
        return compiled.as_text().count(" call(")

    assert calls(turned) == 0
    assert calls(kept_apart(turned)) == 1
