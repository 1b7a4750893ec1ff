"""The worked example as tables of text: the command prints them, and the page of the documentation holds them."""

import math
from collections.abc import Mapping, Sequence

import equinox as eqx
import numpy as np

from fredholm.paper.theory.bounds import Assessment
from fredholm.paper.theory.counterexamples import Census, Finding
from fredholm.paper.theory.rates import Effort
from fredholm.paper.theory.stability import Setting, diverged, growth
from fredholm.paper.theory.weak import WeakProblem, split_system
from fredholm.paper.theory.worked import Curve, Limit, Map


class TextTable(eqx.Module):
    """A title, the names of the columns, and rows of as many texts."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def assessment_table(found: Assessment) -> TextTable:
    """The constants of the theorem."""
    values = {
        "σ of P|Λ, the paper's": found.sigma,
        "spectral radius of P|Λ": found.spectral_radius,
        "κ, the norm of P|Λ in ‖·‖_P": found.contraction,
        "smallest Re λ(A)": found.stability,
        "E(f_DT − f*)² / E(Πf* − f*)²": found.ratio,
        "… at worst, over all labels": found.sharp_constant,
        "… bound 1/(1−κ²)": found.sound_constant,
        "… the paper's 1/(1−σ)": found.paper_constant,
    }
    return TextTable("The theorem's constants", ("quantity", "value"), [(name, f"{value:.4g}") for name, value in values.items()])


def limits_table(limits: Sequence[Limit]) -> TextTable:
    """Where the methods end."""
    rows = [(one.name, f"{one.error:.4f}", f"{one.excess:.2g}" if one.excess else "0") for one in limits]
    return TextTable("Where the methods end", ("method", "relative error to f*", "excess variance"), rows)


def zoo_table(found: Mapping[str, Mapping[str, float]]) -> TextTable:
    """Where the methods end on equations of the zoo."""
    methods = list(next(iter(found.values())))
    rows = [(name, *(f"{errors[method]:.2g}" for method in methods)) for name, errors in found.items()]
    return TextTable("Where the methods end on the zoo: relative errors of u", ("equation", *methods), rows)


def convergence_table(curves: Sequence[Curve]) -> TextTable:
    """Rates of the stochastic iterations, measured and predicted."""
    rows = [(one.name, f"{one.slope:.2f}", f"{one.measured:.3g}", f"{one.predicted:.3g}") for one in curves]
    return TextTable("Stochastic iterations, η = a/(t + t₀)", ("method", "slope", "t × error", "predicted"), rows)


def efforts_table(efforts: Sequence[Effort]) -> TextTable:
    """Iterations to ε, as (1/ε)^exponent and for each digit."""

    def fitted(value: float, form: str) -> str:
        return format(value, form) if math.isfinite(value) else "–"

    rows = [(one.name, fitted(one.exponent, ".2f"), fitted(one.per_digit, ".3g"), f"{one.evaluations:g}") for one in efforts]
    return TextTable("Iterations to ε ∝ (1/ε)^exponent, and evaluations in each", ("method", "exponent", "a digit", "evaluations"), rows)


def stability_table(maps: Sequence[Map]) -> TextTable:
    """How many real runs diverged where the mean square is predicted to be stable, and where not."""

    def share(one: Map, chosen: np.ndarray) -> str:
        return f"{one.diverged[chosen].mean():.0%} at {chosen.sum()} settings" if chosen.any() else "–"

    rows = [(one.title, share(one, one.predicted < 0), share(one, one.predicted >= 0)) for one in maps]
    return TextTable("Poisson's weak form: runs that diverged", ("cut", "mean square stable", "unstable"), rows)


def cure_table(problem: WeakProblem) -> TextTable:
    """The three settings of the paper's Figure 3: a small M, a large one, and a larger one with a pull to the target."""
    settings = [Setting(2.0, split=10.0), Setting(2.0, split=100.0), Setting(2.0, split=1000.0, pull=0.1)]
    found = growth(problem, settings)
    shares = [diverged(problem, setting, steps=3000, runs=32) for setting in settings]
    rows = [
        (f"{one.split:g}", f"{one.pull:g}", f"{mean:+.4f}", f"{square:+.4f}", f"{share:.0%}")
        for one, mean, square, share in zip(settings, found.mean, found.square, shares, strict=True)
    ]
    return TextTable("A pull to the target cures a large M", ("M", "Mλ", "growth of the mean", "of the mean square", "runs diverged"), rows)


def split_table(problem: WeakProblem) -> TextTable:
    """The bias that the split's main part leaves, at N' = 1."""
    exact = split_system(problem, 1e12, 1).solve()
    bias = {split: np.abs(split_system(problem, split, 1).solve() - exact).max() / np.abs(exact).max() for split in (1.0, 10.0, 100.0, 1e3)}
    rows = [(f"{split:g}", f"{share:.2%}") for split, share in bias.items()]
    return TextTable("Bias of the split of a weak form, N' = 1", ("M", "largest error of θ"), rows)


def findings_table(findings: Sequence[Finding]) -> TextTable:
    """The paper's claims beside what is true."""
    rows = [(one.claim, one.truth, "; ".join(f"{name}: {_short(value)}" for name, value in one.numbers.items())) for one in findings]
    return TextTable("The fine print", ("paper", "true", "numbers"), rows)


def census_table(found: Census) -> TextTable:
    """How many random problems break each bound."""
    rows = [(name, str(value)) for name, value in found.counts().items()]
    return TextTable(f"{len(found.sigma)} random problems", ("condition", "problems"), rows)


def _short(value: float) -> str:
    return f"{value + 0.0:.3g}"
