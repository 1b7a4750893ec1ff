r"""The linear problem of the paper's theory (Saleh et al., ICML 2024, appendix): matrices, operators and fixed points.

On a domain of S points, $f_\theta(x) = \phi(x)^\top\theta$ and $g_\theta(x') = \psi(x')^\top\theta$ shall satisfy
$f_\theta(x) = \mathbb{E}[g_\theta(x')\,|\,x] + y(x)$. Everything here is float64 linear algebra, and exact.
"""

from typing import Protocol, runtime_checkable

import equinox as eqx
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fredholm.common.checks import positive_integer, real
from fredholm.common.linear_algebra import assembled

TOLERANCE = 1e-9  # by how much probabilities may miss the sum one


class LinearProblem(eqx.Module):
    r"""$\phi(x)^\top\theta = \sum_{x'} P(x'\,|\,x)\,\psi(x')^\top\theta + y(x)$ at every point x, drawn with probability P(x).

    `conditional[i, j]` is $P(x'=x_j\,|\,x=x_i)$: its rows sum to one. The paper writes this matrix transposed, with which
    $\mathcal{U}\Phi\theta = Y + P^|\Psi\theta$ would not be the update. The nodes x' may be other points than the x.
    """

    features: Float[np.ndarray, "x d"]  # Φ, the features of f; of full column rank
    inner: Float[np.ndarray, "t d"]  # Ψ, the features of g, at the nodes x'
    probabilities: Float[np.ndarray, " x"]  # P(x) > 0, the diagonal of D_P
    conditional: Float[np.ndarray, "x t"]  # P|, one row for each x
    labels: Float[np.ndarray, " x"]  # Y
    relation: Float[np.ndarray, "t x"]  # Λ with Ψ = ΛΦ, which is not unique; default: ΨΦ⁺
    outputs: Float[np.ndarray, "x d"]  # the features of the raw output u, on which λ acts; default: those of f

    def __init__(
        self,
        features: ArrayLike,
        inner: ArrayLike,
        probabilities: ArrayLike,
        conditional: ArrayLike,
        labels: ArrayLike,
        relation: ArrayLike | None = None,
        outputs: ArrayLike | None = None,
    ):
        self.features = matrix("features (Φ)", features)
        self.inner = matrix("inner (Ψ)", inner)
        points, nodes = len(self.features), len(self.inner)
        self.probabilities = distribution("probabilities P(x)", probabilities, (points,), positive=True)
        self.conditional = distribution("conditional P(x'|x)", conditional, (points, nodes))
        self.labels = array("labels (Y)", labels, (points,))
        check_same_width(self.features, self.inner)
        rank = int(np.linalg.matrix_rank(self.features))
        if rank < self.features.shape[1]:
            raise ValueError(
                f"features (Φ): got rank {rank} with d = {self.features.shape[1]} columns; expected rank(Φ) = d, the paper's assumption of "
                "distinctive features. Remove the columns that depend on others."
            )
        given = self.inner @ np.linalg.pinv(self.features) if relation is None else relation
        self.relation = array("relation (Λ)", given, (nodes, points))
        if not np.allclose(self.relation @ self.features, self.inner, atol=1e-8 * (1 + np.abs(self.inner).max())):
            raise ValueError("relation (Λ): got a matrix with ΛΦ ≠ Ψ; expected Ψ = ΛΦ. Leave it out to take ΨΦ⁺.")
        self.outputs = self.features if outputs is None else array("outputs", outputs, self.features.shape)


def bellman(
    features: ArrayLike, transition: ArrayLike, rewards: ArrayLike, discount: float, probabilities: ArrayLike | None = None
) -> LinearProblem:
    r"""Bellman's equation $V(x) = \gamma\,\mathbb{E}[V(x')\,|\,x] + R(x)$: Ψ = γΦ, Λ = γI. P(x) defaults to the stationary distribution."""
    discount = real("discount (γ)", discount, low=0.0)
    phi = matrix("features (Φ)", features)
    chain = distribution("transition P(x'|x)", transition, (len(phi), len(phi)))
    drawn = stationary(chain) if probabilities is None else probabilities
    return LinearProblem(phi, discount * phi, drawn, chain, rewards, discount * np.eye(len(phi)))


def stationary(transition: Float[np.ndarray, "x x"]) -> Float[np.ndarray, " x"]:
    r"""The distribution with $\pi^\top P^| = \pi^\top$."""
    size = len(transition)
    equations = np.vstack([transition.T - np.eye(size), np.ones((1, size))])
    return np.linalg.lstsq(equations, np.append(np.zeros(size), 1.0), rcond=None)[0]


def norm(problem: LinearProblem, values: Float[np.ndarray, " x"]) -> float:
    r"""$\|H\|_P = \mathbb{E}_P[h(x)^2]^{1/2}$. The paper leaves out the root, and then uses the triangle inequality."""
    return float(np.sqrt(problem.probabilities @ values**2))


def coupling(problem: LinearProblem) -> Float[np.ndarray, "x x"]:
    r"""$P^|\Lambda$, the linear part of the update."""
    return problem.conditional @ problem.relation


def update(problem: LinearProblem, values: Float[np.ndarray, " x"]) -> Float[np.ndarray, " x"]:
    r"""$\mathcal{U} H = Y + P^|\Lambda H$."""
    return problem.labels + coupling(problem) @ values


def projection(problem: LinearProblem) -> Float[np.ndarray, "x x"]:
    r"""$\Pi = \Phi(\Phi^\top D_P\Phi)^{-1}\Phi^\top D_P$, orthogonal in $\|\cdot\|_P$, and only there."""
    weighted = problem.features.T * problem.probabilities
    return problem.features @ np.linalg.solve(weighted @ problem.features, weighted)


class System(eqx.Module):
    r"""$A\theta = b$: a fixed point, which attracts a stochastic iteration if A's eigenvalues lie in the right half-plane."""

    matrix: Float[np.ndarray, "d d"]  # A
    right: Float[np.ndarray, " d"]  # b

    def solve(self) -> Float[np.ndarray, " d"]:
        """θ, or a `ValueError` where there is none or more than one."""
        if np.linalg.matrix_rank(self.matrix) < len(self.right):
            raise ValueError(
                "got a singular system Aθ = b; expected an invertible one: the fixed point does not exist, or is not unique. "
                "Change the features, or the size of g against f."
            )
        return np.linalg.solve(self.matrix, self.right)

    def stability(self) -> float:
        """The smallest real part of A's eigenvalues."""
        return float(np.linalg.eigvals(self.matrix).real.min())


def delayed_target_system(problem: LinearProblem) -> System:
    r"""$A = \Phi^\top D_P(I - P^|\Lambda)\Phi$ and $b = \Phi^\top D_P Y$, that is $\Phi\theta = \Pi\,\mathcal{U}\,\Phi\theta$."""
    weighted = problem.probabilities[:, None] * problem.features
    return System(*assembled(weighted, residual_features(problem), problem.labels))


def standard_system(problem: LinearProblem, n: int | None) -> System:
    r"""The normal equations of the standard loss with N samples, $B = \Phi - P^|\Psi$ (n=None: of the true loss, with exact integrals),

    $$\Big(B^\top D_P B + \tfrac1N C\Big)\,\theta = B^\top D_P Y,$$

    with C from `excess_matrix`.
    """
    features = residual_features(problem)
    matrix, right = assembled(problem.probabilities[:, None] * features, features, problem.labels)
    excess = 0.0 if n is None else excess_matrix(problem) / positive_integer("n", n)
    return System(matrix + excess, right)


def residual_features(problem: LinearProblem) -> Float[np.ndarray, "x d"]:
    r"""$\Phi - P^|\Psi$: times θ, less Y, it is the residual."""
    return problem.features - problem.conditional @ problem.inner


@runtime_checkable
class Sampled(Protocol):
    """The integral of a linear problem, strong or weak: features of g at the nodes x', and their probabilities."""

    @property
    def inner(self) -> np.ndarray:
        """Ψ, (t, d)."""
        ...

    @property
    def probabilities(self) -> np.ndarray:
        """P(x), (x,)."""
        ...

    @property
    def conditional(self) -> np.ndarray:
        """P(x'|x), (x, t)."""
        ...


def excess_matrix(problem: Sampled) -> Float[np.ndarray, "d d"]:
    r"""C, with $\theta^\top C\,\theta = \mathbb{E}_x \operatorname{Var}[g_\theta(x')\,|\,x]$: what one sample adds to the loss."""
    means = problem.conditional @ problem.inner
    second = (problem.inner.T * (problem.probabilities @ problem.conditional)) @ problem.inner
    return second - (means.T * problem.probabilities) @ means


def true_loss(problem: LinearProblem, theta: Float[np.ndarray, " d"]) -> float:
    r"""$\mathbb{E}_x[(f_\theta - \mathbb{E}g_\theta - y)^2]$."""
    return norm(problem, residual_features(problem) @ theta - problem.labels) ** 2


def excess_variance(problem: LinearProblem, theta: Float[np.ndarray, " d"], n: int) -> float:
    r"""$\frac1N\,\mathbb{E}_x\operatorname{Var}[g_\theta(x')\,|\,x]$, what N samples add to the standard loss."""
    return float(theta @ excess_matrix(problem) @ theta) / positive_integer("n", n)


def exact_solution(problem: LinearProblem) -> Float[np.ndarray, " x"]:
    r"""$f^* = \mathcal{U} f^*$. Off the span of Φ it depends on the choice of Λ."""
    return System(np.eye(len(problem.labels)) - coupling(problem), problem.labels).solve()


def matrix(name: str, value: ArrayLike) -> np.ndarray:
    """A finite float64 matrix, or a `ValueError`."""
    made = np.asarray(value, dtype=float)
    if made.ndim != 2 or made.size == 0:
        raise ValueError(f"{name}: got shape {made.shape}; expected a matrix, one row for each point and one column for each parameter.")
    return array(name, made, made.shape)


def array(name: str, value: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """A finite float64 array of this shape, or a `ValueError`."""
    made = np.asarray(value, dtype=float)
    if made.shape != shape:
        raise ValueError(f"{name}: got shape {made.shape}; expected {shape}.")
    if not np.all(np.isfinite(made)):
        raise ValueError(f"{name}: got NaN or infinite entries; expected finite numbers.")
    return made


def distribution(name: str, value: ArrayLike, shape: tuple[int, ...], *, positive: bool = False) -> np.ndarray:
    """Probabilities along the last axis, or a `ValueError` that names the assumption."""
    made = array(name, value, shape)
    if np.any(made < 0) or (positive and np.any(made == 0)):
        limit = "P(x) > 0 at every point, the paper's assumption; remove points that are never drawn" if positive else "none below 0"
        raise ValueError(f"{name}: got a probability of {made.min():.3g}; expected {limit}.")
    sums = made.sum(axis=-1)
    if np.any(np.abs(sums - 1) > TOLERANCE):
        rows = " in every row, one row for each x (the paper writes this matrix transposed)" if made.ndim == 2 else ""
        worst = sums.flat[np.argmax(np.abs(sums - 1))]
        raise ValueError(f"{name}: got probabilities that sum to {worst:.6g}; expected the sum 1{rows}.")
    return made


def check_same_width(first: np.ndarray, second: np.ndarray) -> None:
    """Both have one column for each parameter."""
    if first.shape[1] != second.shape[1]:
        raise ValueError(f"got features with {first.shape[1]} and {second.shape[1]} columns; expected as many as θ has entries in both.")
