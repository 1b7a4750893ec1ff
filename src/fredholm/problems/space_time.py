"""Points (x, t) of space and time."""

import jax.numpy as jnp
from jaxtyping import Array, Float

Place = Float[Array, "p"]  # (x, t)


def in_space(v: Float[Array, "d"]) -> Place:
    """A direction of x that leaves t as it is."""
    return jnp.concatenate([v, jnp.zeros(1)])
