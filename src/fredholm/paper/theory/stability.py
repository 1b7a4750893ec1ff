r"""When does it diverge? The recursion of $z = (\theta, \theta_T)$ as a matrix, in the mean and in the mean square.

With step size η, half gradient $G\theta + G_T\theta_T - h$ and averaging τ,

$$\theta^+ = \theta - \eta\,(G\theta + G_T\theta_T - h), \qquad \theta_T^+ = \tau\theta_T + (1-\tau)\,\theta^+,$$

so $z^+ = T z + s$ with random T. The mean converges iff the spectral radius of $\mathbb{E}[T]$ is below 1, and the mean square iff that of
$\mathbb{E}[T\otimes T]$ is. Between the two the average is fine and every single run is not.
"""

from collections.abc import Sequence

import equinox as eqx
import numpy as np
from jaxtyping import Float

from fredholm.common.checks import positive_integer, real
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.paper.theory.bounds import spectral_radius
from fredholm.paper.theory.iterations import StepSize, iterate
from fredholm.paper.theory.laws import GradientLaw, gradient_law
from fredholm.paper.theory.weak import WeakProblem


class Moments(eqx.Module):
    r"""What stability needs of a gradient's law, for a batch of one; it serves every η, τ and batch."""

    first: Float[np.ndarray, "d 2*d"]  # E[G, G_T]
    second: Float[np.ndarray, "d d 2*d 2*d"]  # E[G_ij G_kl] at [i, k, j, l]


def moments(law: GradientLaw) -> Moments:
    """The first two moments of (G, G_T)."""
    both = np.concatenate([law.main, law.target], axis=2)
    outcomes, d, width = both.shape
    flat = both.reshape(outcomes, d * width)
    second = ((flat.T * law.weights) @ flat).reshape(d, width, d, width).transpose(0, 2, 1, 3)
    return Moments(law.mean()[0], second)


def mean_transition(given: Moments, step: float, tau: float) -> Float[np.ndarray, "w w"]:
    r"""$\mathbb{E}[T] = L_\tau (I - \eta\,e_1 \mathbb{E}[G, G_T])$, where $L_\tau$ averages the target after the step."""
    step, tau = real("step (η)", step, low=0.0), real("tau", tau, low=0.0, below=1.0)
    d = len(given.first)
    moved = np.eye(2 * d)
    moved[:d] -= step * given.first
    return np.kron([[1.0, 0.0], [1 - tau, tau]], np.eye(d)) @ moved


def square_transition(given: Moments, step: float, tau: float, batch: int = 1) -> Float[np.ndarray, "q q"]:
    r"""$\mathbb{E}[T\otimes T]$ on symmetric matrices, as their upper triangles: how $\mathbb{E}[z z^\top]$ moves without labels.

    A batch of B independent x has the same mean and 1/B of the covariance of (G, G_T).
    """
    batch, d = positive_integer("batch", batch), len(given.first)
    mean = mean_transition(given, step, tau)
    noise = (given.second - np.einsum("ij,kl->ikjl", given.first, given.first)) / batch
    rise = np.kron([[1.0], [1 - tau]], np.eye(d))  # where a step of θ goes: to θ, and a share of 1 − τ to θ_T
    size = 2 * d
    full = np.kron(mean, mean) + step**2 * np.kron(rise, rise) @ noise.reshape(d * d, size * size)
    rows, columns = np.triu_indices(size)
    symmetric = full.reshape(size, size, size, size)[rows, columns]  # the images' upper triangles
    both = symmetric[:, rows, columns] + symmetric[:, columns, rows]
    return np.where(rows == columns, both / 2, both)


def mean_radius(given: Moments, step: float, tau: float) -> float:
    """Below 1: the mean converges."""
    return spectral_radius(mean_transition(given, step, tau))


def square_radius(given: Moments, step: float, tau: float, batch: int = 1) -> float:
    """Below 1: the mean square stays bounded, and single runs stay near their fixed point."""
    return spectral_radius(square_transition(given, step, tau, batch))


class Setting(eqx.Module):
    r"""Delayed targets on the weak form, in the units that matter. Half the gradient of $r^2$ is $\frac1M\bar\psi' r$: θ moves by η/M along
    $\bar\psi'$, and by ηλ = (η/M) Mλ towards the target. An optimiser that rescales gradients, as Adam does, holds η/M, not η."""

    rate: float = 1.0  # η/M
    tau: float = 0.99  # τ
    pull: float = 0.0  # Mλ
    split: float = 100.0  # M
    batch: int = 1  # volumes x in each step
    n: int = 1  # N, the target's nodes; N' = 1

    @property
    def step(self) -> float:
        """η."""
        return self.rate * self.split

    @property
    def method(self) -> DelayedTarget:
        """The library's own method with these numbers."""
        return DelayedTarget(tau=self.tau, regularization=self.pull / self.split, split=self.split, main=1)


class Growth(eqx.Module):
    """Logarithms of spectral radii for each step; negative: it decays."""

    mean: Float[np.ndarray, " c"]  # of E[z]
    square: Float[np.ndarray, " c"]  # of E[zzᵀ]


def growth(problem: WeakProblem, settings: Sequence[Setting]) -> Growth:
    """How the mean and the mean square grow or decay under each setting."""
    known: dict[tuple[float, float, int], Moments] = {}
    found = []
    for one in settings:
        law = (one.pull, one.split, one.n)
        if law not in known:
            known[law] = moments(gradient_law(problem, one.method, one.n))
        found.append((mean_radius(known[law], one.step, one.tau), square_radius(known[law], one.step, one.tau, one.batch)))
    return Growth(*np.log(np.maximum(np.array(found), 1e-300)).T)


def diverged(problem: WeakProblem, setting: Setting, *, steps: int = 2000, runs: int = 64, far: float = 100.0, seed: int = 0) -> float:
    """The share of real runs that ended, or became, `far` times as far from the fixed point as they began."""
    limit = gradient_law(problem, setting.method, setting.n).system().solve()
    step = StepSize(setting.step, power=0.0)
    made = iterate(problem, setting.method, step, n=setting.n, steps=steps, batch=setting.batch, runs=runs, records=2, seed=seed)
    apart = np.abs(made.theta[:, -1] - limit).max(axis=1)
    return float(np.mean(~(apart < far * np.abs(limit).max())))
