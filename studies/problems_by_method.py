"""Every problem of the paper with every method, at the published settings and a short budget, beside the published errors.

`python studies/problems_by_method.py NAME` with poisson-2, poisson-5, poisson-10, maxwell, smoluchowski-1, -2 or -3 prints one table.
Points are counted as the published runs do: in the weak forms "N = 1" evaluates 2 points (settings A2).
"""

import sys

from rows import print_table, radial

import fredholm as fr

STANDARD, DOUBLE = fr.Standard(), fr.DoubleSampling()


def poisson_2() -> None:
    """The published batch of 800 evaluations a step."""
    rows = {
        "standard N=1": {"method": STANDARD, "rule": fr.MonteCarlo(2), "batch": 400, "published": "3.06e-3"},
        "standard N=100": {"method": STANDARD, "rule": fr.MonteCarlo(101), "batch": 8},
        "double sampling N=1": {"method": DOUBLE, "rule": fr.MonteCarlo(2), "batch": 400},
        "double sampling N=100": {"method": DOUBLE, "rule": fr.MonteCarlo(100), "batch": 8},
        "deterministic N=100": {"method": STANDARD, "rule": fr.Even(101, fr.Rotation()), "batch": 8, "published": "1.10e-4"},
        "delayed target N=1": {"batch": 400, "published": "4.7e-4"},
    }
    print_table("Poisson, d = 2", fr.problems.Poisson(), rows, steps=5000, seeds=4)


def poisson(dim: int, published: dict[str, str], **budget: int) -> None:
    """The published batches, with the score of Algorithm 2."""
    rows = {
        "standard N=1": {"method": STANDARD, "rule": fr.MonteCarlo(2), "batch": 500},
        "standard N=100": {"method": STANDARD, "rule": fr.MonteCarlo(101), "batch": 10},
        "double sampling N=1": {"method": DOUBLE, "rule": fr.MonteCarlo(2), "batch": 500},
        "double sampling N=100": {"method": DOUBLE, "rule": fr.MonteCarlo(100), "batch": 10},
        "deterministic (QMC) N=100": {"method": STANDARD, "rule": fr.QuasiMonteCarlo(101, randomize=fr.Rotation()), "batch": 10},
        "delayed target N=1": {"batch": 500},
    }
    rows = {name: {**row, "published": published[name]} for name, row in rows.items()}
    print_table(f"Poisson, d = {dim}", radial(dim), rows, **budget)


def maxwell() -> None:
    """The published batch of 800 evaluations a step, 880 for ten nodes."""
    rows = {
        "standard N=1": {"method": STANDARD, "rule": fr.MonteCarlo(2), "batch": 400, "published": ".0064"},
        "standard N=100": {"method": STANDARD, "rule": fr.MonteCarlo(101), "batch": 8, "published": ".0042"},
        "double sampling N=1": {"method": DOUBLE, "rule": fr.MonteCarlo(2), "batch": 400, "published": ".0045, .0122 at the end"},
        "double sampling N=100": {"method": DOUBLE, "rule": fr.MonteCarlo(100), "batch": 8},
        "deterministic N=10": {"method": STANDARD, "rule": fr.Even(11, fr.Rotation()), "batch": 80, "published": ".00126"},
        "delayed target N=1": {"batch": 400, "published": ".00184"},
    }
    print_table("Maxwell", fr.problems.Maxwell(), rows, steps=2500, seeds=2)


def smoluchowski(dim: int, published: dict[str, str]) -> None:
    """400 nodes a step. Double sampling takes 2 nodes or 100, and deterministic nodes serve the gain integral only (settings A6)."""
    problem = fr.problems.Smoluchowski(dim)
    midpoints = fr.Even({1: 100, 2: 10, 3: 5}[dim])
    mixed = fr.problems.Smoluchowski(dim, loss_rule=fr.MonteCarlo(100))
    rows = {
        "standard N=1": {"method": STANDARD, "rule": fr.MonteCarlo(1), "batch": 400},
        "standard N=100": {"method": STANDARD, "rule": fr.MonteCarlo(100), "batch": 4},
        "double sampling N=1": {"method": DOUBLE, "rule": fr.MonteCarlo(2), "batch": 200},
        "double sampling N=100": {"method": DOUBLE, "rule": fr.MonteCarlo(100), "batch": 4},
        "deterministic N=100": {"method": STANDARD, "rule": midpoints, "batch": 4, "problem": mixed},
        "QMC N=100, shifted": {"method": STANDARD, "rule": fr.QuasiMonteCarlo(100, randomize=fr.Shift()), "batch": 4},
        "delayed target N=1": {"rule": fr.MonteCarlo(1), "batch": 400},
    }
    rows = {name: {**row, "published": published.get(name, "")} for name, row in rows.items()}
    print_table(f"Smoluchowski, d = {dim}", problem, rows, steps={1: 5000, 2: 3000, 3: 3000}[dim], seeds=2)


FIVE = {
    "standard N=1": ".738",
    "standard N=100": ".0971",
    "double sampling N=1": ".599",
    "double sampling N=100": ".104",
    "deterministic (QMC) N=100": ".0469",
    "delayed target N=1": ".0652",
}
TEN = {
    "standard N=1": "1.12",
    "standard N=100": ".556",
    "double sampling N=1": "1.26",
    "double sampling N=100": ".699",
    "deterministic (QMC) N=100": ".433",
    "delayed target N=1": ".485",
}
TABLES = {
    "poisson-2": poisson_2,
    "poisson-5": lambda: poisson(5, FIVE, steps=2000, seeds=2),
    "poisson-10": lambda: poisson(10, TEN, steps=2000, seeds=2),
    "maxwell": maxwell,
    "smoluchowski-1": lambda: smoluchowski(1, {"standard N=1": ".371", "deterministic N=100": ".00181", "delayed target N=1": "9.7e-4"}),
    "smoluchowski-2": lambda: smoluchowski(2, {}),
    "smoluchowski-3": lambda: smoluchowski(3, {}),
}

if __name__ == "__main__":
    fr.use_all_cores()
    TABLES[sys.argv[1]]()
