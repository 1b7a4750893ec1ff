"""Every problem, rule and method, once: contract tests run over their product."""

import fredholm as fr
from fredholm.domains import Warped


def tilted(domain):
    """Two thirds of every axis for half of the nodes: a proposal on any domain."""
    return Warped(domain, ((0.0, 0.65, 1.0),) * len(domain.bases))


PROBLEMS = {
    "volterra": fr.problems.Volterra(),
    "poisson-2": fr.problems.Poisson(),
    "poisson-5": fr.problems.Poisson(dim=5),
    "poisson-drawn": fr.problems.Poisson(charges=fr.Box((-1.0, -1.0), (1.0, 1.0))),
    "poisson-boundary": fr.problems.Poisson(boundary=1.0),
    "poisson-several": fr.problems.PoissonSeveral(3),
    "maxwell": fr.problems.Maxwell(),
    "smoluchowski-1": fr.problems.Smoluchowski(reference=fr.problems.Collocation(nodes=101)),
    "smoluchowski-2": fr.problems.Smoluchowski(2, fr.problems.SaturatingKernel(), reference=fr.problems.Collocation(nodes=13)),
    "smoluchowski-constant": fr.problems.SmoluchowskiConstant(2),
    "smoluchowski-golovin": fr.problems.SmoluchowskiGolovin(),
}
# The literature's equations, each with a rule that is exact enough for its truth to have no residual, and the residual that is left.
ZOO = {
    "volterra2": (fr.problems.Volterra2(), fr.Gauss(20), 1e-12),
    "fredholm-first-kind": (fr.problems.FredholmFirstKind(), fr.Gauss(20), 1e-12),
    "fredholm-second-kind": (fr.problems.FredholmSecondKind(), fr.Gauss(20), 1e-12),
    "fredholm-nonlinear": (fr.problems.FredholmNonlinear(), fr.Gauss(20), 1e-12),
    "parabolic": (fr.problems.Parabolic(), fr.Gauss(20), 1e-12),
    "bellman": (fr.problems.Bellman(3), fr.Gauss(3), 1e-12),
    "fractional-interval": (fr.problems.FractionalInterval(), fr.Gauss(20), 1e-12),
    "fractional-2": (fr.problems.FractionalPoisson(), fr.QuasiMonteCarlo(4096, fr.Sobol()), 5e-3),
    "fractional-10": (fr.problems.FractionalPoisson(10), fr.QuasiMonteCarlo(4096, fr.Sobol()), 5e-3),
    "fractional-low-order": (fr.problems.FractionalPoisson(3, 0.8), fr.QuasiMonteCarlo(4096, fr.Sobol()), 5e-3),
    "jump-diffusion": (fr.problems.JumpDiffusion(3, drift=0.2), fr.Gauss(2), 1e-12),
    "basket": (fr.problems.Basket(3), fr.Gauss(2), 1e-12),
    "poisson-ball": (fr.problems.PoissonBall(4), fr.Gauss(2), 1e-10),
    "transport-slab": (fr.problems.TransportSlab(), fr.Gauss(100), 5e-4),
}
RULES = {
    "monte-carlo-1": fr.MonteCarlo(1),
    "monte-carlo-4": fr.MonteCarlo(4),
    "even": fr.Even(2),
    "even-shift": fr.Even(2, fr.Shift()),
    "even-fixed-shift": fr.Even(2, fr.Shift(fixed=True)),
    "gauss": fr.Gauss(2),
    "gauss-shift": fr.Gauss(2, fr.Shift()),
    "clenshaw-curtis": fr.ClenshawCurtis(3),
    "leja": fr.Leja(2),
    "additive-recursion": fr.QuasiMonteCarlo(4),
    "sobol-scramble": fr.QuasiMonteCarlo(4, fr.Sobol(), fr.Scramble()),
    "halton": fr.QuasiMonteCarlo(4, fr.Halton()),
    "lattice-shift": fr.QuasiMonteCarlo(4, fr.Lattice(), fr.Shift()),
    "smolyak-leja": fr.Smolyak(fr.Leja(1), 1),
    "smolyak-gauss-shift": fr.Smolyak(fr.Gauss(1), 2, fr.Shift()),
    "importance": fr.Importance(fr.MonteCarlo(4), tilted),
    "antithetic": fr.Antithetic(2),
    "shared": fr.Shared(fr.MonteCarlo(4)),
}
METHODS = {
    "standard": fr.Standard(),
    "double-split": fr.DoubleSampling(),
    "double-all": fr.DoubleSampling("all"),
    "delayed": fr.DelayedTarget(),
    "delayed-published": fr.DelayedTarget(tau=0.99, regularization=1.0, split=100.0),
    "delayed-detached": fr.DelayedTarget(tau=0.0, regularization=0.0),
    "delayed-hard": fr.DelayedTarget(every=2),
    "delayed-on-f": fr.DelayedTarget(on="f", split=10.0, main=2),
}
DOUBLE = ("double-split", "double-all")
# Double sampling needs two independent draws, which one point and fixed nodes do not give, and weights that are not negative.
FIXED = {name for name, rule in RULES.items() if not rule.is_random}
REFUSED = {(method, rule) for method in DOUBLE for rule in ("monte-carlo-1", *FIXED)}
