"""Measures the table of docs/rules.md and draws its pictures: `python docs/make_rules_page.py` (about three minutes on one core)."""

import math
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402

import fredholm.rules as fr  # noqa: E402
from fredholm.domains import Base, Box, Sphere  # noqa: E402
from fredholm.report.plots.rules import plot_rules  # noqa: E402
from fredholm.report.plots.style import PALETTE, finish, house_style, new_figure  # noqa: E402

HERE = Path(__file__).parent
DIMENSIONS = (1, 2, 5, 10)
BUDGETS = (16, 64, 256, 1024)
TABLE_BUDGET = 1024
REPLICATES = 64
WIDTH = 0.1  # of the peak
ROUNDING = 1e-14  # below, the numbers only show rounding


def smooth(t):
    """No end of derivatives, and no peak."""
    return jnp.exp(-jnp.sum(t) / math.sqrt(t.shape[0]))


def peaked(t):
    """A narrow bump: at d = 10 it fills a millionth of the cube."""
    return jnp.exp(-0.5 * jnp.sum((t - 0.3) ** 2) / WIDTH**2)


def discontinuous(t):
    """A jump across a plane askew to all axes."""
    return jnp.where(jnp.sum(t) < 0.5 * t.shape[0] + 0.1 * math.sqrt(t.shape[0]), 1.0, 0.0)


def exact_values(d: int) -> np.ndarray:
    """The three integrals over the unit cube: a product, a product of error functions, and Irwin and Hall's distribution function."""
    a = 1 / math.sqrt(d)
    ends = [math.erf(x / (WIDTH * math.sqrt(2))) for x in (0.7, -0.3)]
    s = 0.5 * d + 0.1 * math.sqrt(d)
    below = sum((-1) ** k * math.comb(d, k) * (s - k) ** d for k in range(math.floor(s) + 1)) / math.factorial(d)
    return np.array([((1 - math.exp(-a)) / a) ** d, (WIDTH * math.sqrt(math.pi / 2) * (ends[0] - ends[1])) ** d, below])


INTEGRANDS = {"smooth": smooth, "peaked": peaked, "discontinuous": discontinuous}


def whole_root(budget: int, d: int) -> int:
    """The largest n with n^d nodes within the budget."""
    return max(n for n in range(1, budget + 1) if n**d <= budget)


def sparse(rule, levels: int, d: int, budget: int):
    """The finest sparse grid within the budget, or None."""
    fitting = None
    for level in range(1, levels):
        grid = fr.Smolyak(rule, level)
        if grid._count((Base.UNIT,) * d) > 3 * budget:  # Merging may still bring a grid below the budget, not that far.
            break
        if grid.size(Box((0.0,) * d, (1.0,) * d)) <= budget:
            fitting = grid
    return fitting


def families(d: int, budget: int) -> dict[str, object]:
    """One rule of each family at about the budget; a tensor rule that would be a single node is left out."""
    rules = {
        "MonteCarlo": fr.MonteCarlo(budget),
        "QuasiMonteCarlo (additive recursion, Shift)": fr.QuasiMonteCarlo(budget, randomize=fr.Shift()),
        "QuasiMonteCarlo (Halton, Shift)": fr.QuasiMonteCarlo(budget, fr.Halton(), fr.Shift()),
        "QuasiMonteCarlo (Lattice, Shift)": fr.QuasiMonteCarlo(budget, fr.Lattice(), fr.Shift()),
        "QuasiMonteCarlo (Sobol, Scramble)": fr.QuasiMonteCarlo(budget, fr.Sobol(), fr.Scramble()),
        "Even": fr.Even(whole_root(budget, d)),
        "Gauss": fr.Gauss(min(whole_root(budget, d), 64)),
        "Smolyak(Gauss(1), level)": sparse(fr.Gauss(1), 64, d, budget),
        "Smolyak(ClenshawCurtis(1), level)": sparse(fr.ClenshawCurtis(1), 10, d, budget),
        "Smolyak(Leja(1), level)": sparse(fr.Leja(1), 64, d, budget),
    }
    return {name: rule for name, rule in rules.items() if rule is not None and rule.size(Box((0.0,) * d, (1.0,) * d)) > 1}


def relative_errors(rule, d: int) -> np.ndarray:
    """Root mean square relative error for the three integrands: over replicates where the rule is random."""
    box = Box((0.0,) * d, (1.0,) * d)

    @jax.jit
    @jax.vmap
    def estimates(key):
        nodes = rule.nodes(box, key)
        return jnp.stack([nodes.weights @ jax.vmap(g)(nodes.points) for g in INTEGRANDS.values()])

    keys = jax.random.split(jax.random.key(d), REPLICATES if rule.is_random else 1)
    return np.sqrt(np.mean((np.asarray(estimates(keys)) / exact_values(d) - 1) ** 2, axis=0))


def fitted_errors(d: int, budget: int) -> np.ndarray:
    """Importance sampling, fitted to each integrand with a pilot as large as the budget, whose cost is counted."""
    box, errors = Box((0.0,) * d, (1.0,) * d), []
    for index, g in enumerate(INTEGRANDS.values()):
        samples = max(100, budget // 4)
        rule = fr.fit_importance(g, box, jax.random.key(1), rule=fr.MonteCarlo(budget // 2), samples=samples, rounds=2, bins=16)
        errors.append(relative_errors(rule, d)[index])
    return np.array(errors)


def measure() -> dict[tuple[str, int], list[tuple[int, np.ndarray]]]:
    """(family, d) -> a list of (nodes, three errors)."""
    measured: dict[tuple[str, int], list[tuple[int, np.ndarray]]] = {}
    for d in DIMENSIONS:
        box = Box((0.0,) * d, (1.0,) * d)
        for budget in BUDGETS:
            for name, rule in families(d, budget).items():
                measured.setdefault((name, d), []).append((rule.size(box), relative_errors(rule, d)))
            if budget >= 256:  # Below, there is nothing to fit from.
                measured.setdefault(("fit_importance (MonteCarlo)", d), []).append((budget, fitted_errors(d, budget)))
        print(f"d = {d} measured")
    return measured


def table(measured) -> str:
    """The errors at the largest count within the table's budget."""
    names = list(dict.fromkeys(name for name, _ in measured))
    lines = []
    for index, integrand in enumerate(INTEGRANDS):
        lines += [f"| {integrand} | " + " | ".join(f"d = {d}" for d in DIMENSIONS) + " |", "|---" * (len(DIMENSIONS) + 1) + "|"]
        best = {d: min(pick(measured, name, d, index)[1] for name in names if (name, d) in measured) for d in DIMENSIONS}
        for name in names:
            cells = []
            for d in DIMENSIONS:
                if (name, d) not in measured:
                    cells.append("·")
                    continue
                count, error = pick(measured, name, d, index)
                text = f"{error:.1e} ({count})" if error > ROUNDING else f"rounding ({count})"
                cells.append(f"**{text}**" if error <= max(1.5 * best[d], ROUNDING) and error < 0.5 else text)
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def pick(measured, name: str, d: int, index: int) -> tuple[int, float]:
    """The largest count within the table's budget, and its error."""
    rows = [(count, errors[index]) for count, errors in measured[name, d] if count <= TABLE_BUDGET]
    return max(rows, key=lambda row: row[0]) if rows else (0, math.inf)


def error_figure(measured) -> None:
    """Error against the number of nodes: a row for each integrand, a column for each d."""
    names = list(dict.fromkeys(name for name, _ in measured))
    styles = {name: (PALETTE[i % len(PALETTE)], "-" if i < len(PALETTE) else "--") for i, name in enumerate(names)}
    with house_style():
        figure = new_figure(10.5, 7.6)
        for row, integrand in enumerate(INTEGRANDS):
            for column, d in enumerate(DIMENSIONS):
                axes = figure.add_subplot(3, 4, 4 * row + column + 1)
                for name in names:
                    points = [(count, max(errors[row], 1e-15)) for count, errors in measured.get((name, d), [])]
                    if points:
                        axes.loglog(*zip(*points, strict=True), marker="o", ms=2.5, lw=1.2, color=styles[name][0], ls=styles[name][1])
                axes.set_title(f"{integrand}, d = {d}")
                if row == 2:
                    axes.set_xlabel("nodes")
                if column == 0:
                    axes.set_ylabel("relative error (rms)")
        handles = [Line2D([], [], color=color, ls=line, marker="o", ms=2.5, label=name) for name, (color, line) in styles.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
        finish(figure, HERE / "figures" / "rules-error.png")


def pictures() -> None:
    """Where the points are: the square, the circle and the sphere."""
    square, circle, sphere = Box((0.0, 0.0), (1.0, 1.0)), Sphere((0.0, 0.0)), Sphere((0.0, 0.0, 0.0))
    on_square = {
        "MonteCarlo(64)": fr.MonteCarlo(64),
        "additive recursion": fr.QuasiMonteCarlo(64),
        "Sobol, scrambled": fr.QuasiMonteCarlo(64, fr.Sobol(), fr.Scramble()),
        "Lattice": fr.QuasiMonteCarlo(64, fr.Lattice()),
        "Even(8)": fr.Even(8),
        "Gauss(8)": fr.Gauss(8),
        "Smolyak(Gauss(1), 5)": fr.Smolyak(fr.Gauss(1), 5),
        "Smolyak(ClenshawCurtis(1), 4)": fr.Smolyak(fr.ClenshawCurtis(1), 4),
    }
    plot_rules(on_square, square, HERE / "figures" / "rules-square.png")
    on_circle = {"Even(7)": fr.Even(7), "QuasiMonteCarlo(7)": fr.QuasiMonteCarlo(7), "Gauss(7)": fr.Gauss(7), "Leja(7)": fr.Leja(7)}
    plot_rules(on_circle, circle, HERE / "figures" / "rules-circle.png")
    on_sphere = {
        "MonteCarlo(64)": fr.MonteCarlo(64),
        "Sobol": fr.QuasiMonteCarlo(64, fr.Sobol()),
        "Smolyak(Gauss(1), 2)": fr.Smolyak(fr.Gauss(1), 2),
        "Smolyak(Leja(1), 4)": fr.Smolyak(fr.Leja(1), 4),
    }
    plot_rules(on_sphere, sphere, HERE / "figures" / "rules-sphere.png")


def smolyak_table() -> str:
    """Nodes and sums of absolute weights of the paper's sparse grids."""
    lines = ["| d (axes d-1) | " + " | ".join(map(str, range(2, 11))) + " |", "|---" * 10 + "|"]
    for name, rule in {
        "Smolyak(Gauss(1), 2, merge=False)": fr.Smolyak(fr.Gauss(1), 2, merge=False),
        "Smolyak(Gauss(1), 2)": fr.Smolyak(fr.Gauss(1), 2),
        "Smolyak(Leja(1), 2)": fr.Smolyak(fr.Leja(1), 2),
    }.items():
        nodes = [rule.base_nodes((Base.UNIT,) * (d - 1))[1] for d in range(2, 11)]
        lines.append(f"| `{name}`, nodes | " + " | ".join(str(len(weights)) for weights in nodes) + " |")
        if rule.merge:
            lines.append("| … its Σ\\|w\\| | " + " | ".join(f"{np.sum(np.abs(weights)):.3g}" for weights in nodes) + " |")
    return "\n".join(lines)


def replace(text: str, name: str, content: str) -> str:
    """The text with what stands between the two markers of this name replaced."""
    start, stop = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, rest = text.split(start)
    return f"{before}{start}\n{content}\n{stop}{rest.split(stop)[1]}"


if __name__ == "__main__":
    pictures()
    measured = measure()
    error_figure(measured)
    page = HERE / "rules.md"
    text = replace(page.read_text(encoding="utf-8"), "measured table", table(measured))
    page.write_text(replace(text, "sparse grids", smolyak_table()), encoding="utf-8")
