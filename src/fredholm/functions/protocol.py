"""The base class of networks: recipes that build u once the sizes of input and output are known."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Key

from fredholm.common.compiling import shapes_of
from fredholm.functions.field import Function
from fredholm.functions.frame import Frame


class AbstractNetwork(eqx.Module):
    """A recipe: it builds a network once the sizes of input and output are known."""

    @abstractmethod
    def build(self, inputs: int, outputs: int, key: Key[Array, ""]) -> Function:
        """A network that takes a point of shape (inputs,) to a value of shape (outputs,)."""

    def fitted(self, frame: Frame, outputs: int) -> "AbstractNetwork":
        """The same recipe with everything filled in that it takes from the equation, as scales. This is the one that run.json holds."""
        return self

    def without_units(self) -> "AbstractNetwork":
        """The same class of functions for another equation: its scales stay, and the units of the residuals are found anew."""
        return self

    @property
    def needs_frame(self) -> bool:
        """True where `fitted` has something to fill in."""
        return False

    @property
    def needs_size(self) -> bool:
        """True where `fitted` takes the size of u from the frame too, and not only the box."""
        return False

    def around(self, n: Function, inputs: int, outputs: int) -> Function:
        """u with the function n in place of the innermost network: n itself, unless there is a form around it."""
        return n

    @property
    def residual_units(self) -> tuple[tuple[float, ...], ...]:
        """The units in which the residuals of the equation and of its conditions are trained; empty: as they are."""
        return ()

    @property
    def built_in(self) -> tuple[int, ...]:
        """The numbers of the conditions that u meets by construction."""
        return ()

    @property
    def slabs(self) -> int:
        """The number of parts of the time that are trained one after the other."""
        return 1

    @property
    def is_series(self) -> bool:
        """True for a series that grows until it is resolved, with nodes that are as accurate."""
        return False

    @property
    def is_linear(self) -> bool:
        """True where u is linear in its parameters. A linear equation is then solved, and not trained."""
        return False


class OwnNetwork(AbstractNetwork):
    """The user's own network: a function `key -> network`, called for every seed, or one Equinox module that every seed starts from."""

    source: Callable[..., Any]

    def build(self, inputs: int, outputs: int, key: Key[Array, ""]) -> Function:
        network: Any = self.source if isinstance(self.source, eqx.Module) else self.source(key)
        shape = shapes_of(network, jax.ShapeDtypeStruct((inputs,), float))
        if shape.shape != (outputs,) and not (outputs == 1 and shape.shape == ()):
            raise ValueError(
                f"network: given a point of shape ({inputs},) it returns shape {shape.shape}; expected ({outputs},)"
                f"{' or ()' if outputs == 1 else ''}. Equation(inputs=..., outputs=...) sets what is expected."
            )
        return network


def as_network(network: object) -> AbstractNetwork:
    """The user's network as a recipe."""
    if isinstance(network, AbstractNetwork):
        return network
    if callable(network):
        return OwnNetwork(network)
    raise ValueError(f"network: got {network!r}; expected a recipe such as fr.MLP(64, 3), an Equinox module, or a function key -> module.")
