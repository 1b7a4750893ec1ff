"""Checks before a training: an error ends it, anything suspicious is a warning."""

import warnings
from collections.abc import Iterator

import jax

from fredholm.diagnostics.check import describe_heavy_tail, describe_undetermined, is_intended
from fredholm.diagnostics.exact import exact_residuals
from fredholm.diagnostics.kinks import kinks
from fredholm.diagnostics.outside import outside
from fredholm.diagnostics.tails import heavy_tails
from fredholm.diagnostics.uniqueness import undetermined
from fredholm.diagnostics.validation import check_equation
from fredholm.equation.equation import Equation
from fredholm.equation.probe import fresh_field
from fredholm.functions.constrained import form_of
from fredholm.methods.protocol import AbstractMethod
from fredholm.training.settings import RunSettings
from fredholm.training.status import ProblemWarning
from fredholm.training.update import check_second_order


def check_settings(settings: RunSettings) -> None:
    """Raises `ValueError` for settings that do not fit together, before anything is compiled."""
    with jax.enable_x64(settings.precision == "float64"):
        check_equation(settings.problem, settings.rules, settings.network, settings.batch, len(settings.seeds))
        if isinstance(settings.method, AbstractMethod):
            settings.method.check(settings.problem, settings.rules)
            check_second_order(settings)
        for part in settings.adapt:
            part.check(settings.problem, settings.rules)


def warn_if_ill_posed(settings: RunSettings) -> None:
    """Warns where a condition is missing, where integrals or conditions lie outside of the domain, where `exact` does not satisfy the
    equation, and where random nodes have infinite variance.

    The library's own problems are not probed here: the test suite does that.
    """
    if settings.problem.recipe() is None:
        for text in _suspicious(settings):
            warnings.warn(text, ProblemWarning, stacklevel=4)  # at the line that calls solve


def warn_if_exact_is_wrong(settings: RunSettings) -> None:
    """Warns where the `exact` of the user's own equation does not satisfy it."""
    if settings.problem.recipe() is None:
        for text in _wrong_exact(settings.problem):
            warnings.warn(text, ProblemWarning, stacklevel=4)


def _wrong_exact(problem: Equation) -> Iterator[str]:
    if problem.exact is None or problem.unknowns:
        return
    for residual in exact_residuals(problem):
        if residual.is_wrong:
            yield f"exact does not satisfy {residual}, at {residual.wrong:.0%} of the points: errors against it mean nothing."


def _suspicious(settings: RunSettings) -> Iterator[str]:
    problem, form = settings.problem, form_of(settings.network)
    found = None if is_intended(problem) else undetermined(problem, form)
    if found is not None:
        yield describe_undetermined(found)
    if form is None and not (found is not None and found.evaluates_outside):
        yield from outside(problem)
    yield from _wrong_exact(problem)
    if form is not None and (unseen := kinks(problem, fresh_field(problem, settings.network))):
        yield unseen
    if any(rule.is_random for rule in settings.rules):
        yield from map(describe_heavy_tail, heavy_tails(problem, form))
