"""A guard against slowdowns, in about two minutes: `make bench-quick`, or `python benchmarks/quick.py`.

Three training steps of fredholm against the same steps in a plain JAX loop (`reference.py`), in turns. The ratio hardly depends on the
machine: above 1 fredholm is the faster, and a ratio that falls from one commit to the next is a slowdown.
"""

import statistics

from cases import LABELS, TITLES, case
from harness import Spread, alternate, arguments, number, ratios, say, table
from ours import Ours
from reference import Reference

import fredholm as fr

CASES = (("poisson-2", "standard-100"), ("poisson-2", "delayed"), ("smoluchowski", "delayed"))
CHUNK = 50  # steps of one call of the reference loop, a multiple of which is what a turn does


def main() -> None:
    """Measures and prints."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args()
    fr.use_all_cores()
    rows, found = [], []
    for problem, method in CASES:
        own = case(problem, method)
        say(f"{own.name}, {options.seeds} seeds ...")
        ours, reference = Ours(own.equation(), options.seeds, **own.keywords()), Reference(own, options.seeds, CHUNK)
        # In units of a chunk, so that both do the same number of steps.
        works = {"fredholm": lambda n, run=ours: run(n * CHUNK), "reference": lambda n, run=reference: run(n * CHUNK)}
        seconds = alternate(works, options.rounds, options.seconds)
        rates = {name: Spread.of([options.seeds * CHUNK / s for s in values]) for name, values in seconds.items()}
        ratio = Spread.of(ratios(seconds["reference"], seconds["fredholm"]))
        found.append(ratio.median)
        rows.append([TITLES[problem], LABELS[method], rates["fredholm"], rates["reference"], ratio])
    print(table(["problem", "method", "fredholm, seed-steps/s", "plain JAX, seed-steps/s", "fredholm / plain JAX"], rows))
    print(f"\nfredholm / plain JAX: least {number(min(found))}, median {number(statistics.median(found))}.")


if __name__ == "__main__":
    main()
