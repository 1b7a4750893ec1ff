"""Short real trainings, one for each class: the bias is there, and the cures work. Thresholds have a margin over several seeds."""

import numpy as np

import fredholm as fr

SEEDS = [0, 1]


def test_volterra_one_sample_per_point():
    """Standard stays near relative L2 0.50 whatever the budget; delayed targets and double sampling come down."""
    keywords = {"steps": 2500, "seeds": SEEDS, "progress": False}
    problem = fr.problems.Volterra()
    standard = fr.solve(problem, fr.Standard(), rule=fr.MonteCarlo(1), **keywords).evaluate()["relative_l2"]
    delayed = fr.solve(problem, fr.DelayedTarget(), rule=fr.MonteCarlo(1), **keywords).evaluate()["relative_l2"]
    assert (standard > 0.3).all()
    assert (delayed < 0.05).all()


def test_poisson_in_the_plane():
    """Rotated even nodes beat standard N=1 at the same 800 points a step."""
    problem, keywords = fr.problems.Poisson(), {"steps": 2000, "seeds": SEEDS, "progress": False}
    biased = fr.solve(problem, fr.Standard(), rule=fr.MonteCarlo(2), batch=400, **keywords)
    cured = fr.solve(problem, fr.Standard(), rule=fr.Even(33, fr.Rotation()), batch=24, **keywords)
    assert (biased.evaluate()["mse_linear_free"] > 2.5e-3).all()
    assert (cured.evaluate()["mse_linear_free"] < 1.5e-3).all()
    loss = np.asarray(biased.history["loss"])[:, -1]
    excess = np.asarray(biased.history["excess_variance"])[:, -5:].mean(axis=1)
    assert (excess > 0.5 * loss).all(), "most of the standard loss is excess variance"
