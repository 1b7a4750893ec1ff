"""The run folder: nothing lost, nothing unsafe."""

import json
import logging
import os
import signal
import subprocess
import sys

import h5netcdf
import numpy as np
import pytest
import xarray as xr

import fredholm as fr
from fredholm.storage.files import write_atomically
from fredholm.storage.run_folder import RunFolder
from fredholm.training.interrupt import deferred_interrupt
from fredholm.training.training import Training

TINY = {"network": fr.MLP(8, 1, "tanh"), "batch": 8, "progress": False}
POINTS = np.array([[0.5], [1.5]])


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path / "run")


def arrays(value):
    return {".u.weight": np.full((2, 3), value)}


def test_two_checkpoints_rotate(folder):
    for step in (1, 2, 3):
        folder.write_checkpoint(arrays(step), step)
    steps = sorted(folder._slot_step(slot) for slot in (0, 1))
    assert steps == [2, 3]
    kept, step = folder.read_checkpoint()
    assert step == 3
    assert np.array_equal(kept[".u.weight"], np.full((2, 3), 3))


@pytest.mark.parametrize("damage", ["cut short", "empty", "a flipped byte"])
def test_a_damaged_checkpoint_is_passed_over_with_a_message(folder, damage, caplog):
    folder.write_checkpoint(arrays(1.0), 1)
    folder.write_checkpoint(arrays(2.0), 2)
    newest = max((folder.path / f"checkpoint-{slot}.npz" for slot in (0, 1)), key=lambda path: path.stat().st_mtime_ns)
    content = bytearray(newest.read_bytes())
    if damage == "cut short":
        content = content[: len(content) // 2]
    elif damage == "empty":
        content = bytearray()
    else:
        at = bytes(content).index(np.full((2, 3), 2.0).tobytes())
        content[at] ^= 1
    newest.write_bytes(content)
    with caplog.at_level(logging.WARNING, logger="fredholm"):
        _, step = folder.read_checkpoint()
    assert step == 1
    assert "damaged" in caplog.text
    folder.write_checkpoint(arrays(3.0), 3)
    assert folder.read_checkpoint()[1] == 3
    assert sorted(folder._slot_step(slot) for slot in (0, 1)) == [1, 3], "the damaged one was written over, not the good one"


def test_a_write_that_fails_leaves_the_old_content_and_no_litter(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fail(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_pickles_are_not_loaded(folder):
    class Bomb:
        def __reduce__(self):
            return os.system, ("touch /tmp/fredholm-was-here",)

    with open(folder.path / "checkpoint-0.npz", "wb") as file:
        np.savez(file, step=np.asarray(1), digest=np.array([Bomb()], dtype=object))
    with pytest.raises(ValueError, match="no intact checkpoint"):
        folder.read_checkpoint()


def test_a_second_process_is_refused(folder):
    code = (
        "import sys; from fredholm.storage.run_folder import RunFolder\n"
        "try:\n    with RunFolder(sys.argv[1]).locked(): pass\n"
        "except ValueError as error: print(error)"
    )
    with folder.locked():
        held = subprocess.run([sys.executable, "-c", code, str(folder.path)], capture_output=True, text=True, check=True)
    free = subprocess.run([sys.executable, "-c", code, str(folder.path)], capture_output=True, text=True, check=True)
    assert "in use by another process" in held.stdout
    assert free.stdout == ""


def test_a_folder_that_exists_is_refused_and_left_alone(tmp_path):
    (tmp_path / "kept.txt").write_text("mine")
    with pytest.raises(ValueError, match="exists and is not empty"):
        fr.solve(fr.problems.Volterra(), steps=2, seeds=1, out=tmp_path, **TINY)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot write"):
        fr.solve(fr.problems.Volterra(), steps=2, seeds=1, out=tmp_path / "file" / "run", **TINY)


def test_wrong_settings_make_no_folder(tmp_path):
    with pytest.raises(ValueError, match="DoubleSampling"):
        fr.solve(fr.problems.Volterra(), fr.DoubleSampling(), rule=fr.MonteCarlo(1), steps=2, out=tmp_path / "run", **TINY)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("problem", [fr.problems.Volterra(), fr.problems.Poisson()])
def test_a_saved_run_comes_back_whole(problem, tmp_path):
    points = np.linspace(0.1, 0.9, 4 * problem.inputs).reshape(4, -1)
    made = fr.solve(problem, steps=4, seeds=2, out=tmp_path / "run", **TINY)
    found = fr.load(tmp_path / "run")
    copied = fr.load(found.save(tmp_path / "copy"))
    for other in (found, copied):
        assert np.array_equal(made.members(points), other.members(points))
        assert np.array_equal(made.target(points), other.target(points))
        assert made.summary() == other.summary()
        assert made.status == other.status
        xr.testing.assert_equal(made.history, other.history)
    assert fr.resume(tmp_path / "copy", steps=6, progress=False).steps == 6


def test_a_run_with_parts_of_ones_own_asks_for_them(tmp_path):
    import equinox as eqx
    import jax

    equation = fr.Equation(domain=fr.Interval(0.0, 1.0), f=lambda u, x: u(x) - 1.0, exact=lambda x: 1.0)
    network = lambda key: eqx.nn.MLP(1, 1, 4, 1, jax.nn.tanh, key=key)  # noqa: E731
    made = fr.solve(equation, fr.Standard(), network=network, steps=3, seeds=2, batch=4, out=tmp_path / "run", progress=False)
    with pytest.raises(ValueError, match="network="):
        fr.load(tmp_path / "run")
    found = fr.load(tmp_path / "run", network=network)
    assert np.array_equal(made(POINTS), found(POINTS))
    with pytest.raises(ValueError, match="problem="):
        found.evaluate()
    assert np.array_equal(found.evaluate(problem=equation)["mse"], made.evaluate()["mse"])
    with pytest.raises(ValueError, match="problem="):
        fr.resume(tmp_path / "run", steps=5)
    assert fr.resume(tmp_path / "run", steps=5, problem=equation, network=network, progress=False).steps == 5


def test_a_foreign_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not a run folder"):
        fr.load(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(ValueError, match="format is 99"):
        fr.load(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(ValueError, match="cannot be read"):
        fr.load(tmp_path)


def test_ctrl_c_saves_the_state(tmp_path, monkeypatch):
    advance = Training.advance

    def interrupted(self, stop):
        if self.step >= 20:
            signal.raise_signal(signal.SIGINT)
        advance(self, stop)

    monkeypatch.setattr(Training, "advance", interrupted)
    with pytest.raises(fr.Interrupted, match="fredholm resume") as caught:
        fr.solve(fr.problems.Volterra(), steps=500, seeds=1, out=tmp_path / "run", **TINY)
    monkeypatch.undo()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert caught.value.solution.status[0].status is fr.Status.INTERRUPTED
    stopped = fr.load(tmp_path / "run").steps
    assert 20 <= stopped < 500
    assert fr.resume(tmp_path / "run", steps=stopped + 3, progress=False).steps == stopped + 3


def test_ctrl_c_twice_does_not_wait():
    with deferred_interrupt() as interrupted:
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("steps", [0, 3])
def test_a_history_is_netcdf_that_comes_back_as_it_was(folder, steps):
    values = np.arange(2.0 * steps).reshape(2, steps)
    data = {"loss": (("seed", "step"), values), "error": (("seed", "step"), np.where(values > 1, np.nan, values))}
    history = xr.Dataset(data if steps else {}, coords={"seed": [7, 2**40], "step": list(range(steps))})
    folder.write(history, {}, steps, {"format": 2}, {})
    xr.testing.assert_identical(folder.read_history(), history)
    with h5netcdf.File(folder.path / "history.nc", "r") as file:
        assert {name: len(dimension) for name, dimension in file.dimensions.items()} == {"seed": 2, "step": steps}
        assert all(file[name].dimensions == ("seed", "step") for name in history)


def test_what_a_killed_process_left_half_written_is_removed(folder):
    left = folder.path / f".history.nc.{'0123456789abcdef' * 2}"
    left.write_bytes(b"half")
    (folder.path / ".notes").write_text("mine")
    with folder.locked():
        assert not left.exists()
    assert (folder.path / ".notes").exists()
