"""What a history alone tells of a training that goes wrong: the same tests warn while it runs and speak in a diagnosis."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fredholm.inspection.certificate import Certificate
from fredholm.methods import AbstractMethod, DelayedTarget, Standard

if TYPE_CHECKING:
    import xarray

BIASED = 0.3  # a standard loss with a larger share of excess variance is mostly noise that it should not minimise
APART = 0.3  # a network further from its target than this share of its own size has left it behind
REMEMBERED = 5  # a run should be so many times as long as what its target remembers
RECORDS, STEPS = 10, 200  # of a shorter history nothing is said


class Symptom(NamedTuple):
    """Something that is wrong with a training."""

    name: str  # "bias", "drift", "lag", "noise", "capacity", "optimiser", "dead units", "uniqueness", "variance", "conditions", "failed"
    text: str  # what was seen, with its numbers, and what to do
    remedy: Mapping[str, Any]  # the keywords of solve that cure it; none where the equation itself must change


class Diagnosis:
    """What is wrong with a training: `symptoms`, and `ok` where there are none; `certificate` is that of the seed that was looked at, or
    None where there can be none. It prints itself."""

    def __init__(self, label: str, symptoms: Sequence[Symptom], notes: Sequence[str], certificate: Certificate | None):
        self.label, self.symptoms, self.notes, self.certificate = label, tuple(symptoms), tuple(notes), certificate

    @property
    def ok(self) -> bool:
        """True where nothing is wrong."""
        return not self.symptoms

    @property
    def remedy(self) -> dict[str, Any]:
        """The keywords of solve that cure what was found, the first symptom's first."""
        return {name: value for symptom in reversed(self.symptoms) for name, value in symptom.remedy.items()}

    def __contains__(self, name: str) -> bool:
        return any(symptom.name == name for symptom in self.symptoms)

    def __repr__(self) -> str:
        lines = [f"{'diagnosis':<12}{self.label}: {'nothing is wrong' if self.ok else 'see below'}"]
        lines += [f"{'':<12}{note}" for note in self.notes]
        lines += [f"{symptom.name:<12}{symptom.text}" for symptom in self.symptoms]
        return "\n".join(lines)


def seen_in(history: "xarray.Dataset", method: AbstractMethod, steps: int) -> list[Symptom]:
    """The symptoms that a history shows, of a run of so many steps; nothing before its half, when much has yet to settle."""
    if history.sizes["step"] < RECORDS or not int(history["step"][-1]) >= max(STEPS, steps / 2):
        return []
    lag = _lag(method, steps)
    # A target that lags is far from the network for that reason alone.
    found = [_bias(history, method), lag or _drift(history, method)]
    return [symptom for symptom in found if symptom is not None]


def late(history: "xarray.Dataset", name: str) -> float:
    """The mean over the last tenth of the records, and over the seeds that are well."""
    values = np.asarray(history[name])
    values = values[:, -max(1, values.shape[1] // 10) :]
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def _bias(history: "xarray.Dataset", method: AbstractMethod) -> Symptom | None:
    if not isinstance(method, Standard) or "excess_variance" not in history:
        return None
    share = late(history, "excess_variance") / late(history, "loss")
    if not share > BIASED:
        return None
    text = (
        f"{share:.0%} of the loss is excess variance, the noise of the estimated integrals: what is minimised is not the equation. "
        "Use DelayedTarget() or DoubleSampling(), or a rule with more or better nodes."
    )
    return Symptom("bias", text, {"method": DelayedTarget()})


def _drift(history: "xarray.Dataset", method: AbstractMethod) -> Symptom | None:
    if not isinstance(method, DelayedTarget) or "size" not in history:
        return None
    apart = late(history, "drift") / max(late(history, "size"), np.finfo(float).tiny)
    if not apart > APART:
        return None
    weight = late(history, "regularization_weight") if method.regularization is None else method.regularization
    text = (
        f"the network is {apart:.0%} of its size away from its target: they drift apart, since the pull λ = {weight:.3g} is too weak for "
        "this operator. Leave λ and τ to be measured: DelayedTarget()."
    )
    return Symptom("drift", text, {"method": adaptive(method)})


def adaptive(method: DelayedTarget) -> DelayedTarget:
    """The method with τ and λ left to be measured."""
    return dataclasses.replace(method, regularization=None, split=None, tau=None, every=None)


def _lag(method: AbstractMethod, steps: int) -> Symptom | None:
    if not isinstance(method, DelayedTarget) or (method.tau is None and method.every is None):
        return None
    window = float(method.every) if method.every is not None else 1 / (1 - (method.tau or 0.0))
    if window * REMEMBERED < steps:
        return None
    which = f"every = {method.every}" if method.every is not None else f"τ = {method.tau:g}"
    text = (
        f"the target lags: with {which} it remembers {window:.0f} steps of a run of {steps}, so that the integrals still hold "
        "the first networks. Leave τ to follow the run: DelayedTarget(tau=None)."
    )
    return Symptom("lag", text, {"method": dataclasses.replace(method, tau=None, every=None)})
