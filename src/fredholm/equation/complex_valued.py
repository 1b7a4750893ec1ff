"""Equations for a complex u: its real and imaginary parts are outputs of the network, and values of the residual."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from fredholm.domains.base import AbstractDomain, Place
from fredholm.equation.translation import AbstractTranslation, Value
from fredholm.functions.field import Function


class ComplexParts(AbstractTranslation):
    r"""$u = u_1 + i u_2$ as the two real outputs $(u_1, u_2)$: the user's functions see the complex u and return complex values."""

    def law(self, domain: AbstractDomain) -> AbstractDomain:
        return domain

    def seen(self, u: Function, x: Place) -> tuple[Function, Place]:
        return ComplexFunction(u), x

    def value(self, value: Value) -> Value:
        if callable(value):
            return super().value(value)
        parts = np.atleast_1d(np.asarray(value))
        return np.concatenate([np.real(parts), np.imag(parts)]) if parts.any() else 0.0

    def called(self, function: Callable[..., Any], x: Place, *others: Any) -> Any:
        return function(x, *others)

    def returned(self, value: Any) -> Any:
        parts = jnp.atleast_1d(jnp.asarray(value))
        return jnp.concatenate([parts.real, parts.imag])


class ComplexFunction(eqx.Module):
    """A function with 2m real outputs as one with m complex outputs."""

    parts: Function  # first the real parts of all outputs, then the imaginary ones

    def __call__(self, x: Float[Array, "d"], *others: object) -> Complex[Array, "..."]:
        values = self.parts(x, *others)
        count = values.shape[-1] // 2
        made = values[:count] + 1j * values[count:]
        return made[0] if count == 1 else made

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["parts"], name)  # a parameter, or a learned scalar
