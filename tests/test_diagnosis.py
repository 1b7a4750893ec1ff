"""Each failure is provoked, read, and cured by its own remedy."""

import logging
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr

UNIT = fr.Interval(0.0, 1.0)


def second_kind(rate=3.0):
    """u(x) = ½ ∫₀¹ u + sin(rate x)."""
    return fr.Equation(
        domain=UNIT, f=lambda u, x: u(x), integrals=fr.Integral(UNIT, lambda u, x, t: 0.5 * u(t)), y=lambda x: jnp.sin(rate * x[0])
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
    "rule": fr.MonteCarlo(2),
    "network": fr.MLP(16, 1, "tanh"),
    "optimizer": fr.Adam(1e-2, fr.Cosine()),
    "steps": 400,
    "batch": 32,
    "seeds": 1,
    "average": 0.0,
    "record_every": 20,
    "progress": False,
    "throw": False,
}
# The failure, what provokes it, and by which factor the remedy must lower the true loss.
FAILURES = {
    "bias": (second_kind(), {"method": fr.Standard(), "rule": fr.MonteCarlo(1)}, 3),
    "drift": (first_kind(), {"method": fr.DelayedTarget(tau=0.999, regularization=0.0, split=100.0)}, 10),
    "lag": (second_kind(), {"method": fr.DelayedTarget(tau=0.9999, regularization=1.0)}, 10),
    "noise": (second_kind(), {"method": fr.DoubleSampling(), "batch": 1, "optimizer": fr.Adam(3e-2)}, 3),
    "capacity": (second_kind(12.0), {"network": fr.MLP(1, 1, "tanh"), "optimizer": fr.Adam(3e-3, fr.Cosine())}, 10),
    "optimiser": (second_kind(), {"optimizer": fr.Adam(1e-6)}, 10),
    "dead units": (second_kind(), {"network": fr.MLP(16, 2, "relu"), "optimizer": fr.Adam(3.0)}, 10),
}


@pytest.fixture(autouse=True)
def unique(request, monkeypatch):
    """The question of uniqueness takes seconds, and has a test of its own."""
    if "probing" not in request.keywords:
        monkeypatch.setattr(sys.modules["fredholm.inspection.diagnosis"], "undetermined", lambda *parts: None)


def true_loss(solution):
    return float(solution.evaluate(certificate=True)["true_loss"][0])


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_named_and_its_remedy_cures_it(name):
    problem, provoked, factor = FAILURES[name]
    failed = fr.solve(problem, **{**USUAL, **provoked})
    diagnosis = failed.diagnose()
    assert [symptom.name for symptom in diagnosis.symptoms] == [name], str(diagnosis)
    assert name in str(diagnosis)
    cured = fr.solve(problem, **{**USUAL, **provoked, **diagnosis.remedy})
    after = cured.diagnose()
    assert name not in after, str(after)
    assert true_loss(cured) < true_loss(failed) / factor, f"{true_loss(failed):.1e} became {true_loss(cured):.1e}"


@pytest.mark.probing
def test_a_missing_condition_is_named_and_giving_it_cures():
    flux = {
        "domain": fr.Law(center=UNIT, radius=fr.Interval(0.1, 0.5)),
        "integrals": fr.Integral(lambda x: fr.Interval(x.center - x.radius, x.center + x.radius), lambda u, x, t: fr.derivative(u, t)),
        "y": lambda x: 2 * x.radius,
        "inputs": 1,
        "evaluation": fr.Evaluation(at=UNIT),
    }
    keywords = {**USUAL, "steps": 3, "batch": 4, "record_every": 1}
    open_ended = fr.solve(fr.Equation(**flux), **keywords).diagnose()
    assert "uniqueness" in open_ended
    assert "a constant can be added" in str(open_ended)
    closed = fr.solve(fr.Equation(**flux, conditions=fr.Condition(fr.Point(0.0), 0.0)), **keywords).diagnose()
    assert "uniqueness" not in closed


def test_a_training_warns_once_in_one_line(caplog):
    problem, provoked, _ = FAILURES["bias"]
    with caplog.at_level(logging.WARNING, logger="fredholm"):
        fr.solve(problem, **{**USUAL, **provoked})
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1
    assert "bias" in lines[0]
    assert "\n" not in lines[0]


def test_a_run_that_is_well_is_said_to_be_well(tmp_path, capsys):
    from fredholm.cli import main

    solution = fr.solve(fr.problems.FredholmSecondKind(), **{**USUAL, "method": fr.Standard(), "rule": fr.Gauss(8)})
    diagnosis = solution.diagnose()
    assert diagnosis.ok, str(diagnosis)
    assert "error is at most" in str(diagnosis)
    assert float(np.sqrt(solution.evaluate()["mse"][0])) < solution.evaluate(certificate=True)["error_bound"][0]
    solution.save(tmp_path / "run")
    assert main(["diagnose", str(tmp_path / "run")]) == 0
    assert "nothing is wrong" in capsys.readouterr().out
    assert jax.numpy.ones(()).dtype == np.float32
