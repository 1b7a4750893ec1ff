"""What a tired person types: each is refused with what was given, what is wanted and what to do."""

import math
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.diagnostics.before import check_settings, warn_if_ill_posed
from fredholm.diagnostics.outside import outside
from fredholm.training.settings import settings_of
from fredholm.training.training import Training

VOLTERRA = fr.problems.Volterra()
UNIT = fr.Interval(0.0, 1.0)
SQUARE = fr.Box((0.0, 0.0), (1.0, 1.0))
ON_SQUARE = fr.Integral(SQUARE, lambda u, x, t: u(t))


def equation(**changes):
    parts = {"domain": UNIT, "f": lambda u, x: u(x), "integrals": fr.Integral(UNIT, lambda u, x, t: u(t))}
    return fr.Equation(**{**parts, **changes})


@pytest.mark.parametrize("weak", [False, True])
def test_main_nodes_without_a_main_part_are_refused(weak):
    method, one = fr.DelayedTarget(main=5), equation(f=None, y=0.3) if weak else equation()
    if weak:
        method.check(one, one.rules(fr.MonteCarlo(1)))
    else:
        with pytest.raises(ValueError, match=r"main=5 .*Leave main out, or give split=M"):
            method.check(one, one.rules(fr.MonteCarlo(1)))
    fr.DelayedTarget(main=5, split=10.0).check(one, one.rules(fr.MonteCarlo(1)))


CONSTRUCTION = {
    "MonteCarlo n": lambda: fr.MonteCarlo(0),
    "Even n": lambda: fr.Even(-1),
    "tau": lambda: fr.DelayedTarget(tau=-0.1),
    r"tau.*\[0, 1\)": lambda: fr.DelayedTarget(tau=1.0),
    "regularization": lambda: fr.DelayedTarget(regularization=-1.0),
    "split": lambda: fr.DelayedTarget(split=0.5),
    "main": lambda: fr.DelayedTarget(main=0),
    "every": lambda: fr.DelayedTarget(every=0),
    "width": lambda: fr.MLP(width=0),
    "Did you mean 'tanh'": lambda: fr.MLP(activation="tahn"),
    "learning_rate": lambda: fr.Adam(-1.0),
    "Muon learning_rate": lambda: fr.Muon(-1.0),
    "Muon beta": lambda: fr.Muon(beta=1.0),
    "Swap the limits": lambda: fr.Interval(1.0, 0.0),
    "is empty": lambda: fr.Integral(fr.Interval(1.0, 1.0), lambda u, x, t: u(t)),
    "Box: got 2 lower and 3 upper": lambda: fr.Box((0, 0), (1, 1, 1)),
    "finite": lambda: fr.Interval(0.0, float("inf")),
    "Sphere radius": lambda: fr.Sphere((0.0, 0.0), -1.0),
    "expected 3 and 3": lambda: fr.Circle((0.0, 0.0), 1.0),
    "neither f nor integrals": lambda: fr.Equation(domain=UNIT),
    "give inputs=": lambda: fr.Equation(domain=fr.Law(r=UNIT), integrals=fr.Integral(UNIT, lambda u, x, t: u(t))),
    "Poisson dim": lambda: fr.problems.Poisson(dim=1),
    r"Poisson charges.*\(1, 3\).*expected": lambda: fr.problems.Poisson(dim=2, charges=[[0.0, 0.0, 0.0]]),
    "Poisson weights": lambda: fr.problems.Poisson(weights=[1.0]),
    "unknown metric 'mes'": lambda: fr.Evaluation(UNIT, score="mes"),
    "Tolerance": lambda: fr.Tolerance(-1.0),
}


@pytest.mark.parametrize("message", CONSTRUCTION)
def test_refused_at_construction(message):
    with pytest.raises(ValueError, match=message):
        CONSTRUCTION[message]()


SOLVE = {
    "seeds: got 0": lambda: fr.solve(VOLTERRA, seeds=0),
    "seeds: got .*different": lambda: fr.solve(VOLTERRA, seeds=[1, 1]),
    "batch: got 0": lambda: fr.solve(VOLTERRA, batch=0),
    "steps: got 0": lambda: fr.solve(VOLTERRA, steps=0),
    "minutes": lambda: fr.solve(VOLTERRA, minutes=-1.0),
    "at least 2 points": lambda: fr.solve(VOLTERRA, fr.DoubleSampling(), rule=fr.MonteCarlo(1)),
    "even number of points": lambda: fr.solve(VOLTERRA, fr.DoubleSampling(), rule=fr.MonteCarlo(3)),
    "always the same": lambda: fr.solve(VOLTERRA, fr.DoubleSampling(), rule=fr.Even(4)),
    "no rotation": lambda: fr.solve(VOLTERRA, fr.Standard(), rule=fr.Even(4, fr.Rotation())),
    "g of integral 1: it returned shape": lambda: fr.solve(equation(integrals=fr.Integral(UNIT, lambda u, x, t: jnp.ones((2, 2))))),
    "g of integral 1: it returned 2": lambda: fr.solve(equation(integrals=fr.Integral(UNIT, lambda u, x, t: jnp.ones(2)))),
    r"u: got a point of shape \(\)": lambda: fr.solve(equation(f=lambda u, x: u(x[0]))),
    "integral 1, at x = .*Swap": lambda: fr.solve(equation(integrals=fr.Integral(lambda x: fr.Interval(0.5, x[0]), lambda u, x, t: u(t)))),
    "write x\\[0\\], not x": lambda: fr.solve(equation(integrals=fr.Integral(lambda x: fr.Interval(0.0, x), lambda u, x, t: u(t)))),
    "returned .* expected a domain": lambda: fr.solve(equation(integrals=fr.Integral(lambda x: (0.0, 1.0), lambda u, x, t: u(t)))),
    "jnp.where": lambda: fr.solve(equation(f=lambda u, x: u(x) if x[0] > 0.5 else 0.0)),
    "instead of numpy": lambda: fr.solve(equation(f=lambda u, x: np.sin(u(x)))),
    "f returned 2.*a number is x\\[0\\], not x": lambda: fr.solve(equation(domain=SQUARE, f=lambda u, x: x * u(x), integrals=ON_SQUARE)),
    "y: it returned 2 values where f has 1.*x\\[0\\]": lambda: fr.solve(equation(domain=SQUARE, y=lambda x: x, integrals=())),
    "condition 1, of at one x: value: it returned 2 values": lambda: fr.solve(
        equation(domain=SQUARE, integrals=(), conditions=fr.Condition(fr.Point(0.0, 0.0), lambda x: x))
    ),
    "u: got 2 arguments.*jnp.stack": lambda: fr.solve(equation(domain=SQUARE, f=lambda u, x: u(x[0], x[1]), integrals=())),
    "integral 1: over: it branches.*jnp.where": lambda: fr.solve(
        equation(integrals=fr.Integral(lambda x: fr.Interval(0.0, x[0] if x[0] > 0.5 else 0.5), lambda u, x, t: u(t)))
    ),
    "integral 1: over: it calls numpy": lambda: fr.solve(
        equation(integrals=fr.Integral(lambda x: fr.Interval(0.0, np.sqrt(x)[0]), lambda u, x, t: u(t)))
    ),
    "g of integral 1: it branches.*jnp.maximum": lambda: fr.solve(
        equation(integrals=fr.Integral(UNIT, lambda u, x, t: max(t[0] - x[0], 0.0) * u(t)))
    ),
    "f at one x: it needs the number.*jnp.exp for math.exp": lambda: fr.solve(equation(f=lambda u, x: math.exp(x[0]) * u(x))),
    "g of integral 1: it cannot be computed.*3 were given": lambda: fr.solve(equation(integrals=fr.Integral(UNIT, lambda u, t: u(t)))),
    "condition 1, value at one x: it calls numpy": lambda: fr.solve(
        equation(conditions=fr.Condition(UNIT, lambda x: np.sin(x[0]))), fr.Standard()
    ),
    "exact: it calls numpy": lambda: fr.solve(equation(exact=lambda x: np.sin(x[0]))),
    "not finite at x": lambda: fr.solve(equation(y=lambda x: jnp.log(-x[0]))),
    "exact: it returned 2": lambda: fr.solve(equation(exact=lambda x: jnp.ones(2))),
    "no integral": lambda: fr.solve(equation(integrals=()), fr.DelayedTarget()),
}


@pytest.mark.parametrize("message", SOLVE)
def test_refused_before_training(message, monkeypatch):
    monkeypatch.setattr(Training, "__init__", lambda self, settings: pytest.fail("the training was started"))
    with pytest.raises(ValueError, match=message) as caught:
        SOLVE[message]()
    assert not type(caught.value).__module__.startswith(("jax", "beartype"))


def test_bad_input_is_refused_without_type_checks():
    """The suite checks types at run time; a user's program does not, and must get the library's own words."""
    done = subprocess.run([sys.executable, Path(__file__).with_name("bad_inputs.py")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_moving_limits_in_several_dimensions_are_not_bad_input():
    moving = fr.Integral(lambda p: fr.Box((0.0, 0.0), (p[0], p[1])), lambda u, x, t: u(t))
    check_settings(settings_of(equation(domain=SQUARE, integrals=moving), fr.DelayedTarget()))


def test_a_name_that_is_not_there_has_the_nearest_one():
    for name, near in (("Intervall", "Interval"), ("MonteCarol", "MonteCarlo"), ("solv", "solve")):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'. Did you mean '{near}'"):
            getattr(fr, name)


OUTSIDE = {
    "outside of the domain [0, 1], where nothing trains it": {
        "integrals": fr.Integral(lambda x: fr.HalfLine(x[0]), lambda u, x, t: jnp.exp(-t[0]) * u(t))
    },
    "condition 1 holds at x = [3.]": {"conditions": fr.Condition(fr.Point(3.0), 1.0)},
    "exact does not satisfy the equation": {"exact": lambda x: x[0], "y": lambda x: 1.0},
}


@pytest.mark.parametrize("message", OUTSIDE)
def test_what_no_training_can_mend_is_said_before_it(message):
    with pytest.warns(fr.ProblemWarning) as caught:
        warn_if_ill_posed(settings_of(equation(**OUTSIDE[message]), fr.Standard()))
    assert any(message in str(one.message) for one in caught)


def test_what_reaches_outside_and_is_known_there_is_not_said():
    delayed = fr.Integral(lambda x: fr.Interval(x[0] - 1.0, x[0]), lambda u, x, t: u(t) / 4)
    (said,) = outside(equation(integrals=delayed))
    assert "the integrals evaluate u on [-1, 1], outside of the domain [0, 1]" in said
    before = fr.Condition(fr.Interval(-1.0, 0.0), lambda x: jnp.cos(x[0]))
    assert not list(outside(equation(integrals=delayed, conditions=before)))
    assert not list(outside(equation(conditions=fr.Condition(fr.Point(1.0), 0.0))))
