"""Does the exact solution satisfy the equation? Its residual, with the error bar of the integrals."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.compiling import compiled_once
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import draw, estimate
from fredholm.equation.probe import measures_of, sample_points
from fredholm.equation.reference import independent_rule, reference_rule
from fredholm.equation.residual import AbstractResidual, Place, as_vector
from fredholm.functions.field import Field
from fredholm.rules.base import AbstractRule

PLACES = 32  # points x
NODES, REPLICATES = 1 << 10, 8  # of a scrambled net, which gives each integral with an error bar
TOLERANCE = 1e-3  # a residual below this share of the equation's terms is none
WRONG = 0.25  # the share of points with a residual from which on the solution is called wrong; a few may lie at singularities


class Truth(eqx.Module):
    """The exact solution as a network."""

    exact: Callable[..., Any] | None

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "m"]:
        assert self.exact is not None
        return as_vector("exact", self.exact(x))


class ExactResidual(eqx.Module):
    """What the exact solution leaves of the equation, or of a condition."""

    where: str  # "the equation", "condition 1"
    size: float  # the median |residual| over the points
    error: float  # its median standard error
    scale: float  # the median size of the terms that should cancel
    wrong: float  # the share of points where the residual is neither noise nor small

    @property
    def is_wrong(self) -> bool:
        """True where it is not a solution."""
        return self.wrong >= WRONG

    def __str__(self) -> str:
        return f"{self.where}: residual {self.size:.1e} ± {self.error:.1e}, from terms of size {self.scale:.1e}"


def exact_residuals(equation: Equation) -> list[ExactResidual]:
    """The residuals of the exact solution, in double precision, with integrals that have converged."""
    with jax.enable_x64(True):
        equation = equation.realize(jax.random.key(0))
        u = Field(Truth(equation.exact), {}, equation.inputs, equation.outputs)
        rules = [rule for residual in (equation, *equation.conditions) for rule in _converged(residual)]
        return [
            _residual(f"condition {number}" if number else "the equation", residual, own, u)
            for number, (residual, own) in enumerate(residuals(equation, rules))
        ]


def _converged(residual: AbstractResidual) -> list[AbstractRule]:
    """Scrambled nets, whose replicates give an error bar; every atom, every given sample."""
    return [
        reference_rule(measure) if measure.samples is not None else independent_rule(measure, net=NODES)
        for measure in measures_of(residual)
    ]


def _residual(where: str, residual: AbstractResidual, rules: Sequence[AbstractRule], u: Field) -> ExactResidual:
    points = sample_points(residual, PLACES, seed=4)

    @compiled_once
    @jax.vmap
    def parts(x: Place) -> tuple[Float[Array, "e"], Float[Array, "r e"]]:
        local = residual.local_residual(u, x)
        keys = jax.random.split(jax.random.key(5), REPLICATES)
        inside = jax.lax.map(lambda key: estimate(residual, u, x, draw(residual, rules, x, key)), keys)
        return local, residual.sign * inside * jnp.ones_like(local)[None]

    local, inside = (np.asarray(part) for part in parts(points))
    total = local + inside.mean(axis=1)
    error = inside.std(axis=1, ddof=1) / np.sqrt(REPLICATES)
    scale = np.maximum(np.abs(local), np.abs(inside.mean(axis=1)))
    # A residual that should be small everywhere is measured by the terms' usual size, not by where they happen to vanish.
    usual = float(np.median(scale))
    wrong = ~np.isfinite(total) | (np.abs(total) > 6 * error + TOLERANCE * np.maximum(usual, 1e-12))
    if not residual.integrals and where != "the equation":
        usual = 1.0  # A pointwise condition holds both sides in one number: small is small beside 1.
        wrong = ~np.isfinite(total) | (np.abs(total) > TOLERANCE)
    return ExactResidual(where, float(np.median(np.abs(total))), float(np.median(error)), usual, float(wrong.any(axis=-1).mean()))
