"""Why a training failed: what its history shows, and what a few fresh samples tell."""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from fredholm.equation import Equation
from fredholm.inspection.certificate import Certificate, certificates, unbiased_rule
from fredholm.inspection.check import describe_heavy_tail, describe_undetermined, is_meant
from fredholm.inspection.symptoms import Diagnosis, Symptom, adaptive, seen_in
from fredholm.inspection.tails import heavy_tails
from fredholm.inspection.uniqueness import undetermined
from fredholm.inspection.violated import violated
from fredholm.methods import AbstractMethod, DelayedTarget
from fredholm.methods.base import Info, draw, estimate, looked_at, product
from fredholm.networks import MLP, AbstractNetwork, Constrained, Field, Formed, Perceptron
from fredholm.optimizers import AbstractOptimizer, Adam, Cosine, Muon
from fredholm.residual import AbstractResidual
from fredholm.rules import AbstractRule, QuasiMonteCarlo

if TYPE_CHECKING:
    import xarray

UNSOLVED = 1e-3  # a true loss above this share of the squared terms of the equation is worth a diagnosis
GRADIENTS = 32  # of the run's own batch, from which signal and noise of its gradient are told apart
NOISY = 3.0  # a gradient whose noise is so many times its signal, in the mean square, walks at random
POINTS = 512  # at which terms, drift and units are looked at
SEARCHED, NODES = 128, 16  # points x of the search, and nodes of each integral there: always the same, so that nothing in it is random
DESCENT = 300  # steps of the search
DOWNHILL = 0.5  # a search that lowers the loss by this share shows that there is a way down
DEAD = 0.25  # the share of units that never fire from which on a network has lost much of what it could do
WIDTH, DEPTH = 64, 3  # of a network that should be large enough
BETTER = Adam(3e-3, Cosine())


class RunOf(eqx.Module):
    """What a training was set up with."""

    method: AbstractMethod
    rules: tuple[AbstractRule, ...]
    batch: int
    steps: int
    optimizer: AbstractOptimizer | None  # None where it was the user's own and is not known


class Subject(eqx.Module):
    """One seed of a training, as a diagnosis looks at it."""

    equation: Equation
    u: Field  # the network itself
    answer: Field  # its averaged parameters, or the same again
    target: Field
    run: RunOf


class TrueLoss(AbstractMethod):
    """The product of two independent residuals, with nodes as good as they get: what every method should minimise."""

    def residual_loss(
        self, u: Field, state: Any, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]
    ) -> Info:
        return {"residual": product(u, residual, rules, x, key)}


def diagnose(label: str, history: "xarray.Dataset", subject: Subject, known: Sequence[Symptom] = ()) -> Diagnosis:
    """What is known already and what the history shows, then the equation, then the network and its gradient. What was found first explains
    what would come after: the gradient is asked only where nothing else is wrong with the training and the equation is not solved."""
    shown = seen_in(history, subject.run.method, int(history["step"][-1]) if history.sizes["step"] else 0)
    form = subject.u.network.form if isinstance(subject.u.network, Formed) else None
    symptoms = [*known, *(_with_quotient(symptom, subject) for symptom in shown), *_heavy_tails(subject, form), *_dead_units(subject)]
    explained = bool(symptoms)
    symptoms += _uniqueness(subject.equation, form)  # what is free besides explains nothing of a residual
    notes: list[str] = []
    try:
        found = certificates([subject.equation], [subject.answer])[0]
    except ValueError as error:  # one given sample at each x
        return Diagnosis(label, symptoms, [str(error)], None)
    share = found.loss / scale(subject)
    notes.append(describe(found, share))
    if share > UNSOLVED and not explained:
        symptoms.append(_why_unsolved(subject, share))
    elif share <= UNSOLVED:
        symptoms += violated(subject.equation, subject.answer)
    return Diagnosis(label, symptoms, notes, found)


def describe(found: Certificate, share: float) -> str:
    """The certificate as a sentence."""
    text = f"true loss {found.loss:.2e}, 95 % interval [{found.loss_low:.2e}, {found.loss_high:.2e}], {share:.1e} of the squared terms"
    if math.isnan(found.error_bound):
        return text
    return f"{text}; contraction {found.contraction:.3f}, so the root mean square error is at most {found.error_bound:.2e}"


def scale(subject: Subject) -> float:
    """The mean square of the terms that cancel in a solution: f, y and the integrals."""
    equation, u = subject.equation, subject.answer
    rules = [unbiased_rule(equation, integral) for integral in equation.integrals]

    def terms(key: Key[Array, ""]) -> Float[Array, ""]:
        x = equation.domain.sample(key)
        inside = estimate(equation, u, x, draw(equation, rules, x, key))
        return equation.squared_terms(u, x, inside)

    return float(jnp.mean(jax.jit(jax.vmap(terms))(jax.random.split(jax.random.key(11), POINTS)))) + 1e-30


def why_failed(ends: str, subject: Subject) -> Symptom:
    """How seeds ended that turned non-finite; of a delayed target also the λ that would have held them, from the last finite networks."""
    method = subject.run.method
    if not isinstance(method, DelayedTarget):
        return Symptom("failed", f"{ends}. Use DelayedTarget(), or a smaller learning rate.", {"method": DelayedTarget()})
    if method.regularization is None:
        calmer = _calmer(subject.run.optimizer)
        return Symptom("failed", f"{ends}. λ is measured already: use a smaller learning rate, {calmer!r}.", {"optimizer": calmer})
    text = f"{ends}. The pull λ = {method.regularization:g} is too weak for this operator{_quotient(subject)}; leave it to DelayedTarget()."
    return Symptom("failed", text, {"method": adaptive(method)})


def _with_quotient(symptom: Symptom, subject: Subject) -> Symptom:
    """The measured quotient, where network and target drift apart; and another remedy where it was measured all along."""
    method = subject.run.method
    if symptom.name != "drift" or not isinstance(method, DelayedTarget):
        return symptom
    measured = symptom._replace(text=f"{symptom.text.rstrip('.')}{_quotient(subject)}.")
    if adaptive(method) != method:
        return measured
    calmer = _calmer(subject.run.optimizer)
    return measured._replace(
        text=f"{measured.text} It is measured already: use a smaller learning rate, {calmer!r}.", remedy={"optimizer": calmer}
    )


def _quotient(subject: Subject) -> str:
    """What λ should have been, measured along the drift, as the end of a sentence."""
    assert isinstance(subject.run.method, DelayedTarget)
    method = dataclasses.replace(subject.run.method, split=None)
    change, penalty = jax.jit(lambda key: method.drift(subject.u, subject.target, subject.equation, key, POINTS))(jax.random.key(12))
    found = float(change / penalty)
    return f"; measured along the drift, λ should be {max(found, 0.0):.3g}" if math.isfinite(found) else ""


def _calmer(optimizer: AbstractOptimizer | None) -> AbstractOptimizer:
    """The optimiser with a third of its rate; the usual one where it is not known."""
    if not isinstance(optimizer, (Adam, Muon)):
        return BETTER
    return dataclasses.replace(optimizer, learning_rate=optimizer.learning_rate / 3, schedule=Cosine())


def _uniqueness(equation: Equation, form: Any) -> list[Symptom]:
    found = undetermined(equation, form)
    if found is None:
        return []
    meant = is_meant(equation)
    if meant is None:
        return [Symptom("uniqueness", describe_undetermined(found), {})]
    text = f"the solution is not unique: {found}. Some of it is meant, since {meant}, but nothing else: add a Condition for the rest."
    return [Symptom("uniqueness", text, {})]


def _heavy_tails(subject: Subject, form: Any) -> list[Symptom]:
    """Integrals whose random nodes have no variance; nodes without noise have none to lack."""
    if not any(rule.is_random for rule in subject.run.rules):
        return []
    return [Symptom("variance", describe_heavy_tail(found), {}) for found in heavy_tails(subject.equation, form)]


def _dead_units(subject: Subject) -> list[Symptom]:
    """The hidden units of a perceptron that are the same at every point where the network is looked at."""
    network, points = _inner(subject), looked_at(subject.equation, POINTS)
    if not isinstance(network, Perceptron) or points is None:
        return []
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
        Symptom(
            "dead units", text, {"network": _like(subject, dataclasses.replace(_shape(subject), activation="tanh")), "optimizer": BETTER}
        )
    ]


def _inner(subject: Subject) -> Any:
    """The network itself, without the form that it may stand in."""
    network = subject.u.network
    return network.network.network if isinstance(network, Formed) else network


def _shape(subject: Subject) -> MLP:
    """The perceptron as a recipe; the usual one where the network is none."""
    inner = _inner(subject)
    if not isinstance(inner, Perceptron):
        return MLP(WIDTH, DEPTH, "tanh")
    return MLP(inner.layers[0][1].shape[0], len(inner.layers) - 1, inner.activation)


def _like(subject: Subject, network: MLP) -> AbstractNetwork:
    """Another network in the form that this one stands in, so that what the form holds still holds."""
    return Constrained(network, subject.u.network.form) if isinstance(subject.u.network, Formed) else network


def _why_unsolved(subject: Subject, share: float) -> Symptom:
    """Noise, an optimiser that does not go where it should, or a network that cannot: told apart by a short descent without noise."""
    lowered = search(subject)
    if lowered < DOWNHILL:
        text = (
            f"the residual stays at {math.sqrt(share):.1%} of the equation's terms, and {DESCENT} steps from here without any noise lower "
            f"the loss by {lowered:.0%} only: the network cannot represent the solution. Use a wider or deeper one."
        )
        known = _shape(subject)
        larger = dataclasses.replace(known, width=max(WIDTH, 2 * known.width), depth=max(DEPTH, known.depth + 1))
        return Symptom("capacity", text, {"network": _like(subject, larger)})
    noise = noise_to_signal(subject)
    if noise > NOISY:
        batch = subject.run.batch
        wanted = max(2 * batch, min(4096, 2 ** math.ceil(math.log2(10 * batch * noise))))
        text = (
            f"the gradient is noise: with a batch of {batch} its noise is {noise:.0f} times its signal, while {DESCENT} steps "
            f"without noise would lower the loss by {lowered:.0%}. Use a batch of {wanted}, a falling learning rate, and the average."
        )
        return Symptom("noise", text, {"batch": wanted, "optimizer": BETTER, "average": 0.999})
    clear = (
        f"the gradient is clear (its noise is {noise:.1f} times its signal), and {DESCENT} steps of Adam(3e-3) would lower the loss "
        f"by {lowered:.0%}"
    )
    if subject.run.optimizer in (BETTER, Muon()):
        longer = 4 * subject.run.steps
        return Symptom("optimiser", f"the training ended too early: {clear}. Use {longer} steps.", {"steps": longer})
    text = f"the optimiser is stuck: {clear}. The learning rate does not fit, or the steps were too few: use Adam(3e-3, Cosine())."
    return Symptom("optimiser", text, {"optimizer": BETTER})


def noise_to_signal(subject: Subject) -> float:
    """The variance of the run's own gradient over the square of its mean, summed over the parameters."""
    equation, run, method, u = subject.equation, subject.run, subject.run.method, subject.u
    state = method.observe(u, method.init(subject.target), equation, run.batch, jnp.asarray(0), jax.random.key(13))

    def gradient(key: Key[Array, ""]) -> Float[Array, "p"]:
        slopes = eqx.filter_grad(lambda u: method.loss(u, state, equation, run.rules, run.batch, key)[0])(u)
        return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(slopes)])

    samples = np.asarray(jax.jit(lambda keys: jax.lax.map(gradient, keys))(jax.random.split(jax.random.key(14), GRADIENTS)), float)
    variance = float(samples.var(axis=0, ddof=1).sum())
    signal = float((samples.mean(axis=0) ** 2).sum()) - variance / GRADIENTS
    # A signal below its own error is not zero but unknown.
    return variance / max(signal, variance / GRADIENTS / 10)


def search(subject: Subject) -> float:
    """By which share a short descent of the true loss, conditions included, lowers it: from the network as it is, on fixed points."""
    equation, u = subject.equation, subject.u
    rules = [_fewer(unbiased_rule(residual, one)) for residual in (equation, *equation.conditions) for one in residual.integrals]
    optimizer, key = optax.adam(BETTER.learning_rate), jax.random.key(15)

    def loss(u: Field) -> Float[Array, ""]:
        return TrueLoss().loss(u, None, equation, rules, SEARCHED, key)[0]

    start, rest = eqx.partition(u, eqx.is_inexact_array)

    @jax.jit
    def descend(start: Any) -> tuple[Float[Array, ""], Float[Array, ""]]:
        def step(_: Any, carry: Any) -> Any:
            parameters, state, least = carry
            value, slopes = jax.value_and_grad(lambda one: loss(eqx.combine(one, rest)))(parameters)
            updates, state = optimizer.update(slopes, state)
            return optax.apply_updates(parameters, updates), state, jnp.fmin(least, value)

        first = loss(eqx.combine(start, rest))
        return first, jax.lax.fori_loop(0, DESCENT, step, (start, optimizer.init(start), first))[2]

    first, least = (float(value) for value in descend(start))
    return min(max(0.0, 1 - least / first), 1.0) if first > 0 else 0.0  # products of independent draws may fall below 0


def _fewer(rule: AbstractRule) -> AbstractRule:
    """The same rule with fewer nodes, which are good enough to go downhill."""
    return dataclasses.replace(rule, n=NODES) if isinstance(rule, QuasiMonteCarlo) else rule
