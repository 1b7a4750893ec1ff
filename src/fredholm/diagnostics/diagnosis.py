"""What is wrong with a training, and what could not be tested: from its history, and from fresh samples."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import jax
import numpy as np

from fredholm.common.findings import Finding, Report
from fredholm.diagnostics.causes import BETTER, in_form, inner_network, like, shape_of, why_unsolved
from fredholm.diagnostics.certificate import Certificate, certificates
from fredholm.diagnostics.check import describe_heavy_tail, describe_undetermined, is_intended
from fredholm.diagnostics.moments import Moments, moments
from fredholm.diagnostics.nodes import coarse_nodes
from fredholm.diagnostics.richer import moved_by_weight
from fredholm.diagnostics.symptoms import RECORDS, symptoms_in_history
from fredholm.diagnostics.tails import heavy_tails
from fredholm.diagnostics.uniqueness import undetermined
from fredholm.diagnostics.violated import violated
from fredholm.equation.conditions import Data
from fredholm.equation.equation import Equation
from fredholm.equation.probe import measures_of, probe_points
from fredholm.functions.constrained import Form, Formed
from fredholm.functions.mlp import Perceptron
from fredholm.functions.scaled import Rescaled
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.protocol import AbstractMethod, Trained
from fredholm.rules.monte_carlo import MonteCarlo

if TYPE_CHECKING:
    import xarray

UNSOLVED = 0.03  # a residual above this share of the equation's terms is worth a diagnosis
SOLVED = 1e-3  # below this one, symptoms of the history did no harm
WRONG_THERE = 0.1  # a residual above this share of its terms in a part of the domain is named, though it is small in the whole
POINTS = 512  # points at which hidden units are examined
DEAD = 0.25  # from this share of dead hidden units on, the network has lost much of its capacity
UNBIASED = (DelayedTarget(), DelayedTarget(on="f"), DoubleSampling("all"))  # the first one that an equation allows


class Diagnosis(Report):
    """The report of a diagnosis. `certificate` belongs to the seed that was examined. `untested` names what could not be tested, and only
    where it is empty "nothing is wrong" is said. `remedy` holds all keywords of `solve` for a better run: the settings of this one, with
    the `changes` that cure it."""

    def __init__(
        self,
        label: str,
        findings: Sequence[Finding],
        certificate: Certificate,
        untested: Sequence[str] = (),
        settings: Mapping[str, object] | None = None,
    ):
        verdict = f"nothing wrong was found; not tested: {'; '.join(untested)}" if untested else "nothing is wrong"
        super().__init__(f"{'diagnosis':<12}{label}", findings, verdicts=(verdict, "see below"))
        self.certificate, self.untested, self._settings = certificate, tuple(untested), settings or {}

    @property
    def changes(self) -> dict[str, object]:
        """The keywords of solve that change. Where two symptoms disagree, the first one counts."""
        return super().remedy

    @property
    def remedy(self) -> dict[str, object]:
        """The settings of the run with what changes, for `solve(problem, **report.remedy)`; empty where nothing changes."""
        return {**self._settings, **self.changes} if self.changes else {}


def diagnose(
    label: str,
    history: "xarray.Dataset",
    method: AbstractMethod,
    subject: Trained,
    known: Sequence[Finding] = (),
    *,
    others: Mapping[int, Trained] | None = None,
    settings: Mapping[str, object] | None = None,
) -> Diagnosis:
    """Examines a training: its history first, then the equation, then the network and its gradient.

    Earlier findings explain later ones. So the cause of a large residual is searched for only where nothing else is wrong.

    Args:
        label: the name of the run.
        history: what it recorded.
        method: its method.
        subject: the seed that is examined.
        known: findings from before.
        others: the other seeds that succeeded, by number; only their residuals are examined.
        settings: the keywords of `solve` that made the run.
    """
    others = others or {}
    form = subject.u.network.form if isinstance(subject.u.network, Formed) else None
    own, *rest = certificates([one.equation for one in (subject, *others.values())], [one.answer for one in (subject, *others.values())])
    given = own.moments if own.quality is None else moments(subject.equation, subject.answer)
    residual = math.nan if own.quality is None else own.quality.residual
    shown = symptoms_in_history(history, method, int(history["step"][-1]) if history.sizes["step"] else 0, subject)
    if residual < SOLVED:
        shown = [_harmless(finding, residual) for finding in shown]
    findings = [*known, *shown, *_heavy_tails(subject, form), *_dead_units(subject), *_of_given(method, subject, given)]
    findings += coarse_nodes(subject) if residual >= SOLVED else []
    if own.quality is not None and own.quality.kinks:
        findings.append(Finding("warning", "kinks", own.quality.kinks))
    explained = any(finding.is_wrong for finding in findings)
    findings += _uniqueness(subject.equation, form)  # not an explanation: a free part of u does not raise the residual
    if residual > UNSOLVED and not explained:
        findings.append(why_unsolved(method, subject, residual**2))
    elif residual <= UNSOLVED:
        findings += [*violated(subject.equation, own.quality), *([] if explained else _uneven(own)), *_other_seeds(others, rest)]
        findings += moved_by_weight(subject.equation, subject.answer)
    findings = [_permitted(finding, subject, settings or {}) for finding in findings]
    level = "note" if math.isnan(residual) else "ok" if residual <= UNSOLVED else "note"
    return Diagnosis(label, [Finding(level, "certificate", str(own)), *findings], own, _untested(history, subject, own, given), settings)


def _untested(history: "xarray.Dataset", subject: Trained, own: Certificate, given: Moments | None) -> list[str]:
    """What could not be tested, in words."""
    found = []
    if own.quality is None:
        if given is None:
            found.append("the residual, as there is one given sample at each x")
        elif not given.are_held_out:
            found.append("rows that the training has not seen, Offline(..., held_out=0.1)")
        else:
            found.append("the rough part of the residual")
    elif own.quality.uncertainty > UNSOLVED:
        found.append(f"the residual below {own.quality.uncertainty:.0%}, as the integrals are not known better")
    if history.sizes["step"] < RECORDS:
        found.append(f"the course of the training, which has fewer than {RECORDS} records")
    if any(isinstance(condition, Data) for condition in subject.equation.conditions):
        found.append("the fit of the data, whose noise is not known")
    return found


def _harmless(finding: Finding, residual: float) -> Finding:
    return Finding("note", finding.about, f"harmless, as the residual is {residual:.1e} of its terms: {finding.text}")


def _of_given(method: AbstractMethod, subject: Trained, found: Moments | None) -> list[Finding]:
    """What given samples say: the moments of the residual, and the bias of a loss that squares one sample."""
    samples = [measure.samples for measure in measures_of(subject.equation) if measure.samples is not None]
    if not samples:
        return []
    squared = method.is_biased and min(samples) == 1
    cause = "the standard loss with one given sample at each x is biased by the variance of u over the samples; use DelayedTarget()"
    if found is None:
        return [Finding("warning", "bias", f"{cause}.", {"method": DelayedTarget()})] if squared else []
    # A small residual may be a large error: 1/(1 − γ) times as much for a discount γ. So a biased loss is named wherever it shows.
    if squared and found.is_wrong and found.relative > SOLVED:
        return [Finding("warning", "bias", f"{found}: {cause}.", {"method": DelayedTarget()})]
    if not found.is_wrong or found.relative <= UNSOLVED:
        more = f" ({cause}, where it is large)" if squared else ""
        return [Finding("ok", "moments", f"{found}{more}")]
    return [Finding("warning", "moments", f"{found}: the equation is not solved in the mean. Use more steps, or a larger network.")]


def _uneven(own: Certificate) -> list[Finding]:
    """A part of the domain where the residual is large against the terms there, though it is small in the whole."""
    worst = own.worst_region
    if worst is None or worst.residual <= WRONG_THERE:
        return []
    text = (
        f"for x[{worst.axis}] from {worst.low:.3g} to {worst.high:.3g} the residual is {worst.residual:.0%} of its terms, though it is "
        "small in the mean square over the domain: u may be wrong there by as much. Draw more points there, by another law as domain=, or "
        "divide f, g and y by the size of u there."
    )
    return [Finding("warning", "region", text)]


def _other_seeds(others: Mapping[int, Trained], found: Sequence[Certificate]) -> list[Finding]:
    """Seeds whose residual is large though that of the first one is small."""
    bad = {
        seed: one.quality.residual
        for seed, one in zip(others, found, strict=True)
        if one.quality is not None and one.quality.residual > UNSOLVED
    }
    if not bad:
        return []
    seen = ", ".join(f"seed {seed}: {residual:.0%}" for seed, residual in bad.items())
    text = f"other seeds have large residuals ({seen} of their terms), and the mean over all seeds is the answer."
    return [Finding("warning", "seeds", f"{text} Leave them out of seeds=, or train longer.")]


def _permitted(finding: Finding, subject: Trained, settings: Mapping[str, object]) -> Finding:
    """The finding with a method that the equation allows; without a remedy where there is none."""
    wanted = finding.remedy.get("method")
    if not isinstance(wanted, AbstractMethod) or finding.level == "note":
        return finding
    for method in (wanted, *UNBIASED):
        for changes in ({}, {"rule": MonteCarlo(method.fewest_nodes)}):
            rule = changes.get("rule") or finding.remedy.get("rule") or settings.get("rule")
            try:
                method.check(subject.equation, subject.rules if rule is None else subject.equation.rules(rule))  # type: ignore[arg-type]
            except ValueError:
                continue
            other = "" if method == wanted else f" Here this is {method!r}, as the equation does not allow {wanted!r}."
            return finding._replace(text=finding.text + other, remedy={**finding.remedy, "method": method, **changes})
    return finding._replace(text=f"{finding.text} No method without this bias fits this equation.", remedy={})


def _uniqueness(equation: Equation, form: Form | None) -> list[Finding]:
    found = undetermined(equation, form)
    if found is None:
        return []
    intended = is_intended(equation)
    if intended is None:
        return [Finding("warning", "uniqueness", describe_undetermined(found), {})]
    text = f"the solution is not unique: {found}. Only a part of this is intended ({intended}): add a Condition for the rest."
    return [Finding("warning", "uniqueness", text, {})]


def _heavy_tails(subject: Trained, form: Form | None) -> list[Finding]:
    """Integrals whose random nodes have infinite variance; nothing where the nodes are not random."""
    if not any(rule.is_random for rule in subject.rules):
        return []
    return [Finding("warning", "variance", describe_heavy_tail(found), {}) for found in heavy_tails(subject.equation, form)]


def _dead_units(subject: Trained) -> list[Finding]:
    """Hidden units of a perceptron that have the same value at every point."""
    network, points = inner_network(subject.u.network), probe_points(subject.equation, POINTS)
    if not isinstance(network, Perceptron) or points is None:
        return []
    scales = in_form(subject.u.network)
    points = jax.vmap(scales.inside)(points) if isinstance(scales, Rescaled) else points
    dead = total = 0
    for values in jax.vmap(network.hidden)(points):
        spread = np.ptp(np.asarray(values), axis=0)
        dead, total = dead + int((spread <= 1e-6 * max(float(np.abs(values).max()), 1e-30)).sum()), total + values.shape[1]
    if dead < DEAD * total:
        return []
    text = (
        f"{dead} of {total} hidden units are the same at every point: they are dead, and no gradient revives them. "
        "Use an activation without a flat side, MLP(activation='tanh'), and a smaller learning rate."
    )
    alive = like(subject, dataclasses.replace(shape_of(subject), activation="tanh"))
    return [Finding("warning", "dead units", text, {"network": alive, "optimizer": BETTER})]
