"""Runs what is missing of a study, here or on a cluster, and writes its tables."""

import contextlib
import logging
from collections.abc import Generator

from fredholm.common.checks import positive_integer
from fredholm.study.cluster import connected, on_cluster
from fredholm.study.estimate import estimates
from fredholm.study.folder import StudyFolder
from fredholm.study.local import End, in_order, in_processes
from fredholm.study.outcome import Outcome
from fredholm.study.progress import Total, total_progress
from fredholm.study.tables import write_tables

logger = logging.getLogger("fredholm")


def run_study(
    folder: StudyFolder,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    cores: int | None = None,
    checkpoint_every: int | None = None,
    one_device: bool = False,
    progress: bool = True,
) -> dict[str, Outcome]:
    """Runs what is missing and returns all finished runs by name.

    By default runs follow each other, each with its seeds over all cores of this machine. `workers` is the number of parallel processes,
    `scheduler` the address of a Dask scheduler, and `cores` the number of CPU cores of each parallel run. With `one_device` a run on a
    cluster takes one device of its worker, and the worker's threads do as many runs at once; default: each run takes all devices of its
    worker. Finished runs are kept: after Ctrl-C, a crash or the loss of the cluster the same call continues.
    """
    if workers is not None:
        positive_integer("workers", workers)
        if scheduler is not None:
            raise ValueError("workers, scheduler: got both; expected one of them: a cluster has its own workers.")
    if cores is not None:
        positive_integer("cores", cores)
    if one_device and scheduler is None:
        raise ValueError("one_device: got no scheduler; expected the address of a Dask scheduler with it, whose workers have the devices.")
    missing = folder.missing()
    stuck = [run.name for run in missing if run.own]
    if stuck and (workers is not None or scheduler is not None):
        raise ValueError(
            f"run {stuck[0]!r}: its equation was made in Python and stays in this process; got workers or a scheduler. Put the equation "
            "into a file and give make_run 'path/to/file.py:name', or leave both out."
        )
    with contextlib.ExitStack() as stack:
        client = None if scheduler is None else stack.enter_context(connected(scheduler))
        folder.begin()
        stack.enter_context(folder.locked())
        total: Total = stack.enter_context(total_progress(estimates(missing), shown=progress and bool(missing)))
        ends: Generator[End, None, None]
        if client is not None:
            ends = on_cluster(client, missing, folder.pool, total, cores, checkpoint_every, one_device)
        elif workers is not None:
            ends = in_processes(missing, folder.pool, total, workers, cores, checkpoint_every)
        else:
            ends = in_order(missing, folder.pool, total, checkpoint_every)
        with contextlib.closing(ends):
            for run, reason in ends:
                if reason:
                    folder.write_failure(run, reason)
                    logger.warning("%s failed: %s", run.name, reason)
                else:
                    folder.clear_failure(run)
                total.end(run, reason)
    return write_tables(folder)
