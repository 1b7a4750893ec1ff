"""Networks in the units of the equation: the same equation in other units is the same training."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.equation.frame import frame_of
from fredholm.equation.size import sized
from fredholm.functions.frame import Frame

pytestmark = pytest.mark.scaling
NETWORK = fr.MLP(8, 2, "tanh")
BARE = dataclasses.replace(NETWORK, scaled=False)
KEYWORDS = {"rule": fr.Gauss(8), "seeds": 2, "batch": 16, "progress": False, "optimizer": fr.Adam(3e-3, fr.Cosine())}


def memory(length=1.0, size=1.0):
    """u' + u/L = ∫₀ˣ e^{(t−x)/L} u dt / L² in units of length L, u(0) = s; the solution is s e^{−x/L} cosh(x/L)."""
    return fr.Equation(
        fr.Interval(0.0, 2 * length),
        f=lambda u, x: fr.derivative(u, x) + u(x) / length,
        integrals=fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: jnp.exp((t[0] - x[0]) / length) * u(t) / length**2),
        conditions=[fr.Condition(fr.Point(0.0), size)],
        exact=lambda x: size * jnp.exp(-x[0] / length) * jnp.cosh(x[0] / length),
    )


def fitted(equation, network=NETWORK):
    return network.fitted(sized(frame_of(equation), equation, network), equation.outputs)


def test_a_scaled_network_is_the_bare_one_between_two_affine_maps(key):
    scaled = fr.Scaled(BARE, center=(1.0, -2.0), radius=(0.5, 3.0), shift=(7.0,), size=(1e-3,)).build(2, 1, key)
    bare = BARE.build(2, 1, key)
    for x in jax.random.normal(key, (5, 2)):
        assert np.array_equal(scaled(x), 7.0 + 1e-3 * bare((x - jnp.array([1.0, -2.0])) / jnp.array([0.5, 3.0])))
    leaves = [leaf.shape for leaf in jax.tree.leaves(eqx.filter(scaled, eqx.is_array))]
    assert leaves == [leaf.shape for leaf in jax.tree.leaves(bare)], "the scales are not trained"


@functools.cache
def in_small_units():
    return fr.solve(memory(2.0**-30, 2.0**-30), fr.Standard(), network=NETWORK, steps=20, **KEYWORDS)


@pytest.mark.parametrize(("length", "size"), [(2.0**20, 2.0**-40), (2.0**-40, 2.0**20)])
def test_units_do_not_matter(length, size):
    """From the first step to the last, in float32 too: in other units it is the same training."""
    other = fr.solve(memory(length, size), fr.Standard(), network=NETWORK, steps=20, **KEYWORDS)
    points = np.linspace(0, 2, 20)[:, None]
    expected = in_small_units()(points * 2.0**-30) * 2.0**30
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(other(points * length) / size, expected, atol=1e-4)


def test_a_small_equation_is_solved():
    """Values of 1e-12 on a domain of 1e8: both sizes at once, with a condition by construction."""
    equation = memory(5e7, 1e-12)
    form = fr.Constrained(NETWORK, lambda n, x: 1e-12 + x[0] * n(x))
    for network in (NETWORK, form):
        solution = fr.solve(equation, fr.Standard(), network=network, steps=400, **KEYWORDS | {"optimizer": fr.Muon()})
        assert solution.evaluate()["relative_l2"].max() < 0.1


def test_the_maps_come_from_the_box_and_the_size_of_what_is_known():
    def interval(low, high, f, **rest):
        return fitted(fr.Equation(fr.Interval(low, high), f=f, **rest))

    found = interval(2.0, 6.0, lambda u, x: u(x), y=lambda x: 8 * jnp.sin(x[0]))
    assert (found.center, found.radius, found.shift, found.size) == ((4.0,), (2.0,), (0.0,), (4.0,))
    shifted = interval(0.0, 1.0, lambda u, x: u(x), y=lambda x: 300 + 5 * jnp.sin(6 * x[0]))
    assert abs(shifted.shift[0] - 300) <= shifted.size[0] <= 8
    assert interval(0.0, 1.0, lambda u, x: fr.derivative(u, x)).size == (1.0,), "nothing is known"
    data = interval(0.0, 1.0, lambda u, x: fr.derivative(u, x), conditions=[fr.Data([0.0, 0.5, 1.0], [3e5, -2e5, 1e5])])
    assert 1e5 < data.size[0] < 6e5
    outside = fitted(fr.Equation(fr.Interval(0.0, 1.0), lambda u, x: u(x) - u(x - 3.0)))
    assert (outside.center, outside.radius) == ((-1.0,), (2.0,)), "where integrals and shifts reach outside, the box does too"
    pair = [fr.Condition(fr.Point(0.0), size, of=lambda u, x, i=i: u(x)[i]) for i, size in enumerate((1.0, 1e6))]
    two = interval(0.0, 1.0, lambda u, x: fr.derivative(u, x) + u(x), outputs=2, conditions=pair)
    assert two.size[0] < 4 < 1e5 < two.size[1] + abs(two.shift[1])


def test_an_axis_without_end_is_mapped_by_the_near_box():
    half = fr.Equation(
        fr.Exponential(1.0), lambda u, x: u(x), fr.Integral(fr.HalfLine(0.0, 2.0), lambda u, x, t: jnp.exp(-t[0]) * u(t)), y=1.0
    )
    found = fitted(half)
    assert found.center == found.radius == pytest.approx((3.0,), rel=0.1)


def test_what_is_given_stays_and_an_own_module_can_be_scaled(key):
    frame = Frame((0.0,), (4.0,), (False,), (False,), (0.0,), (4.0,), (1.0,), (8.0,))
    own = fr.Scaled(lambda key: eqx.nn.MLP(1, 1, 4, 1, key=key), size=(2.0,)).fitted(frame, 1)
    assert (own.center, own.radius, own.shift, own.size) == ((2.0,), (2.0,), (1.0,), (2.0,))
    assert not own.needs_frame
    assert own.build(1, 1, key)(jnp.array([1.0])).shape == (1,)
    assert BARE.fitted(frame, 1) is BARE
    with pytest.raises(ValueError, match="expected positive numbers"):
        fr.Scaled(BARE, radius=(0.0,))
    with pytest.raises(ValueError, match="got 2 numbers; expected 1"):
        fr.Scaled(BARE, center=(0.0, 0.0)).build(1, 1, key)


def test_a_run_is_loaded_and_resumed_with_its_scales(tmp_path):
    equation, folder = memory(1e-3, 1e3), tmp_path / "run"
    keywords = KEYWORDS | {"record_every": 10}
    whole = fr.solve(equation, fr.Standard(), network=NETWORK, steps=20, **keywords)
    fr.solve(equation, fr.Standard(), network=NETWORK, steps=10, out=folder, **keywords | {"optimizer": fr.Adam(3e-3)})
    part = fr.solve(equation, fr.Standard(), network=NETWORK, steps=20, **keywords | {"optimizer": fr.Adam(3e-3)})
    resumed = fr.resume(folder, steps=20, problem=equation)
    points = np.linspace(0, 2e-3, 9)[:, None]
    np.testing.assert_array_equal(resumed(points), part(points))
    np.testing.assert_array_equal(fr.load(folder)(points), resumed(points))
    network = whole.record.settings.part("network")
    assert isinstance(network, fr.Scaled)
    assert network.units
    assert network.network == BARE
