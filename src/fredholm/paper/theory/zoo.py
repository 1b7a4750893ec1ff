"""Where every method ends on equations of the zoo, with a class of functions that is linear in its coefficients.

The mean over x and the integral are sums over Gauss nodes, so the limits for infinitely many random samples are linear algebra. Conditions
are held exactly: the class is the part of it that satisfies them.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fredholm.common.linear_algebra import assembled
from fredholm.equation.equation import Equation
from fredholm.equation.probe import fresh
from fredholm.equation.residual import Integral
from fredholm.functions.chebyshev import Chebyshev
from fredholm.functions.field import Field
from fredholm.paper.theory.linear import excess_matrix
from fredholm.problems.fredholm import FredholmSecondKind
from fredholm.problems.volterra import Volterra, Volterra2
from fredholm.rules.gauss import Gauss
from fredholm.training.fitting import fitted
from fredholm.training.settings import settings_of
from fredholm.training.update import as_vector

POINTS, NODES = 48, 48  # Gauss nodes of x, and of the integral at each x
DEGREES: Mapping[str, tuple[Callable[[], Equation], int]] = {
    "Volterra": (Volterra, 13),
    "Volterra 2": (Volterra2, 13),
    "Fredholm, second kind": (FredholmSecondKind, 9),
}
COUNTS = (1, 10, 100)  # samples of the standard loss


def zoo_limits() -> dict[str, dict[str, float]]:
    """The relative error of u where each method ends, for every equation."""
    with jax.enable_x64(True):
        return {name: limits_of(make(), degree) for name, (make, degree) in DEGREES.items()}


def limits_of(equation: Equation, degree: int) -> dict[str, float]:
    """The relative error of u at the limit of each method, with a Chebyshev series of this degree."""
    settings = fitted(settings_of(equation, network=Chebyshev(degree), precision="float64"), has_rule=False)
    u = fresh(equation, settings.network, jax.random.key(0))
    rows, (fixed, free) = Rows.of(equation, u), conditioned(equation, u)
    mean = rows.local - sum(np.einsum("xtk,xt->xk", one.inside, one.shares) for one in rows.integrals)
    standard, excess = rows.assembled(mean, mean), sum(map(excess_matrix, rows.integrals))
    systems = {
        "delayed target": rows.assembled(rows.local, mean),
        "double sampling, or exact integrals": standard,
        **{f"standard, N = {n}": (standard[0] + excess / n, standard[1]) for n in COUNTS},
    }
    return {name: _error(equation, u, _solution(system, fixed, free)) for name, system in systems.items()}


class Samples(NamedTuple):
    """One integral at Gauss nodes, as `excess_matrix` takes it."""

    inside: np.ndarray  # (x, t, p), the slopes of the integrand times the mass of the measure: of one sample
    shares: np.ndarray  # (x, t), the probability of each t
    probabilities: np.ndarray  # (x,)

    @property
    def inner(self) -> np.ndarray:
        """The slopes of all samples."""
        return self.inside.reshape(-1, self.inside.shape[-1])

    @property
    def conditional(self) -> np.ndarray:
        """The probability of each sample at each x."""
        points, nodes = self.shares.shape
        found = np.zeros((points, points, nodes))
        found[np.arange(points), np.arange(points)] = self.shares
        return found.reshape(points, points * nodes)


class Rows(NamedTuple):
    """The slopes of an affine equation at Gauss nodes, by the coefficients of u."""

    local: np.ndarray  # (x, p), of f
    value: np.ndarray  # (x,), f − y for u = 0
    probabilities: np.ndarray  # (x,)
    integrals: tuple[Samples, ...]

    @classmethod
    def of(cls, equation: Equation, u: Field) -> "Rows":
        """Evaluated at Gauss nodes."""
        vector, build = as_vector(u)
        drawn, zero = Gauss(POINTS).nodes(equation.law, jax.random.key(0)), jnp.zeros_like(vector)
        weights = np.asarray(drawn.weights)
        probabilities = weights / weights.sum()

        def local(theta: jax.Array, x: jax.Array) -> jax.Array:
            return equation.local_residual(build(theta), x)[0]

        def samples(integral: Integral, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            measure = integral.measure(x)
            nodes = Gauss(NODES).nodes(measure, jax.random.key(0))

            def at(theta: jax.Array) -> jax.Array:
                return measure.mass * jax.vmap(lambda t: integral.integrand(build(theta), x, t)[0])(nodes.points)

            return jax.jacfwd(at)(zero), nodes.weights / jnp.sum(nodes.weights)

        found = [jax.vmap(lambda x, one=one: samples(one, x))(drawn.points) for one in equation.integrals]
        return cls(
            np.asarray(jax.vmap(lambda x: jax.jacfwd(local)(zero, x))(drawn.points)),
            np.asarray(jax.vmap(lambda x: local(zero, x))(drawn.points)),
            probabilities,
            tuple(Samples(np.asarray(inside), np.asarray(shares), probabilities) for inside, shares in found),
        )

    def assembled(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The means of Aᵀ B and Aᵀ b."""
        return assembled(self.probabilities[:, None] * a, b, self.value)


def _solution(system: tuple[np.ndarray, np.ndarray], fixed: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The coefficients fixed + free a at which the rows of the system, seen by the free directions, are zero."""
    matrix, right = system
    return fixed - free @ np.linalg.solve(free.T @ matrix @ free, free.T @ (matrix @ fixed + right))


def _error(equation: Equation, u: Field, theta: np.ndarray) -> float:
    """The relative error of u on an even grid of the evaluation."""
    assert equation.evaluation is not None
    points = equation.evaluation.points()
    values = np.asarray(jax.vmap(as_vector(u)[1](jnp.asarray(theta)))(points)).ravel()
    truth = np.asarray(equation.truth(points)).ravel()
    return float(np.linalg.norm(values - truth) / np.linalg.norm(truth))


def conditioned(equation: Equation, u: Field) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients of one function of the class that satisfies the pointwise conditions, and a basis of the directions left free."""
    vector, build = as_vector(u)
    rows, values = [np.zeros((0, vector.size))], [np.zeros(0)]
    for condition in equation.conditions:
        x = condition.law.sample(jax.random.key(0))

        def residual(theta: jax.Array, condition=condition, x=x) -> jax.Array:
            return condition.local_residual(build(theta), x)

        rows.append(np.asarray(jax.jacfwd(residual)(vector)))
        values.append(np.asarray(residual(jnp.zeros_like(vector))))
    matrix, value = np.concatenate(rows), np.concatenate(values)
    right = np.linalg.svd(matrix, full_matrices=True)[2]
    return -np.linalg.pinv(matrix) @ value if len(matrix) else np.zeros(vector.size), right[len(matrix) :].T
