"""The laws of sums over random rows: a linear class is solved in one pass, and what it gives is where the training would end."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.equation.probe import fresh
from fredholm.methods.protocol import shares
from fredholm.solving.sampled import SumsSolve
from fredholm.solving.sums import GROUPS, is_affine, solved, system_of
from fredholm.training.callbacks import AbstractCallback
from fredholm.training.settings import settings_of
from fredholm.training.status import Status
from fredholm.training.update import as_vector

METHODS = {
    "standard": (fr.Standard(), fr.MonteCarlo(1)),
    "double": (fr.DoubleSampling(), fr.MonteCarlo(2)),
    "all-pairs": (fr.DoubleSampling("all"), fr.MonteCarlo(3)),
    "delayed": (fr.DelayedTarget(), fr.MonteCarlo(1)),
}


class Cubic(fr.functions.AbstractNetwork):
    """Polynomials of degree 3."""

    @property
    def is_linear(self):
        return True

    def build(self, inputs, outputs, key):
        return Polynomial(jnp.zeros(4))


class Polynomial(eqx.Module):
    coefficients: jax.Array

    def __call__(self, x):
        return jnp.sum(self.coefficients * x[0] ** jnp.arange(4))


def equation(weak=False, power=1):
    """u(x) = ½ ∫₀¹ u dt + y with an integral condition and one at a point; the solution 1 + x³ is in the class."""
    half = 2.0 if weak else 0.5
    return fr.Equation(
        domain=fr.Interval(0.0, 1.0),
        f=None if weak else lambda u, x: u(x) ** power,
        integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: half * jnp.exp(-x[0] * t[0]) * u(t)),
        y=lambda x: jnp.cos(x[0]),
        conditions=[
            fr.Condition(at=fr.Point(0.0), value=1.0, weight=3.0),
            fr.IntegralCondition(fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: u(t)), 1.25, weight=2.0),
        ],
    )


def solve_of(problem, method, rule, **more):
    keywords = {"network": Cubic(), "precision": "float64", "steps": 64, "batch": 16, "seeds": 1, **more}
    return SumsSolve(settings_of(problem, method, rule=rule, **keywords))


FORMS = [*((name, False) for name in METHODS), ("delayed", True)]


@pytest.mark.parametrize(("name", "weak"), FORMS)
def test_the_solution_of_the_sums_is_where_training_on_the_same_sample_stands_still(name, weak):
    method, rule = METHODS[name]
    with jax.enable_x64(True):
        problem = equation(weak)
        u, rules, key = fresh(problem, Cubic(), jax.random.key(0)), problem.rules(rule), jax.random.key(3)

        @jax.jit
        def summed():
            parts = [system_of(method, u, share) for share in shares(problem, rules, 80, key)]
            return tuple(sum(part) for part in zip(*parts, strict=True))

        matrix, right = map(np.asarray, summed())
        vector, build = as_vector(u)
        at = solved(matrix[None], right[None], np.asarray(vector)).parameters

        @jax.jit
        def gradient(vector):
            u = build(vector)
            return as_vector(method.loss_and_gradient(u, method.init(u), problem, rules, 80, key)[1])[0]

        assert np.max(np.abs(gradient(at))) < 1e-9 * np.max(np.abs(gradient(vector)))


def test_given_pairs_are_solved_as_by_least_squares_temporal_differences():
    """u(x) = 0.8 E u(x') + cos x with one given x' for each x: the delayed target's rows are those of Bradtke and Barto (1996)."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(64, 1))
    following = x / 2 + 0.3 * rng.uniform(size=(64, 1))
    problem = fr.Equation(
        domain=fr.Offline(point=x, next=following[:, None]),
        f=lambda u, x: u(x.point),
        integrals=fr.Integral(lambda x: fr.Given(x.next), lambda u, x, t: 0.8 * u(t)),
        y=lambda x: jnp.cos(x.point[0]),
    )
    with jax.enable_x64(True):
        u, method = fresh(problem, Cubic(), jax.random.key(0)), fr.DelayedTarget()

        @jax.jit
        def summed():
            (share,) = shares(problem, problem.rules(fr.MonteCarlo(1)), 500, jax.random.key(1))
            return *system_of(method, u, share), share.points.point

        matrix, right, points = map(np.asarray, summed())
        rows = np.array([np.flatnonzero(np.isclose(x[:, 0], one))[0] for one in points[:, 0]])
    phi, psi = (values[rows] ** np.arange(4) for values in (x, following))
    expected = np.linalg.solve(phi.T @ (phi - 0.8 * psi), phi.T @ np.cos(x[rows, 0]))
    np.testing.assert_allclose(solved(matrix[None], right[None], np.zeros(4)).parameters, expected, rtol=1e-7)


def second_kind(power=1):
    """u(x) = ½ ∫₀¹ (1 + x t) u(t) dt + y(x), whose solution 1 + x³ is in the class."""
    return fr.Equation(
        domain=fr.Interval(0.0, 1.0),
        f=lambda u, x: u(x) ** power,
        integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: 0.5 * (1 + x[0] * t[0]) * u(t)),
        y=lambda x: 1 + x[0] ** 3 - 0.5 * (1.25 + 0.7 * x[0]),
        exact=lambda x: 1 + x[0] ** 3,
    )


def summed_by(problem, method, rule, steps, batch, seed):
    """The sums of a run, from the parts."""
    u = fresh(problem, Cubic(), jax.random.key(0))

    def body(step, sums):
        (share,) = shares(problem, problem.rules(rule), batch, jax.random.fold_in(jax.random.key(seed), step))
        matrix, right = system_of(method, u, share)
        return sums[0].at[step % GROUPS].add(matrix), sums[1].at[step % GROUPS].add(right)

    return jax.lax.fori_loop(0, steps, body, (jnp.zeros((GROUPS, 4, 4)), jnp.zeros((GROUPS, 4))))


def errors_of(method, rule, steps, seeds=12, batch=32):
    """The errors of u(½) and their standard errors, over seeds."""
    problem = second_kind()
    many = jax.jit(jax.vmap(lambda seed: summed_by(problem, method, rule, steps, batch, seed)))(jnp.arange(seeds))
    found = [solved(np.asarray(matrix), np.asarray(right), np.zeros(4)) for matrix, right in zip(*many, strict=True)]
    basis = 0.5 ** np.arange(4)
    spread = [np.sqrt((len(one.replicates) - 1) * np.var(one.replicates @ basis)) for one in found]
    return np.array([one.parameters @ basis - 1.125 for one in found]), np.array(spread)


@pytest.mark.parametrize("name", ["double", "delayed"])
def test_the_error_of_unbiased_methods_falls_with_the_root_of_the_samples_and_their_intervals_cover(name):
    with jax.enable_x64(True):
        few, _ = errors_of(*METHODS[name], 32)
        many, spread = errors_of(*METHODS[name], 3200)
        ratio = np.sqrt(np.mean(few**2) / np.mean(many**2))
        assert 5 < ratio < 20
        assert np.sqrt(np.mean((many / spread) ** 2)) == pytest.approx(1.0, abs=0.5)


def test_the_error_of_the_standard_loss_stops_at_its_bias():
    with jax.enable_x64(True):
        few, _ = errors_of(*METHODS["standard"], 320)
        many, spread = errors_of(*METHODS["standard"], 3200)
        assert np.mean(many) == pytest.approx(np.mean(few), rel=0.3)
        assert np.all(np.abs(many) > 5 * spread)


def test_an_affine_equation_is_known_by_its_slopes():
    with jax.enable_x64(True):
        for method, rule in METHODS.values():
            keywords = {"rule": rule, "network": Cubic(), "batch": 8}
            assert is_affine(settings_of(second_kind(), method, **keywords))
            assert not is_affine(settings_of(second_kind(power=2), method, **keywords))


def test_the_coefficients_are_the_only_parameters_of_random_features_and_every_seed_has_its_own(key):
    recipe = fr.RandomFeatures(5, center=(1.0, 2.0), radius=(2.0, 1.0))
    one, other = (recipe.build(2, 3, jax.random.key(seed)) for seed in (0, 1))
    assert [leaf.shape for leaf in jax.tree.leaves(eqx.filter(one, eqx.is_inexact_array))] == [(3, 8)]
    x = jnp.array([1.0, 2.0])
    np.testing.assert_allclose(one.functions(x)[:3], [1.0, 0.0, 0.0], atol=1e-6)  # the centre of the frame
    assert not np.allclose(one.functions(x)[3:], other.functions(x)[3:])
    assert one(x).shape == (3,)


def test_bad_input():
    with pytest.raises(ValueError, match=r"RandomFeatures features: got 0"):
        fr.RandomFeatures(0)
    with pytest.raises(ValueError, match=r"RandomFeatures sharpness: got 0\.0; expected a number above 0"):
        fr.RandomFeatures(5, 0.0)
    with pytest.raises(ValueError, match=r"got 2003 coefficients; expected at most 1500"):
        solve_of(second_kind(), fr.DelayedTarget(), fr.MonteCarlo(1), network=fr.RandomFeatures(2001))


def test_a_linear_class_with_random_nodes_is_solved_by_solve_and_resumed_from_its_folder(tmp_path):
    keywords = {"rule": fr.MonteCarlo(1), "network": fr.Chebyshev(5), "batch": 50, "seeds": 2, "progress": False}
    problem = fr.problems.Volterra()
    whole = fr.solve(problem, fr.DelayedTarget(), **keywords, steps=60)
    assert whole.precision == "float64"
    history = {
        name: np.asarray(whole.history[name])[:, -1] for name in ("loss", "error", "condition", "dropped", "slowest", "standard_error")
    }
    assert np.all(history["error"] < 5 * history["standard_error"])
    assert np.all(history["standard_error"] < 0.2)
    fr.solve(problem, fr.DelayedTarget(), **keywords, steps=25, out=tmp_path / "run")
    resumed = fr.resume(tmp_path / "run", steps=60, progress=False)
    points = problem.evaluation.points(20)
    np.testing.assert_array_equal(resumed.members(points), whole.members(points))
    np.testing.assert_allclose(fr.load(tmp_path / "run").members(points), whole.members(points))


def test_random_features_solve_an_equation_of_three_dimensions_from_one_sample_at_each_x():
    keywords = {"rule": fr.MonteCarlo(1), "network": fr.RandomFeatures(40), "steps": 40, "batch": 500, "record_every": 40}
    solution = fr.solve(fr.problems.Bellman(3), fr.DelayedTarget(), **keywords, seeds=1, progress=False)
    error, expected = (np.asarray(solution.history[name])[:, -1] for name in ("error", "standard_error"))
    assert np.all(error < 3 * expected)
    assert np.all(expected < 0.5)


def test_a_nonlinear_equation_is_solved_by_newtons_method_on_a_part_and_then_on_all_samples():
    """u² = ½ ∫₀¹ u dt + y with the solution 1 + x³, and one sample at each x; a run that is resumed is the same to the bit."""
    with jax.enable_x64(True):
        problem = dataclasses.replace(second_kind(), f=lambda u, x: u(x) ** 2, y=lambda x: (1 + x[0] ** 3) ** 2 - 0.5 * (1.25 + 0.7 * x[0]))

        class Ones(Cubic):
            def build(self, inputs, outputs, key):
                return Polynomial(jnp.ones(4))

        keywords = {"network": Ones(), "rule": fr.MonteCarlo(1), "batch": 200, "precision": "float64", "record_every": 400, "seeds": 2}
        settings = settings_of(problem, fr.DelayedTarget(), **keywords, steps=800)
        whole, rest = SumsSolve(settings), SumsSolve(settings)
        whole.run([Until(400)])
        rest.restore(whole.snapshot(), whole.step, whole.history(), whole.seconds)
        whole.run()
        record = whole.records[-1]
        assert np.all(record["error"] < 4 * record["standard_error"])
        assert np.all(record["error"] < 5e-3)
        rest.run()
        np.testing.assert_array_equal(rest.states.u.network.coefficients, whole.states.u.network.coefficients)


class Until(AbstractCallback):
    def __init__(self, step):
        self.step = step

    def next_stop(self, training):
        return self.step

    def after_chunk(self, training):
        return Status.STOPPED if training.step >= self.step else None


def test_leaving_a_group_out_is_what_the_replicates_say_and_null_directions_are_found_and_not_followed():
    random = np.random.default_rng(0)
    rows, noise = random.standard_normal((GROUPS, 500, 3)), random.standard_normal((GROUPS, 500))
    matrix, right = np.einsum("gip,giq->gpq", rows, rows), -np.einsum("gip,gi->gp", rows, rows @ np.array([1.0, -2.0, 0.5]) + noise)
    found = solved(matrix, right, np.zeros(3))
    for g in (0, 7):
        without = np.linalg.solve(matrix.sum(axis=0) - matrix[g], right[g] - right.sum(axis=0))
        np.testing.assert_allclose(found.replicates[g] - found.parameters, without - found.parameters, rtol=0.1, atol=1e-5)
    assert (found.dropped, found.slowest > 0) == (0, True)
    twice = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]]).T  # the last two parameters are one
    doubled = solved(twice @ matrix @ twice.T, right @ twice.T, np.zeros(4))
    assert doubled.dropped == 1
    np.testing.assert_allclose(doubled.parameters @ twice, found.parameters, rtol=1e-9)
    np.testing.assert_allclose(doubled.parameters[2], doubled.parameters[3], rtol=1e-9)  # the least of all solutions
    assert solved(-matrix, right, np.zeros(3)).slowest < 0
