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
    "equation",
    [
        second_kind(1.2),
        second_kind(0.5, f=lambda u, x: fr.derivative(u, x)),
        second_kind(0.5, integrals=fr.Integral(fr.Interval(0.0, 2.0), lambda u, x, t: 0.2 * u(t))),
        second_kind(0.5, f=None),
    ],
    ids=["no contraction", "no second kind", "outside of the domain", "weak"],
)
def test_where_there_is_no_bound_there_is_none(equation):
    scores = certificates([equation], [parabola(1.0, 0.0)])[0].scores()
    assert scores.keys() == {"true_loss", "true_loss_low", "true_loss_high"}


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


def test_one_given_sample_at_each_x_has_no_certificate():
    points = np.linspace(0.0, 1.0, 5)[:, None]
    offline = fr.Equation(
        domain=fr.Offline(point=points, next=points[:, None]),
        f=lambda u, x: u(x.point),
        integrals=fr.Integral(lambda x: fr.Given(x.next), lambda u, x, t: u(t)),
    )
    with pytest.raises(ValueError, match="at least 2 samples"):
        certificates([offline], [parabola(1.0, 0.0)])
