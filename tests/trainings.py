"""Short real trainings, run by test_training.py in processes of their own: `python trainings.py NAME` prints the errors as JSON.

The suite compiles without optimisation, which is right for tiny runs and four times slower for these; they have a little of it.
"""

import json
import sys

import fredholm as fr

SEEDS = [0, 1]
PUBLISHED = fr.DelayedTarget(tau=0.99, regularization=1.0)


def volterra():
    problem, keywords = fr.problems.Volterra(), {"steps": 1200, "seeds": SEEDS, "rule": fr.MonteCarlo(1)}
    return {
        "standard": fr.solve(problem, fr.Standard(), **keywords),
        "cured": fr.solve(problem, fr.DelayedTarget(), **keywords),
    }


def poisson():
    problem, optimizer = fr.problems.Poisson(), fr.Adam(4e-3, fr.Cosine())
    keywords = {"steps": 1000, "seeds": SEEDS, "network": fr.MLP(32, 3, scaled=False), "optimizer": optimizer}
    return {
        "standard": fr.solve(problem, fr.Standard(), rule=fr.MonteCarlo(2), batch=200, **keywords),
        "cured": fr.solve(problem, fr.Standard(), rule=fr.Even(17, fr.Rotation()), batch=24, **keywords),
    }


def maxwell():
    problem, optimizer = fr.problems.Maxwell(), fr.Adam(1e-2, fr.Cosine())
    keywords = {"steps": 1500, "seeds": SEEDS, "network": fr.MLP(32, 4, "silu", scaled=False), "optimizer": optimizer, "batch": 20}
    return {
        "standard": fr.solve(problem, fr.Standard(), rule=fr.MonteCarlo(1), **keywords),
        "cured": fr.solve(problem, fr.Standard(), rule=fr.Even(5, fr.Rotation()), **keywords),
    }


def smoluchowski():
    problem, keywords = fr.problems.Smoluchowski(), {"steps": 3000, "seeds": SEEDS, "rule": fr.MonteCarlo(1), "batch": 80}
    return {
        "standard": fr.solve(problem, fr.Standard(), **keywords),
        "cured": fr.solve(problem, PUBLISHED, **keywords),
    }


def main(name):
    fr.use_all_cores()
    solutions = {"volterra": volterra, "poisson": poisson, "maxwell": maxwell, "smoluchowski": smoluchowski}[name]()
    result = {}
    for method, solution in solutions.items():
        score = solution.problem.evaluation.score
        result[method] = {
            "error": solution.evaluate()[score].tolist(),
            "loss": solution.history["loss"].values[:, -1].tolist(),
            "excess": solution.history["excess_variance"].values[:, -10:].mean(axis=1).tolist(),
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
