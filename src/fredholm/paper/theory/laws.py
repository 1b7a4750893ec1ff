r"""The law of one stochastic gradient of each method, as a finite list of outcomes.

On a linear problem every method's step is linear. With $z = (\theta, \theta_T)$ half its gradient at a drawn (x, nodes) is
$G\,\theta + G_T\,\theta_T - h$, with random $G, G_T, h$. Their moments say where the method goes, how fast, and whether it diverges.
"""

import math
from functools import singledispatch

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from fredholm.common.checks import positive_integer
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.protocol import AbstractMethod
from fredholm.methods.standard import Standard
from fredholm.paper.theory.linear import LinearProblem, System
from fredholm.paper.theory.weak import WeakProblem

Problem = LinearProblem | WeakProblem


class GradientLaw(eqx.Module):
    r"""Half the gradient, $G\theta + G_T\theta_T - h$, with these probabilities. Half: $(r^2)' / 2$, so that η is twice a learning rate.

    The mean of N nodes is represented by one node, drawn towards the mean as $\bar\psi + (\psi - \bar\psi)/\sqrt N$, which has the same
    mean and covariance. So the mean of every method is exact for every N; second moments are, where the nodes enter linearly (delayed
    targets: any N, with N' = 1) or where there is one node (`Standard` with N = 1, `DoubleSampling` with 1 + 1).
    """

    weights: Float[np.ndarray, " o"]  # the probability of each outcome
    main: Float[np.ndarray, "o d d"]  # G
    target: Float[np.ndarray, "o d d"]  # G_T
    constant: Float[np.ndarray, "o d"]  # h

    def mean(self) -> tuple[Float[np.ndarray, "d 2*d"], Float[np.ndarray, " d"]]:
        r"""$\mathbb{E}[G, G_T]$ side by side, and $\mathbb{E}[h]$."""
        both = np.concatenate([self.main, self.target], axis=2)
        return np.einsum("o,oij->ij", self.weights, both), self.weights @ self.constant

    def system(self) -> System:
        r"""$\mathbb{E}[G + G_T]\,\theta = \mathbb{E}[h]$: where θ = θ_T rests."""
        both, right = self.mean()
        size = len(right)
        return System(both[:, :size] + both[:, size:], right)

    def noise(self, theta: Float[np.ndarray, " d"]) -> Float[np.ndarray, "d d"]:
        """The covariance of the gradient at θ = θ_T."""
        gradients = (self.main + self.target) @ theta - self.constant
        centred = gradients - self.weights @ gradients
        return (centred.T * self.weights) @ centred


def gradient_law(problem: Problem, method: AbstractMethod, n: int = 1) -> GradientLaw:
    """The law for one x and N = n nodes; `DelayedTarget` brings τ, λ, M and N'. Of `DoubleSampling` each half has n / 2 nodes."""
    return _law(method, problem, positive_integer("n", n))


@singledispatch
def _law(method: AbstractMethod, problem: Problem, n: int) -> GradientLaw:
    """The law of each method that has one."""
    raise ValueError(f"method: got {method!r}; expected Standard(), DoubleSampling() or DelayedTarget(...).")


@_law.register
def _(method: Standard, problem: Problem, n: int) -> GradientLaw:
    x, nodes, weights = outcomes(problem, 1)
    row = left(problem)[x] + sign(problem) * _drawn(problem, problem.inner, x, nodes[0], n)
    return GradientLaw(weights, _outer(row, row), np.zeros((len(x), *row.shape[1:] * 2)), row * problem.labels[x, None])


@_law.register
def _(method: DoubleSampling, problem: Problem, n: int) -> GradientLaw:
    half = half_count(method, n)
    x, nodes, weights = outcomes(problem, 2)
    first, second = (left(problem)[x] + sign(problem) * _drawn(problem, problem.inner, x, one, half) for one in nodes)
    main = (_outer(first, second) + _outer(second, first)) / 2
    return GradientLaw(weights, main, np.zeros_like(main), (first + second) / 2 * problem.labels[x, None])


@_law.register
def _(method: DelayedTarget, problem: Problem, n: int) -> GradientLaw:
    share, main_nodes = float(split_share(method, isinstance(problem, LinearProblem))), main_count(method, n)
    x, nodes, weights = outcomes(problem, 2 if share > 0 else 1)
    target_row = -sign(problem) * (1 - share) * _drawn(problem, problem.inner, x, nodes[0], n)
    row = left(problem)[x]
    if share > 0:
        row = row + sign(problem) * share * _drawn(problem, problem.inner, x, nodes[1], main_nodes)
    if method.on == "f":
        pull = _outer(row, row)
    elif isinstance(problem, LinearProblem):
        pull = _outer(problem.outputs[x], problem.outputs[x])
    else:
        squares = _outer(problem.outputs, problem.outputs).reshape(len(problem.outputs), -1)
        pull = _drawn(problem, squares, x, nodes[1], main_nodes).reshape(len(x), row.shape[1], -1)
    pull = method.regularization * pull
    return GradientLaw(weights, _outer(row, row) + pull, -_outer(row, target_row) - pull, row * problem.labels[x, None])


def outcomes(problem: Problem, draws: int) -> tuple[Int[np.ndarray, " o"], list[np.ndarray], Float[np.ndarray, " o"]]:
    """Every x with every choice of `draws` independent nodes, as indices, and their probabilities."""
    points, nodes, weights = [], [], []
    for x, row in enumerate(problem.conditional):
        support = np.flatnonzero(row)
        chosen = np.stack(np.meshgrid(*[support] * draws, indexing="ij"), axis=-1).reshape(-1, draws)
        points.append(np.full(len(chosen), x))
        nodes.append(chosen)
        weights.append(problem.probabilities[x] * np.prod(row[chosen], axis=1))
    return np.concatenate(points), list(np.concatenate(nodes).T), np.concatenate(weights)


def split_share(method: DelayedTarget, has_f: bool) -> float | Float[Array, ""]:
    """1/M, as the library's own method takes it; none where there is an f and no M. The theory is that of fixed numbers."""
    if method.every is not None:
        raise ValueError(f"every: got {method.every}; expected None: the theory is that of averaged targets. Give tau instead.")
    needed = {"tau": method.tau, "regularization": method.regularization} | ({} if has_f else {"split": method.split})
    for name, value in needed.items():
        if value is None:
            raise ValueError(
                f"{name}: got None, which the training chooses from its steps; the theory is that of fixed numbers. "
                "Give for instance DelayedTarget(tau=0.99, regularization=1.0, split=100.0)."
            )
    return 0.0 if method.split is None else 1.0 / method.split


def main_count(method: DelayedTarget, n: int) -> int:
    """N', as many as N unless given."""
    return positive_integer("main", n if method.main is None else method.main)


def half_count(method: DoubleSampling, n: int) -> int:
    """How many of the n nodes each of the two residuals has."""
    if n % 2 or (method.pairs == "all" and n > 2):
        raise ValueError(
            f"n: got {n} for {method!r}; expected an even number, the two halves of pairs='split' (pairs='all' only with n=2)."
        )
    return n // 2


def left(problem: Problem) -> Float[np.ndarray, "x d"]:
    """The features of f, zero in the weak form."""
    return problem.features if isinstance(problem, LinearProblem) else np.zeros((len(problem.labels), problem.inner.shape[1]))


def sign(problem: Problem) -> float:
    """Of the integral in the residual: f − ∫g − y, or ∫g − y in the weak form."""
    return -1.0 if isinstance(problem, LinearProblem) else 1.0


def _drawn(problem: Problem, values: np.ndarray, x: np.ndarray, nodes: np.ndarray, n: int) -> np.ndarray:
    """A node's values, drawn to their mean at x until they have the covariance of a mean of n."""
    means = (problem.conditional @ values)[x]
    return means + (values[nodes] - means) / math.sqrt(n)


def _outer(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return first[:, :, None] * second[:, None, :]
