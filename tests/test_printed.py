"""A solution says how good it is, and never that it succeeded where it does not solve the equation."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.diagnostics.quality import LARGE

pytestmark = pytest.mark.quality
UNIT = fr.Interval(0.0, 1.0)
TINY = {"rule": fr.Gauss(4), "network": fr.MLP(8, 1, "tanh"), "batch": 16, "seeds": 2, "progress": False}


def grown(**changes):
    """u(x) = ∫₀¹ u(t)/2 dt + x without a known solution, and a condition that it meets."""
    parts = {"f": lambda u, x: u(x), "integrals": fr.Integral(UNIT, lambda u, x, t: u(t) / 2), "y": lambda x: x[0]}
    return fr.Equation(domain=UNIT, **{**parts, "conditions": [fr.Condition(fr.Point(0.0), 0.5)], **changes})


def said(solution, heading):
    return next((line[10:] for line in repr(solution).splitlines() if line.startswith(heading)), None)


def test_an_untrained_network_is_not_called_a_success():
    solution = fr.solve(grown(), fr.Standard(), steps=1, **TINY)
    assert min(one.residual for one in solution.quality()) > LARGE
    assert "0 of 2 seeds succeeded, 2 trained to a residual above 5 %" in said(solution, "status")
    assert "u DOES NOT SOLVE THE EQUATION" in said(solution, "WARNING")
    assert solution.good.all(), "the numbers were finite"


def test_a_good_one_says_how_good_in_one_line(tmp_path):
    solution = fr.solve(grown(), fr.Standard(), steps=1500, optimizer=fr.Muon(), **TINY)
    line = said(solution, "residual")
    found = re.fullmatch(r"([\d.]+) % of the equation's terms, worst of 2 seeds; conditions off by \S+( %)?", line)
    assert found, line
    assert float(found[1]) == pytest.approx(100 * max(one.residual for one in solution.quality()), rel=0.06)
    assert said(solution, "WARNING") is None
    assert "2 of 2 seeds succeeded" in said(solution, "status")
    assert said(solution, "error") is None
    solution.save(tmp_path / "run")
    assert said(fr.load(tmp_path / "run"), "residual").startswith("not known: this run's problem was made in Python")
    assert said(fr.load(tmp_path / "run", problem=grown()), "residual") == line


def test_a_condition_that_does_not_hold_is_said_loudly():
    solution = fr.solve(grown(conditions=[fr.Condition(fr.Point(0.0), 3.0, weight=0.0)]), fr.Standard(), steps=300, **TINY)
    assert "DOES NOT MEET ITS CONDITIONS" in repr(solution)
    assert "0 of 2 seeds succeeded" in said(solution, "status")


def test_the_spread_over_seeds_is_never_an_interval_of_the_truth():
    points = np.linspace(0, 1, 8)
    problem = fr.Equation(
        UNIT, lambda u, x: fr.derivative(u, x) + u.k * u(x), conditions=[fr.Data(points, np.exp(-points))], unknowns={"k": 0.5}
    )
    text = said(fr.solve(problem, fr.Standard(), steps=3, **TINY), "k ")
    assert re.fullmatch(r"\S+; spread over 2 seeds \[\S+, \S+\], which is no interval of the truth", text)


def test_printing_never_fails(monkeypatch):
    solution = fr.solve(grown(), fr.Standard(), steps=1, **TINY)
    broken = grown(f=lambda u, x: u(x) + [].pop())
    monkeypatch.setattr(solution, "problem", broken)
    assert "not known: IndexError" in said(solution, "residual")
    assert jnp.isfinite(solution(np.zeros(1))).all()
