"""How large u is, as far as the equation shows it before anything is trained: from y, conditions and data, and the response of f."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fredholm.common.compiling import compiled_once
from fredholm.domains.base import Place
from fredholm.equation.equation import Equation
from fredholm.equation.estimate import draw, estimated
from fredholm.equation.reference import reference_rules
from fredholm.equation.residual import AbstractCondition, AbstractResidual
from fredholm.functions.field import Field
from fredholm.functions.frame import Frame
from fredholm.functions.protocol import AbstractNetwork

POINTS = 32  # points x of each residual
GAUSS, NET = (12, 4), 64  # nodes of the integrals: the order of magnitude is enough
WAVES = 3  # axes along which a wave is tried
EXPLAINED = 0.1  # a constant is taken off u where what is left is smaller by this factor
SMALLEST = 1e-3  # what is left beside a constant is at least this share of it
USUAL = 100.0  # residuals whose sizes lie within this factor of 1 are trained as they are


class _Response(NamedTuple):
    """One residual, as the host sees it: with a constant as u, and its slopes along probes of every output: a constant, then waves."""

    load: np.ndarray  # (n, e)
    slopes: np.ndarray  # (q, m, n, e)

    def gains(self, by_waves: bool = False) -> np.ndarray:
        """How much each value of the residual changes with each output, (m, e): by waves, whose mean square is 1/2, or by a constant."""
        if not self.slopes.size:
            return np.zeros((self.slopes.shape[1], self.slopes.shape[-1]))
        squares = np.mean(self.slopes**2, axis=2)
        waves = 2 * squares[1:].mean(axis=0)
        return np.sqrt(waves if by_waves else np.maximum(squares[0], waves))

    @property
    def size(self) -> np.ndarray:
        """The load in the mean square over x, (e,)."""
        return np.sqrt(np.mean(self.load**2, axis=0)) if self.load.size else np.zeros(self.load.shape[-1])


def sized(frame: Frame, equation: Equation, network: AbstractNetwork) -> Frame:
    """The frame with the shift and the size of the innermost network, and with the units of the residuals.

    u = 0 leaves in each residual its load, as y and the values of conditions. A constant and waves of size 1, one period of which fills the
    box, change the residual by its gain. The network must be as large as the load over the gain, for the residual in which that is most.
    A constant is taken off where that makes it much smaller. Sizes are powers of 2, so that they do not depend on rounding.
    """
    outputs = equation.outputs
    nothing = np.zeros(outputs)
    with jax.enable_x64(True):
        measures = [_measure(one, equation, network, frame, number) for number, one in enumerate((equation, *equation.conditions))]
        at_zero = [measure(nothing) for measure in measures]
        plain = _sizes(at_zero)
        if plain is None:
            return dataclasses.replace(frame, units=_units(at_zero, np.ones(outputs)))
        constant = _constant(at_zero, outputs)
        at_constant = [measure(constant) for measure in measures]
    beside = _sizes(at_constant, by_waves=True)
    beside = nothing if beside is None else beside  # u is this constant
    is_shifted = beside < EXPLAINED * plain
    size = np.where(is_shifted, np.maximum(_power_of_two(beside), _power_of_two(SMALLEST * np.abs(constant))), _power_of_two(plain))
    shift = np.where(is_shifted, np.round(constant / size) * size, 0.0)
    return dataclasses.replace(
        frame, shift=tuple(shift.tolist()), size=tuple(size.tolist()), units=_units(at_constant if is_shifted.all() else at_zero, size)
    )


def _measure(
    residual: AbstractResidual, equation: Equation, network: AbstractNetwork, frame: Frame, number: int
) -> Callable[[np.ndarray], _Response]:
    """`measure(constant)`: the response of a residual near a constant in place of the network."""
    rules, inputs, outputs = reference_rules(residual, gauss=GAUSS, net=NET), equation.inputs, equation.outputs
    unknowns = {name: jnp.asarray(value, float) for name, value in equation.unknowns.items()}
    directions, phases = _probes(inputs)
    center, radius = jnp.asarray(frame.center), jnp.asarray(frame.radius)

    @compiled_once
    def compute(constant: Float[Array, "m"]) -> tuple[Float[Array, "n e"], Float[Array, "n q m e"]]:
        of_points, of_nodes = jax.random.split(jax.random.fold_in(jax.random.key(6), number))
        points = _points(residual, rules, of_points)

        def at_one_point(x: Place, key: Key[Array, ""]) -> tuple[Float[Array, "e"], Float[Array, "q m e"]]:
            nodes = draw(residual, rules, x, key)

            def along(direction: Float[Array, "d"], phase: Float[Array, ""], output: Float[Array, "m"]) -> Any:
                def value(amplitude: Float[Array, ""]) -> Float[Array, "e"]:
                    def n(p: Float[Array, "d"]) -> Float[Array, "m"]:
                        wave = jnp.cos(jnp.dot(direction, (p - center) / radius) + phase)
                        return (constant + amplitude * wave * output).astype(p.dtype)

                    u = Field(network.around(n, inputs, outputs), unknowns, inputs, outputs)
                    return estimated(residual, u, x, nodes)

                return jax.jvp(value, (jnp.zeros(()),), (jnp.ones(()),))

            each = jax.vmap(jax.vmap(along, in_axes=(None, None, 0)), in_axes=(0, 0, None))
            values, slopes = each(directions, phases, jnp.eye(outputs))
            return values[0, 0], slopes

        return jax.vmap(at_one_point)(points, jax.random.split(of_nodes, len(jax.tree.leaves(points)[0])))

    def measure(constant: np.ndarray) -> _Response:
        load, slopes = (np.asarray(part, float) for part in compute(jnp.asarray(constant)))
        slopes = np.moveaxis(slopes, 0, 2)
        kept = np.isfinite(load).all(axis=-1) & np.isfinite(slopes).all(axis=(0, 1, 3))  # an f may not be defined for this u
        return _Response(load[kept], slopes[:, :, kept])

    return measure


def _probes(inputs: int) -> tuple[Float[Array, "q d"], Float[Array, "q"]]:
    """A constant, and sines and cosines along some axes: π in units of the radius is one period in the box."""
    axes = np.eye(inputs)[:WAVES]
    directions = np.concatenate([np.zeros((1, inputs)), math.pi * axes, math.pi * axes])
    return jnp.asarray(directions), jnp.asarray([0.0] + [0.0] * len(axes) + [math.pi / 2] * len(axes))


def _points(residual: AbstractResidual, rules: Sequence[Any], key: Key[Array, ""]) -> Any:
    if isinstance(residual, AbstractCondition) and residual.batch is None:
        return residual.points(POINTS, rules, key)  # all rows of data
    return jax.vmap(residual.law.sample)(jax.random.split(key, POINTS))


def _sizes(responses: Sequence[_Response], by_waves: bool = False) -> np.ndarray | None:
    """The size of each output; None where no residual has a load.

    A residual that one output changes alone decides on that output. What several outputs change counts where nothing else does.
    """
    own, shared = [[0.0] for _ in range(responses[0].slopes.shape[1])], [0.0]
    for response in responses:
        for load, gains in zip(response.size, response.gains(by_waves).T, strict=True):
            changed = np.flatnonzero(gains > 0)
            if len(changed):
                (own[changed[0]] if len(changed) == 1 else shared).append(load / float(np.linalg.norm(gains)))
    largest = max(max(shared), *map(max, own))
    found = np.array([max(one) if max(one) > SMALLEST * max(shared) else max(shared) for one in own])
    return np.where(found > 0, found, largest) if largest > 0 else None


def _constant(responses: Sequence[_Response], outputs: int) -> np.ndarray:
    """The constant with the least residuals, each in units of its gain."""
    rows, right = [np.zeros((1, outputs))], [np.zeros(1)]
    for response in responses:
        gains = np.linalg.norm(response.gains(), axis=0)  # (e,)
        for value in np.flatnonzero(gains > 0):
            weight = 1 / gains[value] / math.sqrt(len(response.load))
            rows.append(weight * response.slopes[0, :, :, value].T)
            right.append(-weight * response.load[:, value])
    return np.linalg.lstsq(np.concatenate(rows), np.concatenate(right), rcond=None)[0]


def _units(responses: Sequence[_Response], size: np.ndarray) -> tuple[tuple[float, ...], ...]:
    """The size of each value of each residual; empty where all are near 1, and then they are trained as they are."""
    found = []
    for response in responses:
        usual = np.maximum(response.size, np.linalg.norm(size[:, None] * response.gains(), axis=0))
        found.append(_power_of_two(np.where(usual > 0, usual, 1.0)))
    if all(np.all((unit < USUAL) & (unit > 1 / USUAL)) for unit in found):
        return ()
    return tuple(tuple(unit.tolist()) for unit in found)


def _power_of_two(values: np.ndarray) -> np.ndarray:
    return 2.0 ** np.round(np.log2(np.maximum(values, np.finfo(float).tiny)))
