r"""Neutrons or photons in a slab that scatters them isotropically, with a converged reference.

A particle flies in a direction of cosine μ for an exponentially distributed number of mean free paths and collides; with probability c it
goes on in a new direction. So the scalar flux at x, which is proportional to the collisions there, is the mean over one flight that ended
in x, followed backwards,

$$\varphi(x) = \mathbb{E}_{\mu \sim U[-1, 1],\, s \sim \text{Exp}(1)}\left[(c\,\varphi + q)(x + \mu s)\;[x + \mu s \in \text{slab}]\right]
  = \frac12 \int_0^L E_1(|x - x'|)\,\big(c\,\varphi(x') + q\big)\,dx'.$$

The second form is the integral equation of Peierls (Case and Zweifel, Linear Transport Theory, 1967), in radiative transfer that of Milne.
"""

from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Float
from numpy.polynomial.legendre import leggauss

from fredholm.common.checks import real
from fredholm.domains.combined import Product
from fredholm.domains.flat import Interval
from fredholm.equation.equation import Equation
from fredholm.equation.residual import Integral
from fredholm.functions.field import Function
from fredholm.functions.mlp import MLP
from fredholm.problems.classes import ONE_SAMPLE

Number = Float[Array, "1"]
PANELS, ORDER, TABLE = 8, 10, 2001  # of the reference: panels on each half, graded to the surface; nodes of each; points of the table


class TransportSlab(Equation):
    r"""$\varphi(x) = \frac12 \int_0^L E_1(|x - x'|)\,(c\,\varphi(x') + q)\,dx'$ for the scalar flux in a slab of L mean free paths between
    vacuum, with a uniform source q = 1 and c secondary particles a collision.

    The flight is cut off at the surface by its own law: with T the distance to the surface along μ, $s = -\ln(1 - z(1 - e^{-T}))$ for z
    uniform in [0, 1], with weight $1 - e^{-T}$, so that no sample is lost. The truth is `peierls_flux`. Its kernel is checked in
    tests/test_zoo.py on the critical slabs c = 1.4 and 1.02 of Sood, Forster and Parsons (Progress in Nuclear Energy 2003), whose thickness
    (to eight digits) and flux (to 1e-6) are computed there once more, by discrete ordinates.
    """

    thickness: float  # L, in mean free paths
    scattering: float  # c

    def __init__(self, thickness: float = 2.0, scattering: float = 0.9):
        """`thickness` is L in mean free paths, `scattering` is c, the mean number of particles that leave a collision."""
        self.thickness = length = real("thickness", thickness, low=0.01, high=100.0)
        self.scattering = c = real("scattering", scattering, low=0.0, high=1.0)
        places, flux = peierls_flux(length, c)

        def arrivals(u: Function, x: Number, t: Float[Array, "2"]) -> Float[Array, ""]:
            place, weight = flight(x, t, length)
            return 0.5 * weight * (c * u(place) + 1)

        super().__init__(
            domain=Interval(0.0, length),
            f=lambda u, x: u(x),
            integrals=[Integral(Product(Interval(-1.0, 1.0), Interval(0.0, 1.0)), arrivals, at=lambda x, t: flight(x, t, length)[0])],
            exact=lambda x: jnp.interp(x[0], jnp.asarray(places, x.dtype), jnp.asarray(flux, x.dtype)),
            defaults=ONE_SAMPLE.defaults(MLP(32, 3, "tanh"), 10_000, 400),
        )

    def recipe(self) -> dict[str, Any]:
        return {"thickness": self.thickness, "scattering": self.scattering}


def flight(x: Number, t: Float[Array, "2"], length: float) -> tuple[Number, Float[Array, ""]]:
    """Where a flight along the cosine t[0] ends inside of the slab, and the probability that it does."""
    cosine = jnp.where(jnp.abs(t[0]) < 1e-6, 1e-6, t[0])
    room = jnp.where(cosine > 0, (length - x[0]) / cosine, -x[0] / cosine)
    inside = -jnp.expm1(-room)
    return jnp.clip(x - cosine * jnp.log1p(-t[1] * inside), 0.0, length), inside


@lru_cache(maxsize=16)
def peierls_flux(thickness: float, scattering: float) -> tuple[np.ndarray, np.ndarray]:
    """Places and the flux there, from the integral equation solved by collocation; `TABLE` places, denser at the surface."""
    nodes, kernel = collocation(thickness)
    source = kernel.sum(axis=1)
    flux = np.linalg.solve(np.eye(len(nodes)) - scattering * kernel, source)
    places = 0.5 * thickness * (1 - np.cos(np.linspace(0, np.pi, TABLE)))
    return places, interpolation(places, thickness) @ flux


def collocation(thickness: float, panels: int = PANELS) -> tuple[np.ndarray, np.ndarray]:
    r"""The nodes $x_i$ and the matrix $\frac12 \int_0^L E_1(|x_i - x'|)\,\ell_j(x')\,dx'$ with the piecewise polynomials $\ell_j$.

    $E_1$ has a logarithm at $x' = x_i$, so every piece between two edges of panels or $x_i$ is integrated with $x' = x_i \pm r^4$.
    """
    nodes = _panel_nodes(thickness, panels).ravel()
    edges, (z, w) = _edges(thickness, panels), leggauss(24)
    rows = []
    for x in nodes:
        cuts = np.unique(np.concatenate([edges, [x]]))
        roots = np.sign(cuts - x) * np.abs(cuts - x) ** 0.25
        middle, half = 0.5 * (roots[1:] + roots[:-1]), 0.5 * (roots[1:] - roots[:-1])
        r = (middle[:, None] + half[:, None] * z).ravel()
        weights = (half[:, None] * w).ravel() * 4 * np.abs(r) ** 3 * scipy.special.exp1(r**4) / 2
        rows.append(weights @ interpolation(x + np.sign(r) * r**4, thickness, panels))
    return nodes, np.array(rows)


def interpolation(places: np.ndarray, thickness: float, panels: int = PANELS) -> np.ndarray:
    r"""$\ell_j$ at places, (places, nodes): on each panel Lagrange's polynomials of its Gauss nodes."""
    edges, nodes = _edges(thickness, panels), _panel_nodes(thickness, panels)
    panel = np.clip(np.searchsorted(edges, places, side="right") - 1, 0, len(nodes) - 1)
    matrix = np.zeros((len(places), nodes.size))
    for index in range(ORDER):
        others = np.delete(np.arange(ORDER), index)
        own = nodes[panel]
        values = np.prod((places[:, None] - own[:, others]) / (own[:, [index]] - own[:, others]), axis=1)
        matrix[np.arange(len(places)), panel * ORDER + index] = values
    return matrix


def _edges(thickness: float, panels: int) -> np.ndarray:
    """Panels that shrink four times towards both surfaces, where the flux has the slope of x ln x."""
    graded = 0.5 * thickness * np.concatenate([[0.0], 0.25 ** np.arange(panels - 1, -1, -1.0)])
    return np.concatenate([graded, thickness - graded[-2::-1]])


def _panel_nodes(thickness: float, panels: int) -> np.ndarray:
    edges, (z, _) = _edges(thickness, panels), leggauss(ORDER)
    return 0.5 * (edges[1:] + edges[:-1])[:, None] + 0.5 * np.diff(edges)[:, None] * z
