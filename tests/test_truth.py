"""What the library once said and what was false: each sentence with its equation, in a short form."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import fredholm as fr
from fredholm.diagnostics.diagnosis import diagnose
from fredholm.diagnostics.kinks import kinks
from fredholm.diagnostics.quality import quality
from fredholm.diagnostics.richer import moved_by_weight
from fredholm.diagnostics.violated import violated
from fredholm.equation.probe import fresh_field
from fredholm.functions.constrained import Formed
from fredholm.functions.field import Field
from fredholm.functions.mlp import MLP
from fredholm.methods.protocol import Trained

UNIT = fr.Interval(0.0, 1.0)


@pytest.fixture(autouse=True)
def cheap(request, monkeypatch):
    """Uniqueness, variance and contraction take seconds, and have tests of their own."""
    if "probing" not in request.keywords:
        diagnosis = sys.modules["fredholm.diagnostics.diagnosis"]
        monkeypatch.setattr(diagnosis, "undetermined", lambda *parts: None)
        monkeypatch.setattr(diagnosis, "heavy_tails", lambda *parts: [])
        monkeypatch.setattr(sys.modules["fredholm.diagnostics.certificate"], "_stretched", lambda equation: (None, "not asked"))


class Known(eqx.Module):
    """A function of one point as a network."""

    function: object = eqx.field(static=True)

    def __call__(self, x):
        return jnp.reshape(self.function(x), (1,))


def examined(equation, u, method, rule=fr.Gauss(8), records=20, **keywords):  # noqa: B008 - a frozen value
    """The diagnosis of a run that ended with u."""
    field = u if isinstance(u, Field) else Field(Known(u), {}, equation.inputs, 1)
    history = xr.Dataset({"loss": (("seed", "step"), np.ones((1, records)))}, coords={"seed": [0], "step": np.arange(records) * 100})
    subject = Trained(equation, field, field, field, equation.rules(rule), 32, 2000, fr.Adam(3e-3, fr.Cosine()))
    return diagnose("a run", history, method, subject, **keywords)


def policy(held_out=0.3, exact=None, n=3000):
    """V(s) = r + 0.9 E V(s'), s' = s/2 + noise, r = 1 + s: V = 10 + s/0.55."""
    rng = np.random.default_rng(0)
    s = rng.uniform(0.0, 1.0, (n, 1))
    following = s / 2 + 0.3 * rng.normal(size=(n, 1))
    return fr.Equation(
        domain=fr.Offline(point=s, next=following[:, None], reward=1 + s[:, 0], held_out=held_out),
        f=lambda u, x: u(x.point),
        integrals=fr.Integral(lambda x: fr.Given(x.next), lambda u, x, t: 0.9 * u(t)),
        y=lambda x: x.reward,
        exact=exact,
    )


def value(s):
    return 10 + s[0] / 0.55


def test_nothing_is_wrong_is_not_said_of_a_standard_loss_with_one_given_sample():
    wrong = examined(policy(), lambda s: 5.3 + s[0], fr.Standard(), fr.MonteCarlo(1), settings={"rule": fr.MonteCarlo(1), "batch": 32})
    assert [symptom.about for symptom in wrong.symptoms] == ["bias"], wrong
    assert "held out" in str(wrong)
    assert wrong.changes == {"method": fr.DelayedTarget()}
    assert wrong.remedy == {"rule": fr.MonteCarlo(1), "batch": 32, "method": fr.DelayedTarget()}, "complete"
    slightly = examined(policy(), lambda s: 9.0 + s[0] / 0.55, fr.Standard(), fr.MonteCarlo(1))
    assert [symptom.about for symptom in slightly.symptoms] == ["bias"], "a small residual is a tenfold error where the discount is 0.9"
    right = examined(policy(), value, fr.DelayedTarget(), fr.MonteCarlo(1))
    assert right.ok, right
    assert "nothing is wrong" not in str(right)
    assert "not tested: the rough part of the residual" in str(right)
    seen = examined(policy(held_out=0.0), value, fr.DelayedTarget(), fr.MonteCarlo(1))
    assert "not tested: rows that the training has not seen" in str(seen)


def test_the_exact_value_of_a_policy_is_not_said_to_be_wrong_because_of_noise():
    right, wrong = fr.check(policy(exact=value)), fr.check(policy(exact=lambda s: 9 + s[0] / 0.55))
    assert "exact solution" not in right, right
    assert "in the mean over its rows" in str(right)
    assert "exact solution" in wrong, wrong


def test_given_samples_have_a_certificate_that_says_what_is_not_available():
    keywords = {"network": fr.MLP(4, 1, "tanh"), "steps": 2, "batch": 4, "seeds": 1, "rule": fr.MonteCarlo(1), "progress": False}
    found = fr.solve(policy(n=400), fr.DelayedTarget(), **keywords).evaluate(certificate=True)
    assert np.isnan(found["true_loss"]).all()
    assert found["moments"] > 0.1


def test_one_given_sample_is_not_sent_from_double_sampling_to_a_rule_that_it_refuses():
    with pytest.raises(ValueError, match=r"one given sample at each x; use rule=MonteCarlo\(1\) with DelayedTarget\(\)"):
        fr.solve(policy(n=100), fr.DoubleSampling(), rule=fr.MonteCarlo(2))


def test_a_condition_of_zero_that_holds_to_rounding_is_not_off_by_all_of_its_terms():
    """u'' + u = 0 with u(0) = 1, u'(0) = 0."""
    slope = fr.Condition(fr.Point(0.0), 0.0, of=lambda u, x: fr.derivative(u, x))
    oscillator = fr.Equation(
        fr.Interval(0.0, 20.0), lambda u, x: fr.derivative(u, x, order=2) + u(x), conditions=[fr.Condition(fr.Point(0.0), 1.0), slope]
    )

    def u(off):
        return Field(Known(lambda x: jnp.cos(x[0]) + off * jnp.sin(x[0])), {}, 1, 1)

    assert violated(oscillator, quality(oscillator, u(6e-7))) == []
    assert "condition 2" in violated(oscillator, quality(oscillator, u(0.5)))[0].text


def test_nothing_is_wrong_is_not_said_where_the_smallest_sizes_are_twice_too_large():
    """A density that is right in the mean square, and twice too large where it is small."""
    equation = fr.Equation(fr.Interval(0.0, 8.0), lambda u, x: u(x), y=lambda x: jnp.exp(-x[0]))
    found = examined(equation, lambda x: jnp.exp(-x[0]) * jnp.where(x[0] > 5, 2.0, 1.0), fr.Standard())
    assert "region" in found, found
    assert "for x[0] from" in str(found)
    assert "nothing is wrong" not in str(found)
    assert "nothing is wrong" in str(examined(equation, lambda x: jnp.exp(-x[0]), fr.Standard()))


def test_nothing_is_wrong_is_not_said_where_the_nodes_miss_a_jump():
    """A network that fitted the error of Gauss(8): u = y + ∫₀¹ u/2 with a jump, 2 % off, and the training's own loss was 0."""
    t, w = np.polynomial.legendre.leggauss(8)
    seen = float(np.sum(w / 2 * ((t + 1) / 2 > 0.4)))
    jump = fr.Equation(
        UNIT, lambda u, x: u(x), fr.Integral(UNIT, lambda u, x, t: u(t) / 2), lambda x: jnp.where(x[0] > 0.4, 1.0, 0.0) - seen / 2
    )
    coarse, fine = (examined(jump, lambda x: jnp.where(x[0] > 0.4, 1.0, 0.0), fr.Standard(), fr.Gauss(n)) for n in (8, 64))
    assert [symptom.about for symptom in coarse.symptoms] == ["nodes"], coarse
    assert coarse.changes == {"rule": fr.Even(16, fr.Shift())}
    assert "nodes" not in fine


def test_a_form_with_a_kink_does_not_solve_an_equation_with_second_derivatives():
    """u = |x| has the residual 0 in uₜ = uₓₓ/2, and a true loss that ranked it before a right one: JAX's |x|'' is 0 everywhere."""
    heat = fr.Equation(fr.Box((-1.0, 0.0), (1.0, 1.0)), lambda u, p: fr.derivative(u, p, axis=1) - fr.derivative(u, p, axis=0, order=2) / 2)
    first_order = fr.Equation(fr.Box((-1.0, 0.0), (1.0, 1.0)), lambda u, p: fr.derivative(u, p, axis=1) - fr.derivative(u, p, axis=0))

    def field(start):
        return fresh_field(heat, fr.Constrained(MLP(4, 1, "tanh"), lambda n, p: start(p[0]) + p[1] * n(p)))

    def smooth(s):
        return jax.nn.softplus(20.0 * s) / 10.0 - s

    assert "u has kinks along x[0], " in kinks(heat, field(jnp.abs))
    assert "softplus" in kinks(heat, field(jnp.abs))
    assert kinks(heat, field(smooth)) == ""
    assert kinks(first_order, field(jnp.abs)) == "", "no second derivative, so nothing is left out"
    found = quality(heat, Field(Formed(field(jnp.abs), lambda n, p: jnp.abs(p[0])), {}, 2, 1))
    assert found.residual < 1e-6
    assert "second derivative" in found.kinks, "print says so, and that the residual means nothing"


def test_what_was_not_tested_is_named():
    data = fr.Data(np.linspace(0, 1, 9), np.linspace(0, 1, 9))
    equation = fr.Equation(UNIT, lambda u, x: u(x), y=lambda x: x[0], conditions=data)
    found = examined(equation, lambda x: x[0], fr.Standard(), records=3)
    assert found.ok
    assert found.untested == (
        "the course of the training, which has fewer than 10 records",
        "the fit of the data, whose noise is not known",
    )
    assert "nothing is wrong" not in str(found)


def test_seeds_that_went_wrong_are_named_though_the_first_is_right():
    equation = fr.Equation(UNIT, lambda u, x: u(x), y=lambda x: x[0])
    right, wrong = (Field(fr.MLP(2, 1).build(1, 1, jax.random.key(k)), {}, 1, 1) for k in (0, 1))
    right = eqx.tree_at(lambda u: u.network.layers[-1][1], right, jnp.zeros(1))
    line = fr.Equation(UNIT, lambda u, x: u(x), y=lambda x, right=right: right(x))
    history = xr.Dataset({"loss": (("seed", "step"), np.ones((2, 20)))}, coords={"seed": [0, 3], "step": np.arange(20) * 100})
    first, other = (Trained(line, u, u, u, (), 32, 2000, None) for u in (right, wrong))
    found = diagnose("a run", history, fr.Standard(), first, others={3: other})
    assert [symptom.about for symptom in found.symptoms] == ["seeds"], found
    assert "seed 3" in str(found)
    assert equation is not None


def renewal(end=10.0):
    """m(t) = 1 − e^{−t}(1 + t) + ∫₀ᵗ m(t − s) s e^{−s} ds; m = t/2 − (1 − e^{−2t})/4."""
    return fr.Equation(
        domain=fr.Interval(0.0, end),
        f=lambda u, x: u(x),
        integrals=fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: u(t) * (x - t)[0] * jnp.exp(-(x - t)[0])),
        y=lambda x: 1 - jnp.exp(-x[0]) * (1 + x[0]),
        exact=lambda x: x[0] / 2 - (1 - jnp.exp(-2 * x[0])) / 4,
    )


def test_a_stuck_training_is_not_called_noise_or_a_network_that_cannot_represent_u():
    """A network whose units are all saturated has small gradients, enough parameters, and a solution that polynomials have."""
    problem = renewal()
    network = MLP(16, 2, "tanh").build(1, 1, jax.random.key(0))
    saturated = eqx.tree_at(lambda n: n.layers[0], network, tuple(300 * part + 30 for part in network.layers[0]))
    found = examined(problem, Field(saturated, {}, 1, 1), fr.DelayedTarget(), fr.MonteCarlo(1))
    assert [symptom.about for symptom in found.symptoms] == ["stuck"], found
    assert "polynomials of degree" in str(found)


def test_limits_that_are_reversed_near_an_edge_are_seen():
    problem = fr.Equation(UNIT, lambda u, x: u(x), fr.Integral(lambda x: fr.Interval(0.02, x[0] + 0.0199), lambda u, x, t: u(t)))
    assert "Swap the limits" in str(fr.check(problem))


def test_a_form_that_rescales_its_input_leaves_nothing_free():
    problem = fr.Equation(
        domain=fr.Interval(0.0, 1e4),
        f=lambda u, x: 1e4 * fr.derivative(u, x),
        integrals=fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: 1e-4 * u(t)),
        y=lambda x: x[0] / 1e4,
    )
    scaled = fr.Constrained(fr.MLP(8, 1, "tanh"), lambda n, x: 1.0 + x[0] / 1e4 * n(x / 1e4))
    assert "uniqueness" not in fr.check(problem, network=scaled)
    assert "uniqueness" in fr.check(problem)


def test_a_learned_scalar_that_depends_on_the_weight_of_its_data_is_named():
    """u' = −κ u with κ = 0.5: the spread over seeds says nothing of either fault."""
    x = np.linspace(0.0, 2.0, 21)

    def found(kappa, noise):
        data = fr.Data(x, np.exp(-0.5 * x) + noise * np.cos(7 * x))
        decay = fr.Equation(
            fr.Interval(0.0, 2.0),
            lambda u, x: fr.derivative(u, x) + u.kappa * u(x),
            conditions=[fr.Condition(fr.Point(0.0), 1.0), data],
            unknowns={"kappa": 1.0},
        )
        u = Field(Known(lambda x: jnp.exp(-kappa * x[0])), {"kappa": jnp.asarray(kappa)}, 1, 1)
        return moved_by_weight(decay, u)[0]

    right, early, noisy = found(0.5, 0.0), found(0.45, 0.0), found(0.5, 0.5)
    assert right.level == "ok", right
    assert "kappa is 0.45; polynomials that are solved for have 0.5," in early.text, early
    assert "the training has not reached it" in early.text
    assert "it moves with the weight" in noisy.text, noisy
