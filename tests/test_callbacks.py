"""Callbacks between chunks see a training, may end it, and change nothing; loggers write what the real tools read."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import fredholm as fr

SETTINGS = {"rule": fr.MonteCarlo(2), "network": fr.MLP(4, 1), "steps": 40, "batch": 8, "seeds": 2, "record_every": 10, "progress": False}
PROBLEM = fr.problems.Volterra()


class Watch(fr.AfterRecord):
    """Notes everything, and ends or raises at a step."""

    def __init__(self, end_at=None, raise_at=None):
        super().__init__()
        self.end_at, self.raise_at, self.steps, self.ended = end_at, raise_at, [], None

    def after_record(self, training):
        self.steps.append(training.step)
        if training.step == self.raise_at:
            raise RuntimeError("of the callback")
        return fr.Status.STOPPED if training.step == self.end_at else None

    def at_end(self, training, ended):
        self.ended = ended


def solve(*callbacks, **changes):
    return fr.solve(PROBLEM, fr.DelayedTarget(), **{**SETTINGS, **changes}, callbacks=list(callbacks))


def test_a_callback_sees_every_record_and_changes_nothing():
    watch = Watch()
    with_it, without = solve(watch), solve()
    assert watch.steps == [10, 20, 30, 40]
    assert watch.ended is fr.Status.FINISHED
    np.testing.assert_array_equal(with_it.members(np.linspace(0, 5, 7)), without.members(np.linspace(0, 5, 7)))


def test_a_callback_ends_a_training():
    solution = solve(Watch(end_at=20))
    assert solution.steps == 20
    assert solution.status[0].status is fr.Status.STOPPED


def test_a_callback_that_raises_ends_the_run_with_its_state_saved(tmp_path):
    with pytest.raises(RuntimeError, match="of the callback"):
        solve(Watch(raise_at=20), out=tmp_path / "run")
    watch = Watch()
    resumed = fr.resume(tmp_path / "run", callbacks=[watch], progress=False)
    assert watch.steps == [30, 40]  # the first 20 steps were kept
    np.testing.assert_array_equal(resumed.members(np.linspace(0, 5, 7)), solve().members(np.linspace(0, 5, 7)))


def test_what_is_no_callback_is_refused_before_anything_runs():
    code = "import fredholm as fr; fr.solve(fr.problems.Volterra(), callbacks={})"
    for wrong, words in (("[print]", "expected for instance"), ("[fr.TensorBoard]", "with its parentheses"), ("3", "got 3; expected")):
        done = subprocess.run([sys.executable, "-c", code.format(wrong)], capture_output=True, text=True, check=False)
        assert "ValueError: callbacks: " in done.stderr
        assert words in done.stderr


def needs(package):
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"{package} is not installed")


@needs("tensorboard")
@pytest.mark.filterwarnings("ignore")
def test_tensorboard_reads_its_event_files(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    solution = solve(fr.TensorBoard(tmp_path))
    events = EventAccumulator(str(tmp_path)).Reload()
    found = {tag: [(one.step, float(one.tensor_proto.float_val[0])) for one in events.Tensors(tag)] for tag in events.Tags()["tensors"]}
    assert [step for step, _ in found["loss"]] == [10, 20, 30, 40]
    np.testing.assert_allclose([value for _, value in found["error"]], solution.history["error"].mean("seed"), rtol=1e-5)


@needs("mlflow")
@pytest.mark.filterwarnings("ignore")
def test_mlflow_reads_its_file_store(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # MLflow prefers a data base, which its slim package has not
    import mlflow

    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    solution = solve(fr.MLflow("trials", run_name="one"))
    (run,) = mlflow.search_runs(experiment_names=["trials"], output_format="list")
    assert run.data.params["steps"] == "40"
    assert run.data.metrics["loss"] == pytest.approx(float(solution.history["loss"].mean("seed")[-1]))


@needs("wandb")
@pytest.mark.filterwarnings("ignore")
def test_weights_and_biases_writes_offline(tmp_path):
    solve(fr.WandB(mode="offline", dir=str(tmp_path)))
    assert list(tmp_path.rglob("*.wandb"))


@pytest.mark.skipif(importlib.util.find_spec("wandb") is not None, reason="wandb is installed")
def test_a_missing_package_is_named():
    with pytest.raises(ValueError, match="pip install wandb"):
        solve(fr.WandB())
