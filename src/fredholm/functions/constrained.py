"""Networks inside a form that meets conditions by construction."""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.functions.field import Field, Function
from fredholm.functions.frame import Frame
from fredholm.functions.protocol import AbstractNetwork, as_network

Form = Callable[..., Array]  # F(n, x)


class Constrained(AbstractNetwork):
    r"""$u(x) = F[n](x)$: a form that meets a condition by construction, whatever the network n is. The condition then needs no loss.

    `Constrained(MLP(64, 3), lambda n, x: 1.0 + x[0] * n(x))` has u(0) = 1; `lambda n, x: x[0] * (1 - x[0]) * n(x)` vanishes at both ends
    of the unit interval. A form written in Python is not in a run's folder: `load` and `resume` ask for `network=` again.

    Args:
        network (network): n: whatever solve(network=...) takes.
        form (function): F(n, x), of the shape of u(x); n(x) has that shape too.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> network = fr.Constrained(fr.MLP(16, 1), lambda n, x: 1.0 + x[0] * n(x))  # u(0) = 1

    See also:
        `Condition`, `MLP`.
    """

    network: AbstractNetwork = eqx.field(converter=as_network)  # n: whatever solve(network=...) takes
    form: Form  # F(n, x), of the shape of u(x); n(x) has that shape too

    def __check_init__(self):
        if not callable(self.form):
            raise ValueError(f"Constrained form: got {self.form!r}; expected a function of n and x, lambda n, x: x[0] * n(x).")

    def build(self, inputs: int, outputs: int, key: Key[Array, ""]) -> "Formed":
        return Formed(Field(self.network.build(inputs, outputs, key), {}, inputs, outputs), self.form)

    def fitted(self, frame: Frame, outputs: int) -> "Constrained":
        return dataclasses.replace(self, network=self.network.fitted(frame, outputs))

    def around(self, n: Function, inputs: int, outputs: int) -> "Formed":
        return Formed(Field(self.network.around(n, inputs, outputs), {}, inputs, outputs), self.form)

    def without_units(self) -> "Constrained":
        return dataclasses.replace(self, network=self.network.without_units())

    @property
    def needs_frame(self) -> bool:
        return self.network.needs_frame

    @property
    def needs_size(self) -> bool:
        return self.network.needs_size

    @property
    def residual_units(self) -> tuple[tuple[float, ...], ...]:
        return self.network.residual_units


class Formed(eqx.Module):
    """A network inside a form."""

    network: Field  # n
    form: Form  # F(n, x)

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "m"]:
        value, outputs = jnp.asarray(self.form(self.network, x)), self.network.outputs
        if value.shape != (outputs,) and not (outputs == 1 and value.shape == ()):
            raise ValueError(
                f"Constrained form: it returned shape {value.shape}; expected {'() or (1,)' if outputs == 1 else (outputs,)}, as u(x). "
                "x is a point of shape (d,), also for d = 1: a number is x[0], not x."
            )
        return jnp.reshape(value, (outputs,))


def form_of(network: AbstractNetwork) -> Form | None:
    """The form around a network, the user's own or one of built-in conditions; or None."""
    return getattr(network, "form", None)
