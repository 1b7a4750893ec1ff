"""Certificates: how large the true loss is, and what it says about the error, from points and nodes that the training never used."""

import functools
import math
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from fredholm.common.compiling import compiled_once
from fredholm.common.statistics import student_interval
from fredholm.diagnostics.moments import Moments, moments
from fredholm.diagnostics.quality import COARSE, FINE, NOTHING, SAFETY, TRUSTED, Quality, Region, qualities
from fredholm.diagnostics.uniqueness import GAUSS, HIGHEST_DEGREE, Perturbed, exponents_of, polynomials
from fredholm.equation.equation import Equation
from fredholm.equation.estimate import draw, estimate, estimated, independent_residuals
from fredholm.equation.frame import frame_of
from fredholm.equation.probe import measures_of, pick, sample_points
from fredholm.equation.reference import independent_rules, reference_rules
from fredholm.equation.residual import Place, network_point
from fredholm.functions.field import Field
from fredholm.rules.base import AbstractRule

REPLICATES = 32  # independent estimates of the loss; their spread gives the interval
POINTS = 64  # points x in each estimate
NODES = 64  # nodes of each of the two independent estimates at each x
PARTS, PART = 8, 256  # for the contraction: independent sets of points, and the points in each
FEW = 128  # nodes of an integral over more than two axes there: what they leave open makes the factor larger, and never smaller
TOGETHER = 32  # of these points that are evaluated at once: all of them with their nodes may take gigabytes
Measured = Callable[[Equation, Field, Key[Array, ""]], PyTree]  # (equation, u, key) -> arrays
Interval = tuple[float, float, float]  # a mean and its 95 % interval
UNEVEN = 2.0  # a part of the domain is named where its relative residual is this many times that of the whole
NO_ESTIMATE = (
    "not available: there is one given sample at each x, and the true loss needs two independent estimates of the integral. Give at least "
    "2 samples at each x. On rows that are held out, Offline(..., held_out=0.1), the moments of the residual are known"
)


class Certificate(eqx.Module):
    r"""An estimate of the true loss $\mathbb{E}_x\,r(x)^2$ with its 95 % interval, and the relative residual.

    Where the integrals are smooth they come from fine fixed nodes, whose error is a part of the interval. Elsewhere the loss is a product
    of two independent estimates, which is unbiased. For $u = K[u] + y$ with a contraction K, also the factor q by which K contracts, with
    its own 95 % interval. Then $\|u - u^*\| \le \|r\|/(1 - q)$ bounds the error, from the upper ends of both intervals. The norm is the
    root mean square over the domain.
    """

    loss: float  # E[r²]; NaN where a single given sample at each x allows no estimate
    loss_low: float
    loss_high: float
    contraction: float = math.nan  # q; NaN where it does not apply
    contraction_low: float = math.nan
    contraction_high: float = math.nan
    quality: Quality | None = None  # residuals relative to their terms: of the equation, of each condition, and by region
    reason: str = ""  # why there is no bound of the error, or no estimate at all; empty where there is a bound
    moments: Moments | None = None  # of the residual on given rows, where x is one of them

    @property
    def error_bound(self) -> float:
        """The bound on the root mean square error, at 95 % confidence: each of the two upper ends fails with probability 2.5 %. NaN where q
        is not below 1."""
        if not self.contraction_high < 1:
            return math.nan
        return math.sqrt(max(self.loss_high, 0.0)) / (1 - self.contraction_high)

    @property
    def relative(self) -> float:
        """The largest relative residual, of the equations and the conditions: 0 for a solution, 1 where nothing cancels."""
        return math.nan if self.quality is None else self.quality.worst

    @property
    def worst_region(self) -> Region | None:
        """The part of the domain where the relative residual is largest; None where none of them stands out."""
        if self.quality is None or not self.quality.regions:
            return None
        worst = max(self.quality.regions, key=lambda region: region.residual)
        return worst if worst.residual > UNEVEN * self.quality.residual else None

    def scores(self) -> dict[str, float]:
        """The numbers by name; contraction and bound only where the bound exists."""
        found = {"true_loss": self.loss, "true_loss_low": self.loss_low, "true_loss_high": self.loss_high}
        if self.quality is not None:
            found["relative_residual"] = self.relative
        if self.moments is not None:
            ends = {"moments_low": self.moments.low, "moments_high": self.moments.high}
            found |= {"moments": self.moments.relative, **ends, "moments_chance": self.moments.chance}
        if math.isnan(self.error_bound):
            return found
        ends = {"contraction_low": self.contraction_low, "contraction_high": self.contraction_high}
        return {**found, "contraction": self.contraction, **ends, "error_bound": self.error_bound}

    def __str__(self) -> str:
        if math.isnan(self.loss):
            return self.reason + (f": {self.moments}" if self.moments is not None else "")
        text = f"true loss {self.loss:.2e}, 95 % interval [{self.loss_low:.2e}, {self.loss_high:.2e}]"
        if self.quality is not None:
            text += f"; the residual is {self.quality.residual:.1e} of its terms"
            if self.quality.conditions:
                text += f", conditions are off by {max(self.quality.conditions):.1e}"
        if (worst := self.worst_region) is not None:
            text += f"; worst for x[{worst.axis}] from {worst.low:.3g} to {worst.high:.3g}, where it is {worst.residual:.1e}"
        if math.isnan(self.error_bound):
            return f"{text}; no bound of the error: {self.reason}"
        return f"{text}; contraction {self.contraction:.3f}, so the root mean square error is at most {self.error_bound:.2e}"


def certificates(equations: Sequence[Equation], fields: Sequence[Field], number: int = 0) -> list[Certificate]:
    """One certificate for each seed, from its equation and its network. Another `number` gives other points and nodes."""
    like = equations[0]
    if any(measure.samples == 1 for measure in measures_of(like)):
        found = [moments(equation, u) for equation, u in zip(equations, fields, strict=True)]
        return [Certificate(math.nan, math.nan, math.nan, reason=NO_ESTIMATE, moments=one) for one in found]
    losses, (stretched, why) = Losses(like), _stretched(like)
    # A key that no training uses: theirs are made from (seed, step).
    key = jax.random.fold_in(jax.random.key(2**31 - 1), number)
    found = []
    for equation, u, quality in zip(equations, fields, qualities(equations, fields), strict=True):
        loss, factors = losses(equation, u, key), (math.nan, math.nan, math.nan)
        if stretched is not None:
            parts = stretched(equation, u, key)
            factors, why = (factors, parts) if isinstance(parts, str) else (contraction_interval(*parts), "")
            if not why and factors[2] >= 1:
                why = f"the integrals may stretch a function by the factor {factors[2]:.3g}, and only below 1 does the residual bound it"
        found.append(Certificate(*loss, *factors, quality=quality, reason=why))
    return found


class Losses:
    """The true loss of one seed after the other: with fine fixed nodes where they converge, else from independent estimates."""

    def __init__(self, like: Equation):
        rules = [reference_rules(like, gauss=gauss) for gauss in (FINE, COARSE)]
        is_given = any(measure.samples is not None for measure in measures_of(like))
        self._fixed = None if is_given or any(rule.is_random for rule in rules[0]) else _fixed_losses(rules)
        self._independent = _losses(like)

    def __call__(self, equation: Equation, u: Field, key: Key[Array, ""]) -> Interval:
        """The loss with its interval."""
        if self._fixed is None:
            return student_interval(self._independent(equation, u, key))
        values, gaps, scale = self._fixed(equation, u, key)
        found, error = student_interval(values), SAFETY * math.sqrt(float(np.mean(gaps)))
        size = math.sqrt(max(found[0], 0.0))
        known = _widened(found, error)
        if error <= max(TRUSTED * size, NOTHING * math.sqrt(float(np.mean(scale)))):
            return known
        other = student_interval(self._independent(equation, u, key))
        return other if other[2] - other[1] < known[2] - known[1] else known


def _widened(interval: Interval, error: float) -> Interval:
    """The interval of a mean square where each root mean square is known up to an error."""
    mean, low, high = (math.sqrt(max(value, 0.0)) for value in interval)
    return mean**2, max(low - error, 0.0) ** 2, (high + error) ** 2


def _fixed_losses(rules: Sequence[Sequence[AbstractRule]]) -> Measured:
    """`losses(equation, u, key)`: replicates of the mean squares of the residual, of its change by coarser nodes, and of its terms."""

    def compute(equation: Equation, u: Field, key: Key[Array, ""]) -> tuple[Array, Array, Array]:
        def at_one_point(x: Place) -> tuple[Array, Array, Array]:
            fine, coarse = (draw(equation, own, x, jax.random.key(0)) for own in rules)
            r, other = (estimated(equation, u, x, nodes) for nodes in (fine, coarse))
            return jnp.sum(r**2), jnp.sum((r - other) ** 2), equation.squared_terms(u, x, estimate(equation, u, x, fine))

        def one(key: Key[Array, ""]) -> tuple[Array, Array, Array]:
            points = jax.vmap(equation.domain.sample)(jax.random.split(key, POINTS))
            return jax.tree.map(jnp.mean, jax.vmap(at_one_point)(points))

        return jax.lax.map(one, jax.random.split(key, REPLICATES))

    return _compiled(compute)


def _losses(equation: Equation) -> Measured:
    """`losses(equation, u, key)`: an array of independent, unbiased estimates of the true loss."""
    rules = independent_rules(equation, net=NODES)

    def compute(equation: Equation, u: Field, key: Key[Array, ""]) -> Float[Array, "r"]:
        def at_one_point(x: Place, key: Key[Array, ""]) -> Float[Array, ""]:
            one, other = independent_residuals(equation, u, rules, x, key)
            return jnp.sum(one * other)

        def one(key: Key[Array, ""]) -> Float[Array, ""]:
            key_points, key_nodes = jax.random.split(key)
            points = jax.vmap(equation.domain.sample)(jax.random.split(key_points, POINTS))
            return jnp.mean(jax.vmap(at_one_point)(points, jax.random.split(key_nodes, POINTS)))

        return jax.lax.map(one, jax.random.split(key, REPLICATES))

    return _compiled(compute)


def _compiled(compute: Measured) -> Measured:
    """The function, compiled once for all seeds: they differ only in the arrays of equation and network."""
    static: list[PyTree] = []

    @compiled_once
    def run(arrays: PyTree, key: Key[Array, ""]) -> PyTree:
        equation, u = eqx.combine(arrays, static[0])
        return compute(equation, u, key)

    def call(equation: Equation, u: Field, key: Key[Array, ""]) -> PyTree:
        arrays, rest = eqx.partition((equation, u), eqx.is_array)
        static[:] = static or [rest]
        return jax.tree.map(np.asarray, run(arrays, key))

    return call


def _no_contraction(equation: Equation) -> str:
    """Why the integrals have no factor of contraction on the functions of the domain; empty where they may have one."""
    if equation.f is None:
        return "the equation is in weak form, so it is not of the second kind, u = K[u] + y"
    if not equation.integrals:
        return "the equation has no integral, so it is not of the second kind, u = K[u] + y"
    if equation.outputs != 1:
        return f"u has {equation.outputs} components, and the factor of contraction is measured for one"
    if equation.unknowns:
        return "learned scalars are part of the solution"
    if network_point(pick(sample_points(equation, 1), 0)) is None:
        return "x is a volume and no point of u"
    return ""


def _stretched(equation: Equation) -> tuple[Measured | None, str]:
    """`stretched(equation, u, key)`: test functions at random points, and their images under the integrals linearised about u; or a text
    why they say nothing. None, with the reason, where that is known beforehand."""
    if why := _no_contraction(equation):
        return None, why
    rules = reference_rules(equation, gauss=GAUSS, net=FEW)
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
            return polynomials(exponents, (network_point(x) - center) / scale), local[0], inner[0]

        return jax.lax.map(at_one_point, jax.random.split(key, PARTS * PART), batch_size=TOGETHER)

    run, outside = _compiled(compute), functools.cache(lambda: frame_of(equation).reaches_outside)

    def call(equation: Equation, u: Field, key: Key[Array, ""]) -> tuple[np.ndarray, np.ndarray] | str:
        with jax.enable_x64(True):
            basis, local, inner = run(equation, u, key)
        if np.abs(local - basis).max() >= 1e-3 * np.abs(basis).max():
            return "f is not u(x) alone, so the equation is not of the second kind, u = K[u] + y"
        if outside():
            return "the integrals evaluate u outside of the domain, where no residual is measured"
        return basis, inner

    return call, ""


def contraction_interval(basis: np.ndarray, inner: np.ndarray) -> tuple[float, float, float]:
    """The largest factor by which the integrals stretch a test function in the mean square, with its 95 % interval.

    The worst test function is chosen on all points, so the factor is a safe overestimate. The interval comes from that function's factors
    on independent sets of points.
    """
    basis, inner = np.asarray(basis, float), np.asarray(inner, float)
    orthonormal = np.linalg.inv(np.linalg.qr(basis / np.sqrt(len(basis)))[1])
    worst = orthonormal @ np.linalg.svd(inner @ orthonormal)[2][0]
    before, after = ((values @ worst).reshape(PARTS, -1) for values in (basis, inner))
    mean, low, high = student_interval(np.sqrt((after**2).mean(axis=1) / (before**2).mean(axis=1)))
    return mean, max(low, 0.0), high
