"""A new file of each kind passes the check and runs as it is."""

import runpy

import pytest

import fredholm as fr
from fredholm.__main__ import main
from fredholm.cli.new import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_problem_runs_as_it_is(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "mine.py", "--kind", kind]) == 0
    assert "fredholm check mine.py:problem" in capsys.readouterr().out
    problem = runpy.run_path("mine.py")["problem"]
    report = fr.check(problem)
    assert report.ok, report
    settings = {"rule": fr.MonteCarlo(2), "network": fr.MLP(4, 1), "steps": 3, "batch": 4, "seeds": 1, "progress": False, "throw": False}
    assert fr.solve(problem, fr.DelayedTarget(), **settings).steps == 3


def test_nothing_is_written_over(tmp_path, capsys):
    mine = tmp_path / "mine.py"
    mine.write_text("# mine")
    for arguments, words in (
        ([str(mine)], "exists"),
        ([str(tmp_path / "mine")], "Python file"),
        ([str(tmp_path / "no" / "mine.py")], "not a folder"),
        ([str(tmp_path / "other.py"), "--kind", "weka"], "Did you mean 'weak'"),
    ):
        assert main(["new", *arguments]) == 2
        assert words in capsys.readouterr().err
    assert mine.read_text() == "# mine"
