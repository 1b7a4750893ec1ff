"""A new method is one class: it is trained, counted, diagnosed, saved and named on the command line, and no other file knows of it."""

import logging
import sys

import jax.numpy as jnp
import pytest

import fredholm as fr
from fredholm.__main__ import main
from fredholm.cli.kinds import METHOD
from fredholm.cli.names import METHODS
from fredholm.common.findings import Finding
from fredholm.equation.estimate import draw_pairs, estimated
from fredholm.methods import AbstractMethod
from fredholm.methods.history import late
from fredholm.methods.protocol import Rows
from fredholm.report.page import results
from fredholm.storage import serialisation
from test_evaluations import MOVING, assert_counted, equation

TINY = {"network": fr.MLP(4, 1, "tanh"), "batch": 8, "seeds": 2, "progress": False}


class Huber(AbstractMethod[None]):
    r"""Huber's loss of the mean of two residuals: the square of small ones, and the size of large ones,

    $$\nabla L(x) = 2\,\partial r(x)\,\max(-c, \min(c, r(x))).$$
    """

    cap: float = 1.0  # c, beyond which a residual pulls no harder

    def rows(self, u, state, residual, rules, x, key):
        first, second = draw_pairs(residual, rules, rules, x, key)
        r = (estimated(residual, u, x, first) + estimated(residual, u, x, second)) / 2
        return {"residual": Rows(r, jnp.clip(r, -self.cap, self.cap))}

    def draws(self, equation, rules):
        return [[(rule, 2)] for rule in rules]

    def symptoms(self, history, steps, trained=None):
        if not late(history, "loss") > self.cap**2:
            return []
        text = f"most residuals are beyond the cap of {self.cap:g}: the loss is their size, not their square. Use a larger cap."
        return [Finding("warning", "capped", text, {"method": Huber(10 * self.cap)})]


@pytest.fixture
def registered(monkeypatch):
    """The class among those that a text may name, as it would be from a file of `methods`."""
    assert METHOD.options, "made on first use; here it is made again with the new class, and afterwards it is the old one"
    monkeypatch.setattr(serialisation, "SPECS", {**serialisation.SPECS, "Huber": Huber})
    monkeypatch.setitem(METHODS, "huber", Huber)
    monkeypatch.delitem(vars(METHOD), "options")


def test_it_trains_and_a_large_cap_is_the_square():
    """Where no residual reaches the cap the loss is the standard one, here with nodes that are not random."""
    keywords = {**TINY, "rule": fr.Gauss(4), "steps": 20}
    huber, standard = (fr.solve(fr.problems.Volterra(), method, **keywords) for method in (Huber(1e6), fr.Standard()))
    assert huber.history["loss"].values == pytest.approx(standard.history["loss"].values, rel=1e-3)
    capped = fr.solve(fr.problems.Volterra(), Huber(0.1), **keywords)
    assert (capped.history["loss"].values[:, 0] < 0.8 * standard.history["loss"].values[:, 0]).all()


def test_its_evaluations_are_counted(key, registered):
    assert assert_counted(Huber(), equation(MOVING, "with f"), fr.MonteCarlo(4), key, batch=3) == 2 * 4 * 3
    solution = fr.solve(fr.problems.Volterra(), Huber(), rule=fr.MonteCarlo(4), steps=2, **TINY)
    assert results({"huber": solution})[0].points == 2 * 4 * 8


def test_its_own_symptom_is_said_while_it_trains_and_in_a_diagnosis(caplog, monkeypatch, registered):
    monkeypatch.setattr(sys.modules["fredholm.diagnostics.diagnosis"], "undetermined", lambda *parts: None)
    monkeypatch.setattr(sys.modules["fredholm.diagnostics.diagnosis"], "heavy_tails", lambda *parts: [])
    with caplog.at_level(logging.WARNING, "fredholm"):
        solution = fr.solve(fr.problems.Volterra(), Huber(1e-4), rule=fr.MonteCarlo(1), steps=200, **TINY)
    assert "capped: most residuals are beyond the cap of 0.0001" in caplog.text
    report = solution.diagnose()
    assert "capped" in report
    assert report.changes == {"method": Huber(1e-3)}


def test_the_command_line_lists_it_and_takes_it(registered, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fredholm.cli.output.write_pages", lambda solutions, folder: folder / "report.html")
    assert main(["list"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "huber Huber's loss of the mean of two residuals" in shown
    assert "--cap: c, beyond which a residual pulls no harder (default: 1.0)" in shown
    size = ["--width", "4", "--depth", "1", "--batch", "8", "--seeds", "1", "--steps", "3"]
    assert main(["solve", "volterra", "--method", "huber", "--cap", "0.5", *size, "--out", "run"]) == 0
    assert fr.load("run").record.settings.part("method") == Huber(0.5)


def test_before_it_is_registered_it_is_the_users_own(tmp_path):
    """Trained all the same; a folder cannot rebuild it, and says so."""
    assert main(["solve", "volterra", "--method", "huber"]) != 0
    fr.solve(fr.problems.Volterra(), Huber(), steps=2, out=tmp_path / "run", **TINY)
    with pytest.raises(ValueError, match=r"resume\(path, method=\.\.\.\)"):
        fr.resume(tmp_path / "run", steps=4)
    assert fr.resume(tmp_path / "run", steps=4, method=Huber(), progress=False).steps == 4
