"""The command line: real processes where a process matters (exit codes, signals, locks), `main` in this one for the rest."""

import csv
import errno
import json
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
import xarray as xr
from jax.experimental.compilation_cache import compilation_cache

import fredholm as fr
from fredholm import storage
from fredholm.cli import main, values
from fredholm.cli.choices import keywords_of, method_of, problem_of
from fredholm.cli.names import METHODS, PROBLEMS, RULES, comments, fields, kebab, plain
from fredholm.cli.parser import parse
from fredholm.storage import RunFolder

TINY = ["--width", "4", "--depth", "1", "--batch", "8", "--seeds", "2", "--schedule", "constant", "--steps", "30"]
LONG = [*TINY[:-1], "3000"]  # with a checkpoint every 10 steps, long enough to be interrupted
FILE = """
import os
import jax.numpy as jnp
import fredholm as fr

if "MARK" in os.environ:
    os.mkdir(os.environ["MARK"])

def make(rate=1.0):
    return fr.Equation(
        domain=fr.Interval(0.0, 1.0),
        f=lambda u, x: fr.derivative(u, x) + rate * u(x),
        integrals=fr.Integral(over=lambda x: fr.Interval(0.0, x[0]), g=lambda u, x, t: u(t)),
        conditions=fr.Condition(at=fr.Point(0.0), value=1.0),
    )

problem = make()
number = 3

def undefined():
    return fr.Equation(domain=fr.Interval(0.0, 1.0), f=lambda u, x: nothing(x))

def reversed_limits():
    return fr.Equation(domain=fr.Interval(1.0, 0.0), f=lambda u, x: u(x))
"""


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """One cache of compiled programs for all commands here; JAX has its devices already, and gets its settings back."""
    jax.devices()
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FREDHOLM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every test in a folder of its own, with the user's file in it."""
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(FILE)
    return tmp_path


@pytest.fixture
def no_pages(monkeypatch):
    """Pictures take most of the time of a tiny run; they have tests of their own."""

    def write(solutions, folder):
        (folder / "report.html").write_text(" ".join(solutions))
        return folder / "report.html"

    monkeypatch.setattr("fredholm.cli.training.write_pages", write)
    monkeypatch.setattr("fredholm.cli.results.write_pages", write)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fredholm", *arguments]


def wait_for_steps(folder: Path, steps: int, process: subprocess.Popen) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        if (folder / "run.json").is_file() and json.loads((folder / "run.json").read_text())["done"] >= steps:
            return
        time.sleep(0.01)
    raise AssertionError(f"no step {steps}: {process.communicate()}")


def run_settings(folder: str) -> dict:
    return json.loads((Path(folder) / "run.json").read_text())


# Help and names


def test_help_names_every_command_and_has_examples():
    done = subprocess.run(command("--help"), capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "examples:" in done.stdout
    for name in ("list", "check", "solve", "compare", "resume", "report", "predict", "doctor"):
        assert re.search(rf"^ +{name} ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("name", ["check", "solve", "compare", "resume", "report", "predict"])
def test_every_command_has_help_with_examples_that_parse(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    examples = re.findall(r"^  fredholm (.+?)(?:   .*)?$", text, re.MULTILINE)
    assert examples
    for example in examples:
        assert parse(shlex.split(example)).name == name


def test_list_shows_every_name_with_its_comment():
    done = subprocess.run(command("list"), capture_output=True, text=True, check=False)
    assert done.returncode == 0
    shown = " ".join(done.stdout.split())
    for name in (*PROBLEMS, *METHODS, *RULES, "shift", "rotation", "tanh", "adam", "cosine"):
        assert re.search(rf" {name}[ ,]", shown)
    for noun in METHODS.values():
        for field in fields(noun):
            assert f"--{kebab(field)}: {comments(noun)[field]}" in shown
    assert "$" not in shown
    assert "\\" not in shown


def test_every_field_of_a_method_has_a_comment_and_is_an_option(capsys):
    with pytest.raises(SystemExit):
        main(["solve", "--help"])
    shown = capsys.readouterr().out
    for noun in METHODS.values():
        for field in fields(noun):
            assert comments(noun)[field]
            assert f"--{kebab(field)} " in shown


def test_names_and_formulas_are_readable():
    assert [kebab(name) for name in ("QuasiMonteCarlo", "MLP", "ClenshawCurtis")] == ["quasi-monte-carlo", "mlp", "clenshaw-curtis"]
    assert plain(r"$\int_0^x e^{t-x}\,u(t)\,dt$") == "∫_0^x e^(t-x) u(t) dt"


# Options to nouns


def chosen(*arguments: str):
    options = parse(["solve", *arguments])
    problem = problem_of(options.problem, options.set)
    return method_of(problem, options.method, options), keywords_of(problem, options)


def test_options_change_only_what_they_name():
    method, keywords = chosen("poisson", "--tau", "0.5")
    assert method == fr.DelayedTarget(tau=0.5, regularization=1.0, split=100.0)
    assert {name for name, value in keywords.items() if value is not None} == {"seeds", "precision"}
    method, keywords = chosen("poisson", "--method", "delayed-target", "--every", "10", "--width", "8", "--schedule", "cosine")
    assert method == fr.DelayedTarget(tau=0.999, regularization=1.0, split=100.0, every=10)
    assert keywords["network"] == fr.MLP(8, 3, "silu")
    assert keywords["optimizer"] == fr.Adam(1e-3, fr.Cosine())
    assert chosen("poisson", "--method", "double-sampling", "--pairs", "all")[0] == fr.DoubleSampling(pairs="all")


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (["--n", "7"], fr.MonteCarlo(7)),
        (["--rule", "monte-carlo"], fr.MonteCarlo(1)),
        (["--rule", "even", "--n", "5"], fr.Even(5)),
        (["--rule", "even", "--n", "5", "--randomize", "shift"], fr.Even(5, randomize=fr.Shift())),
        (["--rule", "Even(5, randomize=Rotation())"], fr.Even(5, randomize=fr.Rotation())),
        (["--rule", "Even(5, randomize=Shift())", "--randomize", "none", "--n", "2"], fr.Even(2)),
    ],
)
def test_rules_by_name_and_as_in_python(given, rule):
    assert chosen("volterra", *given)[1]["rule"] == rule


@pytest.mark.parametrize(("text", "seeds"), [("4", 4), ("3,7", [3, 7]), ("3 7", [3, 7]), ("3,", [3])])
def test_seeds_are_a_number_or_a_list(text, seeds):
    assert chosen("volterra", "--seeds", *text.split())[1]["seeds"] == seeds


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-3", 0.001), ("5", 5), ("none", None), ("[[0, 1e-2]]", [[0, 0.01]]), ("Point(1.0)", fr.Point(1.0))],
)
def test_values_are_what_a_person_means(text, value):
    assert values.value(text) == value


@pytest.mark.parametrize("text", ["Point(__import__('os').getcwd())", "Point(().__class__)", "Even(open('x'))"])
def test_values_never_run_code(text):
    with pytest.raises(ValueError, match=r"expected the library's names|unknown name"):
        values.value(text)


def test_problem_options_reach_the_problem():
    assert problem_of("poisson", ["dim=5", "radii=Interval(0.2, 0.3)"]).inputs == 5
    assert problem_of("own.py:make", ["rate=2.0"]).inputs == 1


# Wrong input: one line, exit code 2, nothing left behind

WRONG = [
    ("solv", "Did you mean 'solve'"),
    ("solve", "PROBLEM"),
    ("solve poison", "Did you mean 'poisson'"),
    ("solve volterra --method standrad", "Did you mean 'standard'"),
    ("solve volterra --tua 0.5", "Did you mean --tau"),
    ("solve volterra --tau x", "--tau: got 'x'; expected a number"),
    ("solve volterra --tau -0.1", "expected a finite number in"),
    ("solve volterra --on outptu", "Did you mean 'output'"),
    ("solve volterra --tau 1", "expected a finite number in"),
    ("solve volterra --regularization -1", "regularization"),
    ("solve volterra --method standard --tau 0.5", "standard has no such option; it belongs to delayed-target"),
    ("solve volterra --n 0", "MonteCarlo n: got 0"),
    ("solve volterra --n many", "expected a whole number"),
    ("solve volterra --rule evn --n 2", "Did you mean 'even'"),
    ("solve volterra --rule even", "needs --n"),
    ("solve volterra --rule smolyak", "needs rule and level"),
    ("solve volterra --rule Gaus(3)", "Did you mean 'Gauss'"),
    ("solve volterra --randomize shift", "monte-carlo has no such option"),
    ("solve volterra --randomize shfit --rule even --n 2", "Did you mean 'shift'"),
    ("solve volterra --activation tahn", "Did you mean 'tanh'"),
    ("solve volterra --schedule cosin", "Did you mean 'cosine'"),
    ("solve volterra --precision float16", "Did you mean 'float"),
    ("solve volterra --seeds 0", "seeds: got 0"),
    ("solve volterra --seeds 4 volterra", "PROBLEM comes before"),
    ("solve volterra --steps 0", "--steps: got 0"),
    ("solve volterra --minutes -1", "minutes"),
    ("solve volterra --set dim=2", "has no options"),
    ("solve poisson --set dmi=3", "Did you mean 'dim'"),
    ("solve poisson --set dim", "expected name=value"),
    ("solve poisson --set charges=none_of_it", "--set charges=none_of_it"),
    ("solve volterra --method double-sampling --n 1", "at least 2 points"),
    ("compare volterra --methods standard double-sampling --n 1", "at least 2 points"),
    ("compare volterra --methods standard standard", "different methods"),
    ("compare volterra --methods standard --tau 0.5", "belongs to delayed-target"),
    ("solve volterra --out .", "exists and is not empty"),
    ("solve own.py", "expected path/to/file.py:name"),
    ("solve missing.py:problem", "no such file"),
    ("solve own.py:problm", "Did you mean 'problem'"),
    ("solve own.py:number", "got int; expected an Equation"),
    ("solve own.py:make --set rtae=2", "Did you mean 'rate'"),
    ("solve own.py:problem --set rate=2", "make it a function"),
    ("solve own.py:undefined --method standard", "own.py, line 21: NameError"),
    ("solve own.py:reversed_limits", "own.py, line 24: ValueError: Interval"),
    ("solve syntax.py:problem", "syntax.py, line 2: SyntaxError"),
    ("solve missing_module.py:problem", "missing_module.py, line 1: ModuleNotFoundError"),
    ("resume nothing", "not a run folder"),
    ("report .", "not a run folder"),
    ("predict nothing --out u.txt", "ends in .nc"),
]


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line for line, _ in WRONG])
def test_wrong_input_is_one_line_and_leaves_nothing(line, message, here, capsys):
    Path("syntax.py").write_text("import fredholm\nx = (\n")
    Path("missing_module.py").write_text("import no_such_module_here\n")
    before = sorted(path.name for path in here.iterdir())
    assert main(line.split(" ")) == 2
    out, error = capsys.readouterr()
    assert message in error
    assert error.count("\n") == 1
    assert out == ""
    assert sorted(path.name for path in here.iterdir() if path.name != "__pycache__") == before


def test_an_error_while_training_starts_leaves_nothing(monkeypatch, capsys, here):
    def fail(*_):
        raise ValueError("found only now")

    monkeypatch.setattr("fredholm.training.loop.Training.advance", fail)
    assert main(["solve", "volterra", *TINY, "--out", "a/b/run"]) == 2
    assert "found only now" in capsys.readouterr().err
    assert not Path("a").exists()


def test_a_process_exits_with_2_and_one_line():
    done = subprocess.run(command("solve", "volterra", "--out", "/proc/none"), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("fredholm: out: cannot write to /proc/none")
    assert done.stderr.count("\n") == 1


# Runs


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
    assert settings["network"]["fields"]["width"] == 4
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
    assert list(rows[0]) == ["x0", "mean", "target", "exact", "seed_0", "seed_1"]
    np.testing.assert_allclose([float(row["seed_1"]) for row in rows], np.asarray(solution.members(points))[1], rtol=1e-6)
    capsys.readouterr()
    for grid, out, message in (("x0=0:5:11", "u.csv", "exists"), ("x0=0:5", "v.csv", "low:high:count"), ("x0=0,1 x1=0", "v.csv", "axes")):
        assert main(["predict", "run", "--grid", *grid.split(), "--out", out]) == 2
        assert message in capsys.readouterr().err


def test_own_equation_is_imported_by_resume_and_never_by_report(monkeypatch, capsys, no_pages, here):
    assert main(["solve", "own.py:make", "--set", "rate=2.0", *TINY, "--out", "run"]) == 0
    settings = run_settings("run")
    assert settings["origin"]["file"] == "own.py:make"
    monkeypatch.setenv("MARK", str(here / "mark"))
    assert main(["report", "run"]) == 0
    assert main(["predict", "run", "--grid", "x0=0,1", "--out", "u.csv"]) == 0
    assert not (here / "mark").exists()

    # A file that came with the run is not trusted because the run says so.
    shutil.copytree("run", "sent")
    shutil.copy("own.py", "sent/own.py")
    settings["origin"]["file"] = "sent/own.py:make"
    Path("sent/run.json").write_text(json.dumps(settings))
    capsys.readouterr()
    assert main(["resume", "sent", "--steps", "40"]) == 2
    assert "inside the run folder" in capsys.readouterr().err
    assert not (here / "mark").exists()

    assert main(["resume", "run", "--steps", "40"]) == 0
    assert "importing make from own.py" in capsys.readouterr().out
    assert (here / "mark").exists()


def test_compare_has_a_run_for_each_method_and_resume_completes_it(capsys, request):
    assert main(["compare", "volterra", "--methods", "standard", "delayed-target", "--tau", "0.5", "--n", "2", *TINY, "--out", "both"]) == 0
    out = capsys.readouterr().out
    assert "95 % interval" in out
    assert "both/report.html" in out
    assert {"standard", "delayed-target", "comparison.png", "variance.png", "report.html"} <= {path.name for path in Path("both").iterdir()}
    settings = {name: run_settings(f"both/{name}") for name in ("standard", "delayed-target")}
    assert settings["standard"]["seeds"] == settings["delayed-target"]["seeds"]
    assert settings["delayed-target"]["method"]["fields"]["tau"] == 0.5
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
    assert "2 of 2 seeds failed (seed 0 at step" in capsys.readouterr().err
    assert Path("run/report.html").is_file()


def test_time_budget_and_early_stop(no_pages):
    assert main(["compare", "own.py:problem", "--methods", "standard", "delayed-target", *LONG, "--minutes", "0", "--out", "time"]) == 0
    assert run_settings("time/standard")["done"] == 0
    assert main(["solve", "volterra", *LONG, "--stop-at", "100", "--out", "stop"]) == 0
    assert [name for name, _ in run_settings("stop")["status"]] == ["STOPPED", "STOPPED"]


def test_full_disk_says_what_was_kept(monkeypatch, capsys):
    write, room = storage.write_atomically, [8]

    def until_full(path, content):
        if not path.name.startswith("compare") and room[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        room[0] -= 1
        write(path, content)

    monkeypatch.setattr(storage, "write_atomically", until_full)
    assert main(["solve", "volterra", *TINY, "--checkpoint-every", "10", "--out", "run"]) == 1
    error = capsys.readouterr().err
    assert "No space left on device" in error
    assert "Kept: the state of step 20; with room on the disk, continue with: fredholm resume run" in error
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
    monkeypatch.setattr(sys.modules["fredholm.solve"], "Training", lambda setup: (_ for _ in ()).throw(ValueError("enough")))
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
    for word in ("packages", "devices", "cores", "cache", "browser", "disk", "steps a second", "all well"):
        assert word in out


def test_verbose_shows_the_log_and_quiet_does_not(capsys, monkeypatch):
    monkeypatch.setattr("fredholm.cli.listing.show", lambda _: logging.getLogger("fredholm").info("hello") or 0)
    assert main(["list"]) == 0
    assert "hello" not in capsys.readouterr().err
    assert main(["list", "--verbose"]) == 0
    assert "INFO hello" in capsys.readouterr().err


# Processes


def test_killed_run_resumes_bit_for_bit_and_two_processes_do_not_share(here, capsys):
    process = subprocess.Popen(command("solve", "volterra", *LONG, "--checkpoint-every", "10", "--out", "killed"), stderr=subprocess.PIPE)
    try:
        wait_for_steps(here / "killed", 50, process)
        process.send_signal(signal.SIGSTOP)  # it keeps its lock, and does not come to its end meanwhile
        assert main(["resume", "killed"]) == 2
        assert "in use by another process" in capsys.readouterr().err
    finally:
        process.kill()
        process.communicate()
    assert run_settings("killed")["done"] < 3000
    no_pages = "import sys, fredholm.cli.training as t; t.write_pages = lambda _, folder: folder; sys.exit(t.fr.cli.main())"
    for arguments in (["resume", "killed"], ["solve", "volterra", *LONG, "--out", "whole"]):
        subprocess.run([sys.executable, "-c", no_pages, *arguments], check=True, capture_output=True)
    killed, whole = (RunFolder(name).read_checkpoint() for name in ("killed", "whole"))
    assert killed[1] == whole[1] == 3000
    assert set(killed[0]) == set(whole[0])
    assert all(np.array_equal(killed[0][name], whole[0][name], equal_nan=True) for name in whole[0])
    xr.testing.assert_identical(RunFolder("killed").read_history(), RunFolder("whole").read_history())


def test_ctrl_c_saves_and_prints_the_resume_command(here, no_pages):
    # So many steps that the run cannot come to its end before the signal does, however busy the machine.
    arguments = command("solve", "volterra", *LONG, "--steps", "1000000", "--checkpoint-every", "10", "--out", "run")
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    wait_for_steps(here / "run", 20, process)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.splitlines()[-1].endswith("Continue with: fredholm resume run"), error
    done = run_settings("run")["done"]
    assert 20 <= done < 1_000_000
    assert main(["resume", "run", "--steps", str(done + 10)]) == 0
    assert run_settings("run")["done"] == done + 10
