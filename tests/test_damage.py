"""Run folders that are damaged, were left by a kill, or were made to do harm: what loads is what was saved, else one line says why not."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

import fredholm as fr
from commands import command
from fredholm.storage import files, run_folder
from fredholm.storage.run_folder import RunFolder
from fredholm.training.training import Training
from patience import ends

TINY = {"network": fr.MLP(4, 1, "tanh", scaled=False), "batch": 4, "seeds": 2, "progress": False}
POINTS = np.array([[0.5], [1.5]])


def solved(place, steps=20, **others):
    return fr.solve(fr.problems.Volterra(), steps=steps, checkpoint_every=10, out=place, **{**TINY, **others})


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    place = tmp_path_factory.mktemp("finished") / "run"
    solved(place)
    return place


@pytest.fixture
def run(finished, tmp_path):
    """A finished run of 20 steps, for a test alone."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def rewrite(run, **changes):
    """Other values in run.json, by somebody who knows of its digest."""
    content = json.loads((run / "run.json").read_text())
    content.pop("digest")
    RunFolder(run).write_settings({name: value for name, value in {**content, **changes}.items() if value is not ...})


def refused(run, match, call=fr.load):
    """The call ends in one short line, and does not wait for what never comes."""
    with pytest.raises(ValueError, match=match) as caught, ends():
        call(run)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


# Damage


def newest(run):
    return max(run.glob("checkpoint-*.npz"), key=lambda place: place.stat().st_mtime_ns)


@pytest.mark.parametrize("slot", [0, 1])
def test_the_end_of_a_run_is_in_both_checkpoints(run, slot):
    expected = fr.load(run)
    (run / f"checkpoint-{slot}.npz").write_bytes(b"damaged")
    found = fr.load(run)
    np.testing.assert_array_equal(found.members(POINTS), expected.members(POINTS))
    assert found.status == expected.status


def test_an_older_checkpoint_is_never_called_finished(run, caplog):
    with caplog.at_level("WARNING", logger="fredholm"):
        begun = solved(run.parent / "begun", steps=1)
        for slot in (0, 1):
            shutil.copy(run.parent / "begun" / "checkpoint-0.npz", run / f"checkpoint-{slot}.npz")
        loaded = fr.load(run)
    np.testing.assert_array_equal(loaded.members(POINTS), begun.members(POINTS))
    assert loaded.steps == 1
    assert [entry.status for entry in loaded.status] == [fr.Status.INTERRUPTED] * 2
    assert "finished" not in repr(loaded)
    assert "the state of step 1 is used; that of step 20 is damaged" in caplog.text
    assert fr.resume(run, progress=False).steps == 20


@pytest.mark.parametrize("name", ["run.json", "history.nc"])
def test_no_flipped_bit_changes_what_is_loaded(run, name):
    expected, content = fr.load(run), (run / name).read_bytes()
    rng = np.random.default_rng(5)
    for at in rng.integers(0, len(content), 60):
        flipped = bytearray(content)
        flipped[at] ^= 1 << rng.integers(8)
        (run / name).write_bytes(flipped)
        with contextlib.suppress(ValueError):
            found = fr.load(run)
            xr.testing.assert_identical(found.history, expected.history)
            assert found.settings == expected.settings


def test_a_settings_file_changed_by_hand_says_what_to_do(run):
    text = (run / "run.json").read_text().replace('"MLP(', '"MLQ(')
    (run / "run.json").write_text(text)
    refused(run, "does not fit its digest. If you have changed it yourself, delete the line")
    (run / "run.json").write_text("".join(line for line in text.splitlines(True) if '"digest"' not in line))
    refused(run, "network: unknown name 'MLQ'. Did you mean 'MLP'")


def test_the_network_of_a_problem_is_not_taken_for_the_users_own(tmp_path):
    import equinox as eqx
    import jax

    own = lambda key: eqx.nn.MLP(1, 1, 4, 1, jax.nn.tanh, key=key)  # noqa: E731
    solved(tmp_path / "run", network=own)
    refused(tmp_path / "run", "network was your own")
    assert fr.load(tmp_path / "run", network=own).steps == 20


# Kills


class Killed(BaseException):
    pass


def killed_at(monkeypatch, count):
    """The process ends at the write with this number."""
    write, left = files.write_atomically, [count]

    def until(path, content):
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        write(path, content)

    for module in (files, run_folder):
        monkeypatch.setattr(module, "write_atomically", until)


@pytest.mark.parametrize("count", range(12))
def test_a_kill_at_any_write_leaves_what_resume_or_solve_can_use(tmp_path, monkeypatch, count, finished):
    place = tmp_path / "run"
    with monkeypatch.context() as patch:
        killed_at(patch, count)
        with pytest.raises(Killed):
            solved(place)
    if not (place / "run.json").exists():
        refused(place, "not a run folder")
        solved(place)
    elif not list(place.glob("checkpoint-*")):
        refused(place, "killed before its first checkpoint; fredholm resume .* starts it again")
        fr.resume(place, progress=False)
    else:
        steps = fr.load(place).steps
        with pytest.raises(ValueError, match="not empty"):
            solved(place)
        assert fr.resume(place, progress=False).steps == 20 >= steps
    whole, again = (RunFolder(one).read_checkpoint()[0] for one in (finished, place))
    assert all(np.array_equal(again[name], whole[name], equal_nan=True) for name in whole)
    xr.testing.assert_identical(RunFolder(finished).read_history(), RunFolder(place).read_history())
    assert [entry.status for entry in fr.load(place).status] == [fr.Status.FINISHED] * 2


def test_a_run_that_ended_early_is_to_be_continued_and_not_to_have_0_steps():
    report = fr.solve(fr.problems.Volterra(), minutes=0.0, steps=500, **TINY).diagnose()
    assert "unfinished" in report
    assert "the training ended at step 0 of 500. Continue it" in repr(report)
    assert "steps" not in report.remedy


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_the_state(tmp_path, monkeypatch, number):
    advance, before = Training.advance, signal.getsignal(number)

    def ended(self, stop):
        if self.step >= 10:
            signal.raise_signal(number)
        advance(self, stop)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "advance", ended)
        with pytest.raises(fr.Interrupted, match="fredholm resume"):
            solved(tmp_path / "run", steps=500)
    assert signal.getsignal(number) is before
    stopped = fr.load(tmp_path / "run").steps
    assert 10 <= stopped < 500
    assert fr.resume(tmp_path / "run", steps=stopped + 3, progress=False).steps == stopped + 3


@pytest.mark.parametrize("module", ["numpy", "jax", "fredholm.api", "fredholm.problems.volterra", "fredholm.training.training"])
def test_ctrl_c_while_a_command_starts_has_no_traceback(tmp_path, module):
    hook = f"lambda event, names: event == 'import' and names[0] == {module!r} and os.kill(os.getpid(), {signal.SIGINT:d})"
    (tmp_path / "sitecustomize.py").write_text(f"import os, sys\nsys.addaudithook({hook})\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    line = command("solve", "volterra", "--steps", "1000000")
    ended = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, timeout=300)
    assert ended.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in ended.stderr


def test_a_program_that_imports_the_package_keeps_its_ctrl_c():
    code = "import signal, fredholm; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    subprocess.run([sys.executable, "-c", code], check=True)


# Harm

WRONG_SETTINGS = {
    "a key that is not known": ({"widht": 3}, "unknown key 'widht'"),
    "a key that is missing": ({"network": ...}, "'network' is missing"),
    "a huge network": ({"network": "MLP(width=1000000000, depth=3, activation='tanh')"}, "MLP"),
    "a deep network": ({"network": "MLP(width=4, depth=1000000000, activation='tanh')"}, "MLP depth"),
    "huge inputs": ({"inputs": 10**9}, "inputs: got 1000000000; expected a whole number from 1"),
    "another network": ({"network": "MLP(width=5, depth=1, activation='tanh')"}, r"(has shape .*expected|has no)"),
    "other seeds": ({"seeds": [0, 7]}, "other seeds"),
    "more seeds": ({"seeds": [0, 1, 2]}, "how they ended"),
    "steps in words": ({"steps": "many"}, "steps: got 'many'"),
    "negative steps": ({"done": -1}, "done: got -1"),
    "a status that is none": ({"status": [["PERFECT", 20], ["FINISHED", 20]]}, "status: got"),
    "seconds that are no number": ({"seconds": float("nan")}, "seconds: got nan"),
    "a problem that is a list": ({"problem": [1]}, "problem: got"),
    "deep nesting": ({"auto": {"a": json.loads("[" * 100 + "]" * 100)}}, "levels deep"),
    "an origin of numbers": ({"origin": {"file": 3}}, "origin: file: got 3"),
    "hashes that are numbers": ({"history": [3]}, "history: got"),
}


@pytest.mark.parametrize("name", WRONG_SETTINGS)
def test_settings_are_checked_before_anything_is_built(run, name):
    changes, message = WRONG_SETTINGS[name]
    rewrite(run, **changes)
    refused(run, message)


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, "[]", '{"format": true}', '{"format": 2, "format": 2}', "9" * 10_000, '{"format": "2"}']
)
def test_text_that_is_not_a_settings_file_is_refused(run, text):
    (run / "run.json").write_text(text)
    refused(run, "run.json cannot be read|the run's format is")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes by name here")
@pytest.mark.parametrize("name", ["run.json", "history.nc", "checkpoint-0.npz"])
def test_a_pipe_is_not_read(run, name):
    for place in run.glob("checkpoint-*" if "checkpoint" in name else name):
        place.unlink()
        os.mkfifo(place)
    refused(run, "regular file|not a run folder|no intact checkpoint")


def history_with(run, make):
    """Another history.nc, of which run.json knows."""
    place = run / "history.nc"
    place.unlink()
    with h5py.File(place, "w") as file:
        for name, values in {"seed": [0, 1], "step": [10, 20]}.items():
            file[name] = values
        make(file)
    rewrite(run, history=[files.digest_of(place.read_bytes())])


def virtual(file):
    layout = h5py.VirtualLayout(shape=(2, 2), dtype="f8")
    layout[:] = h5py.VirtualSource("other.h5", "loss", shape=(2, 2))
    file.create_virtual_dataset("loss", layout)


HISTORIES = {
    "a link to another file": lambda file: file.__setitem__("loss", h5py.ExternalLink("other.h5", "loss")),
    "a link inside": lambda file: file.__setitem__("loss", h5py.SoftLink("/seed")),
    "data in another file": lambda file: file.create_dataset("loss", (2, 2), "f8", external=[("other.h5", 0, 32)]),
    "a virtual array": virtual,
    "an array that is not there": lambda file: file.create_dataset("loss", (10**6, 10**6), "f8"),
    "a compressed array": lambda file: file.create_dataset("loss", data=np.zeros((1000, 1000)), compression="gzip"),
    "a group": lambda file: file.create_group("loss"),
    "text": lambda file: file.create_dataset("loss", data="loss"),
    "another shape": lambda file: file.create_dataset("loss", data=np.zeros(2)),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_reads_nothing_but_its_own_numbers(run, name):
    history_with(run, HISTORIES[name])
    refused(run, "history.nc is damaged")


def bomb(place):
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("step.npy", bytes(200_000_000))


def array_that_is_not_there(place):
    header = (
        b"\x93NUMPY\x01\x00"
        + (118).to_bytes(2, "little")
        + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117)
        + b"\n"
    )
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("step.npy", header)


@pytest.mark.parametrize("make", [bomb, array_that_is_not_there])
def test_a_checkpoint_allocates_only_what_it_holds(run, make, caplog):
    for slot in (0, 1):
        make(run / f"checkpoint-{slot}.npz")
    refused(run, "no intact checkpoint")
    assert "is damaged" in caplog.text


def test_a_lock_that_is_a_link_is_not_followed(run, tmp_path):
    (tmp_path / "mine").write_text("kept")
    (run / ".lock").unlink(missing_ok=True)
    (run / ".lock").symlink_to(tmp_path / "mine")
    refused(run, "a link to another place", lambda place: fr.resume(place, steps=21, progress=False))
    assert (tmp_path / "mine").read_text() == "kept"
