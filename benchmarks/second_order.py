"""Optimisers that know the curvature, at as many evaluations of u as 2000 steps of `solve`: `python benchmarks/second_order.py [--write]`.

The standard loss with nodes without noise or with rotated ones, the published network, and the metric of each problem; all from the same
first networks.

- Muon, the default of Auto, with the average as the answer.
- Gauss–Newton in the space of residuals, with momentum (SPRING: Goldshlager, Abrahamsen and Lin, 2024), on fresh points in every step.
- L-BFGS (SciPy), which compares losses and so must have the same points and nodes all the time; its parameters are float64.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from harness import arguments, machine, say, table, write_part, write_raw
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from scipy.optimize import minimize

import fredholm as fr
from fredholm.common.keys import Keys
from fredholm.common.statistics import bootstrap_interval
from fredholm.equation.estimate import draw, estimated
from fredholm.equation.residual import AbstractResidual
from fredholm.functions.field import Field

SEEDS, STEPS, POINTS = 4, 2000, 800
NETWORK = fr.MLP(64, 3, "silu")
FIXED = 400  # points x of L-BFGS
DAMPING, RATE, MOMENTUM = 0.1, 0.1, 0.5  # of Gauss-Newton: the best of a few tried on 2D Poisson, where more momentum wanders off
PROBLEMS: dict[str, tuple[Callable[[], fr.Equation], fr.Even | fr.Gauss]] = {
    "Poisson, d=2": (fr.problems.Poisson, fr.Even(32, fr.Rotation())),
    "Smoluchowski, d=1": (fr.problems.Smoluchowski, fr.Gauss(16)),
}


class Start(NamedTuple):
    """One seed before its training: the equation, its parameters as one vector, and the network that such a vector is."""

    equation: fr.Equation
    parameters: Float[Array, "p"]
    field: Callable[[Any], Field]


def start(problem: fr.Equation, seed: int) -> Start:
    """The same network for every optimiser."""
    keys = Keys.of(seed)
    network = NETWORK.build(problem.inputs, problem.outputs, keys.network)
    arrays, static = eqx.partition(Field(network, {}, problem.inputs, problem.outputs), eqx.is_inexact_array)
    parameters, shaped = ravel_pytree(arrays)
    return Start(problem.realize(keys.problem), parameters, lambda vector: eqx.combine(shaped(vector), static))


def residuals(one: Start, rule: Any, vector: Any, batch: int, key: Any) -> Float[Array, "n"]:
    """Those of the equation and of its conditions at so many points each, so that the loss is the sum of their squares."""
    parts = []
    for index, residual in enumerate((one.equation, *one.equation.conditions)):
        own: AbstractResidual = residual
        key_points, key_nodes = jax.random.split(jax.random.fold_in(key, index))
        points = jax.vmap(own.law.sample)(jax.random.split(key_points, batch))
        rules = [rule for _ in own.integrals]

        def at(x: Any, k: Any, own: Any = own, rules: Any = rules) -> Float[Array, "e"]:
            u = one.field(vector)
            return estimated(own, u, x, draw(own, rules, x, k))

        weight = getattr(residual, "weight", 1.0)
        parts.append(jnp.sqrt(weight / batch) * jnp.ravel(jax.vmap(at)(points, jax.random.split(key_nodes, batch))))
    return jnp.concatenate(parts)


def gauss_newton(one: Start, rule: Any, batch: int, seed: int) -> Any:
    """θ ← θ − η d with d = β d + Jᵀ (J Jᵀ + μ)⁻¹ (r − β J d), on fresh points."""

    @jax.jit
    def train(vector: Any) -> Any:
        def step(number: Any, carry: Any) -> Any:
            vector, direction = carry

            def of(at: Any) -> Float[Array, "n"]:
                return residuals(one, rule, at, batch, jax.random.fold_in(jax.random.key(seed), number))

            r, slopes = of(vector), jax.jacrev(of)(vector)
            gram = slopes @ slopes.T
            damped = gram + DAMPING * jnp.trace(gram) / len(r) * jnp.eye(len(r))
            direction = MOMENTUM * direction + slopes.T @ jnp.linalg.solve(damped, r - MOMENTUM * slopes @ direction)
            return vector - RATE * 0.5 * (1 + jnp.cos(jnp.pi * number / STEPS)) * direction, direction

        return jax.lax.fori_loop(0, STEPS, step, (vector, jnp.zeros_like(vector)))[0]

    return train(one.parameters)


def lbfgs(one: Start, rule: Any, cost: int, seed: int) -> Any:
    """As many evaluations of a loss on fixed points as the budget allows."""

    @jax.jit
    def loss(vector: Any) -> Any:
        return jax.value_and_grad(lambda at: jnp.sum(residuals(one, rule, at, FIXED, jax.random.key(seed)) ** 2))(vector)

    def value(vector: np.ndarray) -> tuple[float, np.ndarray]:
        found, slope = loss(jnp.asarray(vector))
        return float(found), np.asarray(slope, float)

    options = {"maxfun": STEPS * POINTS // (FIXED * cost), "maxiter": 10**6, "maxcor": 50}
    return jnp.asarray(minimize(value, np.asarray(one.parameters, float), jac=True, method="L-BFGS-B", options=options).x)


def error(one: Start, vector: Any) -> float:
    """The problem's metric."""
    evaluation = one.equation.evaluation
    assert evaluation is not None
    points, u = evaluation.points(), one.field(vector)
    prediction = jax.vmap(lambda x: jnp.atleast_1d(u(x)))(points)
    return float(evaluation(prediction, one.equation.truth(points), points)[evaluation.score])


def measure(make: Callable[[], fr.Equation], rule: Any) -> dict[str, list[float]]:
    """The errors of all seeds by optimiser."""
    problem = make()
    cost = fr.Standard().evaluations(problem, problem.rules(rule)).of_step(1)
    batch = POINTS // cost
    keywords = {"rule": rule, "network": NETWORK, "optimizer": fr.Muon(), "steps": STEPS, "batch": batch, "average": 0.999}
    solution = fr.solve(problem, fr.Standard(), seeds=SEEDS, progress=False, throw=False, **keywords)
    assert problem.evaluation is not None
    found = {"Muon, cosine": solution.evaluate()[problem.evaluation.score].tolist(), "Gauss–Newton": [], "L-BFGS": []}
    for seed in range(SEEDS):
        one = start(problem, seed)
        found["Gauss–Newton"].append(error(one, gauss_newton(one, rule, batch, seed)))
        with jax.enable_x64(True):
            exact = start(make(), seed)
            found["L-BFGS"].append(error(exact, lbfgs(exact, rule, cost, seed)))
        say(", ".join(f"{name} {errors[-1]:.2e}" for name, errors in found.items()))
    return found


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    options = arguments(__doc__).parse_args()
    fr.use_all_cores()
    rows = {name: measure(make, rule) for name, (make, rule) in PROBLEMS.items()}
    lines = []
    for name, found in rows.items():
        for optimizer, errors in found.items():
            mean, low, high = bootstrap_interval(np.asarray(errors), least=0.0)
            lines.append([name, optimizer, f"{mean:.2e} [{low:.1e}, {high:.1e}]"])
    budget = f"{STEPS * POINTS:,} evaluations of u"
    body = f"Measured with {machine('fredholm', 'jax', 'scipy')}; {SEEDS} seeds, 95 % intervals over seeds; {budget}."
    body = f"{body}\n\n{table(['problem', 'optimiser', 'error'], lines)}"
    if options.write:
        write_raw("second-order", rows)
        write_part("second-order", body)
    print(body)


if __name__ == "__main__":
    main()
