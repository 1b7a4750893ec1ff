"""The theorem's linear algebra: fixed points, laws and bounds hold on random problems, and the counter-examples are counter-examples."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fredholm as fr
from fredholm.functions.field import Field
from fredholm.paper import theory
from fredholm.paper.theory import counterexamples
from fredholm.paper.theory.laws import outcomes
from fredholm.paper.theory.zoo import COUNTS, limits_of
from fredholm.problems.volterra import Volterra2

# The arguments of `random_problem` and `random_bellman`: seed, points, features, and the size of P|Λ or the discount.
problems = st.tuples(st.integers(0, 10**6), st.integers(4, 9), st.integers(1, 3), st.floats(0.05, 1.5))
chains = st.tuples(st.integers(0, 10**6), st.integers(4, 9), st.integers(1, 3), st.floats(0.0, 0.99))
few = settings(max_examples=25, deadline=None)


@few
@given(problems)
def test_fixed_points_are_fixed_and_the_projection_is_orthogonal(arguments):
    problem = theory.random_problem(*arguments)
    exact, project = theory.exact_solution(problem), theory.projection(problem)
    values = problem.features @ theory.delayed_target_system(problem).solve()
    scale = 1 + np.abs(values).max() + np.abs(exact).max()
    assert np.abs(theory.update(problem, exact) - exact).max() < 1e-8 * scale
    assert np.abs(project @ theory.update(problem, values) - values).max() < 1e-8 * scale
    assert np.abs(project @ project - project).max() < 1e-8 * np.linalg.norm(project) ** 2
    assert theory.weighted_norm(problem, project) == pytest.approx(1.0)


@few
@given(problems, st.integers(1, 5))
def test_every_methods_mean_gradient_vanishes_at_its_closed_form_limit(arguments, n):
    problem = theory.random_problem(*arguments)
    delayed = fr.DelayedTarget(tau=0.7, regularization=0.4, on="f")
    for method, count, system in (
        (fr.Standard(), n, theory.standard_system(problem, n)),
        (fr.DoubleSampling(), 2 * n, theory.standard_system(problem, None)),
        (delayed, n, theory.delayed_target_system(problem)),
    ):
        law = theory.gradient_law(problem, method, count).system()
        np.testing.assert_allclose(law.matrix, system.matrix, atol=1e-10 * np.abs(system.matrix).max())
        np.testing.assert_allclose(law.right, system.right, atol=1e-10 * (1 + np.abs(system.right).max()))


@few
@given(problems)
def test_the_standard_loss_is_the_true_loss_plus_the_excess_variance(arguments):
    problem = theory.random_problem(*arguments)
    theta = np.linspace(-1, 1, problem.features.shape[1]) + 0.3
    x, (nodes,), weights = outcomes(problem, 1)
    residuals = problem.features[x] @ theta - problem.inner[nodes] @ theta - problem.labels[x]
    expected = theory.true_loss(problem, theta) + theory.excess_variance(problem, theta, 1)
    assert weights @ residuals**2 == pytest.approx(expected)
    biased = theory.standard_system(problem, 3).solve()

    def biased_loss(values):
        return theory.true_loss(problem, values) + theory.excess_variance(problem, values, 3)

    for direction in np.eye(len(biased)):
        assert biased_loss(biased) <= min(biased_loss(biased + 1e-3 * direction), biased_loss(biased - 1e-3 * direction)) + 1e-12


@few
@given(problems)
def test_the_sound_bound_holds_and_a_contraction_is_stable(arguments):
    problem = theory.random_problem(*arguments)
    found = theory.assess(problem)
    assert found.ratio >= 1 - 1e-9
    assert found.ratio <= found.sharp_constant * (1 + 1e-7)
    assert found.spectral_radius <= found.numerical_radius * (1 + 1e-3)
    if found.contraction < 1:
        assert found.is_stable
        assert found.sharp_constant <= found.sound_constant * (1 + 1e-7)
        assert found.sound_constant <= 1 / (1 - found.contraction) * (1 + 1e-12)  # the paper's constant, with κ for σ


@few
@given(chains)
def test_a_bellman_equation_on_its_stationary_distribution_contracts_by_the_discount(arguments):
    problem = theory.random_bellman(*arguments)
    discount = problem.relation[0, 0]
    found = theory.assess(problem)
    assert found.contraction <= discount + 1e-9
    assert found.is_stable
    assert found.error <= found.projection_error / (1 - discount**2) * (1 + 1e-7) + 1e-12


@few
@given(problems, st.integers(0, 100))
def test_the_corollary_a_realizable_solution_is_found_without_error(arguments, seed):
    problem = theory.random_problem(*arguments)
    theta = np.random.default_rng(seed).normal(size=problem.features.shape[1])
    own = theory.realizable(problem, theta)
    for system in (theory.delayed_target_system(own), theory.standard_system(own, None)):
        np.testing.assert_allclose(system.solve(), theta, atol=1e-7 * np.linalg.cond(system.matrix))
    if theory.excess_variance(own, theta, 1) > 1e-3:  # and one sample of the integral spoils it
        assert np.abs(theory.standard_system(own, 1).solve() - theta).max() > 1e-6


@pytest.mark.parametrize("problem", [theory.ring(5, 5), theory.realizable(theory.random_problem(3), np.array([1.0, 2.0]))])
def test_where_both_errors_are_rounding_their_ratio_is_one(problem):
    found = theory.assess(problem)
    assert found.error == found.projection_error == 0
    assert found.ratio == 1
    assert found.sharp_constant >= 1


def test_the_paper_s_claims_and_their_counter_examples():
    turned = theory.assess(counterexamples.quarter_turn(0.9))
    assert turned.sigma == pytest.approx(0, abs=1e-12)
    assert turned.spectral_radius == pytest.approx(0.9)
    assert turned.ratio == pytest.approx(1 + 0.9**2)
    assert turned.ratio > turned.paper_constant
    worst = theory.assess(counterexamples.worst_turn(0.9))
    assert worst.ratio == pytest.approx(worst.sound_constant)
    assert worst.sound_constant == pytest.approx(1 / (1 - 0.81))
    skewed = theory.assess(counterexamples.skewed())
    assert skewed.sigma < 1
    assert not skewed.is_stable
    assert theory.sigma(theory.coupling(counterexamples.star(100))) == pytest.approx(0.9 * (1 + 10) / 2)
    counted = theory.census(300).counts()
    assert counted["of them beyond 1/(1−σ)"] > 0
    assert counted["of these beyond 1/(1−κ²)"] == counted["of these unstable"] == 0


@pytest.mark.parametrize(("problem", "says"), [(counterexamples.star(10), "stable all the same"), (counterexamples.twice(), "is unstable")])
def test_sigma_beyond_one_is_a_warning_that_says_whether_it_is_stable(problem, says, caplog):
    theory.assess(problem)
    assert "≥ 1: the paper's theorem does not apply" in caplog.text
    assert says in caplog.text


CHAIN = np.array([[0.5, 0.5], [0.1, 0.9]])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: theory.bellman([[1.0, 2.0], [2.0, 4.0]], CHAIN, [0, 0], 0.5), r"rank 1 with d = 2.*rank\(Φ\) = d"),
        (lambda: theory.bellman(np.eye(2), CHAIN.T, [0, 0], 0.5), r"sum to 0.6; expected the sum 1 in every row"),
        (lambda: theory.bellman(np.eye(2), CHAIN, [0, 0], 0.5, [0.4, 0.5]), r"P\(x\): got probabilities that sum to 0.9"),
        (lambda: theory.bellman(np.eye(2), CHAIN, [0, 0], 0.5, [0.0, 1.0]), r"P\(x\) > 0 at every point"),
        (lambda: theory.bellman(np.eye(2), CHAIN, [0, np.nan], 0.5), "finite"),
        (lambda: theory.bellman(np.eye(2), CHAIN, [0], 0.5), r"got shape \(1,\); expected \(2,\)"),
        (lambda: theory.LinearProblem(np.eye(2), np.eye(2), [0.5, 0.5], CHAIN, [0, 0], 2 * np.eye(2)), "ΛΦ ≠ Ψ"),
        (lambda: theory.exact_solution(theory.bellman(np.eye(2), CHAIN, [1, 0], 1.0)), "singular"),
        (lambda: theory.WeakProblem([[1.0, 0.0]], [[1.0, 0.0]], [1.0], [[1.0]], [0.0]), "rank 1 with d = 2"),
        (lambda: theory.step_size_for(theory.delayed_target_system(counterexamples.twice())), "right half-plane"),
        (lambda: theory.gradient_law(theory.ring(), fr.DelayedTarget(every=5)), "averaged targets"),
        (lambda: theory.gradient_law(theory.ring(), fr.DelayedTarget(tau=0.9)), "regularization.*fixed numbers"),
        (lambda: theory.gradient_law(theory.ring(), fr.DoubleSampling(), 3), "even number"),
    ],
)
def test_wrong_input_names_the_assumption(make, says):
    with pytest.raises(ValueError, match=says):
        make()


class Linear(eqx.Module):
    """u = θ₀ sin 2x + θ₁ cos 3x + θ₂ x, as a network."""

    theta: jax.Array

    def __call__(self, x):
        return jnp.atleast_1d(features(x[0], jnp) @ self.theta)


def features(x, module=np):
    return module.stack([module.sin(2 * x), module.cos(3 * x), x], axis=-1)


@pytest.mark.parametrize("weak", [False, True])
def test_the_law_is_that_of_the_library_s_own_method(weak):
    """The mean gradient of `DelayedTarget` on a linear network is the law's, up to the discretisation and the error of the mean."""
    method = fr.DelayedTarget(tau=0.99, regularization=0.7, split=3.0 if weak else None)
    integral = fr.Integral(over=lambda x: fr.Interval(0.0, x[0]), g=lambda u, x, t: u(t))
    equation = fr.Equation(
        domain=fr.Interval(0.0, 1.0), f=None if weak else (lambda u, x: u(x)), integrals=integral, y=lambda x: jnp.cos(x[0])
    )
    theta, target = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.3, -0.5])
    fields = [Field(Linear(jnp.asarray(values)), {}, 1, 1) for values in (theta, target)]
    gradient = eqx.filter_jit(eqx.filter_grad(lambda u, key: method.loss(u, fields[1], equation, (fr.MonteCarlo(1),), 100_000, key)[0]))
    found = np.asarray(gradient(fields[0], jax.random.key(0)).network.theta)
    x, t = (np.arange(24) + 0.5) / 24, (np.arange(12) + 0.5) / 12
    nodes = np.outer(x, t).ravel()
    inner, conditional = np.repeat(x, 12)[:, None] * features(nodes), np.kron(np.eye(24), np.full((1, 12), 1 / 12))
    uniform = np.full(24, 1 / 24)
    if weak:
        problem = theory.WeakProblem(inner, features(nodes), uniform, conditional, np.cos(x))
    else:
        problem = theory.LinearProblem(features(x), inner, uniform, conditional, np.cos(x))
    both, constant = theory.gradient_law(problem, method).mean()
    expected = 2 * (both @ np.concatenate([theta, target]) - constant)
    np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())


def test_on_the_zoo_only_the_standard_loss_ends_elsewhere_and_its_bias_falls_with_the_samples():
    with jax.enable_x64(True):
        found = limits_of(Volterra2(), 9)
    biases = [found[f"standard, N = {n}"] for n in COUNTS]
    assert max(found["delayed target"], found["double sampling, or exact integrals"]) < 1e-4
    assert biases[0] > 0.01
    np.testing.assert_allclose([biases[0] / biases[1], biases[1] / biases[2]], 10, rtol=0.3)
