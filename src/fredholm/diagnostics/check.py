"""`check`: an equation is tried before it is trained, and what is wrong or suspicious is said."""

from collections.abc import Callable
from functools import partial

import jax

from fredholm.common.findings import Finding, Report
from fredholm.diagnostics.exact import exact_residuals
from fredholm.diagnostics.tails import HeavyTail, heavy_tails
from fredholm.diagnostics.uniqueness import Undetermined, undetermined
from fredholm.diagnostics.validation import check_equation
from fredholm.equation.equation import Equation
from fredholm.equation.evaluation import METRICS
from fredholm.equation.probe import fresh_field, pick, sample_points
from fredholm.functions.constrained import Form, form_of
from fredholm.functions.mlp import MLP
from fredholm.functions.protocol import as_network
from fredholm.rules.base import AbstractRule
from fredholm.rules.monte_carlo import MonteCarlo


def check(problem: Equation, *, rule: AbstractRule | None = None, network: object = None) -> Report:
    """Tries an equation on random points, without training, and says what is wrong or suspicious.

    It looks at shapes and numbers; at the residual of the exact solution, if there is one, with integrals that have converged; at the
    variance of a random node of each integral; and for functions that can be added to u without anything noticing.

    Args:
        problem: the equation.
        rule: the rule that you will solve it with, if its nodes should be tried too.
        network: the network that you will solve it with.
    """
    if not isinstance(problem, Equation):
        raise ValueError(f"check: got {problem!r}; expected an Equation, for instance fr.problems.Volterra().")
    chosen = rule or problem.defaults.rule or MonteCarlo(1)
    recipe = as_network(network if network is not None else problem.defaults.network or MLP(16, 2, "tanh"))
    try:
        check_equation(problem, problem.rules(chosen), recipe)
    except ValueError as error:
        return _report(problem, [Finding("error", "shapes and numbers", str(error))])
    form = form_of(recipe)
    parts: list[Callable[[Equation], list[Finding]]] = [_sizes, _exact, partial(_variance, form=form), partial(_uniqueness, form=form)]
    findings = [found for part in parts for found in _guarded(part, problem)]
    return _report(problem, findings)


def _report(problem: Equation, findings: list[Finding]) -> Report:
    return Report(f"{'check':<10}{type(problem).__name__}", findings)


def describe_undetermined(found: Undetermined) -> str:
    """The warning of `solve` and of `check`."""
    if found.is_rough:
        return (
            "the equation is ill-posed (of the first kind): u stands under integrals only, which smooth it, and a rough part of u changes "
            f"the residual by a share of {found.share:.0e} of what a smooth one does. So the network's own smoothness chooses among many "
            "u, and noise comes back magnified. Use nodes without noise, Gauss(n), and add what else you know of u: a Condition, Data."
        )
    add = "Add a Condition (a value, a slope, Periodic, Data or an IntegralCondition)."
    if found.looks_outside:
        add += " Or hold u outside: a wider domain, a Condition there, or jnp.mod or jnp.clip of the point in g."
    intended = "If this is intended, declare it with score=: Equation(evaluation=fr.Evaluation(at=..., score='mse_mean_free'))."
    return f"the solution is not unique: {found}. {add} {intended}"


def describe_heavy_tail(found: HeavyTail) -> str:
    """The warning of `solve` and of `check`."""
    return (
        f"{found.where}: a random node has infinite variance (tail index {found.index:.1f}, finite above 2), so no number of them settles. "
        f"{ENDLESS if found.is_endless else SINGULAR}"
    )


def is_intended(problem: Equation) -> str | None:
    """What the problem says itself that it cannot see, since its score leaves it out; None where it says nothing."""
    metric = None if problem.evaluation is None else METRICS[problem.evaluation.score]
    return f"the score {metric.name} leaves out {metric.blind_to}" if metric is not None and metric.blind_to else None


def _guarded(part: Callable[[Equation], list[Finding]], problem: Equation) -> list[Finding]:
    """A part that cannot be computed is a finding, and not the end of the check."""
    try:
        return part(problem)
    except ValueError as error:
        return [Finding("note", "not examined", f"it could not be examined: {str(error).splitlines()[0]}")]


def _sizes(problem: Equation) -> list[Finding]:
    u = fresh_field(problem, MLP(4, 1))
    x = pick(sample_points(problem, 1), 0)
    e = jax.eval_shape(lambda x: problem.local_residual(u, x), x).shape[0]
    found = [Finding("ok", "shapes and numbers", f"finite at random points; {e} equation(s) for {problem.outputs} unknown function(s)")]
    if e > problem.outputs:
        text = f"{e} equations for {problem.outputs} unknown function(s). If this is not intended, f returns a point and not a number: "
        found.append(Finding("warning", "shapes", text + "x has shape (d,), so write x[0], not x."))
    return found


def _exact(problem: Equation) -> list[Finding]:
    if problem.exact is None:
        return []
    if problem.unknowns:
        return [Finding("note", "exact solution", "not tried, since the true values of the unknowns are not known")]
    return [
        Finding("warning", "exact solution", f"it does not satisfy {found}, at {found.wrong:.0%} of the points")
        if found.is_wrong
        else Finding("ok", "exact solution", str(found))
        for found in exact_residuals(problem)
    ]


SINGULAR = "Put the singularity into the measure (PowerLaw), transform it away, or use fit_importance(...)."
ENDLESS = (
    "On an infinite measure u must fall off: give it that by its form, Constrained(MLP(), lambda n, x: jnp.exp(-x[0]) * n(x)), try a "
    "larger scale=, or end the integral where nothing is left, Interval(x[0], 20.0)."
)


def _variance(problem: Equation, form: Form | None) -> list[Finding]:
    if not any(residual.integrals for residual in (problem, *problem.conditions)):
        return []
    return [Finding("warning", "variance", describe_heavy_tail(found)) for found in heavy_tails(problem, form)] or [
        Finding("ok", "variance", "random nodes have a finite variance")
    ]


def _uniqueness(problem: Equation, form: Form | None) -> list[Finding]:
    found = undetermined(problem, form)
    if found is None:
        return [Finding("ok", "uniqueness", "the equation and its conditions notice every test function")]
    intended = is_intended(problem)
    if intended is not None:
        return [Finding("note", "uniqueness", f"not unique, and {intended}: {found}")]
    return [Finding("warning", "uniqueness", describe_undetermined(found))]
