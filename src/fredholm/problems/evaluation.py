"""Where weak forms are scored: inside their training volumes, and on the paper's grid of radii and directions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fredholm.common.checks import positive_integer
from fredholm.common.compiling import filter_compiled
from fredholm.domains.base import AbstractDomain, Base
from fredholm.domains.combined import Law, Product
from fredholm.domains.distributions import Normal
from fredholm.domains.flat import Box
from fredholm.domains.round import Ball, random_directions
from fredholm.equation.evaluation import AbstractEvaluation, Evaluation

HIGH_DIMENSION = ("mse", "relative_l2", "mse_mean_free", "mse_normalized")


class InsideBalls(AbstractDomain):
    """Uniform points inside random balls: the region that the training volumes cover."""

    center: AbstractDomain  # the law of the balls' centres
    radius: AbstractDomain  # the law of their radii

    @property
    def dimension(self) -> int:
        return self.center.dimension

    @property
    def bases(self) -> tuple[Base, ...]:
        return (*Product(self.center, self.radius).bases, *Ball((0.0,) * self.dimension).bases)

    @property
    def mass(self) -> float:
        return 1.0

    def map(self, z: Float[Array, "k"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        first, second = len(self.center.bases), len(self.center.bases) + len(self.radius.bases)
        center, radius = self.center.map(z[:first])[0], self.radius.map(z[first:second])[0]
        return Ball(center, radius[0]).map(z[second:])[0], jnp.ones(())

    def sample(self, key: Key[Array, ""]) -> Float[Array, "d"]:
        key_center, key_radius, key_point = jax.random.split(key, 3)
        return Ball(self.center.sample(key_center), self.radius.sample(key_radius)[0]).sample(key_point)


class RadialGrid(AbstractEvaluation):
    r"""The paper's Algorithm 2: quantiles of the radius of points of a rotation-invariant law, times uniform directions.

    t points of the law give the $(\frac{1}{2q}, \frac{3}{2q}, \ldots, \frac{2q-1}{2q})$ quantiles of the radius. Each radius is combined
    with each of s directions. Radii and directions are the same for every method and seed. The score standardises prediction and truth.
    """

    at: AbstractDomain  # the law of the points; it must be invariant under rotations about the origin
    radii: int = eqx.field(default=500, converter=lambda n: positive_integer("RadialGrid radii", n))  # q
    directions: int = eqx.field(default=500, converter=lambda n: positive_integer("RadialGrid directions", n))  # s
    draws: int = eqx.field(default=10_000, converter=lambda n: positive_integer("RadialGrid draws", n))  # t
    score: str = "mse_normalized"
    metrics: tuple[str, ...] = HIGH_DIMENSION

    @filter_compiled
    def points(self, n: int | None = None) -> Float[Array, "n d"]:
        key_points, key_directions = jax.random.split(jax.random.key(2024))
        drawn = jax.vmap(self.at.sample)(jax.random.split(key_points, self.draws))
        q, s = self.radii, self.directions
        # With n points, as during training: still every radius, since the smallest, next to the charge, dominate the score, but only a few
        # directions at each radius, in turns.
        taken = s if n is None else max(1, min(s, n // q))
        turns = (np.arange(q)[:, None] * taken + np.arange(taken)[None]) % s
        radii = jnp.quantile(jnp.linalg.norm(drawn, axis=-1), (jnp.arange(q) + 0.5) / q)
        directions = random_directions(key_directions, s, self.at.dimension)
        return (radii[:, None, None] * directions[turns]).reshape(q * taken, self.at.dimension)


def evaluation_profiles(volumes: Law, n: int = 10_000) -> dict[str, AbstractEvaluation]:
    """The evaluation distributions that the paper compares in high dimension, for balls with this law of `center` and `radius`.

    Each has n independent points. Those that are invariant under rotations are there also as the paper's grid (Algorithm 2). Score a
    solution on one of them with `solution.evaluate(problem=Poisson(dim=5, evaluation=profile))`.
    """
    center, radius = volumes.parts["center"], volumes.parts["radius"]
    low = (-1.0,) * center.dimension
    laws = {
        "cube": Box(low, (1.0,) * center.dimension),
        "unit ball": Ball((0.0,) * center.dimension, 1.0),
        "normal": Normal((0.0,) * center.dimension, 1.0),
        "training volumes": InsideBalls(center, radius),
    }
    independent = {name: Evaluation(at=law, n=n, score="mse_normalized", metrics=HIGH_DIMENSION) for name, law in laws.items()}
    grids = {f"{name}, grid": RadialGrid(at=law) for name, law in laws.items() if name != "cube"}
    return {**independent, **grids}
