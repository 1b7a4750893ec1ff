"""A trained function as a file that runs without this library."""

import os
from pathlib import Path

import jax
import jax.export  # not loaded with jax
import jax.numpy as jnp

from fredholm.functions.field import Field
from fredholm.storage.files import write_atomically

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def exported(u: Field, path: str | os.PathLike[str]) -> Path:
    """Writes u, a function of any number of points, as StableHLO."""
    place = Path(path)
    shape = jax.export.symbolic_shape(f"n, {u.inputs}")
    points = jax.ShapeDtypeStruct(shape, jnp.asarray(0.0).dtype)
    made = jax.export.export(jax.jit(jax.vmap(u)), platforms=PLATFORMS)(points)
    try:
        content = made.serialize()
    except ImportError as error:
        raise ValueError("export: got no package flatbuffers; JAX needs it to write the file. Run pip install flatbuffers.") from error
    write_atomically(place, lambda file: file.write(content))
    return place
