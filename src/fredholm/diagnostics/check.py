"""`check`: tries an equation before it is trained, and reports what is wrong or suspicious."""

from collections.abc import Callable
from functools import partial

import jax

from fredholm.common.findings import Finding, Report
from fredholm.common.tracebacks import with_short_tracebacks
from fredholm.diagnostics.exact import exact_residuals
from fredholm.diagnostics.kinks import kinks
from fredholm.diagnostics.tails import HeavyTail, heavy_tails
from fredholm.diagnostics.uniqueness import Undetermined, undetermined
from fredholm.diagnostics.validation import SINGULAR, check_equation
from fredholm.equation.equation import Equation
from fredholm.equation.evaluation import METRICS
from fredholm.equation.probe import fresh_field, pick, sample_points
from fredholm.functions.constrained import Form, form_of
from fredholm.functions.mlp import MLP
from fredholm.functions.protocol import AbstractNetwork, as_network
from fredholm.rules.base import AbstractRule
from fredholm.rules.monte_carlo import MonteCarlo


@with_short_tracebacks
def check(problem: Equation, *, rule: AbstractRule | None = None, network: object = None) -> Report:
    """Tries an equation on random points, corners and edges, without training, and reports what is wrong or suspicious.

    It examines shapes and finite numbers; the residual of the exact solution, if there is one, with converged integrals; the
    variance of random nodes of each integral; and uniqueness, whether a function can be added to u that neither the equation nor its
    conditions notice; and kinks of a `Constrained` form that second derivatives do not see.

    Args:
        problem: the equation.
        rule: the rule for the integrals; default: the problem's own, else `MonteCarlo(1)`.
        network: the network for u; default: the problem's own, else a small MLP.

    Returns:
        A `Report`: print it, or read `report.ok`, `report.findings` and `report.symptoms`.

    Raises:
        ValueError: where an argument has another kind, shape or range; the message says what was given, what is expected and what to do.

    Examples:
        >>> import fredholm as fr
        >>> fr.check(fr.problems.Volterra()).ok
        True

    See also:
        `solve`, `Equation`, `ProblemWarning`.
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
    parts += [partial(_kinks, network=recipe)] if form is not None else []
    findings = [found for part in parts for found in _guarded(part, problem)]
    return _report(problem, findings)


def _report(problem: Equation, findings: list[Finding]) -> Report:
    return Report(f"{'check':<10}{type(problem).__name__}", findings)


def describe_undetermined(found: Undetermined) -> str:
    """The text of the warning, for `solve` and `check`."""
    if found.is_rough:
        return (
            "the equation is ill-posed (of the first kind): u appears only under integrals, which smooth it. A rough part of u changes the "
            f"residual {found.share:.0e} times as much as a smooth one. So many u fit, the network's smoothness chooses among them, and "
            "noise is magnified. Use nodes without noise, Gauss(n), and add what else you know of u: a Condition, Data."
        )
    add = "Add a Condition (a value, a slope, Periodic, Data or an IntegralCondition)."
    if found.evaluates_outside:
        add += " Or determine u outside: use a wider domain, a Condition there, or jnp.mod or jnp.clip of the point in g."
    intended = "If this is intended, declare it with score=: Equation(evaluation=fr.Evaluation(at=..., score='mse_mean_free'))."
    return f"the solution is not unique: {found}. {add} {intended}"


def describe_heavy_tail(found: HeavyTail) -> str:
    """The text of the warning, for `solve` and `check`."""
    return (
        f"{found.where}: a random node has infinite variance (tail index {found.index:.1f}, finite above 2), so more nodes do not help. "
        f"{ENDLESS if found.is_endless else f'{SINGULAR} Or use fit_importance(...).'}"
    )


def is_intended(problem: Equation) -> str | None:
    """The part of u that the problem declares free, because its score leaves it out; None where it declares nothing."""
    metric = None if problem.evaluation is None else METRICS[problem.evaluation.score]
    return f"the score {metric.name} leaves out {metric.blind_to}" if metric is not None and metric.blind_to else None


def _guarded(part: Callable[[Equation], list[Finding]], problem: Equation) -> list[Finding]:
    """Runs one part of the check; where it cannot be computed, that is a finding and not an error."""
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
        return [Finding("note", "exact solution", "not tried: the true values of the unknowns are not known")]
    return [
        Finding("warning", "exact solution", f"it does not satisfy {found}, at {found.wrong:.0%} of the points")
        if found.is_wrong
        else Finding("ok", "exact solution", str(found))
        for found in exact_residuals(problem)
    ]


ENDLESS = (
    "On an infinite measure u must decay. Build the decay into the network, Constrained(MLP(), lambda n, x: jnp.exp(-x[0]) * n(x)), try a "
    "larger scale=, or cut the integral off where u is negligible, Interval(x[0], 20.0)."
)


def _variance(problem: Equation, form: Form | None) -> list[Finding]:
    if not any(residual.integrals for residual in (problem, *problem.conditions)):
        return []
    return [Finding("warning", "variance", describe_heavy_tail(found)) for found in heavy_tails(problem, form)] or [
        Finding("ok", "variance", "random nodes have a finite variance")
    ]


def _kinks(problem: Equation, network: AbstractNetwork) -> list[Finding]:
    unseen = kinks(problem, fresh_field(problem, network))
    return [Finding("warning", "kinks", unseen)] if unseen else [Finding("ok", "kinks", "the form has none that its derivatives leave out")]


def _uniqueness(problem: Equation, form: Form | None) -> list[Finding]:
    found = undetermined(problem, form)
    if found is None:
        return [Finding("ok", "uniqueness", "the equation and its conditions notice every test function")]
    intended = is_intended(problem)
    if intended is not None:
        return [Finding("note", "uniqueness", f"not unique, and {intended}: {found}")]
    return [Finding("warning", "uniqueness", describe_undetermined(found))]
