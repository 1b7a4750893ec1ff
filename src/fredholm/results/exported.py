"""A solution as a file that is read without this library: a compiled function, or plain arrays with a documented formula."""

import os
from pathlib import Path

import jax
import jax.export  # not loaded with jax
import jax.numpy as jnp
import numpy as np

from fredholm.functions.axes import Loop, Ray, Segment, WholeLine
from fredholm.functions.chebyshev import Series
from fredholm.functions.field import Field
from fredholm.functions.mlp import Perceptron
from fredholm.functions.scaled import Rescaled
from fredholm.results.prediction import MeanNetwork
from fredholm.storage.files import Arrays, write_arrays, write_atomically

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
AXES = {Segment: "segment", Ray: "ray", WholeLine: "line", Loop: "loop"}  # the kinds of axes in a file of arrays


def exported(u: Field, path: str | os.PathLike[str]) -> Path:
    """Writes u, the mean over several seeds: as arrays where the name ends in .npz, else as a compiled function."""
    place = Path(path)
    if place.suffix == ".npz":
        write_arrays(place, arrays_of(u))
        return place
    shape = jax.export.symbolic_shape(f"n, {u.inputs}")
    points = jax.ShapeDtypeStruct(shape, jnp.asarray(0.0).dtype)
    made = jax.export.export(jax.jit(jax.vmap(u)), platforms=PLATFORMS)(points)
    try:
        content = made.serialize()
    except ImportError as error:
        raise ValueError("export: got no package flatbuffers; JAX needs it to write the file. Run pip install flatbuffers.") from error
    write_atomically(place, lambda file: file.write(content))
    return place


def arrays_of(u: Field) -> Arrays:
    """The arrays of a perceptron or a series, each stacked over the seeds; `docs/export.md` has the formula."""
    network = u.network.networks if isinstance(u.network, MeanNetwork) else u.network
    scaled = network if isinstance(network, Rescaled) else None
    inner = network if scaled is None else scaled.network
    found: dict[str, np.ndarray]
    if isinstance(inner, Perceptron):
        found = {"kind": np.array("perceptron"), "activation": np.array(inner.activation)}
        for number, (weights, biases) in enumerate(inner.layers):
            found |= {f"weights_{number}": np.asarray(weights), f"biases_{number}": np.asarray(biases)}
    elif isinstance(inner, Series):
        found = {"kind": np.array("series"), "coefficients": np.asarray(inner.coefficients), "products": inner.products()}
        for number, axis in enumerate(inner.axes):
            found |= {f"axis_{number}": np.array(AXES[type(axis)])} | {
                f"axis_{number}_{name}": np.asarray(value) for name, value in vars(axis).items()
            }
    else:
        raise ValueError(
            f"export: got {type(inner).__name__}, for which there is no formula in arrays; expected an MLP, Chebyshev or Fourier series. "
            'Write a compiled function: solution.export("u.bin").'
        )
    for name in ("center", "radius", "shift", "size"):
        neutral = np.full(u.outputs if name in ("shift", "size") else u.inputs, float(name in ("radius", "size")))
        found[name] = neutral if scaled is None else np.asarray(getattr(scaled, name))
    return found
