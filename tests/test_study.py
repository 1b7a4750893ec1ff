"""Studies: the hash of a run, one row for each run, seed and record, matched pairs, and nothing run twice or lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pandas
import pytest
import xarray as xr

import fredholm as fr
from commands import FILE
from fredholm.__main__ import main
from fredholm.cli.parser import read_study
from fredholm.report.page import how_to_go_on
from fredholm.storage.run_folder import RunFolder
from fredholm.study import Outcome, StudyFolder, grid, make_run, one_at_a_time, outcomes, paired, run_study, work
from fredholm.study.estimate import estimates
from fredholm.study.progress import Total
from fredholm.study.tables import pairs, summary, tidy
from fredholm.study.work import pack, perform, unpack
from fredholm.training.record import RecordedSettings
from fredholm.training.status import SeedStatus, Status

PROBLEM = fr.problems.Volterra()
TINY = {"network": fr.MLP(4, 1, scaled=False), "steps": 30, "batch": 8, "seeds": 2, "average": 0.0, "optimizer": fr.Adam()}


def tiny(name: str, method=fr.DelayedTarget(), **changes):  # noqa: B008 - a frozen value
    return make_run(name, PROBLEM, method, **{**TINY, **changes})


GOOD = tiny("delayed", rule=fr.MonteCarlo(1))
OTHER = tiny("standard", fr.Standard(), rule=fr.MonteCarlo(1))
BAD = tiny("impossible", fr.DoubleSampling(), rule=fr.MonteCarlo(1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = StudyFolder.create(tmp_path_factory.mktemp("study") / "study", "A <study>", [GOOD, OTHER, BAD])
    run_study(made, progress=False)
    return made


def synthetic(run, errors: np.ndarray, **more: np.ndarray) -> Outcome:
    """An outcome with these curves, (seeds, records)."""
    data = {name: (("seed", "step"), values) for name, values in {"error": errors, **more}.items()}
    history = xr.Dataset(data, coords={"seed": list(run.seeds), "step": np.arange(1, errors.shape[1] + 1) * 10})
    return Outcome(run, history, (SeedStatus(Status.FINISHED, 30),) * len(run.seeds), "mse", {}, 1.0)


def test_the_key_is_that_of_the_settings_and_of_nothing_else():
    again = tiny("another name", fr.Standard(), rule=fr.MonteCarlo(1))
    assert again.key == OTHER.key
    shuffled = again._replace(settings=RecordedSettings(dict(reversed(again.settings.values.items()))))
    assert shuffled.key == OTHER.key
    changes = [{"steps": 31}, {"batch": 9}, {"seeds": 3}, {"rule": fr.MonteCarlo(2)}, {"network": fr.MLP(5, 1)}, {"average": 0.5}]
    changes += [{"optimizer": fr.Adam(2e-3)}, {"record_every": 7}, {"precision": "float64"}]
    keys = {tiny("changed", fr.Standard(), **{"rule": fr.MonteCarlo(1), **change}).key for change in changes}
    assert len(keys | {OTHER.key}) == len(changes) + 1


def test_what_other_processes_cannot_rebuild_is_refused():
    with pytest.raises(ValueError, match="run 'own': its network was made in Python"):
        make_run("own", PROBLEM, fr.Standard(), network=lambda inputs, outputs, key: None)
    with pytest.raises(ValueError, match="run 'any': got no method, or Auto"):
        make_run("any", PROBLEM, fr.Auto())


def test_grids_and_sweeps():
    axes = {"width": [1, 2, 3], "depth": [1, 2]}
    assert len({tuple(one.items()) for one in grid(axes)}) == 6
    assert list(one_at_a_time(axes)) == [{"width": 1}, {"width": 2}, {"width": 3}, {"depth": 1}, {"depth": 2}]


def test_one_row_for_each_run_seed_and_record_and_one_for_a_failure(folder):
    table = tidy(folder, outcomes(folder))
    counts = table.groupby("run").size()
    assert counts["delayed"] == counts["standard"] == 2 * 30
    assert counts["impossible"] == 1
    row = table[table["run"] == "impossible"].iloc[0]
    assert row["status"] == "failed"
    assert "at least 2 points" in row["reason"]
    history = RunFolder(folder.place(GOOD)).read_history()
    picked = table[(table["run"] == "delayed") & (table["seed"] == 1) & (table["step"] == 20)]
    assert float(picked["error"].iloc[0]) == float(history["error"].sel(seed=1, step=20))
    assert pandas.read_csv(folder.path / "table.csv").shape == table.shape


def test_the_summary_has_the_intervals_of_the_seeds(folder):
    found = outcomes(folder)
    table = summary(folder, found).set_index("run")
    curve = found["delayed"].windows()
    assert table.loc["delayed", "best"] == pytest.approx(curve[:, curve.mean(axis=0).argmin()].mean())
    assert table.loc["delayed", "best_low"] < table.loc["delayed", "best"] < table.loc["delayed", "best_high"]
    assert "at least 2 points" in table.loc["impossible", "reason"]


def test_what_is_finished_is_not_run_again_and_what_is_missing_is(folder, monkeypatch):
    trained = []

    def solve(**keywords):
        trained.append(keywords["label"])
        raise ValueError("at least 2 points")

    monkeypatch.setattr(work, "solve", solve)
    run_study(folder, progress=False)
    assert trained == ["impossible"]  # a run that failed is tried again
    larger = StudyFolder.create(folder.path, folder.title, [*folder.runs, tiny("wide", network=fr.MLP(5, 1))])
    assert [run.name for run in larger.missing()] == ["impossible", "wide"]


def test_a_window_is_the_mean_of_its_records():
    one = synthetic(GOOD, np.arange(1.0, 91.0)[None] * np.ones((2, 1)))
    windows = one.windows()
    assert windows.shape == (2, 20)
    np.testing.assert_allclose(windows[0, [0, 1, -1]], [2.5, 7.0, 88.0])  # 90 records in twenty windows of four or five
    assert one.best_step() == 40
    np.testing.assert_allclose(one.best(), 2.5)
    few = synthetic(GOOD, np.array([[3.0, 1.0, 2.0], [3.0, 1.0, np.nan]]))
    np.testing.assert_allclose(few.best(), 1.0)
    assert few.best_step() == 20


def test_pairing_cancels_what_the_seeds_share():
    noise = np.exp(np.random.default_rng(0).normal(size=(2, 1)))
    first, second = synthetic(GOOD, 2.0 * noise @ np.ones((1, 3))), synthetic(OTHER, noise @ np.ones((1, 3)))
    between = paired(first, second)
    assert between.seeds == 2
    np.testing.assert_allclose(between.ratio, (2.0, 2.0, 2.0))
    assert not np.allclose(first.best()[0], first.best()[1])


def test_runs_of_one_equation_are_paired_however_its_integrals_are_taken(monkeypatch):
    angles, normals, other = (fr.problems.Poisson(2, variable="angles"), fr.problems.Poisson(2, variable="normals"), PROBLEM)
    runs = [make_run(f"run {index}", problem, fr.Standard(), **TINY) for index, problem in enumerate((angles, normals, other))]
    found = {run.name: synthetic(run, np.ones((2, 3))) for run in runs}
    assert list(zip(pairs(found)["first"], pairs(found)["second"], strict=True)) == [("run 0", "run 1")]
    monkeypatch.setattr("fredholm.study.tables.MOST_PAIRED", 1)
    assert pairs(found).empty


def test_a_name_with_brackets_is_a_name(folder, tmp_path, capsys):
    named = StudyFolder.create(tmp_path / "study", "A study", [GOOD._replace(name="[/red] [bold]a")])
    named.begin()
    shutil.copytree(folder.place(GOOD), named.place(GOOD))
    assert main(["report", str(named.path)]) == 0
    assert "[/red] [bold]a" in capsys.readouterr().out


def test_a_killed_run_loses_one_interval_and_ends_as_if_it_had_not_been(folder, tmp_path):
    class Killed(BaseException):
        pass

    def kill(training):
        if training.step >= 25:
            raise Killed

    place = tmp_path / "run"
    with pytest.raises(Killed):
        perform(GOOD, place, progress=kill, checkpoint_every=10)
    assert RunFolder(place).read_checkpoint()[1] == 20
    perform(GOOD, place, checkpoint_every=10)
    xr.testing.assert_identical(RunFolder(place).read_history(), RunFolder(folder.place(GOOD)).read_history())


def test_a_run_that_was_killed_before_its_first_checkpoint_starts_again(tmp_path):
    place = tmp_path / "run"
    place.mkdir()
    (place / "history.nc").write_bytes(b"half")
    assert work._record(place) is None


def test_a_finished_run_is_small_loads_and_is_not_continued(folder):
    files = {path.name for path in folder.place(GOOD).iterdir()}
    assert {"run.json", "history.nc", "result.json"} <= files
    arrays, _ = RunFolder(folder.place(GOOD)).read_checkpoint()
    assert len([name for name in files if name.startswith("checkpoint")]) == 1
    assert not any("optimizer" in name or "sum/" in name for name in arrays)
    loaded = fr.load(folder.place(GOOD))
    recorded = json.loads((folder.place(GOOD) / "result.json").read_text())["scores"]["relative_l2"]
    np.testing.assert_array_equal(loaded.evaluate()["relative_l2"], recorded)
    with pytest.raises(ValueError, match="kept only the networks"):
        fr.resume(folder.place(GOOD), 60)
    usage = how_to_go_on({"delayed": loaded}, folder.place(GOOD) / "report.html")
    assert "resume" not in usage.code
    assert "run the study again with more steps" in usage.code


def test_a_result_travels_as_bytes_and_only_under_its_own_names(folder, tmp_path):
    files = pack(folder.place(GOOD))
    target = tmp_path / "pool" / GOOD.key
    unpack({**files, "../evil": b"x"}, target)
    assert sorted(os.listdir(tmp_path)) == ["pool"]
    assert pack(target) == files


def test_a_folder_of_other_settings_is_refused_by_what_differs(folder):
    with pytest.raises(ValueError, match="a run 'delayed' with another steps"):
        StudyFolder.create(folder.path, "t", [tiny("delayed", rule=fr.MonteCarlo(1), steps=31)])
    with pytest.raises(ValueError, match="has none of these runs"):
        StudyFolder.create(folder.path, "t", [tiny("else")])
    with pytest.raises(ValueError, match="two runs are called 'delayed'"):
        StudyFolder.create(folder.path / "new", "t", [GOOD, GOOD])


def test_a_run_that_failed_may_be_edited_in_place(tmp_path):
    """Its settings are corrected, the runs that are finished stay, and the failure is forgotten."""
    short = {"steps": 4, "seeds": 1}
    good, bad = tiny("good", rule=fr.MonteCarlo(1), **short), tiny("edited", fr.DoubleSampling(), rule=fr.MonteCarlo(1), **short)
    path = tmp_path / "study"
    first = StudyFolder.create(path, "t", [good, bad])
    run_study(first, progress=False)
    assert [first.state(run).word for run in first.runs] == ["finished", "failed"]
    corrected = tiny("edited", fr.DoubleSampling(), rule=fr.MonteCarlo(2), **short)
    again = StudyFolder.create(path, "t", [good, corrected])
    assert [run.name for run in again.missing()] == ["edited"]
    run_study(again, progress=False)
    assert [again.state(run).word for run in again.runs] == ["finished", "finished"]
    assert not list(again.pool.glob("*.failed.json"))
    with pytest.raises(ValueError, match="a run 'edited' with another rule"):
        StudyFolder.create(path, "t", [good, tiny("edited", fr.DoubleSampling(), rule=fr.MonteCarlo(4), **short)])


def test_what_a_failed_run_left_under_its_name_is_cleared_when_it_is_edited(tmp_path):
    """Where folders have names, a checkpoint of the old settings must not be continued with the new ones."""
    StudyFolder.create(tmp_path / "study", "t", [BAD], pool=".").begin()
    left = tmp_path / "study" / "impossible"
    left.mkdir()
    edited = StudyFolder.create(tmp_path / "study", "t", [tiny("impossible", fr.DoubleSampling(), rule=fr.MonteCarlo(2))], pool=".")
    assert left.is_dir()
    edited.begin()
    assert not left.exists()


def test_the_page_shows_u_beside_exact_the_evaluations_and_the_diagnosis(folder, monkeypatch, tmp_path):
    from fredholm.study.kept import DIAGNOSED, diagnosed
    from fredholm.study.page import write_study_page

    found = outcomes(folder)
    one = found["delayed"]
    assert one.evaluations == 30 * (8 * 2 + 32 * 4)  # f and one node at each x, and the four measurements of λ at 32 points
    assert one.profile.mean.shape == one.profile.exact.shape == (101,)
    np.testing.assert_allclose(one.profile.exact, np.exp(-one.profile.x) * np.cosh(one.profile.x), rtol=1e-5)
    page = write_study_page(folder, found).read_text(encoding="utf-8")
    assert "chart-solutions" in page
    assert "4.3e+03" in page
    assert "fredholm diagnose makes it" in page

    solution = fr.load(folder.place(GOOD))
    monkeypatch.setattr(fr.Solution, "seconds", DIAGNOSED)
    monkeypatch.setattr(fr.Solution, "diagnose", lambda self: 1 / 0)
    assert diagnosed(solution) == "not diagnosed: division by zero", "an error in it does not fail a run"


def test_the_estimate_grows_with_the_work():
    more = [tiny("m", **change) for change in ({}, {"steps": 30_000}, {"seeds": 40}, {"batch": 8000}, {"network": fr.MLP(64, 3)})]
    base, *others = estimates(more).values()
    assert all(other > base for other in others)


def test_the_time_left_follows_the_pace_so_far(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("fredholm.study.progress.time.monotonic", lambda: clock[0])
    total = Total({GOOD.key: 10.0, OTHER.key: 30.0}, lambda total, text: None)
    clock[0] = 20.0
    total.end(GOOD)
    assert total.share == 0.25
    assert total.left == pytest.approx(60.0)
    total.at(OTHER, 10)  # of 30 steps, done by an earlier session: they say nothing of the pace
    assert total.left == pytest.approx(40.0)
    total.at(OTHER, 20)
    total.at(GOOD, 5)  # an event that comes after the end
    assert total.share == pytest.approx((10 + 20) / 40)
    assert total.left == pytest.approx(10.0)
    assert str(total) == "1 of 2 runs, 75 %, about 10 s left"


STUDY = """
name: a sweep
base: {problem: volterra, width: 4, depth: 1, steps: 30, batch: 8, seeds: 2}
runs:
  standard: {method: standard, n: 1}
  delayed: {method: delayed-target, n: 1, tau: 0.9}
grid: {learning-rate: [1e-3, 1e-4], width: [4, 8]}
sweep: {depth: [2]}
"""


def test_a_study_in_yaml_speaks_the_options_of_solve(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    title, runs = read_study(path)
    assert title == "a sweep"
    assert len(runs) == 2 * (1 + 4 + 1)
    by_name = {run.name: run for run in runs}
    chosen = by_name["delayed, learning-rate=0.0001, width=8"]
    assert chosen.settings.part("method").tau == 0.9
    assert chosen.settings.part("network").width == 8
    assert chosen.settings.part("optimizer").learning_rate == 1e-4
    assert by_name["standard, depth=2"].settings.part("network") == fr.MLP(4, 2, "tanh")
    assert chosen.labels == {"series": "delayed", "learning-rate": 1e-4, "width": 8.0}


OWN_STUDY = """
base: {problem: mine.py:make, method: standard, n: 1, width: 4, depth: 1, steps: 20, batch: 8, seeds: 2, schedule: constant}
grid: {set.rate: [1.0, 2.0]}
"""


def test_a_study_of_your_own_equation_is_known_by_the_content_of_its_file(tmp_path, monkeypatch, capsys):
    place, out = tmp_path / "study.yaml", str(tmp_path / "out")
    place.write_text(OWN_STUDY)
    (tmp_path / "mine.py").write_text(FILE)
    command = ["study", str(place), "--out", out]
    assert main(command) == 0  # the file is beside the study, not where the command is given
    before = read_study(place)[1]
    assert len({run.key for run in before}) == 2
    monkeypatch.setenv("MARK", "/")  # what is imported from now on fails
    assert main(["status", out]) == main(["report", out]) == 0
    assert "2 finished" in capsys.readouterr().out
    monkeypatch.delenv("MARK")
    (tmp_path / "mine.py").write_text(FILE + "\n# edited")
    assert not {run.key for run in before} & {run.key for run in read_study(place)[1]}
    assert main(command) == 2
    assert "with another problem" in capsys.readouterr().err
    with pytest.raises(ValueError, match="the file has changed since the study was read"):
        before[0].problem()


def own(rate: float = 1.0, exact: float = 1.0, over: float = 1.0) -> fr.Equation:
    numbers = np.array([rate, 0.0])
    return fr.Equation(
        domain=fr.Interval(0.0, 1.0),
        f=lambda u, x: fr.derivative(u, x) + jnp.sum(jnp.asarray(numbers)) * u(x),
        integrals=fr.Integral(over=fr.Interval(0.0, over), g=lambda u, x, t: u(t)),
        conditions=fr.Condition(at=fr.Point(0.0), value=1.0),
        exact=lambda x: exact * jnp.exp(x[0]),
    )


def test_an_equation_made_in_python_is_known_by_what_it_computes_and_stays_here(tmp_path):
    def run(*numbers: float):
        return make_run("own", own(*numbers), fr.Standard(), **TINY)

    assert run().key == run().key
    others = [(1.0 + 1e-6,), (1.0, 1.0 + 1e-6), (1.0, 1.0, 0.5)]
    assert len({run(*numbers).key for numbers in [(), *others]}) == 4
    folder = StudyFolder.create(tmp_path / "study", "own", [run()])
    with pytest.raises(ValueError, match="stays in this process; got workers"):
        run_study(folder, workers=2, progress=False)
    assert run_study(folder, progress=False)["own"].metric == "relative_l2"
    opened = StudyFolder.open(folder.path)
    assert estimates(opened.runs).keys() == {run().key}
    with pytest.raises(ValueError, match="made in Python"):
        opened.runs[0].problem()


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[1] / "studies").glob("*.yaml")), ids=lambda path: path.name)
def test_the_studies_of_the_repository_are_read(path):
    _, runs = read_study(path)
    assert len({run.key for run in runs}) == len(runs) > 5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("bsae: {}", "Did you mean 'base'"),
        ("base: {problem: volterra, bacth: 4}", "Did you mean 'batch'"),
        ("base: {problem: voltera}", "Did you mean 'volterra'"),
        ("base: {problem: volterra, method: standrad}", "Did you mean 'standard'"),
        ("base: {problem: volterra, method: standard, tau: 0.9}", "belongs to delayed-target"),
        ("base: {problem: volterra, out: x}", "unknown key of a run"),
        ("base: {problem: poisson, set: {dimm: 3}}", "Did you mean 'dim'"),
        ("base: {problem: own.py:problem}", "own.py: there is no such file"),
        ("base: {problem: own.py}", "expected path/to/file.py:name"),
        ("base: {steps: 3}", "has no problem"),
        ("base: {problem: volterra, method: double-sampling, n: 1}", "need at least 2 points"),
        ("base: {problem: volterra, method: double-sampling, n: 3}", "an even number of points"),
        ("grid: {width: 3}", "expected a list of values"),
        ("base: {steps: 3, steps: 4}", "is there twice"),
        ("base: [", "is not YAML"),
        ("- 1", "expected names with their values"),
    ],
)
def test_a_mistake_in_a_study_is_named_and_leaves_nothing(wrong, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text(wrong)
    assert main(["study", "study.yaml"]) == 2
    assert message in capsys.readouterr().err
    assert os.listdir() == ["study.yaml"]


def test_status_says_how_far_a_study_is(folder, capsys, tmp_path):
    assert main(["status", str(folder.path)]) == 0
    out = capsys.readouterr().out
    assert "2 finished, 1 failed" in out
    assert "at least 2 points" in out
    assert main(["status", str(tmp_path)]) == 2


POOL = """
import os, time
from fredholm.study.local import _processes
if __name__ == "__main__":
    with _processes(1, 1) as executor:
        print(executor.submit(os.getpid).result(), flush=True)
        executor.submit(time.sleep, 600).result()
"""


def test_the_processes_of_a_study_end_with_the_one_that_started_them(tmp_path):
    """However it went: nobody would fetch their runs, and they would take the cores of whoever goes on."""
    (tmp_path / "pool.py").write_text(POOL)
    with subprocess.Popen([sys.executable, str(tmp_path / "pool.py")], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        os.kill(worker, 0)  # it is there
        parent.kill()
    for _ in range(100):
        if not is_running(worker):
            return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker goes on")


def is_running(process: int) -> bool:
    """Not gone, and not a zombie that waits for a parent which is gone itself."""
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().split(")")[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_study_is_held_by_one_process_at_a_time(folder):
    with folder.locked(), pytest.raises(ValueError, match="in use by another process"):
        run_study(folder, progress=False)
