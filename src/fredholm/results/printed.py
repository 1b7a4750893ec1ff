"""What `print(solution)` says: how the training ended, and how good the answer is."""

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from fredholm.diagnostics.certificate import Certificate
from fredholm.diagnostics.quality import LARGE, Quality
from fredholm.report.solved import Solved
from fredholm.solving.correction import Estimate
from fredholm.training.status import describe_failures

RANKED = 4  # seeds whose certificates are printed
SMALL = 1e-4  # a smaller share is not written in per cent
Lines = list[tuple[str, str]]  # a heading and a text; a continued line has no heading


class Measured(Solved, Protocol):
    """A solution, as it prints itself."""

    def quality(self) -> list[Quality]:
        """How well each seed satisfies the equation."""
        ...

    def certify(self) -> list[Certificate]:
        """The certificate of each seed."""
        ...

    def score_of_mean(self) -> float | None:
        """The problem's own metric of the mean over the seeds."""
        ...

    def estimate(self) -> Estimate:
        """The estimated error of u."""
        ...


def described(solution: Measured, reasons: Sequence[str]) -> Lines:
    """The lines that a solution prints; `reasons` are those of `Auto`."""
    found, why_not = _qualities(solution)
    lines = [("solution", solution.label), ("status", _status(solution, found))]
    lines += [("", text) for text in describe_failures(solution.status, solution.seeds)]
    lines += [("" if index else "chosen", text) for index, text in enumerate(reasons)]
    kept = [quality for quality, is_good in zip(found, solution.good, strict=True) if is_good] if found else []
    if kept:
        lines.append(("residual", describe_quality(kept)))
        lines += [("WARNING", text) for text in _warnings(kept)]
    elif why_not:
        lines.append(("residual", why_not))
    lines += [] if any(one.kinks for one in kept) else trusted(solution)  # both go by the residual
    score = solution.score()
    if score is not None:
        name, (mean, low, high) = score
        of_mean = solution.score_of_mean() if low < high else None
        single = f"{mean:.3g}" if of_mean is None else f"{of_mean:.3g} for solution(x), the mean of the seeds; single seeds {mean:.3g}"
        if np.isfinite(low):
            spread = f"95 % interval over seeds [{low:.3g}, {high:.3g}]" if low < high else "the same for all seeds: nothing is random"
        else:
            spread = "no interval: it needs at least two seeds"
        lines.append(("error", f"{name} {single}, {spread}"))
    return lines + [(name, described_scalar(solution, name)) for name in solution.unknowns]


def trusted(solution: Measured) -> Lines:
    """How far u may be from the solution, and the certificates of its seeds."""
    if "estimated_error" in solution.history:
        worst = float(np.max(solution.history["estimated_error"].values[:, -1]))
        besides = ", besides what the noise of the data does" if solution.unknowns else ""
        return [("estimate", f"the error of u is about {share(worst)} of u, from a Newton step on other points and nodes{besides}")]
    try:
        found = [one for one, is_good in zip(solution.certify(), solution.good, strict=True) if is_good]
        seeds = [seed for seed, is_good in zip(solution.seeds, solution.good, strict=True) if is_good]
        text = describe_certificates(found, seeds) if found else "not available: every seed failed"
    except Exception as error:  # printing must never fail, whatever the user's functions do
        text = f"not available: {error}"
    return [("estimate", str(solution.estimate())), ("certified", text)]


def describe_certificates(found: Sequence[Certificate], seeds: Sequence[int]) -> str:
    """The certificates of several seeds in one line, the best seed first."""
    order = sorted(range(len(found)), key=lambda at: math.inf if math.isnan(found[at].loss) else found[at].loss)
    best = found[order[0]]
    if len(found) == 1 or math.isnan(best.loss):
        return str(best)
    ranked = ", ".join(f"{found[at].loss:.1e} (seed {seeds[at]})" for at in order[:RANKED])
    others = f", {len(found) - RANKED} others" if len(found) > RANKED else ""
    bounds = [one.error_bound for one in found]
    bound = "" if any(map(math.isnan, bounds)) else f"; the root mean square error of each is at most {max(bounds):.1e}"
    return f"true loss from fresh points and nodes, the best seed first: {ranked}{others}{bound}"


def described_scalar(solution: Measured, name: str) -> str:
    """A learned scalar in words: with its interval where the data give one, else with its spread over the seeds."""
    values, history = solution.unknowns[name], solution.history
    if f"low_{name}" not in history:
        text, known = describe_unknown(values[solution.good]), solution.estimate()
        if name in known.intervals:
            low, high = known.intervals[name]
            text += f"; after a correction {known.unknowns[name]:.5g}, 95 % interval [{low:.5g}, {high:.5g}] from the noise of the data"
        return text
    low, high = (float(history[f"{end}_{name}"].values[0, -1]) for end in ("low", "high"))
    return f"{values[0]:.5g}, 95 % interval [{low:.5g}, {high:.5g}] from the noise of the data"


def describe_quality(found: Sequence[Quality]) -> str:
    """The relative residuals of several seeds in one line, each the worst of them."""
    worst, several = max(found, key=lambda one: one.residual), f", worst of {len(found)} seeds" if len(found) > 1 else ""
    seen = [one.moments for one in found if one.moments is not None]
    if math.isnan(worst.residual):
        text = "not known: with one given sample at each x there is no unbiased estimate"
        if seen:
            rough = "with one given sample at each x there is no estimate of its rough part"
            text = f"{max(seen, key=lambda one: one.relative)}{several}; {rough}"
    elif worst.residual < worst.uncertainty:
        text = f"at most {share(worst.residual + worst.uncertainty)} of the equation's terms (what its integrals leave open){several}"
    else:
        text = f"{share(worst.residual)} of the equation's terms{several}"
    for name, shares in (("conditions", [one.conditions for one in found]), ("data", [one.data for one in found])):
        if shares[0]:
            text += f"; {name} off by {share(max(map(max, shares)))}"
    return text


def share(value: float) -> str:
    """A share in per cent; a very small one as a number."""
    return f"{100 * value:.2g} %" if value >= SMALL else f"{value:.1e}"


def describe_unknown(values: np.ndarray) -> str:
    """A learned scalar in words: its mean, and its spread over the seeds."""
    if not len(values):
        return "not known: every seed failed"
    if len(values) < 2:
        return f"{values.mean():.5g}, one seed"
    return (
        f"{values.mean():.5g}; spread over {len(values)} seeds [{values.min():.5g}, {values.max():.5g}], which is no interval of the truth"
    )


def _qualities(solution: Measured) -> tuple[list[Quality], str]:
    """The quality of each seed, or the reason why there is none. Printing must never fail, whatever the user's functions do."""
    try:
        return solution.quality(), ""
    except ValueError as error:
        return [], f"not known: {error}"
    except Exception as error:
        return [], f"not known: {type(error).__name__}: {error}"


def _status(solution: Measured, found: Sequence[Quality]) -> str:
    ended = next((entry.status.value for entry in solution.status if not entry.status.is_failure), "every seed failed")
    good, seeds = int(solution.good.sum()), len(solution.seeds)
    well = (
        sum(is_good and not quality.worst > LARGE and not quality.kinks for quality, is_good in zip(found, solution.good, strict=True))
        if found
        else good
    )
    text = f"{ended}; {well} of {seeds} seeds succeeded"
    if well < good:
        text += f", {good - well} trained to a residual " + ("without meaning" if found[0].kinks else f"above {share(LARGE)}")
    return f"{text}, {solution.steps} step{'s' * (solution.steps != 1)} in {solution.seconds:.1f} s"


def _warnings(found: Sequence[Quality]) -> list[str]:
    """Loud words where a seed does not solve the equation or meet its conditions."""
    residual = max((one.known for one in found if not math.isnan(one.known)), default=math.nan)
    condition = max((max(one.conditions, default=0.0) for one in found), default=0.0)
    texts = [f"THE RESIDUAL MEANS NOTHING: {one.kinks}" for one in found[:1] if one.kinks]
    if residual > LARGE:
        texts.append(f"u DOES NOT SOLVE THE EQUATION: the residual is {share(residual)} of its terms. print(solution.diagnose()) says why.")
    if condition > LARGE:
        texts.append(f"u DOES NOT MEET ITS CONDITIONS: one is off by {share(condition)}. Give it more weight, or train longer.")
    return texts
