"""Random keys: everything random follows from the seed."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key


class Keys(eqx.Module):
    """The sources of randomness of one seed. Everything random is a function of the seed and the step."""

    network: Key[Array, ""]
    data: Key[Array, ""]
    problem: Key[Array, ""]
    measure: Key[Array, ""]

    @classmethod
    def of(cls, seed: int) -> "Keys":
        """The keys of a seed; the same seed gives every method the same network, volumes and points."""
        return cls.split(seed_keys([seed])[0])

    @classmethod
    def split(cls, key: Key[Array, ""]) -> "Keys":
        """The keys derived from the key of a seed."""
        return cls(*jax.random.split(key, 4))


def seed_keys(seeds: Sequence[int]) -> Key[Array, "s"]:
    """`jax.random.key` of every seed."""
    words = np.array([divmod(seed, 2**32) for seed in seeds], np.uint32)
    return jax.random.wrap_key_data(jnp.asarray(words))
