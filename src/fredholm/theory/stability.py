r"""When does it diverge? The recursion of $z = (\theta, \theta_T)$ as a matrix, in the mean and in the mean square.

With step size η, half gradient $G\theta + G_T\theta_T - h$ and averaging τ,

$$\theta^+ = \theta - \eta\,(G\theta + G_T\theta_T - h), \qquad \theta_T^+ = \tau\theta_T + (1-\tau)\,\theta^+,$$

so $z^+ = T z + s$ with random T. The mean converges iff the spectral radius of $\mathbb{E}[T]$ is below 1, and the mean square iff that of
$\mathbb{E}[T\otimes T]$ is. Between the two the average is fine and every single run is not.
"""

import equinox as eqx
import numpy as np
from jaxtyping import Float

from fredholm.checks import positive_integer, real
from fredholm.theory.bounds import spectral_radius
from fredholm.theory.laws import GradientLaw


class Moments(eqx.Module):
    r"""What stability needs of a gradient's law, for a batch of one; it serves every η, τ and batch."""

    first: Float[np.ndarray, "d 2d"]  # E[G, G_T]
    second: Float[np.ndarray, "d d 2d 2d"]  # E[G_ij G_kl] at [i, k, j, l]


def moments(law: GradientLaw) -> Moments:
    """The first two moments of (G, G_T)."""
    both = np.concatenate([law.main, law.target], axis=2)
    outcomes, d, width = both.shape
    flat = both.reshape(outcomes, d * width)
    second = ((flat.T * law.weights) @ flat).reshape(d, width, d, width).transpose(0, 2, 1, 3)
    return Moments(law.mean()[0], second)


def mean_transition(given: Moments, step: float, tau: float) -> Float[np.ndarray, "2d 2d"]:
    r"""$\mathbb{E}[T] = L_\tau (I - \eta\,e_1 \mathbb{E}[G, G_T])$, where $L_\tau$ averages the target after the step."""
    step, tau = real("step (η)", step, low=0.0), real("tau", tau, low=0.0, below=1.0)
    d = len(given.first)
    moved = np.eye(2 * d)
    moved[:d] -= step * given.first
    return np.kron([[1.0, 0.0], [1 - tau, tau]], np.eye(d)) @ moved


def square_transition(given: Moments, step: float, tau: float, batch: int = 1) -> Float[np.ndarray, "q q"]:
    r"""$\mathbb{E}[T\otimes T]$ on symmetric matrices, in the basis $E_{ij}, i \le j$: how $\mathbb{E}[z z^\top]$ moves, apart from the labels.

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
