"""Each failure is provoked, read, and cured by its own remedy."""

import functools
import logging
import sys

import jax.numpy as jnp
import optax
import pytest

import fredholm as fr
from fredholm.diagnostics.certificate import Certificate

UNIT = fr.Interval(0.0, 1.0)


def second_kind(rate=3.0, noise=0.0):
    """u(x) = ½ ∫₀¹ u + sin(rate x); the noise is a part of the integrand whose integral is zero."""
    return fr.Equation(
        domain=UNIT,
        f=lambda u, x: u(x),
        integrals=fr.Integral(UNIT, lambda u, x, t: 0.5 * u(t) + noise * jnp.cos(2 * jnp.pi * t[0])),
        y=lambda x: jnp.sin(rate * x[0]),
    )


def first_kind():
    """∫₀ˣ u = sin x, a weak form."""
    return fr.Equation(
        domain=fr.Interval(0.1, 1.5),
        integrals=fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: u(t)),
        y=lambda x: jnp.sin(x[0]),
    )


USUAL = {
    "method": fr.DelayedTarget(),
    "rule": fr.MonteCarlo(1),
    "network": fr.MLP(16, 2, "tanh"),
    "optimizer": fr.Adam(3e-3, fr.Cosine()),
    "steps": 1500,
    "batch": 32,
    "seeds": 1,
    "average": 0.0,
    "record_every": 50,
    "progress": False,
    "throw": False,
}
PROBLEMS = {"second kind": second_kind(), "wavy": second_kind(8.0), "noisy": second_kind(noise=3.0), "first kind": first_kind()}
# The failure, what provokes it, and by which factor the remedy must lower the true loss.
FAILURES = {
    "bias": ("second kind", {"method": fr.Standard()}, 3),
    "drift": ("first kind", {"method": fr.DelayedTarget(tau=0.99, regularization=0.0, split=100.0), "optimizer": fr.Adam(1e-2)}, 10),
    "lag": ("second kind", {"method": fr.DelayedTarget(tau=0.9999, regularization=1.0)}, 10),
    "noise": ("noisy", {"method": fr.DoubleSampling(), "rule": fr.MonteCarlo(2), "batch": 1, "optimizer": fr.Adam(1e-2)}, 10),
    "capacity": ("wavy", {"network": fr.MLP(1, 1, "tanh"), "steps": 600, "record_every": 20}, 10),
    "optimiser": ("second kind", {"optimizer": fr.Adam(1e-6)}, 10),
    "dead units": ("second kind", {"network": fr.MLP(16, 2, "relu"), "optimizer": fr.Adam(3.0)}, 10),
}


@pytest.fixture(autouse=True)
def cheap(request, monkeypatch):
    """The questions of uniqueness, variance and contraction take seconds, and have tests of their own."""
    if "probing" not in request.keywords:
        monkeypatch.setattr(sys.modules["fredholm.diagnostics.diagnosis"], "undetermined", lambda *parts: None)
        monkeypatch.setattr(sys.modules["fredholm.diagnostics.diagnosis"], "heavy_tails", lambda *parts: [])
        monkeypatch.setattr(sys.modules["fredholm.diagnostics.certificate"], "_stretched", lambda equation: (None, "not asked"))


@pytest.fixture
def equation_only(monkeypatch):
    """The equation itself is asked, by `diagnose` alone: not by `solve`, and how well it is solved does not matter."""

    def none(equations, fields):
        return [Certificate(0.0, 0.0, 0.0)] * len(fields)

    monkeypatch.setattr(sys.modules["fredholm.api"], "warn_if_ill_posed", lambda setup: None)
    monkeypatch.setattr(sys.modules["fredholm.diagnostics.diagnosis"], "certificates", none)


@functools.cache
def diagnosed(problem, settings):
    """A run and what is found wrong with it; some remedies lead to the same run."""
    return fr.solve(PROBLEMS[problem], **dict(settings)).diagnose()


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_named_and_its_remedy_cures_it(name):
    problem, provoked, factor = FAILURES[name]
    failed = diagnosed(problem, tuple({**USUAL, **provoked}.items()))
    assert [symptom.about for symptom in failed.symptoms] == [name], str(failed)
    assert name in str(failed)
    cured = diagnosed(problem, tuple({**USUAL, **provoked, **failed.remedy}.items()))
    assert name not in cured, str(cured)
    assert cured.certificate.loss < failed.certificate.loss / factor, f"{failed}\n{cured}"


@pytest.mark.probing
def test_a_missing_condition_is_named_and_giving_it_cures(equation_only, monkeypatch):
    monkeypatch.setattr(sys.modules["fredholm.diagnostics.diagnosis"], "heavy_tails", lambda *parts: [])
    flux = {
        "domain": fr.Law(center=UNIT, radius=fr.Interval(0.1, 0.5)),
        "integrals": fr.Integral(lambda x: fr.Interval(x.center - x.radius, x.center + x.radius), lambda u, x, t: fr.derivative(u, t)),
        "y": lambda x: 2 * x.radius,
        "inputs": 1,
        "evaluation": fr.Evaluation(at=UNIT),
    }
    keywords = {**USUAL, "steps": 3, "batch": 4, "record_every": 1}
    meant = fr.Evaluation(at=UNIT, score="mse_mean_free")  # as Poisson's problem has it
    open_ended = fr.solve(fr.Equation(**{**flux, "evaluation": meant}), **keywords).diagnose()
    assert "uniqueness" in open_ended
    assert "a constant can be added" in str(open_ended)
    assert "Only a part of this is intended (the score mse_mean_free leaves out a constant)" in str(open_ended)
    closed = fr.solve(fr.Equation(**flux, conditions=fr.Condition(fr.Point(0.0), 0.0)), **keywords).diagnose()
    assert "uniqueness" not in closed


@pytest.mark.probing
def test_an_infinite_variance_is_named_and_a_form_that_falls_off_cures(equation_only, monkeypatch):
    monkeypatch.setattr(sys.modules["fredholm.diagnostics.diagnosis"], "undetermined", lambda *parts: None)
    tail = fr.Integral(lambda x: fr.HalfLine(x[0]), lambda u, x, t: u(t))
    decay = fr.Equation(domain=fr.Exponential(), f=lambda u, x: u(x), integrals=tail)
    keywords = {**USUAL, "steps": 3, "batch": 4, "record_every": 1}
    failed = fr.solve(decay, **keywords).diagnose()
    assert "variance" in failed
    assert "integral 1: a random node has infinite variance" in str(failed)
    falling = fr.Constrained(fr.MLP(4, 1, "tanh"), lambda n, x: jnp.exp(-x[0]) * n(x))
    assert "variance" not in fr.solve(decay, **{**keywords, "network": falling}).diagnose()
    assert "variance" not in fr.solve(decay, **{**keywords, "method": fr.Standard(), "rule": fr.Gauss(4)}).diagnose(), "no noise"


def test_seeds_that_diverge_are_told_the_pull_that_would_have_held_them():
    """Under plain gradient descent a target that nothing holds runs away exponentially."""
    provoked = {"method": fr.DelayedTarget(tau=0.5, regularization=0.0), "optimizer": optax.sgd(0.5), "steps": 400}
    runaway = fr.Equation(
        domain=UNIT, f=lambda u, x: u(x), integrals=fr.Integral(UNIT, lambda u, x, t: -6.0 * u(t)), y=lambda x: 1.0 + 0 * x[0]
    )
    failed = fr.solve(runaway, **{**USUAL, **provoked}).diagnose()
    assert failed.symptoms[0].about == "failed"
    assert "λ = 0 is too weak" in failed.symptoms[0].text
    assert failed.remedy["method"] == fr.DelayedTarget()
    adaptive = fr.solve(runaway, **{**USUAL, **provoked, **failed.remedy}).diagnose()
    assert "failed" not in adaptive, str(adaptive)


@pytest.mark.probing
def test_what_is_free_does_not_hide_what_is_wrong(monkeypatch):
    monkeypatch.setattr(sys.modules["fredholm.diagnostics.diagnosis"], "undetermined", lambda *parts: "a constant can be added")
    monkeypatch.setattr(sys.modules["fredholm.diagnostics.diagnosis"], "describe_undetermined", str)
    found = fr.solve(PROBLEMS["second kind"], **{**USUAL, **FAILURES["optimiser"][1], "steps": 400}).diagnose()
    assert [symptom.about for symptom in found.symptoms] == ["uniqueness", "optimiser"]


def test_a_condition_that_does_not_hold_is_named_though_the_equation_does():
    start = {"at": fr.Point(0.0), "value": 2.0}
    found = {}
    for weight in (0.0, 1.0):
        growth = fr.Equation(domain=UNIT, f=lambda u, x: fr.derivative(u, x), y=1.0, conditions=fr.Condition(**start, weight=weight))
        found[weight] = fr.solve(growth, **{**USUAL, "method": fr.Standard()}).diagnose()
    assert [symptom.about for symptom in found[0.0].symptoms] == ["conditions"], str(found[0.0])
    assert "Condition(..., weight=1)" in str(found[0.0])
    assert found[1.0].ok, str(found[1.0])


def test_a_remedy_is_never_what_the_run_had():
    short = {"steps": 60, "record_every": 10, "method": fr.Standard(), "rule": fr.Gauss(16), "batch": 2048}
    found = fr.solve(PROBLEMS["wavy"], **{**USUAL, **short}).diagnose()
    assert "optimiser" in found, str(found)
    assert found.changes == {"steps": 240}
    assert found.remedy["rule"] == fr.Gauss(16), "a remedy is complete: what was chosen stays"
    assert found.remedy["batch"] == 2048
    form = fr.Constrained(fr.MLP(1, 1, "tanh"), lambda n, x: jnp.sin(x[0]) + n(x))
    small = fr.solve(PROBLEMS["wavy"], **{**USUAL, "network": form, "steps": 600, "record_every": 20}).diagnose()
    assert isinstance(small.remedy["network"], fr.Constrained)
    assert small.remedy["network"].form is form.form


def test_a_diagnosis_that_fails_does_not_end_the_training(caplog, monkeypatch):
    class Own(fr.MonteCarlo):
        """A rule of the user's, which no folder can hold."""

    monkeypatch.setattr(sys.modules["fredholm.diagnostics.warnings"], "LONG", 0.0)
    settings = {**USUAL, "rule": Own(1), "steps": 100, "record_every": 20}
    with caplog.at_level(logging.WARNING, logger="fredholm"):
        solution = fr.solve(PROBLEMS["second kind"], **settings)
        assert not [record for record in caplog.records if "could not be diagnosed" in record.getMessage()], "it knows its own rule"
        monkeypatch.setattr(sys.modules["fredholm.diagnostics.warnings"], "diagnose", lambda *parts: 1 / 0)
        fr.solve(PROBLEMS["second kind"], **settings)
    assert any("could not be diagnosed and goes on: division by zero" in record.getMessage() for record in caplog.records)
    with pytest.raises(ValueError, match=r"Give diagnose\(rule="):
        solution.diagnose()


def test_a_training_warns_once_in_one_line(caplog):
    with caplog.at_level(logging.WARNING, logger="fredholm"):
        fr.solve(PROBLEMS["second kind"], **{**USUAL, **FAILURES["lag"][1], "steps": 400, "record_every": 20})
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1
    assert lines[0].startswith("step 200, lag: the target lags")
    assert "\n" not in lines[0]


def test_at_half_of_a_long_training_the_network_itself_is_examined(caplog, monkeypatch):
    monkeypatch.setattr(sys.modules["fredholm.diagnostics.warnings"], "LONG", 0.0)
    with caplog.at_level(logging.WARNING, logger="fredholm"):
        fr.solve(PROBLEMS["second kind"], **{**USUAL, **FAILURES["dead units"][1], "steps": 400, "record_every": 20})
    lines = [record.getMessage() for record in caplog.records]
    # A rate of 3 also makes the network outrun its target, which the history shows by itself.
    assert sorted(line.partition(": ")[0] for line in lines) == ["step 200, dead units", "step 200, drift"]
    assert not any("\n" in line for line in lines)


def test_a_run_that_is_well_is_said_to_be_well_also_by_the_command(tmp_path, capsys):
    from fredholm.__main__ import main

    solution = fr.solve(fr.problems.FredholmSecondKind(), fr.Standard(), rule=fr.Gauss(8), steps=400, batch=32, seeds=1, progress=False)
    solution.save(tmp_path / "run")
    assert main(["diagnose", str(tmp_path / "run")]) == 0, capsys.readouterr().out
    assert "nothing is wrong" in capsys.readouterr().out
