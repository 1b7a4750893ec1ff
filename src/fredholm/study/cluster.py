"""On a cluster: every run is a task of Dask, and its result comes back through Dask, so that no file system need be shared."""

import contextlib
import logging
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fredholm.common.caches import cache_directory
from fredholm.storage.run_folder import Arrays, RunFolder
from fredholm.study.own import received, text_of
from fredholm.study.progress import Total
from fredholm.study.run import Run
from fredholm.study.work import describe_failure, pack, perform, unpack
from fredholm.training.devices import use_all_cores
from fredholm.training.progress import Watched

if TYPE_CHECKING:
    import distributed

logger = logging.getLogger("fredholm")
ANSWER = 5.0  # seconds that a scheduler has to answer
PORT = 8786  # of a scheduler, unless given
MOST_FRAMES = 100  # of a message: a scheduler's greeting begins with their number, 8 bytes
KEPT = 30 * 86_400.0  # seconds that a finished run which nobody fetched stays on a worker's machine
TOPIC = "fredholm"  # of the scheduler's events: how far runs are
TELL = 2.0  # seconds between two such events of a run
RETRIES = 3  # of a task that ends with an error of the cluster; one whose worker dies is started elsewhere by Dask itself


@contextlib.contextmanager
def connected(address: str) -> Iterator["distributed.Client"]:
    """A client of the scheduler at this address; a `ValueError` where there is none, or where workers have another fredholm."""
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--scheduler needs dask.distributed, which is not installed: pip install 'fredholm[cluster]'.") from None

    def connect() -> "distributed.Client":
        _listen(address)
        return Client(address, timeout=ANSWER, set_as_default=False)

    client = _in_time(connect, address)
    try:
        _check_versions(client)
        yield client
    finally:
        client.close(timeout=ANSWER)


def _in_time(connect: Callable[[], "distributed.Client"], address: str) -> "distributed.Client":
    """What `connect` returns, unless it fails or takes too long: to find a host, and Dask itself, may take longer than they are given."""
    found: list[tuple[distributed.Client | None, str]] = []

    def work() -> None:
        try:
            found.append((connect(), ""))
        except Exception as error:  # of a socket, of an address that is none, of something at the other end that is no scheduler
            found.append((None, describe_failure(error)))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(ANSWER)
    client, reason = found[0] if found else (None, "it is silent")
    if client is None:
        raise ValueError(
            f"--scheduler: no scheduler answers at {address!r} within {ANSWER:g} s ({reason[:200]}). Expected the address of a running "
            "scheduler, for instance tcp://127.0.0.1:8786; start one with: dask scheduler."
        )
    return client


def _listen(address: str) -> None:
    """Waits for the greeting of a scheduler, which it sends as soon as somebody connects: where something else is at the other end, Dask's
    own client waits for minutes, or takes whatever that sends for the lengths of messages."""
    scheme, _, rest = address.rpartition("://")
    if scheme not in ("", "tcp", "tls"):
        raise ValueError(f"got the scheme {scheme!r}; expected tcp or tls")
    place = urlsplit(f"//{rest}")
    with socket.create_connection((place.hostname, place.port or PORT), timeout=ANSWER) as line:
        if scheme == "tls":
            return  # it speaks when it has seen the client's certificate
        greeting = b""
        while len(greeting) < 8 and (more := line.recv(8 - len(greeting))):
            greeting += more
        if len(greeting) < 8 or int.from_bytes(greeting, "little") > MOST_FRAMES:
            raise ValueError("what is there is not a Dask scheduler")


def _check_versions(client: "distributed.Client") -> None:
    """Refuses a cluster whose workers have another fredholm; one without workers is waited for."""
    ours = metadata.version("fredholm")
    try:
        found: Any = client.run(metadata.version, "fredholm", on_error="return")
    except Exception as error:
        raise ValueError(f"--scheduler: its workers cannot be asked for their version: {describe_failure(error)}.") from None
    if not found:
        logger.warning("the scheduler has no workers yet; runs start when there are some")
    for worker, theirs in found.items():
        if theirs != ours:
            raise ValueError(f"--scheduler: the worker {worker} has fredholm {theirs}; expected {ours}, as here.")


def on_cluster(
    client: "distributed.Client", runs: Sequence[Run], pool: Path, total: Total, cores: int | None, checkpoint_every: int | None = None
) -> Generator[tuple[Run, str], None, None]:
    """Runs as tasks, and their ends as they come. If this client dies, what has come is in the pool, and the rest is asked for again."""
    from distributed import as_completed

    named = {run.key: run for run in runs}

    def heard(event: tuple[Any, dict[str, Any]]) -> None:
        told = event[1]
        if told.get("key") in named:  # another study may be on the same cluster
            total.at(named[told["key"]], int(told["step"]))

    client.subscribe_topic(TOPIC, heard)
    futures = {
        client.submit(
            remote,
            run.record(),
            dict(run.settings.arrays),
            text_of(run.source),
            cores,
            checkpoint_every,
            key=f"fredholm-{run.key}",
            retries=RETRIES,
            pure=False,
        ): run
        for run in runs
    }
    fetched = []
    try:
        for future in as_completed(list(futures), loop=client.loop):
            run = futures[future]
            try:
                files, reason = future.result()
                if not reason:
                    unpack(files, pool / run.key)
                    fetched.append(run.key)
            except Exception as error:  # the worker died too often, or the result did not arrive
                reason = describe_failure(error)
            future.release()
            yield run, reason
    finally:
        client.unsubscribe_topic(TOPIC)
        client.cancel([future for future in futures if not future.done()], force=True)
        with contextlib.suppress(Exception):  # what is not cleared now is cleared by age
            client.run(clear, fetched)


def clear(fetched: Sequence[str]) -> None:
    """On a worker: removes the runs that a client has, and those that nobody has asked for in a long time."""
    for folder in (cache_directory() / "study").glob("*"):
        with contextlib.suppress(OSError):
            if folder.name in fetched or time.time() - folder.stat().st_mtime > KEPT:
                shutil.rmtree(folder, ignore_errors=True)


def remote(run: dict[str, Any], arrays: Arrays, text: str, cores: int | None, checkpoint_every: int | None) -> tuple[dict[str, bytes], str]:
    """A task: the files of a finished run, or why it failed. `text` is the file of the user's own equation. Checkpoints and the finished
    run stay on the worker's machine until a client has fetched it: a worker that comes after one that was killed goes on from there, and
    so does a client."""
    from dask import config
    from distributed import get_worker

    last = time.monotonic()

    def tell(training: Watched) -> None:
        nonlocal last
        if time.monotonic() - last > TELL:
            last = time.monotonic()
            with contextlib.suppress(ValueError):  # not on a worker: there is nobody to tell
                get_worker().log_event(TOPIC, {"key": own.key, "step": training.step})

    with contextlib.suppress(RuntimeError):  # JAX runs already, since an earlier task of this worker
        use_all_cores(cores)
    own = Run.from_record(run, arrays)
    folder, temporary = _scratch(own.key)
    try:
        if own.source:
            own = own._replace(source=received(own.source, text))
        # Inside of a task xarray would ask the scheduler for a lock on every file it writes; this file is the worker's own.
        with config.set(scheduler="synchronous"):
            perform(own, folder, progress=tell, checkpoint_every=checkpoint_every)
        files = pack(folder)
    except Exception as error:
        return {}, describe_failure(error)
    finally:
        if temporary:
            shutil.rmtree(folder.parent, ignore_errors=True)
    return files, ""


def _scratch(key: str) -> tuple[Path, bool]:
    """Where the run's checkpoints are; a folder of its own where another worker is still at the same run."""
    folder = cache_directory() / "study" / key
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.is_dir():
        try:
            with RunFolder(folder).locked():
                pass
        except ValueError:
            return Path(tempfile.mkdtemp(prefix=f"fredholm-{key}-")) / "run", True
    return folder, False
