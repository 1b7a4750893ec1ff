r"""The stochastic iterations themselves, with drawn nodes: losses as they are written in the paper, differentiated by JAX.

Nothing here knows the laws or the fixed points that they are compared with.
"""

import itertools
from functools import singledispatch
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from fredholm.common.checks import positive_integer, real
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.protocol import AbstractMethod
from fredholm.paper.theory.laws import Problem, half_count, left, main_count, sign, split_share
from fredholm.paper.theory.linear import LinearProblem


class StepSize(eqx.Module):
    r"""$\eta_t = a\,(t + t_0)^{-p}$. Stochastic approximation needs $\sum\eta_t = \infty$ and $\sum\eta_t^2 < \infty$: ½ < p ≤ 1."""

    gain: float  # a
    delay: float = 1.0  # t₀, which keeps the first steps stable
    power: float = 1.0  # p; 0 is a constant step

    def __check_init__(self):
        real("gain", self.gain, low=0.0)
        real("delay", self.delay, low=1.0)
        real("power", self.power, low=0.0)

    @property
    def converges(self) -> bool:
        """Whether the steps satisfy the conditions of the theorem."""
        return 0.5 < self.power <= 1.0

    def __call__(self, t: Int[Array, ""]) -> Float[Array, ""]:
        return self.gain * (t + self.delay) ** (-self.power)


class Trajectory(eqx.Module):
    """Independent runs of one method."""

    steps: Int[np.ndarray, " r"]  # how many steps were done at each record
    theta: Float[np.ndarray, "s r d"]  # θ of every run
    target: Float[np.ndarray, "s r d"]  # θ_T of every run

    def mean_square(self, problem: Problem, limit: Float[np.ndarray, " d"]) -> Float[np.ndarray, " r"]:
        r"""The mean over runs of $\|\Phi(\theta - \theta_\infty)\|_P^2$; in the weak form, of $|\theta - \theta_\infty|^2$."""
        apart = self.theta - limit
        if isinstance(problem, LinearProblem):
            return np.einsum("x,srx->r", problem.probabilities, (apart @ problem.features.T) ** 2) / len(apart)
        return np.mean(np.sum(apart**2, axis=2), axis=0)


def iterate(
    problem: Problem,
    method: AbstractMethod,
    step_size: StepSize,
    *,
    n: int = 1,
    steps: int = 10_000,
    batch: int | None = 1,
    runs: int = 64,
    records: int = 40,
    start: Float[np.ndarray, " d"] | None = None,
    seed: int = 0,
) -> Trajectory:
    """Runs of a method with N = n nodes for each of `batch` points x (None: every x once, weighted with P(x)), recorded at even ratios."""
    steps, runs = positive_integer("steps", steps), positive_integer("runs", runs)
    batch = None if batch is None else positive_integer("batch", batch)
    first = np.zeros(problem.inner.shape[1]) if start is None else start
    marks = np.unique(np.append(0, np.geomspace(1, steps, records).round().astype(int)))
    with jax.enable_x64(True):
        tables = Tables.of(problem)
        numbers, rest = eqx.partition((method, step_size), lambda leaf: isinstance(leaf, float))
        numbers, counts = jax.tree.map(jnp.asarray, numbers), (positive_integer("n", n), batch, isinstance(problem, LinearProblem))
        keys = jax.random.split(jax.random.key(seed), runs)
        theta = target = jnp.broadcast_to(jnp.asarray(first), (runs, len(first)))
        kept = [(np.asarray(theta), np.asarray(target))]
        for begin, end in itertools.pairwise(marks):
            theta, target = _advance(numbers, rest, counts, tables, theta, target, keys, jnp.asarray([begin, end]))
            kept.append((np.asarray(theta), np.asarray(target)))
    return Trajectory(marks, *(np.stack(values, axis=1) for values in zip(*kept, strict=True)))


class Tables(eqx.Module):
    """A problem as JAX arrays, with cumulative probabilities to draw from."""

    left: Float[Array, "x d"]
    inner: Float[Array, "t d"]
    outputs: Float[Array, "xt d"]
    labels: Float[Array, " x"]
    probabilities: Float[Array, " x"]
    cumulative: Float[Array, " x"]
    cumulative_nodes: Float[Array, "x t"]
    sign: Float[Array, ""]

    @staticmethod
    def of(problem: Problem) -> "Tables":
        """The tables of a problem."""
        parts = (left(problem), problem.inner, problem.outputs, problem.labels, problem.probabilities)
        cumulative = (np.cumsum(problem.probabilities), np.cumsum(problem.conditional, axis=1))
        return Tables(*map(jnp.asarray, (*parts, *cumulative, sign(problem))))

    def nodes(self, x: Int[Array, ""], uniform: Float[Array, " n"]) -> Int[Array, " n"]:
        """Independent nodes of P(x'|x), from uniform numbers."""
        row = self.cumulative_nodes[x]
        return jnp.searchsorted(row, row[-1] * uniform, side="right")


class AtX(NamedTuple):
    """What a method's loss at one x is made of: f − y and the integrals of any parameters over any of the drawn nodes."""

    tables: Tables
    x: Int[Array, ""]
    nodes: Int[Array, " n"]  # n of them, and N' more for delayed targets
    n: int
    has_f: bool

    def local(self, parameters: Float[Array, " d"]) -> Float[Array, ""]:
        """f − y."""
        return self.tables.left[self.x] @ parameters - self.tables.labels[self.x]

    def integral(self, parameters: Float[Array, " d"], nodes: Int[Array, " k"]) -> Float[Array, ""]:
        """The mean of the integrand over the nodes, with its sign in the residual."""
        return self.tables.sign * jnp.mean(self.tables.inner[nodes] @ parameters)


@singledispatch
def loss(method: AbstractMethod, at: AtX, theta: Float[Array, " d"], target: Float[Array, " d"]) -> Float[Array, ""]:
    """The method's loss at one x: the standard one where the method has none of its own."""
    return (at.local(theta) + at.integral(theta, at.nodes)) ** 2


@loss.register
def _(method: DoubleSampling, at: AtX, theta: Float[Array, " d"], target: Float[Array, " d"]) -> Float[Array, ""]:
    half, local = half_count(method, at.n), at.local(theta)
    return (local + at.integral(theta, at.nodes[:half])) * (local + at.integral(theta, at.nodes[half:]))


@loss.register
def _(method: DelayedTarget, at: AtX, theta: Float[Array, " d"], target: Float[Array, " d"]) -> Float[Array, ""]:
    share, main_nodes = split_share(method, at.has_f), at.nodes[at.n :]
    assert method.regularization is not None  # split_share has asked
    main = at.local(theta) + share * at.integral(theta, main_nodes)
    if method.on == "f":
        drift = (main - at.local(target) - share * at.integral(target, main_nodes)) ** 2
    else:
        points = jnp.atleast_1d(at.x) if at.has_f else main_nodes
        drift = jnp.mean((at.tables.outputs[points] @ (theta - target)) ** 2)
    return (main + (1 - share) * at.integral(target, at.nodes[: at.n])) ** 2 + method.regularization * drift


@singledispatch
def _tau_and_nodes(method: AbstractMethod, n: int) -> tuple[float | Float[Array, ""], int]:
    """τ, and the nodes that are drawn at each x."""
    return 0.0, n


@_tau_and_nodes.register
def _(method: DelayedTarget, n: int) -> tuple[float | Float[Array, ""], int]:
    assert method.tau is not None  # split_share has asked
    return method.tau, n + main_count(method, n)


Chosen = tuple[AbstractMethod, StepSize]  # a method with its step size; or one part of them, the other left out


@eqx.filter_jit
def _advance(
    numbers: Chosen,
    rest: Chosen,
    counts: tuple[int, int | None, bool],
    tables: Tables,
    theta: Float[Array, "s d"],
    target: Float[Array, "s d"],
    keys: Key[Array, " s"],
    span: Int[Array, " 2"],
) -> tuple[Float[Array, "s d"], Float[Array, "s d"]]:
    """Steps span[0]..span[1] of all runs at once. The floats of method and step size are traced: one compilation serves a whole map."""
    method, step_size = eqx.combine(numbers, rest)
    n, batch, has_f = counts
    tau, drawn = _tau_and_nodes(method, n)

    def step(t: Array, state: tuple[Array, Array], key: Array) -> tuple[Array, Array]:
        theta, target = state
        points = len(tables.labels) if batch is None else batch
        uniform = jax.random.uniform(jax.random.fold_in(key, t), (points, 1 + drawn))
        if batch is None:
            x, weights = jnp.arange(points), tables.probabilities
        else:
            x = jnp.searchsorted(tables.cumulative, tables.cumulative[-1] * uniform[:, 0], side="right")
            weights = jnp.full((points,), 1 / points)

        def half_loss(theta: Array, x: Array, uniform: Array) -> Array:
            return loss(method, AtX(tables, x, tables.nodes(x, uniform), n, has_f), theta, target) / 2

        gradient = jax.grad(half_loss)
        gradients = jax.vmap(gradient, in_axes=(None, 0, 0))(theta, x, uniform[:, 1:])
        theta = theta - step_size(t) * (weights @ gradients)
        return theta, tau * target + (1 - tau) * theta

    def run(theta: Array, target: Array, key: Array) -> tuple[Array, Array]:
        return jax.lax.fori_loop(span[0], span[1], lambda t, state: step(t, state, key), (theta, target))

    return jax.vmap(run)(theta, target, keys)
