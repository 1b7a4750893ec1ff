"""Error and time against the dimension: `python benchmarks/dimension.py [--write] [--line NAME ...] [--seeds S]`.

Figure 4's problem, one charge at the origin, by the settings of `problem.defaults` without each of their parts, beside the published best
error; and the problems in 100 dimensions. A line that is not run keeps its earlier numbers. Times are those of the whole call with
compilation, of all seeds together, on a machine that may have had other work: they say how long a reader waits, not more.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from harness import FIGURES, arguments, exponent, machine, number, say, table, write_part, write_raw

import fredholm as fr
from fredholm.common.statistics import bootstrap_interval
from fredholm.paper.reproduction.families import SCALES, single_charge
from fredholm.report.plots.style import PALETTE, finish, house_style, new_figure

# The best of the eleven methods of Figure 4 after 200 000 steps, and standard sampling with N = 100 there.
PUBLISHED = {2: 6.6e-4, 3: 5.6e-3, 5: 2.12e-2, 10: 1.45e-1}
OURS = "ours"


class Line(NamedTuple):
    """A training."""

    problem: Callable[[], fr.Equation]
    changes: dict[str, Any]  # keywords of `solve`; the rest is the problem's own
    score: str
    group: str  # of lines that are shown together
    name: str  # in its group
    dim: int
    goal: str = ""  # what others have


def charge(dim: int) -> fr.Equation:
    """Figure 4's problem."""
    return single_charge(SCALES["paper"], dim)


def charges(dim: int, name: str, **changes: Any) -> Line:
    """A line of Figure 4's problem."""
    published = f"{number(PUBLISHED[dim])} after 200,000 steps" if dim in PUBLISHED else ""
    return Line(lambda: charge(dim), changes, "mse_normalized", "one charge", name, dim, published)


def hundred(name: str, problem: Callable[..., fr.Equation], goal: str = "") -> dict[str, Line]:
    """The lines of a problem in 10 and in 100 dimensions."""
    return {f"{name}, d={d}": Line(lambda d=d: problem(d), {}, "relative_l2", name, OURS, d, goal if d == 100 else "") for d in (10, 100)}


PLAIN_NETWORK = fr.MLP(64, 5, "silu", scaled=False)
FOCUS = fr.Focused(16, [[0.0] * 10])
LINES: dict[str, Line] = {
    **{f"charge, d={d}": charges(d, OURS) for d in (2, 3, 5, 10, 20, 50)},
    # Without each part, as many evaluations of u in a step.
    "charge, d=10, uniform nodes": charges(10, "uniform nodes", rule=fr.MonteCarlo(100), batch=10),
    "charge, d=10, uniform 64 x 16": charges(10, "uniform nodes, 64 × 16", rule=fr.MonteCarlo(16)),
    "charge, d=10, Adam": charges(10, "Adam", optimizer=fr.Adam(1e-3, fr.Cosine())),
    "charge, d=10, output not scaled": charges(10, "output not scaled", network=PLAIN_NETWORK),
    # The methods of Figure 4 with the new nodes.
    "charge, d=10, double sampling": charges(10, "double sampling, all pairs", method=fr.DoubleSampling("all")),
    "charge, d=10, delayed target": charges(10, "delayed target", method=fr.DelayedTarget(), rule=dataclasses.replace(FOCUS, n=8)),
    "charge, d=10, delayed target N=1": charges(
        10, "delayed target, N = 1", method=fr.DelayedTarget(), rule=dataclasses.replace(FOCUS, n=1), batch=512
    ),
    **hundred("jump-diffusion", fr.problems.JumpDiffusion, "5e-3 at one point in 10 minutes (Lu et al.)"),
    **hundred("basket", fr.problems.Basket),
    **hundred("ball", fr.problems.PoissonBall),
    **hundred("fractional Poisson", fr.problems.FractionalPoisson, "2.9e-2 in 12 to 35 minutes of an A100"),
}


def measure(line: Line, seeds: int) -> dict[str, Any]:
    """The errors of all seeds at the end, and what they cost."""
    problem, begin = line.problem(), time.perf_counter()
    solution = fr.solve(problem, **line.changes, seeds=seeds, throw=False, progress=False)
    settings, method = solution.record.settings, line.changes.get("method", problem.defaults.method)
    rule = line.changes.get("rule", problem.defaults.rule)
    evaluations = method.evaluations(problem, problem.rules(rule)).of_step(line.changes.get("batch", problem.defaults.batch))
    errors = solution.evaluate()[line.score]
    return {
        "errors": [float(error) for error in errors],
        "seconds": time.perf_counter() - begin,
        "steps": settings.steps,
        "evaluations": evaluations,
    }


def row(name: str, found: dict[str, Any]) -> list[str]:
    """A line of the table."""
    line, errors = LINES[name], np.asarray(found["errors"])
    mean, low, high = bootstrap_interval(errors, least=0.0) if len(errors) > 1 else (errors[0], np.nan, np.nan)
    told = f"{mean:.2e} [{low:.1e}, {high:.1e}]" if len(errors) > 1 else f"{mean:.2e}"
    minutes = f"{found['seconds'] / 60:.1f}"
    return [
        line.group,
        str(line.dim),
        line.name,
        told,
        str(len(errors)),
        f"{found['steps']:,}",
        str(found["evaluations"]),
        minutes,
        line.goal,
    ]


def results(found: dict[str, Any]) -> str:
    """The table."""
    columns = ["problem", "d", "settings", "error", "seeds", "steps", "evaluations a step", "minutes", "others"]
    body = table(columns, [row(name, found[name]) for name in LINES if name in found])
    intro = f"Measured with {machine('fredholm', 'jax')}; 95 % intervals over seeds; one seed has none."
    steps = {name: one["seconds"] / one["steps"] for name, one in found.items()}
    pairs = [(name, name.replace("d=10", "d=100")) for name in steps if name.endswith("d=10") and name.replace("d=10", "d=100") in steps]
    costs = [f"{LINES[a].group} {exponent([10, 100], [steps[a], steps[b]]):.2f}" for a, b in pairs]
    cost = f"\n\nTime of a call per step grows like $d^p$ from d = 10 to 100, with p: {', '.join(costs)}." if costs else ""
    return f"{intro}\n\n{body}{cost}"


def picture(found: dict[str, Any]) -> None:
    """The error of Figure 4's problem against d."""
    ours = [(LINES[name].dim, float(np.mean(one["errors"]))) for name, one in found.items() if LINES[name][3:5] == ("one charge", OURS)]
    with house_style():
        figure = new_figure(6, 4)
        axes = figure.subplots()
        for label, points, color in (
            ("ours, 20,000 steps", sorted(ours), PALETTE[0]),
            ("best published", sorted(PUBLISHED.items()), PALETTE[1]),
        ):
            if points:
                axes.plot(*zip(*points, strict=True), color=color, marker="o", label=label)
        axes.set(yscale="log", xlabel="dimension", ylabel="standardised error", title="One charge (Figure 4)")
        axes.legend()
        finish(figure, FIGURES / "benchmark-dimension.png")


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--line", nargs="+", choices=list(LINES), default=list(LINES), metavar="NAME", help=", ".join(LINES))
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args()
    fr.use_all_cores()
    rows: dict[str, Any] = {}
    for name in options.line:
        rows[name] = measure(LINES[name], options.seeds)
        say(f"{name}: {rows[name]}")
        if options.write:
            rows = write_raw("dimension", rows, keep=True)
    if options.write:
        picture(rows)
        write_part("dimension", f"![error against dimension](figures/benchmark-dimension.png)\n\n{results(rows)}")
    print(results(rows))


if __name__ == "__main__":
    main()
