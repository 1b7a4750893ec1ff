"""Why a residual stays: the network cannot represent u, the training is stuck, the gradient is noise, or it ended too early."""

import dataclasses
import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, PyTree

from fredholm.common.findings import Finding
from fredholm.diagnostics.richer import polynomials_instead
from fredholm.equation.equation import Equation
from fredholm.equation.frame import frame_of
from fredholm.equation.probe import fresh_field
from fredholm.equation.reference import independent_rules
from fredholm.equation.residual import AbstractResidual, Place
from fredholm.equation.size import sized
from fredholm.functions.constrained import Constrained, Formed
from fredholm.functions.field import Field, Function
from fredholm.functions.mlp import MLP, Perceptron
from fredholm.functions.protocol import AbstractNetwork
from fredholm.functions.scaled import Rescaled
from fredholm.methods.protocol import AbstractMethod, Rows, Trained, independent_rows
from fredholm.optimizers.adam import Adam
from fredholm.optimizers.muon import Muon
from fredholm.optimizers.schedules import Cosine
from fredholm.rules.base import AbstractRule

GRADIENTS = 32  # gradients, each from a batch of the run's size, that separate the signal from the noise
NOISY = 3.0  # with more noise than this times the signal, in the mean square, the gradient is a random walk
SEARCHED, NODES = 128, 16  # points x of the search, and nodes of each integral: fixed, so that nothing in it is random
DESCENT = 300  # steps of the search
DOWNHILL = 0.5  # a search that lowers the loss by this share shows that the network can do better
RICHER = 0.1  # polynomials that lower the loss to this share of what the search reaches show that u is smooth and within reach
ENOUGH = 4  # parameters of the network for each coefficient of the polynomials: then it is not too small
WIDTH, DEPTH = 64, 3  # of a network that should be large enough: the least that is recommended
BETTER = Adam(3e-3, Cosine())
Descent = tuple[PyTree, PyTree, Float[Array, ""]]  # parameters, the optimiser's state, and the least loss so far


class TrueLoss(AbstractMethod[None]):
    """The product of two independent residuals, from the best nodes there are: the loss that every method should minimise."""

    def rows(
        self, u: Function, state: None, residual: AbstractResidual, rules: Sequence[AbstractRule], x: Place, key: Key[Array, ""]
    ) -> dict[str, Rows]:
        return {"residual": independent_rows(u, residual, rules, x, key)}


def why_unsolved(method: AbstractMethod, subject: Trained, share: float) -> Finding:
    """Tells capacity, a stuck training, noise and an early end apart: by a descent without noise, and by polynomials."""
    start, least = descent(subject.equation, subject.u)
    # Products of independent residuals may fall below 0.
    left = min(max(0.0, least / start), 1.0) if start > 0 else 1.0
    lowered, richer = 1 - left, polynomials_instead(subject.equation, subject.answer)
    begin = f"the residual stays at {math.sqrt(share):.1%} of the equation's terms"
    steps = f"{DESCENT} more steps without noise lower the loss by only {lowered:.0%}"
    known, parameters = shape_of(subject), _parameters(subject.u)
    if richer is not None and richer.share < (RICHER if left > DOWNHILL else RICHER**2) * left:
        reach = math.sqrt(richer.share * share)
        seen = f"{richer.coefficients} coefficients of polynomials of degree {richer.degree} lower it to {reach:.1%}"
        if parameters < ENOUGH * richer.coefficients:
            text = f"{begin}, and {steps}, while {seen}: the network cannot represent the solution. Use a wider or deeper one."
            return _capacity(subject, text, known, start)
        fresh = like(subject, known)
        reached = tried(subject, fresh, start)
        if left > DOWNHILL or reached < RICHER * left:
            return _stuck(subject, f"{begin}, though {seen}, and the network has {parameters} parameters", fresh, left, reached)
    if left > DOWNHILL:
        more = "" if richer is None else f"; polynomials of degree {richer.degree} leave {math.sqrt(richer.share * share):.1%}"
        text = f"{begin}, and {steps}{more}: the network cannot represent the solution, or the equation with its conditions has none."
        return _capacity(subject, text, known, start)
    return _noise_or_optimiser(method, subject, begin, lowered)


def _capacity(subject: Trained, text: str, known: MLP, start: float) -> Finding:
    """A larger network, if it helps in a short trial."""
    larger = like(subject, dataclasses.replace(known, width=max(WIDTH, 2 * known.width), depth=max(DEPTH, known.depth + 1)))
    reached = tried(subject, larger, start)
    if reached < DOWNHILL:
        text += f" A larger one lowers the loss by {1 - reached:.0%} within {DESCENT} steps."
        return Finding("warning", "capacity", text, {"network": larger})
    return Finding("warning", "capacity", f"{text} A larger one does not help within {DESCENT} steps; see fr.check(problem).")


def _stuck(subject: Trained, begin: str, fresh: AbstractNetwork, left: float, reached: float) -> Finding:
    """The training does not find what it could: the network's input is badly scaled, or its start was bad."""
    where = _range_of(subject.equation)
    remedy: dict[str, object] = {}
    if reached < min(DOWNHILL, left):
        text = f"A new one, whose input is mapped from {where} to [-1, 1], gets {1 - reached:.0%} of the loss away in {DESCENT} steps."
        remedy = {"network": fresh, "optimizer": BETTER}
    else:
        text = f"u is smooth on {where}: a series may do what training does not, or more steps with another optimiser, Muon()."
        if subject.optimizer != Muon():
            remedy = {"optimizer": Muon()}
    return Finding("warning", "stuck", f"{begin}: the training is stuck. {text}", remedy)


def _noise_or_optimiser(method: AbstractMethod, subject: Trained, begin: str, lowered: float) -> Finding:
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
        f"{begin}; the gradient is clear (its noise is {noise:.1f} times its signal), and {DESCENT} steps of Adam(3e-3) would lower "
        f"the loss by {lowered:.0%}"
    )
    if subject.optimizer in (BETTER, Muon()):
        longer = 4 * subject.steps
        return Finding("warning", "optimiser", f"the training ended too early: {clear}. Use {longer} steps.", {"steps": longer})
    text = f"the optimiser is stuck: {clear}. The learning rate does not fit, or the steps were too few: use Adam(3e-3, Cosine())."
    return Finding("warning", "optimiser", text, {"optimizer": BETTER})


def shape_of(subject: Trained) -> MLP:
    """The `MLP` that builds this perceptron; a usual one where the network is not a perceptron."""
    inner = inner_network(subject.u.network)
    if not isinstance(inner, Perceptron):
        return MLP(WIDTH, DEPTH, "tanh")
    return MLP(inner.layers[0][1].shape[0], len(inner.layers) - 1, inner.activation)  # scaled, as a new one is


def in_form(network: Function) -> Function:
    """The network inside a `Constrained` form, or the network itself."""
    return network.network.network if isinstance(network, Formed) else network


def inner_network(network: Function) -> Function:
    """The network inside a `Constrained` form and between its scales, or the network itself."""
    inner = in_form(network)
    return inner.network if isinstance(inner, Rescaled) else inner


def like(subject: Trained, network: MLP) -> AbstractNetwork:
    """Another network in the same `Constrained` form, so that its conditions still hold."""
    return Constrained(network, subject.u.network.form) if isinstance(subject.u.network, Formed) else network


def _parameters(u: Field) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(u, eqx.is_inexact_array)))


def _range_of(equation: Equation) -> str:
    frame = frame_of(equation)
    return " x ".join(f"[{low:.3g}, {high:.3g}]" for low, high in zip(frame.low, frame.high, strict=True))


def tried(subject: Trained, network: AbstractNetwork, start: float) -> float:
    """The true loss after a short descent of a new network, as a share of that of the trained one, `start`."""
    equation = subject.equation
    fitted = network
    if network.needs_frame:
        frame = frame_of(equation)
        fitted = network.fitted(sized(frame, equation, network) if network.needs_size else frame, equation.outputs)
    return max(0.0, descent(equation, fresh_field(equation, fitted))[1] / start) if start > 0 else math.inf


def descent(equation: Equation, u: Field) -> tuple[float, float]:
    """The true loss of u on fixed points and nodes, and the least one in a descent from u."""
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
    return first, least


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
