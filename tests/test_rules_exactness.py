"""Deterministic rules: polynomials to the stated degree, weights, node counts, and an independent oracle."""

import itertools
import math
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fredholm.domains import Base, Box, Exponential, Interval, Normal, Point, Product, Sphere
from fredholm.rules import ClenshawCurtis, Even, Gauss, Halton, Lattice, Leja, MonteCarlo, QuasiMonteCarlo, Smolyak, Sobol

UNIT, NORMAL, HALF_LINE = Base.UNIT, Base.NORMAL, Base.HALF_LINE


def moment(base, power):
    """E[z^power], with z on [-1, 1] for the unit interval so that no digits cancel."""
    if base is HALF_LINE:
        return math.factorial(power)
    if power % 2:
        return 0.0
    return 1 / (power + 1) if base is UNIT else float(math.prod(range(1, power, 2)))


def monomial(base, z, power):
    return (2 * z - 1) ** power if base is UNIT else z**power


# The degree of exactness of a rule with n nodes on one axis.
DEGREE = {
    Gauss: lambda n: 2 * n - 1,
    ClenshawCurtis: lambda n: n if n % 2 else n - 1,
    Leja: lambda n: n if n in (1, 3) else n - 1,  # these two are symmetric: the middle, and Simpson's rule
    Even: lambda n: 1,
}


def axis_degree(rule):
    return DEGREE[type(rule)](rule.n)


AXIS_RULES = [
    *[(rule(n), UNIT) for rule in (Gauss, ClenshawCurtis, Leja) for n in (1, 2, 3, 4, 5, 8, 9, 17, 40)],
    *[(Even(n), UNIT) for n in (1, 2, 7)],
    *[(Gauss(n), base) for base in (NORMAL, HALF_LINE) for n in (1, 2, 3, 6, 10)],
    (Leja(100), UNIT),
    (Leja(200), UNIT),
    (Gauss(500), UNIT),
    (ClenshawCurtis(500), UNIT),
]


@pytest.mark.parametrize(("rule", "base"), AXIS_RULES, ids=lambda value: repr(value))
def test_one_axis_is_exact_to_its_degree(rule, base):
    z, w = rule.axis_nodes(base)
    assert len(z) == len(w) == rule.n
    assert np.all(np.diff(z) > 0)
    assert np.sum(w) == pytest.approx(1, abs=1e-13)
    for power in range(axis_degree(rule) + 1):
        scale = np.sum(np.abs(w * monomial(base, z, power)))  # What rounding is relative to, where positive and negative cancel.
        assert abs(np.sum(w * monomial(base, z, power)) - moment(base, power)) <= 1e-12 * max(scale, 0.1)


@pytest.mark.parametrize("rule", [Gauss(1), Gauss(3), ClenshawCurtis(3), ClenshawCurtis(4), Leja(1), Leja(3), Leja(5), Even(4)], ids=repr)
def test_the_stated_degree_is_the_largest(rule):
    z, w = rule.axis_nodes(UNIT)
    power = axis_degree(rule) + 1
    assert abs(np.sum(w * (2 * z - 1) ** power) - moment(UNIT, power)) > 1e-6


@pytest.mark.parametrize("rule", [Leja(9), ClenshawCurtis(5), Even(3)], ids=repr)
def test_refinements_of_nested_rules_keep_every_node_to_the_last_bit(rule):
    coarse, fine = rule.axis_nodes(UNIT)[0], rule.refined(2).axis_nodes(UNIT)[0]
    assert set(coarse) <= set(fine)


# A sparse grid, its axes, and the total degree up to which it is exact.
SPARSE = [
    (Smolyak(Gauss(1), 2), (UNIT,) * 4, 5),
    (Smolyak(Gauss(1), 3), (UNIT,) * 3, 7),
    (Smolyak(Gauss(1), 2, merge=False), (UNIT,) * 3, 5),
    (Smolyak(Gauss(2), 2), (UNIT,) * 2, 7),
    (Smolyak(Leja(1), 2), (UNIT,) * 4, 3),
    (Smolyak(Leja(1), 5), (UNIT,) * 3, 5),
    (Smolyak(ClenshawCurtis(1), 3), (UNIT,) * 3, 7),
    (Smolyak(Even(1), 2), (UNIT,) * 3, 1),
    (Smolyak(Gauss(1), 3), (NORMAL,) * 3, 7),
    (Smolyak(Gauss(1), 3), (UNIT, NORMAL, HALF_LINE), 7),
    (Smolyak(Gauss(1), 1), (UNIT,) * 9, 3),
]


@pytest.mark.parametrize(("rule", "bases", "degree"), SPARSE, ids=lambda value: repr(value))
def test_sparse_grids_are_exact_to_their_total_degree(rule, bases, degree):
    z, w = rule.base_nodes(bases)
    assert np.sum(w) == pytest.approx(1, abs=1e-12)
    if rule.merge:
        assert len(np.unique(np.round(z, 10), axis=0)) == len(z)
    short = [powers for powers in itertools.product(range(degree + 1), repeat=len(bases)) if sum(powers) <= degree]
    for powers in short[:: max(1, len(short) // 300)]:
        terms = w * np.prod(
            [monomial(base, z[:, axis], power) for axis, (base, power) in enumerate(zip(bases, powers, strict=True))], axis=0
        )
        exact = math.prod(moment(base, power) for base, power in zip(bases, powers, strict=True))
        assert abs(np.sum(terms) - exact) <= 1e-11 * max(1.0, np.sum(np.abs(terms)))


@pytest.mark.parametrize(
    ("rule", "degree"), [(Smolyak(Gauss(1), 2), 5), (Smolyak(Leja(1), 2), 3), (Smolyak(ClenshawCurtis(1), 2), 5)], ids=repr
)
def test_the_stated_total_degree_is_the_largest(rule, degree):
    bases = (UNIT,) * 2
    z, w = rule.base_nodes(bases)
    total = degree + 1
    errors = [
        abs(np.sum(w * (2 * z[:, 0] - 1) ** a * (2 * z[:, 1] - 1) ** (total - a)) - moment(UNIT, a) * moment(UNIT, total - a))
        for a in range(total + 1)
    ]
    assert max(errors) > 1e-6


def test_merging_changes_the_count_and_no_integral():
    merged, apart = Smolyak(Gauss(1), 3), Smolyak(Gauss(1), 3, merge=False)
    bases = (UNIT,) * 3
    (z, w), (zz, ww) = merged.base_nodes(bases), apart.base_nodes(bases)
    assert len(w) < len(ww)
    assert np.sum(w * np.exp(z.sum(axis=1))) == pytest.approx(np.sum(ww * np.exp(zz.sum(axis=1))), rel=1e-13)


PUBLISHED_GAUSS = dict(zip(range(2, 11), (3, 14, 28, 45, 66, 91, 120, 153, 190), strict=True))
PUBLISHED_LEJA = dict(zip(range(2, 11), (3, 6, 10, 15, 21, 28, 36, 45, 55), strict=True))


@pytest.mark.parametrize("d", range(2, 11))
def test_published_node_counts_on_the_sphere(d):
    """The published Gauss grids keep equal middle nodes apart (they differed by rounding); merged, the middle counts once."""
    sphere, axes = Sphere((0.0,) * d), d - 1
    assert Smolyak(Gauss(1), 2, merge=False).size(sphere) == PUBLISHED_GAUSS[d]
    copies_of_the_middle = axes + (axes > 2)
    assert Smolyak(Gauss(1), 2).size(sphere) == PUBLISHED_GAUSS[d] - (copies_of_the_middle - 1)
    assert Smolyak(Leja(1), 2).size(sphere) == PUBLISHED_LEJA[d]


def test_published_sums_of_absolute_weights():
    """1 → 145 for Gauss and 1 → 5 for Leja, from d = 2 to 10."""
    for rule, last in ((Smolyak(Gauss(1), 2), 145), (Smolyak(Leja(1), 2), 5)):
        assert rule.absolute_weight(Sphere((0.0,) * 2)) == pytest.approx(1)
        assert rule.absolute_weight(Sphere((0.0,) * 10)) == pytest.approx(last, rel=1e-9)
        assert not rule.has_negative_weights(Sphere((0.0,) * 2))
        assert rule.has_negative_weights(Sphere((0.0,) * 10))
    assert not Gauss(4).has_negative_weights(Sphere((0.0,) * 3))
    assert not MonteCarlo(3).has_negative_weights(Sphere((0.0,) * 3))


def test_published_leja_nodes_on_the_circle():
    np.testing.assert_array_equal(Smolyak(Leja(1), 2).base_nodes((UNIT,))[0].ravel(), [0, 0.5, 1])


@pytest.fixture(scope="module")
def chaospy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Its imports use deprecated names; our own warnings stay errors.
        import chaospy

        yield chaospy


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12])
def test_against_chaospy_on_one_axis(chaospy, n):
    cases = [(Gauss(n), "gaussian", chaospy.Uniform(-1, 1), 1e-10), (Gauss(n), "gaussian", chaospy.Normal(0, 1), 1e-8)]
    cases.append((Gauss(n), "gaussian", chaospy.Exponential(1), 1e-7))
    cases.append((Leja(n), "leja", chaospy.Uniform(-1, 1), 1e-4))  # Its Leja points are found to about 1e-5.
    if n > 1:
        cases.append((ClenshawCurtis(n), "clenshaw_curtis", chaospy.Uniform(-1, 1), 1e-12))
    for rule, name, distribution, allowed in cases:
        base = {"Normal": NORMAL, "Exponential": HALF_LINE}.get(type(distribution).__name__, UNIT)
        nodes, weights = chaospy.generate_quadrature(n - 1, distribution, rule=name)
        z, w = rule.axis_nodes(base)
        np.testing.assert_allclose(2 * z - 1 if base is UNIT else z, nodes[0], atol=allowed * 10, rtol=allowed)
        np.testing.assert_allclose(w, weights, atol=allowed)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("axes", [1, 2, 4, 9])
def test_against_chaospys_sparse_grids(chaospy, axes):
    distribution = chaospy.Iid(chaospy.Uniform(-1, 1), axes)
    for rule, name, allowed in ((Smolyak(Gauss(1), 2), "gaussian", 1e-9), (Smolyak(Leja(1), 2), "leja", 1e-4)):
        nodes, weights = chaospy.generate_quadrature(2, distribution, rule=name, sparse=True)
        z, w = rule.base_nodes((UNIT,) * axes)
        slope = 0.1 * np.arange(1, axes + 1)
        assert np.sum(w * np.cos((2 * z - 1) @ slope + 0.3)) == pytest.approx(
            np.sum(weights * np.cos(slope @ nodes + 0.3)), abs=allowed * 10
        )


def test_the_papers_sequence_is_chaospys(chaospy):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = chaospy.Iid(chaospy.Uniform(0, 1), 3).sample(20, rule="additive_recursion").T
    np.testing.assert_allclose(QuasiMonteCarlo(20).base_nodes((UNIT,) * 3)[0], theirs, atol=1e-9)


@pytest.mark.parametrize(
    "rule", [QuasiMonteCarlo(64), QuasiMonteCarlo(64, Sobol()), QuasiMonteCarlo(64, Halton()), QuasiMonteCarlo(64, Lattice())], ids=repr
)
@pytest.mark.parametrize("axes", [1, 2, 9])
def test_quasi_random_nodes_lie_inside_the_open_cube_with_equal_weights(rule, axes):
    z, w = rule.base_nodes((UNIT,) * axes)
    assert z.shape == (64, axes)
    assert np.all((z > 0) & (z < 1))
    assert len(np.unique(z, axis=0)) == 64
    np.testing.assert_array_equal(w, np.full(64, 1 / 64))


def test_an_even_grid_on_the_circle_is_exact_below_its_number_of_nodes():
    circle = Sphere((0.0, 0.0))
    with jax.enable_x64(True):
        nodes = Even(7).nodes(circle, jax.random.key(0))
        angle = jnp.arctan2(nodes.points[:, 1], nodes.points[:, 0])
        for k in range(1, 7):
            assert abs(float(jnp.sum(nodes.weights * jnp.cos(k * angle + 0.4)))) < 1e-12


@pytest.mark.parametrize(
    ("rule", "domain", "count"),
    [
        (Gauss(3), Box((0.0, 0.0), (1.0, 1.0)), 9),
        (Gauss(3), Product(Normal((0.0,)), Exponential()), 9),
        (Even(4), Interval(0.0, 1.0), 4),
        (MonteCarlo(5), Interval(0.0, 1.0), 5),
        (QuasiMonteCarlo(5), Sphere((0.0,) * 4), 5),
        (Gauss(3), Point(0.0), 1),
        (QuasiMonteCarlo(3), Point(0.0), 3),
    ],
    ids=repr,
)
def test_size_is_the_number_of_nodes(rule, domain, count):
    assert rule.size(domain) == count
    nodes = jax.eval_shape(lambda: rule.nodes(domain, jax.random.key(0)))
    assert nodes.weights.shape == (count,)
    assert nodes.points.shape == (count, domain.dimension)
