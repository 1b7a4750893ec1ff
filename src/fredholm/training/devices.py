"""The devices of a run: a mesh of seeds × points. The number of CPU devices is set before JAX starts."""

import contextlib
import functools
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from fredholm.common.checks import positive_integer
from fredholm.common.compiling import compiled_once
from fredholm.methods.sharing import AXIS
from fredholm.training.processes import across

logger = logging.getLogger("fredholm")
Tree = TypeVar("Tree")
SEEDS = PartitionSpec("seeds")
EVERYWHERE = PartitionSpec()
CACHED = 2**17  # bytes: with a larger array in a step, a CPU core waits for main memory; about a dozen such arrays are in use
_change, _taken = threading.Condition(), set[Any]()  # the devices that threads have taken for themselves
EXCHANGE = 2**18  # bytes of arrays that a CPU core computes in the time in which devices exchange a gradient


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
    count = count or _cores()
    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError as error:
        if len(jax.devices("cpu")) != count:
            raise RuntimeError(
                f"use_all_cores: JAX has already started with {len(jax.devices('cpu'))} CPU device(s). "
                "Call fredholm.use_all_cores() at the top of the program, before any array is made."
            ) from error


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def tell_of_idle_cores() -> None:
    """Says once how a program uses all cores."""
    logger.warning(
        "JAX has one CPU device here, and %d cores: the others are mostly idle. To use them all, add this line at the top of the program, "
        "before any array is made: fredholm.use_all_cores()",
        _cores(),
    )


def has_idle_cores() -> bool:
    """True where JAX was left with a single CPU device on a machine with more cores, and nobody has asked for that."""
    if jax.default_backend() != "cpu" or len(jax.devices()) > 1 or _cores() == 1:
        return False
    return jax.config.jax_num_cpu_devices < 0  # type: ignore[attr-defined]


def available() -> list[Any]:
    """The devices that a run may use: all, or the one that `jax.default_device` names."""
    chosen = jax.config.jax_default_device  # type: ignore[attr-defined]
    return [chosen] if isinstance(chosen, jax.Device) else jax.devices()


@contextlib.contextmanager
def a_free_device() -> Iterator[Any]:
    """Takes a device that no other thread of this process has taken so, and waits for one where there is none. Runs inside use it alone."""

    def free() -> Any:
        return next((device for device in jax.local_devices() if device not in _taken), None)

    with _change:
        _change.wait_for(lambda: free() is not None)
        device = free()
        _taken.add(device)
    try:
        with jax.default_device(device):
            yield device
    finally:
        with _change:
            _taken.remove(device)
            _change.notify()


class Layout(eqx.Module):
    """How seeds and points are laid out on the devices: a mesh whose rows have different seeds, and within a row different points.

    Where the rows do not divide the seeds, the compiled programs add seeds that are copies, and take them away from what they return: no
    array outside of them has more seeds than there are.
    """

    mesh: Mesh
    seeds: int

    @classmethod
    def of(cls, seeds: int, batch: int = 1, work: float | int = 0, same: float | int = 0) -> "Layout":
        """The fastest one. `work` is the bytes of the arrays in the loss of one seed, and `same` the part of them that is the same for all
        points, which each device of a row computes by itself."""
        devices = available()
        points = fastest(len(devices), seeds, batch, work, same)
        # Every process must have a part in every program.
        rows = len(devices) // points if jax.process_count() > 1 else min(len(devices) // points, seeds)
        return cls(Mesh(np.array(devices[: rows * points]).reshape(rows, points), ("seeds", AXIS)), seeds)

    @property
    def points(self) -> int:
        """Devices that work on one seed."""
        return self.mesh.shape[AXIS]

    @property
    def seeds_each(self) -> int:
        """Seeds of a device."""
        return -(-self.seeds // self.mesh.shape["seeds"])

    @property
    def padded(self) -> int:
        """Seeds of all devices, with those that are copies."""
        return self.seeds_each * self.mesh.shape["seeds"]

    @property
    def spec(self) -> PartitionSpec:
        """Where arrays with a leading axis of seeds are between two programs."""
        return SEEDS if self.padded == self.seeds and jax.process_count() == 1 else EVERYWHERE


def fastest(devices: int, seeds: int, batch: int, work: float | int, same: float | int) -> int:
    """The number of devices for the points of one seed that makes a step of all seeds fastest."""

    def cost(points: int) -> float:
        return -(-seeds // (devices // points)) * (same + (work - same) / points + (EXCHANGE if points > 1 else 0.0))

    return min((points for points in range(1, min(devices, batch) + 1) if devices % points == 0), key=cost)


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
    one_seed: Callable[..., Any], is_per_seed: Sequence[bool], layout: Layout, together: int, is_short: bool = False
) -> Callable[..., Any]:
    """A function of one seed as a function of all seeds. Arguments that are per seed have a leading axis of seeds, and so have the results.

    Each device runs one program, with `together` seeds at a time. Devices exchange only what `Sharing` adds up.
    """

    def of_a_device(*arguments: PyTree) -> PyTree:
        def of_a_seed(own: tuple[PyTree, ...]) -> PyTree:
            taken = iter(own)
            return one_seed(*(next(taken) if yes else argument for argument, yes in zip(arguments, is_per_seed, strict=True)))

        own = tuple(argument for argument, yes in zip(arguments, is_per_seed, strict=True) if yes)
        # A single seed has no axis of seeds: with a leading axis of length 1, XLA's sums over points take ten times as long.
        return jax.lax.map(of_a_seed, own, batch_size=together if together > 1 else None)

    compiled = compiled_once if is_short else jax.jit
    if layout.mesh.size == 1:
        return compiled(of_a_device)
    # The check of varying axes is off: loops start from constants, which it takes for replicated values.
    specs = tuple(SEEDS if own else EVERYWHERE for own in is_per_seed)
    sharded = jax.shard_map(of_a_device, mesh=layout.mesh, in_specs=specs, out_specs=SEEDS, check_vma=False)
    if layout.spec == SEEDS:
        return compiled(sharded)

    def padded(*arguments: PyTree) -> PyTree:
        wrapped = np.arange(layout.padded) % layout.seeds
        filled = (jax.tree.map(lambda leaf: leaf[wrapped], one) if own else one for one, own in zip(arguments, is_per_seed, strict=True))
        found = jax.tree.map(lambda leaf: leaf[: layout.seeds], sharded(*filled))
        return jax.lax.with_sharding_constraint(found, NamedSharding(layout.mesh, layout.spec))

    return compiled(padded) if jax.process_count() == 1 else across(compiled(padded), layout.mesh)


def place(tree: PyTree, layout: Layout, is_per_seed: bool = True) -> PyTree:
    """Spreads arrays with a leading axis of seeds over the devices, or copies arrays to all of them.

    An array on one device would be copied to the others with every call. The copy goes through the host, since slicing an array on a device
    compiles a program for each shape.
    """
    sharding = NamedSharding(layout.mesh, layout.spec if is_per_seed else EVERYWHERE)

    def placed(leaf: jax.Array | np.ndarray) -> jax.Array:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(placed(jax.random.key_data(leaf)))
        return jax.device_put(np.asarray(leaf), sharding if jax.process_count() == 1 else None)

    return jax.tree.map(placed, tree)


def gather(tree: Tree) -> Tree:
    """Copies all arrays to one device, so that what is computed from them does not depend on the layout of the seeds."""
    first = jax.local_devices()[0]
    return jax.tree.map(lambda leaf: jax.device_put(leaf, first) if isinstance(leaf, jax.Array) else leaf, tree)
