"""Every node rule at an equal budget of points, on the Poisson problem in 2 and in 10 dimensions.

`python studies/rules_at_equal_budget.py 2` prints the first table, `... 10` the second.
"""

import sys

from rows import print_table, radial

import fredholm as fr


def plane() -> None:
    """About 800 evaluations of the network a step; in 2-D the surface is a circle, with one angle to integrate over."""
    delayed, rotated = fr.DelayedTarget(tau=0.99, regularization=1.0, split=100.0), fr.Rotation()
    rows = {
        "i.i.d., N = 1 (2 points)": {"method": fr.Standard(), "rule": fr.MonteCarlo(2), "batch": 400},
        "i.i.d., N = 100 (101 points)": {"method": fr.Standard(), "rule": fr.MonteCarlo(101), "batch": 8},
        "even, 32 nodes": {"method": fr.Standard(), "rule": fr.Even(32, rotated), "batch": 25},
        "QMC, 32 nodes": {"method": fr.Standard(), "rule": fr.QuasiMonteCarlo(32, randomize=rotated), "batch": 25},
        "Gauss, 32 nodes": {"method": fr.Standard(), "rule": fr.Gauss(32, rotated), "batch": 25},
        "Leja, 32 nodes": {"method": fr.Standard(), "rule": fr.Leja(32, rotated), "batch": 25},
        "Smolyak of Gauss, order 2 (3 nodes)": {"method": fr.Standard(), "rule": fr.Smolyak(fr.Gauss(1), 2, rotated), "batch": 266},
        "double sampling, even 8 + 8 nodes": {"method": fr.DoubleSampling(), "rule": fr.Even(8, rotated), "batch": 50},
        "delayed target, i.i.d. N = N' = 1": {"method": delayed, "rule": fr.MonteCarlo(1), "batch": 400},
        "delayed target, QMC N = N' = 8": {"method": delayed, "rule": fr.QuasiMonteCarlo(8, randomize=rotated), "batch": 50},
        "delayed target, even N = N' = 8": {"method": delayed, "rule": fr.Even(8, rotated), "batch": 50},
    }
    print_table("Poisson, d = 2", fr.problems.Poisson(), rows, steps=4000, seeds=4, optimizer=fr.Adam(1e-3, fr.Cosine()))


def ten() -> None:
    """About 1000 evaluations a step; nine angles, so that two nodes per axis are 512 nodes."""
    rotated = fr.Rotation()
    rows = {
        "i.i.d., N = 1 (2 points)": {"method": fr.Standard(), "rule": fr.MonteCarlo(2), "batch": 500},
        "i.i.d., N = 100 (101 points)": {"method": fr.Standard(), "rule": fr.MonteCarlo(101), "batch": 10},
        "even, 2^9 nodes": {"method": fr.Standard(), "rule": fr.Even(2, rotated), "batch": 2},
        "QMC, 101 nodes": {"method": fr.Standard(), "rule": fr.QuasiMonteCarlo(101, randomize=rotated), "batch": 10},
        "Gauss, 2^9 nodes": {"method": fr.Standard(), "rule": fr.Gauss(2, rotated), "batch": 2},
        "Leja, 2^9 nodes": {"method": fr.Standard(), "rule": fr.Leja(2, rotated), "batch": 2},
        "Smolyak of Gauss, 190 nodes": {"method": fr.Standard(), "rule": fr.Smolyak(fr.Gauss(1), 2, rotated, merge=False), "batch": 5},
        "Smolyak of Leja, 55 nodes": {"method": fr.Standard(), "rule": fr.Smolyak(fr.Leja(1), 2, rotated), "batch": 18},
        "delayed target, i.i.d. N = N' = 1": {"method": delayed(500.0), "rule": fr.MonteCarlo(1), "batch": 500},
        "delayed target, i.i.d. N = N' = 5": {"method": delayed(250.0), "rule": fr.MonteCarlo(5), "batch": 100},
        "delayed target, QMC N = N' = 5": {"method": delayed(250.0), "rule": fr.QuasiMonteCarlo(5, randomize=fr.Shift()), "batch": 100},
    }
    print_table("Poisson, d = 10", radial(10), rows, steps=8000, seeds=2, optimizer=fr.Adam(3e-3, fr.Cosine()))


def delayed(split: float) -> fr.DelayedTarget:
    """The published regulariser, with a target that follows fast enough for a short training."""
    return fr.DelayedTarget(tau=0.99, regularization=4.0, split=split)


if __name__ == "__main__":
    fr.use_all_cores()
    {"2": plane, "10": ten}[sys.argv[1]]()
