"""The command line at work: real processes where a process matters (exit codes, signals, locks), `main` in this one for the rest."""

import csv
import errno
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import fredholm as fr
from commands import LONG, TINY, command
from fredholm.__main__ import main
from fredholm.storage import files, run_folder
from fredholm.storage.run_folder import RunFolder


def wait_for_steps(folder: Path, steps: int, process: subprocess.Popen) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        if (folder / "run.json").is_file() and json.loads((folder / "run.json").read_text())["done"] >= steps:
            return
        time.sleep(0.01)
    raise AssertionError(f"no step {steps}: {process.communicate()}")


def run_settings(folder: str) -> dict:
    return json.loads((Path(folder) / "run.json").read_text())


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    problem = fr.problems.Volterra()
    fr.solve(problem, network=fr.MLP(4, 1), optimizer=fr.Adam(), steps=30, batch=8, seeds=2, out=folder, progress=False)
    return folder


@pytest.fixture
def run(finished_run):
    """A finished run of 30 steps of its own for a test, in the folder `run`."""
    return Path(shutil.copytree(finished_run, "run"))


def test_solve_makes_a_run_with_pictures_and_a_page(capsys):
    assert main(["solve", "volterra", *TINY, "--out", "made/run"]) == 0
    out, error = capsys.readouterr()
    assert "relative_l2" in out
    assert "made/run/report.html" in out
    assert "step 30/30" in error
    assert {"run.json", "history.nc", "solution.png", "report.html"} <= {path.name for path in Path("made/run").iterdir()}
    settings = run_settings("made/run")
    assert settings["network"].startswith("MLP(width=4, ")
    assert settings["origin"]["command"][:3] == ["fredholm", "solve", "volterra"]


def test_resume_goes_on_to_a_total_or_by_so_many_more(run, no_pages, capsys):
    assert main(["resume", "run"]) == 2
    assert "has done all of its 30 steps" in capsys.readouterr().err
    assert main(["resume", "run", "--steps", "20"]) == 2
    assert "has done 30 already" in capsys.readouterr().err
    assert main(["resume", "run", "--steps", "40"]) == 0
    assert run_settings("run")["done"] == 40
    assert "run/report.html" in capsys.readouterr().out
    assert main(["resume", "run", "--steps", "+5"]) == 0
    assert run_settings("run")["done"] == 45


def test_report_makes_the_page_again(run, no_pages, capsys):
    assert main(["report", "run"]) == 0
    assert "run/report.html" in capsys.readouterr().out
    assert (run / "report.html").is_file()


def test_predict_writes_what_the_solution_says(run, capsys):
    assert main(["predict", "run", "--grid", "x0=0:5:11", "--out", "u.nc"]) == 0
    assert main(["predict", "run", "--grid", "x0=0:5:11", "--out", "u.csv"]) == 0
    solution, points = fr.load("run"), np.linspace(0, 5, 11)[:, None]
    with xr.open_dataset("u.nc", engine="h5netcdf") as data:
        np.testing.assert_array_equal(data["mean"], solution(points))
        np.testing.assert_array_equal(data["target"], solution.target(points))
        np.testing.assert_array_equal(data["members"], solution.members(points))
    with open("u.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["x0", "mean", "main", "target", "exact", "seed_0", "seed_1"]
    np.testing.assert_allclose([float(row["seed_1"]) for row in rows], np.asarray(solution.members(points))[1], rtol=1e-6)
    capsys.readouterr()
    for grid, out, message in (("x0=0:5:11", "u.csv", "exists"), ("x0=0:5", "v.csv", "low:high:count"), ("x0=0,1 x1=0", "v.csv", "axes")):
        assert main(["predict", "run", "--grid", *grid.split(), "--out", out]) == 2
        assert message in capsys.readouterr().err


def test_own_equation_is_imported_only_where_the_user_names_it(monkeypatch, capsys, no_pages, here):
    assert main(["solve", "own.py:make", "--set", "rate=2.0", *TINY, "--out", "run"]) == 0
    settings = run_settings("run")
    assert settings["origin"]["file"] == "own.py:make"
    monkeypatch.setenv("MARK", str(here / "mark"))
    assert main(["report", "run"]) == 0
    assert main(["predict", "run", "--grid", "x0=0,1", "--out", "u.csv"]) == 0
    assert not (here / "mark").exists()

    # resume imports it only where the user names it; diagnose and predict ask for it too.
    capsys.readouterr()
    for line in ("resume run --steps 40", "diagnose run", "predict run --out v.csv"):
        assert main(line.split()) == 2
        asked = "its equation is own.py:make. A file is imported only where you name it. If you trust it"
        assert f"{asked}: fredholm {line} --problem own.py:make" in capsys.readouterr().err
        assert not (here / "mark").exists()
    assert main(["resume", "run", "--steps", "40", "--problem", "own.py:make"]) == 0
    assert (here / "mark").exists()
    assert run_settings("run")["done"] == 40
    monkeypatch.delenv("MARK")
    assert main(["predict", "run", "--out", "v.csv", "--problem", "own.py:make"]) == 0
    assert len(Path("v.csv").read_text().splitlines()) == 202, "the problem's own grid"


def test_compare_has_a_run_for_each_method_and_resume_completes_it(capsys, request):
    assert main(["compare", "volterra", "--methods", "standard", "delayed-target", "--tau", "0.5", "--n", "2", *TINY, "--out", "both"]) == 0
    out = capsys.readouterr().out
    assert "95 % interval" in out
    assert "both/report.html" in out
    assert {"standard", "delayed-target", "comparison.png", "variance.png", "report.html"} <= {path.name for path in Path("both").iterdir()}
    settings = {name: run_settings(f"both/{name}") for name in ("standard", "delayed-target")}
    assert settings["standard"]["seeds"] == settings["delayed-target"]["seeds"]
    assert settings["delayed-target"]["method"].startswith("DelayedTarget(tau=0.5, ")
    reference = RunFolder("both/delayed-target").read_checkpoint()[0]

    shutil.rmtree("both/delayed-target")
    request.getfixturevalue("no_pages")
    finished = Path("both/standard/run.json").stat().st_mtime_ns
    assert main(["resume", "both"]) == 0
    assert Path("both/standard/run.json").stat().st_mtime_ns == finished
    again = RunFolder("both/delayed-target").read_checkpoint()[0]
    assert all(np.array_equal(again[name], reference[name]) for name in reference)
    capsys.readouterr()
    assert main(["report", "both"]) == 0
    assert "standard" in capsys.readouterr().out


def test_failed_seeds_give_1_and_still_a_page(capsys, no_pages):
    assert main(["solve", "volterra", *TINY, "--learning-rate", "1e30", "--out", "run"]) == 1
    assert "2 of 2 seeds failed: seed 0:" in capsys.readouterr().err
    assert Path("run/report.html").is_file()


def test_time_budget_and_early_stop(no_pages):
    assert main(["compare", "own.py:problem", "--methods", "standard", "delayed-target", *LONG, "--minutes", "0", "--out", "time"]) == 0
    assert run_settings("time/standard")["done"] == 0
    assert main(["solve", "volterra", *LONG, "--stop-at", "100", "--out", "stop"]) == 0
    assert [name for name, _ in run_settings("stop")["status"]] == ["STOPPED", "STOPPED"]


def test_full_disk_says_what_was_kept(monkeypatch, capsys):
    write, room = files.write_atomically, [9]  # three of the start, three of step 10 and three of step 20

    def until_full(path, content):
        if not path.name.startswith("compare") and room[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        room[0] -= 1
        write(path, content)

    for module in (files, run_folder):
        monkeypatch.setattr(module, "write_atomically", until_full)
    assert main(["solve", "volterra", *TINY, "--checkpoint-every", "10", "--out", "run"]) == 1
    error = capsys.readouterr().err
    assert "No space left on device" in error
    assert "Kept: the state of step 20. Continue with: fredholm resume run" in error
    room[0] = 0
    assert main(["solve", "volterra", *TINY, "--out", "full"]) == 1
    assert "Nothing was kept" in capsys.readouterr().err
    assert not Path("full").exists()


def test_pages_that_fail_leave_the_run(monkeypatch, capsys):
    monkeypatch.setattr(fr.Solution, "plot", lambda *_: 1 / 0)
    assert main(["solve", "volterra", *TINY, "--out", "run"]) == 1
    assert "the run itself is safe in run" in capsys.readouterr().err
    assert fr.load("run").steps == 30


def test_default_folder_has_name_date_and_hash(no_pages):
    assert main(["solve", "volterra", *TINY]) == 0
    (made,) = Path("runs").iterdir()
    assert re.fullmatch(r"volterra-\d{4}-\d\d-\d\d-[0-9a-f]{6}", made.name)


def test_check_says_what_is_suspicious_and_exits_with_1(capsys):
    Path("open.py").write_text("import fredholm as fr\nproblem = fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: fr.derivative(u, x))")
    assert main(["check", "open.py:problem"]) == 1
    assert re.search(r"warning +uniqueness: the solution is not unique: a constant can be added", capsys.readouterr().out)
    Path("fine.py").write_text("import fredholm as fr\nproblem = fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x) - 1)")
    assert main(["check", "fine.py:problem"]) == 0
    assert "nothing suspicious" in capsys.readouterr().out


@pytest.mark.probing
def test_a_warning_of_the_library_is_one_line_on_standard_error(capsys, monkeypatch):
    monkeypatch.setattr("fredholm.cli.training.finish", lambda solutions, folder: 0)
    monkeypatch.setattr(sys.modules["fredholm.api"], "Training", lambda setup: (_ for _ in ()).throw(ValueError("enough")))
    Path("open.py").write_text("import fredholm as fr\nproblem = fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: fr.derivative(u, x))")
    assert main(["solve", "open.py:problem", "--method", "standard", *TINY]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "not unique" in line and line.startswith("fredholm: ")]
    assert not [line for line in lines if "ProblemWarning" in line], "no place in the code"


def test_doctor_is_well(capsys, monkeypatch):
    monkeypatch.setattr("fredholm.cli.doctor.STEPS", 100)
    monkeypatch.setattr("fredholm.cli.doctor.WANTED_ERROR", 2.0)
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in (
        "packages",
        "devices",
        "cores",
        "cache",
        "where only you can write",
        "browser",
        "disk",
        "steps a second",
        "all checks passed",
    ):
        assert word in out


def test_verbose_shows_the_log_and_quiet_does_not(capsys, monkeypatch):
    monkeypatch.setattr("fredholm.cli.listing.show", lambda _: logging.getLogger("fredholm").info("hello") or 0)
    assert main(["list"]) == 0
    assert "hello" not in capsys.readouterr().err
    assert main(["list", "--verbose"]) == 0
    assert "INFO hello" in capsys.readouterr().err


# Processes


@pytest.mark.scaling
def test_killed_run_resumes_bit_for_bit_and_two_processes_do_not_share(here, capsys, no_pages):
    (here / "temporary").mkdir()
    arguments = command("solve", "volterra", *LONG, "--checkpoint-every", "10", "--out", "killed")
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(here / "temporary")})
    try:
        wait_for_steps(here / "killed", 50, process)
        process.send_signal(signal.SIGSTOP)  # it keeps its lock, and does not come to its end meanwhile
        assert main(["resume", "killed"]) == 2
        assert "in use by another process" in capsys.readouterr().err
    finally:
        process.kill()
        process.communicate()
    assert not any((here / "temporary").iterdir()), "nothing is left there, not even after a kill"
    assert run_settings("killed")["done"] < 3000
    assert main(["resume", "killed"]) == main(["solve", "volterra", *LONG, "--out", "whole"]) == 0
    killed, whole = (RunFolder(name).read_checkpoint() for name in ("killed", "whole"))
    assert killed[1] == whole[1] == 3000
    assert set(killed[0]) == set(whole[0])
    assert all(np.array_equal(killed[0][name], whole[0][name], equal_nan=True) for name in whole[0])
    xr.testing.assert_identical(RunFolder("killed").read_history(), RunFolder("whole").read_history())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_prints_the_resume_command(here, no_pages, number):
    # So many steps that the run cannot come to its end before the signal does, however busy the machine.
    arguments = command("solve", "volterra", *LONG, "--steps", "1000000", "--checkpoint-every", "10", "--out", "run")
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        wait_for_steps(here / "run", 20, process)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert error.splitlines()[-1].endswith("Continue with: fredholm resume run"), error
    done = run_settings("run")["done"]
    assert 20 <= done < 1_000_000
    assert main(["resume", "run", "--steps", str(done + 10)]) == 0
    assert run_settings("run")["done"] == done + 10
