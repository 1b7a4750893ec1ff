"""Conditions besides points: periodic faces, data, integrals, offline samples; and forms that need no loss."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.diagnostics.before import check_settings
from fredholm.functions.field import Field
from fredholm.training.recording import variances
from fredholm.training.settings import settings_of
from test_losses import MEAN, VARIANCE, A, B, quadratic

UNIT = fr.Interval(0.0, 1.0)
TINY = {"network": fr.MLP(8, 1, "tanh"), "steps": 4, "seeds": 2, "batch": 8, "progress": False}
MASS = fr.Integral(UNIT, lambda u, x, t: u(t))


class Function(eqx.Module):
    """A known function as a network."""

    function: object

    def __call__(self, x):
        return jnp.atleast_1d(self.function(x))


def field(function, inputs=1, outputs=1):
    return Field(Function(function), {}, inputs, outputs)


def errors(condition, u, n=6):
    points = condition.points(n, [], jax.random.key(0))
    return np.asarray(jax.vmap(lambda x: condition.local_residual(u, x))(points))


def test_periodic_compares_values_and_if_asked_slopes():
    ends = (fr.Point(0.0), fr.Point(1.0))
    wave, arch = field(lambda x: jnp.sin(2 * jnp.pi * x[0])), field(lambda x: x[0] * (1 - x[0]))
    assert np.allclose(errors(fr.Periodic(*ends, order=2), wave), 0.0, atol=1e-4)
    assert np.allclose(errors(fr.Periodic(*ends), arch), 0.0)
    assert np.allclose(errors(fr.Periodic(*ends, order=1), arch), [[0.0, 2.0]])
    sides = (fr.Product(fr.Point(0.0), UNIT), fr.Product(fr.Point(1.0), UNIT))
    matched = field(lambda x: jnp.cos(2 * jnp.pi * x[0]) * x[1], inputs=2)
    assert np.allclose(errors(fr.Periodic(*sides, order=1), matched), 0.0, atol=1e-5), "the points of two faces belong together"
    assert errors(fr.Periodic(*sides), field(lambda x: x[0] * x[1], inputs=2)).max() < 0
    floor_and_ceiling = (fr.Product(UNIT, fr.Point(0.0)), fr.Product(UNIT, fr.Point(1.0)))
    high_arch = field(lambda x: x[1] * (1 - x[1]), inputs=2)
    assert np.allclose(errors(fr.Periodic(*floor_and_ceiling, order=1, axis=1), high_arch), [[0.0, 2.0]], atol=1e-5)


def test_data_is_the_mean_square_over_all_rows_or_over_a_batch_of_them(key):
    points, values = np.array([0.0, 0.5, 2.0]), np.array([1.0, 0.0, 3.0])
    wrong = A * points**2 + B - values
    for batch, expected in ((None, wrong**2), (20_000, wrong**2)):
        equation = fr.Equation(domain=UNIT, f=lambda u, x: 0.0, conditions=fr.Data(points, values, weight=2.0, batch=batch))
        found = float(fr.Standard().loss(quadratic(A, B), None, equation, [], 4, key)[1]["conditions"])
        assert found == pytest.approx(2 * expected.mean(), rel=1e-5 if batch is None else 0.05)
    for sigma, share in ((0.3, 1.0), ([1.0, 1.0, 0.5], np.array([0.5, 0.5, 2.0]))):  # 1/σ² over its mean
        equation = fr.Equation(domain=UNIT, f=lambda u, x: 0.0, conditions=fr.Data(points, values, sigma=sigma))
        found = float(fr.Standard().loss(quadratic(A, B), None, equation, [], 4, key)[1]["conditions"])
        assert found == pytest.approx((share * wrong**2).mean(), rel=1e-5)
    two = fr.Data([[0.0, 1.0]], [[1.0, 2.0]], of=lambda u, x: jnp.stack([u(x), x[1] + 1]))
    assert np.allclose(errors(two, field(lambda x: x[1], inputs=2)), 0.0)


@pytest.mark.parametrize("method", [fr.Standard(), fr.DoubleSampling(), fr.DoubleSampling("all"), fr.DelayedTarget()], ids=repr)
@pytest.mark.parametrize("at", [None, UNIT], ids=["once", "at all times"])
def test_an_integral_condition_is_biased_with_the_standard_loss_only(method, at, key):
    """E of the condition's loss at a fixed u: (E[u] − b)², plus Var/N for the standard loss."""
    equation = fr.Equation(domain=UNIT, f=lambda u, x: 0.0, conditions=fr.IntegralCondition(MASS, 0.25, at=at, weight=3.0))
    u = quadratic(A, B)
    loss = eqx.filter_jit(lambda k: method.loss(u, method.init(u), equation, [fr.MonteCarlo(2)], 4000, k)[1]["conditions"])
    values = np.array([loss(k) for k in jax.random.split(key, 20)])
    excess = VARIANCE / 2 if isinstance(method, fr.Standard) else 0.0
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - 3 * ((MEAN - 0.25) ** 2 + excess)) < 5 * error
    assert error < 0.1 * 3 * VARIANCE / 2, "the sample is large enough to see the bias"


def test_an_integral_condition_does_not_wait_for_the_target(key):
    condition, method = fr.IntegralCondition(MASS, value=1.0), fr.DelayedTarget(regularization=0.0)
    u, x, rules = field(lambda x: x[0] ** 2), jnp.zeros(0), [fr.MonteCarlo(2)]
    one, other = (method.rows(u, target, condition, rules, x, key)["residual"].loss() for target in (u, field(jnp.sum)))
    assert float(one) == float(other) != 0


def test_an_integral_condition_at_one_point_with_fixed_nodes_is_computed_once():
    condition = fr.IntegralCondition(MASS, 1.0)
    assert len(condition.points(50, [fr.Gauss(4)], jax.random.key(0))) == 1
    assert len(condition.points(50, [fr.MonteCarlo(1)], jax.random.key(0))) == 50


def test_the_excess_variance_counts_the_conditions_with_their_weights():
    def excess(weight):
        condition = fr.IntegralCondition(MASS, 1.0, weight=weight)
        equation = fr.Equation(domain=UNIT, f=lambda u, x: u(x), integrals=MASS, conditions=condition)
        settings = settings_of(equation, fr.Standard(), rule=fr.MonteCarlo(2), batch=4)
        u = quadratic(A, B)
        return float(eqx.filter_jit(variances)(settings, settings.rules, equation, u, u, jax.random.key(0))["excess_variance"])

    of_equation, of_both = excess(0.0), excess(4.0)
    assert of_equation == pytest.approx(VARIANCE / 2, rel=0.2)
    assert of_both == pytest.approx(5 * VARIANCE / 2, rel=0.2)


def offline(samples, **changes):
    """V(x) = x + ½ E[V(x')] with x' = x/2 ± noise, from given pairs only."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(200, 1))
    following = x[:, None, :] / 2 + 0.1 * rng.choice([-1.0, 1.0], size=(200, samples, 1))
    parts = {
        "domain": fr.Offline(point=x, following=following),
        "f": lambda u, x: u(x.point),
        "integrals": fr.Integral(lambda x: fr.Given(x.following), lambda u, x, t: 0.5 * u(t)),
        "y": lambda x: x.point[0],
        "exact": lambda x: 4 * x[0] / 3,
    }
    return fr.Equation(**{**parts, **changes})


def test_offline_samples_need_delayed_targets_or_two_samples():
    one, two = offline(1), offline(2)
    with pytest.raises(ValueError, match=r"one given sample at each x.*DelayedTarget"):
        fr.solve(one, fr.DoubleSampling(), rule=fr.MonteCarlo(1), **TINY)
    with pytest.raises(ValueError, match=r"there is one given sample.*MonteCarlo\(1\)"):
        fr.solve(one, fr.DelayedTarget(), rule=fr.MonteCarlo(8), **TINY)
    with pytest.raises(ValueError, match=r"two independent draws.*2 samples, and 1"):
        fr.solve(offline(1, f=None, y=1.0), fr.DelayedTarget(), rule=fr.MonteCarlo(1), **TINY)
    with pytest.raises(ValueError, match="two of its draws may take the same sample"):
        fr.solve(two, fr.DelayedTarget(), rule=fr.QuasiMonteCarlo(2, randomize=fr.Shift()), **TINY)
    for equation, method, rule in (
        (one, fr.DelayedTarget(), fr.MonteCarlo(1)),
        (two, fr.DoubleSampling(), fr.MonteCarlo(2)),
    ):
        solution = fr.solve(equation, method, rule=rule, **TINY)
        assert np.isfinite(solution.history["loss"]).all()
        assert ("integration_variance" in solution.history) == (equation is two), "one sample has no variance"
        assert np.isfinite(solution.evaluate()["relative_l2"]).all()
    check_settings(settings_of(two, fr.DelayedTarget(), rule=fr.Even(1)))  # all given samples


def test_draws_of_given_samples_share_none(key):
    given = fr.Given(np.arange(6.0)[:, None])
    for k in jax.random.split(key, 5):
        first, second = fr.MonteCarlo(2).pair(fr.MonteCarlo(3), given, k)
        drawn = np.concatenate([first.points, second.points])[:, 0]
        assert len(set(drawn.tolist())) == 5
        assert float(first.weights.sum()) == pytest.approx(1.0)
    assert np.allclose(np.sort(fr.Even(2).nodes(given, key).points[:, 0]), np.arange(6.0))


def form(n, x):
    return 1.0 + x[0] * n(x)


def test_a_form_meets_its_condition_by_construction_and_is_asked_for_again(tmp_path):
    equation = fr.Equation(domain=UNIT, f=lambda u, x: fr.derivative(u, x) + u(x))
    network = fr.Constrained(fr.MLP(8, 1, "tanh"), form)
    solution = fr.solve(equation, fr.Standard(), **{**TINY, "network": network})
    assert np.allclose(solution.members([[0.0]]), 1.0)
    assert not np.allclose(solution.members([[1.0]]), 1.0)
    path = solution.save(tmp_path / "run")
    with pytest.raises(ValueError, match=r"network=.*problem="):
        fr.load(path)
    for loaded in (
        fr.load(path, network=network),
        fr.load(path, problem=fr.Equation(domain=UNIT, f=lambda u, x: u(x), defaults=fr.Defaults(network=network))),
    ):
        assert np.array_equal(loaded([[0.3]]), solution([[0.3]]))
    assert np.array_equal(fr.resume(path, steps=6, problem=equation, network=network, progress=False).members([[0.0]]), [[1.0], [1.0]])


def kernel(key_word):
    return fr.Equation(
        domain=fr.Point(0.5), f=lambda u, x: 3 * u(x), integrals=fr.Integral(UNIT, lambda u, x, t: u.kappa * u(t)), y=0.25, **key_word
    )


@pytest.mark.parametrize(
    ("method", "rule"), [(fr.DelayedTarget(), 1), (fr.DelayedTarget(split=4.0), 1), (fr.DoubleSampling(), 2)], ids=repr
)
def test_a_scalar_inside_an_integral_has_an_unbiased_gradient(method, rule, key):
    """r = 3u(½) − κ E[u] − ¼, so dr²/dκ = −2 r E[u]; the standard loss has 2κ Var/N more."""
    equation, kappa = kernel({"unknowns": {"kappa": 1.0}}), 1.5
    u = Field(quadratic(A, B).network, {"kappa": jnp.asarray(kappa)}, 1, 1)

    @eqx.filter_jit
    def slope(method, rule, key):
        gradient = eqx.filter_grad(lambda u, state: method.loss(u, state, equation, [rule], 20_000, key)[0])
        return gradient(u, method.init(u)).unknowns["kappa"]

    residual = 3 * (A * 0.25 + B) - kappa * MEAN - 0.25
    # The standard loss of the main part of a split has weight 1/M, and its noise 1/M².
    excess = 0.0 if method.__class__ is fr.DoubleSampling or method.split is None else 2 * kappa * VARIANCE / method.split**2
    values = np.array([slope(method, fr.MonteCarlo(rule), k) for k in jax.random.split(key, 8)])
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - (-2 * residual * MEAN + excess)) < 5 * error
    biased = np.mean([slope(fr.Standard(), fr.MonteCarlo(rule), k) for k in jax.random.split(key, 8)])
    assert biased - values.mean() > 10 * error


def test_learned_scalars_are_saved_printed_and_listed(tmp_path):
    equation = kernel({"unknowns": {"kappa": 0.5}})
    solution = fr.solve(equation, fr.DelayedTarget(), **TINY)
    assert solution.unknowns["kappa"].shape == (2,)
    assert not np.allclose(solution.unknowns["kappa"], 0.5)
    assert np.allclose(solution.history["unknown_kappa"].values[:, -1], solution.unknowns["kappa"])
    assert "spread over 2 seeds" in str(solution)
    assert "kappa" in solution.summary()
    loaded = fr.load(solution.save(tmp_path / "run"), problem=equation)
    assert np.array_equal(loaded.unknowns["kappa"], solution.unknowns["kappa"])
    assert "kappa" in loaded.report(tmp_path / "page.html").read_text(encoding="utf-8")


WRONG = {
    "same shape": lambda: fr.Periodic(fr.Point(0.0), fr.Product(fr.Point(0.0), UNIT)),
    "Periodic axis": lambda: fr.Periodic(fr.Point(0.0), fr.Point(1.0), axis=1),
    "Periodic order": lambda: fr.Periodic(fr.Point(0.0), fr.Point(1.0), order=-1),
    "Data sigma: got shape": lambda: fr.Data([0.0, 1.0], [1.0, 2.0], sigma=[0.1, 0.1, 0.1]),
    "Data sigma: got 0": lambda: fr.Data([0.0, 1.0], [1.0, 2.0], sigma=0.0),
    "got 2 points and 1 values; expected as many": lambda: fr.Data([0.0, 1.0], [1.0]),
    "not finite": lambda: fr.Data([0.0, 1.0], [1.0, np.nan]),
    "Data values: got shape": lambda: fr.Data([0.0], 1.0),
    "expected an Integral": lambda: fr.IntegralCondition([], 1.0),
    "weight": lambda: fr.IntegralCondition(MASS, 1.0, weight=-1.0),
    "point=": lambda: fr.Offline(x=np.ones((3, 1))),
    "3 rows": lambda: fr.Offline(point=np.ones((3, 1)), next=np.ones(2)),
    "Put all coordinates into Given": lambda: fr.Product(fr.Given([[0.0]]), UNIT),
    "Constrained form: it returned shape \\(2,\\)": lambda: fr.solve(
        equation_with(()), fr.Standard(), network=fr.Constrained(fr.MLP(4, 1), lambda n, x: n(x) * jnp.ones(2))
    ),
    "condition 1, of at one x: it returned shape": lambda: fr.solve(
        equation_with(fr.Condition(fr.Point(0.0), 0.0, of=lambda u, x: jnp.ones((2, 2))))
    ),
    "condition 1, its value is not finite": lambda: fr.solve(equation_with(fr.Condition(UNIT, lambda x: jnp.log(-x[0])))),
    "condition 1, integral 1, at x": lambda: fr.solve(
        equation_with(fr.IntegralCondition(fr.Integral(lambda x: fr.Interval(0.5, x[0]), lambda u, x, t: u(t)), 1.0, at=UNIT))
    ),
    "condition 1, g of integral 1 is not finite": lambda: fr.solve(
        equation_with(fr.IntegralCondition(fr.Integral(UNIT, lambda u, x, t: jnp.log(-t[0])), 1.0))
    ),
}


def equation_with(condition):
    return fr.Equation(domain=UNIT, f=lambda u, x: u(x), conditions=condition)


@pytest.mark.parametrize("message", WRONG)
def test_wrong_conditions_are_refused(message):
    with pytest.raises(ValueError, match=message):
        WRONG[message]()
