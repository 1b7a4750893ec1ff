"""Coagulation: kernels, the initial density, and the two integrands of Smoluchowski's equation."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.checks import positive_integer, real
from fredholm.functions.field import Function

Size = Float[Array, "d"]
Kernel = Callable[[Size, Size], Float[Array, ""]]
Density = Callable[[Size], Float[Array, ""]]


class CutOffKernel(eqx.Module):
    r"""$K(x, x') = a\,s^{3/2}\,[s < c]$ with $s = \sum_i (\sqrt{x_i} + \sqrt{x'_i})^2$: the kernel of the published runs.

    It drops to 0 at s = c, where the kernel of the paper's text, `SaturatingKernel`, stays constant: the two have different solutions.
    """

    scale: float = 1.23  # a
    cut: float = 1.14  # c

    def __call__(self, x: Size, y: Size) -> Float[Array, ""]:
        s = jnp.sum((jnp.sqrt(x) + jnp.sqrt(y)) ** 2)
        return jnp.where(s < self.cut, self.scale * s**1.5, 0.0)


class SaturatingKernel(eqx.Module):
    r"""$K(x, x') = a\,\min(c, \sqrt{s})^3$ with $s = \sum_i (\sqrt{x_i} + \sqrt{x'_i})^2$: the kernel of the paper's text. The published
    runs have `CutOffKernel`."""

    scale: float = 1.23  # a
    limit: float = 1.14  # c

    def __call__(self, x: Size, y: Size) -> Float[Array, ""]:
        return self.scale * jnp.minimum(self.limit, jnp.sqrt(jnp.sum((jnp.sqrt(x) + jnp.sqrt(y)) ** 2))) ** 3


class ConstantKernel(eqx.Module):
    r"""$K(x, x') = a$."""

    scale: float = 1.0  # a

    def __call__(self, x: Size, y: Size) -> Float[Array, ""]:
        return jnp.full((), self.scale, x.dtype)


class AdditiveKernel(eqx.Module):
    r"""$K(x, x') = a \sum_i (x_i + x'_i)$, Golovin's kernel."""

    scale: float = 1.0  # a

    def __call__(self, x: Size, y: Size) -> Float[Array, ""]:
        return self.scale * jnp.sum(x + y)


def linear_density(x: Size) -> Float[Array, ""]:
    r"""$n_0(x) = 3 - \frac1d \sum_i x_i$, the initial density of the published runs."""
    return 3.0 - jnp.mean(x)


class Coagulation(eqx.Module):
    r"""Particles with d sizes $x \in [0, L]^d$ that merge at the rate K, from the density $n_0$, for $t \in [0, T]$:

    $$\partial_t n(x) = c \int_{[0, x]} K(x - x', x')\,n(x - x')\,n(x')\,dx' - n(x) \int_{[0, L]^d} K(x, x'')\,n(x'')\,dx'',
      \qquad c = \tfrac12.$$
    """

    dim: int  # d
    kernel: Kernel  # K(x, x') of two sizes of shape (d,)
    initial: Density  # n_0(x)
    size: float  # L
    duration: float  # T
    gain_factor: float  # c: with ½ each pair of particles merges once

    def __init__(
        self,
        dim: int = 1,
        kernel: Kernel | None = None,
        initial: Density = linear_density,
        size: float = 1.0,
        duration: float = 1.0,
        gain_factor: float = 0.5,
    ):
        self.dim = positive_integer("dim", dim)
        self.kernel, self.initial = CutOffKernel() if kernel is None else kernel, initial
        self.size, self.duration = real("size", size, low=1e-6), real("duration", duration, low=1e-6)
        self.gain_factor = real("gain_factor", gain_factor, low=0.0)
        pairs = probe(self.dim, 64, self.size)
        _check_values("kernel", "kernel(x, y) of two sizes", self.kernel, pairs[:, 0], pairs[:, 1])
        _check_values("initial", "initial(x) of one size", self.initial, pairs[:, 0])

    def gain(self, u: Function, point: Float[Array, "p"], y: Size) -> Float[Array, ""]:
        r"""$c\,K(x - x', x')\,n(x - x', t)\,n(x', t)$: two particles of sizes x' and x − x' become one of size x."""
        x, t = point[:-1], point[-1:]
        return self.gain_factor * self.kernel(x - y, y) * u(jnp.concatenate([x - y, t])) * u(jnp.concatenate([y, t]))

    def loss(self, u: Function, point: Float[Array, "p"], y: Size) -> Float[Array, ""]:
        r"""$-K(x, x'')\,n(x, t)\,n(x'', t)$: a particle of size x merges with any other."""
        return -self.kernel(point[:-1], y) * u(point) * u(jnp.concatenate([y, point[-1:]]))

    def at_start(self, point: Float[Array, "p"]) -> Float[Array, ""]:
        """n_0 at a point (x, t)."""
        return self.initial(point[:-1])


def probe(dim: int, n: int, size: float) -> np.ndarray:
    """n fixed pairs of sizes, including the corners 0 and L, at which a function is tried or identified."""
    pairs = np.random.default_rng(7).uniform(0.0, size, (n, 2, dim)).astype(np.float32)
    pairs[0], pairs[1] = 0.0, size
    return pairs


def evaluate(function: Callable[..., Any], *points: np.ndarray) -> np.ndarray:
    """The function at n points (or pairs), as float64 on the host."""
    return np.asarray(jax.jit(jax.vmap(function))(*map(jnp.asarray, points)), dtype=np.float64)


def _check_values(name: str, call: str, function: object, *points: np.ndarray) -> None:
    if not callable(function):
        raise ValueError(f"{name}: got {function!r}; expected a function, {call} of shape ({points[0].shape[1]},).")
    shape = jax.eval_shape(lambda *arguments: jnp.asarray(function(*arguments)), *(jnp.asarray(p[0]) for p in points)).shape
    if shape != ():
        raise ValueError(
            f"{name}: it returned shape {shape}; expected one number, shape (). It is called as {call} of shape ({points[0].shape[1]},): "
            "write x[0] for the first component, or jnp.sum(x)."
        )
    values = evaluate(lambda *arguments: jnp.asarray(function(*arguments)), *points)
    if not np.all(np.isfinite(values)):
        at = [p[int(np.argmin(np.isfinite(values)))].tolist() for p in points]
        raise ValueError(f"{name}: it is not finite at {', '.join(map(str, at))}; expected a finite number for all sizes, zero included.")
