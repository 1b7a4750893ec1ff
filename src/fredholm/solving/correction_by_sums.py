r"""A correction of u by random features, on many axes or with random nodes: sums of rows with two independent estimates.

With $\mathbb{E}[A^\top B]\,\theta = -\mathbb{E}[A^\top b]$ from `DoubleSampling` the noise of the nodes adds no bias. The features are made
orthonormal on the points where u is evaluated, and directions that are hardly seen there are left out.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fredholm.common.compiling import filter_compiled_once
from fredholm.diagnostics.certificate import Losses
from fredholm.equation.equation import Equation
from fredholm.equation.frame import frame_of
from fredholm.equation.probe import measures_of
from fredholm.functions.field import Field
from fredholm.functions.random_features import RandomFeatures
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.protocol import shares
from fredholm.methods.sharing import mean_in_tiles
from fredholm.methods.standard import Standard
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.solving.correction import Correction, Sizes, with_part
from fredholm.solving.sums import system_of
from fredholm.training.update import as_vector

FEATURES = 120
NODES = 8  # of each integral at each point
GROUPS, POINTS, TILE = 16, 256, 32  # groups of points, whose spread is the noise; the points in each; those that are evaluated at once
SEEN = 1e-3  # directions of the features that are smaller than this share of the largest are left out
ITERATIONS = 2  # of Newton's method
ONE_SAMPLE = "there is one given sample at each x, and a correction needs two independent estimates of the integral"


def corrected_by_sums(equation: Equation, members: Field) -> Correction:
    """One Newton correction of the mean of several networks, stacked, in double precision."""
    measures = [measure for residual in (equation, *equation.conditions) for measure in measures_of(residual)]
    if any(measure.samples == 1 for measure in measures):
        raise ValueError(ONE_SAMPLE)
    rules = [MonteCarlo(NODES if measure.samples is None else min(NODES, measure.samples // 2 * 2)) for measure in measures]
    method = DoubleSampling("all") if rules else Standard()
    recipe = RandomFeatures(FEATURES).fitted(frame_of(equation), equation.outputs)
    skeleton = with_part(members, recipe.build(equation.inputs, equation.outputs, jax.random.key(3)))
    vector, build = as_vector(skeleton)
    start, sizes = np.asarray(vector, float), Sizes.of(equation, lambda theta: build(theta))

    @filter_compiled_once
    def summed(theta: Float[Array, "p"], key: Key[Array, ""]) -> tuple[Float[Array, "g p p"], Float[Array, "g p"]]:
        def group(key: Key[Array, ""]) -> tuple[Array, Array]:
            found = [
                mean_in_tiles(lambda share: system_of(method, build(theta), share), share, TILE)
                for share in shares(equation, rules, POINTS, key)
            ]
            return sum((matrix for matrix, _ in found), jnp.zeros(())), sum((right for _, right in found), jnp.zeros(()))

        return jax.lax.map(group, jax.random.split(key, GROUPS))

    basis = _orthonormal(sizes, start, len(start) - len(skeleton.unknowns))

    def step(theta: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The correction, and its standard error as another one."""
        matrix, right = (np.asarray(part, float) for part in summed(jnp.asarray(theta), jax.random.key(70 + number)))
        if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
            raise ValueError("the residual is not finite at some points")
        whole, sides = basis.T @ matrix.mean(axis=0) @ basis, right @ basis
        found = -np.linalg.lstsq(whole, sides.mean(axis=0), rcond=1e-10)[0]
        leftover = sides + (matrix @ (basis @ found)) @ basis  # of each group, at the solution of all
        moves = np.linalg.lstsq(whole, leftover.T, rcond=1e-10)[0] / math.sqrt(GROUPS * (GROUPS - 1))
        return basis @ found, basis @ moves @ np.where(np.arange(GROUPS) % 2, 1.0, -1.0)

    theta = start
    for number in range(ITERATIONS):
        change, noise = step(theta, number)
        theta = theta + change
    losses, key = Losses(equation), jax.random.key(99)
    before, after = (losses(equation, build(jnp.asarray(one)), key)[0] for one in (start, theta))
    left = math.sqrt(max(after, 0.0) / before) if before > 0 else 0.0
    return sizes.correction(
        (start, theta, theta + noise),
        left,
        dropped=0,
        intervals={},
        names=sorted(equation.unknowns),
        about=f"a class of {FEATURES} random features",
    )


def _orthonormal(sizes: Sizes, start: np.ndarray, count: int) -> np.ndarray:
    """Combinations of the features that are orthonormal on the points, as columns; learned scalars are directions of their own."""
    zero = sizes.values(start, sizes.points).ravel()
    columns = np.stack([sizes.values(start + one, sizes.points).ravel() - zero for one in np.eye(len(start))[:count]], axis=1)
    _, values, turned = np.linalg.svd(columns / math.sqrt(len(columns)), full_matrices=False)
    kept = values > SEEN * values[0]
    basis = np.zeros((len(start), int(kept.sum()) + len(start) - count))
    basis[:count, : kept.sum()] = turned[kept].T / values[kept]
    basis[count:, kept.sum() :] = np.eye(len(start) - count)
    return basis
