"""Data as a domain: rows of a data set, and measures that are known only by given samples."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Real

from fredholm.common.checks import Numbers, is_concrete, numbers, real, rows
from fredholm.domains.base import AbstractDistribution, Atoms, Base, Nodes, Record


class Offline(AbstractDistribution):
    """The rows of a data set, drawn at random: `Offline(point=states, next=following)` gives x.point and x.next.

    For equations whose points cannot be chosen: x is one row of the given arrays. The network is evaluated at
    `point`, of shape (n, d). The other arrays have n rows of any shape. `Integral(over=lambda x: Given(x.next), ...)` then integrates over
    the states observed after x.

    `held_out=0.1` keeps a tenth of the rows, always the same ones, out of the training: `solution.diagnose()` and
    `solution.evaluate(certificate=True)` then score the solution on rows that it has not seen.

    Args:
        held_out (float): the share of the rows that are not trained on; default: 0.0.
        **columns (arrays): arrays with n rows each, by name; `point` among them.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import numpy as np
        >>> import fredholm as fr
        >>> rows = fr.Offline(point=np.zeros((5, 2)), next=np.zeros((5, 1, 2)), reward=np.ones(5), held_out=0.2)

    See also:
        `Given`, `Law`, `DelayedTarget`.
    """

    columns: dict[str, np.ndarray | Array]  # arrays with n rows each, by name; `point` among them
    held_out: float  # the share of the rows that are not trained on

    def __init__(self, *, held_out: float = 0.0, **columns: Numbers):
        if "point" not in columns:
            raise ValueError(f"Offline: got {sorted(columns)}; expected point=, an array of shape (n, d) of the points x, among them.")
        kept = {name: numbers(f"Offline {name}", value) for name, value in columns.items()}
        kept["point"] = rows("Offline point", kept["point"])
        n = len(kept["point"])
        for name, column in kept.items():
            if column.ndim == 0 or len(column) != n:
                raise ValueError(f"Offline {name}: got shape {column.shape}; expected {n} rows, as many as point has.")
            if is_concrete(column) and not np.all(np.isfinite(np.asarray(column))):
                raise ValueError(f"Offline {name}: got a number that is not finite.")
        self.columns, self.held_out = kept, real("Offline held_out", held_out, low=0.0, below=1.0)
        if self._kept_out == n:
            raise ValueError(f"Offline held_out: got {held_out!r} of {n} rows; expected rows on both sides.")

    @property
    def dimension(self) -> int:
        return self.columns["point"].shape[1]

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Atoms.of(len(self.columns["point"]) - self._kept_out),)

    @property
    def _kept_out(self) -> int:
        return math.ceil(self.held_out * len(self.columns["point"]))

    def _order(self) -> np.ndarray:
        """The numbers of all rows, those that are held out last."""
        n = len(self.columns["point"])
        return np.arange(n) if self.held_out == 0 else np.random.default_rng(0).permutation(n)

    def scored(self) -> Record:
        """The rows that a solution is scored on, stacked: those that are held out; all where none are."""
        rows = self._order()[len(self.columns["point"]) - self._kept_out if self.held_out else 0 :]
        return Record(**{name: jnp.asarray(column, float)[rows] for name, column in self.columns.items()})

    def extremes(self) -> Record:
        """The rows with the least and the largest of each coordinate of their points, stacked."""
        points = np.asarray(self.columns["point"])
        rows = np.concatenate([points.argmin(axis=0), points.argmax(axis=0)])
        return Record(**{name: jnp.asarray(column, float)[rows] for name, column in self.columns.items()})

    def map(self, z: Float[Array, "1"]) -> tuple[Record, Float[Array, ""]]:
        row = z[0].astype(int) if self.held_out == 0 else jnp.asarray(self._order())[z[0].astype(int)]
        return Record(**{name: jnp.asarray(column, float)[row] for name, column in self.columns.items()}), jnp.ones(())


class Given(AbstractDistribution):
    r"""A distribution that is known only by k independent samples: $\int g\,d\mu \approx \frac1k\sum_i g(t_i)$.

    `MonteCarlo(n)` takes n different samples, so that two parts of one draw are independent. Rules without randomness take all samples.
    Every estimate has the noise of the samples. It biases the standard loss. Double sampling needs at least two samples at each x,
    delayed targets with f need one.

    Args:
        points (array): the samples, of shape (k, d); (d,) is one sample.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> expectation = fr.Integral(over=lambda x: fr.Given(x.next), g=lambda u, x, t: 0.9 * u(t))

    See also:
        `Offline`, `Discrete`.
    """

    points: Real[np.ndarray | Array, "k d"]  # the samples, of shape (k, d); (d,) is one sample

    def __init__(self, points: Numbers):
        given = numbers("Given points", points)
        self.points = rows("Given points", given[None] if given.ndim == 1 else given)

    @property
    def dimension(self) -> int:
        return self.points.shape[1]

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Atoms.of(len(self.points)),)

    @property
    def samples(self) -> int:
        return len(self.points)

    def map(self, z: Float[Array, "1"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        return jnp.asarray(self.points, float)[z[0].astype(int)], jnp.ones(())

    def draws(self, key: Key[Array, ""], n: int) -> Nodes:
        if n > self.samples:
            raise ValueError(f"Given: asked for {n} independent samples where only {self.samples} are given at each x.")
        chosen = jax.random.permutation(key, self.samples)[:n]
        return Nodes(jnp.asarray(self.points, float)[chosen], jnp.full((n,), 1 / n))
