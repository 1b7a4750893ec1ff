"""Several processes that train one run together, on one machine or on many: each runs the same program, and they agree on what comes next.

All arrays of the host are whole in every process. Compiled programs cut them, and put their results together again. So everything outside
of them, from the pilot to the answer, is the same as with one process; only the first process writes and prints.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

HEARTBEAT = 10  # seconds without a sign of life after which a process counts as dead
LEAVING = 60  # seconds in which the first process writes its page, while the others wait to end together
MEETING = 120  # seconds in which all processes must have started


class LostProcessError(RuntimeError):
    """Another process of the run has ended, or cannot be reached."""


def join(variables: Mapping[str, str] = os.environ) -> None:
    """Joins the other processes of this run, before JAX starts. Slurm's srun, Open MPI's mpirun and Kubernetes are known to JAX. Other
    launchers set MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK, as torchrun does; the port after MASTER_PORT is used, for the launcher
    itself has that one."""
    given: dict[str, Any] = {}
    if "MASTER_ADDR" in variables:
        try:
            address, port = variables["MASTER_ADDR"], int(variables["MASTER_PORT"]) + 1
            given = {"num_processes": int(variables["WORLD_SIZE"]), "process_id": int(variables["RANK"])}
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"--distributed: got MASTER_ADDR without the number {error}; expected MASTER_PORT, WORLD_SIZE and RANK beside it. "
                "Start every process with: MASTER_ADDR=HOST MASTER_PORT=29500 WORLD_SIZE=2 RANK=0."
            ) from None
        given |= {"coordinator_address": f"{address}:{port}", "local_device_ids": _own_device(variables)}
    try:
        jax.distributed.initialize(
            **given, heartbeat_timeout_seconds=HEARTBEAT, initialization_timeout=MEETING, shutdown_timeout_seconds=LEAVING
        )
    except ValueError as error:
        raise ValueError(
            f"--distributed: no launcher is known here ({error}). Start the processes with srun or mpirun, or set MASTER_ADDR, "
            "MASTER_PORT, WORLD_SIZE and RANK for each."
        ) from None
    except RuntimeError as error:
        raise LostProcessError(f"--distributed: not all processes have started within {MEETING} s ({str(error).splitlines()[0]})") from None


def _own_device(variables: Mapping[str, str]) -> list[int] | None:
    return [int(variables["LOCAL_RANK"])] if "LOCAL_RANK" in variables else None


def is_first() -> bool:
    """True in the process that writes and prints; always where there is only one."""
    return jax.process_index() == 0


def agreed(value: int) -> int:
    """The largest of the numbers that the processes give. All of them must ask."""
    if jax.process_count() == 1:
        return value
    return _or_lost(lambda: int(np.max(multihost_utils.process_allgather(np.asarray(value, np.int32)))))


def across(program: Callable[..., Any], mesh: Mesh) -> Callable[..., Any]:
    """A compiled program over the devices of all processes, for arrays that are whole in each of them."""
    everywhere = NamedSharding(mesh, PartitionSpec())

    def spread(leaf: Any) -> Any:
        if isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(spread(jax.random.key_data(leaf)))
        values = np.asarray(leaf)
        return jax.make_array_from_callback(values.shape, everywhere, lambda index: values[index])

    def call(*arguments: PyTree) -> PyTree:
        # Waiting here keeps the state before the chunk where another process dies in it.
        found = _or_lost(lambda: jax.block_until_ready(program(*jax.tree.map(spread, arguments))))
        return jax.tree.map(lambda leaf: leaf.addressable_data(0), found)

    return call


def _or_lost(ask: Callable[[], Any]) -> Any:
    """What is asked of all processes; an error that says so where one of them is gone."""
    try:
        return ask()
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        if isinstance(error, ValueError) and "Gloo" not in str(error):  # which reports a lost connection in either class
            raise
        raise LostProcessError(f"another process of this run has ended ({str(error).splitlines()[0][:200]})") from error
