"""Time slabs: each part of the time is trained alone, from the one before, which stays as it is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.equation.slabs import in_slab, with_slabs
from fredholm.functions.field import Field

SETTINGS = {"rule": fr.MonteCarlo(2), "steps": 40, "batch": 8, "seeds": 2, "record_every": 10, "progress": False}
PLANE = fr.Product(fr.Interval(0.0, 1.0), fr.Interval(0.0, 2.0))


class Stop(fr.AbstractCallback):
    """Ends a training within its second slab."""

    def next_stop(self, training):
        return 25

    def after_chunk(self, training):
        return fr.Status.STOPPED if training.step >= 25 else None


def test_a_frozen_slab_stays_and_a_resumed_march_equals_one_in_one_piece(tmp_path):
    problem, network = fr.problems.Volterra(), fr.Slabs("t", 2, fr.MLP(4, 1))
    early, late = np.linspace(0, 2.4, 5), np.linspace(2.6, 5, 5)
    whole = fr.solve(problem, fr.DelayedTarget(), network=network, **SETTINGS)
    stopped = fr.solve(problem, fr.DelayedTarget(), network=network, out=tmp_path / "run", callbacks=[Stop()], **SETTINGS)
    np.testing.assert_array_equal(stopped.members(early), whole.members(early))
    assert np.abs(stopped.members(late) - whole.members(late)).max() > 0
    resumed = fr.resume(tmp_path / "run", progress=False)
    for at in (early, late):
        np.testing.assert_array_equal(resumed.members(at), whole.members(at))
        np.testing.assert_array_equal(fr.load(tmp_path / "run").members(at), whole.members(at))


def test_points_and_conditions_of_a_slab(key):
    """Points lie in the slab; at its first time the condition compares u with the slab before; no gradient reaches earlier networks."""
    problem = fr.Equation(
        domain=PLANE,
        f=lambda u, x: fr.derivative(u, x, axis=1),
        conditions=[
            fr.Condition(fr.Product(fr.Interval(0.0, 1.0), fr.Point(0.0)), lambda x: x[0]),
            fr.Condition(fr.Product(fr.Point(0.0), fr.Interval(0.0, 2.0)), 0.0),
        ],
    )
    slabs = with_slabs(fr.Slabs(1, 4, fr.MLP(3, 1, "tanh", scaled=False)), problem)
    stage = jnp.asarray(2)
    network = slabs.build(2, 1, key).at_stage(stage)
    u, equation = Field(network, {}, 2, 1), in_slab(problem, slabs, stage)
    points = jax.vmap(equation.domain.sample)(jax.random.split(key, 50))
    assert np.all((points[:, 1] >= 1.0) & (points[:, 1] <= 1.5))
    assert np.ptp(np.asarray(points[:, 1])) > 0.4
    begin, side = equation.conditions
    sides = side.points(50, (), key)
    assert np.all((sides[:, 1] >= 1.0) & (sides[:, 1] <= 1.5))
    x = jnp.array([0.3, 0.0])
    np.testing.assert_allclose(begin.local_residual(u, x)[0], u(jnp.array([0.3, 1.0])) - u(jnp.array([0.3, 1.0 - 1e-6])), atol=1e-5)
    slopes = jax.grad(lambda arrays: jnp.sum(Field(arrays, {}, 2, 1)(jnp.array([0.3, 0.7]))), allow_int=True)(network)
    assert all(float(jnp.abs(leaf).max()) == 0 for leaf in jax.tree.leaves(slopes) if leaf.dtype == jnp.float32)


def test_what_cannot_be_cut_is_refused():
    with pytest.raises(ValueError, match="axis"):
        fr.solve(fr.problems.Parabolic(), fr.Standard(), network=fr.Slabs("q", 2), **SETTINGS)
    with pytest.raises(ValueError, match="only these are cut"):
        fr.solve(fr.problems.FractionalPoisson(), fr.Standard(), network=fr.Slabs(0, 2), **SETTINGS)
