"""The mathematics of the methods, on equations whose integrals are known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.functions.field import Field


class Quadratic(eqx.Module):
    """u(x) = a x² + b: E[u(t)] = a/3 + b and Var[u(t)] = 4a²/45 for t uniform on [0, 1]."""

    a: jax.Array
    b: jax.Array

    def __call__(self, x):
        return jnp.reshape(self.a * x[0] ** 2 + self.b, (1,))


def quadratic(a, b):
    return Field(Quadratic(jnp.asarray(a, float), jnp.asarray(b, float)), {}, 1, 1)


X = 0.5
WITH_F = fr.Equation(
    domain=fr.Point(X), f=lambda u, x: 3 * u(x), integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: u(t)), y=0.25
)
WEAK = fr.Equation(domain=fr.Point(X), integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: u(t)), y=0.25)
TWO = fr.Equation(
    domain=fr.Point(X),
    f=lambda u, x: 3 * u(x),
    integrals=[
        fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: u(t)),
        fr.Integral(fr.Interval(0.0, 2.0), lambda u, x, t: u(t / 2), rule=fr.MonteCarlo(2)),
    ],
    y=0.25,
)
EQUATIONS = {"with f": WITH_F, "weak": WEAK, "two integrals": TWO}
A, B = 1.3, -0.4
MEAN, VARIANCE = A / 3 + B, 4 * A**2 / 45


def true_residual(equation):
    integral = 3 * MEAN if equation is TWO else MEAN
    return integral - 0.25 if equation.f is None else 3 * (A * X**2 + B) - integral - 0.25


def excess(equation, n):
    return VARIANCE / n + (4 * VARIANCE / 2 if equation is TWO else 0.0)


def rules_of(equation, rule):
    return [integral.rule or rule for integral in equation.integrals]


def sampled_loss(equation, method, rule, u, key, batch=100_000):
    """The mean loss over many points with its standard error, and the state's target equal to the network."""
    keys = jax.random.split(key, 20)
    rules = rules_of(equation, rule)
    losses = jax.lax.map(lambda k: method.loss(u, method.init(u), equation, rules, batch // 20, k)[0], keys)
    return float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(len(losses)))


@pytest.mark.parametrize("name", EQUATIONS)
@pytest.mark.parametrize("n", [1, 4])
def test_standard_loss_is_the_true_loss_plus_the_variance_over_n(name, n, key):
    equation = EQUATIONS[name]
    mean, error = sampled_loss(equation, fr.Standard(), fr.MonteCarlo(n), quadratic(A, B), key)
    expected = true_residual(equation) ** 2 + excess(equation, n)
    assert abs(mean - expected) < 5 * error
    assert excess(equation, n) > 10 * error, "the sample is large enough to see the bias"


@pytest.mark.parametrize("name", EQUATIONS)
@pytest.mark.parametrize(("method", "n"), [(fr.DoubleSampling(), 2), (fr.DoubleSampling(), 8), (fr.DoubleSampling("all"), 3)])
def test_double_sampling_is_unbiased_in_both_forms(name, method, n, key):
    equation = EQUATIONS[name]
    mean, error = sampled_loss(equation, method, fr.MonteCarlo(n), quadratic(A, B), key)
    assert abs(mean - true_residual(equation) ** 2) < 5 * error


def test_all_pairs_have_less_variance_than_two_halves(key):
    r"""A product of two halves has the variance $4 r^2 \sigma^2/n + 4 \sigma^4/n^2$, all pairs $4 r^2 \sigma^2/n + 2 \sigma^4/(n(n-1))$."""
    u, keys, n, r = quadratic(A, B), jax.random.split(key, 100_000), 4, true_residual(WEAK)
    expected = {"split": 4 * VARIANCE**2 / n**2, "all": 2 * VARIANCE**2 / (n * (n - 1))}
    for pairs, last in expected.items():
        losses = jax.vmap(lambda k, pairs=pairs: fr.DoubleSampling(pairs).loss(u, None, WEAK, [fr.MonteCarlo(n)], 1, k)[0])(keys)
        assert float(jnp.var(losses)) == pytest.approx(4 * r**2 * VARIANCE / n + last, rel=0.04)


def test_randomised_nodes_make_double_sampling_unbiased_too(key):
    mean, error = sampled_loss(WITH_F, fr.DoubleSampling(), fr.Even(2, fr.Shift()), quadratic(A, B), key)
    assert abs(mean - true_residual(WITH_F) ** 2) < 5 * error


@pytest.mark.parametrize("name", ["with f", "weak"])
@pytest.mark.parametrize("rule", [fr.MonteCarlo(2), fr.Even(2, fr.Shift())], ids=repr)
@pytest.mark.parametrize("method", [fr.Standard(), fr.DelayedTarget(tau=0.9, regularization=0.0, split=10.0)], ids=["standard", "delayed"])
def test_x_that_share_a_draw_are_one_draw(name, rule, method, key):
    """Three x at one point: the loss has the mean that it has with own draws, and three times the variance."""
    u, keys = quadratic(A, B), jax.random.split(key, 50_000)

    def losses(rule):
        return np.asarray(jax.vmap(lambda k: method.loss(u, method.init(u), EQUATIONS[name], [rule], 3, k)[0])(keys), float)

    own, shared = losses(rule), losses(fr.Shared(rule))
    assert abs(own.mean() - shared.mean()) < 5 * np.hypot(own.std(), shared.std()) / len(keys) ** 0.5
    assert shared.var() / own.var() == pytest.approx(3, rel=0.1)


@pytest.mark.parametrize("name", EQUATIONS)
def test_double_sampling_of_shared_nodes_is_unbiased(name, key):
    u, keys, equation = quadratic(A, B), jax.random.split(key, 100_000), EQUATIONS[name]
    rules = rules_of(equation, fr.Shared(fr.MonteCarlo(1)))
    losses = np.asarray(jax.vmap(lambda k: fr.DoubleSampling().loss(u, None, equation, rules, 2, k)[0])(keys), float)
    assert abs(losses.mean() - true_residual(equation) ** 2) < 5 * losses.std() / len(keys) ** 0.5


def test_the_network_is_evaluated_once_for_all_x_that_share_their_nodes(key):
    """5 x and 7 nodes: 35 evaluations with own nodes, 7 with shared ones, forward and back."""
    equation = fr.Equation(
        domain=fr.Interval(0.0, 1.0), f=lambda u, x: u(x), integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: x[0] * u(t))
    )
    u = Field(fr.MLP(11, 2).build(1, 1, key), {}, 1, 1)

    def text(rule):
        return str(jax.make_jaxpr(eqx.filter_grad(lambda u: fr.Standard().loss(u, None, equation, [rule], 5, key)[0]))(u))

    own, shared = text(fr.MonteCarlo(7)), text(fr.Shared(fr.MonteCarlo(7)))
    of_pairs = ("[5,7,11]", "[35,11]")
    assert any(shape in own for shape in of_pairs)
    assert "[7,11]" in shared
    assert not any(shape in shared for shape in of_pairs)


def test_deterministic_nodes_have_no_excess_variance(key):
    losses = [float(fr.Standard().loss(quadratic(A, B), None, WITH_F, [fr.Even(64)], 3, k)[0]) for k in jax.random.split(key, 3)]
    assert losses[0] == losses[1] == losses[2]
    assert losses[0] == pytest.approx(true_residual(WITH_F) ** 2, rel=1e-3)


def gradient(method, equation, rule, u, target, key):
    state = target if method.has_target else None
    return eqx.filter_grad(lambda u: method.loss(u, state, equation, [rule], 1, key)[0])(u).network


NODES = (np.arange(4) + 0.5) / 4  # Even(4)


@pytest.mark.parametrize("on", ["output", "f"])
def test_the_gradient_of_the_delayed_target_is_the_semi_gradient(on, key):
    u, target, weight = quadratic(A, B), quadratic(0.9, 0.1), 0.7
    found = gradient(fr.DelayedTarget(regularization=weight, on=on), WITH_F, fr.Even(4), u, target, key)
    value, other = A * X**2 + B, 0.9 * X**2 + 0.1
    residual = 3 * value - np.mean(0.9 * NODES**2 + 0.1) - 0.25
    slope = np.array([X**2, 1.0])  # of u(x) with respect to (a, b)
    pull = weight * (value - other) * (9 if on == "f" else 1)
    assert np.allclose([found.a, found.b], 2 * residual * 3 * slope + 2 * pull * slope, rtol=1e-5)


@pytest.mark.parametrize("on", ["output", "f"])
def test_the_semi_gradient_of_the_split_weak_form(on, key):
    u, target, weight, split = quadratic(A, B), quadratic(0.9, 0.1), 0.7, 5.0
    found = gradient(fr.DelayedTarget(regularization=weight, split=split, on=on), WEAK, fr.Even(4), u, target, key)
    main, other = A * NODES**2 + B, 0.9 * NODES**2 + 0.1
    slopes = np.stack([NODES**2, np.ones(4)], axis=1)
    residual = (1 - 1 / split) * other.mean() + main.mean() / split - 0.25
    if on == "output":
        pull = 2 * weight * np.mean((main - other)[:, None] * slopes, axis=0)
    else:
        pull = 2 * weight * (main.mean() - other.mean()) / split**2 * slopes.mean(axis=0)
    assert np.allclose([found.a, found.b], 2 * residual / split * slopes.mean(axis=0) + pull, rtol=1e-5)


def test_where_g_is_flat_standard_and_delayed_target_agree(key):
    flat = fr.Equation(domain=fr.Interval(0.0, 1.0), f=lambda u, x: u(x), integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: 0.3))
    u = quadratic(A, B)
    one, two = (gradient(method, flat, fr.MonteCarlo(3), u, u, key) for method in (fr.Standard(), fr.DelayedTarget(regularization=0.0)))
    assert np.allclose([one.a, one.b], [two.a, two.b], rtol=1e-6)


def follow(method, u, target, step):
    """The target after a step."""
    return method.update(u, target, WITH_F, 1, jnp.asarray(step), jax.random.key(0))


def test_the_target_follows_by_averaging_or_by_copies():
    u, target = quadratic(2.0, 4.0), quadratic(0.0, 0.0)
    averaged = follow(fr.DelayedTarget(tau=0.75, regularization=1.0), u, target, 0).network
    assert (float(averaged.a), float(averaged.b)) == (0.5, 1.0)
    hard = fr.DelayedTarget(every=3)
    assert [float(follow(hard, u, target, step).network.a) for step in range(4)] == [0.0, 0.0, 2.0, 0.0]
    assert float(follow(fr.DelayedTarget(tau=0.0, regularization=1.0), u, target, 0).network.a) == 2.0


def test_a_condition_is_its_weighted_mean_square(key):
    equation = fr.Equation(
        domain=fr.Point(X),
        f=lambda u, x: 0.0,
        conditions=[fr.Condition(fr.Point(1.0), 0.5, weight=3.0), fr.Condition(fr.Point(2.0), 0.0, of=lambda u, x: fr.derivative(u, x))],
    )
    _, info = fr.Standard().loss(quadratic(A, B), None, equation, [], 4, key)
    assert float(info["conditions"]) == pytest.approx(3 * (A + B - 0.5) ** 2 + (4 * A) ** 2, rel=1e-5)


def test_noise_in_y_alone_raises_the_loss_and_leaves_the_gradient(key):
    """The paper's remark: the excess term of a noisy y does not depend on θ. Two opposite noises have the noiseless mean gradient."""

    def loss(u, noise):
        equation = fr.Equation(
            domain=fr.Point(X), f=lambda u, x: 3 * u(x), integrals=fr.Integral(fr.Interval(0.0, 1.0), lambda u, x, t: u(t)), y=0.25 + noise
        )
        return fr.Standard().loss(u, None, equation, [fr.Even(8)], 1, key)[0]

    u = quadratic(A, B)
    values = {noise: eqx.filter_value_and_grad(loss)(u, noise) for noise in (-0.5, 0.0, 0.5)}
    assert (values[-0.5][0] + values[0.5][0]) / 2 == pytest.approx(float(values[0.0][0]) + 0.25, rel=1e-5)
    for name in ("a", "b"):
        mean = (getattr(values[-0.5][1].network, name) + getattr(values[0.5][1].network, name)) / 2
        assert float(mean) == pytest.approx(float(getattr(values[0.0][1].network, name)), rel=1e-4)


def test_without_a_split_the_weak_form_has_m_times_the_limit_of_its_gradient(key):
    """M · ∇(split M, λ/M) → ∇(no split, λ): M is gone, and λ is what was λM."""
    u, target, weight, split = quadratic(A, B), quadratic(0.9, 0.1), 0.7, 1e4
    found = gradient(fr.DelayedTarget(regularization=weight), WEAK, fr.Even(4), u, target, key)
    published = gradient(fr.DelayedTarget(regularization=weight / split, split=split), WEAK, fr.Even(4), u, target, key)
    assert np.allclose([found.a, found.b], [split * published.a, split * published.b], rtol=1e-3)


def test_without_a_split_the_gradient_is_that_of_the_true_loss_where_the_target_is_the_network(key):
    """The split squares the noise of its main part, and keeps a share of it; the limit does not."""
    u, n = quadratic(A, B), 4000
    truth = 2 * true_residual(WEAK) * np.array([1 / 3, 1.0])
    for method, share in ((fr.DelayedTarget(regularization=0.0), 0.0), (fr.DelayedTarget(regularization=0.0, split=2.0), 0.5)):
        one = jax.jit(jax.vmap(lambda k, method=method: gradient(method, WEAK, fr.MonteCarlo(1), u, u, k)))
        gradients = one(jax.random.split(key, n))
        scale = share or 1.0  # the split has a factor 1/M
        found = np.stack([gradients.a, gradients.b], axis=1) / scale
        error = found.std(axis=0, ddof=1) / np.sqrt(n)
        bias = 2 * share * np.array([4 * A / 45, 0.0])  # of the gradient of Var/(M N')
        assert (np.abs(found.mean(axis=0) - truth - bias) < 5 * error).all()
        assert share == 0 or bias[0] > 8 * error[0], "the sample is large enough to see the bias"


def test_the_adaptive_regulariser_is_the_rayleigh_quotient_along_the_drift(key):
    """∫₀² 3 u dt as ω g = 6 u(t) at a uniform node: along any drift the quotient is 36, and λ is 1 + 9/√B times that in the weak form."""
    for equation in (
        fr.Equation(domain=fr.Interval(0.0, 2.0), integrals=fr.Integral(fr.Interval(0.0, 2.0), lambda u, x, t: 3 * u(t))),
        fr.Equation(
            domain=fr.Interval(0.0, 2.0),
            f=lambda u, x: u(x),
            integrals=fr.Integral(fr.Interval(0.0, 2.0), lambda u, x, t: 3 * u(t)),
        ),
    ):
        method, u = fr.DelayedTarget(), quadratic(A, B)
        state = method.init(u)
        assert float(method.weight(state)) == 0.0, "nothing is known before the first drift"
        rounding = eqx.tree_at(lambda s: s.change, state, jnp.asarray(1e-14))
        assert float(method.weight(rounding)) == 0.0, "what changes without a drift is rounding"
        state = eqx.tree_at(lambda s: s.target, state, quadratic(A, 0.1))
        for step in range(3):
            state = method.observe(u, state, equation, 9, jnp.asarray(step), jax.random.fold_in(key, step))
        expected = 36.0 * (1 + 9 / 3) if equation.is_weak else 36.0
        assert float(method.weight(state)) == pytest.approx(expected, rel=1e-4)
        parts = {name: rows.loss() for name, rows in method.rows(u, state, equation, [fr.MonteCarlo(1)], jnp.array([X]), key).items()}
        assert float(parts["regularization"]) == pytest.approx(expected * (B - 0.1) ** 2, rel=1e-4)
        assert method.recorded(state).keys() == {"regularization_weight"}


def test_where_f_is_given_only_the_mean_of_the_integrals_change_counts(key):
    """Along a x² the change 6 t² Δa of ∫₀² 3 u dt has the mean 8 Δa and the mean square 115.2 Δa², and (u − ū)² the mean 3.2 Δa²."""
    integral = fr.Integral(fr.Interval(0.0, 2.0), lambda u, x, t: 3 * u(t))
    for f, expected in ((None, 115.2 / 3.2), (lambda u, x: u(x), 64 / 3.2)):
        equation = fr.Equation(domain=fr.Interval(0.0, 2.0), f=f, integrals=integral)
        change, penalty = fr.DelayedTarget().drift(quadratic(A, B), quadratic(A + 0.1, B), equation, key, 40_000)
        assert float(change / penalty) == pytest.approx(expected, rel=0.05)


def test_a_target_without_tau_is_a_mean_over_the_last_fiftieth_of_the_steps_so_far_and_over_twenty_at_least():
    """One that follows at once holds nothing back."""
    method, u = fr.DelayedTarget(regularization=1.0), quadratic(1.0, 0.0)
    after = {step: float(follow(method, u, quadratic(0.0, 0.0), step).network.a) for step in (0, 450, 4950, 10**6)}
    assert after == {0: pytest.approx(0.05), 450: pytest.approx(0.05), 4950: pytest.approx(0.01), 10**6: pytest.approx(0.001)}


def test_lambda_is_measured_without_what_is_infinite_and_without_the_drift_of_learned_scalars():
    method = fr.DelayedTarget()
    unit = fr.Interval(0.0, 1.0)

    def equation(g):
        return fr.Equation(domain=unit, f=lambda u, x: u(x), integrals=fr.Integral(unit, g), y=1.0, unknowns={"rate": 1.0})

    def field(rate, seed=0):
        return Field(fr.MLP(4, 1, "tanh").build(1, 1, jax.random.key(seed)), {"rate": jnp.asarray(rate)}, 1, 1)

    smooth, key = equation(lambda u, x, t: u.unknowns["rate"] * u(t)), jax.random.key(1)
    change, _ = method.drift(field(1.0), field(5.0), smooth, key, 32)
    assert change == 0, "the networks are the same, and scalars have no delayed copy"
    started = method.observe(field(1.0), method.init(field(1.0, seed=2)), smooth, 1, jnp.asarray(0), key)
    infinite = equation(lambda u, x, t: u(t) * jnp.where(t[0] > 0.5, jnp.inf, 1.0))
    after = method.observe(field(1.0), started, infinite, 1, jnp.asarray(1), key)
    assert started.penalty > 0
    assert (after.change, after.penalty) == (started.change, started.penalty)


def test_without_a_regulariser_nodes_need_not_be_points_of_the_network(key):
    """u(t[:1]) at nodes of a square: there is no point t where the network could be compared with its target, and nobody asks for one."""
    square = fr.Box((0.0, 0.0), (1.0, 1.0))
    equation = fr.Equation(domain=fr.Interval(0.0, 1.0), integrals=fr.Integral(square, lambda u, x, t: u(t[:1]) * t[1]), y=1.0)
    u = Field(fr.MLP(4, 1, "tanh").build(1, 1, key), {}, 1, 1)
    method = fr.DelayedTarget(tau=0.9, regularization=0.0)
    parts = method.rows(u, method.init(u), equation, [fr.MonteCarlo(2)], jnp.array([0.5]), key)
    assert parts.keys() == {"residual"}
    assert jnp.isfinite(parts["residual"].loss())


@pytest.mark.parametrize("form", ["three outputs", "two weak integrals"])
def test_the_regulariser_is_lambda_times_what_the_drift_penalises(form, key):
    """A mean over outputs and over integrals, the same in the loss and where λ is measured."""
    unit = fr.Interval(0.0, 1.0)
    if form == "three outputs":
        integral = fr.Integral(unit, lambda u, x, t: u(t))
        equation = fr.Equation(domain=unit, f=lambda u, x: u(x), integrals=integral, y=jnp.zeros(3), outputs=3)
    else:
        equation = fr.Equation(domain=unit, integrals=[fr.Integral(unit, lambda u, x, t: u(t))] * 2, y=1.0)
    u, target = (Field(fr.MLP(4, 1).build(1, equation.outputs, jax.random.key(seed)), {}, 1, equation.outputs) for seed in (0, 1))
    method = fr.DelayedTarget(tau=0.9, regularization=0.7)
    rules = equation.rules(fr.MonteCarlo(1))
    _, info = method.loss(u, target, equation, rules, 20_000, key)
    _, penalty = method.drift(u, target, equation, key, 20_000)
    assert float(info["regularization"]) == pytest.approx(0.7 * float(penalty), rel=0.05)
