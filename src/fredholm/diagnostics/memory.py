"""Whether a run fits into memory, by an estimate before anything is allocated: beyond it, the process would be killed without a word."""

import math
import os
from collections.abc import Sequence
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp

from fredholm.equation.equation import Equation, residuals
from fredholm.equation.probe import measures_of
from fredholm.functions.field import Field
from fredholm.rules.base import AbstractRule

COPIES = 5  # of the parameters: the network, its average, the target, and two of the optimiser
NUMBERS = 8  # for each x of a batch, besides its coordinates
PASSES = 3  # what the forward pass keeps, and the backward pass beside it
SMALL = 1 << 28  # bytes: less fits everywhere
UNKNOWN = 1 << 38  # bytes of memory, where the system does not say


def check_memory(equation: Equation, rules: Sequence[AbstractRule], u: Field, batch: int, seeds: int) -> None:
    """Raises `ValueError` where the smallest part that a step cannot be cut into needs more than the machine has: the network at all nodes
    of one x, the points of the batch, or the parameters of all seeds. `u` has shapes in place of arrays."""
    nodes, bytes_each = _nodes(equation, rules), jnp.result_type(float).itemsize
    parameters = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(u) if isinstance(leaf, jax.ShapeDtypeStruct))
    needed = {
        "the parameters of all seeds: use a smaller network or fewer seeds": COPIES * seeds * parameters * bytes_each,
        "the points of a step: use a smaller batch": (equation.inputs + NUMBERS) * batch * bytes_each,
        "the network at all nodes of one x: use fewer nodes, or a smaller network": PASSES * nodes * _widest(u) * bytes_each,
    }
    if sum(needed.values()) < SMALL:
        return
    room, (what, most) = _memory(), max(needed.items(), key=lambda item: item[1])
    if sum(needed.values()) > room:
        raise ValueError(f"memory: the run needs at least {most / 2**30:,.0f} GiB, and there are {room / 2**30:,.0f}. Most is for {what}.")


def _nodes(equation: Equation, rules: Sequence[AbstractRule]) -> int:
    """The largest number of nodes at one x, over the equation and its conditions."""
    parts = [(measures_of(residual), own) for residual, own in residuals(equation, rules) if residual.integrals]
    return max((sum(rule.size(measure) for rule, measure in zip(own, measures, strict=True)) for measures, own in parts), default=1)


def _widest(u: Field) -> int:
    """Numbers that the network makes of one point."""
    program, _, _ = eqx.filter_make_jaxpr(lambda u, x: u(x))(u, jax.ShapeDtypeStruct((u.inputs,), jnp.result_type(float)))
    return sum(math.prod(one.aval.shape) for line in program.jaxpr.eqns for one in line.outvars)  # type: ignore[attr-defined]


def _memory() -> int:
    """Bytes of memory that this process may use."""
    device = jax.local_devices()[0]
    if device.platform != "cpu":
        return (device.memory_stats() or {}).get("bytes_limit", UNKNOWN)
    try:
        own = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN
    try:
        allowed = Path("/sys/fs/cgroup/memory.max").read_text(encoding="utf-8").strip()
    except OSError:
        return own
    return min(own, int(allowed)) if allowed.isdigit() else own
