"""fredholm as `solve` runs it: its own compiled chunk of steps, seeds sharded over the devices."""

from dataclasses import replace
from typing import Any

import jax

import fredholm as fr
from fredholm.methods.sharing import Sharing
from fredholm.training.settings import settings_of
from fredholm.training.step import compile_chunk
from fredholm.training.training import Training

FOREVER = 1_000_000_000  # steps of a training that nobody waits for: no record falls due


def training(equation: fr.Equation, seeds: int, **keywords: Any) -> Training:
    """A training that never ends; other keywords are those of `solve`."""
    return Training(settings_of(equation, steps=FOREVER, record_every=FOREVER, seeds=seeds, **keywords))


class Ours:
    """So many steps at a time, through the host loop of `solve` without records; with tiles of so many x, if that is given."""

    def __init__(self, equation: fr.Equation, seeds: int, tile: int | None = None, **keywords: Any):
        self.training = own = training(equation, seeds, **keywords)
        if tile is not None:
            own.one_step = replace(own.one_step, sharing=Sharing(own.layout.points, tile))
            own._chunk = compile_chunk(own.one_step, own.static, own.settings.problem, own.layout, 1, False)

    def __call__(self, steps: int) -> None:
        stop = self.training.step + steps
        while self.training.step < stop:
            self.training.advance(stop)

    def lowered(self) -> Any:
        """A chunk of steps as the compiler gets it."""
        own = self.training
        chunk: Any = own._chunk
        return chunk.lower(own.arrays, own._sums, own.equation_arrays, own.keys, 0, 1)

    def memory(self) -> int:
        """Bytes that a chunk of steps has at once: the state that goes in, that which comes out, and what is between, on all devices."""
        used = self.lowered().compile().memory_analysis()
        return self.training.layout.mesh.size * (used.argument_size_in_bytes + used.temp_size_in_bytes + used.output_size_in_bytes)


def flatten_seeds(tree: Any) -> list[jax.Array]:
    """The arrays of a stacked network."""
    return [leaf for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array)]
