"""The user's own equation in a study: found again by its file and identified by its content: editing it creates new runs."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from fredholm.common.caches import cache_directory, make_private
from fredholm.equation.equation import Equation
from fredholm.equation.files import equation_from_file, split
from fredholm.functions.field import Field
from fredholm.functions.mlp import MLP
from fredholm.functions.protocol import AbstractNetwork
from fredholm.methods.standard import Standard
from fredholm.optimizers.protocol import AbstractOptimizer
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.storage.files import write_atomically
from fredholm.storage.serialisation import decode, to_text

ADDRESS = re.compile(r"0x[0-9a-f]+")  # of an object in this process


def file_record(source: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a run records of `path/to/file.py:name`: its name and a hash of its content. Without its folder, so that a study can move."""
    path, name = split(source)
    return {"file": f"{path.name}:{name}", "options": {key: to_text(value) for key, value in options.items()}, "sha256": _digest(path)}


def object_record(equation: Equation) -> dict[str, Any]:
    """What a run records of an equation that was made in Python."""
    return {"opaque": f"{type(equation).__name__} made in Python", "sha256": fingerprint(equation)}


def part_record(part: object, problem: Equation) -> dict[str, Any]:
    """What a run records of a network, an optimiser or another part that was made in Python: its name, and a hash of what it computes."""
    digest = hashlib.sha256(to_text(part).encode())
    if isinstance(part, AbstractNetwork):
        network = part.build(problem.inputs, problem.outputs, jax.random.key(0))
        arrays, rest = eqx.partition(network, eqx.is_array)
        traced = jax.make_jaxpr(lambda arrays, x: eqx.combine(arrays, rest)(x))(arrays, jnp.zeros(problem.inputs))
        _add(digest, traced)
    if isinstance(part, AbstractOptimizer):
        weights = {"weights": jnp.ones((2, 2))}
        transformation = part.build(1)
        _add(digest, jax.make_jaxpr(lambda w: transformation.update(w, transformation.init(w), w)[0])(weights))
    return {"opaque": f"{type(part).__name__} made in Python", "sha256": digest.hexdigest()}


def from_file(source: str, record: Mapping[str, Any]) -> Equation:
    """Imports the file, if it is still the one that the study was made of."""
    path, _ = split(source)
    if _digest(path) != record["sha256"]:
        raise ValueError(f"{path}: the file has changed since the study was read. Start the study again: editing it creates new runs.")
    return equation_from_file(source, {name: decode(value) for name, value in record["options"].items()})


def text_of(source: str) -> str:
    """The file's content, which goes with a run to a worker that has no such file."""
    return split(source)[0].read_text(encoding="utf-8") if source else ""


def received(source: str, text: str) -> str:
    """`path/to/file.py:name` on the machine of a worker, with the content that came with the run."""
    path, name = split(source)
    folder = make_private(make_private(cache_directory() / "problems") / hashlib.sha256(text.encode()).hexdigest()[:16])
    place = folder / path.name
    if not place.is_file() or place.read_text(encoding="utf-8") != text:
        write_atomically(place, lambda file: file.write(text.encode()))
    return f"{place}:{name}"


def fingerprint(equation: Equation) -> str:
    """A hash of what the equation computes: its loss and its exact solution as JAX traces them, with every constant in them.

    Names and comments do not count. Functions, limits, conditions and the numbers that they use do.
    """
    network = MLP(2, 1).build(equation.inputs, equation.outputs, jax.random.key(0))
    unknowns = {name: jnp.asarray(value) for name, value in equation.unknowns.items()}
    u = Field(network, unknowns, equation.inputs, equation.outputs)
    rules = equation.rules(MonteCarlo(1))
    traced = [jax.make_jaxpr(lambda key: Standard().loss(u, None, equation, rules, 2, key)[0])(jax.random.key(0))]
    if equation.exact is not None:
        traced.append(jax.make_jaxpr(equation.exact)(jnp.zeros(equation.inputs)))
    digest = hashlib.sha256(ADDRESS.sub("", repr((to_text(equation.evaluation), equation.outputs, sorted(unknowns)))).encode())
    for one in traced:
        _add(digest, one)
    return digest.hexdigest()


def _add(digest: "hashlib._Hash", traced: ClosedJaxpr) -> None:
    """A traced function with every constant in it."""
    digest.update(ADDRESS.sub("", str(traced)).encode())
    for constant in traced.consts:
        is_key = jnp.issubdtype(constant.dtype, jax.dtypes.prng_key)
        digest.update(np.asarray(jax.random.key_data(constant) if is_key else constant).tobytes())


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror or error}. Expected path/to/file.py:name.") from None
