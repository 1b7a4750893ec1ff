"""`fredholm compare --zoo`: every equation of the zoo by the recipe of its class, and beside it what one random sample costs."""

import shlex
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.text import Text

from fredholm.cli import values
from fredholm.cli.folders import ended
from fredholm.common.checks import nearest, real
from fredholm.problems.classes import CLASSES
from fredholm.report.plots.errors import plot_errors
from fredholm.report.terminal import print_table
from fredholm.storage.files import write_atomically
from fredholm.study.folder import StudyFolder
from fredholm.study.outcome import Outcome
from fredholm.study.page import write_study_page
from fredholm.study.tables import write_rows
from fredholm.study.zoo import CASES, COLUMNS, RECIPE, Result, Results, cell, is_met, results, zoo_runs

FOLDER = "runs/zoo"
OPTIONS = ("name", "run_command", "verbose", "command", "zoo", "cases", "columns", "scale", "seeds", "out")


def compare_zoo(options: Namespace, run: Callable[[StudyFolder, Namespace], dict[str, Outcome]], given: Sequence[str]) -> int:
    """Runs what is missing, prints the table, and writes it as CSV, Markdown and a page. `run` runs a study; `given` are options that do
    not belong here."""
    if given:
        raise ValueError(f"compare --zoo: got {', '.join(given)}; expected only --cases, --columns, --scale, --seeds and --out.")
    cases, columns = _chosen("case", options.cases, CASES), _chosen("column", options.columns, dict.fromkeys(COLUMNS))
    scale, seeds = real("--scale", options.scale, low=1e-6, high=100.0), values.seeds(options.seeds)
    folder = StudyFolder.create(options.out or FOLDER, "The zoo", zoo_runs(cases, columns, seeds, scale))
    found = run(folder, options)
    made = results(found)
    write_tables(made, columns, folder.path, options.command)
    show_table(made, columns)
    picture = draw(made, columns, folder.path / "zoo.png")
    page = write_study_page(folder, found)
    places = f"{folder.path / 'zoo.md'}, {folder.path / 'zoo.csv'}"
    print(f"{'tables':<10}{places}\n{'picture':<10}{picture}\n{'page':<10}{page}", flush=True)
    return ended([run.name for run in folder.runs if folder.failure(run)])


def kebab_words(text: str) -> str:
    """A name without blanks and signs, as one types it."""
    return "-".join("".join(letter if letter.isalnum() else " " for letter in text).split())


def _chosen(kind: str, names: Sequence[str] | None, known: Mapping[str, object]) -> list[str]:
    """The names that were given, as `fractional-d-2` or in full; all of them where none was."""
    by_file_name = {kebab_words(name): name for name in known}
    found = []
    for name in names or known:
        if kebab_words(name) not in by_file_name:
            raise nearest(kind, name, by_file_name)
        found.append(by_file_name[kebab_words(name)])
    return found


def show_table(results: Results, columns: Sequence[str]) -> None:
    """The table on the terminal."""
    others = [column for column in columns if column != RECIPE]
    rows = []
    for case, found in results.items():
        own, entry = found.get(RECIPE), CASES[case]
        met = None if own is None else is_met(case, own)
        mark = Text("") if met is None else Text("✓ ", "green") if met else Text("✗ ", "red")
        reached = mark + Text("" if own is None else _long(own), "default")
        target = "" if entry.target is None else _number(entry.target)
        best = _number(min(entry.published.values())) if entry.published else ""
        cells = [_short(cell(found, case, column)) for column in others]
        rows.append([case, entry.kind.name, reached, target, best, *cells, "" if own is None else f"{own.minutes:.1f}"])
    caption = "relative L2 error, mean over the seeds [95 % interval]; ✗n: n seeds failed"
    print_table(["case", "class", RECIPE, "target", "best published", *others, "minutes"], rows, caption=caption, left=2)


def draw(results: Results, columns: Sequence[str], path: Path) -> Path:
    """The table as a picture: what one random sample costs, and what the recipe reaches; runs without any good seed are left out."""
    rows: dict[str, dict[str, tuple[float, float, float]]] = {}
    for case, found in results.items():
        cells = {column: cell(found, case, column) for column in columns}
        rows[case] = {name: one[:3] for name, one in cells.items() if one is not None and np.isfinite(one.mean)}
    targets = {case: target for case in results if (target := CASES[case].target) is not None}
    plot_errors(rows, targets, "relative L2 error, mean over the seeds with its 95 % interval", "The zoo", path)
    return path


def _long(found: Result) -> str:
    return f"{_number(found.mean)} [{_number(found.low)}, {_number(found.high)}]{_failures(found)}"


def _short(found: Result | None) -> str:
    return "" if found is None else f"{_number(found.mean)}{_failures(found)}"


def _number(value: float) -> str:
    return f"{value:.1e}".replace("e-0", "e-").replace("e+00", "")


def _failures(found: Result) -> str:
    return f" ✗{found.failed}" if found.failed else ""


def write_tables(results: Results, columns: Sequence[str], folder: Path, command: Sequence[str]) -> None:
    """`zoo.csv`, with every number, and `zoo.md`, a page."""
    rows = []
    for case, found in results.items():
        entry = CASES[case]
        published = "; ".join(f"{name} {value:g}" for name, value in entry.published.items())
        for column, one in found.items():
            rows.append([case, entry.kind.name, column, *one, entry.target or "", published])
    write_rows(folder / "zoo.csv", ["case", "class", "column", *Result._fields, "target", "published"], rows)
    page = markdown(results, columns, shlex.join(["fredholm", *command]))
    write_atomically(folder / "zoo.md", lambda file: file.write(page.encode()))


def markdown(results: Results, columns: Sequence[str], command: str) -> str:
    """The page with the table."""
    others = [column for column in columns if column != RECIPE]
    heads = ["case", "class", "recipe", "target", "published", *others, "minutes"]
    lines = [
        "# The zoo: accuracy, and what the bias costs",
        "",
        f"Written by `{command}`. Relative L2 error of the answer, mean over the seeds with its 95 % interval; minutes are",
        "those of all seeds of the recipe together, on the machine that wrote the page. The columns on the right have one random sample of",
        "every integral (double sampling two), and as many steps and evaluations of u in a step as the recipe: what the bias of the",
        "standard loss costs, and what the unbiased methods do with the same budget. ✗n: n seeds failed.",
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
    ]
    for case, found in results.items():
        own, entry = found.get(RECIPE), CASES[case]
        mark = {True: " ✓", False: " ✗", None: ""}[None if own is None else is_met(case, own)]
        published = ", ".join(f"{name} {_number(value)}" for name, value in entry.published.items())
        cells = [case, entry.kind.name, "" if own is None else _long(own) + mark, "" if entry.target is None else _number(entry.target)]
        cells += [published, *(_short(cell(found, case, column)) for column in others), "" if own is None else f"{own.minutes:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "One recipe for each class; beyond it a case has only its network, steps and batch (`problem.defaults`):", ""]
    lines += [f"- **{kind.name}**: {kind.when}. `{kind.method!r}`, `{kind.rule!r}`, `{kind.optimizer!r}`." for kind in CLASSES]
    return "\n".join([*lines, ""])
