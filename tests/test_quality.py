"""The relative residual: 0 for a solution, the right number beside it, and never a number where nothing can be known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.diagnostics import quality as module
from fredholm.diagnostics.quality import quality
from fredholm.functions.field import Field

UNIT = fr.Interval(0.0, 1.0)
SQUARE = fr.Box((0.0, 0.0), (1.0, 1.0))


class Plain(eqx.Module):
    """a u, for a known function u."""

    function: object
    factor: jax.Array

    def __call__(self, x):
        return jnp.atleast_1d(self.factor * self.function(x))


def field(function, inputs=1, outputs=1, factor=1.0):
    return Field(Plain(function, jnp.asarray(factor)), {}, inputs, outputs)


def second_kind(**changes):
    """u(x) = ∫₀¹ u(t)/2 dt + x, whose solution is x + 1/2."""
    parts = {"f": lambda u, x: u(x), "integrals": fr.Integral(UNIT, lambda u, x, t: u(t) / 2), "y": lambda x: x[0]}
    return fr.Equation(domain=UNIT, **{**parts, **changes})


CANCELLING = {
    "oscillator": (fr.Equation(UNIT, f=lambda u, x: fr.derivative(u, x, order=2) + u(x)), lambda x: jnp.cos(x[0] + 0.2)),
    "both even": (
        fr.Equation(UNIT, f=lambda u, x: fr.derivative(u, x, order=4) + fr.derivative(u, x, order=2)),
        lambda x: jnp.cos(x[0] + 0.2),
    ),
    "laplace": (fr.Equation(SQUARE, f=lambda u, x: fr.laplacian(u, x)), lambda x: jnp.exp(x[0]) * jnp.cos(x[1] + 0.2)),
    "all in f": (
        fr.Equation(UNIT, f=lambda u, x: fr.derivative(u, x) + u(x) - jnp.cos(x[0])),
        lambda x: (jnp.cos(x[0]) + jnp.sin(x[0])) / 2,
    ),
    "flux": (
        fr.Equation(
            fr.Law(center=fr.Box((-1.0, -1.0), (1.0, 1.0)), radius=fr.Interval(0.1, 0.5)),
            integrals=fr.Integral(lambda x: fr.Sphere(x.center, x.radius), lambda u, x, t: jnp.dot(fr.gradient(u, t), t - x.center)),
            inputs=2,
        ),
        lambda x: jnp.exp(x[0]) * jnp.cos(x[1]),
    ),
}


@pytest.mark.parametrize("name", CANCELLING)
def test_terms_that_cancel_are_seen(name):
    """With y = 0 the sum is 0 for a solution: the residual is compared with what is summed."""
    equation, exact = CANCELLING[name]
    inputs = equation.inputs
    assert quality(equation, field(exact, inputs)).residual < 1e-4
    wrong = quality(equation, field(lambda x: exact(x) + jnp.sin(3 * x[0]), inputs)).residual
    assert 0.1 < wrong < 1 + 1e-6


def test_the_number():
    """u = a (x + 1/2) has the residual (a − 1) x, with a x + a/2 beside a/2 and x."""
    a = 1.5
    share = quality(second_kind(), field(lambda x: x[0] + 0.5, factor=a)).residual
    norm_x, norm_u = np.sqrt(1 / 3), np.sqrt(1 / 3 + 1 / 2 + 1 / 4)
    assert share == pytest.approx((a - 1) * norm_x / (a * norm_u + a / 2 + norm_x), rel=0.1)


def test_random_nodes_do_not_count_as_residual(monkeypatch):
    """The product of two independent estimates has no bias: few nodes in three dimensions, and u is exact."""
    monkeypatch.setattr(module, "NET", 16)
    cube = fr.Box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    equation = second_kind(integrals=fr.Integral(cube, lambda u, x, t: u(t[:1]) * (1 + jnp.sin(7 * t[1] + 5 * t[2] * t[0])) / 2))
    # ∫∫∫ (t + ½) sin(7a + 5bt)/2 is what u lacks: the equation's y is made so that u is exact.
    grid = (np.arange(64) + 0.5) / 64
    t, a, b = np.meshgrid(grid, grid, grid, indexing="ij")
    lack = np.mean((t + 0.5) * np.sin(7 * a + 5 * b * t)) / 2
    right = eqx.tree_at(lambda e: e.y, equation, lambda x: x[0] - lack)
    found = quality(right, field(lambda x: x[0] + 0.5))
    assert found.residual <= found.uncertainty + 2e-3
    assert quality(right, field(lambda x: x[0] + 0.7)).residual > 0.03


def test_conditions_at_zero_have_a_scale():
    """u(0) = 0, u'(0) = 0 and a mean of 0 have no size of their own: u elsewhere has."""
    conditions = [
        fr.Condition(fr.Point(0.0), 0.0),
        fr.Condition(fr.Point(0.0), 0.0, of=lambda u, x: fr.derivative(u, x)),
        fr.IntegralCondition(fr.Integral(fr.Interval(-1.0, 1.0), lambda u, x, t: u(t)), 0.0),
        fr.Data([0.0, 1.0], [0.0, 1.0]),
        fr.Periodic(fr.Point(-1.0), fr.Point(1.0)),
    ]
    equation = fr.Equation(fr.Interval(-1.0, 1.0), f=lambda u, x: u(x), y=lambda x: x[0] ** 3, conditions=conditions)
    exact = quality(equation, field(lambda x: x[0] ** 3))
    assert max(*exact.conditions[:3], *exact.data, exact.residual) < 1e-5
    assert (len(exact.conditions), len(exact.data)) == (4, 1)
    assert exact.conditions[3] == pytest.approx(2 / 2, rel=0.5), "x³ is not periodic"
    nearly = quality(equation, field(lambda x: x[0] ** 3 + 6e-7))
    assert max(*nearly.conditions[:3]) < 1e-5, "off by 6e-7, which is not 100 % of u(0)"
    wrong = quality(equation, field(lambda x: x[0] ** 3 + 0.5 + 0.5 * x[0]))
    assert min(*wrong.conditions[:3], *wrong.data) > 0.1


def test_small_numbers_in_double_precision():
    """Units do not matter, and double precision resolves 1e-15."""
    with jax.enable_x64(True):
        small = second_kind(y=lambda x: 1e-12 * x[0])
        assert quality(small, field(lambda x: 1e-12 * (x[0] + 0.5))).worst < 1e-14
        off = quality(small, field(lambda x: 1e-12 * (x[0] + 0.5), factor=1 + 1e-9)).worst
        assert off == pytest.approx(2.3e-10, rel=0.2)


def test_a_kernel_with_a_singularity():
    """Fixed nodes do not converge on it: the estimate without bias is taken, and says what it leaves open."""
    kernel = fr.Integral(UNIT, lambda u, x, t: u(t) * jnp.abs(x[0] - t[0]) ** -0.25 / 8)
    equation = second_kind(integrals=kernel, y=lambda x: 1 - (x[0] ** 0.75 + (1 - x[0]) ** 0.75) / 6)
    found = quality(equation, field(lambda x: jnp.ones(())))
    assert max(found.residual, found.uncertainty) < 0.01


def test_one_given_sample_allows_no_number():
    points = np.linspace(0, 1, 50)
    domain = fr.Offline(point=points, after=0.9 * points)
    equation = fr.Equation(
        domain, f=lambda u, x: u(x.point), integrals=fr.Integral(lambda x: fr.Given(x.after[None, None]), lambda u, x, t: 0.5 * u(t)), y=1.0
    )
    found = quality(equation, field(lambda x: 2.0 + 0 * x[0]))
    assert np.isnan([found.residual, found.worst]).all()
