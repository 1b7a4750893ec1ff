"""What a finished run keeps for the page of its study: u along a line beside the exact solution, and its diagnosis."""

import jax
import jax.numpy as jnp
import numpy as np

from fredholm.equation.evaluation import METRICS
from fredholm.results.solution import Solution
from fredholm.study.profile import Profile

POINTS = 101  # of the line
DIAGNOSED = 30.0  # seconds: a training that took at least this gets a diagnosis, which takes some seconds itself
SHORT = "not diagnosed, as the training took less than 30 s: fredholm diagnose makes it"


def profile_of(solution: Solution) -> Profile | None:
    """The profile of a solution, less what its score leaves out; None where the problem has no evaluation points, or is drawn per seed."""
    problem = solution.problem
    if problem is None or problem.evaluation is None or problem.is_drawn:
        return None
    points, output = np.asarray(problem.evaluation.points(1000), float), problem.view.output
    if points.shape[1] != problem.inputs:
        return None
    line = np.tile(points.mean(axis=0), (POINTS, 1))
    line[:, 0] = np.linspace(points[:, 0].min(), points[:, 0].max(), POINTS)
    good = solution.good if solution.good.any() else np.ones(len(solution.seeds), bool)
    members = np.asarray(solution.members(line), float).reshape(len(good), POINTS, -1)[good, :, output]
    exact = None
    if problem.exact is not None:
        with jax.enable_x64(solution.precision == "float64"):
            exact = np.asarray(problem.truth(jnp.asarray(line, float)), float)[:, output]
    if METRICS[problem.evaluation.score].blind_to:
        members = members - members.mean(axis=1, keepdims=True)
        exact = None if exact is None else exact - exact.mean()
    others = ", ".join(f"x[{axis}] = {value:.3g}" for axis, value in enumerate(line[0]) if axis)
    return Profile(line[:, 0], members.mean(axis=0), members.min(axis=0), members.max(axis=0), exact, f"at {others}" if others else "")


def diagnosed(solution: Solution) -> str:
    """The diagnosis in words. An error in it does not fail a run that is finished."""
    if solution.seconds < DIAGNOSED:
        return SHORT
    try:
        return repr(solution.diagnose())
    except Exception as error:
        return f"not diagnosed: {error}"
