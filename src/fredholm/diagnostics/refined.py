"""A refined answer: one more application of the right-hand side, with many fresh samples, and an interval at each point."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy  # scipy.stats is loaded on first use
from jaxtyping import Array, Float, Key

from fredholm.common.compiling import compiled_once
from fredholm.domains.base import Nodes
from fredholm.equation.equation import Equation
from fredholm.equation.estimate import draw, weighted_integrand
from fredholm.equation.residual import Integral, call
from fredholm.functions.field import Field, Function
from fredholm.rules.monte_carlo import MonteCarlo

CHUNK = 1024  # samples at one x at a time
DOMAIN = 128  # points of the domain for the size of the correction and of K
FEWEST = 8  # chunks, whose spread is the noise
SAME = 1e-5  # f[u] is u where they differ by at most this share


class Refined(NamedTuple):
    """Values at points, each with a 95 % interval."""

    value: np.ndarray  # (n,) or (n, m)
    low: np.ndarray
    high: np.ndarray
    about: str  # what the interval contains


def refined(equation: Equation, u: Field, points: Float[Array, "n d"], samples: int, key: Key[Array, ""]) -> Refined:
    r"""For $u = K[u] + y$: $u_1 = K[u] + y$ from `samples` fresh nodes at each point.

    Where K contracts by a factor $q < 1$ in the largest norm, $|u^* - u_1|(x) \le q(x)\,\|u_1 - u\|_\infty/(1 - q)$. The interval is this
    bound and the noise of the samples, and contains $u^*$. Else it is the interval of $K[u] + y$, which says so.
    """
    drawn = jax.vmap(equation.domain.sample)(jax.random.split(jax.random.fold_in(key, 1), DOMAIN))

    @compiled_once
    def compute(points: Float[Array, "n d"], keys: Key[Array, "n"]) -> tuple[Array, Array, Array]:
        return jax.lax.map(lambda one: _at_one_point(equation, u, one[0], one[1], samples), (points, keys), batch_size=4)

    value, error, factor = (np.asarray(part) for part in compute(points, jax.random.split(key, len(points))))
    inner, _, inner_factor = (np.asarray(part) for part in compute(drawn, jax.random.split(jax.random.fold_in(key, 2), DOMAIN)))
    before = np.asarray(jax.vmap(lambda x: jnp.atleast_1d(u(x)))(drawn))
    change, q = float(np.max(np.abs(inner - before))), float(np.max(np.concatenate([inner_factor, factor])))
    half = float(scipy.stats.t.ppf(0.975, chunks_of(samples)[0] - 1)) * error
    if _uses_derivatives(equation, u, drawn[0]) or not q < 1:
        reason = "K evaluates derivatives of u" if not q >= 1 else f"K does not contract: its norm is {q:.2g}"
        about = f"K[u] + y, with the noise of the samples; {reason}, so how far this is from the solution is not known"
    else:
        half = half + factor[:, None] / (1 - q) * change
        about = f"the solution: K contracts by {q:.2g}, and one application of it changed u by at most {change:.2g}"
    shape = (len(points),) if equation.outputs == 1 else (len(points), equation.outputs)
    return Refined(value.reshape(shape), (value - half).reshape(shape), (value + half).reshape(shape), about)


def chunks_of(samples: int) -> tuple[int, int]:
    """How many chunks the samples at one x are cut into, and the samples in each."""
    chunks = max(FEWEST, samples // CHUNK)
    return chunks, max(1, -(-samples // chunks))


def _at_one_point(
    equation: Equation, u: Field, x: Float[Array, "d"], key: Key[Array, ""], samples: int
) -> tuple[Float[Array, "m"], Float[Array, "m"], Float[Array, ""]]:
    """K[u] + y, its standard error, and how much K can magnify a small constant there."""
    chunks, size_of_one = chunks_of(samples)
    fixed = [integral.rule is not None and not integral.rule.is_random for integral in equation.integrals]
    rules = [one.rule if keep and one.rule else MonteCarlo(size_of_one) for one, keep in zip(equation.integrals, fixed, strict=True)]

    def moved(shift: Float[Array, ""]) -> Function:
        return Field(lambda p: jnp.atleast_1d(u(p)) + shift, u.unknowns, u.inputs, u.outputs)

    def one(key: Key[Array, ""]) -> tuple[Array, Array]:
        total, size = jnp.zeros((1,)), jnp.zeros(())
        for integral, nodes in zip(equation.integrals, draw(equation, rules, x, key), strict=True):

            def shifted(shift: Array, integral: Integral = integral, nodes: Nodes = nodes) -> Array:
                return weighted_integrand(integral, moved(shift), x, nodes)

            values, slopes = jax.jvp(shifted, (jnp.zeros(()),), (jnp.ones(()),))
            total = total + jnp.sum(values, axis=0)
            size = size + jnp.max(jnp.sum(jnp.abs(slopes), axis=0))
        return total, size

    totals, sizes = jax.lax.map(one, jax.random.split(key, chunks))
    y = jnp.atleast_1d(jnp.asarray(call(equation.y, x), float))
    return jnp.mean(totals, axis=0) + y, jnp.std(totals, axis=0, ddof=1) / jnp.sqrt(chunks), jnp.mean(sizes)


def other_form(equation: Equation, u: Field) -> str:
    """What the equation is where it is not u = K[u] + y, in words; empty where it is."""
    if equation.f is None:
        return "in weak form"
    if not equation.integrals:
        return "without an integral"
    if equation.unknowns:
        return "one with learned scalars"
    x = equation.domain.sample(jax.random.key(5))
    if not isinstance(x, jax.Array) or x.shape != (u.inputs,):
        return "one whose x is no point of u"
    for shift in (0.0, 1.0):
        other = Field(lambda p, shift=shift: jnp.atleast_1d(u(p)) + shift * jnp.sin(jnp.sum(p)), u.unknowns, u.inputs, u.outputs)
        found, wanted = equation.local_residual(other, x) + jnp.asarray(call(equation.y, x), float), jnp.atleast_1d(other(x))
        if found.shape != wanted.shape or not np.allclose(found, wanted, rtol=SAME, atol=SAME * float(jnp.max(jnp.abs(wanted)))):
            return "one whose f is not u itself"
    return ""


def _uses_derivatives(equation: Equation, u: Field, x: Float[Array, "d"]) -> bool:
    """True where an integrand changes when the derivatives of u are switched off."""
    frozen = Field(lambda p: jnp.atleast_1d(u(jax.lax.stop_gradient(p))), u.unknowns, u.inputs, u.outputs)
    nodes = draw(equation, [MonteCarlo(16)] * len(equation.integrals), x, jax.random.key(6))
    pairs = [
        [weighted_integrand(integral, one, x, n) for integral, n in zip(equation.integrals, nodes, strict=True)] for one in (u, frozen)
    ]
    return any(not np.allclose(a, b, rtol=1e-5, atol=1e-8) for a, b in zip(*pairs, strict=True))
