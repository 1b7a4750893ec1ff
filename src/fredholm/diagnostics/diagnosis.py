"""Why a training failed: from its history, and from a few fresh samples."""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, PyTree

from fredholm.common.findings import Finding, Report
from fredholm.diagnostics.certificate import Certificate, certificates
from fredholm.diagnostics.check import describe_heavy_tail, describe_undetermined, is_intended
from fredholm.diagnostics.symptoms import symptoms_in_history
from fredholm.diagnostics.tails import heavy_tails
from fredholm.diagnostics.uniqueness import undetermined
from fredholm.diagnostics.violated import violated
from fredholm.equation.equation import Equation
from fredholm.equation.estimate import draw, estimate
from fredholm.equation.probe import probe_points
from fredholm.equation.reference import independent_rules
from fredholm.equation.residual import AbstractResidual, Place
from fredholm.functions.constrained import Constrained, Form, Formed
from fredholm.functions.field import Field, Function
from fredholm.functions.mlp import MLP, Perceptron
from fredholm.functions.protocol import AbstractNetwork
from fredholm.functions.scaled import Rescaled
from fredholm.methods.protocol import AbstractMethod, Rows, Trained, independent_rows
from fredholm.optimizers.adam import Adam
from fredholm.optimizers.muon import Muon
from fredholm.optimizers.schedules import Cosine
from fredholm.rules.base import AbstractRule

if TYPE_CHECKING:
    import xarray

UNSOLVED = 1e-3  # a true loss above this share of the squared terms of the equation is worth a diagnosis
GRADIENTS = 32  # gradients, each from a batch of the run's size, that separate the signal from the noise
NOISY = 3.0  # with more noise than this times the signal, in the mean square, the gradient is a random walk
POINTS = 512  # points at which terms and hidden units are examined
SEARCHED, NODES = 128, 16  # points x of the search, and nodes of each integral: fixed, so that nothing in it is random
DESCENT = 300  # steps of the search
DOWNHILL = 0.5  # a search that lowers the loss by this share shows that the network can do better
DEAD = 0.25  # from this share of dead hidden units on, the network has lost much of its capacity
WIDTH, DEPTH = 64, 3  # of a network that should be large enough: the least that is recommended
BETTER = Adam(3e-3, Cosine())
Descent = tuple[PyTree, PyTree, Float[Array, ""]]  # parameters, the optimiser's state, and the least loss so far


class TrueLoss(AbstractMethod[None]):
    """The product of two independent residuals, from the best nodes there are: the loss that every method should minimise."""

    def rows(
        self, u: Function, state: None, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Place, key: Key[Array, ""]
    ) -> dict[str, Rows]:
        return {"residual": independent_rows(u, residual, rules, x, key)}


class Diagnosis(Report):
    """The report of a diagnosis. `certificate` belongs to the seed that was examined; None where one given sample at each x allows none."""

    def __init__(self, label: str, findings: Sequence[Finding], certificate: Certificate | None):
        super().__init__(f"{'diagnosis':<12}{label}", findings, verdicts=("nothing is wrong", "see below"))
        self.certificate = certificate


def diagnose(label: str, history: "xarray.Dataset", method: AbstractMethod, subject: Trained, known: Sequence[Finding] = ()) -> Diagnosis:
    """Examines a training: its history first, then the equation, then the network and its gradient. `known` are findings from before.

    Earlier findings explain later ones. So the gradient is examined only where the equation is not solved and nothing else is wrong.
    """
    shown = symptoms_in_history(history, method, int(history["step"][-1]) if history.sizes["step"] else 0, subject)
    form = subject.u.network.form if isinstance(subject.u.network, Formed) else None
    findings = [*known, *shown, *_heavy_tails(subject, form), *_dead_units(subject)]
    explained = bool(findings)
    findings += _uniqueness(subject.equation, form)  # not an explanation: a free part of u does not raise the residual
    try:
        found = certificates([subject.equation], [subject.answer])[0]
    except ValueError as error:  # with one given sample at each x there is no unbiased estimate
        return Diagnosis(label, [Finding("note", "certificate", str(error)), *findings], None)
    share = found.loss / scale(subject)
    if share > UNSOLVED and not explained:
        findings.append(_why_unsolved(method, subject, share))
    elif share <= UNSOLVED:
        findings += violated(subject.equation, subject.answer)
    return Diagnosis(label, [Finding("note", "certificate", describe(found, share)), *findings], found)


def describe(found: Certificate, share: float) -> str:
    """The certificate as a sentence."""
    text = f"true loss {found.loss:.2e}, 95 % interval [{found.loss_low:.2e}, {found.loss_high:.2e}], {share:.1e} of the squared terms"
    if math.isnan(found.error_bound):
        return text
    return f"{text}; contraction {found.contraction:.3f}, so the root mean square error is at most {found.error_bound:.2e}"


def scale(subject: Trained) -> float:
    """The mean square of f, y and the integrals: the terms that cancel in a solution."""
    equation, u = subject.equation, subject.answer
    rules = independent_rules(equation)

    def terms(key: Key[Array, ""]) -> Float[Array, ""]:
        x = equation.domain.sample(key)
        inside = estimate(equation, u, x, draw(equation, rules, x, key))
        return equation.squared_terms(u, x, inside)

    return float(jnp.mean(jax.jit(jax.vmap(terms))(jax.random.split(jax.random.key(11), POINTS)))) + 1e-30


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
    network, points = _inner(subject), probe_points(subject.equation, POINTS)
    if not isinstance(network, Perceptron) or points is None:
        return []
    scales = _in_form(subject)
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
    return [
        Finding(
            "warning",
            "dead units",
            text,
            {"network": _like(subject, dataclasses.replace(_shape(subject), activation="tanh")), "optimizer": BETTER},
        )
    ]


def _inner(subject: Trained) -> Function:
    """The network inside a `Constrained` form and between its scales, or the network itself."""
    network = _in_form(subject)
    return network.network if isinstance(network, Rescaled) else network


def _in_form(subject: Trained) -> Function:
    network = subject.u.network
    return network.network.network if isinstance(network, Formed) else network


def _shape(subject: Trained) -> MLP:
    """The `MLP` that builds this perceptron; a usual one where the network is not a perceptron."""
    inner = _inner(subject)
    if not isinstance(inner, Perceptron):
        return MLP(WIDTH, DEPTH, "tanh")
    return MLP(inner.layers[0][1].shape[0], len(inner.layers) - 1, inner.activation)


def _like(subject: Trained, network: MLP) -> AbstractNetwork:
    """Another network in the same `Constrained` form, so that its conditions still hold."""
    return Constrained(network, subject.u.network.form) if isinstance(subject.u.network, Formed) else network


def _why_unsolved(method: AbstractMethod, subject: Trained, share: float) -> Finding:
    """Capacity, noise or the optimiser: a short descent without noise tells which of them it is."""
    lowered = search(subject)
    if lowered < DOWNHILL:
        text = (
            f"the residual stays at {math.sqrt(share):.1%} of the equation's terms, and {DESCENT} more steps without noise lower "
            f"the loss by only {lowered:.0%}: the network cannot represent the solution. Use a wider or deeper one."
        )
        known = _shape(subject)
        larger = dataclasses.replace(known, width=max(WIDTH, 2 * known.width), depth=max(DEPTH, known.depth + 1))
        return Finding("warning", "capacity", text, {"network": _like(subject, larger)})
    noise = noise_to_signal(method, subject)
    if noise > NOISY:
        batch = subject.batch
        wanted = max(2 * batch, min(4096, 2 ** math.ceil(math.log2(10 * batch * noise))))
        text = (
            f"the gradient is noise: with a batch of {batch} its noise is {noise:.0f} times its signal, while {DESCENT} steps "
            f"without noise would lower the loss by {lowered:.0%}. Use a batch of {wanted}, a falling learning rate, and an average."
        )
        return Finding("warning", "noise", text, {"batch": wanted, "optimizer": BETTER, "average": 0.999})
    clear = (
        f"the gradient is clear (its noise is {noise:.1f} times its signal), and {DESCENT} steps of Adam(3e-3) would lower the loss "
        f"by {lowered:.0%}"
    )
    if subject.optimizer in (BETTER, Muon()):
        longer = 4 * subject.steps
        return Finding("warning", "optimiser", f"the training ended too early: {clear}. Use {longer} steps.", {"steps": longer})
    text = f"the optimiser is stuck: {clear}. The learning rate does not fit, or the steps were too few: use Adam(3e-3, Cosine())."
    return Finding("warning", "optimiser", text, {"optimizer": BETTER})


def noise_to_signal(method: AbstractMethod, subject: Trained) -> float:
    """The variance of the run's own gradient divided by its squared mean, both summed over the parameters."""
    equation, u = subject.equation, subject.u
    state = method.state_at(u, subject.target, equation, subject.batch, jax.random.key(13))

    def gradient(key: Key[Array, ""]) -> Float[Array, "p"]:
        slopes = eqx.filter_grad(lambda u: method.loss(u, state, equation, subject.rules, subject.batch, key)[0])(u)
        return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(slopes)])

    samples = np.asarray(jax.jit(lambda keys: jax.lax.map(gradient, keys))(jax.random.split(jax.random.key(14), GRADIENTS)), float)
    variance = float(samples.var(axis=0, ddof=1).sum())
    signal = float((samples.mean(axis=0) ** 2).sum()) - variance / GRADIENTS
    # A signal below its own error is unknown, not zero.
    return variance / max(signal, variance / GRADIENTS / 10)


def search(subject: Trained) -> float:
    """The share by which a short descent from the trained network lowers the true loss, conditions included, on fixed points."""
    equation, u = subject.equation, subject.u
    rules = [rule for residual in (equation, *equation.conditions) for rule in independent_rules(residual, net=NODES)]
    optimizer, key = optax.adam(BETTER.learning_rate), jax.random.key(15)

    def loss(u: Field) -> Float[Array, ""]:
        return TrueLoss().loss(u, None, equation, rules, SEARCHED, key)[0]

    start, rest = eqx.partition(u, eqx.is_inexact_array)

    @jax.jit
    def descend(start: PyTree) -> tuple[Float[Array, ""], Float[Array, ""]]:
        def step(_: Int[Array, ""], carry: Descent) -> Descent:
            parameters, state, least = carry
            value, slopes = jax.value_and_grad(lambda one: loss(eqx.combine(one, rest)))(parameters)
            updates, state = optimizer.update(slopes, state)
            return optax.apply_updates(parameters, updates), state, jnp.fmin(least, value)

        first = loss(eqx.combine(start, rest))
        return first, jax.lax.fori_loop(0, DESCENT, step, (start, optimizer.init(start), first))[2]

    first, least = (float(value) for value in descend(start))
    return min(max(0.0, 1 - least / first), 1.0) if first > 0 else 0.0  # products of independent residuals may fall below 0
