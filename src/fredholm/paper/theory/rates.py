r"""How fast: the limit of t times the mean square error, and the iterations and evaluations that reach ε."""

import equinox as eqx
import numpy as np
import scipy
from jaxtyping import Float

from fredholm.methods.protocol import AbstractMethod
from fredholm.paper.theory.iterations import StepSize, iterate
from fredholm.paper.theory.laws import GradientLaw
from fredholm.paper.theory.linear import LinearProblem, System, delayed_target_system, standard_system


def step_size_for(system: System, *, largest: float = 0.5) -> StepSize:
    r"""$\eta_t = a/(t + t_0)$ with $a = 1/\min\operatorname{Re}\lambda(A)$, twice what the rate 1/t needs, and $\eta_0$ = `largest`."""
    stability = system.stability()
    if stability <= 0:
        raise ValueError(
            f"A: got an eigenvalue with real part {stability:.3g}; expected all in the right half-plane: no step size converges."
        )
    return StepSize(gain=1 / stability, delay=max(1.0, 1 / (stability * largest)))


def asymptotic_error(problem: LinearProblem, law: GradientLaw, gain: float, batch: int = 1) -> float:
    r"""$\lim_t t\,\mathbb{E}\|\Phi(\theta_t - \theta_\infty)\|_P^2$ with $\eta_t = a/t$: the trace of $\Phi^\top D_P\Phi\,\Sigma$, where

    $$(aA - \tfrac12 I)\,\Sigma + \Sigma\,(aA - \tfrac12 I)^\top = a^2 Q,$$

    and Q is the covariance of the gradient at θ_∞ (Chung; Fabian). Needs a Re λ(A) > ½; τ, λ and the target's lag do not enter.
    """
    system = law.system()
    if gain * system.stability() <= 0.5:
        raise ValueError(f"gain: got {gain:.3g}; expected more than {0.5 / system.stability():.3g}, for the rate 1/t.")
    drift = gain * system.matrix - np.eye(len(system.right)) / 2
    covariance = scipy.linalg.solve_continuous_lyapunov(drift, gain**2 * law.noise(system.solve()) / batch)
    gram = (problem.features.T * problem.probabilities) @ problem.features
    return float(np.trace(gram @ covariance))


def slope(steps: np.ndarray, errors: np.ndarray, since: float = 0.1) -> float:
    """The exponent p of errors ∝ steps^p, fitted to the records after this share of the steps."""
    late = steps >= since * steps[-1]
    return float(np.polyfit(np.log(steps[late]), np.log(errors[late]), 1)[0])


class Effort(eqx.Module):
    """How many iterations, and evaluations of φ and ψ, it took until the mean square error was ε of the first one."""

    name: str  # the method
    epsilon: Float[np.ndarray, " e"]  # ε
    iterations: Float[np.ndarray, " e"]  # NaN where ε was not reached
    evaluations: float  # of each iteration

    @property
    def exponent(self) -> float:
        """p of iterations ∝ (1/ε)^p, over the smaller half of the ε that were reached; NaN where those are fewer than three."""
        digits, iterations = self._late()
        return _line(digits, np.log10(iterations))

    @property
    def per_digit(self) -> float:
        """Iterations for each factor of ten in ε, over the same half; constant for a geometric rate."""
        return _line(*self._late())

    def _late(self) -> tuple[np.ndarray, np.ndarray]:
        """log₁₀ 1/ε and the iterations, for the smaller half of the ε that were reached."""
        reached = np.isfinite(self.iterations)
        digits, iterations = -np.log10(self.epsilon[reached]), self.iterations[reached]
        smaller = np.argsort(digits)[len(digits) // 2 :]
        return digits[smaller], iterations[smaller]


def exact_effort(problem: LinearProblem, method: AbstractMethod, epsilon: Float[np.ndarray, " e"], most: int = 100_000) -> Effort:
    """Gradient descent with exact integrals and every x: the standard loss, or the semi-gradient of delayed targets (τ = 0)."""
    delayed = method.has_target
    system = delayed_target_system(problem) if delayed else standard_system(problem, None)
    move = np.eye(len(system.right)) - _best_step(system) * system.matrix
    apart, errors = -system.solve(), []
    for _ in range(most):
        errors.append(problem.probabilities @ (problem.features @ apart) ** 2)
        if errors[-1] < epsilon.min() * errors[0]:
            break
        apart = move @ apart
    points, nodes = problem.conditional.shape
    name = f"{'delayed target' if delayed else 'standard'}, exact integrals"
    return Effort(name, epsilon, _first_below(np.arange(len(errors)), np.array(errors), epsilon), float(points * (1 + nodes)))


def stochastic_effort(
    problem: LinearProblem, method: AbstractMethod, limit: System, epsilon: Float[np.ndarray, " e"], **keywords
) -> Effort:
    """The same with every x and n drawn nodes for each, against the method's own limit; keywords as for `iterate`."""
    runs = iterate(problem, method, step_size_for(limit), batch=None, records=120, **keywords)
    errors, n = runs.mean_square(problem, limit.solve()), keywords.get("n", 1)
    name = f"{'delayed target' if method.has_target else 'standard'}, N={n}"
    return Effort(name, epsilon, _first_below(runs.steps, errors, epsilon), float(len(problem.labels) * (1 + n)))


def _line(x: np.ndarray, y: np.ndarray) -> float:
    """The slope of the straight line through the points; NaN where there are fewer than three."""
    return float(np.polyfit(x, y, 1)[0]) if len(x) > 2 else float("nan")


def _best_step(system: System) -> float:
    """The constant η with the smallest spectral radius of I − ηA, from a fine grid."""
    eigenvalues = np.linalg.eigvals(system.matrix)
    steps = np.geomspace(1e-3, 3.0, 2000) / np.abs(eigenvalues).max()
    return float(steps[np.argmin(np.abs(1 - steps[:, None] * eigenvalues).max(axis=1))])


def _first_below(steps: np.ndarray, errors: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Where errors / errors[0] stays below each ε from then on; NaN where it never does."""
    worst_later = np.maximum.accumulate(errors[::-1])[::-1] / errors[0]
    index = np.searchsorted(-worst_later, -epsilon, side="left")
    return np.where(index < len(steps), steps[np.minimum(index, len(steps) - 1)], np.nan).astype(float)
