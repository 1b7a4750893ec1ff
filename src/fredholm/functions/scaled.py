"""Networks in the units of the equation: the input mapped to [−1, 1], the output to the size of u."""

import dataclasses
from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.common.checks import real, sequence
from fredholm.functions.field import Function
from fredholm.functions.frame import Frame
from fredholm.functions.protocol import AbstractNetwork, as_network

Given = tuple[float, ...] | None


def _floats(value: Sequence[float] | None) -> Given:
    return None if value is None else tuple(real("Scaled", one) for one in sequence("Scaled", value))


class Scaled(AbstractNetwork):
    r"""$u(x) = c + s\,n\big((x - m)/r\big)$: a network n whose input and output have sizes near 1, whatever the units of the equation.

    m and r map the box in which the equation evaluates u to [−1, 1] on every axis. On an axis without end the box reaches three scales of
    its measure. The map is affine there too: the weight of the integrals lies in the box, and a map of the whole axis to [−1, 1] would make
    every u that grows singular at its end. c and s are the shift and the size of u, from y, conditions and data, where they show it.

    `MLP` is scaled by itself. `Scaled(module)` scales a network of your own. What is not given is taken from the equation when `solve`
    starts, and recorded.

    Args:
        network (network): n: whatever solve(network=...) takes.
        center (numbers): m, a number for each input; None: from the equation.
        radius (numbers): r; default: None.
        shift (numbers): c, a number for each output; default: None.
        size (numbers): s; default: None.
        units (tuple): of the equation and of each condition: residuals are trained in these units; default: None.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> network = fr.Scaled(fr.MLP(16, 1, scaled=False), center=(2.5,), radius=(2.5,), shift=(0.0,), size=(1.0,))

    See also:
        `MLP`.
    """

    network: AbstractNetwork = eqx.field(converter=as_network)  # n: whatever solve(network=...) takes
    center: Given = eqx.field(default=None, converter=_floats)  # m, a number for each input; None: from the equation
    radius: Given = eqx.field(default=None, converter=_floats)  # r
    shift: Given = eqx.field(default=None, converter=_floats)  # c, a number for each output
    size: Given = eqx.field(default=None, converter=_floats)  # s
    units: tuple[tuple[float, ...], ...] | None = None  # of the equation and of each condition: residuals are trained in these units

    def __check_init__(self):
        for name, value in (("radius", self.radius), ("size", self.size)):
            if not all(one > 0 for one in value or ()):
                raise ValueError(
                    f"Scaled {name}: got {value!r}; expected positive numbers, one for each {'in' if name[0] == 'r' else 'out'}put."
                )

    def build(self, inputs: int, outputs: int, key: Key[Array, ""]) -> "Rescaled":
        network = self.network.build(inputs, outputs, key)
        center, radius = _numbers("center", self.center, inputs, 0.0), _numbers("radius", self.radius, inputs, 1.0)
        return Rescaled(network, center, radius, _numbers("shift", self.shift, outputs, 0.0), _numbers("size", self.size, outputs, 1.0))

    def fitted(self, frame: Frame, outputs: int) -> "Scaled":
        shift, size = frame.shift or (0.0,) * outputs, frame.size or (1.0,) * outputs
        found = {"center": frame.center, "radius": frame.radius, "shift": shift, "size": size, "units": frame.units}
        return dataclasses.replace(self, **{name: value for name, value in found.items() if getattr(self, name) is None})

    def without_units(self) -> "Scaled":
        return dataclasses.replace(self, units=None)

    @property
    def needs_frame(self) -> bool:
        return None in (self.center, self.radius, self.shift, self.size, self.units)

    @property
    def needs_size(self) -> bool:
        return None in (self.shift, self.size, self.units)

    @property
    def residual_units(self) -> tuple[tuple[float, ...], ...]:
        return self.units or ()


class Rescaled(eqx.Module):
    """A network between two affine maps, which are not trained."""

    network: Function  # n
    center: tuple[float, ...] = eqx.field(static=True)
    radius: tuple[float, ...] = eqx.field(static=True)
    shift: tuple[float, ...] = eqx.field(static=True)
    size: tuple[float, ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "m"]:
        shift, size = (jnp.asarray(one, x.dtype) for one in (self.shift, self.size))
        return shift + size * self.network(self.inside(x))

    def inside(self, x: Float[Array, "d"]) -> Float[Array, "d"]:
        """The point of the network."""
        return (x - jnp.asarray(self.center, x.dtype)) / jnp.asarray(self.radius, x.dtype)


def _numbers(name: str, given: Given, count: int, default: float) -> tuple[float, ...]:
    if given and len(given) != count:
        raise ValueError(f"Scaled {name}: got {len(given)} numbers; expected {count}, as the equation has.")
    return given or (default,) * count
