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
from fredholm.equation.probe import measures_of, probe_points
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
NODES = 32  # of each integral at each point
GROUPS, POINTS, TILE = 16, 256, 16  # groups of points, whose spread is the noise; the points in each; those that are evaluated at once
DIRECTIONS = (5, 10, 20, 40, 80)  # numbers of directions that are tried, besides all of them
PLACES = 2000  # at which they are made orthonormal
SEEN = 1e-3  # directions of the features that are smaller than this share of the largest are left out
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

    places = probe_points(equation, PLACES)
    basis = _orthonormal(sizes, sizes.points if places is None else jnp.asarray(places, float), start, len(start) - len(skeleton.unknowns))

    scalars = len(skeleton.unknowns)

    def step() -> tuple[np.ndarray, np.ndarray]:
        """The correction, and a draw of its noise."""
        matrix, right = (np.asarray(part, float) for part in summed(jnp.asarray(start), jax.random.key(70)))
        if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
            raise ValueError("the residual is not finite at some points")
        matrix, right = basis.T @ matrix @ basis, right @ basis
        own = _predictive(matrix, right, scalars)
        matrix, right, directions = matrix[:, own][:, :, own], right[:, own], basis[:, own]
        whole = matrix.mean(axis=0)
        found = _solved(whole, right.mean(axis=0))
        # What the rows of each group sum to at the solution of all of them, with random signs: a draw of the noise of their mean.
        noise = np.where(np.arange(GROUPS) % 2, 1.0, -1.0) @ (right + matrix @ found) / math.sqrt(GROUPS * (GROUPS - 1))
        return directions @ found, directions @ _solved(whole, noise)

    change, noise = step()
    theta = start + change
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


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    return -np.linalg.lstsq(matrix, right, rcond=1e-10)[0]


def _predictive(matrix: np.ndarray, right: np.ndarray, scalars: int) -> np.ndarray:
    """So many of the directions, the smoothest first, that their solution from half of the groups lowers the loss of the other half most:
    more would follow the noise."""
    count = right.shape[1] - scalars
    even, odd = ((matrix[half::2].mean(axis=0), right[half::2].mean(axis=0)) for half in (0, 1))

    def gain(own: np.ndarray) -> float:
        found = _solved(even[0][np.ix_(own, own)], even[1][own])
        return float(2 * found @ odd[1][own] + found @ odd[0][np.ix_(own, own)] @ found)

    every = [np.r_[:most, count : count + scalars] for most in sorted({min(most, count) for most in (*DIRECTIONS, count)})]
    gains = [gain(own) for own in every]
    if not min(gains) < 0:
        raise ValueError("what the residual asks for is below the noise of its samples")
    return every[int(np.argmin(gains))]


def _orthonormal(sizes: Sizes, points: Float[Array, "n d"], start: np.ndarray, count: int) -> np.ndarray:
    """Combinations of the features that are orthonormal on the points, as columns; learned scalars are directions of their own."""
    zero = sizes.values(start, points).ravel()
    columns = np.stack([sizes.values(start + one, points).ravel() - zero for one in np.eye(len(start))[:count]], axis=1)
    _, values, turned = np.linalg.svd(columns / math.sqrt(len(columns)), full_matrices=False)
    kept = values > SEEN * values[0]
    basis = np.zeros((len(start), int(kept.sum()) + len(start) - count))
    basis[:count, : kept.sum()] = turned[kept].T / values[kept]
    basis[count:, kept.sum() :] = np.eye(len(start) - count)
    return basis
