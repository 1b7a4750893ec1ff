"""Every problem, rule and method, once: contract tests run over their product."""

import fredholm as fr

PROBLEMS = {
    "volterra": fr.problems.Volterra(),
    "poisson-2": fr.problems.Poisson(),
    "poisson-5": fr.problems.Poisson(dim=5),
    "poisson-drawn": fr.problems.Poisson(charges=fr.Box((-1.0, -1.0), (1.0, 1.0))),
    "poisson-boundary": fr.problems.Poisson(boundary=1.0),
}
RULES = {
    "monte-carlo-1": fr.MonteCarlo(1),
    "monte-carlo-4": fr.MonteCarlo(4),
    "even": fr.Even(2),
    "even-shift": fr.Even(2, fr.Shift()),
    "even-fixed-shift": fr.Even(2, fr.Shift(fixed=True)),
}
METHODS = {
    "standard": fr.Standard(),
    "double-split": fr.DoubleSampling(),
    "double-all": fr.DoubleSampling("all"),
    "delayed": fr.DelayedTarget(),
    "delayed-detached": fr.DelayedTarget(tau=0.0, regularization=0.0),
    "delayed-hard": fr.DelayedTarget(every=2),
    "delayed-on-f": fr.DelayedTarget(on="f", split=10.0, main=2),
}
# Double sampling needs two independent draws: these rules have none, and are refused.
REFUSED = {(method, rule) for method in ("double-split", "double-all") for rule in ("monte-carlo-1", "even", "even-fixed-shift")}
