# ruff: noqa: E501, RUF005 - lists of junk are long
"""An attack on the library with random input: `python attack.py [--seed N] [--examples N] [PART ...]`, without type checks at run time.

Parts: api (junk in constructors), text (damaged settings), line (junk on the command line), folders (flips, cuts and hostile values in a
run folder), kills (SIGKILL at random moments, then resume), memory (many solves in one process). The first four are quick. Each part
prints what it tried and how that ended; the last line is the count of failures, and so is the exit code. A seed repeats everything but
the moments of the kills.
"""

import argparse
import collections
import contextlib
import gc
import inspect
import io
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

import fredholm as fr
from fredholm.__main__ import main as command
from fredholm.equation.equation import Equation
from fredholm.storage.run_folder import RunFolder
from fredholm.storage.serialisation import SPECS, from_text

NAN, INF = float("nan"), float("inf")
NETWORK = fr.MLP(4, 1, "tanh", scaled=False)
JUNK = st.sampled_from(
    [None, True, 0, 1, 2, -1, 10**9, 10**400, 0.5, NAN, INF, -0.0, "", "a", "1", "\x00", b"b", (), [], {}, (0.0, 1.0), (NAN,), [[1.0], [1.0, 2.0]], {"a": 1}, 1j]
    + [np.array(1.0), np.array([1.0, NAN]), np.zeros((0, 2)), np.array(["a"]), object(), int, fr.MLP, len, lambda *_: None]
    + [fr.Interval(0.0, 1.0), fr.Point(0.0), fr.MonteCarlo(2), fr.Gauss(2), NETWORK, fr.Adam(), fr.Standard(), fr.Cosine(), fr.Shift()]
)  # fmt: skip
SLOW = {"Smoluchowski", "SmoluchowskiConstant", "SmoluchowskiGolovin"}  # their reference is a table that takes a while
CONSTRUCTORS = {
    **{name: spec for name, spec in SPECS.items() if not issubclass(spec, Equation)},
    **{one.__name__: one for one in (fr.Equation, fr.Integral, fr.Condition, fr.Periodic, fr.Data, fr.IntegralCondition, fr.View)},
}
TEXTS = [
    "DelayedTarget(tau=None, regularization=0.5, split=None, main=None, every=None, on='output')",
    "Scaled(network=MLP(width=4, depth=1, activation='tanh', scaled=False), center=(2.5,), radius=(2.5,), shift=(0.0,), size=(1.0,), units=())",
    "Adam(learning_rate=0.001, schedule=Cosine(floor=0.0), b1=0.9, b2=0.999, eps=1e-08)",
    "Smolyak(rule=Gauss(n=1, randomize=None), level=3, randomize=None, merge=True)",
    "Law(center=Box(low=(0.0, 0.0), high=(1.0, 1.0)), radius=PowerLaw(low=0.0, high=1.0, power=2.0), point=array([1.0], dtype='float32'))",
]
WORDS = [
    "solve",
    "compare",
    "resume",
    "report",
    "predict",
    "diagnose",
    "status",
    "study",
    "check",
    "list",
    "volterra",
    "poisson",
    "own.py:problem",
    "missing.py:x",
    "run",
    ".",
    "--help",
]
WORDS += [
    "--steps",
    "--batch",
    "--seeds",
    "--n",
    "--tau",
    "--rule",
    "--method",
    "--network",
    "--optimizer",
    "--out",
    "--grid",
    "--set",
    "--problem",
    "--width",
    "--precision",
]
WORDS += [
    "1e30",
    "-1",
    "nan",
    "inf",
    "0",
    "3,7",
    "4",
    "x",
    "",
    "\x00",
    "x0=0:1:1e12",
    "x0=nan:1:3",
    "x0=0,1",
    "dim=2",
    "dim=1e9",
    "a=[[[",
    "a=2024-01-01",
]
WORDS += [
    "MonteCarlo(",
    "Gauss(2)",
    "MLP(width=1e9)",
    "Even(__import__('os'))",
    "standard",
    "delayed-target",
    "float16",
    "u.nc",
    "u.csv",
    "study.yaml",
]


class Count:
    """How the inputs of a part ended."""

    def __init__(self, part):
        self.part, self.ends, self.bad = part, collections.Counter(), []

    def __call__(self, what, run):
        """Runs one input. A `ValueError` of one line is clear; anything else that is raised is raw."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                end = run()
        except ValueError as error:
            end = "clear error" if "\n" not in str(error) and len(str(error)) < 2000 else "raw"
            text = f"ValueError: {error}"
        except BaseException as error:
            end, text = "raw", f"{type(error).__name__}: {error}"
        else:
            end, text = end.partition(":")[0], end
        self.ends[end] += 1
        if end in ("raw", "silent"):
            self.bad.append(f"{self.part}: {end}: {str(what)[:200]}: {' '.join(text.split())[:200]}")

    def told(self):
        ends = ", ".join(f"{number} {end}" for end, number in sorted(self.ends.items()))
        return f"{self.part}: {sum(self.ends.values())} tried: {ends}"


def trying(count, seed, examples, strategy, run):
    @seeded(seed)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def attack(what):
        count(what, lambda: run(what))

    attack()


def api(count, seed, examples):
    names = sorted(set(CONSTRUCTORS) - SLOW)

    @st.composite
    def call(draw):
        name = draw(st.sampled_from(names))
        kinds = inspect.signature(CONSTRUCTORS[name]).parameters.values()
        plain = [one.name for one in kinds if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
        wanted = [one.name for one in kinds if one.name in plain and one.default is one.empty]
        return name, {one: draw(JUNK) for one in plain if one in wanted or draw(st.booleans())}

    def run(what):
        name, arguments = what
        CONSTRUCTORS[name](**arguments)
        return "accepted"

    trying(count, seed, examples, call(), run)


def mutated(draw, content):
    """Text or bytes with a few changes."""
    for _ in range(draw(st.integers(1, 3))):
        at, kind = draw(st.integers(0, max(0, len(content) - 1))), draw(st.sampled_from(["flip", "cut", "drop", "twice"]))
        if not content:
            return content
        if kind == "flip" and isinstance(content, bytes):
            content = content[:at] + bytes([content[at] ^ (1 << draw(st.integers(0, 7)))]) + content[at + 1 :]
        elif kind == "flip":
            content = content[:at] + draw(st.characters(max_codepoint=127)) + content[at + 1 :]
        elif kind == "cut":
            content = content[:at]
        elif kind == "drop":
            content = content[:at] + content[at + 1 :]
        else:
            content = content[:at] + content[at // 2 : at] + content[at:]
    return content


def text(count, seed, examples):
    @st.composite
    def damaged(draw):
        return mutated(draw, draw(st.sampled_from(TEXTS)))

    def run(what):
        from_text(what)
        return "accepted"

    trying(count, seed, examples, damaged(), run)


def line(count, seed, examples):
    from fredholm.cli import training

    def stopped(*_, **__):
        raise ValueError("enough")

    training.solve_equation = training.compare_methods = stopped

    def run(words):
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            try:
                code = command(words)
            except SystemExit as done:
                code = done.code
        if code == 0:
            return "done"
        return "clear error" if code in (1, 2) and ("usage" in out.getvalue() or error.getvalue().count("\n") <= 2) else "raw"

    head = st.sampled_from(WORDS[:10])
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        trying(count, seed, examples, st.builds(lambda one, rest: [one, *rest], head, st.lists(st.sampled_from(WORDS), max_size=6)), run)


def same(first, second):
    return (
        first.settings == second.settings
        and first.history.identical(second.history)
        and np.array_equal(*(one.members([[0.5]]) for one in (first, second)))
    )


def folders(count, seed, examples):
    with tempfile.TemporaryDirectory() as place:
        whole, run_of = Path(place) / "whole", Path(place) / "run"
        fr.solve(fr.problems.Volterra(), network=NETWORK, steps=20, batch=4, seeds=2, checkpoint_every=10, out=whole, progress=False)
        expected, names = fr.load(whole), ["run.json", "history.nc", "checkpoint-0.npz", "checkpoint-1.npz"]
        plain = json.loads((whole / "run.json").read_text())

        @st.composite
        def damage(draw):
            name = draw(st.sampled_from([*names, "a value"]))
            if name == "a value":
                return name, (
                    draw(st.sampled_from(sorted(set(plain) - {"digest"}))),
                    draw(st.sampled_from([None, True, -1, 10**30, NAN, "x", [], {}, [[]], "MLP(4, 1)", [0, 1]])),
                )
            return name, mutated(draw, (whole / name).read_bytes())

        def run(what):
            name, content = what
            shutil.rmtree(run_of, ignore_errors=True)
            shutil.copytree(whole, run_of)
            if name == "a value":
                key, value = content
                changed = {**{one: other for one, other in plain.items() if one != "digest"}, key: value}
                RunFolder(run_of).write_settings(changed)
                fr.load(run_of)
                return "accepted"
            (run_of / name).write_bytes(content)
            return "unharmed" if same(fr.load(run_of), expected) else "silent"

        trying(count, seed, examples, damage(), run)


LONG = ["--width", "4", "--depth", "1", "--batch", "8", "--seeds", "2", "--steps", "8000", "--checkpoint-every", "100"]
STUDY = """name: killed
base: {problem: volterra, steps: 5000, batch: 8, seeds: 2, network: "MLP(4, 1, 'tanh', scaled=False)", rule: even, n: 4}
runs: {standard: {method: standard}, delayed: {method: delayed-target}}
"""
KILLS = 3  # of each run, where it lasts that long
WAIT = 600.0  # seconds without an end or a new checkpoint: it hangs


def written(place):
    """When each checkpoint below a folder was written."""
    return {one: one.stat().st_mtime_ns for one in Path(place).glob("**/checkpoint-*.npz")}


def until_killed(line, place, moments, life):
    """Starts a command and kills it, with its children, at a random moment: of its whole life, or after some checkpoints. True where the
    kill came before the end."""
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    if moments.random() < 0.5:
        time.sleep(moments.uniform(0.0, life))
    else:
        seen, begin = 0, time.monotonic()
        before, most = written(place), moments.randrange(1, 12)
        while process.poll() is None and seen < most and time.monotonic() - begin < WAIT:
            now = written(place)
            seen, before = seen + (now != before), now
            time.sleep(0.005)
        time.sleep(moments.uniform(0.0, 0.2))
    alive = process.poll() is None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return alive


def kills(count, seed, examples):
    """Solves and studies are killed (-9) at random moments, and continued until they are done; then they equal those that were not. A run
    is killed up to three times: in `solve` or `study`, and when it is continued. Every kill is counted."""
    moments, total = random.Random(seed), collections.Counter()
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        Path("study.yaml").write_text(STUDY)
        own = [sys.executable, "-m", "fredholm"]
        solve = [*own, "solve", "volterra", *LONG, "--method", "standard", "--out"]
        study = [*own, "study", "study.yaml", "--out"]
        life = {}
        for name, line in (("solve", solve), ("study", study)):
            begin = time.monotonic()
            subprocess.run([*line, f"whole-{name}"], check=True, capture_output=True)
            life[name] = time.monotonic() - begin

        def run(number):
            kind = "study" if number % 3 == 2 else "solve"
            name = f"run-{number}"
            for _ in range(KILLS):
                begun = kind == "solve" and (Path(name) / "run.json").exists()
                line = [*own, "resume", name] if begun else [*(study if kind == "study" else solve), name]
                if not until_killed(line, name, moments, life[kind]):
                    break
                total["resume" if begun else kind] += 1
            begun = kind == "solve" and (Path(name) / "run.json").exists()
            line = [*own, "resume", name] if begun else [*(study if kind == "study" else solve), name]
            done = subprocess.run(line, capture_output=True, text=True, timeout=WAIT, check=False)
            if done.returncode and "has done all of its" not in done.stderr:
                return f"raw: {done.stderr}"
            pairs = list(zip(*(sorted(Path(one).glob("**/run.json")) for one in (name, f"whole-{kind}")), strict=True))
            for one, other in pairs:
                first, second = (RunFolder(place.parent).read_checkpoint()[0] for place in (one, other))
                if not all(np.array_equal(first[key], second[key], equal_nan=True) for key in second):
                    return "silent"
            return "resumed bit for bit" if pairs else "silent"

        for number in range(examples):
            count(number, lambda number=number: run(number))
    print(f"kills: {sum(total.values())} by SIGKILL: " + ", ".join(f"{number} in {kind}" for kind, number in sorted(total.items())))


def memory(count, seed, examples):
    """Solves of new equations in one process; the memory is measured once the kept programs are full."""
    unit, sizes = fr.Interval(0.0, 1.0), []
    for _ in range(examples):
        equation = fr.Equation(
            unit, lambda u, x: u(x), fr.Integral(unit, lambda u, x, t: 0.5 * u(t)), lambda x: x[0], exact=lambda x: x[0] + 0.5
        )
        fr.solve(equation, fr.Standard(), rule=fr.MonteCarlo(2), network=NETWORK, steps=4, seeds=1, batch=4, progress=False).evaluate()
        gc.collect()
        with contextlib.suppress(OSError):
            sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20)
    half = sizes[len(sizes) // 2 :]
    growth = (half[-1] - half[0]) / max(1, len(half) - 1) if half else 0.0
    print(f"memory: {growth:.2f} MiB more for each solve of the second half; at its end {half[-1] if half else 0:.0f} MiB")
    count("growth", lambda: "no growth" if growth < GROWTH else f"raw: {growth} MiB")


GROWTH = 1.0  # MiB for each solve: with programs kept for ever it was 11
PARTS = {"api": (api, 1), "text": (text, 1), "line": (line, 1), "folders": (folders, 1), "kills": (kills, 0.012), "memory": (memory, 0.03)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--examples", type=int, default=1000)
    options = parser.parse_args()
    logging.getLogger("fredholm").setLevel(logging.CRITICAL)
    print(f"seed {options.seed}", flush=True)
    bad = []
    for name in options.parts:
        part, share = PARTS[name]
        count, begin = Count(name), time.monotonic()
        part(count, options.seed, max(1, round(share * options.examples)))
        print(f"{count.told()}; {time.monotonic() - begin:.0f} s", flush=True)
        bad += count.bad
    print(*bad[:50], f"{len(bad)} failures", sep="\n", flush=True)
    return min(len(bad), 100)


if __name__ == "__main__":
    sys.exit(main())
