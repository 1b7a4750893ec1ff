"""The axes of a series: how a coordinate becomes the variable s in [-1, 1] of its polynomials."""

import itertools
from abc import abstractmethod
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fredholm.common.checks import real, sequence

Number = Float[Array, ""]
LARGEST_EXPONENT = 300.0  # of a growing factor: products of two stay finite in double precision


class AbstractAxis(eqx.Module):
    """A coordinate of a series."""

    @abstractmethod
    def variable(self, x: Number) -> Number:
        """s in [-1, 1]."""

    @abstractmethod
    def coordinate(self, s: np.ndarray) -> np.ndarray:
        """The inverse of `variable`, on the host."""

    def factor(self, s: Number) -> Number:
        """What every polynomial of the axis is multiplied with."""
        return jnp.ones_like(s)

    def functions(self, x: Number, degree: int) -> Float[Array, "p"]:
        """The values of all functions of the axis at x."""
        s = self.variable(x)
        return self.factor(s) * polynomials(s, degree)

    def orders(self, degree: int) -> np.ndarray:
        """The degree of each function."""
        return np.arange(degree + 1)


class Segment(AbstractAxis):
    r"""A bounded axis, $s = (2x - a - b)/(b - a)$.

    With `clustering` L > 0 the ends are resolved on scales down to $e^{-2L}$ of the width, $s = \operatorname{artanh}(c\,z)/L$ with
    $z = (2x - a - b)/(b - a)$ and $c = \tanh L$: for solutions like $\sqrt x$ or $x \ln x$, which polynomials in x resolve slowly.
    """

    low: float  # a
    high: float  # b
    clustering: float = 0.0  # L; 0: none

    def __check_init__(self):
        real("Segment low", self.low)
        real("Segment high", self.high)
        real("Segment clustering", self.clustering, low=0.0, high=17.0)
        if not self.low < self.high:
            raise ValueError(f"Segment: got low={self.low:g}, high={self.high:g}; expected low < high.")

    def variable(self, x: Number) -> Number:
        z = ((x - self.low) - (self.high - x)) / (self.high - self.low)
        if self.clustering == 0:
            return z
        # Distances to both ends keep their digits: log((1 + cz)/(1 - cz)) from 1 ± z.
        below, above = 2 * (x - self.low) / (self.high - self.low), 2 * (self.high - x) / (self.high - self.low)
        gap = 2 / (np.exp(2 * self.clustering) + 1)  # 1 - tanh L
        c = np.tanh(self.clustering)
        return 0.5 * (jnp.log(gap + c * below) - jnp.log(gap + c * above)) / self.clustering

    def coordinate(self, s: np.ndarray) -> np.ndarray:
        if self.clustering == 0:
            return 0.5 * ((1 - s) * self.low + (1 + s) * self.high)
        share = 0.5 * (1 + np.tanh(self.clustering * s) / np.tanh(self.clustering))
        return self.low + (self.high - self.low) * share


class Pieces(AbstractAxis):
    """A bounded axis cut at points where u or one of its derivatives jumps: each piece has polynomials of its own.

    A cut belongs to the piece on its right.
    """

    edges: tuple[float, ...]  # the two ends, and the cuts between them

    def __init__(self, edges: Sequence[float]):
        self.edges = sequence("Pieces edges", edges)
        if len(self.edges) < 2 or not all(a < b for a, b in itertools.pairwise(self.edges)):
            raise ValueError(f"Pieces edges: got {self.edges}; expected at least two growing numbers, the ends and the cuts between them.")

    def variable(self, x: Number) -> Number:
        return self._place(x)[1]

    def _place(self, x: Number) -> tuple[Int[Array, ""], Number]:
        """The number of the piece that x is in, and the variable of its polynomials."""
        edges = jnp.asarray(self.edges, x.dtype)
        piece = jnp.clip(jnp.searchsorted(edges, x, side="right") - 1, 0, len(self.edges) - 2)
        low, high = edges[piece], edges[piece + 1]
        return piece, ((x - low) - (high - x)) / (high - low)

    def coordinate(self, s: np.ndarray) -> np.ndarray:
        """From s in [-1, 1], which is the whole axis."""
        return 0.5 * ((1 - s) * self.edges[0] + (1 + s) * self.edges[-1])

    def functions(self, x: Number, degree: int) -> Float[Array, "p"]:
        piece, s = self._place(x)
        return jnp.outer(jax.nn.one_hot(piece, len(self.edges) - 1, dtype=s.dtype), polynomials(s, degree)).ravel()

    def orders(self, degree: int) -> np.ndarray:
        return np.tile(np.arange(degree + 1), len(self.edges) - 1)


class Ray(AbstractAxis):
    r"""A half-line, $s = (r - L)/(r + L)$ with r the distance from its end: rational Chebyshev functions (Boyd, 1987).

    With `decay` k every function falls like $r^{-k}$, so that integrals over the half-line exist. With `growth` κ it is multiplied with
    $e^{\kappa r}$, for solutions that grow where the measure decays faster.
    """

    end: float  # where the half-line begins
    scale: float  # L: half of the functions' variation is below it
    decay: int = 0  # k
    to_the_right: bool = True  # False: it goes to minus infinity
    growth: float = 0.0  # κ

    def __check_init__(self):
        real("Ray end", self.end)
        real("Ray scale", self.scale, low=1e-300)
        real("Ray growth", self.growth)

    def variable(self, x: Number) -> Number:
        r = jnp.maximum((x - self.end) * (1.0 if self.to_the_right else -1.0), -0.5 * self.scale)  # a little beyond the end is continued
        return 1 - 2 / (1 + r / self.scale)

    def coordinate(self, s: np.ndarray) -> np.ndarray:
        r = self.scale * (1 + s) / np.maximum(1 - s, 1e-16)
        return self.end + r * (1.0 if self.to_the_right else -1.0)

    def factor(self, s: Number) -> Number:
        falling = (0.5 * (1 - s)) ** self.decay
        if self.growth == 0:
            return falling
        return falling * jnp.exp(jnp.minimum(self.growth * self.scale * (1 + s) / jnp.maximum(1 - s, 1e-16), LARGEST_EXPONENT))


class WholeLine(AbstractAxis):
    r"""The line, $s = z/\sqrt{1 + z^2}$ with $z = (x - m)/L$: rational Chebyshev functions. With `decay` k they fall like $|z|^{-2k}$."""

    center: float  # m
    scale: float  # L
    decay: int = 0  # k

    def __check_init__(self):
        real("WholeLine center", self.center)
        real("WholeLine scale", self.scale, low=1e-300)

    def variable(self, x: Number) -> Number:
        z = (x - self.center) / self.scale
        far = jnp.abs(z) > 1e8  # where the square would lose its digits, or overflow
        near = jnp.where(far, 0.0, z)
        return jnp.where(far, jnp.sign(z), near / jnp.sqrt(1 + near**2))

    def coordinate(self, s: np.ndarray) -> np.ndarray:
        return self.center + self.scale * s / np.sqrt(np.maximum(1 - s**2, 1e-32))

    def factor(self, s: Number) -> Number:
        return (1 - s**2) ** self.decay


class Loop(AbstractAxis):
    r"""A periodic axis: $\theta = 2\pi (x - a)/(b - a)$, for the sines and cosines of a Fourier series."""

    low: float  # a
    high: float  # b

    def __check_init__(self):
        real("Loop low", self.low)
        if not self.low < real("Loop high", self.high):
            raise ValueError(f"Loop: got low={self.low:g}, high={self.high:g}; expected low < high.")

    def variable(self, x: Number) -> Number:
        return 2 * jnp.pi * (x - self.low) / (self.high - self.low)

    def coordinate(self, s: np.ndarray) -> np.ndarray:
        """From s in [-1, 1], which is once around."""
        return self.low + (self.high - self.low) * 0.5 * (1 + s)

    def functions(self, x: Number, degree: int) -> Float[Array, "p"]:
        return harmonics(self.variable(x), degree)

    def orders(self, degree: int) -> np.ndarray:
        return (np.arange(2 * degree + 1) + 1) // 2


def polynomials(s: Number, degree: int) -> Float[Array, "p"]:
    r"""$T_0(s), \dots, T_n(s)$, by $T_{m+j} = 2\,T_m T_j - T_{m-j}$: the number of polynomials doubles in each stage."""
    known = jnp.stack([jnp.ones_like(s), s])
    while len(known) <= degree:
        m = len(known) - 1
        known = jnp.concatenate([known, 2 * known[m] * known[1:] - known[m - 1 :: -1][:m]])
    return known[: degree + 1]


def harmonics(angle: Number, degree: int) -> Float[Array, "p"]:
    r"""$1, \cos\theta, \sin\theta, \dots, \cos n\theta, \sin n\theta$."""
    k = jnp.arange(1, degree + 1)
    return jnp.concatenate([jnp.ones((1,), angle.dtype), jnp.stack([jnp.cos(k * angle), jnp.sin(k * angle)], axis=1).ravel()])
