"""Does the exact solution satisfy the equation? Its residual, with the error bars of the integrals."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.compiling import compiled_once
from fredholm.diagnostics.moments import Moments, moments
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import draw, estimate
from fredholm.equation.probe import measures_of, sample_points
from fredholm.equation.reference import independent_rule, reference_rule
from fredholm.equation.residual import AbstractResidual, Place, as_vector
from fredholm.functions.field import Field
from fredholm.rules.base import AbstractRule

PLACES = 32  # points x
NODES, REPLICATES = 1 << 10, 8  # of scrambled nets, which give each integral an error bar
TOLERANCE = 1e-3  # a residual below this share of the equation's terms counts as zero
WRONG = 0.25  # from this share of points with a residual on, the solution is wrong; a few points may lie at singularities


class Truth(eqx.Module):
    """The exact solution as a network."""

    exact: Callable[..., Any] | None

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "m"]:
        assert self.exact is not None
        return as_vector("exact", self.exact(x))


class ExactResidual(eqx.Module):
    """The residual of the exact solution in the equation, or in a condition."""

    where: str  # "the equation", "condition 1"
    size: float  # the median |residual| over the points
    error: float  # its median standard error
    scale: float  # the median size of the terms that should cancel
    wrong: float  # the share of points where the residual is neither small nor explained by noise

    @property
    def is_wrong(self) -> bool:
        """True where `exact` does not satisfy the equation."""
        return self.wrong >= WRONG

    def __str__(self) -> str:
        return f"{self.where}: residual {self.size:.1e} ± {self.error:.1e}, from terms of size {self.scale:.1e}"


def exact_residuals(equation: Equation) -> list[ExactResidual]:
    """The residuals of the exact solution, in double precision, with converged integrals."""
    with jax.enable_x64(True):
        equation = equation.realize(jax.random.key(0))
        u = Field(Truth(equation.exact), {}, equation.inputs, equation.outputs)
        rules = [rule for residual in (equation, *equation.conditions) for rule in _converged(residual)]
        averaged = moments(equation, u)
        return [
            _in_the_mean(averaged)
            if averaged is not None and not number
            else _residual(f"condition {number}" if number else "the equation", residual, own, u)
            for number, (residual, own) in enumerate(residuals(equation, rules))
        ]


def _in_the_mean(found: Moments) -> ExactResidual:
    """Given samples are noisy at every x: there only means over many x tell a wrong solution from noise."""
    wrong = 1.0 if found.is_wrong and found.low > TOLERANCE else 0.0
    return ExactResidual("the equation, in the mean over its rows", found.relative, (found.high - found.low) / 4, 1.0, wrong)


def _converged(residual: AbstractResidual) -> list[AbstractRule]:
    """A rule for each integral: scrambled nets, whose replicates give an error bar; for given samples, all of them."""
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
    # The residual is compared with the usual size of the terms: at a single point they may happen to vanish.
    usual = float(np.median(scale))
    wrong = ~np.isfinite(total) | (np.abs(total) > 6 * error + TOLERANCE * np.maximum(usual, 1e-12))
    if not residual.integrals and where != "the equation":
        usual = 1.0  # A pointwise condition is one number, value minus wanted value, so there are no terms to compare with but 1.
        wrong = ~np.isfinite(total) | (np.abs(total) > TOLERANCE)
    return ExactResidual(where, float(np.median(np.abs(total))), float(np.median(error)), usual, float(wrong.any(axis=-1).mean()))
