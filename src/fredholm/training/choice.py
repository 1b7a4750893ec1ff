"""The choice of `Auto`: a short pilot trains and measures, then chooses the settings and gives its reasons."""

import dataclasses
import math
import time
from collections.abc import Collection, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from fredholm.common.compiling import compiled_once
from fredholm.domains.base import AbstractDomain, Atoms, Base
from fredholm.equation.equation import Equation, residuals
from fredholm.equation.estimate import draw, estimate
from fredholm.equation.probe import measures_of
from fredholm.equation.reference import can_turn, reference_rule
from fredholm.equation.residual import Place
from fredholm.equation.units import in_units
from fredholm.functions.field import Field
from fredholm.methods.auto import Auto
from fredholm.methods.delayed_target import DelayedTarget
from fredholm.methods.double_sampling import DoubleSampling
from fredholm.methods.protocol import AbstractMethod, Evaluations
from fredholm.methods.standard import Standard
from fredholm.optimizers.muon import Muon
from fredholm.optimizers.protocol import AbstractOptimizer, Transformation
from fredholm.rules.base import AbstractRule
from fredholm.rules.even import Even
from fredholm.rules.gauss import Gauss
from fredholm.rules.monte_carlo import MonteCarlo
from fredholm.rules.quasi_monte_carlo import QuasiMonteCarlo
from fredholm.rules.randomize import Rotation, Scramble, Shift
from fredholm.rules.sequences import Sobol
from fredholm.training.callbacks import AbstractCallback
from fredholm.training.gradient_noise import POINTS, noise_to_signal
from fredholm.training.progress import Watched
from fredholm.training.settings import GENERAL, RunSettings
from fredholm.training.status import Status
from fredholm.training.training import Training

BATCH = 32  # of the pilot
PLACES = 64  # points x at which rules are compared
GRADIENTS = 512  # points x at which gradients are compared: many, since a kernel that is 0 nearly everywhere is noisy at few points
REPLICATES = 4  # independent estimates by a random rule at each x
FEWEST = 8  # points x in a step, at least
LARGEST = 1024  # points x in a step, at most
NOISY, GROWTH = 0.25, 16  # above this ratio of the gradient's noise to its signal a step gets more points x, up to so many times as many
MUON = Muon()
GENTLE = Muon(3e-3)  # for long runs where parts of u are free: in 10 000 steps Maxwell reaches 5e-4, with MUON only 3e-3
ALL_PAIRS = DoubleSampling("all")  # unbiased like two halves, with less noise from the same nodes
PLAIN = 1e-3  # random nodes whose error exceeds this share of the limit get one size more: the solution is rougher than the pilot's u
CLOSE = 1.5  # fewer nodes are preferred up to this ratio of noises: they leave room for more points x, which add noise too
MANY_NODES, FEWER = 16, 4.0  # so many random nodes are compared with fewer, whose noise must be smaller by this factor at an equal cost
LONG = 5000  # from this number of steps on random nodes get one size more: u becomes rougher and more exact in a long training
FOREVER = 10**9  # steps of the pilot's training, which a callback ends


class Choice(eqx.Module):
    """The settings that the pilot chose, the reasons, and the cost."""

    settings: RunSettings
    reasons: tuple[str, ...]
    evaluations: int  # of u, in the pilot
    seconds: float

    def recorded(self) -> dict[str, Any]:
        """Reasons and cost as plain data, for the run's record."""
        return {"reasons": list(self.reasons), "evaluations": self.evaluations, "seconds": self.seconds}


class _Until(AbstractCallback):
    """Ends a training at a step before its last one, where a record would be made."""

    def __init__(self, step: int):
        self._step = step

    def next_stop(self, training: Watched) -> int:
        return self._step

    def after_chunk(self, training: Watched) -> Status | None:
        return Status.STOPPED if training.step >= self._step else None


class Pilot:
    """A short training of one seed, and measurements on the network that it produces. `is_rough` where the solution is known not to be
    smooth, though that network is."""

    def __init__(self, auto: Auto, settings: RunSettings, is_rough: bool = False):
        self.auto, self.evaluations, self.is_rough = auto, 0, is_rough
        self.problem = in_units(settings.problem.for_seed(settings.seeds[0]), settings.network.residual_units)
        self.measures = measures_of(self.problem)
        # Conditions get the same rule, so it must suit their integrals too.
        self.all_measures = [
            *self.measures,
            *(measure for one in self.problem.conditions for measure in measures_of(one, without_rule=True)),
        ]
        method = _possible(self.problem, [DelayedTarget(), ALL_PAIRS, Standard()])
        rule = MonteCarlo(method.fewest_nodes)
        # Trained like the run itself, so that the network becomes rough: on a smooth one every rule is good.
        own = {"method": method, "rule": rule, "optimizer": Transformation(MUON.build(auto.pilot)), "steps": FOREVER, "batch": BATCH}
        own |= {"average": 0.0, "seeds": settings.seeds[:1], "record_every": FOREVER, "stop": None, "adapt": ()}
        training = Training(dataclasses.replace(settings, **own), is_short=True)
        training.run([_Until(auto.pilot)])
        self.u: Field = jax.tree.map(lambda leaf: leaf[0] if eqx.is_array(leaf) else leaf, training.states.u)
        cost = method.evaluations(self.problem, self.problem.rules(rule))
        self.evaluations += auto.pilot * (cost.of_step(BATCH) + cost.measured)
        self.reference, squares = self._reference()
        self.scale = float(np.mean(squares)) + 1e-30

    def cost(self, method: AbstractMethod, rule: AbstractRule) -> Evaluations:
        """The evaluations of u in a step with this method and rule."""
        return method.evaluations(self.problem, self.problem.rules(rule))

    def _reference(self) -> tuple[np.ndarray, np.ndarray]:
        """The integrals by the best rules there are, and the equation's squared terms, at `PLACES` points x."""
        rules = [integral.rule or reference_rule(measure) for integral, measure in zip(self.problem.integrals, self.measures, strict=True)]

        @compiled_once
        def compute(keys: Key[Array, "n"]) -> Any:
            def one(key: Key[Array, ""]) -> Any:
                x = self.problem.domain.sample(key)
                inside = estimate(self.problem, self.u, x, draw(self.problem, rules, x, key))
                return inside * jnp.ones_like(self.problem.local_residual(self.u, x)), self.problem.squared_terms(self.u, x, inside)

            return jax.lax.map(one, keys)

        inside, squares = compute(_places())
        self.evaluations += PLACES * sum(rule.size(measure) for rule, measure in zip(rules, self.measures, strict=True))
        return np.asarray(inside, float), np.asarray(squares, float)

    @property
    def leaves_functions_free(self) -> bool:
        """True where a weak form has no condition and fewer equations than u has components: then a part of u is free, as the gauge of
        Maxwell's vector potential."""
        return self.problem.is_weak and not self.problem.conditions and self.reference.shape[-1] < self.problem.outputs

    def error(self, rule: AbstractRule) -> float:
        """The mean square error of a rule's estimate, variance and bias, as a share of the squared terms."""
        rules = [integral.rule or rule for integral in self.problem.integrals]
        replicates = REPLICATES if rule.is_random else 1

        @compiled_once
        def compute(keys: Key[Array, "n"]) -> Float[Array, "n r e"]:
            def one(key: Key[Array, ""]) -> Float[Array, "r e"]:
                x = self.problem.domain.sample(key)
                again = [jax.random.fold_in(key, number) for number in range(replicates)]
                return jnp.stack([estimate(self.problem, self.u, x, draw(self.problem, rules, x, k)) for k in again])

            return jax.vmap(one)(keys)

        found = np.asarray(compute(_places()), float)
        self.evaluations += PLACES * replicates * self.cost(Standard(), rule).of_integrands(1)
        return float(np.mean(np.sum((found - self.reference[:, None]) ** 2, axis=-1))) / self.scale

    def noise(self, method: AbstractMethod, rule: AbstractRule) -> float:
        """The variance of the gradient at a fixed x, which comes from the nodes, times the cost of that x: the noise at an equal budget.

        The rest of the gradient's variance, from one x to another, falls with the residual as the network learns. This part stays.
        """
        (_, rules), *_ = residuals(self.problem, self.problem.rules(rule))
        state = method.init(self.u)

        def loss(u: Field, x: Place, key: Key[Array, ""]) -> Float[Array, ""]:
            return sum((part.loss() for part in method.rows(u, state, self.problem, rules, x, key).values()), jnp.zeros(()))

        @compiled_once
        def compute(keys: Key[Array, "n"]) -> Float[Array, ""]:
            def one(key: Key[Array, ""]) -> Float[Array, ""]:
                x = self.problem.domain.sample(key)
                slopes = jax.vmap(lambda again: eqx.filter_grad(loss)(self.u, x, again))(jax.random.split(key))
                return sum((jnp.sum(jnp.var(leaf, axis=0, ddof=1)) for leaf in jax.tree.leaves(slopes)), jnp.zeros(()))

            return jnp.mean(jax.lax.map(one, keys, batch_size=32))

        cost = self.cost(method, rule).of_step(1)
        self.evaluations += 2 * GRADIENTS * cost
        return float(compute(jax.random.split(jax.random.key(2), GRADIENTS))) * cost

    def noise_of_one_x(self, method: AbstractMethod, rule: AbstractRule) -> float:
        """The noise of the gradient of one x, from x and nodes, over the signal, in the mean square."""
        self.evaluations += POINTS * self.cost(method, rule).of_step(1)
        return noise_to_signal(self.problem, self.u, method, self.problem.rules(rule))


def choose(auto: Auto, settings: RunSettings, wanted: Collection[str], is_rough: bool = False) -> Choice:
    """Runs the pilot and replaces the method, and those of rule, optimizer, batch and average that are in `wanted`. `is_rough` where a
    series has shown that the solution is not smooth."""
    begin = time.perf_counter()
    reasons: list[str] = []
    problem, steps = settings.problem, settings.steps
    rule = None if "rule" in wanted else settings.rule
    evaluations, wanders = 0, False
    with jax.enable_x64(settings.precision == "float64"):
        if not problem.integrals:
            method, rule = _without_integrals(auto, problem, rule, reasons)
            batch = GENERAL.batch
            if "batch" in wanted:
                reasons.append(f"batch {batch}: the default, since there is no integral to set the cost of an x")
        else:
            pilot = Pilot(auto, settings, is_rough)
            method, rule = _method_and_rule(auto, pilot, rule, steps, reasons)
            batch = _batch(auto, pilot, method, rule, reasons) if "batch" in wanted else settings.batch
            evaluations, wanders = pilot.evaluations, pilot.leaves_functions_free and steps >= LONG
    chosen: dict[str, Any] = {"rule": rule, "batch": batch}
    if "optimizer" in wanted:
        chosen["optimizer"] = _optimizer(wanders, steps, reasons)
    if "average" in wanted:
        chosen["average"] = GENERAL.average
        why = "the answer is a mean over the last fiftieth of the run, which removes the noise of the last steps"
        reasons.append(f"average {GENERAL.average}: {why}")
    seconds = time.perf_counter() - begin
    if evaluations:
        reasons.append(f"the pilot cost {evaluations:,} evaluations of u and {seconds:.1f} s, besides the steps of the run")
    taken = {name: value for name, value in chosen.items() if name in wanted}
    return Choice(dataclasses.replace(settings, method=method, **taken), tuple(reasons), evaluations, seconds)


def _without_integrals(
    auto: Auto, problem: Equation, given: AbstractRule | None, reasons: list[str]
) -> tuple[AbstractMethod, AbstractRule]:
    """The method where only conditions have integrals, or where there are none."""
    measures = [measure for condition in problem.conditions for measure in measures_of(condition)]
    rule = given or (unbiased_candidates(measures)[-1] if measures else MonteCarlo(1))
    random = bool(measures) and rule.is_random
    method = auto.using or (ALL_PAIRS if random else Standard())
    if random:
        why = f"only conditions have integrals, and the product of two independent estimates is unbiased; with {rule!r}"
    else:
        why = "only conditions have integrals, and their nodes are without noise" if measures else "there is no integral to estimate"
    reasons.append(f"{method!r}: {why}")
    return method, rule


def accepts(method: AbstractMethod, problem: Equation, rule: AbstractRule) -> bool:
    """True where the method can train the equation with this rule."""
    try:
        method.check(problem, problem.rules(rule))
    except ValueError:
        return False
    return all(rule.fits(measure) for one in (problem, *problem.conditions) for measure in measures_of(one, without_rule=True))


def candidates(measures: Sequence[AbstractDomain], is_rough: bool = False) -> list[AbstractRule]:
    """Accurate rules that fit the measures, fewest nodes first: without noise on one or two axes, randomised nets on more.

    Where the solution is rough, nodes that stay where they are miss its kinks and jumps always by the same amount. So they move.
    """
    axes = max((sum(not isinstance(base, Atoms) for base in measure.bases) for measure in measures), default=0)
    if any(measure.samples is not None for measure in measures):
        rules: list[AbstractRule] = []  # given samples are random
    elif axes == 0:
        rules = [Even(1)]  # every atom
    elif axes == 1 and all(map(can_turn, measures)):
        rules = [Even(n, Rotation()) for n in (16, 32, 64)]
    elif axes <= 2 and is_rough and all(base == Base.UNIT for measure in measures for base in measure.bases):
        rules = [Even(n, Shift()) for n in (8, 16)] if axes == 1 else [_net(n) for n in (16, 64)]
    elif axes <= 2:
        rules = [Gauss(n) for n in ((8, 16, 32) if axes == 1 else (4, 8, 12))]
    else:
        # One node may be enough, as for derivatives along random directions, and leaves room for many x.
        rules = [*(MonteCarlo(n) for n in (1, 2, 4, 8)), *(_net(n) for n in (16, 64))]
    return [rule for rule in rules if all(map(rule.fits, measures))]


def unbiased_candidates(measures: Sequence[AbstractDomain]) -> list[AbstractRule]:
    """Rules whose estimates are independent and unbiased, from one node on."""
    given = [measure.samples for measure in measures if measure.samples is not None]
    if given:
        return [MonteCarlo(min(given))] if min(given) < 2 else [MonteCarlo(min(given) // 2 * 2), MonteCarlo(1)]
    better: list[AbstractRule] = []
    if all(base == Base.UNIT for measure in measures for base in measure.bases):
        if all(len(measure.bases) == 1 for measure in measures):
            better = [Even(8, Rotation() if all(map(can_turn, measures)) else Shift())]
        else:
            better = [_net(n) for n in (8, 32, 64)]
    return [rule for rule in [MonteCarlo(1), MonteCarlo(2), MonteCarlo(8), *better] if all(map(rule.fits, measures))]


def _net(n: int) -> AbstractRule:
    """Quasi-random nodes, scrambled: their estimates are independent and unbiased."""
    return QuasiMonteCarlo(n, Sobol(), Scramble())


def _method_and_rule(
    auto: Auto, pilot: Pilot, given: AbstractRule | None, steps: int, reasons: list[str]
) -> tuple[AbstractMethod, AbstractRule]:
    """The standard loss where its bias is small enough, else an unbiased method with the nodes that give the least noisy gradient.

    Where many random nodes make the bias small, an unbiased method with few leaves a step more points x: the noise of both decides.
    """
    rule = _quiet_rule(auto, pilot, given, steps, reasons) if auto.using is None or auto.using.is_biased else None
    if rule is None:
        return _unbiased_choice(auto, pilot, given, reasons)
    is_open = given is None and auto.using is None and not pilot.problem.is_weak
    if not (is_open and rule.is_random and rule.size(pilot.measures[0]) >= MANY_NODES):
        return auto.using or Standard(), rule
    also: list[str] = []
    method, fewer = _unbiased_choice(auto, pilot, None, also)
    quiet, other = (pilot.noise_of_one_x(one, own) * pilot.cost(one, own).of_step(1) for one, own in ((Standard(), rule), (method, fewer)))
    if not quiet > FEWER * other:
        return Standard(), rule
    reasons[:] = [
        f"not Standard() with {rule!r}: at an equal cost its gradient has {quiet / other:.1f} times the noise of the following",
        *also,
    ]
    return method, fewer


def _unbiased_choice(auto: Auto, pilot: Pilot, given: AbstractRule | None, reasons: list[str]) -> tuple[AbstractMethod, AbstractRule]:
    """An unbiased method, unless one is asked for, and the nodes that give its gradient the least noise at an equal cost."""
    method = auto.using or _unbiased(pilot, given, reasons)
    if given is not None:
        return method, given
    fitting = [rule for rule in unbiased_candidates(pilot.all_measures) if accepts(method, pilot.problem, rule)]
    tried = [rule for rule in fitting if pilot.cost(method, rule).of_step(FEWEST) <= auto.points] or fitting[:1] or [MonteCarlo(1)]
    noises = {rule: pilot.noise(method, rule) for rule in tried}
    least = min((noise for noise in noises.values() if np.isfinite(noise)), default=0.0)
    # The first one where nothing could be measured: the gradient of a pilot that diverged is not finite.
    best = next((rule for rule in tried if noises[rule] <= CLOSE * least), tried[0])
    ratios = ", ".join(f"{rule!r} {noises[rule] / least:.2g}" for rule in tried if least > 0)
    why = f"the fewest nodes with a gradient noise within {CLOSE:g} times the least, at an equal cost"
    reasons.append(f"{best!r}: {why}" + (f" (noise over the least: {ratios})" if ratios and len(tried) > 1 else ""))
    return method, best


def _quiet_rule(auto: Auto, pilot: Pilot, given: AbstractRule | None, steps: int, reasons: list[str]) -> AbstractRule | None:
    """A rule with which the standard loss is accurate enough, or None. Where that method is given, the best rule there is."""
    if given is not None:
        tried = [given]
    else:
        tried = [
            rule for rule in candidates(pilot.all_measures, pilot.is_rough) if pilot.cost(Standard(), rule).of_step(FEWEST) <= auto.points
        ]
    found: list[float] = []
    for index, rule in enumerate(tried):
        found.append(pilot.error(rule))
        # Noise shifts the solution by its variance. A fixed error shifts it by its own size, the root of what is measured.
        wanted = auto.bias if rule.is_random else auto.bias**2
        if found[-1] > wanted:
            continue
        seen = f"the squared error of {rule!r} is {found[-1]:.1e} of the equation's squared terms, and at most {wanted:g} is allowed"
        only_just = rule.is_random and found[-1] > PLAIN * wanted
        if only_just and given is None and auto.using is None and index + 1 == len(tried):
            reasons.append(f"not Standard(): {seen}, but the pilot's network is smoother than the solution, and no larger rule fits")
            return None
        sizes_more = only_just + (rule.is_random and steps >= LONG)
        chosen = tried[min(index + sizes_more, len(tried) - 1)]
        why = "since the pilot's network is smoother than the solution" if only_just else f"for a run of {steps} steps"
        more = "" if chosen is rule else f"; a larger one, {why}"
        reasons.append(f"{chosen!r}: {seen}{more}")
        reasons.append("Standard(): its bias is then small, and of all methods its gradient has the least noise")
        return chosen
    if auto.using is not None and not tried:
        reasons.append("MonteCarlo(1): given samples are random, and no rule improves them")
        return MonteCarlo(1)
    best = int(np.argmin(found)) if tried else 0
    if auto.using is not None:
        reasons.append(f"{tried[best]!r}: the best rule that fits, with a squared error of {found[best]:.1e} of the squared terms")
        return tried[best]
    if tried:
        reasons.append(
            f"not Standard(): the best rule that fits, {tried[best]!r}, would leave a bias of {found[best]:.1e} of the squared terms"
        )
    return None


def _unbiased(pilot: Pilot, given: AbstractRule | None, reasons: list[str]) -> AbstractMethod:
    """Delayed targets where u appears in f, or where the estimates of a weak form are mostly noise; else double sampling."""
    order: list[AbstractMethod] = [DelayedTarget(), ALL_PAIRS, Standard()]
    why = "u appears in f, so that only the target sees the noise"
    if pilot.problem.is_weak:
        fitting = [rule for rule in unbiased_candidates(pilot.all_measures) if accepts(ALL_PAIRS, pilot.problem, rule)]
        rule = given or next(reversed(fitting), MonteCarlo(1))
        noise = pilot.error(rule)
        why = f"a weak form, and the variance of {rule!r} is {noise:.1e} of the squared terms: a delayed target averages this noise"
        if noise <= 1 and accepts(ALL_PAIRS, pilot.problem, rule):
            order = order[1:]
            why = f"a weak form, and the variance of {rule!r} is {noise:.1e} of the squared terms: smaller than they are"
    method = _possible(pilot.problem, order)
    also = f"; {method.remark}" if method.remark else ""
    reasons.append(f"{method!r}: {why}{also}" if method == order[0] else f"{method!r}: the equation does not allow {order[0]!r}")
    return method


def _batch(auto: Auto, pilot: Pilot, method: AbstractMethod, rule: AbstractRule, reasons: list[str]) -> int:
    cost = pilot.cost(method, rule)
    each = cost.at_x + cost.at_nodes
    batch = max(FEWEST, min(LARGEST, (auto.points - cost.shared) // max(each, 1)))
    more = f", {cost.shared} of them shared by all x" if cost.shared else ""
    more += f"; the method's own measurements take {cost.measured} more" if cost.measured else ""
    # The pilot's own gradient says whether that is enough: with more noise than signal, most of a step is a random walk.
    noise = pilot.noise_of_one_x(method, rule) / batch
    grown = min(LARGEST, GROWTH * batch, math.ceil(batch * noise / NOISY)) if noise > NOISY else batch
    why = f"each x takes {each} evaluation{'s' * (each > 1)} of u, and a step has {cost.of_step(grown)} of them{more}"
    if grown > batch:
        why += f"; with {batch} x, the gradient's noise would be {noise:.1f} times its signal in the pilot"
    reasons.append(f"batch {grown}: {why}")
    return grown


def _optimizer(wanders: bool, steps: int, reasons: list[str]) -> AbstractOptimizer:
    """Muon; with a smaller learning rate where free parts of u would drift in a long run."""
    chosen = GENTLE if wanders else MUON
    why = "weak directions of the gradient are learnt as fast as strong ones, and the learning rate falls to 0"
    more = (
        f"; a small rate, since u has more components than there are equations, and the free ones would drift in {steps} steps"
        if wanders
        else ""
    )
    reasons.append(f"Muon({chosen.learning_rate:g}, Cosine()): {why}{more}")
    return chosen


def _possible(problem: Equation, methods: Sequence[AbstractMethod]) -> AbstractMethod:
    """The first method that the equation allows with random nodes: some need more samples than are given."""
    return next((one for one in methods if accepts(one, problem, MonteCarlo(one.fewest_nodes))), methods[-1])


def _places() -> Key[Array, "n"]:
    return jax.random.split(jax.random.key(1), PLACES)
