"""How time and memory grow: `python benchmarks/scaling.py [--write]`.

One quantity at a time from a base: seeds, nodes N, batch V, width, dimension d, the x that go through a step at once, and CPU devices, the
last in processes of their own since their number is fixed when JAX starts. Within a sweep all values take turns. An exponent p of
cost ∝ value^p is a least-squares fit of logarithms. Memory is what the compiler reserves: the intermediate values of a chunk of steps, and
the states of all seeds.
"""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from cases import Case, case
from harness import FIGURES, Spread, alternate, arguments, exponent, machine, number, ratios, say, table, ticks, write_part, write_raw
from ours import Ours

import fredholm as fr
from fredholm.report.plots.style import PALETTE, finish, house_style, new_figure

BASE_SEEDS = 4
SWEEPS: dict[str, tuple[tuple[str, str], tuple[int, ...]]] = {
    "seeds": (("poisson-2", "delayed"), (1, 2, 4, 16, 50, 100)),
    "N": (("poisson-2", "standard-100"), (1, 10, 100, 1000)),
    "batch": (("poisson-2", "delayed"), (50, 200, 800, 3200)),
    "width": (("poisson-2", "delayed"), (16, 32, 64, 128, 256)),
    "d": (("poisson-10", "delayed"), (2, 5, 10, 20, 30)),
    "x at once": (("poisson-2", "standard-100"), (1, 5, 20, 100, 400)),
}
LARGE = 400  # x of a step, with 100 nodes each, where so many at once are swept
DEVICES = (1, 2)


def setting(sweep: str, value: int) -> tuple[Case, int]:
    """The case and the number of seeds at one value of a sweep."""
    own, seeds = case(*SWEEPS[sweep][0]), BASE_SEEDS
    if sweep == "seeds":
        return own, value
    if sweep == "d":
        return replace(own, dim=value, inputs=value), seeds
    if sweep == "x at once":
        return replace(own, batch=LARGE), seeds
    return replace(own, **{{"N": "n"}.get(sweep, sweep): value}), seeds


def measure(sweep: str, rounds: int, least: float) -> dict[str, Any]:
    """Seconds of a step of all seeds in every round, and bytes, for each value."""
    works, memory = {}, {}
    for value in SWEEPS[sweep][1]:
        own, seeds = setting(sweep, value)
        say(f"{sweep} = {value} ...")
        # Balls of the same law in every dimension: the plane of the paper is another problem.
        equation = fr.problems.Poisson(value, charges=[[0.0] * value], **same_law(value)) if sweep == "d" else own.equation()
        works[str(value)] = Ours(equation, seeds, tile=value if sweep == "x at once" else None, **own.keywords())
        memory[str(value)] = works[str(value)].memory()
    seconds = alternate(works, rounds, least)
    found = {"values": list(SWEEPS[sweep][1]), "seconds": list(seconds.values()), "bytes": list(memory.values())}
    if sweep == "x at once":
        own, seeds = setting(sweep, LARGE)
        found["chosen"] = Ours(own.equation(), seeds, **own.keywords()).training.one_step.sharing.tile or LARGE
    return found


def same_law(d: int) -> dict[str, Any]:
    """Centres in the unit ball and r^d uniform, also in the plane."""
    return {"centers": fr.Ball((0.0,) * d, 1.0), "radii": fr.PowerLaw(0.0, 1.0, power=float(d))}


def one_process(rounds: int, least: float, seeds: int) -> None:
    """What a process with its own number of devices prints: seconds of all rounds."""
    own = case("poisson-2", "delayed")
    work = Ours(own.equation(), seeds, **own.keywords())
    print(json.dumps(alternate({"one": work}, rounds, least)["one"]))


def over_devices(rounds: int, least: float, seeds: int = 16) -> dict[str, Any]:
    """1 and 2 devices, in processes that take turns: a round is one process of each."""
    seconds: list[list[float]] = [[] for _ in DEVICES]
    for _ in range(max(2, rounds // 3)):
        for index, count in enumerate(DEVICES):
            command = [sys.executable, str(Path(__file__)), "--process", str(count), "--rounds", "3", "--seconds", str(least)]
            done = subprocess.run([*command, "--seeds", str(seeds)], capture_output=True, text=True, check=True)
            seconds[index] += json.loads(done.stdout)
            say(f"devices = {count}: {number(seconds[index][-1])} s a step")
    return {"values": list(DEVICES), "seconds": seconds, "bytes": []}


def results(rows: dict[str, Any]) -> str:
    """A line for each value, and the exponents."""
    lines, fits = [], []
    for sweep, row in rows.items():
        medians = [Spread.of(rounds).median for rounds in row["seconds"]]
        for index, value in enumerate(row["values"]):
            seeds = value if sweep == "seeds" else 16 if sweep == "devices" else BASE_SEEDS
            spread = Spread.of([1000 * s / seeds for s in row["seconds"][index]])
            memory = f"{row['bytes'][index] / 2**20:.1f}" if row["bytes"] else "–"
            lines.append([sweep, value, spread, f"{medians[index] / medians[0]:.2f}", memory])
        upper = len(row["values"]) // 2 if len(row["values"]) > 2 else 0
        cells = [f"{exponent(row['values'], medians):.2f}", f"{exponent(row['values'][upper:], medians[upper:]):.2f}"]
        fits.append([sweep, *cells, f"{exponent(row['values'], row['bytes']):.2f}" if row["bytes"] else "–"])
    d = rows.get("d", {})
    body = [
        f"Measured with {machine('fredholm', 'jax')}.",
        table(["swept", "time ∝ value^p, all", "upper half", "memory ∝ value^p"], fits),
        table(["swept", "value", "ms for a seed-step", "time of the step / first", "MiB"], lines),
    ]
    large = rows.get("x at once", {})
    if large:
        fastest = min(range(len(large["values"])), key=lambda index: Spread.of(large["seconds"][index]).median)
        gain = Spread.of(ratios(large["seconds"][-1], large["seconds"][fastest]))
        body.append(
            f"A step with {LARGE} x and 100 nodes each is fastest with {large['values'][fastest]} x at once: {gain} times as fast as with "
            f"all, in {large['bytes'][fastest] / large['bytes'][-1]:.3f} of the memory; fredholm chooses {large['chosen']}."
        )
    if {10, 30} <= set(d.get("values", [])):
        ten, thirty = (d["seconds"][d["values"].index(value)] for value in (10, 30))
        body.append(f"A step at d = 30 takes {Spread.of(ratios(thirty, ten))} times as long as one at d = 10.")
    return "\n\n".join(body)


def picture(rows: dict[str, Any]) -> None:
    """Time and memory over each swept quantity."""
    with house_style():
        figure = new_figure(max(3.6, 2.0 * len(rows)), 4.6)
        grid = figure.subplots(2, len(rows), squeeze=False)
        for column, (sweep, row) in enumerate(rows.items()):
            spreads = [Spread.of(rounds) for rounds in row["seconds"]]
            top, bottom = grid[0][column], grid[1][column]
            top.plot(row["values"], [1000 * s.median for s in spreads], "o-", color=PALETTE[1], markersize=3)
            top.fill_between(row["values"], [1000 * s.low for s in spreads], [1000 * s.high for s in spreads], alpha=0.2, color=PALETTE[1])
            top.set_title(sweep)
            bottom.set_xlabel(sweep)
            if row["bytes"]:
                bottom.plot(row["values"], [b / 2**20 for b in row["bytes"]], "o-", color=PALETTE[2], markersize=3)
            else:
                bottom.set_visible(False)
            for axes, shown in ((top, [s.median for s in spreads]), (bottom, row["bytes"] or [1])):
                ticks(axes, row["values"])
                if max(shown) > 10 * min(shown):
                    axes.set_yscale("log")
                else:
                    axes.set_ylim(0.0, 1.08 * axes.get_ylim()[1])  # a logarithmic axis of less than a decade has no numbers on it
        grid[0][0].set_ylabel("ms a step, all seeds")
        grid[1][0].set_ylabel("MiB")
        finish(figure, FIGURES / "benchmark-scaling.png")


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--sweep", nargs="+", choices=(*SWEEPS, "devices"), default=(*SWEEPS, "devices"))
    parser.add_argument("--process", type=int, default=None, help="for the benchmark's own use: so many devices in this process")
    parser.add_argument("--seeds", type=int, default=16, help="seeds of --process")
    options = parser.parse_args()
    fr.use_all_cores(options.process)
    if options.process is not None:
        one_process(options.rounds, options.seconds, options.seeds)
        return
    rows = {sweep: measure(sweep, options.rounds, options.seconds) for sweep in options.sweep if sweep != "devices"}
    if "devices" in options.sweep:
        rows["devices"] = over_devices(options.rounds, options.seconds)
    if options.write:
        found = write_raw("scaling", rows, keep=True)
        rows = {sweep: found[sweep] for sweep in (*SWEEPS, "devices") if sweep in found}
        picture(rows)
        write_part("scaling", f"![time and memory over each quantity](figures/benchmark-scaling.png)\n\n{results(rows)}")
    print(results(rows))


if __name__ == "__main__":
    main()
