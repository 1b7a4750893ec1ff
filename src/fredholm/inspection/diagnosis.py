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
from fredholm.inspection.symptoms import Diagnosis, Symptom, seen_in
from fredholm.inspection.tails import heavy_tails
from fredholm.inspection.uniqueness import undetermined
from fredholm.methods import AbstractMethod, DelayedTarget
from fredholm.methods.base import Info, draw, estimate, product
from fredholm.networks import MLP, AbstractNetwork, Field, Formed, Perceptron
from fredholm.optimizers import Adam, Cosine
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


class Subject(eqx.Module):
    """One seed of a training, as a diagnosis looks at it."""

    equation: Equation
    u: Field  # the network itself
    answer: Field  # its averaged parameters, or the same again
    target: Field
    method: AbstractMethod
    rules: tuple[AbstractRule, ...]
    batch: int
    network: AbstractNetwork | None  # its recipe; None where it was the user's own and is not known


class TrueLoss(AbstractMethod):
    """The product of two independent residuals, with nodes as good as they get: what every method should minimise."""

    def residual_loss(
        self, u: Field, state: Any, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Any, key: Key[Array, ""]
    ) -> Info:
        return {"residual": product(u, residual, rules, x, key)}


def diagnose(label: str, history: "xarray.Dataset", subject: Subject) -> Diagnosis:
    """What the history shows, then the equation, then the network and its gradient. What was found first explains what would come after:
    the gradient is asked only where nothing else is wrong and the equation is not solved."""
    symptoms = seen_in(history, subject.method, int(history["step"][-1]) if history.sizes["step"] else 0)
    symptoms = [_with_quotient(symptom, subject) for symptom in symptoms]
    form = subject.u.network.form if isinstance(subject.u.network, Formed) else None
    symptoms += _uniqueness(subject.equation, form) + _heavy_tails(subject, form) + _dead_units(subject)
    notes: list[str] = []
    try:
        found = certificates([subject.equation], [subject.answer])[0]
    except ValueError as error:  # one given sample at each x
        return Diagnosis(label, symptoms, [str(error)], None)
    share = found.loss / scale(subject)
    notes.append(describe(found, share))
    if share > UNSOLVED and not symptoms:
        symptoms.append(_why_unsolved(subject, share))
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


def _with_quotient(symptom: Symptom, subject: Subject) -> Symptom:
    """The measured quotient, where network and target drift apart."""
    if symptom.name != "drift" or not isinstance(subject.method, DelayedTarget):
        return symptom
    method = dataclasses.replace(subject.method, split=None)
    change, penalty = jax.jit(lambda key: method.drift(subject.u, subject.target, subject.equation, key, POINTS))(jax.random.key(12))
    return symptom._replace(text=f"{symptom.text} Measured along the drift, λ should be {max(float(change / penalty), 0.0):.3g}.")


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
    if not any(rule.is_random for rule in subject.rules):
        return []
    return [Symptom("variance", describe_heavy_tail(found), {}) for found in heavy_tails(subject.equation, form)]


def _dead_units(subject: Subject) -> list[Symptom]:
    """The hidden units of a perceptron that are the same at every point where the network is looked at."""
    network, evaluation = subject.u.network, subject.equation.evaluation
    if not isinstance(network, Perceptron) or evaluation is None:
        return []
    dead = total = 0
    for values in jax.vmap(network.hidden)(evaluation.points(POINTS)):
        spread = np.ptp(np.asarray(values), axis=0)
        dead, total = dead + int((spread <= 1e-6 * max(float(np.abs(values).max()), 1e-30)).sum()), total + values.shape[1]
    if dead < DEAD * total:
        return []
    text = (
        f"{dead} of {total} hidden units are the same at every point: they are dead, and no gradient revives them. "
        "Use an activation without a flat side, MLP(activation='tanh'), and a smaller learning rate."
    )
    return [Symptom("dead units", text, {"network": _changed(subject.network, activation="tanh"), "optimizer": BETTER})]


def _changed(network: AbstractNetwork | None, **fields: Any) -> MLP:
    """The perceptron with other fields; the usual one where the network is none."""
    return dataclasses.replace(network if isinstance(network, MLP) else MLP(WIDTH, DEPTH, "tanh"), **fields)


def _why_unsolved(subject: Subject, share: float) -> Symptom:
    """Noise, an optimiser that does not go where it should, or a network that cannot: told apart by a short descent without noise."""
    lowered = search(subject)
    if lowered < DOWNHILL:
        text = (
            f"the residual stays at {math.sqrt(share):.1%} of the equation's terms, and {DESCENT} steps from here without any noise lower "
            f"the loss by {lowered:.0%} only: the network cannot represent the solution. Use a wider or deeper one."
        )
        known = subject.network if isinstance(subject.network, MLP) else MLP(1, 1, "tanh")
        larger = _changed(known, width=max(WIDTH, 2 * known.width), depth=max(DEPTH, known.depth + 1))
        return Symptom("capacity", text, {"network": larger})
    noise = noise_to_signal(subject)
    if noise > NOISY:
        wanted = min(4096, 2 ** math.ceil(math.log2(10 * subject.batch * noise)))
        text = (
            f"the gradient is noise: with a batch of {subject.batch} its noise is {noise:.0f} times its signal, while {DESCENT} steps "
            f"without noise would lower the loss by {lowered:.0%}. Use a batch of {wanted}, a falling learning rate, and the average."
        )
        return Symptom("noise", text, {"batch": wanted, "optimizer": BETTER, "average": 0.999})
    text = (
        f"the optimiser is stuck: the gradient is clear (its noise is {noise:.1f} times its signal), and {DESCENT} steps of Adam(3e-3) "
        f"would lower the loss by {lowered:.0%}. The learning rate does not fit, or the steps were too few: use Adam(3e-3, Cosine())."
    )
    return Symptom("optimiser", text, {"optimizer": BETTER})


def noise_to_signal(subject: Subject) -> float:
    """The variance of the run's own gradient over the square of its mean, summed over the parameters."""
    equation, method, u = subject.equation, subject.method, subject.u
    state = method.observe(u, method.init(subject.target), equation, jnp.asarray(0), jax.random.key(13))

    def gradient(key: Key[Array, ""]) -> Float[Array, "p"]:
        slopes = eqx.filter_grad(lambda u: method.loss(u, state, equation, subject.rules, subject.batch, key)[0])(u)
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
