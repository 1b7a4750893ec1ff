"""`fredholm theory`: the worked example as tables, and its figures."""

import inspect
from argparse import Namespace
from pathlib import Path

import yaml
from rich.console import Console

from fredholm.cli.folders import folder_for
from fredholm.cli.values import Loader
from fredholm.common.checks import nearest, positive_integer
from fredholm.paper.theory import assess, census, findings, poisson, ring, tables
from fredholm.paper.theory.bounds import verdict
from fredholm.paper.theory.linear import LinearProblem
from fredholm.paper.theory.tables import TextTable
from fredholm.paper.theory.worked import convergence, efforts, limits, stability_maps
from fredholm.report.terminal import print_table
from fredholm.storage.files import read_arrays


def theory(options: Namespace) -> int:
    """`fredholm theory`."""
    if options.file is not None:
        return _own(Path(options.file), options)
    points, features = positive_integer("--points", options.points, least=3), positive_integer("--features", options.features)
    steps, runs = positive_integer("--steps", options.steps, least=100), positive_integer("--runs", options.runs, least=2)
    problem, weak = ring(points, features, options.discount), poisson()
    folder = folder_for("theory", options.out)
    found, ends = assess(problem), limits(problem)
    _say(f"A ring of {points} points, {features} features, γ = {options.discount:g}")
    _show(tables.assessment_table(found))
    _show(tables.limits_table(ends))
    # Matplotlib is slow to load, and wrong input should fail at once.
    from fredholm.paper.theory import figures

    folder.mkdir(parents=True, exist_ok=True)
    figures.plot_limits(problem, ends, folder / "limits.png")
    if found.is_stable:
        curves = convergence(problem, steps=steps, runs=runs)
        _show(tables.convergence_table(curves))
        figures.plot_convergence(curves, folder / "convergence.png")
        made = efforts(problem, steps=steps, runs=runs)
        _show(tables.efforts_table(made))
        figures.plot_efforts(made, folder / "effort.png")
    else:
        _say(f"No iterations. {verdict(found)}")
    maps = stability_maps(weak)
    _show(tables.stability_table(maps))
    figures.plot_stability(maps, folder / "stability.png")
    _show(tables.cure_table(weak))
    _show(tables.split_table(weak))
    for claim, truth, numbers in tables.findings_table(findings()).rows:
        _say(f"\npaper  {claim}\ntrue   {truth}\n       {numbers}")
    counted = census()
    _show(tables.census_table(counted))
    figures.plot_bounds(counted, folder / "bounds.png")
    _say(f"figures   {folder}")
    return 0


def _own(path: Path, options: Namespace) -> int:
    """The theorem on the linear problem of a file: whether delayed targets converge, where every method ends, and how fast."""
    problem = read_problem(path)
    steps, runs = positive_integer("--steps", options.steps, least=100), positive_integer("--runs", options.runs, least=2)
    found = assess(problem)
    _say(f"{path}: {len(problem.labels)} points, {problem.features.shape[1]} features")
    _show(tables.assessment_table(found))
    _show(tables.limits_table(limits(problem)))
    _say(verdict(found))
    if found.is_stable:
        _show(tables.convergence_table(convergence(problem, steps=steps, runs=runs)))
    return 0


def read_problem(path: Path) -> LinearProblem:
    """The linear problem of a file: lists of numbers in YAML or JSON, or arrays in .npz, by the names of `LinearProblem`'s arguments."""
    names = [*inspect.signature(LinearProblem).parameters]
    expected = f"{', '.join(names[:5])}, and optionally {' and '.join(names[5:])}"
    try:
        given = read_arrays(path) if path.suffix == ".npz" else yaml.load(path.read_text(encoding="utf-8"), Loader)  # plain values only
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{path} cannot be read: {' '.join(str(error).split())}. Expected YAML, JSON or .npz with {expected}.") from None
    if not isinstance(given, dict) or not given:
        raise ValueError(f"{path}: got no named arrays; expected {expected}.")
    for name in given:
        if name not in names:
            raise nearest(f"name in {path}", str(name), names)
    missing = [name for name in names[:5] if name not in given]
    if missing:
        raise ValueError(f"{path}: got no {missing[0]}; expected {expected}.")
    return LinearProblem(**given)


def _show(table: TextTable) -> None:
    print_table(table.columns, table.rows, title=table.title)


def _say(text: str) -> None:
    Console().print(text, soft_wrap=True, highlight=False, markup=False)
