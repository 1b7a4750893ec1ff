"""The equation of one time slab: its points, and its conditions, with the slab before in place of the first time."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from fredholm.domains.base import AbstractDomain, Base, Place, Record
from fredholm.domains.combined import Point, Product
from fredholm.domains.flat import Box, Interval
from fredholm.equation.conditions import Data
from fredholm.equation.equation import Equation
from fredholm.equation.residual import AbstractCondition, Integral
from fredholm.equation.view import axis_number
from fredholm.functions.field import Function
from fredholm.functions.protocol import AbstractNetwork
from fredholm.functions.slabs import Slabs
from fredholm.rules.base import AbstractRule


def with_slabs(network: AbstractNetwork, problem: Equation) -> AbstractNetwork:
    """The network with the times of its slabs, where it has slabs."""
    if not isinstance(network, Slabs) or network.ends is not None:
        return network
    axis = axis_number("Slabs", network.axis, problem.view.inputs, problem.inputs)
    low, high = _range_of(problem.domain, axis)
    for condition in problem.conditions:
        if condition.integrals or isinstance(condition, Data):
            raise ValueError(
                f"Slabs: got {type(condition).__name__}; expected conditions at points and faces, which belong to one slab each."
            )
    ends = tuple(low + (high - low) * number / network.count for number in range(network.count + 1))
    return dataclasses.replace(network, axis=axis, ends=ends)


def _range_of(domain: AbstractDomain, axis: int) -> tuple[float, float]:
    """The first and the last time of a domain, which must be an interval of its own."""
    start = 0
    for part in domain.parts if isinstance(domain, Product) else (domain,):
        if start <= axis < start + part.dimension:
            if isinstance(part, Interval):
                return float(part.low), float(part.high)
            if isinstance(part, Box):
                return float(part.low[axis - start]), float(part.high[axis - start])
        start += part.dimension
    raise ValueError(f"Slabs: axis {axis} of {type(domain).__name__} is not an Interval or a side of a Box; only these are cut into slabs.")


def in_slab(equation: Equation, slabs: Slabs, stage: Int[Array, ""]) -> Equation:
    """The equation on one slab; u has the frozen networks of the earlier ones in it."""
    assert slabs.ends is not None
    assert isinstance(slabs.axis, int)
    ends = jnp.asarray(slabs.ends, float)
    part = Part(slabs.axis, slabs.ends[0], slabs.ends[-1], ends[stage], ends[stage + 1], stage)
    conditions = tuple(OnSlab(one, part) for one in equation.conditions)
    return eqx.tree_at(lambda e: (e.domain, e.conditions), equation, (Slab(equation.domain, part), conditions))


class Part(eqx.Module):
    """A part of the time."""

    axis: int = eqx.field(static=True)
    first: float = eqx.field(static=True)  # of all times
    last: float = eqx.field(static=True)
    low: Float[Array, ""]  # of this slab
    high: Float[Array, ""]
    stage: Int[Array, ""]

    def inside(self, x: Any) -> Any:
        """The point with its time moved into the slab in proportion; every point of a record."""
        if isinstance(x, Record):
            return Record(**{name: self.inside(value) for name, value in vars(x).items()})
        share = (x[self.axis] - self.first) / (self.last - self.first)
        return x.at[self.axis].set(self.low + share * (self.high - self.low))

    def begin(self, x: Any) -> Any:
        """The point at the first time of the slab."""
        if isinstance(x, Record):
            return Record(**{name: self.begin(value) for name, value in vars(x).items()})
        return x.at[self.axis].set(self.low)


class Slab(AbstractDomain):
    """A domain with its times moved into a slab. Uniform times stay uniform."""

    base: AbstractDomain
    part: Part

    @property
    def dimension(self) -> int:
        return self.base.dimension

    @property
    def bases(self) -> tuple[Base, ...]:
        return self.base.bases

    @property
    def mass(self) -> Any:
        return self.base.mass

    def map(self, z: Float[Array, "k"]) -> tuple[Any, Float[Array, ""]]:
        point, weight = self.base.map(z)
        return self.part.inside(point), weight

    def sample(self, key: Key[Array, ""]) -> Any:
        return self.part.inside(self.base.sample(key))


class OnSlab(AbstractCondition):
    """A condition on one slab: at the first time, the same of u as of the slab before; at all times, at those of the slab; at another
    time, only in its slab."""

    condition: AbstractCondition
    part: Part
    weight: Any
    batch: int | None
    integrals: tuple[Integral, ...] = ()

    def __init__(self, condition: AbstractCondition, part: Part):
        self.condition, self.part, self.batch = condition, part, condition.batch
        at = _time_of(condition.law, part.axis)
        is_here = True if at is None or at == part.first else (part.low < at) & (at <= part.high)
        self.weight = condition.weight * jnp.asarray(is_here, float)

    @property
    def law(self) -> AbstractDomain:
        return self.condition.law

    def points(self, batch: int, rules: Sequence[AbstractRule], key: Key[Array, ""]) -> Any:
        found = self.condition.points(batch, rules, key)
        return jax.vmap(self.part.inside)(found) if _time_of(self.law, self.part.axis) is None else found

    def local_residual(self, u: Function, x: Place) -> Float[Array, "e"]:
        if _time_of(self.law, self.part.axis) != self.part.first:
            return self.condition.local_residual(u, x)
        network: Any = u.network  # type: ignore[attr-defined]
        before = network.at_stage(jnp.maximum(self.part.stage - 1, 0))
        arrays, static = eqx.partition(eqx.tree_at(lambda f: f.network, u, before), eqx.is_array)
        past = eqx.combine(jax.lax.stop_gradient(arrays), static)
        there = self.part.begin(x)
        now = self.condition.local_residual(u, there)
        return now - jnp.where(self.part.stage == 0, 0.0, self.condition.local_residual(past, there))


def _time_of(law: AbstractDomain, axis: int) -> float | None:
    """The one time at which a law has its points; None where it has many."""
    law = getattr(law, "at", law)  # a pair of faces
    start = 0
    for part in law.parts if isinstance(law, Product) else (law,):
        if start <= axis < start + part.dimension:
            return float(part.coordinates[axis - start]) if isinstance(part, Point) else None
        start += part.dimension
    return None
