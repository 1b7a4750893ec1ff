"""The certificate: an interval that says 95 % holds the true loss about that often, and the bound holds the error."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.common import statistics
from fredholm.diagnostics import certificate
from fredholm.diagnostics.certificate import Certificate, certificates
from fredholm.diagnostics.moments import moments
from fredholm.functions.field import Field

UNIT = fr.Interval(0.0, 1.0)


class Parabola(eqx.Module):
    """u(x) = a x² + b."""

    a: jax.Array
    b: jax.Array

    def __call__(self, x):
        return jnp.reshape(self.a * x[0] ** 2 + self.b, (1,))


def parabola(a, b):
    return Field(Parabola(jnp.asarray(a), jnp.asarray(b)), {}, 1, 1)


def second_kind(factor, **changes):
    """u(x) = factor ∫₀¹ u(t) dt + y(x): the integral stretches the constant by the factor, and nothing by more."""
    parts = {"f": lambda u, x: u(x), "integrals": fr.Integral(UNIT, lambda u, x, t: factor * u(t)), "y": lambda x: x[0] ** 2}
    return fr.Equation(domain=UNIT, **{**parts, **changes})


def test_the_interval_of_the_true_loss_covers_it(monkeypatch):
    """With u = 2x² + 1 and y = x² the residual is x² + 1 − ∫u/2 = x² + 1/6: its mean square is 1/5 + 1/9 + 1/36. Few noisy nodes."""
    monkeypatch.setattr(certificate, "POINTS", 32)
    monkeypatch.setattr(certificate, "independent_rules", lambda residual, net: [fr.MonteCarlo(1)] * len(residual.integrals))
    losses, truth = certificate._losses(second_kind(0.5)), 1 / 5 + 1 / 9 + 1 / 36
    equation, u = second_kind(0.5), parabola(2.0, 1.0)
    draws = [statistics.student_interval(losses(equation, u, jax.random.key(number))) for number in range(600)]
    coverage = np.mean([low <= truth <= high for _, low, high in draws])
    assert 0.92 < coverage < 0.98
    means = np.array([mean for mean, _, _ in draws])
    assert abs(means.mean() - truth) < 4 * means.std(ddof=1) / np.sqrt(len(means)), "the estimate is unbiased"
    # The square of one noisy residual is off by its variance, which is far more than that: 4 a² / 45 · factor².
    assert 20 * means.std(ddof=1) / np.sqrt(len(means)) < 4 * 4 / 45 / 4


def test_the_bound_holds_and_is_of_the_size_of_the_error():
    """The solution of u = q ∫u + x² is x² + c with c = q (1/3 + c)."""
    for factor in (0.5, 0.9):
        c = factor / 3 / (1 - factor)
        found = certificates([second_kind(factor)], [parabola(1.0, c + 0.3)])[0]
        # The function that is stretched most is the worst one on the points at hand, so that the factor errs on the safe side.
        assert found.contraction == pytest.approx(factor, rel=0.02)
        assert found.contraction_high >= factor
        assert 0.3 <= found.error_bound < 0.4, "off by a constant, for which the bound is sharp"
        assert found.loss == pytest.approx((0.3 * (1 - factor)) ** 2, rel=1e-3)


def test_the_factor_of_a_known_kernel():
    found = certificates([fr.problems.FredholmSecondKind()], [parabola(1.0, 0.0)])[0]
    # The norm of exp(−|x−t|) on L²(0, 1) is 2/(1 + w²) with the smallest root of tan w = 2w/(w² − 1), w = 1.3065.
    assert found.contraction == pytest.approx(2 / (1 + 1.30654**2), rel=0.02)
    assert found.contraction_high > 2 / (1 + 1.30654**2)


@pytest.mark.parametrize(
    ("equation", "reason"),
    [
        (second_kind(1.2), "stretch a function by the factor 1.2"),
        (second_kind(0.5, f=lambda u, x: fr.derivative(u, x)), "not of the second kind"),
        (second_kind(0.5, integrals=fr.Integral(fr.Interval(0.0, 2.0), lambda u, x, t: 0.2 * u(t))), "outside of the domain"),
        (second_kind(0.5, f=None), "weak form"),
    ],
    ids=["no contraction", "no second kind", "outside of the domain", "weak"],
)
def test_where_there_is_no_bound_it_says_why(equation, reason):
    found = certificates([equation], [parabola(1.0, 0.0)])[0]
    scores = found.scores()
    assert scores.keys() == {"true_loss", "true_loss_low", "true_loss_high", "relative_residual"}
    assert reason in str(found)


def test_a_solution_has_its_certificate_with_and_without_an_exact_solution():
    keywords = {"network": fr.MLP(4, 1, "tanh"), "steps": 3, "batch": 4, "seeds": 2, "rule": fr.MonteCarlo(1), "progress": False}
    solution = fr.solve(second_kind(0.5), fr.Standard(), **keywords)
    found = solution.evaluate(certificate=True)
    assert {"true_loss", "true_loss_low", "true_loss_high", "contraction", "error_bound"} <= found.keys()
    assert "mse" not in found
    assert all(values.shape == (2,) for values in found.values())
    assert (found["true_loss_low"] <= found["true_loss"]).all()
    known = second_kind(0.5, exact=lambda x: x[0] ** 2 + 1 / 3)
    both = solution.evaluate(problem=known, certificate=True)
    assert (np.sqrt(both["mse"]) <= both["error_bound"]).all()
    assert isinstance(solution.certify()[0], Certificate)


def offline(held_out=0.0, n=2000, noise=0.3):
    """u(x) = 0.9 E u(x') + 1 + x with x' near x/2: a reward in a column. Its solution is a + b x with b = 1/0.55 and a = 10."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 1.0, (n, 1))
    following, reward = x / 2 + noise * rng.normal(size=(n, 1)), 1 + x[:, 0]
    return fr.Equation(
        domain=fr.Offline(point=x, next=following[:, None], reward=reward, held_out=held_out),
        f=lambda u, x: u(x.point),
        integrals=fr.Integral(lambda x: fr.Given(x.next), lambda u, x, t: 0.9 * u(t)),
        y=lambda x: x.reward,
    )


class Line(eqx.Module):
    """u(x) = a + b x."""

    a: jax.Array
    b: jax.Array

    def __call__(self, x):
        return self.a + self.b * x


def line(a, b):
    return Field(Line(jnp.asarray(a), jnp.asarray(b)), {}, 1, 1)


def test_one_given_sample_at_each_x_has_the_moments_of_held_out_rows_and_no_true_loss():
    right, wrong = certificates([offline(0.25)] * 2, [line(10.0, 1 / 0.55), line(5.3, 1.0)])
    assert np.isnan(right.loss)
    assert "not available: there is one given sample at each x" in str(right)
    assert right.moments.rows == 500
    assert not right.moments.is_wrong, right
    assert wrong.moments.is_wrong
    # 0.53 − 0.45 x is left of terms of 5 to 6 each
    assert wrong.moments.low < np.sqrt(np.mean((0.53 - 1 + (1 - 0.45 - 1) * np.linspace(0, 1, 999)) ** 2)) / 12.2 < wrong.moments.high
    assert {"moments", "moments_low", "moments_high", "moments_chance"} <= wrong.scores().keys()


def test_the_chance_of_moments_is_uniform_where_the_residual_is_zero():
    """60 data sets: a probability below a half in about half of them."""
    rng, found = np.random.default_rng(1), []
    for _ in range(60):
        x = rng.uniform(size=(300, 1))
        rows = fr.Offline(point=x, y=rng.normal(size=300) * (0.1 + x[:, 0]))
        found.append(moments(fr.Equation(rows, lambda u, x: u(x.point), y=lambda x: x.y), line(0.0, 0.0)).chance)
    assert 0.3 < np.mean(np.array(found) < 0.5) < 0.7
    assert np.mean(np.array(found) < 0.1) < 0.25


def test_held_out_rows_are_never_trained_on():
    domain = offline(0.25, n=40).domain
    kept = np.asarray(domain.draws(jax.random.key(0), 4000).points.point)
    assert len(np.unique(kept)) == 30
    assert not np.intersect1d(kept, np.asarray(domain.scored().point)).size
    assert len(domain.scored().point) == 10
    with pytest.raises(ValueError, match="rows on both sides"):
        fr.Offline(point=np.zeros((2, 1)), held_out=0.9)


def test_nodes_and_points_of_different_sizes():
    """t has one coordinate, and u two: the integral is over one of them."""
    for box in (fr.Box((0.0,) * 2, (1.0,) * 2), fr.Box((0.0,) * 3, (1.0,) * 3)):
        g = lambda u, x, t: 0.5 * u(jnp.concatenate([t, x[1:]]))  # noqa: E731
        equation = fr.Equation(box, lambda u, x: u(x), fr.Integral(UNIT, g), y=1.0)
        found = certificates([equation], [Field(lambda p: jnp.reshape(2.0 + 0 * p[0], (1,)), {}, box.dimension, 1)])[0]
        assert found.loss < 1e-10
        assert 0.5 <= found.contraction < 0.57, "the worst function on the points at hand"


def test_a_smooth_integral_leaves_no_noise_and_a_region_is_named():
    """With fixed nodes the loss of a solution is not noise around 0. A residual that sits at small x is named."""
    c = 0.5 / 3 / 0.5
    found = certificates([second_kind(0.5)], [parabola(1.0, c)])[0]
    assert 0 <= found.loss_low <= found.loss_high < 1e-10
    bump = Field(lambda p: jnp.reshape(p[0] ** 2 + c + 0.2 * jnp.maximum(0.2 - p[0], 0.0), (1,)), {}, 1, 1)
    early = certificates([second_kind(0.5)], [bump])[0]
    assert early.worst_region.axis == 0
    assert early.worst_region.low < 0.05
    assert "worst for x[0] from" in str(early)


def test_conditions_are_held():
    growth = fr.Equation(UNIT, lambda u, x: fr.derivative(u, x), y=lambda x: 2 * x[0], conditions=fr.Condition(fr.Point(0.0), 1.0))
    found = certificates([growth], [parabola(1.0, 0.5)])[0]
    assert found.quality.residual < 1e-5
    assert found.relative > 0.1
    assert "conditions are off by" in str(found)
