"""A batch that goes through the network a few x at a time is the same batch."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.functions.field import Field
from fredholm.methods.sharing import Share, Sharing, mean_in_tiles
from fredholm.training import tiling
from fredholm.training.devices import CACHED, points_at_once
from fredholm.training.settings import settings_of
from fredholm.training.training import Training

UNIT = fr.Interval(0.0, 1.0)
EQUATION = fr.Equation(
    domain=UNIT,
    f=lambda u, x: u(x),
    integrals=fr.Integral(UNIT, lambda u, x, t: x[0] * u(t) ** 2),
    y=lambda x: x[0],
    conditions=[
        fr.Condition(fr.Point(0.0), 0.0),
        fr.Condition(UNIT, 1.0, weight=2.0),
        fr.Condition(UNIT, 3.0, batch=7),
        fr.IntegralCondition(fr.Integral(UNIT, lambda u, x, t: u(t)), 1.0),
    ],
)
WEAK = fr.problems.Poisson(2)
METHODS = {
    "standard": fr.Standard(),
    "double": fr.DoubleSampling(),
    "delayed": fr.DelayedTarget(tau=0.9, regularization=1.0),
    "adaptive": fr.DelayedTarget(),
}


@pytest.mark.parametrize("rule", [fr.MonteCarlo(4), fr.Shared(fr.MonteCarlo(4))], ids=["own nodes", "shared nodes"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("equation", [EQUATION, WEAK], ids=["with f and conditions", "weak"])
def test_loss_and_gradient_are_the_same_a_few_points_at_a_time(equation, method, rule):
    method, rules = METHODS[method], equation.rules(rule)
    u = Field(fr.MLP(8, 2).build(equation.inputs, equation.outputs, jax.random.key(1)), {}, equation.inputs, equation.outputs)
    other = Field(fr.MLP(8, 2).build(equation.inputs, equation.outputs, jax.random.key(2)), {}, equation.inputs, equation.outputs)
    compute = jax.jit(
        lambda tile: method.loss_and_gradient(u, method.init(other), equation, rules, 12, jax.random.key(3), Sharing(tile=tile)),
        static_argnums=0,
    )
    whole, *tiled = (compute(tile) for tile in (None, 6, 5, 1))
    for found in tiled:
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6), found, whole)


def test_no_array_of_a_step_has_more_points_than_go_tile():
    def step(tile):
        return jax.make_jaxpr(lambda u: fr.Standard().loss_and_gradient(u, None, WEAK, rules, 60, jax.random.key(0), Sharing(tile=tile)))(u)

    rules = WEAK.rules(fr.MonteCarlo(10))
    u = Field(fr.MLP(16, 2).build(2, 1, jax.random.key(1)), {}, 2, 1)
    assert "f32[60,10,16]" in str(step(None))
    assert "f32[60,10,16]" not in str(step(5))
    assert "f32[5,10,16]" in str(step(5))


def test_a_mean_in_tiles_counts_every_point_once_whatever_their_number():
    for count, tile in ((400, 5), (101, 50), (7, 3), (5, 4), (1, 1)):
        share, sizes = Share.of(WEAK, (), jnp.arange(float(count)) ** 2, jax.random.split(jax.random.key(0), count)), []

        def mean(share, sizes=sizes):
            sizes.append(len(share.points))
            return share.mean(share.points)

        np.testing.assert_allclose(mean_in_tiles(mean, share, tile), np.mean(share.points), rtol=1e-5)
        assert tile / 2 < sizes[-1] <= tile


def test_a_batch_that_fits_is_left_whole():
    assert points_at_once(400, CACHED) == 400
    assert points_at_once(400, 4 * CACHED) == 100
    assert points_at_once(3, 400 * CACHED) == 1


def training(rule, batch, equation=EQUATION):
    return Training(settings_of(equation, rule=rule, batch=batch, method=fr.Standard(), network=fr.MLP(16, 2), steps=40, seeds=2))


def test_a_large_step_is_trained_in_tiles_with_the_same_answer(monkeypatch):
    """The network at 2000 × 16 nodes is 2 MB: sixteen times what a core's cache has room for."""
    tiled = training(fr.MonteCarlo(16), 2000)
    monkeypatch.setattr(tiling, "points_at_once", lambda batch, largest: batch)
    whole = training(fr.MonteCarlo(16), 2000)
    assert whole.one_step.sharing.tile is None
    assert -(-2000 // tiled.one_step.sharing.tile) >= 16
    for one in (whole, tiled):
        while one.step < 40:
            one.advance(40)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4), tiled.states.u, whole.states.u)


def test_nodes_that_all_points_share_are_not_evaluated_again_for_every_tile():
    assert training(fr.Shared(fr.MonteCarlo(4000)), 4000).one_step.sharing.tile is None
    assert training(fr.Shared(fr.MonteCarlo(4)), 4000).one_step.sharing.tile is not None


def test_many_points_of_a_condition_neither_cut_the_equation_nor_hold_it_together():
    many = eqx.tree_at(lambda equation: equation.conditions, EQUATION, (fr.Condition(UNIT, 1.0, batch=20_000),))
    assert training(fr.MonteCarlo(2), 20, many).one_step.sharing.tile is None
    assert -(-2000 // training(fr.MonteCarlo(16), 2000, many).one_step.sharing.tile) >= 16
