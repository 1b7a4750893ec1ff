"""Where the paper's statement or its proof needs an assumption that it does not make: each as a problem and its numbers."""

import math
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from fredholm.paper.theory.bounds import sigma, spectral_radius, weighted_norm
from fredholm.paper.theory.examples import random_problem
from fredholm.paper.theory.linear import (
    LinearProblem,
    System,
    bellman,
    coupling,
    delayed_target_system,
    exact_solution,
    norm,
    projection,
)

UNIFORM = np.array([0.5, 0.5])


class Finding(eqx.Module):
    """A claim of the paper and what is true, with numbers."""

    claim: str  # as the paper has it
    truth: str  # what holds instead
    numbers: dict[str, Any]  # what was computed


def quarter_turn(kappa: float = 0.9) -> LinearProblem:
    """P|Λ is κ times a quarter turn: σ = 0, though its eigenvalues are ±iκ."""
    turn = kappa * np.array([[0.0, 1.0], [-1.0, 0.0]])
    phi = np.array([[1.0], [0.0]])
    return LinearProblem(phi, turn @ phi, UNIFORM, np.eye(2), [0.3, 1.0], turn)


def worst_turn(kappa: float = 0.9) -> LinearProblem:
    """P|Λ is κ times a turn by arccos κ: here the constant 1/(1 − κ²) is attained."""
    side = math.sqrt(1 - kappa**2)
    turn = kappa * np.array([[kappa, side], [-side, kappa]])
    phi = np.array([[1.0], [0.0]])
    return LinearProblem(phi, turn @ phi, UNIFORM, np.eye(2), [0.3, 1.0], turn)


def skewed() -> LinearProblem:
    """All the paper's assumptions hold with σ = ½, and delayed targets diverge: P(x) is far from uniform."""
    relation = np.array([[0.0, 3.0], [-2.0, 0.0]])
    phi = np.full((2, 1), 1 / 3)
    return LinearProblem(phi, relation @ phi, [0.9, 0.1], np.eye(2), [1.0, 0.0], relation)


def one_way(kappa: float = 0.9) -> LinearProblem:
    """P|Λ takes the second point to the first and nothing back: its eigenvalues are 0."""
    forth = np.array([[0.0, kappa], [0.0, 0.0]])
    phi = np.array([[1.0], [0.0]])
    return LinearProblem(phi, forth @ phi, UNIFORM, np.eye(2), [0.0, 1.0], forth)


def star(points: int, discount: float = 0.9) -> LinearProblem:
    """A Bellman equation where every point leads to the first: σ = γ(1 + √S)/2."""
    transition = np.zeros((points, points))
    transition[:, 0] = 1.0
    return bellman(np.eye(points), transition, np.ones(points), discount, np.full(points, 1 / points))


def twice(discount: float = 0.9) -> LinearProblem:
    """Tsitsiklis and Van Roy's Bellman equation: φ = (½, 1), both points lead to the second, P(x) is not the stationary distribution."""
    return bellman([[0.5], [1.0]], [[0.0, 1.0], [0.0, 1.0]], [1.0, 1.0], discount, UNIFORM)


def findings() -> list[Finding]:
    """All of them, in the order of the paper's appendix."""
    return [
        _transposed(),
        _relation(),
        _radius(),
        _bellman(),
        _off_policy(),
        _convergence(),
        _squares(),
        _projection(),
        _bound(),
        _other_reading(),
    ]


def _transposed() -> Finding:
    chain = np.array([[0.5, 0.5], [0.1, 0.9]])
    right = bellman(np.eye(2), chain, [1.0, 0.0], 0.9)
    literal = System(np.eye(2) - 0.9 * chain.T, right.labels).solve()
    values = exact_solution(right)
    numbers = {"V(x₂)": values[1], "V(x₂) as printed": literal[1]}
    return Finding("P| = [P(x'=x_i | x=x_j)]_ij", "the update needs the transpose, rows that sum to one", numbers)


def _relation() -> Finding:
    given = skewed()
    other = LinearProblem(given.features, given.inner, given.probabilities, given.conditional, given.labels)
    numbers = {"σ, Λ as given": sigma(coupling(given)), "σ, Λ = ΨΦ⁺": sigma(coupling(other))}
    solutions = {"f*(x₁), Λ as given": exact_solution(given)[0], "f*(x₁), Λ = ΨΦ⁺": exact_solution(other)[0]}
    truth = "Λ is not unique, and σ and f* depend on it; A, b and the fixed point of ΠU do not"
    return Finding("Ψ = ΛΦ for some Λ", truth, {**numbers, **solutions})


def _radius() -> Finding:
    product = coupling(quarter_turn())
    numbers = {"σ": sigma(product), "spectral radius": spectral_radius(product)}
    truth = "over real z it is that of (M + Mᵀ)/2, and may be below or above it"
    return Finding("σ = max |zᵀMz| is the spectral radius, and bounds all eigenvalues", truth, numbers)


def _bellman() -> Finding:
    sigmas = {f"σ, S = {points}": sigma(coupling(star(points))) for points in (2, 10, 100)}
    found = star(100)
    numbers = {
        **sigmas,
        "spectral radius": spectral_radius(coupling(found)),
        "smallest Re λ(A), S = 100": delayed_target_system(found).stability(),
    }
    return Finding("a Bellman equation with γ < 1 has σ < 1", "σ = γ(1 + √S)/2 where every point leads to one (γ = 0.9)", numbers)


def _off_policy() -> Finding:
    found = twice()
    numbers = {"A": delayed_target_system(found).stability(), "σ": sigma(coupling(found)), "κ": weighted_norm(found, coupling(found))}
    on_policy = bellman([[0.5], [1.0]], [[0.01, 0.99], [0.01, 0.99]], [1.0, 1.0], 0.9)
    numbers |= {
        "A, P(x) stationary": delayed_target_system(on_policy).stability(),
        "κ, P(x) stationary": weighted_norm(on_policy, coupling(on_policy)),
    }
    truth = "where P(x) is far from the chain's stationary distribution A can be negative; there κ ≤ γ, and it converges"
    return Finding("so delayed targets converge on a Bellman equation with γ < 1", truth, numbers)


def _convergence() -> Finding:
    found = skewed()
    numbers = {"σ": sigma(coupling(found)), "κ": weighted_norm(found, coupling(found)), "A": delayed_target_system(found).stability()}
    truth = "it diverges where an eigenvalue of A has a negative real part; κ < 1 is enough to exclude that, σ < 1 is not"
    return Finding("delayed targets converge if σ < 1, being gradient descent on |Aθ − b|²", truth, numbers)


def _squares() -> Finding:
    kappa, found = 0.9, worst_turn()
    numbers = {"1/(1−κ)², the paper's steps with roots": 1 / (1 - kappa) ** 2, "1/(1−κ), the paper's": 1 / (1 - kappa)}
    numbers |= {"1/(1−κ²), by Pythagoras": 1 / (1 - kappa**2), "attained": _ratio(found)}
    truth = "mean squares have no triangle inequality; with roots the constant is squared, but Π's orthogonality saves it (κ = 0.9)"
    return Finding("E(f_DT − f*)² ≤ E(Πf* − f*)²/(1 − σ) by triangle inequalities on ‖H‖_P := E[h²]", truth, numbers)


def _projection() -> Finding:
    found = LinearProblem([[1.0], [10.0]], [[0.0], [0.0]], [0.99, 0.01], np.eye(2), [1.0, 1.0])
    project = projection(found)
    numbers = {"‖Π‖₂": float(np.linalg.norm(project, 2)), "‖Π‖_P": weighted_norm(found, project)}
    return Finding(
        "Π is idempotent, so a non-expansion", "only in ‖·‖_P, where it is orthogonal; so σ must be taken in that norm too", numbers
    )


def _bound() -> Finding:
    found = quarter_turn()
    numbers = {"1/(1 − σ)": 1 / (1 - sigma(coupling(found))), "error / projection error": _ratio(found)}
    return Finding("the bound holds with the paper's σ", "it fails, though κ < 1; with κ for σ it holds", numbers)


def _other_reading() -> Finding:
    found = one_way()
    radius = spectral_radius(coupling(found))
    numbers = {"spectral radius": radius, "1/(1 − spectral radius)": 1 / (1 - radius), "error / projection error": _ratio(found)}
    return Finding("or with σ read as the spectral radius, as the paper calls it", "it fails too, with κ = 0.9", numbers)


class Census(eqx.Module):
    """Random problems, and how they fare with both bounds. Six points, two features, ‖P|Λ‖₂ from 0.2 to 2."""

    sigma: Float[np.ndarray, " p"]  # the paper's σ
    kappa: Float[np.ndarray, " p"]  # κ
    ratio: Float[np.ndarray, " p"]  # error / projection error
    stability: Float[np.ndarray, " p"]  # the smallest real part of the eigenvalues of A

    def counts(self) -> dict[str, int]:
        """How many problems meet each condition, and how many of those break what it promises."""
        small, contracting = self.sigma < 1, self.kappa < 1
        slack = 1 + 1e-9  # rounding
        beyond_paper = self.ratio[small] * (1 - self.sigma[small]) > slack
        beyond_sound = self.ratio[contracting] * (1 - self.kappa[contracting] ** 2) > slack
        unstable = self.stability <= 0
        paper = {"σ < 1": small, "of them unstable": unstable[small], "of them beyond 1/(1−σ)": beyond_paper}
        sound = {"κ < 1": contracting, "of these unstable": unstable[contracting], "of these beyond 1/(1−κ²)": beyond_sound}
        return {name: int(np.sum(values)) for name, values in {**paper, **sound}.items()}


def census(problems: int = 3000) -> Census:
    """Assesses problems 0, 1, … of `random_problem`; the same every time."""
    rows = []
    for seed in range(problems):
        found = random_problem(seed, size=0.2 + 1.8 * (seed % 100) / 100)
        product = coupling(found)
        rows.append((sigma(product), weighted_norm(found, product), _ratio(found), delayed_target_system(found).stability()))
    return Census(*np.array(rows).T)


def _ratio(problem: LinearProblem) -> float:
    """The mean square error of the fixed point of ΠU over the least possible one."""
    exact, theta = exact_solution(problem), delayed_target_system(problem).solve()
    return (norm(problem, problem.features @ theta - exact) / norm(problem, projection(problem) @ exact - exact)) ** 2
