"""Points and seeds over devices: `python benchmarks/devices.py [--write]`.

Ratios come from one run in which one device and all devices take turns: one seed, three seeds and four, with each published problem.
The part over virtual devices counts what the compiled program of a step exchanges, for 1 to 8 devices, each in a process of its own. It
measures no time, since virtual devices share the cores.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
from cases import TITLES, case
from harness import Spread, alternate, arguments, machine, number, ratios, say, table, write_part, write_raw
from ours import Ours

import fredholm as fr

LINES = {"poisson-2": "standard-100", "maxwell": "delayed", "smoluchowski": "delayed"}
SEEDS = (1, 3, 4)
VIRTUAL = (1, 2, 3, 4, 8)
COLLECTIVES = ("all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-permute")
SHAPE = re.compile(r"= (\w+)\[([\d,]*)\]\S* (" + "|".join(COLLECTIVES) + r")(?:-start)?\(")


def measure(problem: str, rounds: int, least: float) -> dict[str, Any]:
    """Seconds of a step on one device and on all, by the number of seeds, and the sgemm of the same rounds."""
    from throughput import sgemm  # with PyTorch, which the counting of exchanges does without

    own = case(problem, LINES[problem])
    peak, flops = sgemm()
    works: dict[str, Any] = {"sgemm": peak}
    for seeds in SEEDS:
        with jax.default_device(jax.devices()[0]):
            works[f"{seeds} on one"] = Ours(own.equation(), seeds, **own.keywords())
        works[f"{seeds} on all"] = Ours(own.equation(), seeds, **own.keywords())
    meshes = {str(seeds): dict(works[f"{seeds} on all"].training.layout.mesh.shape) for seeds in SEEDS}
    seconds = alternate(works, rounds, least)
    return {"seconds": seconds, "flops": own.flops, "peak": [flops / s for s in seconds["sgemm"]], "mesh": meshes}


def collectives(seeds: int) -> dict[str, Any]:
    """The exchanges inside of the loop over steps, by the HLO of the compiled chunk: how many, and their bytes."""
    work = Ours(case("poisson-2", "standard-100").equation(), seeds, **case("poisson-2", "standard-100").keywords())
    text = work.lowered().compile().as_text()
    found = [(kind, size(dtype, shape)) for dtype, shape, kind in SHAPE.findall(text)]
    return {"mesh": dict(work.training.layout.mesh.shape), "count": len(found), "bytes": sum(b for _, b in found), "kinds": sorted(found)}


def size(dtype: str, shape: str) -> int:
    """Bytes of an array as HLO writes it."""
    count = 1
    for length in filter(None, shape.split(",")):
        count *= int(length)
    return count * int(re.sub(r"\D", "", dtype) or 8) // 8


def over_virtual(seeds: int) -> dict[str, Any]:
    """What a step exchanges on 1 to 8 devices."""
    rows = {}
    for count in VIRTUAL:
        command = [sys.executable, str(Path(__file__)), "--process", str(count), "--seeds", str(seeds)]
        rows[str(count)] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
        say(f"{seeds} seed(s), {count} devices: {rows[str(count)]['count']} exchanges")
    return rows


def results(rows: dict[str, Any]) -> str:
    """Two tables."""
    lines = []
    for problem, row in rows["timed"].items():
        seconds = row["seconds"]
        four = Spread.of([4 * row["flops"] / s / p for s, p in zip(seconds["4 on all"], row["peak"], strict=True)]).median
        for seeds in SEEDS:
            gain = Spread.of(ratios(seconds[f"{seeds} on one"], seconds[f"{seeds} on all"]))
            share = Spread.of([seeds * row["flops"] / s / p for s, p in zip(seconds[f"{seeds} on all"], row["peak"], strict=True)]).median
            mesh = " × ".join(str(n) for n in row["mesh"][str(seeds)].values())
            lines.append([TITLES[problem], seeds, mesh, gain, f"{share:.0%}", f"{share / four:.2f}"])
    counted = [
        [seeds, count, " × ".join(str(n) for n in row["mesh"].values()), row["count"], number(row["bytes"])]
        for seeds, found in rows["counted"].items()
        for count, row in found.items()
    ]
    return "\n\n".join(
        [
            f"Measured with {machine('fredholm', 'jax')}.",
            table(["problem", "seeds", "seeds × points", "speed, all devices over one", "of sgemm", "of the share with 4 seeds"], lines),
            "What the compiled program of a chunk of steps exchanges; the exchange is inside of the loop over steps.",
            table(["seeds", "devices", "seeds × points", "exchanges", "bytes"], counted),
        ]
    )


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--problem", nargs="*", choices=list(LINES), default=list(LINES), help="those whose speed is measured")
    parser.add_argument("--process", type=int, default=None, help="for the benchmark's own use: so many devices in this process")
    parser.add_argument("--seeds", type=int, default=1, help="of --process")
    options = parser.parse_args()
    fr.use_all_cores(options.process)
    if options.process is not None:
        print(json.dumps(collectives(options.seeds)))
        return
    timed = {problem: measure(problem, options.rounds, options.seconds) for problem in options.problem}
    rows = {"timed": timed, "counted": {str(seeds): over_virtual(seeds) for seeds in (1, 3)}}
    if options.write:
        write_part("devices", results(write_raw("devices", rows)))
    print(results(rows))


if __name__ == "__main__":
    main()
