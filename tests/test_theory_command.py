"""`fredholm theory`: tables, figures, and wrong input; and the page holds what the tables say."""

import functools
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from fredholm.__main__ import main
from fredholm.cli.theory import read_problem
from fredholm.paper import theory
from fredholm.paper.theory import tables, worked

PAGE = Path(__file__).parents[1] / "docs" / "theory.md"


@functools.cache
def small_maps():
    return worked.stability_maps(theory.poisson(), cells=3, tried=1, steps=50)


@pytest.fixture
def small(monkeypatch):
    """Small maps and few problems: what they hold has tests of its own."""
    monkeypatch.setattr("fredholm.cli.theory.stability_maps", lambda problem: small_maps())
    monkeypatch.setattr("fredholm.cli.theory.census", lambda: theory.census(40))


@pytest.mark.usefixtures("small")
def test_the_command_prints_the_worked_example_and_draws_every_figure(tmp_path, capsys):
    assert main(["theory", "--points", "12", "--features", "3", "--steps", "200", "--runs", "4", "--out", str(tmp_path / "new")]) == 0
    shown = capsys.readouterr().out
    for name in ("σ of P|Λ", "standard, N=1", "predicted", "mean square stable", "paper  σ = max |zᵀMz|", "of them beyond 1/(1−σ)"):
        assert name in shown
    drawn = {path.name for path in (tmp_path / "new").iterdir()}
    assert drawn == {"limits.png", "convergence.png", "effort.png", "stability.png", "bounds.png"}
    assert all(path.stat().st_size > 10_000 for path in (tmp_path / "new").iterdir())


@pytest.mark.usefixtures("small")
def test_an_unstable_example_is_said_to_be_so_and_not_iterated(tmp_path, capsys):
    assert main(["theory", "--points", "12", "--features", "3", "--discount", "1.5", "--steps", "100", "--out", str(tmp_path / "new")]) == 0
    captured = capsys.readouterr()
    assert "≥ 1: the paper's theorem does not apply" in captured.err
    assert "No iterations. The iteration is unstable" in captured.out
    assert not (tmp_path / "new" / "convergence.png").exists()


def test_wrong_input_is_one_line_and_leaves_nothing_behind(tmp_path, capsys):
    assert main(["theory", "--features", "40", "--out", str(tmp_path / "new")]) == 2
    assert "rank(Φ) = d" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_linear_problem_of_ones_own_is_read_from_a_file(tmp_path, capsys):
    text = re.search(r"```yaml\n(features:.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL).group(1)
    mine = tmp_path / "mine.yaml"
    mine.write_text(text, encoding="utf-8")
    assert main(["theory", str(mine), "--steps", "200", "--runs", "4"]) == 0
    shown = capsys.readouterr().out
    assert "3 points, 2 features" in shown
    assert "standard, N=1" in shown
    assert "predicted" in shown
    arrays = tmp_path / "mine.npz"
    np.savez(arrays, **{name: np.array(value) for name, value in yaml.safe_load(text).items()})
    np.testing.assert_allclose(read_problem(arrays).labels, [1.0, 0.0, -1.0])
    wrong = {text.partition("labels")[0]: "got no labels", f"featuress: 1\n{text}": "Did you mean 'features'", "- 1": "got no named arrays"}
    for content, words in wrong.items():
        mine.write_text(content, encoding="utf-8")
        assert main(["theory", str(mine)]) == 2
        assert words in capsys.readouterr().err
    assert main(["theory", str(tmp_path / "nothing.yaml")]) == 2


def test_the_page_holds_the_numbers_of_the_code():
    text = PAGE.read_text(encoding="utf-8")
    shown = {
        name: body.replace("\\|", "|").replace("\\*", "*")
        for name, body in re.findall(r"<!-- (\w+) -->\n(.*?)\n<!-- end of", text, flags=re.DOTALL)
    }
    problem = theory.ring()
    made = {
        "limits": tables.limits_table(worked.limits(problem)),
        "assessment": tables.assessment_table(theory.assess(problem)),
        "findings": tables.findings_table(theory.findings()),
        "split": tables.split_table(theory.poisson()),
    }
    for name, table in made.items():
        for row in table.rows:
            assert " | ".join(row) in shown[name]
