"""The devices that the seeds run on. The number of CPU devices is set before JAX starts."""

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from fredholm.common.checks import positive_integer
from fredholm.common.compiling import compiled_once

Tree = TypeVar("Tree")
SEEDS = PartitionSpec("seeds")
EVERYWHERE = PartitionSpec()
CACHED = 2**17  # bytes: with a larger array in a step, a CPU core waits for main memory; about a dozen such arrays are in use


def use_all_cores(count: int | None = None) -> None:
    """Makes every CPU core a device, so that seeds train side by side; call it once, before anything else uses JAX.

    The command line does this by itself. It has no effect on a machine with a GPU or TPU, whose devices JAX finds.

    Args:
        count (int): how many cores; None: all.

    Returns:
        Nothing.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> callable(fr.use_all_cores)  # at the top of a program: fr.use_all_cores()
        True

    See also:
        `keep_programs`.
    """
    count = None if count is None else positive_integer("use_all_cores", count)
    count = count or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else count or os.cpu_count() or 1
    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError as error:
        if len(jax.devices("cpu")) != count:
            raise RuntimeError(
                f"use_all_cores: JAX has already started with {len(jax.devices('cpu'))} CPU device(s). "
                "Call fredholm.use_all_cores() at the top of the program, before any array is made."
            ) from error


def seed_mesh(seeds: int) -> Mesh:
    """A mesh of as many devices as divide the number of seeds."""
    devices = jax.local_devices()
    count = max(n for n in range(1, len(devices) + 1) if seeds % n == 0)
    return Mesh(np.array(devices[:count]), ("seeds",))


def seeds_at_once(seeds: int, largest: int) -> int:
    """How many of a device's seeds go through a step together; `largest` is the bytes of the largest array of one seed.

    A GPU takes them all. A CPU is fastest while the arrays of a step stay in a core's cache. So there the seeds go in blocks of equal size,
    each block through all steps of a chunk before the next: without blocks 100 seeds of Maxwell's problem take twice as long.
    """
    if jax.default_backend() != "cpu":
        return seeds
    return max(n for n in range(1, seeds + 1) if seeds % n == 0 and (n == 1 or n * largest <= CACHED))


def points_at_once(batch: int, largest: int) -> int:
    """How many x of a batch go through a step together; `largest` is the bytes of the largest array of a step.

    On a CPU, as many as fit into a core's cache: Poisson's equation with 400 x and 100 nodes each takes half the time and a fiftieth of the
    memory.
    """
    if jax.default_backend() != "cpu" or largest <= CACHED:
        return batch
    return max(1, batch * CACHED // largest)


def over_seeds(
    one_seed: Callable[..., Any], is_per_seed: Sequence[bool], mesh: Mesh, together: int, is_short: bool = False
) -> Callable[..., Any]:
    """A function of one seed as a function of all seeds. Arguments that are per seed have a leading axis of seeds, and so have the results.

    Each device runs one program, with `together` seeds at a time; devices exchange nothing.
    """

    def of_a_device(*arguments: PyTree) -> PyTree:
        def of_a_seed(own: tuple[PyTree, ...]) -> PyTree:
            taken = iter(own)
            return one_seed(*(next(taken) if yes else argument for argument, yes in zip(arguments, is_per_seed, strict=True)))

        own = tuple(argument for argument, yes in zip(arguments, is_per_seed, strict=True) if yes)
        # A single seed has no axis of seeds: with a leading axis of length 1, XLA's sums over points take ten times as long.
        return jax.lax.map(of_a_seed, own, batch_size=together if together > 1 else None)

    compiled = compiled_once if is_short else jax.jit
    if mesh.size == 1:
        return compiled(of_a_device)
    # The check of varying axes is off: loops start from constants, which it takes for replicated values.
    specs = tuple(SEEDS if own else EVERYWHERE for own in is_per_seed)
    return compiled(jax.shard_map(of_a_device, mesh=mesh, in_specs=specs, out_specs=SEEDS, check_vma=False))


def place(tree: PyTree, mesh: Mesh, layout: PartitionSpec = SEEDS) -> PyTree:
    """Spreads arrays with a leading axis of seeds over the devices, or copies arrays EVERYWHERE.

    An array on one device would be copied to the others with every call. The copy goes through the host, since slicing an array on a device
    compiles a program for each shape.
    """
    sharding = NamedSharding(mesh, layout)

    def placed(leaf: jax.Array | np.ndarray) -> jax.Array:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(placed(jax.random.key_data(leaf)))
        return jax.device_put(np.asarray(leaf), sharding)

    return jax.tree.map(placed, tree)


def gather(tree: Tree) -> Tree:
    """Copies all arrays to one device, so that what is computed from them does not depend on the layout of the seeds."""
    first = jax.local_devices()[0]
    return jax.tree.map(lambda leaf: jax.device_put(leaf, first) if isinstance(leaf, jax.Array) else leaf, tree)
