"""A domain with more nodes where they matter: the same measure with other base variables."""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from fredholm.common.checks import instance
from fredholm.domains.base import AbstractDomain, Base


class Warped(AbstractDomain):
    r"""The same measure, by uniform variables y that each axis maps to the domain's z through a piecewise linear $c_j$:

    $$\int g\,d\mu = \mathbb{E}_{y\sim U}\Bigl[\omega(z)\,g(t(z)) \prod_j c_j'(y_j)\Bigr], \qquad z_j = F_j^{-1}(c_j(y_j)).$$

    Each piece of $c_j$ takes the same share of y. Many pieces where the integrand is large therefore put many nodes there
    (Lepage's VEGAS, 1978). The edges are in the unit interval of each axis, $F_j$ is the axis' distribution function.
    """

    domain: AbstractDomain
    edges: Sequence[Sequence[float]] | Float[Array, "_ _"]  # for each axis: 0 = first edge < ... < last edge = 1

    def __check_init__(self) -> None:
        instance("Warped domain", self.domain, AbstractDomain, "Interval(0.0, 1.0)")
        if not hasattr(self.edges, "__len__"):
            raise ValueError(f"Warped edges: got {self.edges!r}; expected a list of edges for each axis.")
        if self.domain.samples is not None:
            raise ValueError(
                f"Warped: {type(self.domain).__name__} has only the samples that were given; use MonteCarlo(n) without importance."
            )
        if len(self.edges) != len(self.domain.bases):
            raise ValueError(
                f"Warped: got edges for {len(self.edges)} axes; expected {len(self.domain.bases)}, the axes of {self.domain!r}."
            )

    @property
    def dimension(self) -> int:
        return self.domain.dimension

    @property
    def bases(self) -> tuple[Base, ...]:
        return (Base.UNIT,) * len(self.edges)

    @property
    def mass(self) -> Float[Array, ""] | float:
        return self.domain.mass

    @property
    def is_finite(self) -> bool:
        return self.domain.is_finite

    def map(self, z: Float[Array, "k"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        coordinates, stretch = [], jnp.ones(())
        for axis, (edges, base) in enumerate(zip(self.edges, self.domain.bases, strict=True)):
            pieces = len(edges) - 1
            grid = jnp.asarray(edges, float)
            piece = jnp.clip(jnp.floor(z[axis] * pieces).astype(int), 0, pieces - 1)
            width = grid[piece + 1] - grid[piece]
            coordinates.append(base.from_unit(grid[piece] + width * (z[axis] * pieces - piece)))
            stretch = stretch * width * pieces
        point, weight = self.domain.map(jnp.stack(coordinates) if coordinates else z)
        return point, weight * stretch

    def rotate(self, key: Key[Array, ""], points: Float[Array, "n d"]) -> Float[Array, "n d"]:
        raise ValueError("a rotation would undo the importance of the nodes; got randomize=Rotation(). Use randomize=Shift().")

    def sample(self, key: Key[Array, ""]) -> Float[Array, "d"]:
        return self.domain.sample(key)
