r"""The linear weak form: no f, only an integral that shall equal its label."""

import equinox as eqx
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fredholm.paper.theory.linear import System, array, check_same_width, distribution, excess_matrix, matrix


class WeakProblem(eqx.Module):
    r"""$\sum_{x'} P(x'\,|\,x)\,\psi(x')^\top\theta = y(x)$ for every volume x: the divergence theorem with $\psi = A\,\nabla\chi\cdot n$,
    where $u = \chi^\top\theta$. Delayed targets split it with weight M,

    $$r = (1-\tfrac1M)\,\bar\psi_N^\top\theta_T + \tfrac1M\,\bar\psi_{N'}^\top\theta - y, \qquad
      \text{loss} = r^2 + \lambda\,\overline{(\chi^\top\theta - \chi^\top\theta_T)^2}.$$
    """

    inner: Float[np.ndarray, "t d"]  # Ψ, the features of g at the nodes
    outputs: Float[np.ndarray, "t d"]  # χ, the features of u at the nodes, on which λ acts
    probabilities: Float[np.ndarray, " x"]  # P(x) > 0
    conditional: Float[np.ndarray, "x t"]  # P(x'|x), one row for each volume
    labels: Float[np.ndarray, " x"]  # y

    def __init__(self, inner: ArrayLike, outputs: ArrayLike, probabilities: ArrayLike, conditional: ArrayLike, labels: ArrayLike):
        self.inner = matrix("inner (Ψ)", inner)
        self.outputs = matrix("outputs (χ)", outputs)
        self.labels = array("labels (y)", labels, (len(np.atleast_1d(labels)),))
        self.probabilities = distribution("probabilities P(x)", probabilities, self.labels.shape, positive=True)
        self.conditional = distribution("conditional P(x'|x)", conditional, (len(self.labels), len(self.inner)))
        check_same_width(self.inner, self.outputs)
        rank, wanted = int(np.linalg.matrix_rank(self.conditional @ self.inner)), self.inner.shape[1]
        if rank < wanted:
            raise ValueError(
                f"inner (Ψ): got integrals of rank {rank} with d = {wanted} columns; expected rank d. Remove features whose integral "
                "vanishes on every volume: the weak form cannot see harmonic functions."
            )


def split_system(problem: WeakProblem, split: float, main: int) -> System:
    r"""The fixed point of the split, which the main part biases, by $1/(MN')$ of what one sample biases the standard loss,

    $$\Big(\mathbb{E}_x[\bar\psi\bar\psi^\top] + \tfrac{1}{MN'}\,C\Big)\,\theta = \mathbb{E}_x[\bar\psi\,y].$$

    M = 1 is the standard method with N' samples; $M = \infty$ is unbiased.
    """
    means = problem.conditional @ problem.inner
    weighted = means.T * problem.probabilities
    return System(weighted @ means + excess_matrix(problem) / (split * main), weighted @ problem.labels)
