"""Where randomness comes from: the seed, and nothing else."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
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
        return cls(*jax.random.split(jax.random.key(seed), 4))


def stack_keys(seeds: Sequence[int]) -> Keys:
    """The keys of all seeds, stacked."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *[Keys.of(seed) for seed in seeds])
