"""Poisson by the divergence theorem: areas and fluxes in every dimension, and the evaluation profiles of high dimension."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.domains import Record
from fredholm.equation.evaluation import METRICS
from fredholm.functions.field import Field
from fredholm.problems import RadialGrid, evaluation_profiles
from fredholm.problems.poisson import flux, surface

DIMENSIONS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 30)


@pytest.mark.parametrize("dim", DIMENSIONS)
def test_in_single_precision_the_surface_and_the_flux_are_right(dim):
    ball = Record(center=jnp.zeros(dim), radius=jnp.asarray(0.7))
    log_area = math.log(2) + dim / 2 * math.log(math.pi) - math.lgamma(dim / 2) + (dim - 1) * math.log(0.7)
    assert float(surface(ball).mass) == pytest.approx(math.exp(log_area), rel=3e-6)
    u = Field(fr.problems.Poisson(dim, [(0.0,) * dim], [2.5]).exact, {}, dim, 1)

    @jax.jit
    def total(key):
        nodes = fr.MonteCarlo(8).nodes(surface(ball), key)
        return jnp.sum(jax.vmap(lambda t, w: w * flux(u, ball, t))(nodes.points, nodes.weights))

    assert float(total(jax.random.key(0))) == pytest.approx(2.5, rel=1e-5)  # round one charge the flux density is constant


def test_the_normalized_error_is_two_minus_twice_the_correlation():
    """For a perturbation whose correlation with the truth is known; scale and shift of the prediction do not matter."""
    problem = fr.problems.Poisson(dim=5, evaluation=RadialGrid(fr.Ball((0.0,) * 5), radii=20, directions=30))
    points = problem.evaluation.points()
    truth = problem.truth(points)
    standard = (truth - truth.mean()) / truth.std()
    other = points[:, :1] - points[:, :1].mean()
    other = other - standard * jnp.mean(other * standard)
    other = other / other.std()
    for angle in (0.0, 0.1, 1.0, 2.0):
        prediction = 3.0 + 0.5 * (math.cos(angle) * standard + math.sin(angle) * other)
        correlation = np.corrcoef(np.ravel(prediction), np.ravel(truth))[0, 1]
        scores = problem.evaluation(prediction, truth, points)
        assert correlation == pytest.approx(math.cos(angle), abs=1e-4)
        assert float(scores["mse_normalized"]) == pytest.approx(2 * (1 - math.cos(angle)), abs=1e-4)
        assert float(scores["mse"]) > float(scores["mse_mean_free"])


def test_a_quick_look_at_the_grid_has_its_radii_and_so_its_score_of_a_radial_function():
    charges = fr.problems.Poisson(5).charges
    grid = RadialGrid(fr.Ball((0.0,) * 5))
    scores = []
    for points in (grid.points(5000), grid.points()):
        truth = jax.vmap(charges.potential)(points)[:, None]
        smooth = -((jnp.sum(points**2, axis=1, keepdims=True) + 0.04) ** -1.5)  # the potential, cut off near the charge
        scores.append(float(grid(smooth, truth, points)["mse_normalized"]))
    assert len(grid.points(5000)) == 5000
    assert scores[0] == pytest.approx(scores[1], rel=1e-3)


def test_algorithm_2_is_quantiles_times_directions():
    law = fr.Ball((0.0,) * 3, 2.0)
    points = np.asarray(RadialGrid(law, radii=7, directions=5, draws=20_000).points()).reshape(7, 5, 3)
    radii = np.linalg.norm(points, axis=-1)
    np.testing.assert_allclose(radii, radii[:, :1] * np.ones((1, 5)), rtol=1e-5)
    np.testing.assert_allclose(radii[:, 0], 2 * ((np.arange(7) + 0.5) / 7) ** (1 / 3), rtol=2e-2)  # quantiles of r with r^3 ~ U[0, 8]
    np.testing.assert_allclose(points / radii[..., None], (points / radii[..., None])[:1] * np.ones((7, 1, 1)), atol=1e-5)


def test_every_profile_scores_and_the_two_estimators_agree():
    problem = fr.problems.Poisson(dim=4)
    profiles = evaluation_profiles(problem.domain, n=40_000)
    assert {"cube", "unit ball", "normal", "training volumes", "training volumes, grid"} <= set(profiles)

    def wrong(profile):
        """Of two bounded functions: the potential's few large values near a charge would make the 500 radii of a grid a matter of luck."""
        points = profile.points()
        squares = jnp.sum(points**2, axis=1, keepdims=True)
        return float(METRICS["mse_normalized"](jnp.cos(squares), jnp.exp(-squares), points))

    scores = {name: wrong(profile) for name, profile in profiles.items()}
    assert all(np.isfinite(score) for score in scores.values())
    for name in ("unit ball", "normal", "training volumes"):
        assert scores[name] == pytest.approx(scores[f"{name}, grid"], rel=0.05)
    assert len({round(score, 2) for name, score in scores.items() if "grid" not in name}) == 4  # the choice of the law matters


def test_the_default_is_the_best_that_is_known_and_the_published_settings_are_a_word_away():
    problem = fr.problems.Poisson(5, charges=[[0.1] * 5, [0.2] * 5, [0.3] * 5], weights=[1.0, 0.0, -2.0])
    assert problem.defaults.rule == fr.Focused(16, np.asarray([[0.1] * 5, [0.3] * 5], np.float32), [1.0, 2.0]), (
        "nothing is where no charge is"
    )
    assert problem.defaults.method == fr.Standard()
    assert problem.as_published().defaults == problem.published
    assert problem.published.method == fr.DelayedTarget(tau=0.996, regularization=4.0, split=500.0)
    for other in (
        fr.problems.Maxwell(),
        fr.problems.Smoluchowski(reference=None),
        fr.problems.Poisson(charges=fr.Box((-1.0,) * 2, (1.0,) * 2)),
    ):
        assert other.published is not None
        assert other.defaults != other.published
    with pytest.raises(ValueError, match="no settings of a published run"):
        fr.problems.Volterra().as_published()


def test_the_default_recipe_trains_in_ten_dimensions():
    """A few steps, as a plain call makes them: the rule, the form of the network and the optimiser go together."""
    problem = fr.problems.Poisson(10, evaluation=RadialGrid(fr.Ball((0.0,) * 10), radii=10, directions=10))
    solution = fr.solve(problem, steps=3, seeds=2, progress=False)
    assert np.isfinite(solution.history["loss"]).all()
    assert np.max(np.abs(solution(np.zeros((1, 10))))) < 0.1, "it starts small"
