"""Worked examples: a Fredholm equation on a ring, Poisson's weak form with five bumps, and random problems."""

import math

import numpy as np
from jaxtyping import Float

from fredholm.paper.theory.linear import LinearProblem, bellman
from fredholm.paper.theory.weak import WeakProblem


def ring(points: int = 32, features: int = 7, discount: float = 0.8, spread: float = 0.15) -> LinearProblem:
    r"""A Fredholm equation of the second kind on a ring, $u(x) = \gamma\int k(x' - x)\,u(x')\,dx' + y(x)$, also a Bellman equation.

    The kernel is a wrapped normal of width `spread` whose mean is an eighth of the ring away; u is a sum of bumps, and y a narrower one,
    so that the solution is not among them.
    """
    x = np.arange(points) / points
    kernel = _wrapped_bump(x[None, :] - x[:, None] - 1 / 8, spread)
    bumps = _wrapped_bump(x[:, None] - np.arange(features) / features, 0.6 / features)
    labels = _wrapped_bump(x - 0.3, 0.05) - 0.5 * _wrapped_bump(x - 0.7, 0.1)
    return bellman(bumps, kernel / kernel.sum(axis=1, keepdims=True), labels, discount, np.full(points, 1 / points))


def realizable(problem: LinearProblem, theta: Float[np.ndarray, " d"]) -> LinearProblem:
    """The same problem with the labels that make θ its solution."""
    labels = (problem.features - problem.conditional @ problem.inner) @ theta
    return LinearProblem(problem.features, problem.inner, problem.probabilities, problem.conditional, labels, problem.relation)


def poisson(volumes: int = 16, nodes: int = 8, seed: int = 0) -> WeakProblem:
    r"""Poisson's weak form in the plane, $\oint \nabla u\cdot n\,dS = \int \Delta u$, on circles with evenly spaced nodes.

    u is a sum of five Gaussian bumps, and so is the truth behind the labels. Units: $\mathbb{E}|\psi|^2 = \mathbb{E}|\chi|^2 = 1$.
    """
    random = np.random.default_rng(seed)
    centers, radii = random.uniform(-1, 1, (volumes, 2)), random.uniform(0.3, 1.2, volumes)
    angles = 2 * math.pi * (np.arange(nodes) + random.uniform(size=(volumes, 1))) / nodes
    normals = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    places = np.array([[0, 0], [0.6, 0.6], [-0.6, 0.6], [0.6, -0.6], [-0.6, -0.6]])
    apart = (centers[:, None] + radii[:, None, None] * normals)[:, :, None] - places
    width = 0.5
    bumps = np.exp(-np.sum(apart**2, axis=-1) / (2 * width**2))
    fluxes = 2 * math.pi * radii[:, None, None] * np.einsum("vkdi,vki->vkd", -apart / width**2 * bumps[..., None], normals)
    inner, outputs = (values.reshape(volumes * nodes, -1) for values in (fluxes, bumps))
    inner, outputs = (values / np.sqrt(np.mean(np.sum(values**2, axis=1))) for values in (inner, outputs))
    conditional = np.kron(np.eye(volumes), np.full((1, nodes), 1 / nodes))
    labels = conditional @ inner @ np.array([1.0, -0.5, 0.5, 0.3, -0.8])
    return WeakProblem(inner, outputs, np.full(volumes, 1 / volumes), conditional, labels)


def random_bellman(seed: int, points: int = 6, features: int = 2, discount: float = 0.9, *, on_policy: bool = True) -> LinearProblem:
    """A random chain with random features and rewards; P(x) is the stationary distribution, or any other."""
    random = np.random.default_rng(seed)
    transition = random.dirichlet(np.full(points, 0.3) + 1e-3, size=points)
    transition = 0.98 * transition + 0.02 / points  # every point is visited
    probabilities = None if on_policy else random.dirichlet(np.ones(points)) * 0.99 + 0.01 / points
    return bellman(random.normal(size=(points, features)), transition, random.normal(size=points), discount, probabilities)


def random_problem(seed: int, points: int = 6, features: int = 2, size: float = 0.5) -> LinearProblem:
    """Random features, probabilities and Λ; `size` is the spectral norm of P|Λ."""
    random = np.random.default_rng(seed)
    conditional = 0.95 * np.eye(points) + 0.05 * random.dirichlet(np.ones(points), size=points)
    wanted = random.normal(size=(points, points))
    relation = np.linalg.solve(conditional, size * wanted / np.linalg.norm(wanted, 2))
    phi, probabilities = random.normal(size=(points, features)), random.dirichlet(np.ones(points)) * 0.99 + 0.01 / points
    return LinearProblem(phi, relation @ phi, probabilities, conditional, random.normal(size=points), relation)


def _wrapped_bump(apart: np.ndarray, width: float) -> np.ndarray:
    """A Gaussian bump on the ring of length one."""
    return np.exp(-(((apart + 0.5) % 1 - 0.5) ** 2) / (2 * width**2))
