"""Error and time against the dimension: `python benchmarks/dimension.py [--write] [--line NAME ...] [--seeds S] [--again]`.

Figure 4's problem, one charge at the origin, by the settings of `problem.defaults` without each of their parts, beside the published best
error; and the problems in 100 dimensions. Each line is written when it ends, and one that has numbers is not run again without `--again`.
Times are those of the whole call with compilation, of all seeds together, on a machine that may have had other work: they say how long a
reader waits, not more.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from harness import FIGURES, arguments, exponent, machine, number, read_raw, say, table, write_part, write_raw

import fredholm as fr
from fredholm.common.statistics import bootstrap_interval
from fredholm.methods import AbstractMethod
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
METHODS = "methods, focused nodes"
ALL_PAIRS = fr.DoubleSampling("all")  # a focus is not found with the bias of the standard loss, which keeps u smooth
PLAIN = "charge, d=10"  # the line with the settings of the problem itself


def focused(n: int) -> fr.Focused:
    """Nodes that know where the charge is, in ten dimensions."""
    return fr.Focused(n, [[0.0] * 10])


def method(name: str, method: AbstractMethod, n: int, batch: int) -> Line:
    """A method of Figure 4 with the new nodes, at about a thousand evaluations a step."""
    return charges(10, name, method=method, rule=focused(n), batch=batch)._replace(group=METHODS)


# The most telling lines first: a run that is stopped has them. Of the problems in 100 dimensions the same in 10 come last, for the cost.
HUNDRED = {
    **hundred("ball", fr.problems.PoissonBall),
    **hundred("jump-diffusion", fr.problems.JumpDiffusion, "5e-3 at one point in 10 minutes (Lu et al.)"),
    **hundred("fractional Poisson", fr.problems.FractionalPoisson, "2.9e-2 in 12 to 35 minutes of an A100"),
    **hundred("basket", fr.problems.Basket),
}
LINES: dict[str, Line] = {
    PLAIN: charges(10, OURS),
    **{name: line for name, line in HUNDRED.items() if line.dim == 100},
    **{f"charge, d={d}": charges(d, OURS) for d in (5, 2)},
    "charge, d=10, learned focus": charges(10, "focus learned", rule=fr.LearnedFoci(16), method=ALL_PAIRS),
    "charge, d=5, learned focus": charges(5, "focus learned", rule=fr.LearnedFoci(16), method=ALL_PAIRS),
    # The methods of Figure 4 with the new nodes.
    "charge, d=10, double sampling": method("double sampling, all pairs", fr.DoubleSampling("all"), 16, 64),
    "charge, d=10, double sampling in halves": method("double sampling, two draws", fr.DoubleSampling(), 8, 64),
    "charge, d=10, standard N=1": method("standard, N = 1", fr.Standard(), 1, 1024),
    "charge, d=10, delayed target": method("delayed target, adaptive", fr.DelayedTarget(), 8, 64),
    "charge, d=10, delayed target N=1": method("delayed target, adaptive, N = 1", fr.DelayedTarget(), 1, 512),
    "charge, d=10, delayed target N=1, λM=50": method(
        "delayed target, N = 1, λM = 50", fr.DelayedTarget(tau=0.996, regularization=1.0, split=50.0), 1, 512
    ),
    "charge, d=10, delayed target N=1, published": method(
        "delayed target, N = 1, λM = 2000", fr.DelayedTarget(tau=0.996, regularization=4.0, split=500.0), 1, 512
    ),
    # Without each part, as many evaluations of u in a step.
    "charge, d=10, uniform nodes": charges(10, "uniform nodes", rule=fr.MonteCarlo(100), batch=10),
    "charge, d=10, uniform 64 x 16": charges(10, "uniform nodes, 64 × 16", rule=fr.MonteCarlo(16)),
    "charge, d=10, Adam": charges(10, "Adam", optimizer=fr.Adam(1e-3, fr.Cosine())),
    "charge, d=10, output not scaled": charges(10, "output not scaled", network=PLAIN_NETWORK),
    "charge, d=10, quasi": charges(10, "a lattice for each kind of nodes", rule=dataclasses.replace(focused(16), quasi=True)),
    **{f"charge, d={d}": charges(d, OURS) for d in (3, 20, 50)},
    **{name: line for name, line in HUNDRED.items() if line.dim == 10},
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
    steps = {name: one["seconds"] / one["steps"] for name, one in found.items() if name in LINES}
    pairs = [(name, name.replace("d=10", "d=100")) for name in steps if name.endswith("d=10") and name.replace("d=10", "d=100") in steps]
    costs = [f"{LINES[a].group} {exponent([10, 100], [steps[a], steps[b]]):.2f}" for a, b in pairs]
    cost = f"\n\nTime of a call per step grows like $d^p$ from d = 10 to 100, with p: {', '.join(costs)}." if costs else ""
    return f"{intro}\n\n{body}{cost}"


def picture(found: dict[str, Any]) -> None:
    """The error of Figure 4's problem against d, and that of every method with the new nodes in ten dimensions."""
    kinds = {kind: sorted(means(found, "one charge", kind).items()) for kind in (OURS, "focus learned")}
    curves = {"ours, 20,000 steps": kinds[OURS], "focus learned": kinds["focus learned"], "best published": sorted(PUBLISHED.items())}
    with house_style():
        figure = new_figure(6, 4)
        axes = figure.subplots()
        for (label, points), color in zip(curves.items(), PALETTE, strict=False):
            if points:
                axes.plot(*zip(*points, strict=True), color=color, marker="o", label=label)
        axes.set(yscale="log", xlabel="dimension", ylabel="standardised error", title="One charge (Figure 4)")
        axes.legend()
        finish(figure, FIGURES / "benchmark-dimension.png")
        names = [name for name, line in LINES.items() if (line.group == METHODS or name == PLAIN) and name in found]
        if not names:
            return
        figure = new_figure(7, 0.9 + 0.4 * len(names))
        axes = figure.subplots()
        for row, name in enumerate(reversed(names)):
            axes.plot(found[name]["errors"], [row] * len(found[name]["errors"]), "o", color=PALETTE[0])
        axes.axvline(PUBLISHED[10], color=PALETTE[1], linestyle="--")
        labels = ["standard, N = 16" if name == PLAIN else LINES[name].name for name in reversed(names)]
        axes.set_yticks(range(len(names)), labels)
        title = "One charge, d = 10, focused nodes; dashed: best published, 200,000 steps"
        axes.set(xscale="log", xlabel="standardised error of each seed", title=title)
        finish(figure, FIGURES / "benchmark-dimension-methods.png")


def means(found: dict[str, Any], group: str, name: str) -> dict[int, float]:
    """The mean error of the lines of this name, by their dimension."""
    known = [(LINES[key], one["errors"]) for key, one in found.items() if key in LINES]
    return {line.dim: float(np.mean(errors)) for line, errors in known if (line.group, line.name) == (group, name)}


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--line", nargs="+", choices=list(LINES), default=list(LINES), metavar="NAME", help=", ".join(LINES))
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--again", action="store_true", help="also lines that have numbers: without it they are kept")
    options = parser.parse_args()
    fr.use_all_cores()
    rows: dict[str, Any] = {} if options.again or not options.write else read_raw("dimension")
    for name in options.line:
        if name in rows and not options.again:
            continue
        rows[name] = measure(LINES[name], options.seeds)
        say(f"{name}: {rows[name]}")
        if options.write:  # each line as soon as it is known
            rows = write_raw("dimension", rows, keep=True)
            write(rows)
    print(results(rows))


def write(rows: dict[str, Any]) -> None:
    """The page and its pictures."""
    picture(rows)
    is_compared = any(LINES[name].group == METHODS for name in rows if name in LINES)
    methods = "\n![methods with focused nodes](figures/benchmark-dimension-methods.png)" if is_compared else ""
    write_part("dimension", f"![error against dimension](figures/benchmark-dimension.png){methods}\n\n{results(rows)}")


if __name__ == "__main__":
    main()
