"""Do the integrals have a variance? Where they have none, random nodes never settle, however many there are."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fredholm.common.compiling import compiled_once
from fredholm.equation.equation import Equation
from fredholm.equation.probe import fresh_field, pick, sample_points
from fredholm.equation.residual import AbstractResidual, Integral
from fredholm.functions.constrained import Constrained, Form
from fredholm.functions.field import Field
from fredholm.functions.mlp import MLP

PROBE = MLP(8, 1, "tanh")
PLACES = 4  # points x
SAMPLES = 1 << 15  # nodes at each of them
TAIL = 1 << 7  # how many of the largest values make the tail


class HeavyTail(eqx.Module):
    """An integral whose samples have no variance."""

    where: str  # "integral 1", "condition 2, integral 1"
    index: float  # the tail index: P(|omega g| > v) falls like v to the minus this
    is_endless: bool  # the measure is infinite: it is the integrand that does not fall off, and not a singularity


def tail_index(values: np.ndarray) -> float:
    r"""Hill's estimate of α in $P(|v| > y) \sim y^{-\alpha}$ from the largest values; the variance is infinite where α ≤ 2."""
    largest = np.sort(np.abs(values))[-TAIL - 1 :]
    if largest[0] <= 0:
        return np.inf if largest[-1] <= 0 else 0.0
    excess = float(np.mean(np.log(largest[1:] / largest[0])))
    return np.inf if excess == 0 else 1 / excess


def heavy_tails(equation: Equation, form: Form | None = None) -> list[HeavyTail]:
    """The integrals of the equation and of its conditions that look as if a random node had infinite variance; `form` is that of a
    `Constrained` network."""
    found = []
    with jax.enable_x64(True):
        equation = equation.realize(jax.random.key(0))
        u = fresh_field(equation, PROBE if form is None else Constrained(PROBE, form))
        for number, residual in enumerate((equation, *equation.conditions)):
            for index, integral in enumerate(residual.integrals):
                alpha = _index(residual, integral, u)
                if alpha < 2:
                    where = f"condition {number}, integral {index + 1}" if number else f"integral {index + 1}"
                    endless = not integral.measure(pick(sample_points(residual, 1), 0)).is_finite
                    found.append(HeavyTail(where, alpha, endless))
    return found


def _index(residual: AbstractResidual, integral: Integral, u: Field) -> float:
    """The median index over a few x."""

    @compiled_once
    def sampled(key: Key[Array, ""]) -> Float[Array, "*k"]:
        x = residual.law.sample(key)
        measure = integral.measure(x)
        if measure.samples is not None:
            return jnp.ones(())
        nodes = measure.draws(key, SAMPLES)
        values = jax.vmap(lambda t, w: w * integral.integrand(u, x, t))(nodes.points, nodes.weights)
        return jnp.linalg.norm(values, axis=-1)

    drawn = [np.asarray(sampled(key)) for key in jax.random.split(jax.random.key(3), PLACES)]
    if drawn[0].ndim == 0:
        return np.inf  # Given samples: there are no more to look at.
    return float(np.median([tail_index(values) for values in drawn]))
