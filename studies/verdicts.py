"""How often the verdicts of `fredholm reproduce` are right and wrong, on synthetic curves.

`python studies/verdicts.py` prints the table of docs/reproduction.md, "How sure a verdict is". A curve is a mean course times
exp(a seed's own luck + the noise of each record). Each row is a rule at the edge of what it denies (its null), where "holds" may come in
about 2.5 % of all cases, and at an effect as the paper shows it, where it should come often.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

import fredholm as fr
from fredholm.paper.reproduction.checking import Check
from fredholm.paper.reproduction.claims import better, interior, more_robust, sensitive, similar, unimproved
from fredholm.paper.reproduction.endings import floors, larger, never_below, turns_up
from fredholm.paper.reproduction.verdicts import Verdict
from fredholm.study import Outcome, make_run
from fredholm.study.outcome import Results
from fredholm.study.run import Run
from fredholm.training.status import SeedStatus, Status

RECORDS = 100  # as every run of `fredholm reproduce` has
OWN = 0.1  # log-sd of a seed's own luck
PARTS = ("error", "loss", "integration_variance", "excess_variance")


def run(name: str, seeds: int, steps: int = 20_000) -> Run:
    """A run that is not trained: only its name, steps and seeds count."""
    return make_run(f"p: {name}", fr.problems.Volterra(), fr.Standard(), rule=fr.MonteCarlo(1 + ord(name)), steps=steps, seeds=seeds)


def outcome(of: Run, curves: Mapping[str, np.ndarray], failed: int = 0) -> Outcome:
    """An outcome with these curves, (seeds, records); the first `failed` seeds diverged."""
    count, records = curves["error"].shape
    history = xr.Dataset(
        {name: (("seed", "step"), values.copy()) for name, values in curves.items()},
        coords={"seed": list(of.seeds), "step": (np.arange(records) + 1) * of.settings.steps // records},
    )
    status = [SeedStatus(Status.DIVERGED, 5) if seed < failed else SeedStatus(Status.FINISHED, 30) for seed in range(count)]
    return Outcome(of, history, tuple(status), "mse", {}, 1.0)


class Course(NamedTuple):
    """What a curve is in the mean, and how noisy."""

    level: float = 1.0  # of the mean
    noise: float = 0.2  # log-sd of a record
    rise: float = 1.0  # the end as a multiple of the best, which is at half of the training

    def drawn(self, stream: np.random.Generator, seeds: int, luck: np.ndarray) -> np.ndarray:
        """Curves of so many seeds, whose own luck is given: records with the mean `level` at the best, whatever their noise."""
        course = np.exp(np.log(self.rise) * np.clip(np.linspace(-1, 1, RECORDS), 0, None))
        noise = self.noise * stream.standard_normal((seeds, RECORDS)) - self.noise**2 / 2
        return self.level * course * np.exp(luck[:, None] + noise)


class Case(NamedTuple):
    """A rule with the courses of its runs."""

    rule: str
    check: Callable[[list[Run]], Check]
    null: tuple[Course, ...]
    effect: tuple[Course, ...]
    null_words: str
    effect_words: str
    quantity: str = "error"


FLAT, QUIET = Course(), Course(noise=0.05)
CASES = (
    Case("better", lambda r: better(*r), (FLAT, QUIET), (Course(0.5), FLAT), "equal means, record noise .2 and .05", "half the error"),
    Case("better", lambda r: better(*r), (QUIET, FLAT), (Course(0.5), FLAT), "equal means, record noise .05 and .2", "half the error"),
    Case("comparable", lambda r: better(*r, 2.0), (Course(2.0), QUIET), (FLAT, FLAT), "twice the error", "equal"),
    Case("similar (1.25)", lambda r: similar(*r, 1.25), (Course(1.25), QUIET), (QUIET, QUIET), "1.25 times the error", "equal, noise .05"),
    Case(
        "turns up (1.2)",
        lambda r: turns_up(*r),
        (Course(noise=0.3),),
        (Course(rise=2.0),),
        "flat, record noise .3",
        "ends at twice the best",
    ),
    Case(
        "turns up (1.2)",
        lambda r: turns_up(*r),
        (Course(rise=1.2),),
        (Course(rise=2.0),),
        "ends at 1.2 of the best",
        "ends at twice the best",
    ),
    Case(
        "interior optimum",
        lambda r: interior(r),
        (FLAT,) * 5,
        (Course(2.0), FLAT, Course(0.6), FLAT, Course(3.0)),
        "five equal settings",
        ".6 between 2 and 3",
    ),
    Case(
        "sensitive (2)",
        lambda r: sensitive(r),
        (Course(noise=0.5),) * 7,
        (*(FLAT,) * 6, Course(4.0)),
        "seven equal settings, noise .5",
        "one of seven 4 times worse",
    ),
    Case(
        "sensitive (2)",
        lambda r: sensitive(r),
        (*(FLAT,) * 6, Course(2.0)),
        (*(FLAT,) * 6, Course(4.0)),
        "one of seven twice the others",
        "one of seven 4 times worse",
    ),
    Case(
        "more robust",
        lambda r: more_robust(r[:4], r[4:]),
        (*(QUIET,) * 4, *(Course(noise=0.5),) * 4),
        (*(FLAT,) * 4, *(FLAT,) * 3, Course(3.0)),
        "equal settings, noise .05 against .5",
        "a range of 1 against 3",
    ),
    Case("larger", lambda r: larger(*r, "loss"), (FLAT, QUIET), (Course(1.5), FLAT), "equal", "half as much again", "loss"),
    Case(
        "floors (1.25)",
        lambda r: floors(*r, "integration_variance"),
        (Course(1.25),),
        (Course(0.95, 0.05),),
        "1.25 times",
        ".95 times",
        "loss",
    ),
    Case("never below (.9)", lambda r: never_below(*r, "excess_variance"), (Course(0.9),), (Course(2.0),), ".9 times", "twice", "loss"),
    Case("unimproved (½)", lambda r: unimproved(*r, 1.0), (Course(0.5),), (Course(0.7),), "half of a constant", ".7 of it"),
)


def verdicts(case: Case, courses: tuple[Course, ...], seeds: int, times: int, own: float = OWN) -> Counter[Verdict]:
    """The verdicts of a rule on so many draws of these courses."""
    stream = np.random.default_rng(seeds)
    runs = [run(chr(97 + place), seeds) for place in range(len(courses))]
    check = case.check(runs)

    blank = {name: np.ones((seeds, RECORDS)) for name in PARTS}
    found = Results({one.name: outcome(one, blank) for one in runs})

    def drawn() -> Results:
        shared = own * stream.standard_normal(seeds)  # matched seeds share a part of their luck
        for one, course in zip(runs, courses, strict=True):
            luck = (shared + own * stream.standard_normal(seeds)) / np.sqrt(2)
            found(one).history[case.quantity].values[:] = course.drawn(stream, seeds, luck)
        return found

    return Counter(check(drawn()).verdict for _ in range(times))


def table(times: int = 200) -> str:
    """Every rule as a row of Markdown."""
    head = "| rule | at the edge | holds, 4 seeds | 100 | effect | holds, 4 seeds | 100 |\n|---|---|---|---|---|---|---|"
    rows = [head]
    for case in CASES:
        cells = [case.rule, case.null_words]
        for courses, words in ((case.null, case.effect_words), (case.effect, "")):
            counts = [verdicts(case, courses, seeds, times) for seeds in (4, 100)]
            cells += [f"{count[Verdict.HOLDS] / times:.1%}" for count in counts] + ([words] if words else [])
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
