"""What a network was asked at a point is not asked again.

`fr.derivative(u, x) + u(x)` goes through the network once for both, and so does the gradient of the loss on its way back. The compiler
finds what is computed twice on the way forward; on the way back the two would meet different numbers, and it cannot.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array


class Memory:
    """Values of one function and its derivatives as linear maps, by the points where it was asked. It lasts for one trace of one residual
    at one x, and a point is known by being the same object: nothing is compared."""

    def __init__(self):
        self._known: list[tuple[Any, Array, Callable[[Array], Array] | None]] = []

    def value(self, function: Callable[[Any], Array], x: Any) -> Array:
        """function(x)."""
        for point, value, _ in self._known:
            if point is x:
                return value
        return self._kept(x, function(x), None)

    def slope(self, function: Callable[[Any], Array], x: Any, direction: Array) -> Array:
        """The derivative of the function at x along a direction."""
        for point, _, along in self._known:
            if point is x and along is not None:
                return along(direction)
        value, along = jax.linearize(function, jnp.asarray(x))
        self._kept(x, value, along)
        return along(direction)

    def _kept(self, x: Any, value: Array, along: Callable[[Array], Array] | None) -> Array:
        # What is computed inside of a branch or a loop ends with it. A value that belongs to the trace of its point lasts as long as that.
        of_point, of_value = (getattr(one, "_trace", None) for one in (x, value))
        if of_point is not None and of_point is of_value:
            self._known.insert(0, (x, value, along))
        return value
