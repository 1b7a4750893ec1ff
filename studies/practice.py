"""What people who train networks ask for, with and without: conditions by construction, weights, points, causal weights, time slabs.

    python studies/practice.py [CASE ...] [--scale 0.2] [--seeds 4] [--out runs/practice] [--write]

Every row is a run of a study with matched seeds: the same network, steps, points and nodes, and one part more. Runs that are finished are
not run again, so the study can be ended and continued at any time. `--write` puts the table into docs/practice.md.
"""

import argparse
import re
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import fredholm as fr
from fredholm.common.checks import nearest
from fredholm.common.statistics import bootstrap_interval
from fredholm.study import StudyFolder, make_run, outcomes, run_study
from fredholm.study.zoo import CASES as ZOO

PAGE = Path(__file__).parents[1] / "docs" / "practice.md"
BEGIN, END = "<!-- table -->", "<!-- end of the table -->"
BETTER = 0.8  # a part helps where the whole interval of the ratio lies below this
PARTS: dict[str, dict[str, Any]] = {
    "built-in conditions": {"built_in": True},
    "balanced": {"adapt": fr.Balanced()},
    "residual points": {"adapt": fr.ResidualPoints()},
    "causal": {"causal": True},
    "4 slabs": {"slabs": 4},
}
AXES = {
    "volterra": 0,
    "volterra 2": 0,
    "parabolic": 1,
    "smoluchowski, constant": 1,
    "smoluchowski, golovin": 1,
    "smoluchowski": 1,
    "long volterra": 0,
}

NAMES = (*ZOO, "poisson", "maxwell", "smoluchowski", "long volterra")


class LongVolterra(fr.Equation):
    r"""The zoo's Volterra equation, oscillating, on ten times its length: $u' = -\int_0^x u\,dt$ on [0, 50], u(0) = 1, so u = cos x."""

    def __init__(self):
        super().__init__(
            domain=fr.Interval(0.0, 50.0),
            f=lambda u, x: fr.derivative(u, x),
            integrals=fr.Integral(lambda x: fr.Interval(0.0, x[0]), lambda u, x, t: -u(t)),
            conditions=fr.Condition(fr.Point(0.0), 1.0),
            exact=lambda x: jnp.cos(x[0]),
            defaults=fr.Defaults(fr.Standard(), fr.Gauss(64), fr.MLP(32, 3, "tanh"), fr.Muon(), 10_000, 64, average=0.999),
        )


def problems() -> dict[str, tuple[fr.Equation | str, fr.Defaults]]:
    """The cases: those of the zoo with conditions, the paper's, and the long one; each with its settings."""
    found: dict[str, tuple[fr.Equation | str, fr.Defaults]] = {}
    for name, case in ZOO.items():
        problem = case.problem()
        found[name] = problem, case.recipe or problem.defaults
    for name, problem in (
        ("poisson", fr.problems.Poisson()),
        ("maxwell", fr.problems.Maxwell()),
        ("smoluchowski", fr.problems.Smoluchowski()),
    ):
        found[name] = problem, problem.defaults
    found["long volterra"] = f"{__file__}:LongVolterra", LongVolterra().defaults
    return found


def runs_of(name: str, seeds: int, scale: float) -> list[Any]:
    """The run without anything, and one with each part that makes sense."""
    given, chosen = problems()[name]
    problem = LongVolterra() if isinstance(given, str) else given
    assert chosen.steps is not None
    common: dict[str, Any] = {"rule": chosen.rule, "optimizer": chosen.optimizer, "batch": chosen.batch, "average": chosen.average}
    common |= {"steps": max(400, round(scale * chosen.steps)), "seeds": seeds, "network": chosen.network}
    runs = [make_run("none", given, chosen.method, **common)]
    for part, what in PARTS.items():
        own = dict(common)
        if "adapt" in what:
            own["adapt"] = what["adapt"]
        if "built_in" in what:
            own["network"] = fr.BuiltIn(chosen.network)
        if "slabs" in what or "causal" in what:
            if name not in AXES:
                continue
            own |= {"network": fr.Slabs(AXES[name], what["slabs"], chosen.network)} if "slabs" in what else {"adapt": fr.Causal(AXES[name])}
        if not problem.conditions and part in ("built-in conditions", "balanced"):
            continue
        runs.append(make_run(part, given, chosen.method, **own))
    return runs


def row(name: str, folder: StudyFolder) -> str:
    """A row of the table: the error without anything, and the ratio with each part, paired over the seeds."""
    found = outcomes(folder)
    if "none" not in found:
        return ""
    base = found["none"].scores[found["none"].metric]
    cells = []
    for part in PARTS:
        if part not in found:
            cells.append("–")
            continue
        own = found[part].scores[found[part].metric]
        if not found[part].good.all():
            cells.append("failed")
            continue
        ratio, low, high = np.exp(bootstrap_interval(np.log(own / base)))
        cells.append(f"**{ratio:.2f}** [{low:.2f}, {high:.2f}]" if high < BETTER else f"{ratio:.2f} [{low:.2f}, {high:.2f}]")
    return f"| {name} | {folder.about['steps']} | {base.mean():.1e} | {' | '.join(cells)} |"


def main() -> None:
    """Runs what is missing, prints the table, and writes it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="; ".join(NAMES))
    parser.add_argument("--scale", type=float, default=0.2, help="share of the steps of each recipe")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--out", type=Path, default=Path("runs/practice"))
    parser.add_argument("--write", action="store_true", help="put the table into docs/practice.md")
    parser.add_argument("--table", action="store_true", help="run nothing; the table of what is there")
    options = parser.parse_args()
    fr.use_all_cores()
    if unknown := [name for name in options.cases if name not in NAMES]:
        parser.error(str(nearest("problem", unknown[0], NAMES)))
    rows = []
    for name in options.cases or NAMES:
        place = options.out / re.sub(r"\W+", "-", name)
        if (place / "study.json").is_file():
            folder = StudyFolder.open(place)
        elif options.table:
            continue
        else:
            runs = runs_of(name, options.seeds, options.scale)
            folder = StudyFolder.create(place, f"Practice: {name}", runs, about={"steps": runs[0].settings.steps})
        if not options.table:
            run_study(folder)
        rows.append(row(name, folder))
    head = f"| problem | steps | error without | {' | '.join(PARTS)} |"
    text = "\n".join([head, "|---" * (3 + len(PARTS)) + "|", *filter(None, rows)])
    print(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
