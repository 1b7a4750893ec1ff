"""What a user waits for before the first step: `python benchmarks/startup.py [--write]`.

Every number is of a fresh process. The first training of a problem is timed with an empty compilation cache (cold) and again, in another
process, with the cache that the first one filled (warm). The cache is a folder of its own for each pair, so that nothing else can help.
The size of the install is that of the files of fredholm and of all that it requires, as pip recorded them.
"""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from harness import Spread, arguments, machine, say, table, write_part, write_raw

PROBLEMS = {
    "Poisson, d=2": "fr.problems.Poisson().as_published()",
    "Poisson, d=10": "fr.problems.Poisson(10).as_published()",
    "Maxwell": "fr.problems.Maxwell().as_published()",
    "Smoluchowski, d=1": "fr.problems.Smoluchowski(1).as_published()",
    "Smoluchowski, d=2": "fr.problems.Smoluchowski(2).as_published()",
    "Smoluchowski, d=3": "fr.problems.Smoluchowski(3).as_published()",
}
# The published method of each, a delayed target, and on one problem the others.
OTHERS = {
    "standard, N=100": "method=fr.Standard(), rule=fr.MonteCarlo(100), batch=8, ",
    "double sampling": "method=fr.DoubleSampling(), rule=fr.MonteCarlo(2), ",
}
ROWS = {
    **{name: (problem, "") for name, problem in PROBLEMS.items()},
    **{f"Maxwell, {name}": (PROBLEMS["Maxwell"], given) for name, given in OTHERS.items()},
}
# One training in a fresh process. What is timed is public: a solve of a single step, and one more in the same process, compiled too.
CHILD = """
import json, time
begin = time.perf_counter()
import fredholm as fr
imported = time.perf_counter()
fr.use_all_cores()
problem = {problem}
made = time.perf_counter()
fr.solve(problem, {given}steps=1, seeds=4, progress=False)
done = time.perf_counter()
print(json.dumps({{"import": imported - begin, "problem": made - imported, "first": done - made}}))
"""
# The compilation of the step alone, without that of the first networks and of the records.
COMPILE = """
import json, time
import fredholm as fr
from fredholm.training.training import Training
from fredholm.training.settings import settings_of
fr.use_all_cores()
problem = {problem}
training = Training(settings_of(problem, {given}steps=10**9, record_every=10**9, seeds=4))
begin = time.perf_counter()
training.advance(1)
print(json.dumps({{"compile": time.perf_counter() - begin}}))
"""


def child(script: str, cache: str) -> dict[str, float]:
    """What the script prints, and the seconds from the start of the process to its end."""
    settings = {
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, **settings}, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return {**json.loads(done.stdout.splitlines()[-1]), "all": time.perf_counter() - begin}


def required(name: str, seen: set[str]) -> set[str]:
    """A distribution and all that it requires, without extras."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in seen:
        return seen
    try:
        needs = importlib.metadata.requires(key) or []
    except importlib.metadata.PackageNotFoundError:
        return seen  # a requirement of another platform
    seen.add(key)
    for need in needs:
        if "extra ==" not in need:
            required(re.split(r"[^A-Za-z0-9_.-]", need.strip(), maxsplit=1)[0], seen)
    return seen


def size(names: set[str]) -> int:
    """Bytes of the files that pip recorded for these distributions."""
    files = (file for name in names for file in importlib.metadata.files(name) or ())
    paths = {os.path.realpath(str(file.locate())) for file in files}
    return sum(os.path.getsize(path) for path in paths if os.path.isfile(path))


def source_size() -> int:
    """An editable install records no sources: those of fredholm itself, as a wheel would have them."""
    import fredholm

    folder = os.path.dirname(fredholm.__file__)
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names if not name.endswith(".pyc"))


def sizes() -> Iterator[tuple[str, float, int]]:
    """The name, MiB and number of distributions of each install."""
    for name in ("fredholm", "torchphysics", "jinns", "pina-mathlab", "deepxde"):
        names = required(name, set())
        if names:
            yield name, (size(names) + (source_size() if name == "fredholm" else 0)) / 2**20, len(names)


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = arguments(__doc__)
    parser.set_defaults(rounds=3)
    parser.add_argument("--problem", nargs="+", choices=list(ROWS), default=list(ROWS))
    options = parser.parse_args()
    rows: dict[str, dict[str, list[float]]] = {name: {} for name in options.problem}
    for _ in range(options.rounds):
        for name in options.problem:
            with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as other:
                for state in ("cold", "warm"):
                    problem, given = ROWS[name]
                    compiled = child(COMPILE.format(problem=problem, given=given), other)
                    found = {"compile": compiled["compile"], **child(CHILD.format(problem=problem, given=given), cache)}
                    for key, value in found.items():
                        rows[name].setdefault(f"{key}/{state}", []).append(value)
            say(f"{name}: " + ", ".join(f"{key} {values[-1]:.2f} s" for key, values in rows[name].items()))
    bare = [child("import json; print(json.dumps({}))", "")["all"] for _ in range(options.rounds)]
    installed: list[Any] = [list(one) for one in sizes()]
    body = report(rows, bare, installed)
    if options.write:
        write_raw("startup", {"rows": rows, "python": bare, "installed": installed})
        write_part("startup", body)
    print(body)


def report(rows: dict[str, dict[str, list[float]]], bare: list[float], installed: list[Any]) -> str:
    """The tables."""
    names = {
        "compile/cold": "compile the step, cold",
        "compile/warm": "warm cache",
        "first/cold": "`solve` of one step, cold",
        "first/warm": "warm cache",
        "all/cold": "the whole process, cold",
        "all/warm": "warm cache",
        "problem/cold": "the problem itself",
    }
    lines = [[name, *(Spread.of(row[key]) for key in names)] for name, row in rows.items()]
    imports = [value for row in rows.values() for key, values in row.items() if key.startswith("import/") for value in values]
    return "\n\n".join(
        [
            f"Measured with {machine('fredholm', 'jax', 'jaxlib')}. Seconds: median and quartiles.",
            f"`import fredholm`: {Spread.of(imports)} s; a Python process that does nothing: {Spread.of(bare)} s.",
            table(["problem", *names.values()], lines),
            table(["install", "MiB", "distributions"], [[name, f"{mebibytes:.0f}", count] for name, mebibytes, count in installed]),
        ]
    )


if __name__ == "__main__":
    main()
