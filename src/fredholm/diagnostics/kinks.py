"""Kinks of u that derivatives do not see: a form with maximum, abs or where, in an equation with second derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.compiling import compiled_once
from fredholm.equation.equation import Equation
from fredholm.equation.estimate import draw, estimated
from fredholm.equation.probe import sample_points
from fredholm.equation.reference import reference_rules
from fredholm.equation.residual import Place, network_point
from fredholm.functions.field import Field

SEGMENTS, NODES = 32, 512  # lines through the domain along each axis, and points on each
MISSED = 0.1  # a jump of the slope above this share of all its changes along a line is a kink
PLACES = 4  # points at which it is asked whether the equation notices a second derivative
NARROW, NOTICED = (
    1e-3,
    1e-3,
)  # the width of the parabola that asks, as a share of the domain; the least change, as a share of that by a wide one


def kinks(equation: Equation, u: Field) -> str:
    """What is wrong with a u whose slope jumps along an axis whose second derivative is in the equation; empty where nothing is.

    Along a line the second derivatives must add up to the change of the slope. JAX's derivative of a kink is 0, so they do not.
    """
    points = network_point(sample_points(equation, SEGMENTS))
    if not isinstance(points, jax.Array) or points.shape != (SEGMENTS, u.inputs):
        return ""
    low, high = points.min(axis=0), points.max(axis=0)
    shares = _missed(u, points, low, high)
    axes = [axis for axis in range(u.inputs) if shares[axis] > MISSED and _notices(equation, u, axis, high - low)]
    if not axes:
        return ""
    names = ", ".join(f"x[{axis}]" for axis in axes)
    return (
        f"u has kinks along {names}, {max(shares[axis] for axis in axes):.0%} of all changes of its slope. The equation takes the second "
        "derivative, in which JAX leaves out what a kink adds: the residual is small where the equation does not hold. Use a smooth form, "
        "jax.nn.softplus(50.0 * s) / 50.0 for jnp.maximum(s, 0.0), or a Condition in its place; for a network of relu another activation."
    )


def _missed(u: Field, points: Float[Array, "n d"], low: Float[Array, "d"], high: Float[Array, "d"]) -> np.ndarray:
    """For each axis, the change of the slope that no second derivative explains, relative to all changes."""

    def line(point: Float[Array, "d"], axis: Float[Array, "d"]) -> tuple[Float[Array, "m"], Float[Array, "m"]]:
        width = jnp.dot(high - low, axis)

        def slope(s: Float[Array, ""]) -> Float[Array, "m"]:
            at = point * (1 - axis) + (low + s * (high - low)) * axis
            return jax.jvp(lambda p: jnp.atleast_1d(u(p)), (at,), (width * axis,))[1]

        inner = (jnp.arange(NODES) + 0.5) / NODES
        curved = jax.vmap(lambda s: jax.jvp(slope, (s,), (jnp.ones(()),))[1])(inner) / NODES
        change = slope(jnp.ones(())) - slope(jnp.zeros(()))
        return change - jnp.sum(curved, axis=0), jnp.abs(change) + jnp.sum(jnp.abs(curved), axis=0)

    @compiled_once
    def lines() -> tuple[Float[Array, "n d m"], Float[Array, "n d m"]]:
        return jax.lax.map(lambda point: jax.vmap(lambda axis: line(point, axis))(jnp.eye(points.shape[1])), points)

    missed, all_changes = (np.sqrt(np.mean(np.square(np.asarray(part, float)), axis=(0, 2))) for part in lines())
    return np.divide(missed, all_changes, out=np.zeros_like(missed), where=all_changes > 0)


def _notices(equation: Equation, u: Field, axis: int, width: Float[Array, "d"]) -> bool:
    """True where the residual at x changes with the second derivative there, and nothing else."""
    rules, width = reference_rules(equation, gauss=(8, 4), net=32), jnp.where(width > 0, width, 1.0)

    @compiled_once
    @jax.vmap
    def changes(x: Place) -> tuple[Float[Array, "e"], Float[Array, "e"]]:
        center, nodes = network_point(x), draw(equation, rules, x, jax.random.key(0))

        def with_parabola(is_local: bool) -> Float[Array, "e"]:
            def bent(p: Float[Array, "d"]) -> Float[Array, "m"]:
                s = (p - center) / width
                added = s[axis] ** 2 * jnp.exp(-jnp.sum((s / NARROW) ** 2)) if is_local else 1 + s[axis] + s[axis] ** 2
                return jnp.atleast_1d(u(p)) + added

            return estimated(equation, Field(bent, u.unknowns, u.inputs, u.outputs), x, nodes)

        own = estimated(equation, u, x, nodes)
        return jnp.abs(with_parabola(True) - own), jnp.abs(with_parabola(False) - own)

    local, whole = changes(sample_points(equation, PLACES, seed=17))
    return bool(jnp.max(local) > NOTICED * jnp.max(whole))
