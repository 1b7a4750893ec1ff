"""How long runs will take, from what they compute: a rough figure, printed before a study starts."""

from collections.abc import Iterable

from fredholm.methods.protocol import AbstractMethod
from fredholm.study.run import Run

# Seconds of a run on two cores, its seeds on both, for each seed, step, point and thousand weights of the network, from steps that were
# timed alone on such a machine: 0.68 ms of a seed for Poisson in the plane, 1.6 ms for Maxwell, 0.9 ms for Smoluchowski, each with 800
# points. It is a guess to plan by: while a study runs, the time left follows its own pace.
PER_POINT = {"Poisson": 1.1e-7, "Maxwell": 1.3e-7, "Smoluchowski": 1.5e-7}
USUAL = 1.5e-7
PER_STEP = 1e-4  # of each seed, whatever the points
PER_RUN = 8.0  # compiling, scoring


def seconds(run: Run) -> float:
    """The estimated time of a run on two cores."""
    settings = run.settings
    network, method, rule = (settings.part(name) for name in ("network", "method", "rule"))
    problem = None if run.is_own else settings.part("problem")
    width, depth = getattr(network, "width", 64), getattr(network, "depth", 3)
    inputs, outputs = (1, 1) if problem is None else (problem.inputs, problem.outputs)
    weights = inputs * width + (depth - 1) * width**2 + width * outputs
    if problem is None or not isinstance(method, AbstractMethod):  # No file is imported for a guess: as if it had one integral.
        points = settings.batch * getattr(rule, "n", 1)
    else:
        points = method.evaluations(problem, problem.rules(rule)).of_integrands(settings.batch)
    step = PER_STEP + PER_POINT.get(type(problem).__name__, USUAL) * points * weights / 1000
    return PER_RUN + settings.steps * len(settings.seeds) * step


def estimates(runs: Iterable[Run]) -> dict[str, float]:
    """The estimated time of each run, by key."""
    return {run.key: seconds(run) for run in runs}


def words(time: float) -> str:
    """A time as a person says it."""
    if time < 90:
        return f"{time:.0f} s"
    return f"{time / 60:.0f} min" if time < 5400 else f"{time / 3600:.1f} h" if time < 1e5 else f"{time / 86400:.1f} days"
