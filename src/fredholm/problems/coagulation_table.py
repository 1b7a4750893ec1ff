"""A density as a table that can be called inside compiled code, and the disk cache of such tables."""

import hashlib
import json
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.caches import cache_directory

Numbers = TypeVar("Numbers", np.ndarray, Array)  # on the host, or traced
logger = logging.getLogger("fredholm")


class TabulatedDensity(eqx.Module):
    r"""n(x, t) by piecewise cubic interpolation on a regular grid of $z_i = \left(\frac{x_i - a}{b - a}\right)^{1/p}$ and t.

    With p = 2 the grid is uniform in $\sqrt{x}$: kernels made of $\sqrt{x}$ give densities that are smooth in $\sqrt{x}$, not in x. It is
    called with a point (x_1, ..., x_d, t). Beyond b it stays constant; before the first and after the last time the cubic continues.
    """

    values: Float[Array, "*grid times"]  # the density at the grid points, one axis for each size and the last for time
    low: float  # a, the first grid point of every size
    high: float  # b, the last
    duration: float  # T; the times are uniform on [0, T]
    grading: float  # p

    def __check_init__(self):
        if min(self.values.shape) < 4:
            raise ValueError(f"TabulatedDensity values: got shape {self.values.shape}; expected at least 4 entries on every axis.")

    def __call__(self, point: Float[Array, "p"]) -> Float[Array, ""]:
        share = jnp.minimum((point[:-1] - self.low) / (self.high - self.low), 1.0)
        if self.grading != 1.0:
            # The slope of the root is infinite at 0; the inner `where` keeps it out of derivatives along t.
            share = jnp.where(share > 0, jnp.where(share > 0, share, 1.0) ** (1 / self.grading), 0.0)
        time = point[-1:] / self.duration  # Not clipped: a clip would halve the derivative along t at t = 0.
        lengths = np.array(self.values.shape)
        position = jnp.concatenate([share, time]) * (lengths - 1)
        start = stencil_start(position, lengths, jnp)
        weights = cubic_weights(position - start)
        block = jax.lax.dynamic_slice(self.values, tuple(start), (4,) * self.values.ndim)
        for axis in range(self.values.ndim):
            block = jnp.tensordot(jnp.stack([w[axis] for w in weights]), block, 1)
        return block


def stencil_start(position: Numbers, length: int | np.ndarray, xp: ModuleType) -> Numbers:
    """The first of the four grid points around a position, which is in units of grid steps."""
    return xp.clip(xp.floor(position).astype(int) - 1, 0, length - 4)


def cubic_weights(u: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """The Lagrange polynomials of the nodes 0, 1, 2, 3."""
    a, b, c = u - 1, u - 2, u - 3
    return -a * b * c / 6, u * b * c / 2, -u * a * c / 2, u * a * b / 6


def cubic_matrix(z: np.ndarray, length: int) -> np.ndarray:
    """The matrix (points, length) that interpolates values on `length` uniform nodes of [0, 1] as `TabulatedDensity` does."""
    position = z * (length - 1)
    start = stencil_start(position, length, np)
    matrix = np.zeros((len(z), length))
    for k, weight in enumerate(cubic_weights(position - start)):
        matrix[np.arange(len(z)), start + k] = weight
    return matrix


def cached(settings: dict[str, Any], compute: Callable[[], np.ndarray]) -> np.ndarray:
    """The table for these settings: from the disk cache if it is there and intact, else computed and saved."""
    key = json.dumps(settings, sort_keys=True)
    try:
        path = cache_directory() / f"coagulation-{hashlib.sha256(key.encode()).hexdigest()[:20]}.npz"
    except OSError as error:
        logger.warning("the reference cannot be kept: %s", error)
        return compute()
    values = _read(path, key)
    if values is None:
        values = compute()
        _write(path, key, values)
    return values


def _read(path: Path, key: str) -> np.ndarray | None:
    try:
        if not path.exists():
            return None
        if not path.is_file():
            raise ValueError("it is not a file")
        # Opened here: numpy would leave a damaged file open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            values = stored["values"]
            if str(stored["settings"]) == key and str(stored["digest"]) == _digest(values):
                return values
        reason = "it does not hold what its name says"
    except Exception as error:  # whatever is wrong with the file, the table can be computed again
        reason = str(error) or type(error).__name__
    logger.warning("the cached reference %s cannot be used (%s); computing it again.", path, reason)
    return None


def _write(path: Path, key: str, values: np.ndarray) -> None:
    """Writes to a temporary file, then renames it: readers never see a partial file."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
            temporary = Path(file.name)
            np.savez(file, settings=np.array(key), values=values, digest=np.array(_digest(values)))
        temporary.replace(path)
    except OSError as error:
        logger.warning("the reference could not be kept in %s (%s); it will be computed again next time.", path.parent, error)
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _digest(values: np.ndarray) -> str:
    """A hash of a table, with its shape and type."""
    return hashlib.sha256(f"{values.dtype} {values.shape} ".encode() + np.ascontiguousarray(values).tobytes()).hexdigest()
