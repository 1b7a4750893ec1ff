"""How many digits a network reaches with `fr.GaussNewton()`, and the plain call with a series: `python benchmarks/digits.py [--write]`.

Beside the zoo there are the equations of benchmarks/equations.py: those from the documentation of idesolver, NeuralPDE and DeepXDE, and
with `--more` all others. Peers are in benchmarks/peers.py. A row is written as soon as it is measured.

The smooth equations of the zoo and `fr.MLP(32, 2, "tanh")`, from the call that a user writes; medians over 4 seeds, all of them trained at
once. Seconds include everything, compilation too. First-order: what `fr.solve` does for a network where nothing else is given (a pilot
chooses nodes and batch, Muon, 2000 steps, float32).
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from equations import MORE, OTHERS
from harness import arguments, machine, read_raw, say, table, write_part, write_raw

import fredholm as fr

SEEDS = 4
NETWORK = fr.MLP(32, 2, "tanh")
PROBLEMS: dict[str, Callable[[], fr.Equation]] = {
    "Volterra": fr.problems.Volterra,
    "Volterra 2": fr.problems.Volterra2,
    "Fredholm, nonlinear": fr.problems.FredholmNonlinear,
    "Fredholm, second kind": fr.problems.FredholmSecondKind,
    "parabolic": fr.problems.Parabolic,
}
PLAIN = "fr.solve(problem)"
ONLY_PLAIN: dict[str, Callable[[], fr.Equation]] = {
    "Fredholm, first kind": fr.problems.FredholmFirstKind,
    "coagulation, constant kernel": fr.problems.SmoluchowskiConstant,
    "coagulation, Golovin": fr.problems.SmoluchowskiGolovin,
    "fractional interval": fr.problems.FractionalInterval,
    "transport slab": fr.problems.TransportSlab,
    **OTHERS,
}
WAYS: dict[str, dict[str, Any]] = {
    "GaussNewton()": {"optimizer": fr.GaussNewton()},
    "first order": {"method": fr.Auto(), "steps": 2000},
    PLAIN: {"network": None},
}


def measure(make: Callable[[], fr.Equation], keywords: dict[str, Any]) -> dict[str, Any]:
    """The errors of all seeds, by the metric of the problem, and the seconds of the whole call."""
    problem = make()
    assert problem.evaluation is not None
    begin = time.perf_counter()
    solution = fr.solve(problem, seeds=SEEDS, progress=False, throw=False, **{"network": NETWORK, **keywords})
    seconds = time.perf_counter() - begin
    return {"errors": solution.evaluate()[problem.evaluation.score].tolist(), "seconds": seconds, "steps": solution.record.done}


def main() -> None:
    """Measures, prints, and writes the page if asked to; what --only and --ways leave out stays as it was."""
    parser = arguments(__doc__)
    everything = {**PROBLEMS, **ONLY_PLAIN, **MORE}
    parser.add_argument("--only", nargs="+", choices=everything, help="these problems")
    parser.add_argument("--more", action="store_true", help="the equations of MORE as well")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="these ways")
    options = parser.parse_args()
    fr.use_all_cores()
    rows = read_raw("digits")
    for name in options.only or [*PROBLEMS, *ONLY_PLAIN, *(MORE if options.more else ())]:
        rows.setdefault(name, {})
        for way in options.ways:
            if name not in PROBLEMS and way != PLAIN:
                continue
            rows[name][way] = measure(everything[name], WAYS[way])
            say(f"{name}, {way}: {rows[name][way]}")
        if options.write:
            write_raw("digits", rows)
    lines = []
    for name in (name for name in everything if name in rows):
        for way, found in rows[name].items():
            errors = np.asarray(found["errors"])
            lines.append([name, way, f"{np.median(errors):.1e}", f"{errors.max():.1e}", found["steps"], f"{found['seconds']:.0f}"])
    columns = ["problem", "steps by", "median error", "worst seed", "steps", "seconds, 4 seeds"]
    body = f"Measured with {machine('fredholm', 'jax')}; {SEEDS} seeds; relative errors.\n\n{table(columns, lines)}"
    if options.write:
        write_part("digits", body)
    print(body)


if __name__ == "__main__":
    main()
