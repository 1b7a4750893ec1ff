"""On a cluster: every run is a task of Dask, and its result comes back through Dask, so that no file system need be shared."""

import contextlib
import logging
import shutil
import socket
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fredholm.common.caches import cache_directory
from fredholm.storage.files import Arrays
from fredholm.storage.run_folder import RunFolder
from fredholm.study.own import received, text_of
from fredholm.study.progress import Total
from fredholm.study.run import Run
from fredholm.study.work import describe_failure, pack, perform, unpack
from fredholm.training.devices import a_free_device, use_all_cores
from fredholm.training.progress import Watched

if TYPE_CHECKING:
    import distributed

logger = logging.getLogger("fredholm")
ANSWER = 5.0  # seconds in which a scheduler must answer
PORT = 8786  # the default port of a scheduler
MOST_FRAMES = 100  # a scheduler's greeting begins with its number of frames, 8 bytes; more than this is another protocol
KEPT = 30 * 86_400.0  # seconds that a finished run stays on a worker's machine if no client fetches it
TOPIC = "fredholm"  # the scheduler's topic for the progress of runs
REPORT = 2.0  # seconds between two progress events of a run
RETRIES = 3  # of a task that ends with an error of the cluster; where a worker dies, Dask itself starts its task elsewhere


@contextlib.contextmanager
def connected(address: str) -> Iterator["distributed.Client"]:
    """A client of the scheduler at this address; a `ValueError` where none answers, or where a worker has another version of fredholm."""
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
    """The client that `connect` returns; a `ValueError` where it fails or takes too long. In a thread, since looking up a host and Dask's
    own client may ignore their time limits."""
    found: list[tuple[distributed.Client | None, str]] = []

    def work() -> None:
        try:
            found.append((connect(), ""))
        except Exception as error:  # a socket's error, a wrong address, or something else than a scheduler at the other end
            found.append((None, describe_failure(error)))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(ANSWER)
    client, reason = found[0] if found else (None, "no answer")
    if client is None:
        raise ValueError(
            f"--scheduler: no scheduler answers at {address!r} within {ANSWER:g} s ({reason[:200]}). Expected the address of a running "
            "scheduler, for instance tcp://127.0.0.1:8786; start one with: dask scheduler."
        )
    return client


def _listen(address: str) -> None:
    """Waits for the greeting that a scheduler sends to every new connection. Dask's own client would wait for minutes where something else
    answers, or would read its bytes as the lengths of messages."""
    scheme, _, rest = address.rpartition("://")
    if scheme not in ("", "tcp", "tls"):
        raise ValueError(f"got the scheme {scheme!r}; expected tcp or tls")
    place = urlsplit(f"//{rest}")
    with socket.create_connection((place.hostname, place.port or PORT), timeout=ANSWER) as line:
        if scheme == "tls":
            return  # the greeting comes only after the client's certificate
        greeting = b""
        while len(greeting) < 8 and (more := line.recv(8 - len(greeting))):
            greeting += more
        if len(greeting) < 8 or int.from_bytes(greeting, "little") > MOST_FRAMES:
            raise ValueError("something else than a Dask scheduler answers")


def _check_versions(client: "distributed.Client") -> None:
    """Refuses a cluster whose workers have another version of fredholm. A cluster without workers passes: its workers may come later."""
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
    client: "distributed.Client",
    runs: Sequence[Run],
    pool: Path,
    total: Total,
    cores: int | None,
    checkpoint_every: int | None = None,
    one_device: bool = False,
) -> Generator[tuple[Run, str], None, None]:
    """Submits the runs as tasks and yields each as it ends. If this client dies, finished runs are in the pool; the next call submits the
    rest."""
    from distributed import as_completed

    named = {run.key: run for run in runs}

    def on_progress(event: tuple[Any, dict[str, Any]]) -> None:
        progress = event[1]
        if progress.get("key") in named:  # another study may be on the same cluster
            total.at(named[progress["key"]], int(progress["step"]))

    client.subscribe_topic(TOPIC, on_progress)
    futures = {
        client.submit(
            remote,
            run.record(),
            dict(run.settings.arrays),
            text_of(run.source),
            cores,
            checkpoint_every,
            one_device,
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
        with contextlib.suppress(Exception):  # a later call clears it, by its age
            client.run(clear, fetched)


def clear(fetched: Sequence[str]) -> None:
    """On a worker: removes runs that a client has fetched, and those that no client fetched for a long time."""
    for folder in (cache_directory() / "study").glob("*"):
        with contextlib.suppress(OSError):
            if folder.name in fetched or time.time() - folder.stat().st_mtime > KEPT:
                shutil.rmtree(folder, ignore_errors=True)


def remote(
    run: dict[str, Any], arrays: Arrays, text: str, cores: int | None, checkpoint_every: int | None, one_device: bool = False
) -> tuple[dict[str, bytes], str]:
    """A task: the files of a finished run, or why it failed. `text` is the file of the user's own equation. With `one_device` the run
    takes a free device of its worker, else all of them.

    Checkpoints and the finished run stay on the worker's machine until a client has fetched the run: after a worker or a client was killed,
    the next one continues from there.
    """
    from dask import config
    from distributed import get_worker

    last = time.monotonic()

    def report(training: Watched) -> None:
        nonlocal last
        if time.monotonic() - last > REPORT:
            last = time.monotonic()
            with contextlib.suppress(ValueError):  # not on a worker: nobody listens
                get_worker().log_event(TOPIC, {"key": own.key, "step": training.step})

    with contextlib.suppress(RuntimeError):  # an earlier task of this worker has started JAX
        use_all_cores(cores)
    own = Run.from_record(run, arrays)
    folder, temporary = _scratch(own.key)
    try:
        if own.source:
            own = own._replace(source=received(own.source, text))
        # Inside a task xarray would ask the scheduler for a lock on every file it writes; these files belong to this worker alone.
        with config.set(scheduler="synchronous"), a_free_device() if one_device else contextlib.nullcontext():
            perform(own, folder, progress=report, checkpoint_every=checkpoint_every)
        files = pack(folder)
    except Exception as error:
        return {}, describe_failure(error)
    finally:
        if temporary:
            shutil.rmtree(folder.parent, ignore_errors=True)
    return files, ""


def _scratch(key: str) -> tuple[Path, bool]:
    """The folder of the run's checkpoints, and whether it is temporary: it is where another worker still trains the same run."""
    folder = cache_directory() / "study" / key
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.is_dir():
        try:
            with RunFolder(folder).locked():
                pass
        except ValueError:
            return folder.parent / f"{key}-{uuid.uuid4().hex}" / "run", True  # `clear` removes it by its age if this worker is killed
    return folder, False
