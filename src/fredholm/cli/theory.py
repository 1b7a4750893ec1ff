"""`fredholm theory`: the worked example as tables, and its figures."""

from argparse import Namespace

from rich.console import Console
from rich.table import Table

from fredholm.cli.folders import folder_for
from fredholm.common.checks import positive_integer
from fredholm.paper.theory import assess, census, findings, poisson, ring, tables
from fredholm.paper.theory.bounds import verdict
from fredholm.paper.theory.tables import TextTable
from fredholm.paper.theory.worked import convergence, efforts, limits, stability_maps


def theory(options: Namespace) -> int:
    """`fredholm theory`."""
    points, features = positive_integer("--points", options.points, least=3), positive_integer("--features", options.features)
    steps, runs = positive_integer("--steps", options.steps, least=100), positive_integer("--runs", options.runs, least=2)
    problem, weak = ring(points, features, options.discount), poisson()
    folder, console = folder_for("theory", options.out), Console()
    found, ends = assess(problem), limits(problem)
    _say(console, f"A ring of {points} points, {features} features, γ = {options.discount:g}")
    _show(console, tables.assessment_table(found))
    _show(console, tables.limits_table(ends))
    # Matplotlib is slow to load, and wrong input should be told at once.
    from fredholm.paper.theory import figures

    folder.mkdir(parents=True, exist_ok=True)
    figures.plot_limits(problem, ends, folder / "limits.png")
    if found.is_stable:
        curves = convergence(problem, steps=steps, runs=runs)
        _show(console, tables.convergence_table(curves))
        figures.plot_convergence(curves, folder / "convergence.png")
        made = efforts(problem, steps=steps, runs=runs)
        _show(console, tables.efforts_table(made))
        figures.plot_efforts(made, folder / "effort.png")
    else:
        _say(console, f"No iterations. {verdict(found)}")
    maps = stability_maps(weak)
    _show(console, tables.stability_table(maps))
    figures.plot_stability(maps, folder / "stability.png")
    _show(console, tables.cure_table(weak))
    _show(console, tables.split_table(weak))
    for claim, truth, numbers in tables.findings_table(findings()).rows:
        _say(console, f"\npaper  {claim}\ntrue   {truth}\n       {numbers}")
    counted = census()
    _show(console, tables.census_table(counted))
    figures.plot_bounds(counted, folder / "bounds.png")
    _say(console, f"figures   {folder}")
    return 0


def _show(console: Console, text: TextTable) -> None:
    table = Table(title=text.title, title_justify="left")
    for index, column in enumerate(text.columns):
        table.add_column(column, justify="right" if index else "left", no_wrap=True)
    for row in text.rows:
        table.add_row(*row)
    console.print(table)


def _say(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True, highlight=False, markup=False)
