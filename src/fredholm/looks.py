"""What a step costs: how often the network is looked at."""

from typing import NamedTuple

from fredholm.domains import AbstractDomain
from fredholm.equation import Equation
from fredholm.methods import AbstractMethod, DelayedTarget, DoubleSampling
from fredholm.methods.delayed_target import OBSERVED
from fredholm.residual import AbstractResidual
from fredholm.rules import AbstractRule, MonteCarlo, Shared
from fredholm.validation import pick, sample_points


class Looks(NamedTuple):
    """Looks at u in one step."""

    own: int  # for each x: at x, and at the nodes that are drawn for it
    shared: int  # for all x together: at shared nodes of a domain that is the same at every x

    def of(self, batch: int) -> int:
        """With so many x."""
        return batch * self.own + self.shared


def measures_of(residual: AbstractResidual, *, without_rule: bool = False) -> list[AbstractDomain]:
    """The measures of the integrals of an equation, or of a condition, at some x; or only of those that have no rule of their own."""
    x = pick(sample_points(residual, 1), 0)
    return [integral.measure(x) for integral in residual.integrals if not (without_rule and integral.rule is not None)]


def looks(problem: Equation, method: AbstractMethod, rule: AbstractRule) -> Looks:
    """At x and at every node; twice where a method draws the nodes twice."""
    twice = isinstance(method, DelayedTarget) and method.has_main(problem)
    twice = twice or (isinstance(method, DoubleSampling) and not isinstance(rule, MonteCarlo))
    own, shared = 1, 0
    for integral, measure in zip(problem.integrals, measures_of(problem), strict=True):
        chosen = integral.rule or rule
        nodes = chosen.size(measure) * (2 if twice else 1)
        if isinstance(chosen, Shared) and isinstance(integral.over, AbstractDomain):
            shared += nodes
        else:
            own += nodes
    return Looks(own, shared)


def looks_for_drift(problem: Equation, method: AbstractMethod) -> int:
    """Looks at u in each step by which a delayed target measures λ: the network and its target at x, and at two nodes of each integral."""
    if not isinstance(method, DelayedTarget) or method.regularization is not None:
        return 0
    return OBSERVED * (4 * len(problem.integrals) + (0 if problem.is_weak else 2))
