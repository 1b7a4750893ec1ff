"""A real scheduler and two real workers on loopback: a client and a worker are killed in mid-run; the table is that of one machine."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import xarray as xr

import fredholm as fr
from commands import FILE
from fredholm.__main__ import main
from fredholm.study import StudyFolder, cluster, make_run, work
from fredholm.study.cluster import clear, connected, remote
from fredholm.study.estimate import estimates
from fredholm.study.local import in_processes
from fredholm.study.own import text_of
from fredholm.study.progress import Total
from patience import ends

pytest.importorskip("distributed", reason="dask.distributed, the extra `cluster`, is not installed")

PATIENCE = 900.0  # seconds, for a machine that is busy with other things
STUDY = """
base: {problem: volterra, width: 4, depth: 1, steps: 3000, batch: 8, seeds: 2, n: 1, record-every: 500}
runs:
  standard: {method: standard}
  delayed: {method: delayed-target}
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with the study in it, and what this machine alone makes of it."""
    folder = tmp_path_factory.mktemp("cluster")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("study.yaml").write_text(STUDY)
        assert main(["study", "study.yaml", "--out", "local"]) == 0
        yield folder


def dask(*arguments: str, cache: Path) -> subprocess.Popen:
    environment = {**os.environ, "FREDHOLM_CACHE": str(cache), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen([sys.executable, "-m", "dask", *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def until(condition, seconds: float = PATIENCE):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return found


def under_way(scratch: Path, names: set[str]) -> set[str]:
    """The runs that have a checkpoint in the middle of their training."""

    def done(key: str) -> int:
        try:
            return json.loads((scratch / key / "run.json").read_text())["done"]
        except (OSError, ValueError):
            return 0

    return {key for key in names if done(key) > 0}


def same_results(first: StudyFolder, second: StudyFolder) -> None:
    assert (first.path / "table.csv").read_bytes() == (second.path / "table.csv").read_bytes()
    for run in first.runs:
        histories = [xr.load_dataset(folder.place(run) / "history.nc", engine="h5netcdf") for folder in (first, second)]
        xr.testing.assert_identical(*histories)


def test_a_client_and_a_worker_that_are_killed_cost_nothing_but_time(here, tmp_path):
    contact, cache = tmp_path / "scheduler.json", tmp_path / "cache"
    flags = ("--scheduler-file", str(contact))
    processes = [dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *flags, cache=cache)]
    try:
        until(contact.exists)
        for _ in range(2):
            options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
            processes.append(dask("worker", *flags, *options, cache=cache))
        address = until(lambda: json.loads(contact.read_text() or "{}")).get("address")
        local = StudyFolder.open(here / "local")
        keys = {run.key for run in local.runs}

        def client() -> subprocess.Popen:
            command = ["study", str(here / "study.yaml"), "--out", str(here / "remote"), "--scheduler", address]
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "fredholm", *command, "--cores", "2", "--checkpoint-every", "50"],
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                    stderr=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            return processes[-1]

        first = client()
        until(lambda: len(under_way(cache / "study", keys)) == 2 or first.poll() is not None)
        assert first.poll() is None, first.communicate()
        first.kill()
        os.kill(processes[1].pid, signal.SIGKILL)
        # The run of the worker that is left goes on by itself, and stays there for whoever asks next.
        kept = until(lambda: list((cache / "study").glob("*/result.json")))[0]
        when = kept.stat().st_mtime_ns
        second = client()
        until(lambda: (here / "remote" / "runs" / kept.parent.name / "result.json").is_file() or second.poll() is not None)
        assert not kept.exists() or kept.stat().st_mtime_ns == when, "it was fetched, not made again"
        out, error = second.communicate(timeout=PATIENCE)
        assert second.returncode == 0, out + error
        same_results(local, StudyFolder.open(here / "remote"))
        assert not list((cache / "study").glob("*/run.json"))
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_the_process_that_conducts_a_study_may_be_killed(here, monkeypatch):
    """What had finished is kept, what was under way goes on from its checkpoint, and the table is the same."""
    local, command = StudyFolder.open(here / "local"), ["study", str(here / "study.yaml"), "--out", str(here / "killed")]
    first, second = (here / "killed" / "runs" / run.key for run in local.runs)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    arguments = [sys.executable, "-m", "fredholm", *command, "--checkpoint-every", "50"]
    conductor = subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        until(lambda: under_way(second.parent, {second.name}) or conductor.poll() is not None)
        assert conductor.poll() is None, conductor.communicate()
    finally:
        conductor.kill()  # -9
        conductor.communicate()
    assert (first / "result.json").is_file()
    assert not (second / "result.json").exists()
    finished, trained = (first / "result.json").stat().st_mtime_ns, []
    monkeypatch.setattr(work, "solve", None)  # nothing starts from its beginning
    monkeypatch.setattr(work, "resume", lambda folder, steps, **keywords: trained.append(folder) or fr.resume(folder, steps, **keywords))
    assert main(command) == 0
    assert trained == [second]
    assert (first / "result.json").stat().st_mtime_ns == finished
    same_results(local, StudyFolder.open(here / "killed"))


def test_several_processes_give_the_same_table(here):
    local = StudyFolder.open(here / "local")
    again = StudyFolder.create(here / "processes", local.title, local.runs)
    again.begin()
    told = []
    total = Total(estimates(again.runs), lambda total, text: told.append(text))
    ends = list(in_processes(again.runs, again.pool, total, workers=2, cores=2, checkpoint_every=50))
    assert sorted((run.name, reason) for run, reason in ends) == [("delayed", ""), ("standard", "")]
    assert any(re.fullmatch(r"(delayed|standard): step \d+ of 3000", text) for text in told)  # how far they are, before they end
    for run in again.runs:
        histories = [xr.load_dataset(folder.place(run) / "history.nc", engine="h5netcdf") for folder in (local, again)]
        xr.testing.assert_identical(*histories)


def test_a_worker_needs_no_file_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("FREDHOLM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "mine.py").write_text(FILE)
    settings = {"network": fr.MLP(4, 1), "steps": 20, "batch": 8, "seeds": 2, "average": 0.0, "optimizer": fr.Adam()}
    run = make_run("own", f"{tmp_path / 'mine.py'}:make", fr.Standard(), options={"rate": 2.0}, **settings)
    text = text_of(run.source)
    (tmp_path / "mine.py").unlink()
    files, reason = remote(run.record(), {}, text, None, None)
    assert reason == ""
    assert "result.json" in files
    clear([run.key])
    assert "the file has changed" in remote(run.record(), {}, text + "# edited", None, None)[1]


@pytest.fixture
def stranger():
    """An address where something accepts connections, and says what it is told to say."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        lines = []

        def answer(text: bytes) -> str:
            def work() -> None:
                with contextlib.suppress(OSError):
                    while True:
                        lines.append(server.accept()[0])
                        lines[-1].sendall(text)

            threading.Thread(target=work, daemon=True).start()
            return f"tcp://127.0.0.1:{server.getsockname()[1]}"

        yield answer
        for line in lines:
            line.close()


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["silent", "no scheduler"])
def test_something_else_at_the_address_is_said_and_nothing_hangs(says, stranger, tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY)
    command = [sys.executable, "-m", "fredholm", "study", "study.yaml", "--scheduler", stranger(says)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert "--scheduler: no scheduler answers" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "http://127.0.0.1:9", "tcp://127.0.0.1:port"])
def test_a_scheduler_that_does_not_answer_is_said_soon(address):
    assert cluster.ANSWER <= 5
    with ends(), pytest.raises(ValueError, match="--scheduler: no scheduler answers"), connected(address):
        pass
