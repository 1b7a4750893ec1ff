"""Adaptations between chunks of steps: they change how a training goes, never what it solves; a resumed run equals one in one piece."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.functions.field import Field
from fredholm.methods.adapting import squared_residual

ALL = (fr.Balanced(every=7), fr.ResidualPoints(every=10, n=128), fr.Causal("t", every=20, parts=4))
SETTINGS = {"rule": fr.MonteCarlo(2), "network": fr.MLP(4, 1), "steps": 40, "batch": 8, "seeds": 2, "record_every": 10, "progress": False}


class Parabola(eqx.Module):
    """u(x) = a x² + b."""

    a: jax.Array
    b: jax.Array

    def __call__(self, x):
        return jnp.reshape(self.a * x[0] ** 2 + self.b, (1,))


def parabola(a, b):
    return Field(Parabola(jnp.asarray(a, float), jnp.asarray(b, float)), {}, 1, 1)


def weak(y=0.0, noise=lambda x: 1.0, **others):
    """∫ s(x) (t − ½) + u(x) dt = y(x): what is random is s alone."""
    integral = fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: noise(x) * (t[0] - 0.5) + u(x))
    return fr.Equation(domain=fr.Interval(0.0, 1.0), integrals=integral, y=y, **others)


@pytest.mark.parametrize("method", [fr.DoubleSampling(), fr.DelayedTarget()], ids=lambda one: type(one).__name__)
def test_points_that_follow_the_residual_keep_the_mean_of_the_loss(method, key):
    equation, u, points = weak(y=lambda x: x[0] ** 3), parabola(1.3, -0.4), fr.ResidualPoints(n=2048, power=1.0, uniform=0.3)
    rules = equation.rules(fr.MonteCarlo(2))
    state = method.init(u)

    @jax.jit
    def losses(key):
        drawn, uniform, pool = jax.random.split(key, 3)
        found = points.measured(points.init(equation), u, equation, rules, jnp.asarray(0), pool)
        with_it, without = points.applied(equation, found), equation
        return [method.loss(u, state, one, rules, 512, k)[0] for one, k in ((with_it, drawn), (without, uniform))] + [found.shares.max()]

    with_it, without, largest = np.array(jax.lax.map(lambda k: jnp.stack(losses(k)), jax.random.split(key, 400))).T
    error = np.hypot(with_it.std(), without.std()) / np.sqrt(400)
    assert abs(with_it.mean() - without.mean()) < 4 * error
    assert largest.min() > 1.5 / 2048  # they do follow something


def test_an_unbiased_estimate_follows_the_residual_and_a_squared_one_the_noise(key):
    """The equation holds on the right half, where the integral is noisy, and is violated on the left, where it is not."""
    is_left = lambda x: jnp.where(x[0] < 0.5, 1.0, 0.0)  # noqa: E731
    equation, u = weak(y=is_left, noise=lambda x: 10 * (1 - is_left(x))), parabola(0.0, 0.0)
    rules, points = equation.rules(fr.MonteCarlo(1)), fr.ResidualPoints(n=4096, power=1.0, uniform=0.01)
    pool = points.measured(points.init(equation), u, equation, rules, jnp.asarray(0), key)
    left = pool.points[:, 0] < 0.5
    x = jnp.array([0.9])
    two = np.array(jax.lax.map(lambda k: squared_residual(equation, rules, u, x, k), jax.random.split(key, 200)))
    one = 10 * (np.array(jax.random.uniform(key, 200)) - 0.5)
    assert abs(np.mean(two)) < 4 * np.std(two) / np.sqrt(200)  # the product of two
    assert np.mean(np.square(one)) > 5  # the square of one: the variance of the integral, 100/12
    by_square = jnp.mean(jnp.where(left, 1.0, 0.0)) / (jnp.mean(jnp.where(left, 1.0, 0.0)) + 100 / 12 * jnp.mean(jnp.where(left, 0.0, 1.0)))
    assert by_square < 0.2 < 0.5 < jnp.sum(jnp.where(left, pool.shares, 0.0))


def test_balanced_weights_are_the_ratio_of_the_slopes_without_the_noise(key):
    """With r = ∫ u(t) dt the slopes are (⅓, 1); at single nodes their mean square is 6/5, and the product of two is 10/9."""
    equation = fr.Equation(
        domain=fr.Interval(0.0, 1.0),
        integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: u(t)),
        conditions=fr.Condition(fr.Point(0.0), 0.0, of=lambda u, x: 2 * u(x)),
    )
    balanced, rules = fr.Balanced(), equation.rules(fr.MonteCarlo(1))

    def squares(key):
        return balanced.measured(balanced.init(equation), parabola(1.0, 2.0), equation, rules, jnp.asarray(0), key).squares

    found = np.array(jax.lax.map(squares, jax.random.split(key, 500)))
    assert abs(found[:, 0].mean() - 10 / 9) < 4 * found[:, 0].std() / np.sqrt(500) < 0.04
    np.testing.assert_allclose(found[:, 1], 4.0, rtol=1e-5)


def test_weights_do_not_change_the_solution_of_an_equation_that_has_one(key):
    """At the solution the gradient is 0, whatever the weights of the conditions and of the times are."""
    truth = parabola(1.5, -1.0)
    equation = fr.Equation(
        domain=fr.Interval(0.0, 1.0),
        f=lambda u, x: u(x),
        integrals=fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: u(t)),
        y=lambda x: 1.5 * x[0] ** 2 - 1.0 - 0.5 * x[0] ** 3 + x[0],
        conditions=[fr.Condition(fr.Point(0.0), -1.0), fr.Condition(fr.Point(1.0), 0.5)],
    )
    rules, causal, balanced = equation.rules(fr.Gauss(3)), fr.Causal(0, sharpness=50.0), fr.Balanced()
    before = balanced.init(equation)
    weighted = balanced.applied(equation, eqx.tree_at(lambda s: s.weights, before, jnp.array([7.0, 0.02])))
    weighted = causal.applied(weighted, causal.init(equation))
    (loss, _), gradient = fr.Standard().loss_and_gradient(truth, None, weighted, rules, 64, key)
    (other, _), slope = fr.Standard().loss_and_gradient(parabola(1.0, 0.0), None, weighted, rules, 64, key)
    largest = [max(float(jnp.abs(leaf)) for leaf in jax.tree.leaves(one)) for one in (gradient, slope)]
    assert loss < 1e-12 < 1e-2 < other
    assert largest[0] < 1e-5 < 1e-2 < largest[1]


def test_late_times_wait_until_the_early_ones_are_right(key):
    causal, wrong = fr.Causal("t", sharpness=20.0, parts=4), weak(y=lambda x: jnp.where(x[0] < 0.5, 1.0, 0.0))
    rules = wrong.rules(fr.MonteCarlo(2))

    def weights(u):
        return causal.weights(causal.measured(causal.init(wrong), u, wrong, rules, jnp.asarray(0), key))

    early = weights(parabola(0.0, 0.0))
    assert early[0] == 1.0
    assert np.all(np.diff(early[:3]) < 0)
    np.testing.assert_allclose(weights(parabola(0.0, 1.0))[:3], 1.0, atol=0.3)  # right at the early times, up to the noise


def test_a_resumed_run_equals_one_in_one_piece_and_records_what_was_found(tmp_path):
    problem, at = fr.problems.Volterra(), np.linspace(0, 5, 7)
    whole = fr.solve(problem, fr.DelayedTarget(), adapt=ALL, **SETTINGS)

    class Stop(fr.AbstractCallback):
        def next_stop(self, training):
            return 23

        def after_chunk(self, training):
            return fr.Status.STOPPED if training.step >= 23 else None

    fr.solve(problem, fr.DelayedTarget(), adapt=ALL, out=tmp_path / "run", callbacks=[Stop()], **SETTINGS)
    resumed = fr.resume(tmp_path / "run", progress=False)
    np.testing.assert_array_equal(whole.members(at), resumed.members(at))
    for name in ("condition_weight_1", "points_concentration", "causal_weight"):
        np.testing.assert_array_equal(whole.history[name], resumed.history[name])
        assert np.ptp(whole.history[name].values) > 0
    plain = fr.solve(problem, fr.DelayedTarget(), **SETTINGS)
    assert np.abs(plain.members(at) - whole.members(at)).max() > 0
    np.testing.assert_array_equal(fr.load(tmp_path / "run").members(at), whole.members(at))


@pytest.mark.parametrize(
    ("adapt", "words"),
    [
        ([fr.Balanced(), fr.Balanced(every=3)], "at most one of each kind"),
        (fr.Causal(1), "expected"),
    ],
)
def test_what_makes_no_sense_is_refused(adapt, words):
    with pytest.raises(ValueError, match=words):
        fr.solve(fr.problems.Volterra(), fr.DelayedTarget(), adapt=adapt, **SETTINGS)


def test_more_of_what_makes_no_sense():
    with pytest.raises(ValueError, match="no conditions"):
        fr.solve(fr.problems.FredholmSecondKind(), fr.Standard(), adapt=fr.Balanced(), **SETTINGS)
    with pytest.raises(ValueError, match="power of 2"):
        fr.ResidualPoints(n=1000)
    with pytest.raises(ValueError, match="solved for"):
        fr.solve(
            fr.problems.Volterra(), fr.Standard(), adapt=fr.Balanced(), **{**SETTINGS, "network": fr.Chebyshev(5), "rule": fr.Gauss(5)}
        )
