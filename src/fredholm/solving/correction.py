r"""One Newton correction of any u in a linear class: how far u is from the solution, where no exact solution is known.

The solution is $u + \delta$. To first order δ solves the linearised equation $J\delta = -r(u)$ with its conditions, J the derivative of the
residual. Here δ is in a linear class. Its size is the estimated error of u. What a second correction finds, at other points, and what the
class leaves of the residual, make the estimated error of $u + \delta$.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.compiling import compiled_once
from fredholm.equation.equation import Equation
from fredholm.equation.probe import probe_points
from fredholm.functions.constrained import Formed
from fredholm.functions.field import Field, Function

SAFETY = 2.0  # an estimated error is this many times what was found
LOST = 0.8  # a correction that leaves more than this share of the residual says nothing; set on the trials of studies/coverage.py
NORM_POINTS = 300  # points at which errors of u are averaged


class Correction(NamedTuple):
    """What a correction of u has found."""

    error: float  # of u, estimated: the root mean square as a share of u
    error_after: float  # of u + δ
    left: float  # what u + δ leaves of the residual of u, as a share, at points that the correction has not used
    dropped: int  # directions of u that the equation does not determine
    unknowns: Mapping[str, float]  # learned scalars, corrected
    intervals: Mapping[str, tuple[float, float]]  # of learned scalars, where there are data
    refined: Callable[[Float[Array, "n d"]], tuple[np.ndarray, np.ndarray]]  # u + δ at points, (n, m), and half of its interval
    about: str  # the class


class Estimate(NamedTuple):
    """How far `solution(points)` is from the solution of the equation, without an exact solution.

        solution.estimate().error      # 0.018: u is off by at most about 1.8 % of its root mean square
        print(solution.estimate())     # the same in words, or "not available: " and why

    It is twice the size of one Newton correction in a linear class, and of what that leaves. docs/reliability.md has how often it contains
    the true error.
    """

    error: float  # the root mean square error of u as a share of u; NaN where it is not available
    about: str  # the class of the correction and what it leaves of the residual; where there is no estimate, why
    unknowns: Mapping[str, float] = {}  # learned scalars after the correction: the least-squares fit to the data
    intervals: Mapping[str, tuple[float, float]] = {}  # their 95 % intervals from the noise of the data

    def __str__(self) -> str:
        if math.isnan(self.error):
            return f"not available: {self.about}"
        size = f"{100 * self.error:.2g} %" if self.error >= 1e-4 else f"{self.error:.1e}"
        return f"the error of u is at most about {size} of u: {self.about}"


class Added(eqx.Module):
    """A known function and one of a linear class, added. Only the second has parameters."""

    known: Function = eqx.field(static=True)
    part: Function

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "m"]:
        return jnp.reshape(self.known(x), (-1,)) + self.part(x)


def with_part(members: Field, part: Function) -> Field:
    """The mean of several networks, stacked, in double precision, with a function added to it. A `Constrained` form stays around both."""
    doubled: Any = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf), float) if eqx.is_inexact_array(leaf) else leaf, members)
    network, unknowns = doubled.network, {name: jnp.mean(value) for name, value in doubled.unknowns.items()}
    form = network.form if isinstance(network, Formed) else None
    arrays, static = eqx.partition(network if form is None else network.network.network, eqx.is_array)

    def mean(x: Float[Array, "d"]) -> Float[Array, "..."]:
        return jnp.mean(jax.vmap(lambda one: eqx.combine(one, static)(x))(arrays), axis=0)

    added: Function = Added(mean, part)
    whole = added if form is None else Formed(Field(added, {}, members.inputs, members.outputs), form)
    return Field(whole, unknowns, members.inputs, members.outputs)


class Sizes(NamedTuple):
    """The values of u with different parameters, and their root mean squares at the points where u is evaluated."""

    values: Callable[[np.ndarray, Float[Array, "n d"]], np.ndarray]  # parameters, points -> (n, m)
    points: Float[Array, "n d"]

    @classmethod
    def of(cls, equation: Equation, field: Callable[[Any], Field]) -> "Sizes":
        """`field` makes u of its parameters."""
        points = probe_points(equation, NORM_POINTS)
        if points is None:
            raise ValueError("there are no points at which u is evaluated: give Equation(evaluation=fr.Evaluation(...))")
        program = compiled_once(lambda theta, points: jax.vmap(lambda x: jnp.atleast_1d(field(theta)(x)))(points))

        def values(theta: np.ndarray, points: Float[Array, "n d"]) -> np.ndarray:
            with jax.enable_x64(True):
                return np.asarray(program(jnp.asarray(theta, float), jnp.asarray(points, float)), float)

        return cls(values, jnp.asarray(points, float))

    def between(self, one: np.ndarray, other: np.ndarray) -> float:
        """The root mean square of the difference of two u."""
        return _rms(self.values(other, self.points) - self.values(one, self.points))

    def correction(
        self,
        thetas: tuple[np.ndarray, np.ndarray, np.ndarray],
        left: float,
        *,
        dropped: int,
        intervals: Mapping[str, tuple[float, float]],
        names: list[str],
        about: str,
    ) -> Correction:
        """From the parameters of u, of its correction and of its second correction."""
        start, theta, again = thetas
        if not left <= LOST:
            raise ValueError(f"{about} does not follow what the residual asks for: {100 * left:.2g} % of it are left")
        size, found, second = _rms(self.values(theta, self.points)) or 1.0, self.between(start, theta), self.between(theta, again)
        rest = math.hypot(second, left * found) / (1 - left)

        def refined(points: Float[Array, "n d"]) -> tuple[np.ndarray, np.ndarray]:
            value = self.values(theta, points)
            return value, SAFETY * (np.abs(self.values(again, points) - value) + rest)

        unknowns = dict(zip(names, theta[len(theta) - len(names) :].tolist(), strict=True))
        error = SAFETY * math.hypot(found, rest) / size
        return Correction(error, SAFETY * rest / size, left, dropped, unknowns, intervals, refined, about)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
