"""Rules that make no sense are refused with the reason and with what to do instead."""

import jax
import pytest

from fredholm.domains import Ball, Box, Circle, Exponential, Given, HalfLine, Interval, Normal, Point, Product, Sphere
from fredholm.rules import (
    ClenshawCurtis,
    Even,
    Gauss,
    Halton,
    Importance,
    Leja,
    MonteCarlo,
    QuasiMonteCarlo,
    Rotation,
    Scramble,
    Shared,
    Shift,
    Smolyak,
    Sobol,
)

KEY = jax.random.key(0)
TEN = Box((0.0,) * 10, (1.0,) * 10)


@pytest.mark.parametrize("rule", [MonteCarlo, Even, Gauss, ClenshawCurtis, Leja, QuasiMonteCarlo])
@pytest.mark.parametrize("n", [0, -3, 2.5, "4", True])
def test_a_count_is_a_whole_number_from_one_up(rule, n):
    with pytest.raises(ValueError, match="whole number of at least 1"):
        rule(n)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Leja(201), "at most 200.*stable"),
        (lambda: ClenshawCurtis(5000), "at most 1025"),
        (lambda: Gauss(501).check(Interval(0.0, 1.0)), "at most 500 on the unit interval"),
        (lambda: Gauss(181).check(Exponential()), "at most 180 on the half-line"),
        (lambda: Smolyak(Leja(1), -1), "level.*at least 0"),
        (lambda: Smolyak(Gauss, 2), "Gauss\\(1\\)"),
        (lambda: Smolyak(Gauss(1, Shift()), 2), "without randomize"),
        (lambda: Smolyak(Gauss(1), 2).nodes(Point(0.0), KEY), "without an axis"),
        (lambda: Smolyak(Gauss(1), 12).size(TEN), "needs [0-9,]+ nodes, more than 1,000,000"),
        (lambda: Even(100).size(TEN), "100\\^10 = 1e\\+20 nodes.*Smolyak"),
        (lambda: QuasiMonteCarlo(2_000_000), "at most 1,000,000"),
        (lambda: QuasiMonteCarlo(100, Sobol()), "power of 2, for instance 64 or 128"),
        (lambda: QuasiMonteCarlo(100, Sobol), "parentheses"),
        (lambda: Leja(3).nodes(Normal((0.0,)), KEY), "end point is infinity.*Gauss"),
        (lambda: ClenshawCurtis(3).nodes(HalfLine(), KEY), "end point is infinity"),
        (lambda: Smolyak(Leja(1), 2).nodes(Product(Interval(0.0, 1.0), Exponential()), KEY), "end point is infinity"),
        (lambda: Gauss(3, Shift()).nodes(Normal((0.0,)), KEY), "Shift.*the standard normal.*QuasiMonteCarlo"),
        (lambda: Smolyak(Gauss(1), 2, Shift()).nodes(HalfLine(), KEY), "Shift.*half-line"),
        (lambda: Gauss(3, Scramble()).nodes(Interval(0.0, 1.0), KEY), "digital net.*Sobol"),
        (lambda: QuasiMonteCarlo(8, Halton(), Scramble()).nodes(Interval(0.0, 1.0), KEY), "digital net.*Shift"),
        (lambda: Even(3, Rotation()).nodes(Interval(0.0, 1.0), KEY), "no rotation.*Shift"),
        (lambda: Even(3, Rotation()).nodes(Ball((0.0, 0.0)), KEY), "no rotation.*Shift"),
        (lambda: Gauss(40).nodes(HalfLine(), KEY), "fewer nodes.*x64"),
        (lambda: Shared(3), "Shared rule: got 3.*Shared\\(MonteCarlo\\(16\\)\\)"),
        (lambda: Shared(Gauss(3)), "share them already; use Gauss\\(n=3"),
        (lambda: Shared(Shared(MonteCarlo(3))), "shared already"),
        (lambda: Shared(MonteCarlo(2)).check(Given([[0.0], [1.0]])), "given for each x.*Use MonteCarlo\\(n=2\\)"),
        (lambda: Importance(MonteCarlo(4), Normal((0.0, 0.0))).check(Interval(0.0, 1.0)), "2 dimensions"),
        (lambda: Importance(MonteCarlo(4), Interval(0.0, 2.0)).check(Interval(0.0, 1.0)), "mass 2"),
        (lambda: Importance(MonteCarlo(4), Interval(0.0, 1.0)).check(Interval(0.0, 2.0)), "never reaches"),
        (lambda: Importance(MonteCarlo(4), Normal((0.0, 0.0))).check(Sphere((0.0, 0.0))), "fit_importance"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_the_count_in_the_refusal_is_the_count_of_the_grid():
    rule, axes = Smolyak(Gauss(1), 4, merge=False), 5
    from fredholm.domains import Base

    assert rule._count((Base.UNIT,) * axes) == len(rule.base_nodes((Base.UNIT,) * axes)[1])


def test_what_is_accepted():
    for rule, domain in (
        (Gauss(40), Normal((0.0,))),
        (Gauss(20), HalfLine()),
        (Even(3, Rotation()), Circle((0.0, 0.0, 0.0))),
        (QuasiMonteCarlo(8, Sobol(), Scramble()), Normal((0.0, 0.0))),
    ):
        rule.check(domain)
    with jax.enable_x64(True):
        Gauss(100).check(HalfLine())


@pytest.mark.parametrize(
    "rule", [MonteCarlo(3), Even(3), Gauss(3, Rotation()), QuasiMonteCarlo(8, Sobol(), Scramble()), Smolyak(Leja(1), 2, Shift())], ids=repr
)
def test_rules_are_frozen_and_hashable_by_value(rule):
    import copy

    assert hash(rule) == hash(copy.deepcopy(rule))
    assert rule == copy.deepcopy(rule)
    with pytest.raises(AttributeError):
        rule.n = 4
