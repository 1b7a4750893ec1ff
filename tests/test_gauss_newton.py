"""The laws of Gauss–Newton: its systems are those of the rows, and its steps are those of dense least squares."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.equation.probe import fresh
from fredholm.methods.protocol import shares
from fredholm.methods.sharing import WHOLE
from fredholm.optimizers.gauss_newton import Damping, inverted, judged, least_squares
from fredholm.training.settings import settings_of
from fredholm.training.status import ProblemWarning
from fredholm.training.update import Preconditioned, Sample, TrustRegion, as_vector, update_of
from table import METHODS
from test_rows import equation, network

RULE, BATCH = fr.MonteCarlo(2), 3


class Cubic(eqx.Module):
    """A polynomial, linear in its coefficients."""

    coefficients: jax.Array

    def __call__(self, x):
        return jnp.sum(self.coefficients * x[0] ** jnp.arange(4))


def second_kind(exact=lambda x: 1 + x[0] ** 3, **more):
    """u(x) = ½ ∫₀¹ u(t) dt + y(x), whose solution is in the span of the cubics."""
    return fr.Equation(
        domain=fr.Interval(0.0, 1.0),
        f=lambda u, x: u(x),
        integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: 0.5 * u(t)),
        y=lambda x: exact(x) - 0.625,
        exact=exact,
        **more,
    )


def sampled(method, u, state, problem, key, batch=BATCH):
    vector, build = as_vector(u)
    return vector, Sample(method, state, shares(problem, problem.rules(RULE), batch, key), build)


FORMS = [*((method, "with f and an unknown") for method in METHODS), ("delayed", "weak"), ("double-all", "weak")]


@pytest.mark.parametrize(("method", "form"), FORMS)
def test_the_rows_of_a_step_have_the_gradient_of_the_loss_whatever_the_method(method, form, key):
    own, problem = METHODS[method], equation(form)
    with jax.enable_x64(True):
        u, target = network(problem, 1), network(problem, 2)
        state = own.state_at(u, target, problem, BATCH, jax.random.key(5))
        vector, sample = sampled(own, u, state, problem, key)
        slopes, b, info = sample.linearised(vector)
        (loss, parts), gradient = own.loss_and_gradient(u, state, problem, problem.rules(RULE), BATCH, key)
        assert info.keys() == parts.keys()
        np.testing.assert_allclose([sum(info.values()), sample.loss(vector)], loss, rtol=1e-10)
        np.testing.assert_allclose(2 * slopes.T @ b, as_vector(gradient)[0], rtol=1e-9, atol=1e-11)


def test_the_second_derivative_along_a_step_is_that_of_finite_differences(key):
    problem = equation("with f")
    with jax.enable_x64(True):
        vector, sample = sampled(fr.Standard(), network(problem, 1), None, problem, key)
        along, h = jnp.sin(jnp.arange(vector.size, dtype=float)), 1e-5
        ahead, behind = (sample.linearised(vector + sign * h * along).slopes @ along for sign in (1, -1))
        np.testing.assert_allclose(sample.second(vector, along), (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("shape", [(5, 9), (9, 5)])
def test_a_step_is_the_dense_least_squares_solution_in_either_space(shape):
    with jax.enable_x64(True):
        random = np.random.default_rng(0)
        matrix, right = random.standard_normal(shape), random.standard_normal(shape[0])
        found = least_squares(jnp.asarray(matrix), jnp.asarray(0.3))(jnp.asarray(right))
        stacked = np.concatenate([matrix, np.sqrt(0.3) * np.eye(shape[1])])
        expected = np.linalg.lstsq(stacked, np.concatenate([right, np.zeros(shape[1])]), rcond=None)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-10)
        undamped = least_squares(jnp.asarray(matrix), jnp.asarray(1e-14))(jnp.asarray(right))
        np.testing.assert_allclose(undamped, np.linalg.lstsq(matrix, right, rcond=None)[0], rtol=1e-9, atol=1e-11)


def one_step(update, u, problem, key, **changes):
    state = update.init(u)
    return update(
        u, dataclasses.replace(state, **changes) if changes else state, None, problem, update.settings.rules, key, jnp.asarray(0), WHOLE
    )


def test_a_linear_equation_is_solved_in_one_step_without_damping(key):
    with jax.enable_x64(True):
        problem = second_kind()
        keywords = {"rule": fr.Gauss(4), "network": Cubic(jnp.zeros(4)), "optimizer": fr.GaussNewton(damping=1e-14), "batch": 40}
        settings = settings_of(problem, fr.Standard(), **keywords)
        update = update_of(settings)
        assert isinstance(update, TrustRegion)
        moved = one_step(update, fresh(problem, settings.network, key), problem, key)
        np.testing.assert_allclose(moved.u.network.coefficients, [1, 0, 0, 1], atol=1e-9)


def test_the_second_order_part_of_a_step_makes_its_error_cubic(key):
    """u² = y from an error h of the coefficients: what is left after a step falls as h³, and its loss as h⁶. Without that part it is h⁴."""
    with jax.enable_x64(True):
        problem, left = fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x) ** 2, y=lambda x: (1 + x[0] ** 3) ** 2), []
        for h in (0.1, 0.05):
            start = Cubic(jnp.array([1.0, 0.0, 0.0, 1.0]) + h * jnp.array([1.0, -1.0, 0.5, 1.0]))
            settings = settings_of(problem, fr.Standard(), network=start, optimizer=fr.GaussNewton(damping=1e-13), batch=40)
            u = fresh(problem, settings.network, key)
            moved = one_step(update_of(settings), u, problem, key)
            left.append(float(Sample(fr.Standard(), None, shares(problem, (), 40, key), as_vector(u)[1]).loss(as_vector(moved.u)[0])))
        assert 2**5 < left[0] / left[1] < 2**8


def test_a_step_that_does_not_decrease_the_loss_is_not_taken_and_the_next_is_shorter():
    start, one = Damping(jnp.asarray(2.0), jnp.asarray(2.0)), jnp.ones(())
    for actual in (-1.0, jnp.nan, 0.0):
        is_taken, after = judged(start, one, jnp.asarray(actual), one)
        assert not is_taken
        assert (after.value, after.factor) == (4, 4)
    is_taken, after = judged(start, one, one, one)
    assert is_taken
    assert (float(after.value), float(after.factor)) == pytest.approx((2 / 3, 2.0))


def test_the_mean_step_with_random_nodes_is_along_p_times_the_gradient_of_the_true_loss():
    """The step is P times a gradient whose nodes P has not seen. With P from the same nodes the ratio is far from 1."""
    with jax.enable_x64(True):
        problem = second_kind(lambda x: jnp.cos(3 * x[0]))
        u = fresh(problem, settings_of(problem, fr.Standard(), network=Cubic(jnp.array([0.5, -1.0, 2.0, 0.3]))).network, jax.random.key(0))
        recipe = fr.GaussNewton(learning_rate=1.0, schedule=fr.ConstantRate(), damping=0.1)
        settings = settings_of(problem, fr.DoubleSampling(), rule=fr.MonteCarlo(2), optimizer=recipe, batch=4, network=fr.MLP(2, 1))
        update = update_of(settings)
        assert isinstance(update, Preconditioned)
        vector, build = as_vector(u)
        matrix = jnp.diag(jnp.array([1.0, 0.5, 0.3, 0.2]))
        state = update.init(u)._replace(matrix=matrix, inverse=0.01 * inverted(matrix, jnp.asarray(0.1)))

        def step(key):  # step 1: no new P
            return as_vector(update(u, state, None, problem, update.settings.rules, key, jnp.asarray(1), WHOLE).u)[0] - vector

        steps = jax.jit(jax.vmap(step))(jax.random.split(jax.random.key(1), 40_000))
        exact = Sample(fr.Standard(), None, shares(problem, (fr.Gauss(8),), 20_000, jax.random.key(2)), build).linearised(vector)
        expected = -state.inverse @ (exact.slopes.T @ exact.b)
        error = np.std(steps, axis=0) / 200
        np.testing.assert_array_less(np.abs(np.mean(steps, axis=0) - expected), 4 * error + 0.01 * np.abs(expected))
        assert np.all(np.abs(expected) > 10 * error)

        def p_at(key):
            return update(u, state, None, problem, update.settings.rules, key, jnp.asarray(0), WHOLE).optimizer.matrix

        # P is measured at points of its own: those of the gradient's sample have another matrix.
        key = jax.random.key(3)
        same = Sample(settings.known_method, None, shares(problem, settings.rules, 4, key), build).linearised(vector).slopes
        assert not np.allclose(p_at(key), same.T @ same, rtol=1e-2)


def test_plain_defaults_are_nodes_without_noise_in_double_precision():
    settings = settings_of(fr.problems.Volterra(), optimizer=fr.GaussNewton())
    assert (settings.method, settings.rule, settings.precision) == (fr.Standard(), fr.Gauss(32), "float64")
    assert (settings.steps, settings.batch, settings.average) == (200, 256, 0.0)
    assert settings_of(fr.problems.Parabolic(), optimizer=fr.GaussNewton()).batch == 128  # its conditions have points of their own
    given = settings_of(fr.problems.Volterra(), fr.DelayedTarget(), optimizer=fr.GaussNewton(), precision="float32", steps=7)
    assert (given.rule, given.precision, given.steps) == (fr.MonteCarlo(1), "float32", 7)
    high = settings_of(fr.problems.Bellman(4), optimizer=fr.GaussNewton())
    assert (high.method, high.rule, high.steps) == (fr.DelayedTarget(), fr.MonteCarlo(1), 2000)


SHORT = {"network": fr.MLP(6, 1, "tanh"), "batch": 32, "progress": False}


def test_it_reaches_what_no_gradient_does_in_as_many_steps_and_resumes_to_the_bit(tmp_path):
    problem, keywords = fr.problems.FredholmSecondKind(), {**SHORT, "optimizer": fr.GaussNewton(), "seeds": 2}
    whole = fr.solve(problem, **keywords, steps=40)
    assert whole.precision == "float64"
    assert np.all(np.asarray(whole.history["error"])[:, -1] < 1e-3)
    fr.solve(problem, **keywords, steps=15, out=tmp_path / "run")
    resumed = fr.resume(tmp_path / "run", steps=40, progress=False)
    points = problem.evaluation.points(20)
    np.testing.assert_array_equal(resumed.members(points), whole.members(points))


def test_random_nodes_learn_too_and_resume_to_the_bit(tmp_path):
    problem, optimizer = fr.problems.Volterra(), fr.GaussNewton(schedule=fr.ConstantRate())
    keywords = {**SHORT, "rule": fr.MonteCarlo(1), "optimizer": optimizer, "seeds": 2, "batch": 64}
    whole = fr.solve(problem, fr.DelayedTarget(), **keywords, steps=60)
    first, *_, last = np.asarray(whole.history["error"]).mean(axis=0)
    assert last < 0.7 * first
    fr.solve(problem, fr.DelayedTarget(), **keywords, steps=25, out=tmp_path / "run")
    resumed = fr.resume(tmp_path / "run", steps=60, progress=False)
    points = problem.evaluation.points(20)
    np.testing.assert_array_equal(resumed.members(points), whole.members(points))


def test_float32_works_to_its_own_floor():
    solution = fr.solve(fr.problems.FredholmSecondKind(), **SHORT, optimizer=fr.GaussNewton(), steps=40, seeds=2, precision="float32")
    assert np.all(np.asarray(solution.history["error"])[:, -1] < 1e-2)


def test_bad_input_is_told_before_the_first_step():
    problem = fr.problems.Volterra()
    keywords = {"optimizer": fr.GaussNewton(), "rule": fr.MonteCarlo(2), "steps": 1, "seeds": 1, "progress": False}
    with pytest.warns(ProblemWarning, match=r"GaussNewton with random nodes and Standard\(\).*biased loss.*DelayedTarget"):
        fr.solve(problem, fr.Standard(), **keywords, network=fr.MLP(2, 1))
    with pytest.raises(ValueError, match=r"p x p numbers for the p = 8513.*nodes without noise"):
        fr.solve(problem, fr.DelayedTarget(), **keywords, network=fr.MLP(64, 3))
    with pytest.raises(ValueError, match=r"damping: got 0\.0; expected a number above 0"):
        fr.GaussNewton(damping=0.0)
