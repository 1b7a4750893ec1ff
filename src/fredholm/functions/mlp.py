"""Perceptrons."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.common.checks import nearest, positive_integer
from fredholm.functions.frame import Frame
from fredholm.functions.protocol import AbstractNetwork
from fredholm.functions.rows_times import rows_times
from fredholm.functions.scaled import Scaled

WIDEST, DEEPEST = 100_000, 1_000  # beyond, something else is meant, and the memory would end
ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    "silu": jax.nn.silu,
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "sin": jnp.sin,
}


class MLP(AbstractNetwork):
    r"""A perceptron with `depth` hidden layers of `width` units and a linear output; weights and biases start in
    $U(\pm 1/\sqrt{\text{fan in}})$. Inputs and outputs are in the units of the equation, as `Scaled` has them.

    Args:
        width (int): units in each hidden layer; default: 64.
        depth (int): hidden layers; default: 3.
        activation (str): silu, tanh, relu, gelu or sin; default: 'silu'.
        scaled (bool): map the input to [-1, 1] and the output to the size of u, both found from the equation; default: True.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.MLP(width=32, depth=2)
        MLP(width=32, depth=2)

    See also:
        `Chebyshev`, `Constrained`, `Scaled`.
    """

    width: int = eqx.field(default=64, converter=lambda n: positive_integer("MLP width", n, most=WIDEST))  # units in each hidden layer
    depth: int = eqx.field(default=3, converter=lambda n: positive_integer("MLP depth", n, most=DEEPEST))  # hidden layers
    activation: str = "silu"  # silu, tanh, relu, gelu or sin
    scaled: bool = True  # map the input to [-1, 1] and the output to the size of u, both found from the equation

    def __check_init__(self):
        if not isinstance(self.activation, str) or self.activation not in ACTIVATIONS:
            raise nearest("activation", self.activation, ACTIVATIONS)

    def fitted(self, frame: Frame, outputs: int) -> AbstractNetwork:
        return Scaled(dataclasses.replace(self, scaled=False)).fitted(frame, outputs) if self.scaled else self

    @property
    def needs_frame(self) -> bool:
        return self.scaled

    @property
    def needs_size(self) -> bool:
        return self.scaled

    def build(self, inputs: int, outputs: int, key: Key[Array, ""]) -> "Perceptron":
        sizes = list(pairwise((inputs, *[self.width] * self.depth, outputs)))
        # The random numbers of all layers at once: one call for each layer takes ten times as long to compile.
        numbers = jax.random.uniform(key, (sum((rows + 1) * columns for rows, columns in sizes),), minval=-1.0, maxval=1.0)
        layers, used = [], 0
        for rows, columns in sizes:
            layer = numbers[used : used + (rows + 1) * columns].reshape(rows + 1, columns) / math.sqrt(rows)
            layers.append((layer[:-1], layer[-1]))
            used += layer.size
        return Perceptron(tuple(layers), self.activation)


class Perceptron(eqx.Module):
    r"""$x \mapsto \sigma(x W_1 + b_1) \cdots W_k + b_k$. The point is on the left of the weights: for many points, as rows of a matrix,
    that is one product of matrices, where $W x$ would transpose them before and after each layer."""

    layers: tuple[tuple[Float[Array, "_ _"], Float[Array, "_"]], ...]  # weights (in, out) and biases (out,)
    activation: str = eqx.field(static=True)

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "m"]:
        weights, biases = self.layers[-1]
        return rows_times([x, *self.hidden(x)][-1], weights) + biases

    def hidden(self, x: Float[Array, "d"]) -> list[Float[Array, "w"]]:
        """The outputs of every hidden layer."""
        sigma, outputs = ACTIVATIONS[self.activation], []
        for weights, biases in self.layers[:-1]:
            x = sigma(rows_times(x, weights) + biases)
            outputs.append(x)
        return outputs
