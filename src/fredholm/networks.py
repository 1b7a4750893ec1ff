"""The unknown function: a recipe for a network, and the network with its learned scalars as `u`."""

import math
from abc import abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.activations import ACTIVATIONS
from fredholm.checks import nearest, positive_integer
from fredholm.layer import layer
from fredholm.linear import rows_times
from fredholm.memory import Memory


class AbstractNetwork(eqx.Module):
    """A recipe: it builds a network once the sizes of input and output are known."""

    @abstractmethod
    def build(self, inputs: int, outputs: int, key: Key[Array, ""]) -> eqx.Module:
        """A network that takes a point of shape (inputs,) to a value of shape (outputs,)."""


class MLP(AbstractNetwork):
    r"""A perceptron with `depth` hidden layers of `width` units and a linear output; weights and biases start in
    $U(\pm 1/\sqrt{\text{fan in}})$, inputs and outputs are not scaled."""

    width: int = eqx.field(default=64, converter=lambda n: positive_integer("MLP width", n))  # units in each hidden layer
    depth: int = eqx.field(default=3, converter=lambda n: positive_integer("MLP depth", n))  # hidden layers
    activation: str = "silu"  # silu, tanh, relu, gelu or sin

    def __check_init__(self):
        if self.activation not in ACTIVATIONS:
            raise nearest("activation", self.activation, ACTIVATIONS)

    def build(self, inputs: int, outputs: int, key: Key[Array, ""]) -> "Perceptron":
        sizes = list(pairwise((inputs, *[self.width] * self.depth, outputs)))
        # One draw for all layers: a draw for each takes ten times as long to compile.
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
        for hidden in self.hidden(x):
            x = hidden
        weights, biases = self.layers[-1]
        return rows_times(x, weights) + biases

    def hidden(self, x: Float[Array, "d"]) -> list[Float[Array, "w"]]:
        """The outputs of every hidden layer."""
        outputs = []
        for weights, biases in self.layers[:-1]:
            x = layer(x, weights, biases, self.activation)
            outputs.append(x)
        return outputs


class Given(AbstractNetwork):
    """The user's own network: a function `key -> network`, called for every seed, or one Equinox module that every seed starts from."""

    source: Callable[..., Any]

    def build(self, inputs: int, outputs: int, key: Key[Array, ""]) -> Any:
        network: Any = self.source if isinstance(self.source, eqx.Module) else self.source(key)
        shape = eqx.filter_eval_shape(network, jax.ShapeDtypeStruct((inputs,), float))
        if shape.shape != (outputs,) and not (outputs == 1 and shape.shape == ()):
            raise ValueError(
                f"network: given a point of shape ({inputs},) it returns shape {shape.shape}; expected ({outputs},)"
                f"{' or ()' if outputs == 1 else ''}. Equation(inputs=..., outputs=...) sets what is expected."
            )
        return network


class Constrained(AbstractNetwork):
    r"""$u(x) = F[n](x)$: a form that meets a condition by construction, whatever the network n is, so that no loss has to.

    `Constrained(MLP(64, 3), lambda n, x: 1.0 + x[0] * n(x))` has u(0) = 1; `lambda n, x: x[0] * (1 - x[0]) * n(x)` vanishes at both ends
    of the unit interval. A form written in Python is not in a run's folder: `load` and `resume` ask for `network=` again.
    """

    network: Any = eqx.field(converter=lambda given: as_recipe(given))  # n: a recipe, or what solve(network=...) takes
    form: Callable[..., Any]  # F(n, x), of the shape of u(x); n(x) has that shape too

    def __check_init__(self):
        if not callable(self.form):
            raise ValueError(f"Constrained form: got {self.form!r}; expected a function of n and x, lambda n, x: x[0] * n(x).")

    def build(self, inputs: int, outputs: int, key: Key[Array, ""]) -> "Formed":
        return Formed(Field(self.network.build(inputs, outputs, key), {}, inputs, outputs), self.form)


class Formed(eqx.Module):
    """A network inside a form."""

    network: "Field"  # n
    form: Callable[..., Any]  # F(n, x)

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "m"]:
        value, outputs = jnp.asarray(self.form(self.network, x)), self.network.outputs
        if value.shape != (outputs,) and not (outputs == 1 and value.shape == ()):
            raise ValueError(
                f"Constrained form: it returned shape {value.shape}; expected {'() or (1,)' if outputs == 1 else (outputs,)}, as u(x). "
                "x is a point of shape (d,), also for d = 1: a number is x[0], not x."
            )
        return jnp.reshape(value, (outputs,))


def as_recipe(network: Any) -> AbstractNetwork:
    """What the user gave as a network, as a recipe."""
    if isinstance(network, AbstractNetwork):
        return network
    if callable(network):
        return Given(network)
    raise ValueError(f"network: got {network!r}; expected a recipe such as fr.MLP(64, 3), an Equinox module, or a function key -> module.")


class Field(eqx.Module):
    """`u` as the user's functions see it: `u(x)` of shape () for one output and (m,) for more, and learned scalars as attributes."""

    network: Any  # the network itself
    unknowns: dict[str, Float[Array, ""]]  # learned scalars by name
    inputs: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)
    memory: Memory | None = eqx.field(static=True, default=None)  # of what it was asked, while one residual is computed at one x

    def remembering(self) -> "Field":
        """The same with a memory, for one residual at one x."""
        return Field(self.network, self.unknowns, self.inputs, self.outputs, Memory())

    def __call__(self, x: Any, *others: Any) -> Float[Array, "..."]:
        if others:
            raise ValueError(f"u: got {1 + len(others)} arguments; expected one point: write u(jnp.stack([a, b])), or u(x) for all of x.")
        return self.compute(x) if self.memory is None else self.memory.value(self.compute, x)

    def compute(self, x: Any) -> Float[Array, "..."]:
        """u(x), whatever is remembered."""
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
