"""Run folders that were made before settings were text: they load, predict, score and are shown, and nothing in them is executed."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import fredholm as fr
from fredholm.__main__ import main
from fredholm.study import StudyFolder, outcomes

FOLDER = Path(__file__).parent / "data" / "old_runs"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_a_run_of_format_1_predicts_as_it_did(name):
    given = {"network": fr.Constrained(fr.MLP(4, 1, "tanh"), lambda n, x: x[0] * n(x))} if name == "own" else {}
    loaded, expected = fr.load(FOLDER / name, **given), EXPECTED[name]
    np.testing.assert_allclose(loaded(expected["points"]), expected["prediction"], rtol=1e-5)
    np.testing.assert_allclose(loaded.target(expected["points"]), expected["target"], rtol=1e-5)
    assert loaded.steps == 12
    assert loaded.history.sizes["step"] == 3
    assert (loaded.problem is None) == (name == "own")
    if loaded.problem is not None:
        assert np.isfinite(loaded.evaluate()["mse"]).all()


def test_what_was_the_users_own_is_asked_for():
    with pytest.raises(ValueError, match="network was your own"):
        fr.load(FOLDER / "own")


def test_a_renamed_class_keeps_its_meaning():
    assert fr.load(FOLDER / "poisson-published").record.settings.part("optimizer") == fr.Adam(1e-2, fr.ConstantRate())


def test_an_old_study_is_opened_and_reported(tmp_path, capsys):
    shutil.copytree(FOLDER / "study", tmp_path / "study")
    folder = StudyFolder.open(tmp_path / "study")
    assert [one.run.settings.part("rule") for one in outcomes(folder).values()] == [fr.MonteCarlo(1), fr.MonteCarlo(2)]
    assert main(["report", str(tmp_path / "study")]) == 0
    assert "An old study" in (tmp_path / "study" / "report.html").read_text()
    shutil.copytree(FOLDER / "maxwell", tmp_path / "maxwell")
    assert main(["report", str(tmp_path / "maxwell")]) == 0
    assert "QuasiMonteCarlo(" in (tmp_path / "maxwell" / "report.html").read_text()
