"""Random numbers for many short vectors at once.

Every x of a step has a key of its own and draws a few numbers with it. XLA computes along the last axis of an array: for 500 vectors of 10
numbers, as for the points of a step in ten dimensions, that is 500 short loops, and most of the time is lost between them. Here all
numbers of a batch are one long row. They are those of `jax.random`, to the last bit where no function of them is computed.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int, Key, UInt32

from fredholm.apart import kept_apart

GENERATOR = "threefry2x32"  # that of `jax.random.key`
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def split(key: Key[Array, ""], count: int = 2) -> Key[Array, "n"]:
    """`jax.random.split`."""
    if not _is_in_a_row(key):
        return jax.random.split(key, count)
    return _key(*_hashed(jax.random.key_data(key), jnp.arange(count, dtype=jnp.uint32)))


def fold_in(key: Key[Array, ""], number: int | Int[Array, ""]) -> Key[Array, ""]:
    """`jax.random.fold_in`."""
    if not _is_in_a_row(key):
        return jax.random.fold_in(key, number)
    first, second = _hashed(jax.random.key_data(key), jnp.asarray(number, jnp.uint32)[None])
    return _key(first[0], second[0])


def bits(key: Key[Array, ""], shape: tuple[int, ...]) -> UInt32[Array, "..."]:
    """`jax.random.bits`, 32 at a time."""
    if not _is_in_a_row(key):
        return jax.random.bits(key, shape, jnp.uint32)
    return _hashed_to_one(jax.random.key_data(key), jnp.arange(math.prod(shape), dtype=jnp.uint32)).reshape(shape)


def uniform(key: Key[Array, ""], shape: tuple[int, ...], low: float = 0.0, high: float = 1.0) -> Float[Array, "..."]:
    """`jax.random.uniform`."""
    if jnp.result_type(float) != jnp.float32:
        return jax.random.uniform(key, shape, minval=low, maxval=high)
    # The mantissa is random, the exponent is that of 1.
    number = jax.lax.bitcast_convert_type((bits(key, shape) >> 9) | np.uint32(0x3F800000), jnp.float32) - 1
    return jnp.maximum(low, number * (high - low) + low)


def standard_normals(key: Key[Array, ""], count: int) -> Float[Array, "n"]:
    """`jax.random.normal` for a shape (count,)."""
    low = float(np.nextafter(np.array(-1.0, jnp.result_type(float)), 0.0, dtype=jnp.result_type(float)))
    return jnp.sqrt(2.0) * _inverse_error_function(uniform(key, (count,), low, 1.0))


def _is_in_a_row(key: Key[Array, ""]) -> bool:
    """True on a CPU, where JAX's generator is a loop of five short programs for each draw; elsewhere it is a kernel of its own."""
    settings: Any = jax.config
    return jax.default_backend() == "cpu" and jax.random.key_impl(key) == GENERATOR and settings.jax_threefry_partitionable


def _key(first: UInt32[Array, "..."], second: UInt32[Array, "..."]) -> Key[Array, "..."]:
    return jax.random.wrap_key_data(jnp.stack([first, second], axis=-1), impl=GENERATOR)


def _batched(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays with any leading axes, for which a batch is one more."""
    batched: Any = custom_vmap(function)

    @batched.def_vmap
    def _(size: int, is_batched: list[bool], *arguments: Array) -> tuple[Any, Any]:
        given = [one if yes else jnp.broadcast_to(one, (size, *one.shape)) for one, yes in zip(arguments, is_batched, strict=True)]
        found = batched(*given)
        return found, jax.tree.map(lambda _: True, found)

    return batched


@_batched
def _hashed(words: UInt32[Array, "*b 2"], counters: UInt32[Array, "*b n"]) -> tuple[UInt32[Array, "*b n"], UInt32[Array, "*b n"]]:
    first, second = _two_words(*_rows(words, counters))
    return first.reshape(counters.shape), second.reshape(counters.shape)


@_batched
def _hashed_to_one(words: UInt32[Array, "*b 2"], counters: UInt32[Array, "*b n"]) -> UInt32[Array, "*b n"]:
    return _one_word(*_rows(words, counters)).reshape(counters.shape)


def _rows(words: UInt32[Array, "*b 2"], counters: UInt32[Array, "*b n"]) -> list[UInt32[Array, "m"]]:
    keys = (jnp.broadcast_to(words[..., word, None], counters.shape) for word in (0, 1))
    return [one.reshape(-1) for one in (*keys, counters)]


def _threefry(
    one: UInt32[Array, "m"], two: UInt32[Array, "m"], counters: UInt32[Array, "m"]
) -> tuple[UInt32[Array, "m"], UInt32[Array, "m"]]:
    """Threefry with 2 words of 32 bits and 20 rounds (Salmon et al., 2011) of the words (0, counter)."""
    words = (one, two, one ^ two ^ np.uint32(0x1BD11BDA))
    x, y = words[0], counters + words[1]
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x = x + y
            y = ((y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation))) ^ x
        x, y = x + words[(group + 1) % 3], y + words[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


@_batched
def _inverse_error_function(values: Float[Array, "..."]) -> Float[Array, "..."]:
    return _erf_inv(values.reshape(-1)).reshape(values.shape)


_two_words = kept_apart(_threefry)
_one_word = kept_apart(lambda *given: jnp.bitwise_xor(*_threefry(*given)))
_erf_inv = kept_apart(jax.lax.erf_inv)
