"""Verdicts that a statistician would sign: rarely wrong where nothing is there, usually right where something is, and open otherwise."""

import itertools
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import scipy

import fredholm as fr
from fredholm.common.selection import chosen, crossed, least_difference
from fredholm.paper.reproduction import claims, endings, statements
from fredholm.paper.reproduction.checking import every, negated
from fredholm.paper.reproduction.verdicts import Claim, Verdict
from fredholm.study import make_run
from fredholm.study.outcome import Results
from test_study import synthetic

STUDY = runpy.run_path(str(Path(__file__).parents[1] / "studies" / "verdicts.py"))
CASES = STUDY["CASES"]


def most(times, level):
    """The most that so many draws show of an event of this probability, but for one case in a thousand."""
    return scipy.stats.binom.ppf(0.999, times, level)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.null_words}")
@pytest.mark.parametrize("seeds", [4, 100])
def test_a_rule_is_wrong_in_a_twentieth_of_the_cases_at_most(case, seeds):
    times = 200 // len(case.null) if seeds == 4 else 60 // len(case.null)
    assert STUDY["verdicts"](case, case.null, seeds, times)[Verdict.HOLDS] <= most(times, 0.05)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.effect_words}")
def test_a_rule_sees_the_effects_that_the_paper_shows(case):
    assert STUDY["verdicts"](case, case.effect, 4, 20)[Verdict.HOLDS] >= 5
    assert STUDY["verdicts"](case, case.effect, 100, 4)[Verdict.HOLDS] == 4


def test_more_noise_is_not_better():
    """The least of 100 single records fell for this in 34 % with 4 seeds and in 97 % with 100."""
    loud, quiet = STUDY["FLAT"], STUDY["QUIET"]
    for courses, seeds in itertools.product(((loud, quiet), (quiet, loud)), (4, 100)):
        counts = STUDY["verdicts"](CASES[0], courses, seeds, 60, own=0.0)
        assert counts[Verdict.HOLDS] + counts[Verdict.FAILS] <= most(60, 0.05)


def test_a_flat_curve_of_many_seeds_does_not_turn_up():
    case = next(case for case in CASES if case.rule.startswith("turns up"))
    assert STUDY["verdicts"](case, case.null, 100, 10)[Verdict.FAILS] >= 8


def test_what_is_chosen_on_the_same_data_is_too_low_and_what_others_chose_is_not():
    values = np.random.default_rng(0).normal(size=(2000, 8, 20))
    low, fair = (np.array([pick(one).mean() for one in values]) for pick in (chosen, crossed))
    assert low.mean() < -0.5
    assert abs(fair.mean()) < 4 * fair.std() / np.sqrt(len(fair))
    assert (fair >= low - 1e-12).all()


def test_the_ends_of_a_comparison_do_not_cross():
    stream = np.random.default_rng(1)
    for _ in range(200):
        a, b = stream.normal(size=(2, 5, 6))
        mean, low, high = least_difference(a, b)
        assert low <= mean <= high
        back = least_difference(b, a)
        np.testing.assert_allclose((-mean, -high, -low), back)


def long_run(name, steps=3000, seeds=4):
    return make_run(name, fr.problems.Volterra(), fr.Standard(), rule=fr.MonteCarlo(1 + sum(map(ord, name)) % 97), steps=steps, seeds=seeds)


A, B, C = long_run("p: a"), long_run("p: b"), long_run("p: c")
SEEDS = np.array([[0.7], [1.1], [0.9], [1.3]])
FLAT = SEEDS * np.ones((1, 40))


def verdict(check, **curves):
    runs = {"a": A, "b": B, "c": C}
    return Claim("", check).assess(Results({name: synthetic(runs[name], values) for name, values in curves.items()})).verdict


def test_better_is_decided_by_the_matched_interval():
    noise = np.exp(np.random.default_rng(1).normal(size=(4, 1)))
    assert verdict(claims.better(A, B), a=0.5 * FLAT, b=FLAT) is Verdict.HOLDS
    assert verdict(claims.better(A, B), a=2 * FLAT, b=FLAT) is Verdict.FAILS
    assert verdict(claims.better(A, B), a=FLAT * noise, b=FLAT) is Verdict.OPEN
    assert verdict(claims.better(A, B, 0.4), a=0.5 * FLAT, b=FLAT) is Verdict.FAILS
    assert verdict(claims.better(A, B), a=FLAT) is Verdict.OPEN  # b has no result


def failing(one, *seeds):
    """The outcome with these seeds failed after the first half."""
    curves = one.history["error"].values.copy()
    curves[list(seeds), curves.shape[1] // 2 :] = np.nan
    ends = [fr.SeedStatus(fr.Status.DIVERGED if seed in seeds else fr.Status.FINISHED, 5) for seed in range(len(curves))]
    return synthetic(one.run, curves)._replace(status=tuple(ends))


def test_a_method_that_failed_is_judged_by_its_best_before():
    found = Results({"a": synthetic(A, FLAT), "b": failing(synthetic(B, 3 * FLAT), 0, 1, 2, 3)})
    ahead = Claim("", claims.better(A, B)).assess(found)
    assert ahead.verdict is Verdict.HOLDS
    assert "Every seed of b failed; its best is from before." in ahead.evidence
    assert Claim("", claims.better(B, A)).assess(found).verdict is Verdict.FAILS
    assert Claim("", endings.turns_up(B)).assess(found).verdict is Verdict.HOLDS
    # However bad the first is, it is not better for the second's failure.
    worse = Results({"a": synthetic(A, 9 * FLAT), "b": failing(synthetic(B, 3 * FLAT), 0, 1, 2, 3)})
    assert Claim("", claims.better(A, B)).assess(worse).verdict is Verdict.OPEN
    assert Claim("", endings.cures(A, B)).assess(worse).verdict is Verdict.HOLDS


def test_seeds_that_failed_are_named_and_do_not_make_a_winner():
    found = Results({"a": failing(synthetic(A, 0.5 * FLAT), 0, 1), "b": synthetic(B, FLAT), "c": synthetic(C, FLAT)})
    for check in (claims.better(A, B), claims.better(B, A), claims.similar(A, B, 3.0)):
        finding = Claim("", check).assess(found)
        assert finding.verdict is Verdict.OPEN
        assert "Without 2 of 4 seeds of a, which failed." in finding.evidence
    assert "seeds of a, which failed" in Claim("", claims.more_robust([A, B], [B, C])).assess(found).evidence


@pytest.mark.parametrize(
    ("seeds", "failed", "expected"), [(4, 1, Verdict.OPEN), (4, 2, Verdict.HOLDS), (100, 1, Verdict.OPEN), (100, 12, Verdict.HOLDS)]
)
def test_a_failure_may_be_an_accident_and_many_are_not(seeds, failed, expected):
    run = long_run("p: many", seeds=seeds)
    one = failing(synthetic(run, np.ones((seeds, 40))), *range(failed))
    assert Claim("", endings.turns_up(run)).assess(Results({"one": one})).verdict is expected


def test_pairs_are_those_of_the_seeds_and_not_of_their_places():
    turned = make_run("p: turned", fr.problems.Volterra(), fr.Standard(), rule=fr.MonteCarlo(98), steps=3000, seeds=[3, 2, 1, 0])
    spread = np.array([[1.0], [10.0], [100.0], [1000.0]]) * np.ones((1, 40))
    found = Results({"a": synthetic(A, 2 * spread, loss=2 * spread), "t": synthetic(turned, spread[::-1], loss=spread[::-1])})
    for check in (claims.better(turned, A), endings.larger(A, turned, "loss", 1.5)):
        assert Claim("", check).assess(found).verdict is Verdict.HOLDS


def test_a_claim_on_a_limit_is_open_while_the_curve_falls():
    falling = SEEDS * np.geomspace(3, 1, 40)
    done = long_run("p: published", steps=200_000)
    assert verdict(claims.better(A, B), a=2 * falling, b=FLAT) is Verdict.OPEN  # a may come lower
    assert verdict(claims.better(A, B), a=falling / 2, b=FLAT) is Verdict.HOLDS  # that a comes lower only helps
    assert verdict(claims.better(A, B), a=0.5 * FLAT, b=falling) is Verdict.OPEN
    assert verdict(claims.similar(A, B, 1.5), a=falling, b=FLAT) is Verdict.OPEN
    assert verdict(endings.stable(A), a=falling) is Verdict.OPEN
    assert verdict(claims.sensitive([A, B]), a=5 * falling, b=FLAT) is Verdict.OPEN
    assert verdict(claims.interior([A, B, C]), a=3 * FLAT, b=FLAT, c=3 * falling) is Verdict.OPEN
    found = Results({"done": synthetic(done, 2 * falling), "b": synthetic(B, FLAT)})
    assert Claim("", claims.better(done, B)).assess(found).verdict is Verdict.FAILS  # of the length that the paper speaks of
    slight = SEEDS * np.geomspace(1.01, 1, 40)
    assert verdict(claims.better(A, B), a=2 * slight, b=FLAT) is Verdict.FAILS


def test_similar_wants_the_whole_interval_inside():
    assert verdict(claims.similar(A, B, 1.5), a=1.2 * FLAT, b=FLAT) is Verdict.HOLDS
    assert verdict(claims.similar(A, B, 1.5), a=2.0 * FLAT, b=FLAT) is Verdict.FAILS


def test_turning_up_and_being_stable_are_opposites():
    rising = SEEDS * np.concatenate([np.linspace(3, 1, 20), np.linspace(1, 2, 20)])[None]
    assert verdict(endings.turns_up(A), a=rising) is Verdict.HOLDS
    assert verdict(endings.stable(A), a=rising) is Verdict.FAILS
    assert verdict(endings.stable(A), a=FLAT) is Verdict.HOLDS


def test_an_interior_optimum_is_better_than_both_ends():
    assert verdict(claims.interior([A, B, C]), a=2 * FLAT, b=FLAT, c=3 * FLAT) is Verdict.HOLDS
    assert verdict(claims.interior([A, B, C]), a=FLAT, b=2 * FLAT, c=3 * FLAT) is Verdict.FAILS
    noise = np.exp(np.random.default_rng(1).normal(size=(4, 1)))
    assert verdict(claims.interior([A, B, C]), a=FLAT, b=FLAT * noise, c=9 * FLAT) is Verdict.OPEN  # no end is better than the rest either
    assert verdict(claims.interior([A, B, C]), a=FLAT, b=FLAT * np.nan, c=FLAT) is Verdict.OPEN  # what lies between never had an error


def test_robust_means_a_smaller_range_over_the_settings():
    assert verdict(claims.more_robust([A, B], [A, C]), a=FLAT, b=1.1 * FLAT, c=5 * FLAT) is Verdict.HOLDS
    assert verdict(claims.more_robust([A, C], [A, B]), a=FLAT, b=1.1 * FLAT, c=5 * FLAT) is Verdict.FAILS
    assert verdict(claims.sensitive([A, C]), a=FLAT, c=5 * FLAT) is Verdict.HOLDS
    assert verdict(claims.sensitive([A, B]), a=FLAT, b=1.1 * FLAT) is Verdict.FAILS


def test_the_loss_is_compared_with_a_variance():
    one = synthetic(A, FLAT, loss=1.1 * FLAT, integration_variance=FLAT, excess_variance=0.5 * FLAT)
    found = Results({"a": one})
    assert Claim("", endings.floors(A, "integration_variance")).assess(found).verdict is Verdict.HOLDS
    assert Claim("", endings.floors(A, "excess_variance")).assess(found).verdict is Verdict.FAILS
    assert Claim("", endings.never_below(A, "excess_variance")).assess(found).verdict is Verdict.HOLDS
    dip = np.where(np.arange(40) // 2 == 7, 0.3, 1.1) * FLAT  # below in one window of the training
    found = Results(
        {"a": one._replace(history=synthetic(A, FLAT, loss=dip, excess_variance=0.5 * FLAT, integration_variance=FLAT).history)}
    )
    assert Claim("", endings.never_below(A, "excess_variance")).assess(found).verdict is Verdict.FAILS
    moving = Results({"a": synthetic(A, FLAT, loss=FLAT * np.geomspace(2, 1, 40), integration_variance=FLAT, excess_variance=FLAT)})
    assert Claim("", endings.floors(A, "integration_variance")).assess(moving).verdict is Verdict.OPEN


def test_what_never_improved():
    assert verdict(claims.unimproved(A, 1.0), a=0.9 * FLAT) is Verdict.HOLDS
    assert verdict(claims.unimproved(A, 1.0), a=0.1 * FLAT) is Verdict.FAILS


def test_every_and_its_opposite():
    good, bad = claims.better(A, B), claims.better(B, A)
    assert verdict(every(good, negated(bad)), a=0.5 * FLAT, b=FLAT) is Verdict.HOLDS
    assert verdict(every(good, bad), a=0.5 * FLAT, b=FLAT) is Verdict.FAILS


def test_every_statement_of_the_paper_is_checked_and_each_is_one():
    sources = [path.read_text(encoding="utf-8") for path in Path(claims.__file__).parent.glob("*.py")]
    used = {name for text in sources for name in re.findall(r"\bsay\.([A-Z_]+)", text)}
    assert used == {name for name, value in vars(statements).items() if isinstance(value, statements.Statement)}
    assert len({one.words for one in statements.STATEMENTS}) == len(statements.STATEMENTS)


def test_a_training_too_short_resolves_nothing():
    short = long_run("p: short", steps=100)
    found = Results({"a": synthetic(A, FLAT), "s": synthetic(short, 2 * FLAT)})
    finding = Claim("", claims.better(A, short)).assess(found)
    assert finding.verdict is Verdict.OPEN
    assert "100 steps are too few" in finding.evidence
