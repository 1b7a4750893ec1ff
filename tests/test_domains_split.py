"""An interval that is cut where the integrand has a kink: every rule integrates each piece on its own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr

KEY = jax.random.key(0)


def integral(rule, domain, g):
    nodes = rule.nodes(domain, KEY)
    return jnp.sum(nodes.weights * jax.vmap(g)(nodes.points))


@pytest.mark.parametrize("rule", [fr.Gauss(4), fr.ClenshawCurtis(5), fr.Leja(4), fr.Smolyak(fr.Gauss(2), 3)])
@pytest.mark.parametrize("at", [0.0, 0.3, 2.0])
def test_a_kink_at_the_cut_costs_no_accuracy(rule, at):
    """∫₀² |t − a| t dt, also with the cut at an end."""
    exact = 8 / 3 - 2 * at + at**3 / 3
    with jax.enable_x64(True):
        found = jax.jit(lambda a: integral(rule, fr.Split(0.0, 2.0, at=a), lambda t: jnp.abs(t[0] - a) * t[0]))(jnp.asarray(at))
        assert found == pytest.approx(exact, rel=1e-12)
        whole = integral(fr.Gauss(8), fr.Interval(0.0, 2.0), lambda t: jnp.abs(t[0] - 0.3) * t[0])
        assert abs(float(whole) - (8 / 3 - 0.6 + 0.009)) > 1e-4, "Gauss on the whole interval sees the kink"


def test_several_cuts_and_a_cut_outside():
    with jax.enable_x64(True):
        g = lambda t: jnp.abs(t[0] - 0.25) + jnp.abs(t[0] - 0.5)  # noqa: E731
        exact = (0.25**2 + 0.75**2) / 2 + 0.25
        assert integral(fr.Gauss(2), fr.Split(0.0, 1.0, at=(0.5, 0.25)), g) == pytest.approx(exact, rel=1e-12)
        assert integral(fr.Gauss(2), fr.Split(0.0, 1.0, at=(0.5, 7.0, 0.25)), g) == pytest.approx(exact, rel=1e-12)
        moving = jax.jit(lambda x: integral(fr.Gauss(2), fr.Split(0.0, 1.0, at=(x[0], x[1])), g))
        assert moving(jnp.array([0.25, 0.5])) == pytest.approx(exact, rel=1e-12)


def test_random_nodes_are_those_of_the_interval():
    split, whole = (fr.MonteCarlo(64).nodes(domain, KEY) for domain in (fr.Split(0.0, 2.0, at=0.1), fr.Interval(0.0, 2.0)))
    np.testing.assert_array_equal(split.points, whole.points)
    np.testing.assert_array_equal(split.weights, whole.weights)
    quasi = integral(fr.QuasiMonteCarlo(4096), fr.Split(0.0, 2.0, at=0.3), lambda t: t[0] ** 2)
    assert float(quasi) == pytest.approx(8 / 3, rel=1e-2)


def test_wrong_limits_are_refused():
    with pytest.raises(ValueError, match="Swap the limits"):
        fr.Split(1.0, 0.0, at=0.5)
    with pytest.raises(ValueError, match="Split at: got an array of shape"):
        fr.Split(0.0, 1.0, at=jnp.ones((1, 1)))
