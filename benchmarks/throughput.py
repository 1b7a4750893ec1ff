"""Seed-steps per second beside PyTorch, as a share of the machine's sgemm peak: `python benchmarks/throughput.py [--write]`.

Every line is one problem, one method and one number of seeds; its peers take turns. Lines can be chosen (--problem, --method, --seeds,
--peer) and the whole has a budget (--minutes): with --write, lines that were not run keep the numbers of an earlier run.
"""

import datetime
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import agree
import numpy as np
import pytorch
import torch
from cases import LABELS, METHODS, PROBLEMS, TITLES, Case, case
from harness import FIGURES, Spread, Work, alternate, arguments, machine, number, ratios, say, table, ticks, write_part, write_raw
from ours import Ours

import fredholm as fr
from fredholm.report.plots.style import PALETTE, finish, house_style, new_figure

SEEDS = (4, 16, 1, 100)  # the first lines are those that matter most, should the time run out
PEERS = {"eager": "PyTorch, eager", "autograd": "PyTorch, autograd", "compile": "torch.compile", "loop": "a loop over seeds"}
SIZES = (512, 1024, 2048)  # of the square matrices of the sgemm peak


def sgemm() -> tuple[Work, float]:
    """The fastest matrix product of float32 that NumPy and PyTorch have to offer, and its FLOPs."""
    found: list[tuple[float, Work, float]] = []
    for size in SIZES:
        a, b = (np.random.default_rng(seed).standard_normal((size, size), np.float32) for seed in (0, 1))
        first, second, out, result = torch.tensor(a), torch.tensor(b), torch.empty(size, size), np.empty_like(a)
        one: dict[str, Callable[[], Any]] = {"NumPy": lambda a=a, b=b, o=result: np.matmul(a, b, out=o)}
        one["PyTorch"] = lambda a=first, b=second, o=out: torch.mm(a, b, out=o)
        for name, product in one.items():

            def work(steps: int, product: Callable[[], Any] = product) -> None:
                for _ in range(steps):
                    product()

            rate = 2 * size**3 / min(alternate({name: work}, 5, 0.1)[name])
            say(f"sgemm, {name}, {size}: {rate / 1e9:.0f} GFLOP/s")
            found.append((rate, work, 2.0 * size**3))
    _, work, flops = max(found, key=lambda one: one[0])
    return work, flops


def ready(own: Case, seeds: int, peer: str, alone: dict[str, Ours]) -> Work:
    """A peer of a line; a loop over seeds is one seed at a time, whatever their number is."""
    if peer == "fredholm":
        return Ours(own.equation(), seeds, **own.keywords())
    if peer == "loop":
        if own.name not in alone:
            alone[own.name] = Ours(own.equation(), 1, **own.keywords())
        return alone[own.name]
    if peer == "autograd":
        return pytorch.Trainer(own, seeds, derivatives=pytorch.with_gradients)
    torch._dynamo.reset()
    return pytorch.Trainer(own, seeds, compiled=peer == "compile")


def first_error(error: BaseException) -> str:
    """The line of a message that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:160] if lines else ''}"


def measure(own: Case, seeds: int, peers: list[str], peak: tuple[Work, float], alone: dict[str, Ours], rounds: int, least: float) -> Any:
    """One line: rates of all rounds by peer, the sgemm rate of the same rounds, and what failed."""
    works: dict[str, Work] = {"sgemm": peak[0]}
    first, failed = {}, {}
    for peer in peers:
        begin = time.perf_counter()
        try:
            works[peer] = ready(own, seeds, peer, alone)
            works[peer](1)
        except Exception as error:  # torch.compile has many ways to fail, and a peer that does is a result
            failed[peer] = first_error(error)
            works.pop(peer, None)
            say(f"  {peer}: {failed[peer]}")
        first[peer] = time.perf_counter() - begin
    seconds = alternate(works, rounds, least)
    rates = {peer: [(1 if peer == "loop" else seeds) / s for s in seconds[peer]] for peer in works if peer != "sgemm"}
    return {
        "problem": own.problem,
        "method": own.method,
        "seeds": seeds,
        "flops": own.flops,
        "peak": [peak[1] / s for s in seconds["sgemm"]],
        "rates": rates,
        "first": first,
        "failed": failed,
        "when": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
    }


def share(row: Any, peer: str = "fredholm") -> Spread:
    """The share of the sgemm peak."""
    return Spread.of([rate * row["flops"] / peak for rate, peak in zip(row["rates"][peer], row["peak"], strict=True)])


def percent(part: Spread) -> str:
    """A share with its quartiles."""
    return f"{part.median:.0%} ({part.low:.0%}–{part.high:.0%})"


def faster(row: Any, peer: str) -> Spread | None:
    """How many times as many seed-steps fredholm does."""
    rates = row["rates"]
    return Spread.of(ratios(rates["fredholm"], rates[peer])) if {"fredholm", peer} <= set(rates) else None


def results(rows: dict[str, Any]) -> str:
    """The table of all lines and what they come to."""
    ordered = sorted(rows.values(), key=lambda row: (PROBLEMS.index(row["problem"]), METHODS.index(row["method"]), row["seeds"]))
    lines = []
    for row in ordered:
        ours = row["rates"].get("fredholm")
        cells = [str(faster(row, peer) or ("failed" if peer in row["failed"] else "–")) for peer in PEERS]
        rate, part = (Spread.of(ours), percent(share(row))) if ours else ("–", "–")
        lines.append([TITLES[row["problem"]], LABELS[row["method"]], row["seeds"], rate, part, *cells])
    columns = ["problem", "method", "seeds", "seed-steps/s", "of sgemm", *(f"× {label}" for label in PEERS.values())]
    peaks = [rate for row in ordered for rate in row["peak"]]
    parts = [
        f"Measured with {machine('fredholm', 'jax', 'torch')}; sgemm peak {Spread.of([rate / 1e9 for rate in peaks])} GFLOP/s; "
        f"medians, with quartiles in brackets, of rounds in which the peers take turns. Runs of {', '.join(dates(ordered))}.",
        table(columns, lines),
        *summary(ordered),
    ]
    return "\n\n".join(parts)


def dates(rows: list[Any]) -> list[str]:
    """When the lines were measured."""
    return sorted({row["when"] for row in rows})


def summary(rows: list[Any]) -> Iterator[str]:
    """The numbers that the table comes to, and the messages of what failed."""
    for peer in PEERS:
        several = [found.median for row in rows if row["seeds"] >= 4 and (found := faster(row, peer))]
        if several:
            label = f"Against {PEERS[peer]}, lines with 4 seeds or more"
            yield f"{label}: median ×{number(statistics.median(several))}, least ×{number(min(several))}, most ×{number(max(several))}."
    flat = []
    for row in rows:
        same = [one for one in rows if (one["problem"], one["method"]) == (row["problem"], row["method"]) and "fredholm" in one["rates"]]
        few, many = ([one for one in same if one["seeds"] == seeds] for seeds in (4, 100))
        if row["seeds"] == 4 and few and many:
            flat.append(share(few[0]).median / share(many[0]).median)
    if flat:
        told = f"from {min(flat):.2f} to {max(flat):.2f}, median {statistics.median(flat):.2f}"
        yield f"Time per seed at 100 seeds over that at 4, both in units of the sgemm of their own rounds: {told}."
    messages = sorted({message for row in rows for message in row["failed"].values()})
    if messages:
        yield "What failed: " + "; ".join(f"`{message}`" for message in messages)


def picture(rows: dict[str, Any]) -> None:
    """Seed-steps per second over the number of seeds, a panel for every problem and method."""
    with house_style():
        figure = new_figure(11, 10)
        grid = figure.subplots(len(PROBLEMS), len(METHODS), squeeze=False)
        for i, problem in enumerate(PROBLEMS):
            for j, method in enumerate(METHODS):
                axes = grid[i][j]
                own = sorted((r for r in rows.values() if (r["problem"], r["method"]) == (problem, method)), key=lambda r: r["seeds"])
                for color, (peer, label) in zip(PALETTE, {"fredholm": "fredholm", **PEERS}.items(), strict=False):
                    with_peer = [row for row in own if peer in row["rates"]]
                    spreads = [Spread.of(row["rates"][peer]) for row in with_peer]
                    seeds = [row["seeds"] for row in with_peer]
                    axes.plot(seeds, [s.median for s in spreads], "o-", color=color, label=label, markersize=3)
                    axes.fill_between(seeds, [s.low for s in spreads], [s.high for s in spreads], color=color, alpha=0.2, linewidth=0)
                ticks(axes, [row["seeds"] for row in own] or [1])
                axes.set_title(f"{TITLES[problem]}\n{LABELS[method]}")
                axes.set_ylim(bottom=0)
                if i == len(PROBLEMS) - 1:
                    axes.set_xlabel("seeds")
                if j == 0:
                    axes.set_ylabel("seed-steps/s")
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=1 + len(PEERS))
        finish(figure, FIGURES / "benchmark-throughput.png")


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--problem", nargs="+", choices=PROBLEMS, default=PROBLEMS)
    parser.add_argument("--method", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--peer", nargs="+", choices=("fredholm", *PEERS), default=("fredholm", *PEERS))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no line is begun after that")
    parser.add_argument("--devices", type=int, default=None, help="CPU devices of JAX and threads of PyTorch: all cores unless given")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", module="torch")
    fr.use_all_cores(options.devices)
    torch.set_num_threads(options.devices or len(os.sched_getaffinity(0)))
    begin = time.perf_counter()
    cases = [case(problem, method) for problem in options.problem for method in options.method]
    agree.check(cases)
    lines = [(own, seeds) for seeds in options.seeds for own in cases]
    peak, alone, rows = sgemm(), {}, {}
    for done, (own, seeds) in enumerate(lines):
        if time.perf_counter() - begin > 60 * options.minutes:
            say(f"{options.minutes:g} minutes are over: {len(lines) - done} of {len(lines)} lines were not run.")
            break
        key = f"{own.name}/{seeds}"
        rows[key] = row = measure(own, seeds, list(options.peer), peak, alone, options.rounds, options.seconds)
        told = {peer: f"{faster(row, peer).median:.2f}" for peer in row["rates"] if peer != "fredholm" and faster(row, peer)}
        say(f"{key}: { ({p: round(statistics.median(r)) for p, r in row['rates'].items()}) } seed-steps/s, ratios {told}")
        if options.write:
            write_raw("throughput", {key: row}, keep=True)
    if options.write:
        rows = write_raw("throughput", {}, keep=True)
        picture(rows)
        write_part("throughput", f"![seed-steps per second](figures/benchmark-throughput.png)\n\n{results(rows)}")
    print(results(rows))


if __name__ == "__main__":
    main()
