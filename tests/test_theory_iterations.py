"""Real iterations agree with the laws: limits, rates, second moments and stability."""

import numpy as np
import pytest

import fredholm as fr
from fredholm.paper import theory
from fredholm.paper.theory import counterexamples
from fredholm.paper.theory.worked import METHODS, limits


@pytest.mark.parametrize("name", METHODS)
def test_iterations_converge_to_their_own_fixed_points_at_the_predicted_rate(name):
    problem, (method, n) = theory.ring(12, 3), METHODS[name]
    law = theory.gradient_law(problem, method, n)
    limit, step = law.system().solve(), theory.step_size_for(law.system(), largest=0.3)
    far = theory.iterate(problem, method, step, n=n, steps=1000, runs=64).mean_square(problem, limit)
    assert far[-1] < 0.05 * far[0]
    # From the fixed point only the noise remains, and t₀ can be counted: no need to wait until the start is forgotten.
    made = theory.iterate(problem, method, step, n=n, steps=1000, runs=64, start=limit, records=20)
    late = made.steps > 600
    measured = np.mean((made.steps + step.delay)[late] * made.mean_square(problem, limit)[late])
    assert measured == pytest.approx(theory.asymptotic_error(problem, law, step.gain), rel=0.4)


def test_one_sample_goes_to_the_biased_limit_and_not_to_the_true_one():
    problem = theory.ring(12, 3)
    biased, true = theory.standard_system(problem, 1), theory.standard_system(problem, None)
    made = theory.iterate(problem, fr.Standard(), theory.step_size_for(biased), steps=1500, runs=64)
    mean, error = made.theta[:, -1].mean(axis=0), made.theta[:, -1].std(axis=0) / np.sqrt(64)
    assert np.all(np.abs(mean - biased.solve()) < 5 * error + 0.01)
    assert np.max(np.abs(mean - true.solve()) / error) > 20
    worse = {limit.name: limit.error for limit in limits(problem)}
    assert worse["standard, N=1"] > worse["standard, N=10"] > worse["delayed target, any N, τ, λ"]


def test_an_unstable_system_diverges_however_small_the_steps():
    made = theory.iterate(counterexamples.skewed(), METHODS["delayed target, N=1, τ=0, λ=0"][0], theory.StepSize(10.0), steps=3000, runs=8)
    limit = theory.delayed_target_system(counterexamples.skewed()).solve()
    apart = np.abs(made.theta - limit).mean(axis=(0, 2))
    assert apart[-1] > 5 * apart[0]


@pytest.mark.parametrize(("batch", "n"), [(1, 1), (3, 2)])
def test_second_moments_move_as_the_matrix_says(batch, n):
    full = theory.poisson()
    problem = theory.WeakProblem(full.inner, full.outputs, full.probabilities, full.conditional, 0 * full.labels)
    setting = theory.Setting(rate=1.5, tau=0.6, pull=0.4, split=4.0, batch=batch, n=n)
    start, steps, runs = np.array([1.0, -0.5, 0.5, 0.3, -0.8]), 5, 10_000
    made = theory.iterate(
        problem, setting.method, theory.StepSize(setting.step, power=0.0), n=n, batch=batch, steps=steps, runs=runs, records=2, start=start
    )
    z = np.concatenate([made.theta[:, -1], made.target[:, -1]], axis=1)
    given = theory.moments(theory.gradient_law(problem, setting.method, n))
    begin = np.concatenate([start, start])
    mean = np.linalg.matrix_power(theory.mean_transition(given, setting.step, setting.tau), steps) @ begin
    assert np.all(np.abs(z.mean(axis=0) - mean) < 5 * z.std(axis=0) / np.sqrt(runs))
    rows, columns = np.triu_indices(len(begin))
    square = (
        np.linalg.matrix_power(theory.square_transition(given, setting.step, setting.tau, batch), steps)
        @ np.outer(begin, begin)[rows, columns]
    )
    products = z[:, rows] * z[:, columns]
    assert np.all(np.abs(products.mean(axis=0) - square) < 5 * products.std(axis=0) / np.sqrt(runs))


def test_noise_and_not_the_mean_makes_the_split_diverge_and_a_pull_to_the_target_cures_it():
    """The pattern of the paper's Figure 3: M = 100 diverges, M = 10 does not, and with λ M = 1000 does not either."""
    problem = theory.poisson()
    cases = {
        "small M": theory.Setting(2.0, split=10.0),
        "large M": theory.Setting(2.0),
        "pulled": theory.Setting(2.0, split=1000.0, pull=0.1),
    }
    found = dict(zip(cases, theory.growth(problem, list(cases.values())).square, strict=True))
    assert found["small M"] < 0
    assert found["pulled"] < 0 < found["large M"]
    assert np.all(theory.growth(problem, list(cases.values())).mean < 0)
    shares = {name: theory.diverged(problem, setting, steps=3000, runs=16) for name, setting in cases.items()}
    assert shares["small M"] == shares["pulled"] == 0
    assert shares["large M"] > 0.5


def test_the_split_is_biased_by_one_over_m_of_the_standard_bias():
    problem = theory.poisson()
    exact = theory.split_system(problem, 1e12, 1).solve()
    for split in (1.0, 10.0, 100.0):
        law = theory.gradient_law(problem, fr.DelayedTarget(tau=0.9, regularization=1.0, split=split, main=2), 3).system()
        np.testing.assert_allclose(law.solve(), theory.split_system(problem, split, 2).solve(), atol=1e-6)
    small, smaller = (np.abs(theory.split_system(problem, split, 1).solve() - exact).max() for split in (1e4, 1e5))
    assert small / smaller == pytest.approx(10, rel=0.01)
    np.testing.assert_allclose(
        theory.gradient_law(problem, fr.Standard()).system().matrix, theory.split_system(problem, 1.0, 1).matrix, atol=1e-12
    )


def test_gradient_descent_needs_the_same_number_of_iterations_for_every_digit():
    problem = theory.ring(12, 3)
    effort = theory.exact_effort(problem, fr.Standard(), np.geomspace(1e-1, 1e-12, 30))
    thinner = theory.exact_effort(problem, fr.Standard(), np.geomspace(1e-1, 1e-6, 30))
    assert effort.per_digit == pytest.approx(thinner.per_digit, rel=0.1)
    limit = theory.delayed_target_system(problem)
    delayed = METHODS["delayed target, N=1, τ=0, λ=0"][0]
    drawn = theory.stochastic_effort(problem, delayed, limit, np.geomspace(3e-2, 1.5e-3, 12), steps=2000, runs=32)
    assert effort.exponent < 0.3
    assert 0.6 < drawn.exponent < 1.3
    with np.errstate(all="raise"):  # where hardly any ε was reached there is no exponent, and no warning of the fit
        for reached in (0, 1, 3):
            few = np.append(np.arange(1.0, reached + 1), np.full(12 - reached, np.nan))
            assert np.isnan(theory.Effort("few", drawn.epsilon, few, 1.0).exponent)


def test_step_sizes_know_the_theorem_s_conditions():
    assert theory.StepSize(1.0).converges
    assert theory.StepSize(1.0, power=0.6).converges
    assert not theory.StepSize(1.0, power=0.5).converges  # the squares sum to infinity; the paper's "≤ ∞" would let it pass
    assert not theory.StepSize(1.0, power=1.1).converges
