"""`fredholm theory`: the worked example as tables, and its figures."""

from argparse import Namespace
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from fredholm.checks import positive_integer
from fredholm.cli.folders import folder_for
from fredholm.theory import assess, census, findings, poisson, ring, split_system
from fredholm.theory.bounds import Assessment, verdict
from fredholm.theory.linear import LinearProblem
from fredholm.theory.worked import Curve, Limit, Map, convergence, efforts, limits, stability_maps

DIGITS = 3


def theory(options: Namespace) -> int:
    """`fredholm theory`."""
    problem = ring(
        positive_integer("--points", options.points, least=3), positive_integer("--features", options.features), options.discount
    )
    steps, runs = positive_integer("--steps", options.steps, least=100), positive_integer("--runs", options.runs, least=2)
    folder, console = folder_for("theory", options.out), Console()
    found = assess(problem)
    _print_assessment(console, problem, found)
    ends = limits(problem)
    _print_limits(console, ends)
    # Matplotlib is slow to load, and wrong input should be told at once.
    from fredholm.plots.theory import plot_bounds, plot_convergence, plot_efforts, plot_limits, plot_stability

    folder.mkdir(parents=True, exist_ok=True)
    plot_limits(problem, ends, folder / "limits.png")
    if found.is_stable:
        curves = convergence(problem, steps=steps, runs=runs)
        _print_convergence(console, curves)
        plot_convergence(curves, folder / "convergence.png")
        made = efforts(problem, steps=steps, runs=runs)
        rows = ((one.name, f"{one.exponent:.2f}", f"{one.per_digit:.3g}", f"{one.evaluations:g}") for one in made)
        _table(
            console,
            "Iterations to ε: (1/ε)^exponent; per digit of ε; evaluations in each",
            ("method", "exponent", "per digit", "evaluations"),
            rows,
        )
        plot_efforts(made, folder / "effort.png")
    else:
        _say(console, f"No iterations. {verdict(found)}")
    maps = stability_maps(poisson(), steps=min(steps, 3000), runs=runs)
    _print_stability(console, maps)
    plot_stability(maps, folder / "stability.png")
    counted = census()
    for one in findings():
        _say(console, f"\npaper  {one.claim}\ntrue   {one.truth}")
        _say(console, "       " + "; ".join(f"{name}: {value:.{DIGITS}g}" for name, value in one.numbers.items()))
    _say(console, "\nrandom problems  " + "; ".join(f"{name}: {value}" for name, value in counted.counts().items()))
    plot_bounds(counted, folder / "bounds.png")
    _say(console, f"figures  {folder}")
    return 0


def _print_assessment(console: Console, problem: LinearProblem, found: Assessment) -> None:
    points, size = problem.features.shape
    rows = [
        ("σ of P|Λ, the paper's", f"{found.sigma:.4g}"),
        ("spectral radius of P|Λ", f"{found.spectral_radius:.4g}"),
        ("κ, its norm in ‖·‖_P", f"{found.contraction:.4g}"),
        ("smallest Re λ(A)", f"{found.stability:.4g}"),
        ("error / projection error", f"{found.ratio:.4g}"),
        ("… at worst, over all labels", f"{found.sharp_constant:.4g}"),
        ("… bound 1/(1−κ²)", f"{found.sound_constant:.4g}"),
        ("… the paper's 1/(1−σ)", f"{found.paper_constant:.4g}"),
    ]
    _table(console, f"The theorem on a ring of {points} points with {size} features", ("", ""), rows)


def _print_limits(console: Console, ends: Sequence[Limit]) -> None:
    rows = ((one.name, f"{one.error:.3g}", f"{one.excess:.3g}") for one in ends)
    _table(console, "Where the methods end", ("method", "relative error to f*", "excess variance"), rows)


def _print_convergence(console: Console, curves: Sequence[Curve]) -> None:
    rows = ((one.name, f"{one.slope:.2f}", f"{one.measured:.3g}", f"{one.predicted:.3g}") for one in curves)
    _table(console, "Stochastic iterations, η = a/(t + t₀)", ("method", "slope", "t × error", "predicted"), rows)


def _print_stability(console: Console, maps: Sequence[Map]) -> None:
    def row(one: Map) -> tuple[str, ...]:
        stable = one.predicted < 0
        return (
            one.title,
            f"{one.diverged[stable].max(initial=0):.0%} of {stable.sum()}",
            f"{one.diverged[~stable].mean():.0%} of {(~stable).sum()}",
        )

    _table(console, "Poisson's weak form: runs that diverged", ("cut", "mean square stable", "unstable"), map(row, maps))
    weak = poisson()
    exact = split_system(weak, 1e12, 1).solve()
    bias = {split: abs(split_system(weak, split, 1).solve() - exact).max() / abs(exact).max() for split in (1.0, 10.0, 100.0, 1000.0)}
    shares = ", ".join(f"M = {split:g}: {share:.2%}" for split, share in bias.items())
    _say(console, f"bias of the split, N' = 1: {shares}")


def _table(console: Console, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(title=title, title_justify="left", show_header=any(columns))
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _say(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True, highlight=False, markup=False)
