"""`u` as the user's functions see it: the network with its learned scalars."""

from collections.abc import Callable, Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

Function = Callable[..., Array]  # u: takes one point, returns one value; its arrays are its parameters


class Field(eqx.Module):
    """`u(x)` of shape () for one output and (m,) for more, and learned scalars as attributes."""

    network: Function  # the network itself
    unknowns: dict[str, Float[Array, ""]]  # learned scalars by name
    inputs: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)

    def __call__(self, x: ArrayLike, *others: object) -> Float[Array, "..."]:
        if others:
            raise ValueError(f"u: got {1 + len(others)} arguments; expected one point: write u(jnp.stack([a, b])), or u(x) for all of x.")
        x = jnp.asarray(x)
        if x.shape != (self.inputs,):
            raise ValueError(
                f"u: got a point of shape {x.shape}; expected ({self.inputs},). x and t are points of shape (d,): "
                f"write u(t), not u(t[0]); to put a number back into a point use jnp.array([...]) or jnp.stack."
            )
        value = self.network(x)
        return jnp.reshape(value, ()) if self.outputs == 1 else value

    def __getattr__(self, name: str) -> Float[Array, ""]:
        unknowns = self.__dict__.get("unknowns", {})
        if name in unknowns:
            return unknowns[name]
        raise AttributeError(f"u has no {name!r}; learned scalars are named in Equation(unknowns={{...}}): {sorted(unknowns)}.")


def unknowns_of(u: Function) -> Mapping[str, Float[Array, ""]]:
    """The learned scalars of u; empty where u is a plain callable from the user's own loop."""
    return u.unknowns if isinstance(u, Field) else {}


def with_unknowns(u: Function, unknowns: Mapping[str, Float[Array, ""]]) -> Function:
    """u with other learned scalars."""
    return Field(u.network, dict(unknowns), u.inputs, u.outputs) if isinstance(u, Field) else u


class Evaluated:
    """u with its value and its derivative at one point precomputed, so that both come from one pass through the network.

    In the forward pass the compiler removes the repeated computation by itself. In the backward pass the two have different cotangents, and
    it cannot: a step of delayed targets in the weak form takes a fifth longer without this (`benchmarks/compiler_parts.py`).
    """

    def __init__(self, u: Function, x: Float[Array, "d"]):
        self._u, self._x = u, x
        self._value, self._along = jax.linearize(u, x)

    def __call__(self, x: Float[Array, "d"], *others: object) -> Float[Array, "..."]:
        return self._value if x is self._x and not others else self._u(x, *others)

    def slope(self, x: Float[Array, "d"], direction: Float[Array, "d"]) -> Float[Array, "..."]:
        """The derivative at x along a direction."""
        return self._along(direction) if x is self._x else jax.jvp(self._u, (x,), (direction,))[1]

    def __getattr__(self, name: str) -> object:
        return getattr(self._u, name)  # a learned scalar


def evaluated(u: Function, x: Float[Array, "d"] | None) -> Function:
    """u with its value and derivative at x precomputed; u itself where x is not a point of shape (d,)."""
    return Evaluated(u, x) if isinstance(u, Field) and isinstance(x, jax.Array) and x.shape == (u.inputs,) else u
