"""The loop: seeds, devices, randomness, resuming, failing."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import fredholm as fr
from fredholm.common.keys import Keys
from fredholm.functions.field import Field
from fredholm.training.devices import CACHED, seeds_at_once
from fredholm.training.settings import settings_of
from fredholm.training.step import Step
from fredholm.training.tiling import outline
from fredholm.training.training import Training

TINY = {"network": fr.MLP(8, 1, "tanh"), "batch": 8, "progress": False}
POINTS = np.array([[0.5], [1.5]])
VOLTERRA, POISSON = fr.problems.Volterra(), fr.problems.Poisson()


def weights(solution):
    """All parameters of all seeds, (s, number of parameters)."""
    leaves = [value.reshape(len(solution.seeds), -1) for name, value in solution._arrays.items() if name.startswith(".u.")]
    return np.concatenate(leaves, axis=1)


@pytest.mark.parametrize("problem", [VOLTERRA, fr.problems.Poisson(charges=fr.Box((-1.0, -1.0), (1.0, 1.0)))])
def test_vmapped_and_sharded_seeds_equal_a_loop_over_seeds(problem):
    together = fr.solve(problem, steps=5, seeds=4, **TINY)  # two devices, two seeds on each
    for seed in (0, 3):  # one from each device
        alone = fr.solve(problem, steps=5, seeds=[seed], **TINY)
        assert np.allclose(weights(together)[seed], weights(alone)[0], rtol=1e-4, atol=1e-6)


def test_seeds_in_blocks_equal_seeds_together(monkeypatch):
    together = fr.solve(VOLTERRA, steps=5, seeds=8, **TINY)
    monkeypatch.setattr("fredholm.training.devices.CACHED", 0)  # one seed after the other on each device
    assert np.allclose(weights(fr.solve(VOLTERRA, steps=5, seeds=8, **TINY)), weights(together), rtol=1e-4, atol=1e-6)


def test_as_many_seeds_go_together_as_the_cache_holds():
    problem, common = fr.problems.Poisson(), {"method": fr.Standard(), "steps": 1, "network": fr.MLP(64, 3)}
    steps = [Training(settings_of(problem, rule=fr.MonteCarlo(n), batch=8, seeds=2, **common)).one_step for n in (1, 100)]
    few, many = (outline(step, jax.random.key(0)).largest for step in steps)
    assert (few, many) == (8 * 64 * 4, 8 * 100 * 64 * 4), "the largest arrays are those of a hidden layer"
    assert [seeds_at_once(50, size) for size in (few, CACHED // 4, many)] == [50, 2, 1], "the largest divisor that fits"


def test_three_seeds_on_two_devices_and_more():
    odd = fr.solve(VOLTERRA, steps=5, seeds=3, **TINY)
    even = fr.solve(VOLTERRA, steps=5, seeds=4, **TINY)
    assert np.allclose(weights(odd), weights(even)[:3], rtol=1e-4, atol=1e-6)


def test_one_compilation_whatever_the_chunks():
    settings = settings_of(VOLTERRA, steps=50, seeds=2, record_every=7, network=TINY["network"], batch=8)
    training = Training(settings)
    while training.step < 14:
        training.advance(50)
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(lambda name, *seconds, **more: compiled.append(name))
    try:
        while training.step < 50:
            training.advance(50)
    finally:
        jax.monitoring.clear_event_listeners()
    assert not compiled, "everything was compiled by the second record"
    assert training.recorded_steps == [7, 14, 21, 28, 35, 42, 49, 50]


def test_the_way_a_run_is_cut_into_chunks_does_not_change_it():
    states = []
    for cuts in ([40], [1, 2, 17, 40]):
        training = Training(settings_of(VOLTERRA, steps=40, seeds=2, network=TINY["network"], batch=8))
        training._chunk_steps = 1000
        for stop in cuts:
            while training.step < stop:
                training.advance(stop)
        states.append(training.snapshot())
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0] if name.startswith("."))


@pytest.mark.parametrize("method", [fr.DelayedTarget(), fr.DoubleSampling()])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(method, tmp_path):
    keywords = {**TINY, "rule": fr.MonteCarlo(2), "seeds": 2, "record_every": 7}
    fr.solve(VOLTERRA, method, steps=17, out=tmp_path / "run", optimizer=fr.Adam(), **keywords)
    whole = fr.solve(VOLTERRA, method, steps=40, optimizer=fr.Adam(), **keywords)
    resumed = fr.resume(tmp_path / "run", steps=40, progress=False)
    assert np.array_equal(weights(whole), weights(resumed))
    for name in ("loss", "error", "excess_variance"):
        # Step 17 ended the first part, so it was recorded there and not in the whole run; step 21 is a mean over what came since.
        same = [7, 14, 28, 35, 40]
        assert np.array_equal(whole.history[name].sel(step=same), resumed.history[name].sel(step=same)), name
    assert resumed.steps == 40


@pytest.mark.parametrize("known", [True, False])
def test_drift_and_size_are_those_of_the_network_and_its_target(known):
    """With an exact solution they come from the values that its error needs, without from some of their own."""
    integral = fr.Integral(lambda x: fr.Interval(0.0, 1.0), lambda u, x, t: t[0] * u(t) / 2)
    exact = (lambda x: 1.0 + 4 * x[0]) if known else None
    equation = fr.Equation(domain=fr.Interval(0.0, 1.0), f=lambda u, x: u(x), integrals=integral, y=lambda x: 4 * x[0], exact=exact)
    made = fr.solve(equation, fr.DelayedTarget(tau=0.9), steps=100, optimizer=fr.Adam(1e-2), seeds=3, average=0.0, **TINY)
    grid = np.linspace(0.0, 1.0, 2001)[:, None]
    network, target = made.members(grid), made.targets().members(grid)
    apart = [np.sqrt(np.mean(value**2, axis=tuple(range(1, value.ndim)))) for value in (network - target, network)]
    assert ("error" in made.history) is known
    for name, value in zip(("drift", "size"), apart, strict=True):
        assert np.allclose(made.history[name][:, -1], value, rtol=0.1), name


def test_averaging_does_not_change_the_training_and_is_the_answer(tmp_path):
    keywords = {**TINY, "rule": fr.MonteCarlo(2), "seeds": 2, "record_every": 10, "optimizer": fr.Adam()}
    method = fr.DelayedTarget()
    raw = fr.solve(VOLTERRA, method, steps=30, average=0.0, **keywords)
    made = fr.solve(VOLTERRA, method, steps=30, average=0.9, **keywords)
    assert np.allclose(weights(raw), weights(made), rtol=1e-5, atol=1e-6)  # two programs: the compiler may fuse them differently
    assert np.allclose(raw.history["error"], made.history["error_main"], rtol=1e-4)
    assert np.allclose(raw.members(POINTS).mean(axis=0), made.main(POINTS), rtol=1e-4)
    assert not np.allclose(made(POINTS), made.main(POINTS), rtol=1e-4)
    assert "error_main" not in raw.history
    assert np.allclose(made.history["error"][:, -1], made.evaluate()["relative_l2"], rtol=1e-5)
    fr.solve(VOLTERRA, method, steps=17, average=0.9, out=tmp_path / "run", **keywords)
    resumed = fr.resume(tmp_path / "run", steps=30, progress=False)
    for other in (resumed, fr.load(tmp_path / "run")):
        assert np.array_equal(made.members(POINTS), other.members(POINTS))
        assert np.array_equal(made.main(POINTS), other.main(POINTS))


def test_one_seed_says_that_it_has_no_interval():
    one, two = (str(fr.solve(VOLTERRA, steps=2, seeds=seeds, **TINY)) for seeds in (1, 2))
    assert "no interval: it needs at least two seeds" in one
    assert "nan" not in one
    assert "for solution(x), the mean of the seeds; single seeds" in two
    assert "95 % interval over seeds [" in two


def test_what_a_method_observes_is_drawn_apart_from_its_loss():
    """`fold_in(key, i)` is the i-th of `split(key, n)`: the key of one must not be among those that the other splits off."""
    seen = {"loss": [], "observe": []}

    class Watched(fr.DelayedTarget):
        def observe(self, u, state, equation, batch, step, key):
            seen["observe"].append(np.asarray(jax.random.key_data(key)))
            return super().observe(u, state, equation, batch, step, key)

        def loss(self, u, state, equation, rules, batch, key):
            seen["loss"].append(np.asarray(jax.random.key_data(jax.random.split(key, 4))))
            return super().loss(u, state, equation, rules, batch, key)

    step = one_step(Watched(), 0.0)
    state = step.init(VOLTERRA, jax.random.key(1))
    with jax.disable_jit():
        for number in (5, 6):
            state, _ = step(state, VOLTERRA, Keys.of(3), jnp.asarray(number))
    assert not np.any(np.all(seen["loss"][1] == seen["observe"][0], axis=1)), "what is observed for step 6, and the loss of step 6"


def one_step(method, average):
    keywords = {"rule": fr.MonteCarlo(2), "optimizer": optax.adam(1e-2), "network": TINY["network"], "batch": 4, "average": average}
    return Step.of(settings_of(VOLTERRA, method, steps=10, **keywords))


def test_a_step_with_an_average_is_the_same_step():
    keys, ends = Keys.of(3), []
    for average in (0.0, 0.9):
        step = one_step(fr.DelayedTarget(), average)
        state = step.init(VOLTERRA, keys.network)
        with jax.disable_jit():
            for number in range(2):
                state, _ = step(state, VOLTERRA, keys, jnp.asarray(number))
        ends.append(state)
    for one, other in zip(jax.tree.leaves(ends[0].u), jax.tree.leaves(ends[1].u), strict=True):
        assert np.array_equal(one, other), "bit for bit, since nothing is compiled"


def test_the_average_is_the_weighted_mean_of_the_parameters_after_each_step():
    settings = settings_of(VOLTERRA, fr.Standard(), rule=fr.MonteCarlo(2), steps=5, seeds=1, network=TINY["network"], batch=8, average=0.05)
    training, parameters = Training(settings), []
    for step in range(1, 6):
        training.advance(step)
        parameters.append(np.asarray(training.states.u.network.layers[0][0]))
    shares = [1.0, 50 / 51, 50 / 52, 0.95, 0.95]  # the first network has no weight; a fiftieth of the steps, then 1 - a
    expected = np.zeros(())
    for share, value in zip(shares, parameters, strict=True):
        expected = expected + share * (value - expected)
    assert np.allclose(training.states.average.network.layers[0][0], expected, rtol=1e-5)


def test_matched_seeds_share_their_first_networks():
    first = {}
    for name, method in {"standard": fr.Standard(), "double": fr.DoubleSampling(), "delayed": fr.DelayedTarget()}.items():
        training = Training(settings_of(POISSON, method, rule=fr.MonteCarlo(2), steps=1, seeds=[4, 9], network=TINY["network"], batch=8))
        first[name] = np.asarray(training.states.u.network.layers[0][0])
    assert np.array_equal(first["standard"], first["double"])
    assert np.array_equal(first["standard"], first["delayed"])
    assert not np.array_equal(first["standard"][0], first["standard"][1])


def test_matched_losses_share_their_volumes_and_points(key):
    """With u = 0 except in g, all methods see the same sum over the same points: compare what g is given."""
    drawn = {}
    for name, method, rule in (
        ("standard", fr.Standard(), fr.MonteCarlo(2)),
        ("double", fr.DoubleSampling(), fr.MonteCarlo(2)),
        ("delayed", fr.DelayedTarget(main=1, split=2.0, regularization=0.0), fr.MonteCarlo(1)),
    ):
        seen = []
        note = lambda x, t, seen=seen: seen.append((np.asarray(x), np.asarray(t)))  # noqa: E731
        equation = fr.Equation(
            domain=fr.Interval(0.0, 1.0),
            integrals=fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t, note=note: jax.debug.callback(note, x, t) or u(t)),
        )
        u = Field(fr.MLP(4, 1).build(1, 1, key), {}, 1, 1)
        method.loss(u, method.init(u), equation, [rule], 5, key)
        jax.effects_barrier()
        drawn[name] = np.array(sorted((float(x[0]), float(t[0])) for x, t in seen))
    assert drawn["standard"].shape == (10, 2)
    assert np.allclose(drawn["standard"], drawn["double"])
    assert np.allclose(drawn["standard"], drawn["delayed"])


class Level(eqx.Module):
    """u is a constant, whose first value the key decides."""

    weight: jax.Array

    def __call__(self, x):
        return self.weight


def level(key):
    return Level(jax.random.uniform(key, (1,)))


def test_a_seed_that_turns_non_finite_is_a_status_and_the_others_go_on():
    # The loss is ascended: seeds that start near 1.1 go over it and turn NaN, the others do not get there.
    equation = fr.Equation(domain=fr.Interval(0.0, 1.0), f=lambda u, x: jnp.where(u(x) > 1.1, jnp.nan, u(x)))
    solution = fr.solve(
        equation,
        fr.Standard(),
        network=level,
        optimizer=optax.sgd(-1e-2),
        steps=60,
        seeds=8,
        batch=4,
        record_every=10,
        throw=False,
        progress=False,
    )
    failed = [entry for entry in solution.status if entry.status is fr.Status.NONFINITE]
    assert 0 < len(failed) < 8
    assert all(0 <= entry.step <= 60 for entry in failed)
    assert np.isfinite(weights(solution)).all(), "the last good state is kept"
    at = solution.status.index(failed[0])
    recorded = np.asarray(solution.history["loss"][at])
    assert np.isfinite(recorded[: failed[0].step // 10]).all()
    assert np.isnan(recorded[failed[0].step // 10 :]).all()
    with pytest.raises(fr.SolveError, match="non-finite") as caught:
        fr.solve(equation, fr.Standard(), network=level, optimizer=optax.sgd(-1e-2), steps=60, seeds=8, batch=4, progress=False)
    assert len(caught.value.solution.seeds) == 8


def test_a_loss_that_explodes_is_a_divergence():
    solution = fr.solve(
        VOLTERRA,
        fr.Standard(),
        optimizer=optax.sgd(-0.3),
        network=lambda key: Line(jax.random.normal(key, (2,))),
        steps=400,
        seeds=2,
        batch=8,
        record_every=5,
        throw=False,
        progress=False,
    )
    assert {entry.status for entry in solution.status} == {fr.Status.DIVERGED}
    assert "every seed failed" in str(solution)


class Line(eqx.Module):
    weight: jax.Array

    def __call__(self, x):
        return self.weight[:1] * x + self.weight[1:]


def test_stopping_rules_and_the_time_budget():
    stopped = fr.solve(VOLTERRA, steps=500, seeds=1, record_every=10, stop=fr.Tolerance(10.0), **TINY)
    assert stopped.status[0].status is fr.Status.STOPPED
    assert stopped.steps == 10
    late = fr.solve(VOLTERRA, steps=10**7, seeds=1, minutes=0.02, **TINY)
    assert late.status[0].status is fr.Status.OUT_OF_TIME
    assert 0 < late.steps < 10**7
    history = stopped.history.isel(step=[0] * 30).assign_coords(step=range(30))
    assert fr.Plateau(records=20)(history)
    assert not fr.Plateau(records=20)(history.isel(step=slice(0, 10)))


def test_double_precision_is_really_double():
    solution = fr.solve(VOLTERRA, steps=3, seeds=1, precision="float64", **TINY)
    assert weights(solution).dtype == np.float64
    assert solution(np.array([[1.0]])).dtype == np.float64
    assert jnp.ones(()).dtype == np.float32, "the caller's precision is left alone"


def test_a_scalar_in_the_kernel_is_found_from_data_with_one_sample_of_the_integral():
    """u' + u = κ ∫ e^(t−x) u dt with κ = 1, from u at 20 points. The standard loss ends near κ = 0.6: its noise pulls κ down."""
    x = np.linspace(0.25, 5.0, 20)
    equation = fr.Equation(
        domain=fr.Interval(0.0, 5.0),
        f=lambda u, x: fr.derivative(u, x) + u(x),
        integrals=fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: u.kappa * jnp.exp(t[0] - x[0]) * u(t)),
        conditions=[fr.Condition(fr.Point(0.0), 1.0), fr.Data(x, np.exp(-x) * np.cosh(x))],
        unknowns={"kappa": 0.5},
    )
    keywords = {"steps": 600, "seeds": 2, "network": fr.MLP(16, 2, "tanh"), "optimizer": fr.Adam(1e-2, fr.Cosine()), "batch": 60}
    solution = fr.solve(equation, fr.DelayedTarget(), rule=fr.MonteCarlo(1), progress=False, **keywords)
    assert np.allclose(solution.unknowns["kappa"], 1.0, atol=0.1)
    assert solution.summary()["kappa"][0] == pytest.approx(1.0, abs=0.1)


def test_compare_gives_every_method_the_same_seeds(tmp_path):
    chosen = {"standard": {"method": fr.Standard(), "rule": fr.MonteCarlo(4), "batch": 4}, "delayed": fr.DelayedTarget()}
    solutions = fr.compare(VOLTERRA, chosen, steps=4, seeds=[3, 5], out=tmp_path / "both", **TINY)
    assert [solution.seeds for solution in solutions.values()] == [(3, 5), (3, 5)]
    assert {path.name for path in (tmp_path / "both").iterdir() if path.is_dir()} == {"standard", "delayed"}
    assert solutions["standard"].settings["batch"] == 4


def test_a_comparison_goes_on_by_the_same_call_and_trains_nothing_twice(tmp_path, monkeypatch):
    def network(key):
        return eqx.nn.MLP(1, "scalar", 4, 1, key=key)

    keywords = {**TINY, "network": network, "seeds": 2, "optimizer": optax.adam(1e-2), "rule": fr.MonteCarlo(2), "out": tmp_path / "both"}
    methods = {"standard": fr.Standard(), "delayed": fr.DelayedTarget()}
    first = fr.compare(VOLTERRA, methods, steps=10, **keywords)
    with monkeypatch.context() as nothing:
        nothing.setattr("fredholm.study.work.solve", None)
        nothing.setattr("fredholm.study.work.resume", None)
        again = fr.compare(VOLTERRA, methods, steps=10, **keywords)
    for name, solution in first.items():
        assert np.array_equal(solution(POINTS), again[name](POINTS))
    longer = fr.compare(VOLTERRA, methods, steps=20, **keywords)
    whole = fr.compare(VOLTERRA, methods, steps=20, **{**keywords, "out": None})
    for name, solution in longer.items():
        assert solution.steps == 20
        assert np.array_equal(weights(solution), weights(whole[name]))
    with pytest.raises(ValueError, match="another network"):
        fr.compare(VOLTERRA, methods, steps=20, **{**keywords, "network": lambda key: eqx.nn.MLP(1, "scalar", 5, 1, key=key)})


def test_what_follows_from_a_solution_is_that_of_its_members():
    solution = fr.solve(fr.problems.Volterra(), network=fr.MLP(8, 1, "tanh"), steps=3, seeds=2, batch=4, progress=False)
    points, step = np.array([[1.0], [2.0]]), 1e-2
    slopes = solution.members(points, of=fr.derivative)
    by_differences = (solution.members(points + step) - solution.members(points - step)) / (2 * step)
    np.testing.assert_allclose(slopes, by_differences, atol=1e-4)
    np.testing.assert_allclose(solution(points, of=fr.derivative), slopes.mean(axis=0))
