"""Time slabs: a network for each part of the time, trained one after the other."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from fredholm.common.checks import positive_integer
from fredholm.functions.field import Function
from fredholm.functions.frame import Frame
from fredholm.functions.mlp import MLP
from fredholm.functions.protocol import AbstractNetwork, as_network


class Slabs(AbstractNetwork):
    r"""Time marching: $u(x) = n_k(x)$ for $t_k < x_a < t_{k+1}$, with equal parts of the time and a network $n_k$ for each.

    The steps of a run are shared out over the slabs. In its share a slab is trained alone: points x lie in it, integrals over the past use
    the earlier networks, which are frozen, and optimiser and learning rate begin anew. A slab begins with the network of the one before; in
    place of a condition at the first time it has the same condition on the values of the one before at $t_k$.

    Args:
        axis: a, the axis of time: its number, or its letter in `View(inputs=("x", "t"))`; in one dimension any letter.
        count: the number of slabs.
        network: what `solve(network=...)` takes, for each slab.
        ends: the times between the slabs; the library finds them from the equation. Default: None.

    Examples:
        >>> import fredholm as fr
        >>> network = fr.Slabs("t", 4, fr.MLP(32, 3, "tanh"))  # fr.solve(problem, network=network)

    See also:
        `Causal`, `MLP`.
    """

    axis: int | str  # a: the number of the axis of time, or its letter
    count: int = eqx.field(default=4, converter=lambda n: positive_integer("Slabs count", n, most=100))  # slabs
    network: AbstractNetwork = eqx.field(default=MLP(64, 3, "tanh"), converter=as_network)  # of each slab
    ends: tuple[float, ...] | None = None  # the times between slabs, first and last included; None: from the equation

    def build(self, inputs: int, outputs: int, key: Key[Array, ""]) -> "Sewn":
        networks = eqx.filter_vmap(lambda one: self.network.build(inputs, outputs, one))(jax.random.split(key, self.count))
        axis = self.axis if isinstance(self.axis, int) else 0
        return Sewn(networks, jnp.zeros((), int), axis, self.ends or tuple(map(float, range(self.count + 1))))

    def fitted(self, frame: Frame, outputs: int) -> "Slabs":
        assert self.ends is not None
        assert isinstance(self.axis, int)
        high = list(frame.high)
        high[self.axis] = self.ends[1]  # each network is in the coordinates of the first slab
        return dataclasses.replace(self, network=self.network.fitted(dataclasses.replace(frame, high=tuple(high)), outputs))

    def without_units(self) -> "Slabs":
        return dataclasses.replace(self, network=self.network.without_units())

    @property
    def slabs(self) -> int:
        return self.count

    @property
    def needs_frame(self) -> bool:
        return self.network.needs_frame

    @property
    def needs_size(self) -> bool:
        return self.network.needs_size

    @property
    def residual_units(self) -> tuple[tuple[float, ...], ...]:
        return self.network.residual_units


class Sewn(eqx.Module):
    """The networks of all slabs. That of the slab `stage` is trained, the earlier ones are frozen; later times have the one of `stage`."""

    networks: Function  # stacked over the slabs
    stage: Int[Array, ""]
    axis: int = eqx.field(static=True)
    ends: tuple[float, ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "m"]:
        arrays, static = eqx.partition(self.networks, eqx.is_array)
        ends = jnp.asarray(self.ends, x.dtype)

        def at(one: Function, slab: Int[Array, ""]) -> Float[Array, "m"]:
            return jnp.atleast_1d(eqx.combine(one, static)(x.at[self.axis].add(ends[0] - ends[slab])))

        own = at(jax.tree.map(lambda leaf: leaf[self.stage], arrays), self.stage)
        slab = jnp.minimum(jnp.sum(x[self.axis] >= ends[1:-1]), self.stage)
        frozen = jax.vmap(at)(jax.lax.stop_gradient(arrays), jnp.arange(len(self.ends) - 1))
        return jnp.where(slab == self.stage, own, frozen[slab])

    def next(self) -> "Sewn":
        """The next slab in training, from the network of this one."""
        last = len(self.ends) - 2
        after = jnp.minimum(self.stage + 1, last)
        networks = jax.tree.map(lambda leaf: leaf.at[after].set(leaf[self.stage]) if eqx.is_inexact_array(leaf) else leaf, self.networks)
        return Sewn(networks, after, self.axis, self.ends)

    def at_stage(self, stage: Int[Array, ""]) -> "Sewn":
        """The function when this slab is the last one."""
        return Sewn(self.networks, stage, self.axis, self.ends)
