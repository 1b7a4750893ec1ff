"""Checks before a training: an error ends it, anything suspicious is a warning."""

import warnings

import jax

from fredholm.diagnostics.check import describe_heavy_tail, describe_undetermined, is_intended
from fredholm.diagnostics.tails import heavy_tails
from fredholm.diagnostics.uniqueness import undetermined
from fredholm.diagnostics.validation import check_equation
from fredholm.functions.constrained import form_of
from fredholm.methods.protocol import AbstractMethod
from fredholm.training.settings import RunSettings
from fredholm.training.status import ProblemWarning
from fredholm.training.update import check_second_order


def check_settings(settings: RunSettings) -> None:
    """Raises `ValueError` for settings that do not fit together, before anything is compiled."""
    with jax.enable_x64(settings.precision == "float64"):
        check_equation(settings.problem, settings.rules, settings.network)
        if isinstance(settings.method, AbstractMethod):
            settings.method.check(settings.problem, settings.rules)
            check_second_order(settings)


def warn_if_ill_posed(settings: RunSettings) -> None:
    """Warns where a condition is missing, or random nodes have infinite variance.

    The library's own problems are not probed here: the test suite does that.
    """
    problem, form = settings.problem, form_of(settings.network)
    if problem.recipe() is not None:
        return
    found = None if is_intended(problem) else undetermined(problem, form)
    if found is not None:
        warnings.warn(describe_undetermined(found), ProblemWarning, stacklevel=3)
    if any(rule.is_random for rule in settings.rules):
        for tail in heavy_tails(problem, form):
            warnings.warn(describe_heavy_tail(tail), ProblemWarning, stacklevel=3)
