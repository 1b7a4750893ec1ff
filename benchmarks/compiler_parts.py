"""What each clever part of the compiled step is worth: `python benchmarks/compiler_parts.py [--write]`.

Every part is taken away by itself, by a patch that is in force while the step is compiled. The step without it takes turns with the step as
it is, in one run. Some parts are for some steps only: tiles for a batch that does not fit into a core's cache, blocks for many seeds,
`evaluated` for delayed targets in the weak form. Where a part changes nothing of what the compiler gets, nothing is timed.

A part that makes steps faster by less than 15 % in the median is not worth a reader's time, and goes. Gone are SiLU in closed form, a cache
of evaluations of u, programs within a program, vectors of 512 bits, custom C++ kernels, layer primitives and random numbers of our own;
their numbers are in docs/benchmarks.md, section "Compiler parts".
"""

import contextlib
import statistics
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from cases import LABELS, TITLES, case
from harness import alternate, arguments, machine, ratios, say, table, write_part, write_raw
from jax.interpreters import mlir
from ours import Ours

import fredholm as fr
from fredholm.functions import mlp, rows_times
from fredholm.methods import delayed_target
from fredholm.training import training

PAPER = (
    "poisson-2/standard-100",
    "poisson-2/delayed",
    "poisson-10/delayed",
    "maxwell/delayed",
    "smoluchowski/delayed",
    "smoluchowski/standard-1",
)


def second_order() -> fr.Equation:
    """A system whose f holds u with its first and second derivative."""
    return fr.Equation(
        domain=fr.Interval(0.0, 1.0),
        f=lambda u, x: fr.derivative(u, x, order=2) + fr.derivative(u, x) + u(x),
        integrals=fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: u(t) + fr.derivative(u, t)),
        outputs=2,
    )


def lines() -> dict[str, Callable[[], Ours]]:
    """What is timed, by name."""
    found: dict[str, Callable[[], Ours]] = {}
    for name in PAPER:
        problem, method = name.split("/")
        own = case(problem, method)
        found[f"{TITLES[problem]}; {LABELS[method]}"] = lambda own=own: Ours(own.equation(), 4, **own.keywords())
    general: Any = {"method": fr.Standard(), "rule": fr.Gauss(8), "network": fr.MLP(64, 3, "tanh"), "batch": 100, "average": 0.0}
    found["Volterra; u' + u in f"] = lambda: Ours(fr.problems.Volterra(), 4, **general)
    found["a system; u'' + u' + u in f"] = lambda: Ours(second_order(), 4, **general)
    large: Any = {"method": fr.Standard(), "rule": fr.MonteCarlo(100), "batch": 400, "average": 0.0}
    found["Poisson, d=2; 400 x with 100 nodes"] = lambda: Ours(fr.problems.Poisson(), 4, **large)
    own = case("maxwell", "delayed")
    found["Maxwell; delayed target, 32 seeds"] = lambda: Ours(own.equation(), 32, **own.keywords())
    return found


@contextlib.contextmanager
def plain_columns() -> Iterator[None]:
    """The transposed product as XLA makes it by itself."""

    def multiply(x: Any, y: Any) -> Any:
        return rows_times.as_rows(x).T @ rows_times.as_rows(y)

    def register(compute: Callable[..., Any]) -> None:
        # The module registers its own when it is imported.
        mlir.register_lowering(rows_times._columns_times, mlir.lower_fun(compute, multiple_results=False))

    with mock.patch.object(rows_times, "_multiply_columns", multiply):
        register(multiply)
        try:
            yield
        finally:
            register(OWN_COLUMNS)


OWN_COLUMNS = rows_times._multiply_columns
AS_IT_IS = "as it is"
PARTS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "`rows_times`, one product under every batch": lambda: mock.patch.object(mlp, "rows_times", lambda x, weights: x @ weights),
    "the narrower factor transposed": plain_columns,
    "a large batch in tiles": lambda: mock.patch.object(training, "shared_out", lambda step, *given: step),
    "seeds in blocks": lambda: mock.patch.object(training, "seeds_at_once", lambda seeds, largest: seeds),
    "`evaluated`, value and derivative from one pass": lambda: mock.patch.object(delayed_target, "evaluated", lambda u, x: u),
}


def built(line: Callable[[], Ours], part: Callable[[], AbstractContextManager[Any]]) -> tuple[Ours, str]:
    """A training whose step is compiled without the part, and what the compiler got."""
    with part():
        made = line()
        made(1)
        made(1)  # the second chunk gets the arrays of the first: should that be compiled again, it is here
        return made, made.lowered().as_text()


def measure(line: Callable[[], Ours], parts: dict[str, Callable[[], AbstractContextManager[Any]]], rounds: int, least: float) -> Any:
    """By how many per cent a step gets slower without each part that it has, in every round."""
    own, text = built(line, contextlib.nullcontext)
    works = {AS_IT_IS: own}
    for name, part in parts.items():
        without, other = built(line, part)
        if other != text:
            works[name] = without
    seconds = alternate(works, rounds, least)
    whole = seconds.pop(AS_IT_IS)
    return {name: [100 * (ratio - 1) for ratio in ratios(found, whole)] for name, found in seconds.items()}


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = arguments(__doc__)
    parser.set_defaults(rounds=5)
    parser.add_argument("--only", nargs="+", metavar="PART", help="parts whose names hold one of these words")
    parser.add_argument("--line", nargs="+", metavar="LINE", help="lines whose names hold one of these words")
    options = parser.parse_args()
    fr.use_all_cores()

    def is_chosen(name: str, words: list[str] | None) -> bool:
        return not words or any(word in name for word in words)

    parts = {name: part for name, part in PARTS.items() if is_chosen(name, options.only)}
    slower: dict[str, dict[str, list[float]]] = {name: {} for name in parts}
    for line, make in lines().items():
        if not is_chosen(line, options.line):
            continue
        found = measure(make, parts, options.rounds, options.seconds)
        for name, values in found.items():
            slower[name][line] = values
        say(f"{line}: " + ", ".join(f"{name} {statistics.median(values):+.0f} %" for name, values in found.items()))
    body = report(slower)
    if options.write:
        write_raw("compiler_parts", slower)
        write_part("compiler_parts", body)
    print(body)


def report(slower: dict[str, dict[str, list[float]]]) -> str:
    """The table: a row for each part, a column for each line, and the median of the lines that have the part."""
    names = [line for line in lines() if any(line in found for found in slower.values())]
    rows = []
    for part, found in slower.items():
        medians = {line: statistics.median(values) for line, values in found.items()}
        over_all = f"{statistics.median(medians.values()):+.0f} %" if medians else "–"
        rows.append([part, over_all, *(f"{medians[line]:+.0f} %" if line in medians else "–" for line in names)])
    told = "–: the step does not have the part."
    return f"Measured with {machine('jax', 'jaxlib')}. {told}\n\n" + table(["taken away", "steps get slower by, median", *names], rows)


if __name__ == "__main__":
    main()
