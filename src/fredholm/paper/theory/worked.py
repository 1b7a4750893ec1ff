"""The worked example: where each method goes, how fast, at what effort, and when it diverges. What the command prints and draws."""

from collections.abc import Callable, Sequence

import equinox as eqx
import numpy as np
from jaxtyping import Float

from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.protocol import AbstractMethod
from fredholm.methods.standard import Standard
from fredholm.paper.theory.iterations import iterate
from fredholm.paper.theory.laws import gradient_law
from fredholm.paper.theory.linear import LinearProblem, delayed_target_system, exact_solution, excess_variance, norm, standard_system
from fredholm.paper.theory.rates import Effort, asymptotic_error, exact_effort, slope, step_size_for, stochastic_effort
from fredholm.paper.theory.stability import Growth, Setting, diverged, growth
from fredholm.paper.theory.weak import WeakProblem

STEPS, RUNS = 10_000, 64  # of the stochastic iterations: a minute, and exponents to about a tenth
PLAIN = DelayedTarget(tau=0.0, regularization=0.0)  # the theorem's: θ_T = θ, detached
METHODS: dict[str, tuple[AbstractMethod, int]] = {
    "standard, N=1": (Standard(), 1),
    "double sampling, N=1+1": (DoubleSampling(), 2),
    "delayed target, N=1, τ=0, λ=0": (PLAIN, 1),
    "delayed target, N=4, τ=0.9, λ=1": (DelayedTarget(tau=0.9, regularization=1.0, on="f"), 4),
}


class Limit(eqx.Module):
    """Where a method ends."""

    name: str
    theta: Float[np.ndarray, " d"]
    error: float  # ‖Φθ − f*‖ / ‖f*‖
    excess: float  # Var/N of the standard loss there; 0 for the others


def limits(problem: LinearProblem, counts: Sequence[int] = (1, 10, 100)) -> list[Limit]:
    """The fixed points of all methods, by linear algebra."""
    exact = exact_solution(problem)

    def limit(name: str, theta: Float[np.ndarray, " d"], excess: float = 0.0) -> Limit:
        return Limit(name, theta, norm(problem, problem.features @ theta - exact) / norm(problem, exact), excess)

    biased = [(n, standard_system(problem, n).solve()) for n in counts]
    return [
        limit("delayed target, any N, τ, λ", delayed_target_system(problem).solve()),
        limit("exact integrals, or double sampling", standard_system(problem, None).solve()),
        *(limit(f"standard, N={n}", theta, excess_variance(problem, theta, n)) for n, theta in biased),
    ]


class Curve(eqx.Module):
    """The mean square distance of real runs to their method's own limit."""

    name: str
    steps: np.ndarray
    errors: np.ndarray
    predicted: float  # the limit of t times the error, by Lyapunov's equation
    slope: float  # the fitted exponent of the last decade

    @property
    def measured(self) -> float:
        """t times the error, averaged over the last decade."""
        late = self.steps >= self.steps[-1] / 10
        return float(np.mean(self.steps[late] * self.errors[late]))


def convergence(problem: LinearProblem, *, steps: int = STEPS, runs: int = RUNS, seed: int = 0) -> list[Curve]:
    """Every method with η_t = a/(t + t₀), one x a step."""
    curves = []
    for name, (method, n) in METHODS.items():
        law = gradient_law(problem, method, n)
        step = step_size_for(law.system(), largest=0.3)
        made = iterate(problem, method, step, n=n, steps=steps, runs=runs, seed=seed)
        errors = made.mean_square(problem, law.system().solve())[1:]
        curves.append(Curve(name, made.steps[1:], errors, asymptotic_error(problem, law, step.gain), slope(made.steps[1:], errors)))
    return curves


def efforts(problem: LinearProblem, *, steps: int = STEPS, runs: int = RUNS, seed: int = 0) -> list[Effort]:
    """Iterations and evaluations to reach ε, with every x in every step, as in the paper's comparison."""
    epsilon = np.geomspace(0.3, 3e-5, 25)
    biased = standard_system(problem, 1)
    return [
        exact_effort(problem, Standard(), epsilon),
        exact_effort(problem, PLAIN, epsilon),
        stochastic_effort(problem, Standard(), biased, epsilon, steps=steps, runs=runs, seed=seed),
        stochastic_effort(problem, PLAIN, delayed_target_system(problem), epsilon, steps=steps, runs=runs, seed=seed),
    ]


Axis = tuple[str, np.ndarray]  # a name and its values


class Map(eqx.Module):
    """A cut through the settings of delayed targets on the weak form."""

    title: str
    names: tuple[str, str]  # of the axes
    axes: tuple[Float[np.ndarray, " a"], Float[np.ndarray, " b"]]
    growth: Growth  # at every cell, the second axis fastest
    tried: Float[np.ndarray, "r 2"]  # where real runs were made
    diverged: Float[np.ndarray, " r"]  # and how many of them went away
    predicted: Float[np.ndarray, " r"]  # the growth of the mean square there


def stability_maps(problem: WeakProblem, *, cells: int = 15, tried: int = 5, steps: int = 3000, runs: int = 32) -> list[Map]:
    """Three cuts: M and λ, τ and λ, η and the batch. All have η/M = 2 and τ = 0.99 where these are not an axis."""
    pulls = ("Mλ", np.geomspace(3e-3, 3.0, cells))
    batches = ("batch", np.unique(np.geomspace(1, 16, cells).round()))
    cuts = [
        ("weight and pull, τ = 0.99", ("M", np.geomspace(1, 1000, cells)), pulls, lambda a, b: Setting(2.0, split=a, pull=b)),
        ("averaging and pull, M = 100", ("1 − τ", np.geomspace(1e-3, 1, cells)), pulls, lambda a, b: Setting(2.0, tau=1 - a, pull=b)),
        ("step and batch, M = 100, λ = 0", ("η/M", np.geomspace(0.5, 32, cells)), batches, lambda a, b: Setting(a, batch=int(b))),
    ]
    return [_map(problem, title, first, second, setting, tried, steps, runs) for title, first, second, setting in cuts]


def _map(
    problem: WeakProblem,
    title: str,
    first: Axis,
    second: Axis,
    setting: Callable[[float, float], Setting],
    tried: int,
    steps: int,
    runs: int,
) -> Map:
    (name_a, values_a), (name_b, values_b) = first, second
    found = growth(problem, [setting(float(a), float(b)) for a in values_a for b in values_b])
    some = [np.unique(np.linspace(0, len(values) - 1, tried + 2).round().astype(int))[1:-1] for values in (values_a, values_b)]
    places = np.array([(values_a[i], values_b[j]) for i in some[0] for j in some[1]])
    shares = np.array([diverged(problem, setting(float(a), float(b)), steps=steps, runs=runs) for a, b in places])
    cells = [i * len(values_b) + j for i in some[0] for j in some[1]]
    return Map(title, (name_a, name_b), (values_a, values_b), found, places, shares, found.square[cells])
