"""Networks with conditions built in: the recipe, whose form is made from the conditions of an equation."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.functions.constrained import Form, Formed
from fredholm.functions.field import Field, Function
from fredholm.functions.frame import Frame
from fredholm.functions.protocol import AbstractNetwork, as_network


class Winding(eqx.Module):
    """An axis on which u is periodic."""

    axis: int
    low: float  # its first point
    period: float


class BuiltIn(AbstractNetwork):
    r"""A network n in a form that meets conditions of the equation, to rounding, whatever n is. The library writes the form.

    On the axis a, let the conditions be $\ell_j[u] = b_j$ at $x_a = c_j$, with $\ell_j$ a combination of u and its slopes along a. With
    polynomials $\varphi_j$ for which $\ell_i[\varphi_j] = \delta_{ij}$, and a polynomial D that vanishes as often at each $c_j$ as values
    and first slopes are given there,

    $$u = \sum_j \varphi_j(x_a)\,b_j + w - \sum_{j \in N} \varphi_j(x_a)\,\ell_j[w](x_a = c_j), \qquad w = D(x_a)\,n(x),$$

    where N are the conditions that D does not meet (slopes without a value: Neumann and Robin). Several axes are combined by transfinite
    interpolation (Gordon and Hall, 1973). A periodic axis becomes the input $(\cos, \sin)(2\pi x_a/p)$ of the network. Values at single
    points in several dimensions are interpolated with weights $1/|x - p_j|^2$.

    `Condition(..., exact=True)` wraps the network of a run by itself. `network=BuiltIn(MLP(32, 3))` builds in all conditions that can be.
    Conditions on a part of a face, on a combination of several outputs, on oblique slopes, on integrals and on data stay in the loss.
    Series and other linear classes have conditions as rows of their system.

    The form is made from the equation and is not in a run's folder: `load` needs the equation of the run, which is there where it is the
    library's own.

    Args:
        network: n, whatever `solve(network=...)` takes.
        conditions: the numbers of the conditions, from 0; default: all that can be built in.
        form: the form itself; the library makes it from the equation. Default: None.
        windings: the periodic axes; the library finds them. Default: ().

    Examples:
        >>> import fredholm as fr
        >>> network = fr.BuiltIn(fr.MLP(32, 3, "tanh"))  # fr.solve(problem, network=network)

    See also:
        `Constrained`, `Condition`, `MLP`.
    """

    network: AbstractNetwork = eqx.field(converter=as_network)  # n: whatever solve(network=...) takes
    conditions: tuple[int, ...] | None = None  # their numbers; None: all that can be built in
    form: Form | None = None  # F(n, x), from the equation
    windings: tuple[Winding, ...] = ()  # periodic axes, from the equation

    def arguments(self) -> dict[str, object]:
        """What a run's folder holds; the form is made again from the equation."""
        return {"network": self.network, "conditions": self.conditions}

    def build(self, inputs: int, outputs: int, key: Key[Array, ""]) -> Function:
        if self.form is None:
            raise ValueError("BuiltIn: its form is made from the conditions of the equation; give problem=, the equation of the run.")
        network = self.network.build(inputs + len(self.windings), outputs, key)
        return self._formed(Wound(network, self.windings) if self.windings else network, inputs, outputs)

    def _formed(self, network: Function, inputs: int, outputs: int) -> Formed:
        assert self.form is not None
        return Formed(Field(network, {}, inputs, outputs), self.form)

    def around(self, n: Function, inputs: int, outputs: int) -> Function:
        return self._formed(self.network.around(n, inputs, outputs), inputs, outputs)

    def fitted(self, frame: Frame, outputs: int) -> "BuiltIn":
        return dataclasses.replace(self, network=self.network.fitted(_wound(frame, self.windings), outputs))

    def without_units(self) -> "BuiltIn":
        return dataclasses.replace(self, network=self.network.without_units())

    @property
    def built_in(self) -> tuple[int, ...]:
        return self.conditions or ()

    @property
    def needs_frame(self) -> bool:
        return self.network.needs_frame

    @property
    def needs_size(self) -> bool:
        return self.network.needs_size

    @property
    def residual_units(self) -> tuple[tuple[float, ...], ...]:
        return self.network.residual_units


class Wound(eqx.Module):
    """A network whose periodic inputs are points of circles: each x_a becomes a cosine, and a sine at the end."""

    network: Function
    windings: tuple[Winding, ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, "d"]) -> Array:
        angles = [2 * jnp.pi * (x[winding.axis] - winding.low) / winding.period for winding in self.windings]
        for winding, angle in zip(self.windings, angles, strict=True):
            x = x.at[winding.axis].set(jnp.cos(angle))
        return self.network(jnp.concatenate([x, jnp.stack([jnp.sin(angle) for angle in angles])]))


def _wound(frame: Frame, windings: tuple[Winding, ...]) -> Frame:
    """The frame of the wound inputs."""

    def put(values: tuple, on_circle: object) -> tuple:
        inner = list(values)
        for winding in windings:
            inner[winding.axis] = on_circle
        return (*inner, *(on_circle for _ in windings))

    ends = {"low": -1.0, "high": 1.0, "below": False, "above": False, "domain_low": -1.0, "domain_high": 1.0}
    return dataclasses.replace(frame, **{name: put(getattr(frame, name), value) for name, value in ends.items()})
