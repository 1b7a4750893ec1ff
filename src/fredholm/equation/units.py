"""An equation in other units: every residual divided by its size, so that a training sees numbers near 1."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.domains.base import AbstractDomain, Place
from fredholm.equation.equation import Equation
from fredholm.equation.residual import AbstractCondition, Integral, as_vector, call
from fredholm.functions.field import Function
from fredholm.functions.protocol import AbstractNetwork
from fredholm.rules.base import AbstractRule

Unit = tuple[float, ...]  # a number for each value of a residual


class InUnits(AbstractCondition):
    """A condition whose residual is divided by a unit."""

    condition: AbstractCondition
    unit: Unit
    integrals: tuple[Integral, ...]
    weight: float
    batch: int | None

    def __init__(self, condition: AbstractCondition, unit: Unit):
        self.condition, self.unit, self.weight, self.batch = condition, unit, condition.weight, condition.batch
        self.integrals = tuple(_integral(one, unit) for one in condition.integrals)

    @property
    def law(self) -> AbstractDomain:
        return self.condition.law

    @property
    def is_weak(self) -> bool:
        return self.condition.is_weak

    def points(self, batch: int, rules: Sequence[AbstractRule], key: Key[Array, ""]) -> Any:
        return self.condition.points(batch, rules, key)

    def local_residual(self, u: Function, x: Place) -> Float[Array, "e"]:
        return _divided(self.condition.local_residual(u, x), self.unit)


def in_units(equation: Equation, units: Sequence[Unit]) -> Equation:
    """The equation and its conditions, each residual divided by its unit; the same equation where there are none."""
    if not units:
        return equation
    own, *others = units
    f, y = equation.f, equation.y
    parts = (
        None if f is None else lambda u, x: _divided(as_vector("f", f(u, x)), own),
        tuple(_integral(one, own) for one in equation.integrals),
        lambda x: _divided(as_vector("y", call(y, x)), own),
        tuple(InUnits(one, unit) for one, unit in zip(equation.conditions, others, strict=False)),  # a tile is without conditions
    )
    return eqx.tree_at(lambda e: (e.f, e.integrals, e.y, e.conditions), equation, parts, is_leaf=lambda part: part is None)


def trained(equation: Equation, network: AbstractNetwork) -> Equation:
    """The equation as a network of this recipe trains on it: in its units, and without the conditions that it meets by construction."""
    found = in_units(equation, network.residual_units)
    left = tuple(one for number, one in enumerate(found.conditions) if number not in network.built_in)
    return eqx.tree_at(lambda e: e.conditions, found, left) if len(left) < len(found.conditions) else found


def _integral(integral: Integral, unit: Unit) -> Integral:
    def g(u: Function, x: Place, t: Place) -> Float[Array, "e"]:
        return _divided(integral.integrand(u, x, t), unit)

    # Not a new integral: its checks want numbers, and these limits may be traced.
    return eqx.tree_at(lambda one: one.g, integral, g)


def _divided(values: Float[Array, "e"], unit: Unit) -> Float[Array, "e"]:
    return values / jnp.asarray(unit, values.dtype)
