"""What a figure is made of: panels as data, which refer to runs. How they are drawn is in `draw`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fredholm.paper.reproduction.published import Series
from fredholm.paper.reproduction.verdicts import Claim
from fredholm.rules.base import AbstractRule
from fredholm.study.run import Run


class Map(NamedTuple):
    """A heat map of a solution, of its delayed target, or of the truth."""

    title: str
    run: Run
    shows: str = "network"  # network, target or truth


class Curves(NamedTuple):
    """A recorded quantity of several runs over training."""

    title: str
    lines: Mapping[str, Run]
    quantity: str = "error"
    published: Mapping[str, Series] = {}
    also: tuple[str, ...] = ()  # more quantities, dashed
    quiet: Mapping[str, Run] = {}  # for comparison, dotted


class Bars(NamedTuple):
    """The best error of each run."""

    title: str
    bars: Mapping[str, Run]
    published: Mapping[str, float] = {}


class Lines(NamedTuple):
    """The best error against a number, one line for each series."""

    title: str
    axis: str
    lines: Mapping[str, Mapping[float, Run]]
    published: Mapping[str, Series] = {}
    logarithmic: bool = True  # the horizontal axis


class Radial(NamedTuple):
    """Prediction against the radius, with its range over directions."""

    title: str
    run: Run
    published: Series | None = None  # the trained model


class Nodes(NamedTuple):
    """The points of a rule on some circles, with their normals."""

    title: str
    rule: AbstractRule


Panel = Map | Curves | Bars | Lines | Radial | Nodes


Row = tuple[Sequence[Panel], Sequence[Claim]]  # the panels of one problem, and what is claimed of them


class Figure(NamedTuple):
    """A figure of the paper at one scale."""

    number: int
    title: str
    rows: Sequence[Sequence[Panel]]
    claims: Sequence[Claim] = ()
    more: Sequence[Run] = ()  # runs that only claims need
    note: str = ""  # what differs from the paper's picture

    @classmethod
    def of_rows(cls, number: int, title: str, rows: Sequence[Row]) -> "Figure":
        """One row of panels for each problem, and the claims of all."""
        return cls(number, title, [panels for panels, _ in rows], [claim for _, claims in rows for claim in claims])

    @property
    def runs(self) -> list[Run]:
        """All runs, each once."""
        found = {run.name: run for row in self.rows for panel in row for run in runs_of(panel)}
        return list({**found, **{run.name: run for run in self.more}}.values())


def runs_of(panel: Panel) -> Iterator[Run]:
    """The runs that a panel shows."""
    if isinstance(panel, (Map, Radial)):
        yield panel.run
    elif isinstance(panel, Curves):
        yield from panel.lines.values()
        yield from panel.quiet.values()
    elif isinstance(panel, Bars):
        yield from panel.bars.values()
    elif isinstance(panel, Lines):
        for line in panel.lines.values():
            yield from line.values()
