r"""What the theorem assumes and promises, and what is true: σ, spectral radius, contraction, and the constants of the error bound."""

import logging
import math

import equinox as eqx
import numpy as np
from jaxtyping import Float

from fredholm.paper.theory.linear import LinearProblem, coupling, delayed_target_system, exact_solution, norm, projection

logger = logging.getLogger("fredholm")
ANGLES = 360  # directions in the complex plane over which the numerical radius is maximised
ROUNDING = 1e-24  # a mean square error this small, relative to that of f*, counts as zero: float64 leaves about 1e-30


def sigma(matrix: Float[np.ndarray, "x x"]) -> float:
    r"""The paper's $\sigma_M = \max_{\|z\|=1} |z^\top M z|$ over real z: the spectral radius of $(M + M^\top)/2$, not that of M."""
    return float(np.abs(np.linalg.eigvalsh((matrix + matrix.T) / 2)).max())


def spectral_radius(matrix: Float[np.ndarray, "x x"]) -> float:
    r"""$\max |\lambda|$ over the eigenvalues."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def numerical_radius(matrix: Float[np.ndarray, "x x"]) -> float:
    r"""$\max_{\|z\|=1} |z^* M z|$ over complex z: at least the spectral radius, which σ is not."""
    turned = np.exp(1j * np.linspace(0, math.pi, ANGLES, endpoint=False))[:, None, None] * matrix
    return float(np.abs(np.linalg.eigvalsh((turned + turned.conj().swapaxes(1, 2)) / 2)).max())


def weighted_norm(problem: LinearProblem, matrix: Float[np.ndarray, "x x"]) -> float:
    r"""$\max_H \|MH\|_P / \|H\|_P = \|D_P^{1/2} M D_P^{-1/2}\|_2$."""
    root = np.sqrt(problem.probabilities)
    return float(np.linalg.norm(root[:, None] * matrix / root, 2))


class Assessment(eqx.Module):
    r"""The theorem on one problem. All errors are mean squares under P(x).

    With κ = $\|P^|\Lambda\|_P < 1$, $\Pi\,\mathcal{U}$ is a contraction and, since Π is orthogonal in this norm,

    $$\mathbb{E}[(f_{DT} - f^*)^2] \le \frac{1}{1-\kappa^2}\,\mathbb{E}[(\Pi f^* - f^*)^2],$$

    which no smaller constant can replace (Tsitsiklis and Van Roy, 1997). The paper has σ for κ, and $1/(1-\sigma)$.
    """

    sigma: float  # the paper's σ of P|Λ
    numerical_radius: float  # the same over complex vectors
    spectral_radius: float  # of P|Λ
    contraction: float  # κ, the norm of P|Λ in the weighted norm
    stability: float  # the smallest real part of the eigenvalues of A; positive: delayed targets converge
    error: float  # E(f_DT − f*)²; 0 where it is rounding
    projection_error: float  # E(Πf* − f*)², the least that is possible; 0 where it is rounding
    sharp_constant: float  # the largest error / projection error that any labels could give; 1 where Φ reaches every function

    @property
    def paper_constant(self) -> float:
        """1/(1 − σ), or infinity where the theorem does not apply."""
        return 1 / (1 - self.sigma) if self.sigma < 1 else math.inf

    @property
    def sound_constant(self) -> float:
        """1/(1 − κ²), or infinity where κ ≥ 1."""
        return 1 / (1 - self.contraction**2) if self.contraction < 1 else math.inf

    @property
    def ratio(self) -> float:
        """The error over the least possible one; 1 where both are zero (the corollary)."""
        return self.error / self.projection_error if self.projection_error > 0 else 1.0

    @property
    def is_stable(self) -> bool:
        """Whether delayed targets converge with step sizes that vanish, theorem or no theorem."""
        return self.stability > 0


def assess(problem: LinearProblem) -> Assessment:
    """Every constant of the theorem; warns where σ ≥ 1, and says whether the iteration is stable all the same."""
    product, project, exact = coupling(problem), projection(problem), exact_solution(problem)
    system = delayed_target_system(problem)
    identity = np.eye(len(exact))
    # f_DT − f* = (I − ΠP|Λ)⁻¹ (Π − I) f*: an identity, so that its norm is the sharp constant.
    amplification = np.linalg.solve(identity - project @ product, identity - project)

    def squared(apart: Float[np.ndarray, " x"]) -> float:
        value = norm(problem, apart) ** 2
        return value if value > ROUNDING * norm(problem, exact) ** 2 else 0.0

    found = Assessment(
        sigma=sigma(product),
        numerical_radius=numerical_radius(product),
        spectral_radius=spectral_radius(product),
        contraction=weighted_norm(problem, product),
        stability=system.stability(),
        error=squared(problem.features @ system.solve() - exact),
        projection_error=squared(project @ exact - exact),
        sharp_constant=max(1.0, weighted_norm(problem, amplification) ** 2),
    )
    if found.sigma >= 1:
        logger.warning("σ(P|Λ) = %.3g ≥ 1: the paper's theorem does not apply. %s", found.sigma, verdict(found))
    return found


def verdict(found: Assessment) -> str:
    """Whether delayed targets converge, in a sentence."""
    if found.is_stable:
        return f"The iteration is stable all the same: the eigenvalues of A have real parts of at least {found.stability:.3g}."
    return f"The iteration is unstable: an eigenvalue of A has the real part {found.stability:.3g}."
