"""On this machine: runs in order, their seeds over all cores; or several processes, each with a share of the cores."""

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import jax

from fredholm.study.progress import Total
from fredholm.study.result import steps_done
from fredholm.study.run import Run
from fredholm.study.work import describe_failure, perform
from fredholm.training.devices import use_all_cores
from fredholm.training.program_cache import keep_programs

POLL = 1.0  # seconds after which the progress of the processes is read again
ATTEMPTS = 3  # a run whose process was killed this many times has failed
End = tuple[Run, str]  # a run that has ended, and why it failed


def in_order(runs: Sequence[Run], pool: Path, total: Total, checkpoint_every: int | None = None) -> Generator[End, None, None]:
    """One run after the other in this process. Ctrl-C saves the one under way."""
    for run in runs:
        try:
            perform(run, pool / run.key, progress=total.callback(run), checkpoint_every=checkpoint_every)
            yield run, ""
        except Exception as error:  # a failed run is a row of the table, never the end of the study
            yield run, describe_failure(error)


def in_processes(
    runs: Sequence[Run], pool: Path, total: Total, workers: int, cores: int | None, checkpoint_every: int | None = None
) -> Generator[End, None, None]:
    """`workers` processes, started afresh and not forked. One that is killed is replaced, and its run goes on from its checkpoint.

    How far they are is read from their checkpoints.
    """
    cores = cores or max(1, (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) // workers)
    waiting, attempts = list(runs), dict.fromkeys((run.key for run in runs), 0)
    while waiting:
        with _processes(workers, cores) as executor:
            futures: dict[Future[str], Run] = {executor.submit(_perform, run, pool, checkpoint_every): run for run in waiting}
            waiting = []
            while futures:
                done, going = wait(futures, timeout=POLL, return_when=FIRST_COMPLETED)
                for future in going:
                    if step := steps_done(pool / futures[future].key):
                        total.at(futures[future], step)
                for future in done:
                    run = futures.pop(future)
                    try:
                        yield run, future.result()
                    except BrokenProcessPool as error:  # every run of the pool ends like this, whichever process it was
                        attempts[run.key] += 1
                        if attempts[run.key] < ATTEMPTS:
                            waiting.append(run)
                        else:
                            yield run, describe_failure(error)


@contextlib.contextmanager
def _processes(workers: int, cores: int) -> Iterator[ProcessPoolExecutor]:
    """A pool that ends with an interruption; runs that had not begun are cancelled."""
    context, cache = multiprocessing.get_context("spawn"), getattr(jax.config, "jax_compilation_cache_dir", None)
    executor = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(cores, cache))
    try:
        yield executor
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _begin(cores: int, cache: str | None) -> None:
    """Before JAX starts in a new process: its devices, and the cache of compiled programs of the process that started it."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    use_all_cores(cores)
    if cache is not None:
        with contextlib.suppress(ValueError):  # a folder that somebody else may write to, by a setting of JAX itself
            keep_programs(cache)


def _end_with_parent() -> None:
    """Ends this process when its parent ends, for whatever reason: nobody would fetch its runs, and it would keep a core busy. Its
    checkpoints are kept."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _perform(run: Run, pool: Path, checkpoint_every: int | None) -> str:
    """In a process of its own. Ctrl-C reaches it too, and it saves its run."""
    try:
        perform(run, pool / run.key, checkpoint_every=checkpoint_every)
    except (Exception, KeyboardInterrupt) as error:
        return describe_failure(error)
    return ""
