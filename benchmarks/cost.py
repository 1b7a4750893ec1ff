"""The paper's table of computational requirements as a measurement: `python benchmarks/cost.py [--quick] [--write]`.

Time and memory of one training step of each method, as N (nodes), N' (main nodes), V (points x in a step) and the width of the network
grow. Times are compared within one run: at every setting the methods take turns, and a ratio is the median over the rounds. Memory is what
the compiler reserves for the step's intermediate values. Then both are fitted to the paper's formulas,

    C = (c5 + c9) N d + c4 N + (c3 + c9' + c10) d + const,        M the same with its own constants,

with d the number of parameters, for a step of V points: V N d, V N, V d, d and 1. It prints every setting; --write puts the ranges and the
fits into docs/theory.md.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.optimize import nnls

import fredholm as fr
from fredholm.common.keys import Keys
from fredholm.training.settings import settings_of
from fredholm.training.step import Step

PAGE = Path(__file__).parents[1] / "docs" / "theory.md"
FORMS = {"f": fr.problems.Volterra, "weak": fr.problems.Poisson}
BASE = {"points": 128, "n": 8, "width": 64}
SWEEPS = {"n": (2, 8, 32, 128), "points": (32, 128, 512), "width": (32, 64, 128)}
QUICK = {"n": (2, 8)}


class Measured(eqx.Module):
    """One method at one setting."""

    form: str  # f: Volterra's equation; weak: Poisson's
    method: str
    points: int  # V
    n: int  # N
    width: int
    parameters: int  # d
    seconds: float  # for one step
    ratio: float  # of its time to that of the standard method in the same rounds
    bytes: int  # of intermediate values


def methods(form: str, n: int) -> dict[str, tuple[Any, int]]:
    """The methods with as many nodes as they are asked for; in the weak form delayed targets have N' main nodes besides."""
    found: dict[str, tuple[Any, int]] = {"standard": (fr.Standard(), n), "double sampling": (fr.DoubleSampling(), n)}
    if form == "f":
        return {**found, "delayed target": (fr.DelayedTarget(), n)}
    return {**found, "delayed target, N'=1": (fr.DelayedTarget(main=1), n), "delayed target, N'=N": (fr.DelayedTarget(main=n), n)}


def compiled(form: str, method: Any, n: int, points: int, width: int) -> tuple[Callable[[int], None], int, int]:
    """A function that does so many steps, the bytes of one, and the number of parameters."""
    equation = FORMS[form]()
    keywords: dict[str, Any] = {"rule": fr.MonteCarlo(n), "network": fr.MLP(width, 3, "tanh"), "optimizer": optax.adam(1e-3)}
    # All x at once: a step in tiles has the memory of one tile, and the formula is of all of them.
    one_step = Step.of(settings_of(equation, method, **keywords, batch=points, average=0.0))
    keys = Keys.of(0)
    state = one_step.init(equation, keys.network)
    arrays, static = eqx.partition(state, eqx.is_array)

    def body(step: Any, carry: Any) -> Any:
        return eqx.filter(one_step(eqx.combine(carry, static), equation, keys, step)[0], eqx.is_array)

    run = jax.jit(lambda arrays, steps: jax.lax.fori_loop(0, steps, body, arrays)).lower(arrays, 1).compile()
    used = run.memory_analysis()
    parameters = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(state.u, eqx.is_inexact_array)))
    return lambda steps: jax.block_until_ready(run(arrays, jnp.asarray(steps))), used.temp_size_in_bytes, parameters


def measure(form: str, points: int, n: int, width: int, rounds: int, least: float) -> list[Measured]:
    """All methods at one setting, in turns; each turn takes at least `least` seconds."""
    ready = {name: compiled(form, method, count, points, width) for name, (method, count) in methods(form, n).items()}
    counts = {}
    for name, (run, _, _) in ready.items():
        run(1)
        begin = time.perf_counter()
        run(3)
        counts[name] = max(3, round(3 * least / (time.perf_counter() - begin)))
    seconds: dict[str, list[float]] = {name: [] for name in ready}
    for _ in range(rounds):
        for name, (run, _, _) in ready.items():
            begin = time.perf_counter()
            run(counts[name])
            seconds[name].append((time.perf_counter() - begin) / counts[name])
    rows = []
    for name, (_, used, parameters) in ready.items():
        ratios = [own / standard for own, standard in zip(seconds[name], seconds["standard"], strict=True)]
        rows.append(Measured(form, name, points, n, width, parameters, min(seconds[name]), statistics.median(ratios), used))
    return rows


def settings(sweeps: dict[str, Sequence[int]]) -> list[dict[str, int]]:
    """The base, and each quantity on its own."""
    found = [BASE]
    for name, values in sweeps.items():
        found += [{**BASE, name: value} for value in values if value != BASE[name]]
    return found


def ratio_table(rows: Sequence[Measured]) -> list[str]:
    """Time and memory as multiples of the standard step at the same N, V and width."""
    lines = ["| form | V | N | width | method | points / standard | time / standard | memory / standard |", "|---" * 8 + "|"]
    standard = {(row.form, row.points, row.n, row.width): row.bytes for row in rows if row.method == "standard"}
    for row in rows:
        if row.method != "standard":
            memory = row.bytes / standard[row.form, row.points, row.n, row.width]
            more = {"delayed target, N'=1": 1 + 1 / row.n, "delayed target, N'=N": 2.0}.get(row.method, 1.0)
            setting = f"| {row.form} | {row.points} | {row.n} | {row.width} | {row.method} "
            lines.append(f"{setting}| {more:.3g} | {row.ratio:.2f} | {memory:.2f} |")
    return lines


def span_table(rows: Sequence[Measured]) -> list[str]:
    """The same in short, for the page: from least to most over all settings of a form and a method."""

    def span(values: Sequence[float]) -> str:
        return f"{min(values):.2f} – {max(values):.2f}"

    lines = ["| form | method | settings | time / standard | memory / standard |", "|---" * 5 + "|"]
    for form in FORMS:
        standard = {(row.points, row.n, row.width): row.bytes for row in rows if (row.form, row.method) == (form, "standard")}
        for method in list(methods(form, 2))[1:]:
            own = [row for row in rows if (row.form, row.method) == (form, method)]
            memory = [row.bytes / standard[row.points, row.n, row.width] for row in own]
            lines.append(f"| {form} | {method} | {len(own)} | {span([row.ratio for row in own])} | {span(memory)} |")
    return lines


def fit(rows: Sequence[Measured], values: Sequence[float]) -> tuple[np.ndarray, float]:
    """The formula's coefficients, none negative, and the largest relative error of the fit."""
    v, n, d = (np.array([getattr(row, name) for row in rows], float) for name in ("points", "n", "parameters"))
    design = np.stack([v * n * d, v * n, v * d, d, np.ones_like(d)], axis=1) / np.array(values)[:, None]
    coefficients, _ = nnls(design, np.ones(len(rows)))
    return coefficients, float(np.abs(design @ coefficients - 1).max())


def exponent(rows: Sequence[Measured], values: Sequence[float], name: str) -> float:
    """p of value ∝ name^p between the two largest values of the sweep."""
    moved = {"n", "points", "width"} - {name}
    on_sweep = [all(getattr(row, other) == BASE[other] for other in moved) for row in rows]
    swept = sorted((getattr(row, name), value) for row, value, chosen in zip(rows, values, on_sweep, strict=True) if chosen)
    (low, first), (high, second) = swept[-2:]
    return float(np.log(second / first) / np.log(high / low))


def fit_table(rows: Sequence[Measured], swept: Sequence[str]) -> list[str]:
    """For each method: its V N d coefficient against the standard's, how well the formula fits, and the exponents."""
    names = {"n": "N", "points": "V", "width": "width"}
    header = [f"time ∝ {names[name]}^p" for name in swept] + [f"memory ∝ {names[name]}^p" for name in swept]
    columns = ["form", "method", "(c5+c9) / standard's", "misfit of C", "misfit of M", *header]
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for form in FORMS:
        leading = None
        for method in methods(form, 2):
            own = [row for row in rows if row.form == form and row.method == method]
            times, memory = [row.seconds for row in own], [float(row.bytes) for row in own]
            coefficients, misfit = fit(own, times)
            leading = coefficients[0] if leading is None else leading
            # At its bound of zero a coefficient is not told from the others by these settings.
            share = f"{coefficients[0] / leading:.2f}" if leading and coefficients[0] > 0 else "not identified"
            exponents = [f"{exponent(own, values, name):.2f}" for values in (times, memory) for name in swept]
            lines.append(f"| {form} | {method} | {share} | {misfit:.0%} | {fit(own, memory)[1]:.0%} | " + " | ".join(exponents) + " |")
    return lines


def verdict(rows: Sequence[Measured]) -> str:
    """The claim "up to a doubling of the per-step cost"."""
    delayed = [row for row in rows if row.method.startswith("delayed")]
    worst = max(delayed, key=lambda row: row.ratio)
    within = sum(row.ratio <= 2 for row in delayed)
    place = f"{worst.method}, {worst.form} form, V = {worst.points}, N = {worst.n}, width {worst.width}"
    held = f"Delayed targets took at most twice the standard step in {within} of {len(delayed)} settings"
    return f"{held}; the most was {worst.ratio:.2f} ({place})."


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the base and one other N, without the fit: about half a minute")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/theory.md")
    options = parser.parse_args()
    sweeps: dict[str, Any] = QUICK if options.quick else SWEEPS
    rounds, least = (3, 0.02) if options.quick else (9, 0.05)
    rows = []
    for form in FORMS:
        for setting in settings(sweeps):
            rows += measure(form, **setting, rounds=rounds, least=least)
    # The formula has five constants: two settings say nothing about it.
    fitted = [] if options.quick else ["", *fit_table(rows, list(sweeps))]
    print("\n".join([*ratio_table(rows), ""]))
    lines = [verdict(rows), "", *span_table(rows), *fitted]
    print("\n".join(lines))
    if options.write:
        text = PAGE.read_text(encoding="utf-8")
        before, rest = text.split("<!-- cost -->")
        after = rest.split("<!-- end of cost -->")[1]
        body = "\n".join(lines)
        PAGE.write_text(f"{before}<!-- cost -->\n{body}\n<!-- end of cost -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
