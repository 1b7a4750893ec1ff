"""Which devices the seeds run on. How many CPU devices there are is decided before JAX starts."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from fredholm.once import compiled_once

SEEDS = PartitionSpec("seeds")
EVERYWHERE = PartitionSpec()


def use_all_cores(count: int | None = None) -> None:
    """Makes every CPU core a device, so that seeds train side by side; call it once, before anything else uses JAX.

    The command line does this by itself. It has no effect on a machine with a GPU or TPU, whose devices JAX finds.
    """
    count = count or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else count or os.cpu_count() or 1
    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError as error:
        if len(jax.devices("cpu")) != count:
            raise RuntimeError(
                f"use_all_cores: JAX has already started with {len(jax.devices('cpu'))} CPU device(s). "
                "Call fredholm.use_all_cores() at the top of the program, before any array is made."
            ) from error


def keep_programs(folder: Path | str) -> None:
    """Compiled programs are kept in `folder`, which other processes may share."""
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # The check of an equation is hundreds of small programs, and they take most of the time before the first step.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    # JAX writes a program in place. Another process may find a part of it, and so may all later ones where the writer was killed; JAX warns
    # and compiles it itself, so there is nothing for the user to do.
    warnings.filterwarnings("ignore", "Error reading persistent compilation cache entry")


def seed_mesh(seeds: int) -> Mesh:
    """As many devices as divide the number of seeds."""
    devices = jax.local_devices()
    count = max(n for n in range(1, len(devices) + 1) if seeds % n == 0)
    return Mesh(np.array(devices[:count]), ("seeds",))


def over_seeds(function: Callable[..., Any], mesh: Mesh, in_specs: tuple[PartitionSpec, ...], is_short: bool = False) -> Callable[..., Any]:
    """A function of arrays with a leading axis of seeds, as one program on each device: nothing crosses between them."""
    compiled = compiled_once if is_short else jax.jit
    if mesh.size == 1:
        return compiled(function)
    # The check of varying axes is off: loops start from constants, which it takes for replicated values.
    return compiled(jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=SEEDS, check_vma=False))


def place(tree: Any, mesh: Mesh) -> Any:
    """Arrays with a leading axis of seeds, laid out over the devices; by way of the host, since to cut an array of a device into parts
    takes a program for each shape."""
    layout = NamedSharding(mesh, SEEDS)

    def placed(leaf: Any) -> jax.Array:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(placed(jax.random.key_data(leaf)))
        return jax.device_put(np.asarray(leaf), layout)

    return jax.tree.map(placed, tree)


def gather(tree: Any) -> Any:
    """All arrays on one device: what is computed from them then does not depend on how the seeds were laid out."""
    first = jax.local_devices()[0]
    return jax.tree.map(lambda leaf: jax.device_put(leaf, first) if isinstance(leaf, jax.Array) else leaf, tree)
