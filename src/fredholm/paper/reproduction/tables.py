"""The tables of a figure: its claims, and our numbers beside the published ones."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fredholm.common.statistics import bootstrap_interval
from fredholm.paper.reproduction.panels import Bars, Curves, Figure, Lines, Panel
from fredholm.storage.run_folder import write_atomically
from fredholm.study.outcome import Outcome
from fredholm.study.run import Run


class Beside(NamedTuple):
    """One of our numbers beside the published one: best errors, ours after our steps, theirs after 200 000."""

    panel: str
    series: str
    x: float  # the place on the axis; NaN where there is none
    run: str
    ours: float
    low: float
    high: float
    published: float


def beside(figure: Figure, found: Mapping[str, Outcome]) -> list[Beside]:
    """Every run of the figure that has a published number."""
    results = {one.run.key: one for one in found.values()}
    rows = []
    for row in figure.rows:
        for panel in row:
            for series, x, run, number in _pairs(panel):
                one = results.get(run.key)
                if one is not None:
                    rows.append(Beside(panel.title, series, x, run.name, *bootstrap_interval(one.best()[one.kept()], least=0.0), number))
    return list({(one.panel, one.series, one.x): one for one in rows}.values())


def _pairs(panel: Panel) -> Iterator[tuple[str, float, Run, float]]:
    if isinstance(panel, Bars):
        for name, run in panel.bars.items():
            if name in panel.published:
                yield name, float("nan"), run, panel.published[name]
    elif isinstance(panel, Lines):
        for name, runs in panel.lines.items():
            known = panel.published.get(name)
            for x, run in runs.items():
                at = [] if known is None else np.flatnonzero(np.isclose(known.x, x))
                if known is not None and len(at):
                    yield name, x, run, float(known.y[at[0]])
    elif isinstance(panel, Curves) and panel.quantity == "error":
        for name, run in panel.lines.items():
            if name in panel.published:
                yield name, float("nan"), run, panel.published[name].least


def write_rows(path: Path, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in rows)
    write_atomically(path, lambda file: file.write(text.getvalue().encode()))
