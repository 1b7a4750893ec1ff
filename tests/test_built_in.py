"""Conditions that are built into u hold to rounding, whatever the parameters of the network are; what cannot be built in says why."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.equation.building import CannotBuildInError, with_conditions
from fredholm.functions.field import Field

LINE, BOX = fr.Interval(0.0, 1.0), fr.Box((0.0, 0.0), (1.0, 2.0))
LEFT, RIGHT, BEGIN = (
    fr.Product(fr.Point(0.0), fr.Interval(0.0, 2.0)),
    fr.Product(fr.Point(1.0), fr.Interval(0.0, 2.0)),
    fr.Product(LINE, fr.Point(0.0)),
)


def wave(x):
    return jnp.sin(x[0]) * jnp.exp(x[1])


def slope(axis=0):
    return lambda u, x: fr.derivative(u, x, axis=axis)


def on(at, value=1.0, of=lambda u, x: u(x)):
    return fr.Condition(at, value, of=of, exact=True)


CASES = {
    "clamped": (LINE, 1, [on(fr.Point(e), v, of) for e in (0.0, 1.0) for v, of in ((1.0, lambda u, x: u(x)), (2.0, slope()))]),
    "slopes at both ends": (LINE, 1, [on(fr.Point(0.0), 2.0, slope()), on(fr.Point(1.0), -1.0, slope())]),
    "robin": (LINE, 1, [on(fr.Point(0.0), 2.0, lambda u, x: u(x) + 3 * fr.derivative(u, x)), on(fr.Point(1.0), 5.0)]),
    "faces": (BOX, 1, [on(LEFT, wave), on(RIGHT, lambda x: jnp.cos(x[0]) * jnp.exp(x[1]), slope(0)), on(BEGIN, wave)]),
    "start of a wave": (BOX, 1, [on(BEGIN, wave), on(BEGIN, wave, slope(1)), on(LEFT, 0.0)]),
    "periodic": (
        BOX,
        1,
        [fr.Periodic(LEFT, RIGHT, order=1, exact=True), on(BEGIN, lambda x: jnp.sin(2 * jnp.pi * x[0]))],
    ),
    "points": (BOX, 1, [on(fr.Point(0.2, 0.3)), on(fr.Point(0.7, 1.3), lambda x: x[1])]),
    "of two outputs": (LINE, 2, [on(fr.Point(0.0), 3.0, lambda u, x: u(x)[1]), on(fr.Point(1.0), jnp.array([1.0, 2.0]))]),
}
REFUSED = {
    "contradicts others where their faces meet": (BOX, [on(LEFT, 1.0), on(BEGIN, 2.0)]),
    "a part of the face": (BOX, [on(fr.Product(fr.Point(0.0), LINE))]),
    "constant factors": (LINE, [on(fr.Point(0.0), 1.0, lambda u, x: u(x) ** 2)]),
    "along the axis of its face": (BOX, [on(LEFT, 1.0, slope(1))]),
    "asks twice": (LINE, [on(fr.Point(0.0), 1.0), on(fr.Point(0.0), 2.0)]),
    "no point and no face": (LINE, [on(LINE)]),
}


def equation(domain, outputs, conditions):
    return fr.Equation(domain=domain, f=lambda u, x: u(x), conditions=conditions, outputs=outputs)


@pytest.mark.parametrize("name", CASES)
def test_conditions_hold_to_rounding_for_random_parameters(name, key):
    problem = equation(*CASES[name])
    with jax.enable_x64(True):
        network = with_conditions(fr.MLP(4, 1, "tanh", scaled=False), problem)
        assert network.built_in == tuple(range(len(problem.conditions)))
        u = Field(network.build(problem.inputs, problem.outputs, key), {}, problem.inputs, problem.outputs)
        for condition in problem.conditions:
            places = jax.vmap(condition.law.sample)(jax.random.split(key, 5))
            assert jnp.abs(jax.vmap(lambda x, one=condition: one.local_residual(u, x))(places)).max() < 1e-13
        free = jnp.asarray([0.37, 0.9][: problem.inputs])
        other = Field(network.build(problem.inputs, problem.outputs, jax.random.key(1)), {}, problem.inputs, problem.outputs)
        assert jnp.abs(u(free) - other(free)).max() > 1e-3  # elsewhere u is free


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_built_in_says_why(words):
    domain, conditions = REFUSED[words]
    with pytest.raises(CannotBuildInError, match=words):
        with_conditions(fr.MLP(4, 1), equation(domain, 1, conditions))


@pytest.mark.scaling
def test_a_run_with_built_in_conditions_is_saved_loaded_and_resumed(tmp_path):
    problem, points = fr.problems.Volterra2(), np.linspace(0, 1, 5)
    settings = {"network": fr.BuiltIn(fr.MLP(4, 1, "tanh")), "rule": fr.Gauss(4), "batch": 8, "seeds": 1, "progress": False}
    fr.solve(problem, fr.Standard(), steps=6, out=tmp_path / "run", **settings)
    resumed = fr.resume(tmp_path / "run", steps=9, progress=False)
    assert np.abs(resumed([[0.0]])).max() < 1e-6  # u(0) = 0
    np.testing.assert_array_equal(fr.load(tmp_path / "run").members(points), resumed.members(points))
    assert "conditions" not in resumed.history  # nothing of them is left in the loss
    own = fr.Equation(problem.domain, problem.f, problem.integrals, problem.y, on(fr.Point(0.0), 0.0))
    fr.solve(own, fr.Standard(), steps=2, out=tmp_path / "own", **{**settings, "network": fr.MLP(4, 1, "tanh")})
    with pytest.raises(ValueError, match="problem="):
        fr.load(tmp_path / "own")
    assert np.abs(fr.load(tmp_path / "own", problem=own)([[0.0]])).max() < 1e-6
