"""Every problem with every rule and every method: the whole table by abstract evaluation, a pairwise selection for real."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.domains.base import AbstractDomain
from fredholm.equation.estimate import draw, estimate
from fredholm.functions.field import Field
from fredholm.storage.serialisation import from_text, to_text
from table import DOUBLE, METHODS, PROBLEMS, REFUSED, RULES

TINY = fr.MLP(8, 1, "tanh")


class Linear(eqx.Module):
    """The least that can be traced."""

    weights: jax.Array

    def __call__(self, x):
        return self.weights @ x


class Still(AbstractDomain):
    """A domain of one point: to draw another for each method and rule takes a third of the time."""

    x: object
    dimension, bases, mass = 1, (), 1.0

    def map(self, z):
        return self.x, jnp.ones(())

    def sample(self, key):
        return self.x


UNBOUNDED = set(
    itertools.product(
        ("smoluchowski-constant", "smoluchowski-golovin"), ("clenshaw-curtis", "leja", "smolyak-leja", "gauss-shift", "smolyak-gauss-shift")
    )
)


def refusal(equation, rules, x):
    """Why a rule does not serve an integral, or nothing."""
    try:
        for integral, rule in zip(equation.integrals, rules, strict=True):
            rule.check(integral.measure(x))
    except ValueError as error:
        return str(error)
    return ""


# The residual of these is that of poisson-2, and of delayed without or with a pull: what differs is around it, and is trained below.
SAME_RESIDUAL = {"poisson-drawn", "poisson-boundary", "poisson-several"}, {"delayed-detached", "delayed-hard"}


@pytest.mark.parametrize("problem", [name for name in PROBLEMS if name not in SAME_RESIDUAL[0]])
def test_every_method_and_rule_has_a_loss(problem, key):
    """At one x, where rules and methods meet: the batch around it is the same for all, and trained below."""
    equation = PROBLEMS[problem]
    u = Field(Linear(jnp.ones((equation.outputs, equation.inputs))), {}, equation.inputs, equation.outputs)
    x = equation.domain.sample(key)
    equation = eqx.tree_at(lambda equation: equation.domain, equation, Still(x))
    for rule in RULES:
        rules = [integral.rule or RULES[rule] for integral in equation.integrals]
        refused = refusal(equation, rules, x)
        if refused:  # A rule with end points on an unbounded domain, say.
            assert (problem, rule) in UNBOUNDED, refused
            continue
        signs = any(one.has_negative_weights(integral.measure(x)) for integral, one in zip(equation.integrals, rules, strict=True))
        for method in METHODS.keys() - SAME_RESIDUAL[1]:
            if (method, rule) in REFUSED or (method in DOUBLE and signs):
                with pytest.raises(ValueError, match="DoubleSampling"):
                    METHODS[method].check(equation, rules)
                continue
            METHODS[method].check(equation, rules)
            parts = eqx.filter_eval_shape(METHODS[method].rows, u, METHODS[method].init(u), equation, rules, x, key)
            assert parts
            assert all(part.a.shape == part.b.shape for part in parts.values())


# Each problem once, each method at least once, each rule at least once.
PAIRWISE = [
    ("volterra", "monte-carlo-1", "delayed"),
    ("volterra", "gauss-shift", "double-all"),
    ("volterra", "clenshaw-curtis", "standard"),
    ("poisson-2", "additive-recursion", "delayed-detached"),
    ("poisson-2", "leja", "standard"),
    ("poisson-2", "lattice-shift", "double-split"),
    ("poisson-drawn", "halton", "delayed-on-f"),
    ("poisson-boundary", "even", "delayed-hard"),
    ("poisson-5", "sobol-scramble", "delayed"),
    ("poisson-5", "smolyak-leja", "standard"),
    ("poisson-5", "smolyak-gauss-shift", "delayed-published"),
    ("poisson-several", "monte-carlo-4", "double-all"),
    ("maxwell", "even-fixed-shift", "standard"),
    ("smoluchowski-1", "even-shift", "double-split"),
    ("smoluchowski-2", "monte-carlo-1", "delayed"),
    ("smoluchowski-constant", "monte-carlo-4", "delayed"),
    ("smoluchowski-constant", "importance", "double-split"),
    ("smoluchowski-golovin", "gauss", "standard"),
    ("smoluchowski-constant", "shared", "double-split"),
    ("smoluchowski-golovin", "antithetic", "double-all"),
]


def test_the_selection_covers_the_table():
    problems, rules, methods = ({row[index] for row in PAIRWISE} for index in range(3))
    assert (problems, rules, methods) == (set(PROBLEMS), set(RULES), set(METHODS))


@pytest.mark.parametrize(("problem", "rule", "method"), PAIRWISE)
def test_a_chunk_trains_and_the_run_can_be_saved_loaded_scored_and_drawn(problem, rule, method, tmp_path):
    equation = PROBLEMS[problem]
    solution = fr.solve(equation, METHODS[method], rule=RULES[rule], network=TINY, steps=4, seeds=2, batch=4, progress=False)
    assert np.isfinite(solution.history["loss"]).all()
    assert {"integration_variance", "excess_variance", "drift", "error"} <= set(solution.history)
    loaded = fr.load(solution.save(tmp_path / "run"))
    scores = loaded.evaluate()
    assert {"mse", "relative_l2", equation.evaluation.score} <= set(scores)
    assert all(np.isfinite(values).all() and len(values) == 2 for values in scores.values())
    if (problem, rule, method) == next(row for row in PAIRWISE if row[0] == problem):  # one picture of each problem
        loaded.plot(tmp_path / "picture.png")
        assert (tmp_path / "picture.png").stat().st_size > 10_000


@pytest.mark.parametrize("problem", ["volterra", "poisson-2", "poisson-5", "poisson-drawn", "poisson-boundary"])
def test_the_exact_solution_has_no_residual(problem, key):
    """With a rule that is exact enough, the truth put into the equation leaves nothing. Maxwell and Smoluchowski, which need care near
    wires and jumps of the kernel, have the same law in test_maxwell.py and test_smoluchowski.py."""
    with jax.enable_x64(True):
        equation = PROBLEMS[problem]
        key = jax.random.key(1)
        converged = converged_rule(equation)

        class Truth(eqx.Module):
            def __call__(self, x):
                return equation.exact(x)

        u = Field(Truth(), {}, equation.inputs, equation.outputs)

        def residual(key):
            x = equation.domain.sample(key)
            rules = [integral.rule or converged for integral in equation.integrals]
            inside = estimate(equation, u, x, draw(equation, rules, x, key))
            return jnp.sum(jnp.abs(equation.local_residual(u, x) + equation.sign * inside)), nearest_charge(equation, x)

        residuals, distances = jax.vmap(residual)(jax.random.split(key, 40))
        far = np.asarray(distances) > 0.2  # a charge near the surface makes the integrand peaked, and any rule slow
        assert far.sum() >= 10
        # The label is 0 or 1: a wrong constant or a wrong sign is seen in any dimension, however few digits the rule gives.
        assert np.asarray(residuals)[far].max() < (2e-2 if equation.inputs > 2 else 1e-3)


def converged_rule(equation):
    return fr.QuasiMonteCarlo(16384, fr.Sobol()) if equation.inputs > 2 else fr.Even(400)


def nearest_charge(equation, x):
    """The relative distance of the surface from the nearest charge."""
    if not isinstance(equation, fr.problems.Poisson):
        return jnp.asarray(1.0)
    charges = equation.y.__self__.locations
    return jnp.min(jnp.abs(jnp.linalg.norm(charges - x.center[None, :], axis=-1) / x.radius - 1.0))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_problem_can_be_made_again_from_its_text(problem):
    data = to_text(PROBLEMS[problem])
    assert to_text(from_text(data)) == data


# A proposal that is a function of the user's own is not in a folder; a fitted one is.
FITTED = fr.Importance(fr.MonteCarlo(4), fr.rules.Warp(((0.0, 0.65, 1.0),)))
SPECS = [
    *(rule for name, rule in RULES.items() if name != "importance"),
    FITTED,
    *METHODS.values(),
    TINY,
    fr.Adam(1e-2, fr.Cosine(0.1)),
    fr.Muon(2e-2),
]


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_an_object_can_be_made_again_from_its_text(spec):
    assert from_text(to_text(spec)) == spec
