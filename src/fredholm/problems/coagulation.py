r"""Reference solutions of Smoluchowski's equation where no closed form is known: two solvers on a grid.

Both solve $\dot n_i = \text{gain}_i(n) - n_i \sum_j A_{ij} n_j$ for the density at grid points, and return a `TabulatedDensity`. The tables
are cached on disk.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.checks import positive_integer, real
from fredholm.problems.coagulation_kernels import Coagulation, Kernel, evaluate, probe
from fredholm.problems.coagulation_table import TabulatedDensity, cached, cubic_matrix

PAIRS_AT_ONCE = 4_000_000  # kernel values in memory at once


class AbstractReference(eqx.Module):
    """A solver for `Coagulation` that returns the density as a table."""

    def solve(self, problem: Coagulation) -> TabulatedDensity:
        """The density, from the disk cache if it was computed before with the same settings."""
        if problem.dim > 3:
            raise ValueError(
                f"reference: got dim={problem.dim}; a grid serves 1, 2 and 3 sizes. Give reference=None, for no exact solution."
            )
        values = cached(self.settings(problem) | _fingerprint(problem), lambda: self.values(problem).astype(np.float32))
        return self.table(problem, jnp.asarray(values))

    @abstractmethod
    def settings(self, problem: Coagulation) -> dict[str, Any]:
        """The solver's settings, on which the table depends besides the problem, as plain numbers."""

    @abstractmethod
    def values(self, problem: Coagulation) -> np.ndarray:
        """The density on the grid, one axis for each size and the last for time."""

    @abstractmethod
    def table(self, problem: Coagulation, values: Float[Array, "*grid times"]) -> TabulatedDensity:
        """The values with their grid."""


class Collocation(AbstractReference):
    r"""Collocation at points that are uniform in $y = \sqrt{x/L}$, with product integration and an eighth-order Runge-Kutta method.

    With $x'_i = x_i \sin^2\theta_i$ the gain is an integral over angles, in which $\sqrt{x'}$ and $\sqrt{x - x'}$ are smooth:

    $$\text{gain}(x) = \frac12 \prod_i x_i \int_{[0,\pi/2]^d} K\; n(x\cos^2\theta)\, n(x\sin^2\theta) \prod_i \sin 2\theta_i\,d\theta.$$

    A kernel may jump, so it is not evaluated at quadrature nodes. Instead the densities are interpolated in θ (polynomials through Gauss
    nodes) and in y (piecewise cubics), and the integrals of K against these interpolants are computed once, on a much finer grid. The
    errors by refinement are in docs/problems.md. None: the default for the problem's dimension.
    """

    nodes: int | None = None  # grid points of each size
    angles: int | None = None  # Gauss nodes of each θ
    samples: int | None = None  # points of the fine grid on each axis, in panels of 8
    times: int = 33  # times in the table, including 0 and T
    tolerance: float = 1e-8  # of the time stepping, both relative and absolute

    def __check_init__(self):
        for name, least in (("nodes", 4), ("angles", 2), ("samples", 8), ("times", 4)):
            if getattr(self, name) is not None:
                positive_integer(f"Collocation {name}", getattr(self, name), least=least)
        real("Collocation tolerance", self.tolerance, low=1e-13, high=1e-2)

    def resolution(self, dim: int) -> tuple[int, int, int]:
        """Grid points, angles and samples of each axis."""
        nodes, angles, samples = {1: (801, 64, 4096), 2: (49, 24, 128), 3: (13, 10, 32)}[dim]
        return self.nodes or nodes, self.angles or angles, self.samples or samples

    def settings(self, problem: Coagulation) -> dict[str, Any]:
        nodes, angles, samples = self.resolution(problem.dim)
        own = {"nodes": nodes, "angles": angles, "samples": samples, "times": self.times, "tolerance": self.tolerance}
        return {"scheme": "collocation 1"} | own

    def table(self, problem: Coagulation, values: Float[Array, "*grid times"]) -> TabulatedDensity:
        return TabulatedDensity(values, 0.0, problem.size, problem.duration, 2.0)

    def values(self, problem: Coagulation) -> np.ndarray:
        from scipy.integrate import solve_ivp  # imported on first use: few problems need it, and its import is slow

        d, (nodes, angles, samples) = problem.dim, self.resolution(problem.dim)
        y = np.linspace(0.0, 1.0, nodes)
        x = _tensor_grid(problem.size * y**2, d)
        theta, _ = _gauss_panels(1, angles, np.pi / 2)
        gain_weights = problem.gain_factor * _gain_weights(problem.kernel, x, theta, samples, d)
        loss_matrix = _loss_matrix(problem, x, nodes, samples)
        to_angles = cubic_matrix(np.outer(y, np.sin(theta)).ravel(), nodes).reshape(nodes, angles, nodes)

        def rate(time: float, n: np.ndarray) -> np.ndarray:
            return _gain(n.reshape((nodes,) * d), to_angles, gain_weights).ravel() - n * (loss_matrix @ n)

        start, times = evaluate(problem.initial, x.astype(np.float32)), np.linspace(0.0, problem.duration, self.times)
        result = solve_ivp(rate, (0.0, problem.duration), start, "DOP853", times, rtol=self.tolerance, atol=self.tolerance)
        if not result.success or not np.all(np.isfinite(result.y)):
            raise ValueError(f"kernel: the reference did not reach t = {problem.duration:g} ({result.message}). Give reference=None.")
        return result.y.reshape((nodes,) * d + (self.times,))


class EulerGrid(AbstractReference):
    r"""The reference of the published runs, for scores that can be compared with theirs: the grid i/n of each size, i = 1..n, right-end
    Riemann sums, and Euler's method. In one dimension its own mean square error is 2e-4, so scores below 1e-3 need a better reference.
    None: n = 100, 100, 20 for d = 1, 2, 3.
    """

    nodes: int | None = None  # n
    steps: int = 99  # of Euler's method

    def __check_init__(self):
        if self.nodes is not None:
            positive_integer("EulerGrid nodes", self.nodes, least=4)
        positive_integer("EulerGrid steps", self.steps, least=3)

    def count(self, dim: int) -> int:
        """n for this dimension."""
        return self.nodes or {1: 100, 2: 100, 3: 20}[dim]

    def settings(self, problem: Coagulation) -> dict[str, Any]:
        return {"scheme": "euler 1", "nodes": self.count(problem.dim), "steps": self.steps}

    def table(self, problem: Coagulation, values: Float[Array, "*grid times"]) -> TabulatedDensity:
        return TabulatedDensity(values, problem.size / self.count(problem.dim), problem.size, problem.duration, 1.0)

    def values(self, problem: Coagulation) -> np.ndarray:
        d, n = problem.dim, self.count(problem.dim)
        x = _tensor_grid(problem.size * np.arange(1, n + 1) / n, d)
        cell, step = (problem.size / n) ** d, problem.duration / self.steps
        between = np.concatenate([cell * block for block in _blocks(problem.kernel, x, x)])
        merge = between.reshape((n,) * (2 * d))
        density, history = evaluate(problem.initial, x.astype(np.float32)).reshape((n,) * d), []
        for _ in range(self.steps):
            history.append(density)
            rate = -density * (between @ density.ravel().astype(np.float32)).reshape(density.shape)
            # Sizes i and j merge into i + j, which is i + j + 1 counted from 0. Particles that grow beyond the grid are lost.
            for j in np.ndindex(*(n - 1,) * d):
                small, large = tuple(slice(0, n - 1 - k) for k in j), tuple(slice(k + 1, n) for k in j)
                rate[large] += (problem.gain_factor * density[j]) * merge[j][small] * density[small]
            density = density + step * rate
        return np.stack([*history, density], axis=d)


def _fingerprint(problem: Coagulation) -> dict[str, Any]:
    """The problem as plain values. The name of a function proves nothing, so kernel and initial density are identified by their values."""
    pairs = probe(problem.dim, 1 << 14, problem.size)
    values = np.stack([evaluate(problem.kernel, pairs[:, 0], pairs[:, 1]), evaluate(problem.initial, pairs[:, 0])])
    own = {"dim": problem.dim, "size": problem.size, "duration": problem.duration}
    # If a jump moves a little, no pair may notice; but the library's own kernels print their parameters.
    kernel = repr(problem.kernel) if isinstance(problem.kernel, eqx.Module) else ""
    if problem.gain_factor != 0.5:
        own["gain_factor"] = problem.gain_factor
    return own | {"kernel": kernel, "values": hashlib.sha256(values.astype(np.float32).tobytes()).hexdigest()}


def _gain(n: np.ndarray, to_angles: np.ndarray, weights: np.ndarray) -> np.ndarray:
    r"""$\text{gain}_i = \sum_q W_{iq}\, n(y_i \sin\theta_q)\, n(y_i \cos\theta_q)$; the axes of W are $i_1, q_1, i_2, q_2, \ldots$

    Gauss nodes are symmetric about π/4, so the cosines are the sines in reverse order, and one interpolation serves both.
    """
    inner = n
    for _ in range(n.ndim - 1):  # Each turn takes the axis i of the second size, and puts (i, q) at the end.
        inner = np.tensordot(inner, to_angles, axes=(1, 2))
    over_angles = tuple(range(0, 2 * n.ndim, 2))
    gain = np.empty(n.shape)
    for i in range(n.shape[0]):  # Slice by slice: all at once would need memory for (nodes * angles)^d numbers.
        values = np.tensordot(to_angles[i], inner, 1)
        gain[i] = np.sum(weights[i] * values * np.flip(values, over_angles), axis=over_angles)
    return gain


def _gain_weights(kernel: Kernel, x: np.ndarray, theta: np.ndarray, samples: int, d: int) -> np.ndarray:
    r"""$W_{iq} = \prod x \int K\,\ell_q(\theta)\,d\theta \prod \sin 2\theta_q$, $\ell_q$ Lagrange's polynomials of the nodes."""
    fine, fine_weights = _gauss_panels(samples // 8, 8, np.pi / 2)
    basis = _lagrange_basis(theta, fine) * fine_weights[:, None]
    sines, cosines = _tensor_grid(np.sin(fine) ** 2, d), _tensor_grid(np.cos(fine) ** 2, d)
    blocks = _blocks(lambda p, sine, cosine: kernel(p * cosine, p * sine), x, sines, cosines)
    weights = np.concatenate([_contract(block, basis, d) for block in blocks])
    weights *= np.prod(_tensor_grid(np.sin(2 * theta), d), axis=1) * np.prod(x, axis=1)[:, None]
    nodes = round(len(x) ** (1 / d))
    interleaved = [axis for k in range(d) for axis in (k, d + k)]
    return np.ascontiguousarray(weights.reshape((nodes,) * d + (len(theta),) * d).transpose(interleaved))


def _loss_matrix(problem: Coagulation, x: np.ndarray, nodes: int, samples: int) -> np.ndarray:
    r"""$A_{ij} = \int K(x_i, x'')\,\phi_j(x'')\,dx''$ with the piecewise cubics $\phi_j$; $dx'' = 2 L y\,dy$."""
    fine, fine_weights = _gauss_panels(samples // 8, 8, 1.0)
    basis = cubic_matrix(fine, nodes) * (2 * problem.size * fine * fine_weights)[:, None]
    partners = _tensor_grid(problem.size * fine**2, problem.dim)
    return np.concatenate([_contract(block, basis, problem.dim) for block in _blocks(problem.kernel, x, partners)])


def _blocks(pair: Callable[..., Array], x: np.ndarray, *partners: np.ndarray) -> Iterator[np.ndarray]:
    """`pair(x_i, *partners_j)` for all i and j as arrays (a block of i, all j), so that memory stays small."""
    table = jax.jit(jax.vmap(jax.vmap(pair, (None, *[0] * len(partners))), (0, *[None] * len(partners))))
    others = [jnp.asarray(partner, jnp.float32) for partner in partners]
    size = max(1, PAIRS_AT_ONCE // len(partners[0]))
    for start in range(0, len(x), size):
        yield np.asarray(table(jnp.asarray(x[start : start + size], jnp.float32), *others))


def _contract(block: np.ndarray, basis: np.ndarray, d: int) -> np.ndarray:
    """Sums over the d fine axes against the basis of each: (points, samples^d) becomes (points, length^d)."""
    block = block.reshape((len(block), *(len(basis),) * d))
    for _ in range(d):
        block = np.tensordot(block, basis, axes=(1, 0))
    return block.reshape(len(block), -1)


def _tensor_grid(axis: np.ndarray, d: int) -> np.ndarray:
    return np.stack([grid.ravel() for grid in np.meshgrid(*[axis] * d, indexing="ij")], axis=-1)


def _gauss_panels(panels: int, order: int, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on [0, length], in equal panels."""
    z, w = np.polynomial.legendre.leggauss(order)
    panel = length / panels
    return (panel * (np.arange(panels)[:, None] + (z + 1) / 2)).ravel(), np.tile(w * panel / 2, panels)


def _lagrange_basis(theta: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Lagrange's polynomials of the Gauss nodes θ on [0, π/2] at points, in barycentric form (Wang and Xiang, 2012)."""
    z, w = np.polynomial.legendre.leggauss(len(theta))
    difference = points[:, None] - theta[None, :]
    difference = np.where(difference == 0.0, 1e-300, difference)
    terms = (-1.0) ** np.arange(len(theta)) * np.sqrt((1 - z**2) * w) / difference
    return terms / terms.sum(axis=1, keepdims=True)
