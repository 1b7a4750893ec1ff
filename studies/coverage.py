"""How often estimated errors and intervals contain the truth: `python studies/coverage.py`, which goes on where it was stopped.

Errors: 50 short trainings on the zoo, so that the errors vary, each network with its own estimate. A row is a problem; a trial is a seed.
Refined: the same networks with `solution.refined`: at how many points the interval contains the truth.
Scalars: data with fresh noise for a network that was trained on others; how often the interval contains the true scalar.
`--part errors scalars` chooses, `--rows 3` computes so many rows and stops, `--write` puts the table into docs/reliability.md.
"""

import argparse
import json
import logging
import math
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import fredholm as fr
from fredholm.study.zoo import CASES

HERE = Path(__file__).parent
KEPT = HERE / "coverage.json"
PAGE = HERE.parent / "docs" / "reliability.md"
PROBLEMS = [
    "volterra",
    "volterra 2",
    "fredholm, nonlinear",
    "fredholm, second kind",
    "fredholm, first kind",
    "parabolic",
    "fractional, interval",
    "transport slab",
    "smoluchowski, constant",
    "bellman, d=4",
]
SHARES = {0.01: [0, 1], 0.05: [2, 3, 4]}  # of the steps of the zoo's recipe: the seeds that train for so long
POINTS = 50  # at which refined values are compared
DRAWS = 20  # of the noise of data, for each line of scalars
SINGLE = 3e-6  # exact solutions are evaluated in single precision: a difference of this share of the largest value is none
RATE, NOISE = 1.3, 0.01


def errors(name: str) -> list[dict]:
    """A trial for each seed: the true error, the estimated one, and the share of points whose refined interval contains the truth."""
    case = CASES[name]
    problem = case.problem()
    chosen, found = case.recipe or problem.defaults, []
    points = problem.evaluation.points(1000)
    truth = np.asarray(problem.truth(points), float)
    for share, seeds in SHARES.items():
        keywords = {one: getattr(chosen, one) for one in ("rule", "network", "optimizer", "batch", "average")}
        steps = max(20, round(share * chosen.steps))
        begin = time.process_time()
        solution = fr.solve(problem, chosen.method, steps=steps, seeds=seeds, progress=False, throw=False, **keywords)
        solving = time.process_time() - begin
        members = np.asarray(solution.members(points), float).reshape(len(seeds), *truth.shape)
        for at, seed in enumerate(seeds):
            begin = time.process_time()
            estimate = solution.estimate(seed=seed)
            spent = time.process_time() - begin
            true = float(np.linalg.norm(members[at] - truth) / np.linalg.norm(truth))
            # What a full training takes, from this one: the estimate's share of it is an upper one, as compilation is scaled too.
            found.append(
                {"true": true, "estimate": estimate.error, "about": estimate.about, "spent": spent, "solving": solving / len(seeds)}
            )
        try:
            refined = solution.refined(points[:POINTS])
            slack, known = SINGLE * np.max(np.abs(truth)), truth[:POINTS].reshape(refined.value.shape)
            inside = float(np.mean((refined.low - slack <= known) & (known <= refined.high + slack)))
            better = float(
                np.linalg.norm(refined.value - known) / np.linalg.norm(np.asarray(solution(points[:POINTS])).reshape(known.shape) - known)
            )
        except ValueError:
            inside = better = math.nan
        found[-1] |= {"inside": inside, "better": better}
    return found


def scalars(sigma: float | None) -> list[dict]:
    """A trial for each draw of the noise: the interval of κ in u' + κ u = 0, u(0) = 1, from 20 data, by a network trained on the first."""
    t = np.linspace(0.1, 2.0, 20)

    def equation(draw: int) -> fr.Equation:
        values = np.exp(-RATE * t) + NOISE * np.random.default_rng(draw).normal(size=20)
        return fr.Equation(
            fr.Interval(0.0, 2.0),
            lambda u, x: fr.derivative(u, x) + u.kappa * u(x),
            conditions=[fr.Condition(fr.Point(0.0), 1.0), fr.Data(t[:, None], jnp.asarray(values), sigma=sigma)],
            unknowns={"kappa": 1.0},
        )

    network = fr.MLP(16, 2, "tanh")
    solution = fr.solve(equation(0), fr.Standard(), network=network, steps=500, batch=32, seeds=1, progress=False)
    found = []
    for draw in range(DRAWS):
        estimate = solution.estimate(problem=equation(draw))
        low, high = estimate.intervals.get("kappa", (math.nan, math.nan))
        found.append({"low": low, "high": high, "inside": bool(low <= RATE <= high)})
    return found


ROWS = {
    **{f"errors: {name}": (errors, name) for name in PROBLEMS},
    "scalars: sigma given": (scalars, NOISE),
    "scalars: sigma from the residuals": (scalars, None),
}


def table(kept: dict[str, list[dict]]) -> str:
    """The rows that are there as Markdown."""
    heads = ["problem", "trials", "true errors", "not available", "contained", "estimate / true, median", "most"]
    lines = [f"| {' | '.join([*heads, 'refined: points inside', 'error left'])} |"]
    lines.append("|" + "---|" * 9)
    everything = []
    for name in PROBLEMS:
        if (row := kept.get(f"errors: {name}")) is None:
            continue
        everything += row
        lines.append(_line(name, row))
    lines.append(_line("**all**", everything))
    for name, row in kept.items():
        if name.startswith("scalars"):
            widths = np.median([one["high"] - one["low"] for one in row])
            text = f"\nκ by a network, {name.partition(': ')[2]}: {sum(one['inside'] for one in row)} of {len(row)} intervals contain it; "
            lines.append(text + f"their median width is {widths:.3f}.")
    return "\n".join(lines)


def _line(name: str, row: list[dict]) -> str:
    given = [one for one in row if one["estimate"] == one["estimate"]]
    ratios = np.array([one["estimate"] / one["true"] for one in given]) if given else np.array([math.nan])
    inside = [one["inside"] for one in row if one.get("inside", math.nan) == one.get("inside", math.nan) and "inside" in one]
    better = [one["better"] for one in row if "better" in one and one["better"] == one["better"]]
    true = [one["true"] for one in row]
    cells = [name, len(row), f"{min(true):.0e} to {max(true):.0e}", len(row) - len(given), f"{int(np.sum(ratios >= 1))} of {len(given)}"]
    cells += [f"{np.median(ratios):.2g}", f"{np.max(ratios):.2g}"]
    cells += [f"{100 * np.mean(inside):.0f} %" if inside else "–", f"{np.median(better):.0e}" if better else "–"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    """Computes what is missing and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", nargs="*", default=["errors", "scalars"])
    parser.add_argument("--rows", type=int, default=len(ROWS))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    logging.getLogger("fredholm").setLevel(logging.ERROR)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    missing = [name for name in ROWS if name not in kept and name.partition(":")[0] in options.part]
    for name in missing[: options.rows]:
        function, argument = ROWS[name]
        kept[name] = function(argument)
        KEPT.write_text(json.dumps(kept, indent=1))
        print(name, *kept[name], sep="\n  ", flush=True)
    print(table(kept))
    if options.write:
        head, start, rest = PAGE.read_text().partition("<!-- coverage -->\n")
        _, end, tail = rest.partition("<!-- end of coverage -->")
        PAGE.write_text(f"{head}{start}{table(kept)}\n{end}{tail}")


if __name__ == "__main__":
    main()
