"""What all benchmarks share: turns, medians with their spread, and the parts of docs/benchmarks.md that a run rewrites.

Peers take turns within one run: a machine that others use, or that slows down when it is warm, then treats them alike, and ratios are
formed within a round before their median is taken.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parents[1] / "docs"
PAGE, RAW, FIGURES = DOCS / "benchmarks.md", DOCS / "benchmarks.json", DOCS / "figures"
PAUSE = 0.15  # seconds between two turns: the threads of one library spin after its last parallel loop, those of OpenBLAS for 0.1 s
SETTLED = 0.5  # seconds of warm-up of every peer, at least one call

Work = Callable[[int], object]  # does so many steps, and returns when they are done


class Spread(NamedTuple):
    """The median of the rounds and their quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of the values of all rounds."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)

    def __str__(self) -> str:
        return f"{number(self.median)} ({number(self.low)}–{number(self.high)})"


def number(value: float) -> str:
    """Three significant digits, without an exponent where a person can read it."""
    if value != value:
        return "–"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:.1e}"


def steps_for(work: Work, least: float, most: int = 1_000_000) -> int:
    """Warms a peer up, and counts how many steps take about `least` seconds."""
    work(1)  # compiles
    steps, begin = 1, time.perf_counter()
    while True:
        start = time.perf_counter()
        work(steps)
        elapsed = time.perf_counter() - start
        if time.perf_counter() - begin > SETTLED and elapsed > 0.2 * least:
            return max(1, min(most, round(steps * least / elapsed)))
        steps = max(steps, min(4 * steps, most, round(steps * least / max(elapsed, 1e-9))))


def alternate(peers: Mapping[str, Work], rounds: int, least: float) -> dict[str, list[float]]:
    """Seconds for one step of every peer, one number for each round; a turn takes about `least` seconds."""
    steps = {name: steps_for(work, least) for name, work in peers.items()}
    seconds: dict[str, list[float]] = {name: [] for name in peers}
    for turn in range(rounds):
        # Every other round goes backwards, so that nobody always follows the same peer.
        for name in list(peers) if turn % 2 == 0 else reversed(list(peers)):
            time.sleep(PAUSE)
            begin = time.perf_counter()
            peers[name](steps[name])
            seconds[name].append((time.perf_counter() - begin) / steps[name])
    return seconds


def ratios(numerator: Sequence[float], denominator: Sequence[float]) -> list[float]:
    """Round by round."""
    return [a / b for a, b in zip(numerator, denominator, strict=True)]


def exponent(values: Sequence[float], costs: Sequence[float]) -> float:
    """p of cost ∝ value^p, by least squares in the logarithms."""
    import numpy as np

    return float(np.polyfit(np.log(np.asarray(values, float)), np.log(np.asarray(costs, float)), 1)[0])


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)])


def ticks(axes: Any, values: Sequence[int]) -> None:
    """A logarithmic axis with the measured values as its only ticks, written as they are."""
    axes.set_xscale("log")
    axes.set_xticks(list(values), [str(value) for value in values])
    axes.minorticks_off()


def machine(*packages: str) -> str:
    """One line for the page: what the numbers were measured with."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    return f"{cores} cores ({_processor()}), Python {platform.python_version()}, {versions}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def arguments(description: str | None) -> argparse.ArgumentParser:
    """What every section takes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the results into docs/benchmarks.md and its pictures")
    parser.add_argument("--rounds", type=int, default=7, help="turns of every peer")
    parser.add_argument("--seconds", type=float, default=0.4, help="of one turn")
    return parser


def say(text: str) -> None:
    """A line of progress on standard error, so that standard output is the result alone."""
    print(text, file=sys.stderr, flush=True)


def read_raw(section: str) -> dict[str, Any]:
    """The raw numbers of a section so far."""
    return json.loads(RAW.read_text(encoding="utf-8")).get(section, {}) if RAW.exists() else {}


def write_raw(section: str, rows: Mapping[str, Any], *, keep: bool = False) -> dict[str, Any]:
    """Puts the numbers of a run into the file, with those of other runs of the section if `keep`; returns what is there now."""
    everything = json.loads(RAW.read_text(encoding="utf-8")) if RAW.exists() else {}
    everything[section] = {**(everything.get(section, {}) if keep else {}), **rows}
    RAW.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return everything[section]


def write_part(name: str, body: str) -> None:
    """Rewrites what stands between the markers of a section."""
    text = PAGE.read_text(encoding="utf-8")
    opening, closing = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, rest = text.split(opening)
    after = rest.split(closing)[1]
    PAGE.write_text(f"{before}{opening}\n{body.strip()}\n{closing}{after}", encoding="utf-8")
