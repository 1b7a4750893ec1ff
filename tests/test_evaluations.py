"""One count of evaluations, against an integrand that counts its own calls."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import fredholm as fr
from fredholm.functions.field import Field
from table import METHODS

BATCH = 3
UNIT, MOVING = fr.Interval(0.0, 1.0), lambda x: fr.Interval(0.0, x[0])
RULES = [fr.MonteCarlo(1), fr.MonteCarlo(4), fr.Even(2), fr.QuasiMonteCarlo(4, fr.Sobol(), fr.Scramble()), fr.Shared(fr.MonteCarlo(4))]


class Counter:
    """Counts the calls of integrands, by nodes: under `vmap` one call is as many as there are nodes."""

    def __init__(self):
        self.calls = 0

    def counting(self, g):
        """g, counted. A node that all x share is one call for all of them: there the network is evaluated once."""

        def counted(u, x, t):
            jax.debug.callback(self._add, t)
            return g(u, x, t)

        return counted

    def _add(self, t):
        self.calls += 1

    def during(self, run, *arguments):
        """The calls while something runs."""
        before = self.calls
        run(*arguments)
        jax.effects_barrier()
        return self.calls - before


COUNTER = Counter()


def equation(over, form):
    integrals = [fr.Integral(over, COUNTER.counting(lambda u, x, t: u.kappa * u(t) if "unknown" in form else u(t)))]
    if form == "two integrals":
        integrals.append(fr.Integral(MOVING, COUNTER.counting(lambda u, x, t: x[0] * u(t)), rule=fr.Even(3)))
    f = None if form.startswith("weak") else lambda u, x: u(x)
    unknowns = {"kappa": 1.0} if "unknown" in form else {}
    return fr.Equation(domain=fr.Interval(0.5, 1.0), f=f, integrals=integrals, y=1.0, unknowns=unknowns)


def network(equation):
    built = fr.MLP(2, 1, "tanh").build(equation.inputs, equation.outputs, jax.random.key(1))
    unknowns = {name: jnp.asarray(value) for name, value in equation.unknowns.items()}
    return Field(built, unknowns, equation.inputs, equation.outputs)


def refused(method, equation, rules):
    try:
        method.check(equation, rules)
    except ValueError:
        return True
    return False


def assert_counted(method, equation, rule, key, batch=BATCH):
    """The calls of one loss are those that the method says; they are returned, or None where the method refuses the rule."""
    rules, u = equation.rules(rule), network(equation)
    if refused(method, equation, rules):
        return None
    calls = COUNTER.during(method.loss, u, method.init(u), equation, rules, batch, key)
    assert method.evaluations(equation, rules).of_integrands(batch) == calls, rule
    return calls


@pytest.mark.parametrize("form", ["weak", "with f", "with f and an unknown", "weak with an unknown", "two integrals"])
@pytest.mark.parametrize("method", METHODS)
def test_a_loss_calls_its_integrands_as_often_as_the_method_says(method, form, key):
    """At limits that move with x every x has nodes of its own, whatever the rule is."""
    rules = RULES if form in ("weak", "with f", "with f and an unknown") else RULES[1:2]
    counts = [assert_counted(METHODS[method], equation(MOVING, form), rule, key) for rule in rules]
    assert set(counts) != {None}, "the method takes some of the rules"


@pytest.mark.parametrize("form", ["weak", "with f", "with f and an unknown"])
@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if getattr(method, "main", None) is None])
def test_x_that_share_their_nodes_call_the_integrand_once_for_all_of_them(method, form, key):
    """Where limits do not move and all parts of the loss have the shared rule; a main part with a rule of its own does not share."""
    calls = [assert_counted(METHODS[method], equation(UNIT, form), fr.Shared(fr.MonteCarlo(4)), key, batch) for batch in (2, 5)]
    assert calls[0] is not None
    assert calls[0] == calls[1]


@pytest.mark.parametrize("form", ["weak", "with f", "with f and an unknown", "two integrals"])
@pytest.mark.parametrize("method", METHODS)
def test_an_update_calls_the_integrands_as_often_as_the_method_says(method, form, key):
    own, problem = METHODS[method], equation(MOVING, form)
    u = network(problem)
    calls = COUNTER.during(own.update, u, own.init(u), problem, BATCH, jnp.asarray(0), key)
    assert own.evaluations(problem, problem.rules(fr.MonteCarlo(4))).measured == calls
    assert (calls > 0) == (own.has_target and own.regularization is None)


@pytest.mark.parametrize(
    ("method", "rule", "calls"),
    [
        (fr.DoubleSampling("all"), fr.QuasiMonteCarlo(8, randomize=fr.Shift()), 160),  # a randomised rule is drawn twice
        (fr.DelayedTarget(main=1), fr.MonteCarlo(8), 90),  # eight nodes of the target and one of the network
    ],
    ids=["double sampling", "delayed targets"],
)
def test_ten_volumes_of_poisson(method, rule, calls, key):
    poisson = fr.problems.Poisson()
    counted = eqx.tree_at(lambda problem: problem.integrals[0].g, poisson, COUNTER.counting(poisson.integrals[0].g))
    assert assert_counted(method, counted, rule, key, batch=10) == calls
