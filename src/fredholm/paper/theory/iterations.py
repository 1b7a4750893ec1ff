r"""The stochastic iterations themselves, with drawn nodes: losses as they are written in the paper, differentiated by JAX.

Nothing here knows the laws or the fixed points that they are compared with.
"""

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fredholm.common.checks import positive_integer, real
from fredholm.methods import AbstractMethod, DelayedTarget, DoubleSampling
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

    def __call__(self, t: Any) -> Any:
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


def loss(method: AbstractMethod, n: int, has_f: bool, tables: Tables, theta: Any, target: Any, x: Any, uniform: Any) -> Float[Array, ""]:
    """The method's loss at one x, with nodes drawn by uniform numbers: n of them, and N' more for delayed targets."""
    f, y, nodes = tables.left[x] @ theta, tables.labels[x], tables.nodes(x, uniform)

    def integral(parameters: Array, nodes: Array) -> Array:
        return tables.sign * jnp.mean(tables.inner[nodes] @ parameters)

    if isinstance(method, DelayedTarget):
        share, main_nodes = split_share(method, has_f), nodes[n:]
        assert method.regularization is not None  # split_share has asked
        main = f + share * integral(theta, main_nodes)
        if method.on == "f":
            drift = (main - tables.left[x] @ target - share * integral(target, main_nodes)) ** 2
        else:
            points = jnp.atleast_1d(x) if has_f else main_nodes
            drift = jnp.mean((tables.outputs[points] @ (theta - target)) ** 2)
        return (main + (1 - share) * integral(target, nodes[:n]) - y) ** 2 + method.regularization * drift
    if isinstance(method, DoubleSampling):
        half = half_count(method, n)
        return (f + integral(theta, nodes[:half]) - y) * (f + integral(theta, nodes[half:]) - y)
    return (f + integral(theta, nodes) - y) ** 2


@eqx.filter_jit
def _advance(
    numbers: Any, rest: Any, counts: tuple[int, int | None, bool], tables: Tables, theta: Array, target: Array, keys: Array, span: Array
) -> tuple[Array, Array]:
    """Steps span[0]..span[1] of all runs at once. The floats of method and step size are traced: one compilation serves a whole map."""
    method, step_size = eqx.combine(numbers, rest)
    n, batch, has_f = counts
    tau: Any = method.tau if isinstance(method, DelayedTarget) else 0.0
    drawn = n + main_count(method, n) if isinstance(method, DelayedTarget) else n

    def step(t: Array, state: tuple[Array, Array], key: Array) -> tuple[Array, Array]:
        theta, target = state
        points = len(tables.labels) if batch is None else batch
        uniform = jax.random.uniform(jax.random.fold_in(key, t), (points, 1 + drawn))
        if batch is None:
            x, weights = jnp.arange(points), tables.probabilities
        else:
            x = jnp.searchsorted(tables.cumulative, tables.cumulative[-1] * uniform[:, 0], side="right")
            weights = jnp.full((points,), 1 / points)
        gradient = jax.grad(lambda theta, x, uniform: loss(method, n, has_f, tables, theta, target, x, uniform) / 2)
        gradients = jax.vmap(gradient, in_axes=(None, 0, 0))(theta, x, uniform[:, 1:])
        theta = theta - step_size(t) * (weights @ gradients)
        return theta, tau * target + (1 - tau) * theta

    def run(theta: Array, target: Array, key: Array) -> tuple[Array, Array]:
        return jax.lax.fori_loop(span[0], span[1], lambda t, state: step(t, state, key), (theta, target))

    return jax.vmap(run)(theta, target, keys)
