"""The figures of the theory: fixed points and bias, convergence, effort, bounds, and the maps of stability."""

import os
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fredholm.paper.theory.counterexamples import Census
from fredholm.paper.theory.linear import LinearProblem, exact_solution, norm, standard_system
from fredholm.paper.theory.rates import Effort
from fredholm.paper.theory.worked import Curve, Limit, Map
from fredholm.report.plots.style import ERROR_MAP, FAMILIES, PALETTE, TRUTH, colors, finish, house_style, new_figure

SHARES = {"white": "no run diverged", "#999999": "some", TRUTH: "half or more"}
EDGES = {"-": "mean square", "--": "mean"}
Path = str | os.PathLike[str] | None
WIDEST, HIGHEST = 60.0, 200.0  # of the constants and the ratios shown
FLOOR, CEILING = 1e-3, 0.1  # growth rates below are shown as none, and beyond as extreme


def plot_limits(problem: LinearProblem, limits: Sequence[Limit], path: Path = None) -> Figure:
    """Where the methods end, as functions, and how the bias falls with N."""
    with house_style():
        figure = new_figure(7.4, 3.2)
        left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
        x = np.arange(len(problem.labels)) / len(problem.labels)
        left.plot(x, exact_solution(problem), color=TRUTH, lw=1.2, label="$f^*$")
        shown = [limit for limit in limits if "N=10" not in limit.name]
        chosen = colors([limit.name for limit in shown])
        for limit, line in zip(shown, ("-", (0, (4, 2)), "-"), strict=False):
            left.plot(x, problem.features @ limit.theta, color=chosen[limit.name], ls=line, label=limit.name)
        left.set(xlabel="$x$", ylabel="$f(x)$", title="where the methods end")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
        counts = np.unique(np.geomspace(1, 1000, 25).round().astype(int))
        unbiased = standard_system(problem, None).solve()
        bias = [norm(problem, problem.features @ (standard_system(problem, int(n)).solve() - unbiased)) for n in counts]
        bias = np.array(bias) / norm(problem, problem.features @ unbiased)
        right.loglog(counts, bias, "o-", ms=3, color=chosen["standard, N=1"])
        right.loglog(counts, bias[-1] * counts[-1] / counts, color="#888888", lw=0.9, ls=":", label="$\\propto 1/N$")
        right.set(xlabel="samples $N$ of the integral", ylabel="relative bias", title="the standard loss's bias")
        right.legend()
        return finish(figure, path)


def plot_convergence(curves: Sequence[Curve], path: Path = None) -> Figure:
    """Real runs against their own limits, with the rate that Lyapunov's equation predicts."""
    with house_style():
        figure = new_figure(5.2, 3.5)
        axes = figure.subplots()
        for (name, color), curve in zip(colors([curve.name for curve in curves]).items(), curves, strict=True):
            axes.loglog(curve.steps, curve.errors, color=color, label=f"{name}: $t^{{{curve.slope:.2f}}}$")
            late = curve.steps[curve.steps > 30]
            axes.loglog(late, curve.predicted / late, color=color, lw=0.9, ls=":")
        handles, _ = axes.get_legend_handles_labels()
        handles.append(Line2D([], [], color="#555555", lw=0.9, ls=":", label="predicted, $c/t$"))
        axes.legend(handles=handles, loc="lower left")
        axes.set(xlabel="step $t$", ylabel="$\\mathbb{E}\\,\\|\\Phi(\\theta_t - \\theta_\\infty)\\|_P^2$")
        return finish(figure, path)


def plot_efforts(efforts: Sequence[Effort], path: Path = None) -> Figure:
    """Iterations and point evaluations to reach ε."""
    with house_style():
        figure = new_figure(7.4, 3.4)
        panels = figure.subplots(1, 2)
        chosen = {effort.name: FAMILIES["delayed" if "delayed" in effort.name else "standard"][0] for effort in efforts}
        for axes, title in zip(panels, ("iterations", "evaluations of $\\phi$ and $\\psi$"), strict=True):
            for effort in efforts:
                count = effort.iterations * (effort.evaluations if axes is panels[1] else 1)
                exact = "exact" in effort.name
                rate = f": {effort.per_digit:.1f} a digit" if exact else f": $\\varepsilon^{{-{effort.exponent:.2f}}}$"
                label = effort.name + (rate if np.isfinite(effort.exponent) else "")
                axes.loglog(effort.epsilon, count, color=chosen[effort.name], ls="--" if exact else "-", label=label)
            axes.set(xlabel="$\\varepsilon$", ylabel=title)
            axes.invert_xaxis()
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return finish(figure, path)


def plot_bounds(census: Census, path: Path = None) -> Figure:
    """The error ratio of random problems against the paper's constant, and against the sound one."""
    with house_style():
        figure = new_figure(7.4, 3.2)
        panels = figure.subplots(1, 2, sharey=True)
        small, contracting = census.sigma < 1, census.kappa < 1
        _bound_panel(panels[0], 1 / (1 - census.sigma[small]), census.ratio[small], census.stability[small] <= 0)
        _bound_panel(panels[1], 1 / (1 - census.kappa[contracting] ** 2), census.ratio[contracting], census.stability[contracting] <= 0)
        panels[0].set(title="the paper's constant", xlabel="$1/(1-\\sigma)$", ylabel="error / projection error")
        panels[1].set(title="the sound constant", xlabel="$1/(1-\\kappa^2)$")
        for axes in panels:
            axes.legend(loc="upper left")
        return finish(figure, path)


def _bound_panel(axes: Axes, constant: np.ndarray, ratio: np.ndarray, unstable: np.ndarray) -> None:
    """Problems beyond the panel are drawn on its edge: its legend counts them."""
    line = np.array([1.0, 100.0])
    beyond = ratio > constant * (1 + 1e-9)
    kinds = ((~beyond & ~unstable, "#9A9A9A", "holds"), (beyond & ~unstable, PALETTE[0], "broken"), (unstable, PALETTE[1], "diverges"))
    for chosen, color, name in kinds:
        inside, label = (np.minimum(constant[chosen], WIDEST), np.minimum(ratio[chosen], HIGHEST)), f"{name}: {int(chosen.sum())}"
        axes.scatter(*inside, s=4 if name == "holds" else 10, color=color, linewidths=0, clip_on=False, label=label)
    axes.loglog(line, line, color=TRUTH, lw=0.9)
    axes.set(xlim=(0.95, WIDEST), ylim=(0.95, HIGHEST))


def plot_stability(maps: Sequence[Map], path: Path = None) -> Figure:
    """The growth of the mean square over the settings; where it is zero; and what real runs did."""
    with house_style():
        figure = new_figure(9.6, 3.3)
        panels = figure.subplots(1, len(maps))
        scale = SymLogNorm(FLOOR, vmin=-CEILING, vmax=CEILING)
        image = None
        for axes, one in zip(panels, maps, strict=True):
            shape = (len(one.axes[0]), len(one.axes[1]))
            square, mean = (values.reshape(shape).T for values in (one.growth.square, one.growth.mean))
            shown = np.clip(square, -CEILING, CEILING)
            image = axes.pcolormesh(*one.axes, shown, norm=scale, cmap=ERROR_MAP, shading="gouraud", rasterized=True)
            for values, line in ((square, "-"), (mean, "--")):  # Compressed, so that the edge is not drawn towards the steeper side.
                axes.contour(*one.axes, np.arcsinh(values / FLOOR), levels=[0.0], colors=TRUTH, linewidths=1.1, linestyles=line)
            kind = np.digitize(one.diverged, (1e-9, 0.5))
            for index, face in enumerate(SHARES):
                axes.scatter(*one.tried[kind == index].T, s=20, facecolors=face, edgecolors=TRUTH, linewidths=0.8, zorder=3)
            axes.set(xscale="log", yscale="log", xlabel=one.names[0], ylabel=one.names[1], title=one.title)
            axes.grid(False)
        if image is not None:
            bar = figure.colorbar(image, ax=list(panels), shrink=0.9, pad=0.015)
            bar.set_label("growth of $\\mathbb{E}\\,|z|^2$ a step")
        dots = {"ls": "", "marker": "o", "ms": 4.5, "mec": TRUTH, "mew": 0.8}
        handles = [Line2D([], [], mfc=face, label=name, **dots) for face, name in SHARES.items()]
        handles += [Line2D([], [], color=TRUTH, ls=line, lw=1.1, label=f"edge of the {name}") for line, name in EDGES.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=5)
        return finish(figure, path)
