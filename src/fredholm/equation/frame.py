"""Finds the frame of an equation: the box in which it evaluates u."""

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.compiling import compiled_once
from fredholm.domains.base import AbstractDomain, Atoms, Base
from fredholm.domains.offline import Offline
from fredholm.equation.equation import Equation
from fredholm.equation.residual import AbstractResidual, Place, network_point
from fredholm.functions.field import Field
from fredholm.functions.frame import Frame

NEAR, FAR = 3.0, 30.0  # how far the nodes of an unbounded axis reach, in its own scale: u is evaluated without end where the box grows
MOST_AXES = 4  # up to here every corner is tried; beyond, random points only
DRAWN = 32  # random points x, and random nodes where there are too many corners
GROWN = 0.5  # an axis is unbounded where the far box is larger by this share of the near one
SAME = 1e-6  # edges that differ by less than this share of the width are one: the box is found in single precision


def frame_of(equation: Equation) -> Frame:
    """Finds the box by evaluating the residuals with a u that notes its arguments, at corners and at random points and nodes."""
    with jax.enable_x64(False):  # the callbacks run in another thread, which does not know of double precision
        near, has_end = _boxes(equation, NEAR)
        far = near if has_end else _boxes(equation, FAR)[0]
    own = box_of(equation.law) or near
    width = np.maximum(near[1] - near[0], np.finfo(float).tiny)
    near = tuple(np.where(np.abs(edge - known) < SAME * width, known, edge) for edge, known in zip(near, own, strict=True))
    below, above = near[0] - far[0] > GROWN * width, far[1] - near[1] > GROWN * width
    return Frame(*(tuple(values.tolist()) for values in (*near, below, above, *own)))


def box_of(law: AbstractDomain) -> tuple[np.ndarray, np.ndarray] | None:
    """The corners of the box of a law's points; None where x has no point."""
    with jax.enable_x64(True):
        point = network_point(compiled_once(lambda: _places(law, NEAR))())
        return None if point is None else _box(np.asarray(point))


def _boxes(equation: Equation, reach: float) -> tuple[tuple[np.ndarray, np.ndarray], bool]:
    """The box of all arguments of u, and whether all measures have ends."""
    seen: list[np.ndarray] = []
    bases: list[Base] = []
    u = Field(
        noting(seen, equation.outputs),
        {name: jnp.asarray(value, float) for name, value in equation.unknowns.items()},
        equation.inputs,
        equation.outputs,
    )

    @compiled_once
    def evaluate() -> tuple[Any, list[list[Array]]]:
        places = [_places(residual.law, reach) for residual in (equation, *equation.conditions)]
        parts = zip((equation, *equation.conditions), places, strict=True)
        return network_point(places[0]), [_values(residual, u, x, reach, bases) for residual, x in parts]

    point, _ = jax.block_until_ready(evaluate())
    everything = np.concatenate([np.reshape(part, (-1, equation.inputs)) for part in (*seen, *([] if point is None else [point]))])
    has_end = all(base.has_end for base in (*bases, *equation.law.bases))
    return _box(everything), has_end


def _box(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    finite = points[np.isfinite(points).all(axis=1)]
    finite = finite if len(finite) else np.zeros((1, points.shape[1]))
    return finite.min(axis=0), finite.max(axis=0)


def noting(seen: list[np.ndarray], outputs: int) -> Any:
    """A smooth u that notes every argument, under all transformations. Its derivatives depend on the argument too, so no evaluation can be
    optimised away."""

    def note(p: Any) -> np.ndarray:
        seen.append(np.array(p, float))
        return np.asarray(p)

    @jax.custom_jvp
    def noted(p: Float[Array, "d"]) -> Float[Array, "d"]:
        return jax.pure_callback(note, jax.ShapeDtypeStruct(p.shape, p.dtype), p, vmap_method="expand_dims")

    @noted.defjvp
    def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        return noted(*primals), tangents[0]

    def u(p: Float[Array, "d"]) -> Float[Array, "m"]:
        return jnp.full((outputs,), 1.0) + 1e-3 * jnp.sum(jnp.sin(noted(p)))

    return u


def _values(residual: AbstractResidual, u: Field, places: Any, reach: float, bases: list[Base]) -> list[Array]:
    """f and every integrand at these points x and at extreme nodes t; the bases of the measures are added to `bases`."""

    def at_one_point(x: Place) -> list[Array]:
        values = [residual.local_residual(u, x)]
        for integral in residual.integrals:
            measure = integral.measure(x)
            bases.extend(measure.bases)
            values.append(jax.vmap(lambda t, integral=integral: integral.integrand(u, x, t))(_extremes(measure, reach)))
        return values

    return jax.vmap(at_one_point)(places)


def _places(law: AbstractDomain, reach: float) -> Any:
    """Points of a law, stacked: random ones, and the images of its corners."""
    drawn = jax.vmap(law.sample)(jax.random.split(jax.random.key(3), DRAWN))
    if law.samples is not None or not law.bases:
        return drawn
    ends = law.extremes() if isinstance(law, Offline) else _extremes(law, reach)
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), drawn, ends)


def _extremes(measure: AbstractDomain, reach: float) -> Any:
    """The images of the corners and the middle of the base measure; random points where there are too many corners, or given samples."""
    if measure.samples is not None or not measure.bases or len(measure.bases) > MOST_AXES:
        return measure.draws(jax.random.key(4), min(DRAWN, measure.samples or DRAWN)).points
    corners = np.array(list(itertools.product(*(_ends(base, reach, len(measure.bases)) for base in measure.bases))))
    return jax.vmap(lambda z: measure.map(z)[0])(jnp.asarray(corners, float))


def _ends(base: Base, reach: float, axes: int) -> Sequence[float]:
    if isinstance(base, Atoms):
        return tuple(np.linspace(0, base.count - 1, min(base.count, 5)).round())
    if base is Base.NORMAL:
        return (-reach, 0.0, reach)
    if base is Base.HALF_LINE:
        return (0.0, reach / 2, reach)
    return (0.0, 0.25, 0.5, 0.75, 1.0) if axes <= 2 else (0.0, 0.5, 1.0)  # the quarters are the four sides of a circle
