"""What a layer of a network does to each number."""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
from jaxtyping import Array


@jax.custom_jvp
def silu(z: Array) -> Array:
    r"""$z\,s(z)$ with $s = \frac12 + \frac12\tanh\frac z2$, as `jax.nn.silu`, and its derivative $s + z s (1 - s)$ in closed form: a
    training of Poisson's equation, which differentiates it twice, takes a third less time than with the one that JAX derives."""
    return z * _logistic(z)


@silu.defjvp
def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (z,), (dz,) = primals, tangents
    s = _logistic(z)
    return z * s, dz * (s * (1 + z * (1 - s)))


def _logistic(z: Array) -> Array:
    return 0.5 + 0.5 * jnp.tanh(0.5 * z)


ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    "silu": silu,
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "sin": jnp.sin,
}


def with_derivatives(activation: str, z: Array, order: int) -> list[Array]:
    """The activation at z and its derivatives up to an order."""
    function, found = ACTIVATIONS[activation], []
    for _ in range(order + 1):
        found.append(function(z))
        function = _derivative(function)
    return found


def _derivative(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda z: jax.jvp(function, (z,), (jnp.ones_like(z),))[1]
