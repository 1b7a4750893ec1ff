"""Are the nodes fine enough? Fixed nodes that suit a smooth u miss the integrals of one with kinks and jumps, always by the same amount."""

import jax
import numpy as np
from jaxtyping import Array, Float

from fredholm.common.compiling import compiled_once
from fredholm.common.findings import Finding
from fredholm.equation.estimate import draw, estimate
from fredholm.equation.probe import measures_of, sample_points
from fredholm.equation.reference import reference_rules
from fredholm.equation.residual import Place
from fredholm.methods.protocol import Trained
from fredholm.rules.base import AbstractRule
from fredholm.rules.even import Even
from fredholm.rules.randomize import Shift

POINTS = 128
MOST = 0.5  # from this share of the residual on, the error of the nodes is what limits it
MOVING = Even(16, Shift())


def coarse_nodes(subject: Trained) -> list[Finding]:
    """A finding where most of the residual is the error of the run's own nodes; nothing where they are random."""
    equation, u = subject.equation, subject.answer
    own, fine = list(subject.rules[: len(equation.integrals)]), reference_rules(equation)
    if not own or any(rule.is_random for rule in (*own, *fine)):
        return []

    @compiled_once
    @jax.vmap
    def parts(x: Place) -> tuple[Float[Array, "e"], Float[Array, "e"]]:
        coarse, best = (estimate(equation, u, x, draw(equation, rules, x, jax.random.key(0))) for rules in (own, fine))
        return coarse - best, equation.local_residual(u, x) + equation.sign * best

    missed, residual = (float(np.sqrt(np.mean(np.square(part)))) for part in parts(sample_points(equation, POINTS, seed=16)))
    if not missed > MOST * residual:
        return []
    rule = ", ".join(dict.fromkeys(map(repr, own)))
    text = (
        f"the integrals by {rule} differ from those by fine nodes by {missed / residual:.0%} of the residual: u is rougher than these "
        "nodes resolve, and the training fits their error. Use more of them, or nodes that move, Even(16, Shift())."
    )
    return [Finding("warning", "nodes", text, {"rule": MOVING} if _fits(subject, MOVING) else {})]


def _fits(subject: Trained, rule: AbstractRule) -> bool:
    return all(rule.fits(measure) for one in (subject.equation, *subject.equation.conditions) for measure in measures_of(one))
