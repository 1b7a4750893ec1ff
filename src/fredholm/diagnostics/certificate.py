"""How large is the true loss, and what does it say of the error? From points and nodes of their own, never those of the training."""

import math
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from fredholm.common.statistics import student_interval
from fredholm.diagnostics.uniqueness import GAUSS, HIGHEST_DEGREE, NET, Perturbed, exponents_of, polynomials
from fredholm.equation.equation import Equation
from fredholm.equation.estimate import draw, estimate
from fredholm.equation.probe import pick, sample_points
from fredholm.equation.reference import independent_rules, reference_rules
from fredholm.equation.residual import network_point
from fredholm.functions.field import Field
from fredholm.methods.protocol import independent_rows

REPLICATES = 32  # independent estimates of the loss, whose spread is the interval
POINTS = 64  # points x in each of them
NODES = 64  # nodes of each of the two independent draws at each x
PARTS, PART = 8, 256  # independent sets of points for the contraction, and how many points each has
Measured = Callable[[Equation, Field, Key[Array, ""]], PyTree]  # of an equation and its u, from random numbers of its own
OUTSIDE = 1.1  # an integral that looks at u further out than this, where the domain is [-1, 1], is no operator on the domain


class Certificate(eqx.Module):
    r"""An unbiased estimate of $\mathbb{E}_x\,r(x)^2$ with its 95 % interval, and where it applies the factor q of the contraction with its
    own, and the bound $\|u - u^*\| \le \|r\|/(1 - q)$ from their upper ends; the norm is the root mean square over the domain."""

    loss: float
    loss_low: float
    loss_high: float
    contraction: float = math.nan
    contraction_low: float = math.nan
    contraction_high: float = math.nan

    @property
    def error_bound(self) -> float:
        """Where it holds, with 95 %: each of its two upper ends fails with 2.5 %. NaN where there is no contraction."""
        if not self.contraction_high < 1:
            return math.nan
        return math.sqrt(max(self.loss_high, 0.0)) / (1 - self.contraction_high)

    def scores(self) -> dict[str, float]:
        """The numbers by name; those of the bound only where there is one."""
        found = {"true_loss": self.loss, "true_loss_low": self.loss_low, "true_loss_high": self.loss_high}
        if math.isnan(self.error_bound):
            return found
        ends = {"contraction_low": self.contraction_low, "contraction_high": self.contraction_high}
        return {**found, "contraction": self.contraction, **ends, "error_bound": self.error_bound}


def certificates(equations: Sequence[Equation], fields: Sequence[Field], number: int = 0) -> list[Certificate]:
    """One for each seed: its equation and its network. Another `number` gives other points and nodes."""
    losses, stretched = _losses(equations[0]), _stretched(equations[0])
    # A key of nothing else: those of a training are made from (seed, step).
    key = jax.random.fold_in(jax.random.key(2**31 - 1), number)
    found = []
    for equation, u in zip(equations, fields, strict=True):
        loss = student_interval(losses(equation, u, key))
        parts = None if stretched is None else stretched(equation, u, key)
        found.append(Certificate(*loss, *(() if parts is None else contraction_interval(*parts))))
    return found


def _losses(equation: Equation) -> Measured:
    """`losses(equation, u, key)`: independent unbiased estimates of the true loss, each from points and nodes of its own."""
    rules = independent_rules(equation, net=NODES)

    def compute(equation: Equation, u: Field, key: Key[Array, ""]) -> Float[Array, "r"]:
        def one(key: Key[Array, ""]) -> Float[Array, ""]:
            key_points, key_nodes = jax.random.split(key)
            points = jax.vmap(equation.domain.sample)(jax.random.split(key_points, POINTS))
            values = jax.vmap(lambda x, k: independent_rows(u, equation, rules, x, k).loss())(points, jax.random.split(key_nodes, POINTS))
            return jnp.mean(values)

        return jax.lax.map(one, jax.random.split(key, REPLICATES))

    return _compiled(compute)


def _compiled(compute: Measured) -> Measured:
    """The function as one program for every seed: what differs between seeds are the arrays of equation and network."""
    static: list[PyTree] = []

    @jax.jit
    def run(arrays: PyTree, key: Key[Array, ""]) -> PyTree:
        equation, u = eqx.combine(arrays, static[0])
        return compute(equation, u, key)

    def call(equation: Equation, u: Field, key: Key[Array, ""]) -> PyTree:
        arrays, rest = eqx.partition((equation, u), eqx.is_array)
        static[:] = static or [rest]
        return jax.tree.map(np.asarray, run(arrays, key))

    return call


def _stretched(equation: Equation) -> Measured | None:
    """`stretched(equation, u, key)`: test functions at random points, and what the integrals, linearised about u, make of them. None
    where f is not u itself, or where the integrals look at u outside of the domain."""
    if equation.f is None or not equation.integrals or equation.outputs != 1 or equation.unknowns:
        return None
    if network_point(pick(sample_points(equation, 1), 0)) is None:
        return None
    rules = reference_rules(equation, gauss=GAUSS, net=NET)
    exponents = exponents_of(equation.inputs, HIGHEST_DEGREE)
    known = np.asarray(network_point(sample_points(equation, PART, seed=7)), float)
    low, high = known.min(axis=0), known.max(axis=0)
    center, scale = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)

    def compute(equation: Equation, u: Field, key: Key[Array, ""]) -> tuple[Array, ...]:
        def perturbed(coefficients: Float[Array, "1 k"]) -> Field:
            return Field(Perturbed(u.network, coefficients, center, scale, exponents, False), u.unknowns, u.inputs, u.outputs)

        def at_one_point(key: Key[Array, ""]) -> tuple[Array, ...]:
            x = equation.domain.sample(key)
            nodes = draw(equation, rules, x, key)
            start = jnp.zeros((1, len(exponents)))
            local = jax.jacrev(lambda c: jnp.sum(equation.local_residual(perturbed(c), x)))(start)
            inner = jax.jacrev(lambda c: jnp.sum(estimate(equation, perturbed(c), x, nodes)))(start)
            inputs = [
                jax.vmap(lambda t, integral=integral: integral.network_input(x, t))(n.points)
                for integral, n in zip(equation.integrals, nodes, strict=True)
            ]
            furthest = jnp.max(jnp.stack([jnp.max(jnp.abs((t - center[None]) / scale[None])) for t in inputs]))
            return polynomials(exponents, (network_point(x) - center) / scale), local[0], inner[0], furthest

        return jax.vmap(at_one_point)(jax.random.split(key, PARTS * PART))

    run = _compiled(compute)

    def call(equation: Equation, u: Field, key: Key[Array, ""]) -> tuple[np.ndarray, np.ndarray] | None:
        with jax.enable_x64(True):
            basis, local, inner, furthest = run(equation, u, key)
        is_identity = np.abs(local - basis).max() < 1e-3 * np.abs(basis).max()
        return (basis, inner) if is_identity and furthest.max() < OUTSIDE else None

    return call


def contraction_interval(basis: np.ndarray, inner: np.ndarray) -> tuple[float, float, float]:
    """The largest factor by which the integrals stretch a test function in the mean square, and the interval of that factor for the
    function that is stretched most, over independent sets of points. It is the worst function on these points: a safe overestimate."""
    basis, inner = np.asarray(basis, float), np.asarray(inner, float)
    orthonormal = np.linalg.inv(np.linalg.qr(basis / np.sqrt(len(basis)))[1])
    worst = orthonormal @ np.linalg.svd(inner @ orthonormal)[2][0]
    before, after = ((values @ worst).reshape(PARTS, -1) for values in (basis, inner))
    mean, low, high = student_interval(np.sqrt((after**2).mean(axis=1) / (before**2).mean(axis=1)))
    return mean, max(low, 0.0), high
