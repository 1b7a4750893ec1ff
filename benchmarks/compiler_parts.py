"""What each clever part of the compiled step is worth: `python benchmarks/compiler_parts.py [--write]`.

Every part is taken away by itself, and the step without it takes turns with the step as it is, in one run. A part that makes steps faster
by less than 15 % in the median is not worth a reader's time, and goes (CONTRIBUTING.md).
"""

import contextlib
import statistics
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import jax
from cases import LABELS, TITLES, case
from harness import Spread, alternate, arguments, machine, ratios, say, table, write_part, write_raw
from ours import Ours

import fredholm as fr
from fredholm import activations, apart, linear, networks
from fredholm.training import devices, loop

PAPER = ("poisson-2/standard-100", "poisson-2/delayed", "poisson-10/delayed", "maxwell/delayed", "smoluchowski/delayed", "smoluchowski/standard-1")


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
        return linear.as_rows(x).T @ linear.as_rows(y)

    with mock.patch.object(linear, "_multiply_columns", multiply):
        linear.mlir.register_lowering(linear._columns_times, linear.mlir.lower_fun(multiply, multiple_results=False))
        yield
    linear.mlir.register_lowering(linear._columns_times, linear.mlir.lower_fun(linear._multiply_columns, multiple_results=False))


PARTS: dict[str, Callable[[], Any]] = {
    "`rows_times`, one product under every batch": lambda: mock.patch.object(networks, "rows_times", lambda x, weights: x @ weights),
    "a large batch in tiles": lambda: mock.patch.object(loop, "in_tiles", lambda program, *given: program),
    "SiLU with its derivative in closed form": lambda: mock.patch.dict(activations.ACTIVATIONS, {"silu": jax.nn.silu}),
    "a cache of evaluations of u": lambda: mock.patch.object(networks.Field, "remembering", lambda self: self),
    "the narrower factor transposed": plain_columns,
    "programs within a program": lambda: mock.patch.object(apart, "set_xla_metadata", lambda **given: contextlib.nullcontext()),
    "vectors of 512 bits": lambda: mock.patch.object(devices, "compiled_for_long", jax.jit),
    "seeds in blocks": lambda: mock.patch.object(loop, "seeds_at_once", lambda seeds, largest: seeds),
}


def built(line: Callable[[], Ours], part: Callable[[], Any] | None) -> Ours:
    """A training whose step is compiled without the part."""
    with contextlib.nullcontext() if part is None else part():
        made = line()
        made(1)
    return made


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = arguments(__doc__)
    parser.set_defaults(rounds=5)
    parser.add_argument("--only", nargs="+", metavar="PART", help="parts whose names hold one of these words")
    options = parser.parse_args()
    fr.use_all_cores()
    parts = {name: part for name, part in PARTS.items() if not options.only or any(word in name for word in options.only)}
    slower: dict[str, dict[str, list[float]]] = {name: {} for name in parts}
    for line, make in lines().items():
        works = {name: built(make, part) for name, part in {"as it is": None, **parts}.items()}
        seconds = alternate(works, options.rounds, options.seconds)
        for name in parts:
            slower[name][line] = [100 * (ratio - 1) for ratio in ratios(seconds[name], seconds["as it is"])]
        say(f"{line}: " + ", ".join(f"{name} {statistics.median(slower[name][line]):+.0f} %" for name in parts))
    body = report(slower)
    if options.write:
        write_raw("compiler_parts", slower)
        write_part("compiler_parts", body)
    print(body)


def report(slower: dict[str, dict[str, list[float]]]) -> str:
    """The table: a row for each part, a column for each line."""
    names = list(next(iter(slower.values())))
    rows = []
    for part, found in slower.items():
        medians = {line: statistics.median(values) for line, values in found.items()}
        rows.append([part, f"{statistics.median(medians.values()):+.0f} %", *(f"{medians[line]:+.0f} %" for line in names)])
    return f"Measured with {machine('jax', 'jaxlib')}.\n\n" + table(["taken away", "steps get slower by, median", *names], rows)


if __name__ == "__main__":
    main()
