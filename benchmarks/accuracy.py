"""Time to accuracy: `python benchmarks/accuracy.py [--write]`.

The goal on a problem is the best error that the paper publishes for it, after 200 000 steps. Every training here has a twentieth of these
steps or less, the network of the published runs and as many evaluations of u a step. The time of a step is measured in turns with that of
the published recipe; the time of a training, with its compilation and the pilot, is given as a share of the 200 000 steps of that recipe.
Method, rule and batch of all other lines are what the pilot of Auto chose for their length, and only the optimiser differs. The error of
the network itself and that of its average come from one training.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import optax
from harness import FIGURES, Spread, alternate, arguments, machine, say, table, write_part, write_raw
from ours import Ours

import fredholm as fr
from fredholm.common.statistics import bootstrap_interval
from fredholm.paper.reproduction.families import MAXWELL, POISSON, SCALES, SMOLUCHOWSKI, Family, delayed, deterministic
from fredholm.report.plots.style import PALETTE, finish, house_style, new_figure
from fredholm.study import Run
from fredholm.training.choice import choose
from fredholm.training.settings import LEFT_TO_AUTO, RunSettings, settings_of

POINTS = 800
TIMED_SEEDS = 4
LENGTHS = (2000, 10_000)  # steps of a training: a hundredth and a twentieth of the published ones
PUBLISHED_STEPS = 200_000
PUBLISHED, AUTO = "the published recipe", "Auto"


class Goal(NamedTuple):
    """The best published error of a problem, the recipe that reached it, and how many seeds are to tell whether a training does."""

    family: Family
    error: float
    recipe: Run
    seeds: int = 4


GOALS: dict[str, Callable[[], Goal]] = {
    "Poisson, d=2": lambda: Goal(POISSON, 1.10e-4, deterministic(SCALES["paper"], POISSON, 100), seeds=48),  # they scatter most
    "Maxwell": lambda: Goal(MAXWELL, 1.26e-3, deterministic(SCALES["paper"], MAXWELL, 10)),
    "Smoluchowski, d=1": lambda: Goal(SMOLUCHOWSKI, 9.7e-4, delayed(SCALES["paper"], SMOLUCHOWSKI)),
}


def growing(steps: int) -> optax.GradientTransformation:
    """Adam whose batch grows: four of them make a step in the last half of the run, and sixteen in its last tenth."""
    first = steps // 2
    second = first + (steps * 4 // 10) // 4
    batches = optax.piecewise_constant_schedule(1.0, {first: 4.0, second: 4.0})
    return optax.MultiSteps(optax.adam(1e-3), lambda update: batches(update).astype(int)).gradient_transformation()


OPTIMIZERS: dict[str, Callable[[int], Any]] = {
    "Adam, constant rate": lambda steps: fr.Adam(1e-3),
    "Adam, batches that grow": growing,
    "Adam, cosine": lambda steps: fr.Adam(1e-3, fr.Cosine()),
    "Adam, cosine, 3e-3": lambda steps: fr.Adam(3e-3, fr.Cosine()),
    "Muon, cosine, 3e-3": lambda steps: fr.Muon(3e-3),
}


class Lines(NamedTuple):
    """The trainings of a length."""

    keywords: dict[str, dict[str, Any]]  # of `solve`, by name
    pilot: float  # seconds
    chosen: str  # by the pilot, in words


def keywords_of(settings: RunSettings) -> dict[str, Any]:
    """The keywords of `solve` that a recipe is, whatever its network and its steps are."""
    return {name: getattr(settings, name) for name in ("method", *LEFT_TO_AUTO)}


def lines_of(goal: Goal, steps: int) -> Lines:
    """What Auto chooses for so many steps; and for the shorter length the published recipe and Auto's choice by other optimisers."""
    auto = fr.Auto(points=POINTS)
    choice = choose(auto, settings_of(goal.family.problem(), auto, network=goal.family.network, steps=steps), LEFT_TO_AUTO)
    say("\n".join(f"  {reason}" for reason in choice.reasons))
    chosen = keywords_of(choice.settings)
    lines = {AUTO: chosen}
    if steps == min(LENGTHS):
        others = {name: {**chosen, "optimizer": make(steps)} for name, make in OPTIMIZERS.items()}
        lines = {PUBLISHED: keywords_of(goal.recipe.rebuilt()), **others, **lines}
    recipe = f"{chosen['method']!r}, {chosen['rule']!r}, batch {chosen['batch']}, Muon({chosen['optimizer'].learning_rate:g})"
    told = f"for {steps:,} steps {recipe}"
    return Lines(lines, choice.seconds, told)


def train(goal: Goal, problem: fr.Equation, steps: int, keywords: dict[str, Any]) -> dict[str, Any]:
    """The errors of all seeds at the end, and the curve of their mean."""
    solution = fr.solve(problem, **keywords, network=goal.family.network, steps=steps, seeds=goal.seeds, throw=False, progress=False)
    history = solution.history
    own = history["error_main"] if "error_main" in history else history["error"]
    return {
        "steps": history["step"].values.tolist(),
        "curve": history["error"].mean("seed").values.tolist(),
        "answer": history["error"].values[:, -1].tolist(),
        "network": own.values[:, -1].tolist(),
    }


def measure(title: str, goal: Goal, rounds: int, least: float) -> dict[str, Any]:
    """All trainings of a problem, and the time of their steps in turns."""
    problem = goal.recipe.problem()
    rows, works, once, chosen = {}, {}, {}, []
    for steps in LENGTHS:
        lines = lines_of(goal, steps)
        chosen.append(lines.chosen)
        for name, keywords in lines.keywords.items():
            key = f"{name}/{steps}"
            rows[key] = row = {"name": name, "length": steps, **train(goal, problem, steps, keywords)}
            say(f"{title}, {name}, {steps} steps: {np.mean(row['answer']):.2e}, of the network itself {np.mean(row['network']):.2e}")
            begin = time.perf_counter()
            works[key] = Ours(problem, TIMED_SEEDS, network=goal.family.network, **keywords)
            works[key](1)
            once[key] = time.perf_counter() - begin + (0.0 if name == PUBLISHED else lines.pilot)
    return {"goal": goal.error, "chosen": "; ".join(chosen), "rows": rows, "seconds": alternate(works, rounds, least), "once": once}


def share(problem: dict[str, Any], row: dict[str, Any]) -> Spread:
    """Time of a training, with compilation and pilot, over that of the 200 000 steps of the published recipe."""
    key = f"{row['name']}/{row['length']}"
    pairs = zip(problem["seconds"][key], problem["seconds"][f"{PUBLISHED}/{min(LENGTHS)}"], strict=True)
    return Spread.of([(row["length"] * mine + problem["once"][key]) / (PUBLISHED_STEPS * published) for mine, published in pairs])


def in_order(problem: dict[str, Any]) -> list[dict[str, Any]]:
    """The trainings of a problem as they were run: the file of raw numbers has them by name."""
    names = [PUBLISHED, *OPTIMIZERS, AUTO]
    return sorted(problem["rows"].values(), key=lambda row: (row["length"], names.index(row["name"])))


def results(problems: dict[str, Any]) -> str:
    """A table for each problem."""
    parts = [
        f"Measured with {machine('fredholm', 'jax', 'optax')}; 95 % intervals over seeds; quartiles of the times, of {TIMED_SEEDS} seeds."
    ]
    for title, problem in problems.items():
        rows, lines = in_order(problem), []
        for row in rows:
            answer, own = (bootstrap_interval(np.asarray(row[key]), least=0.0) for key in ("answer", "network"))
            told = [f"{mean:.2e} [{low:.1e}, {high:.1e}]" for mean, low, high in (answer, own)]
            reached = "yes" if answer[2] <= problem["goal"] else "mean only" if answer[0] <= problem["goal"] else ""
            lines.append([row["name"], f"{row['length']:,}", *told, share(problem, row), reached])
        columns = ["training", "steps", "error of the answer", "error of the network itself", "time / published", "reaches it"]
        head = f"**{title}**, {len(rows[0]['answer'])} seeds: published best {problem['goal']:.2e}; chosen {problem['chosen']}."
        parts.append(f"{head}\n\n{table(columns, lines)}")
    return "\n\n".join(parts)


def picture(problems: dict[str, Any]) -> None:
    """Error over time, a panel for each problem: the curves of the short and of the long trainings."""
    with house_style():
        figure = new_figure(11, 4)
        for axes, (title, problem) in zip(figure.subplots(1, len(problems), squeeze=False)[0], problems.items(), strict=True):
            for color, row in zip(PALETTE, in_order(problem), strict=False):
                time = np.asarray(row["steps"]) / row["length"] * share(problem, row).median
                axes.plot(time[1:], row["curve"][1:], color=color, label=f"{row['name']}, {row['length']:,} steps")
            axes.axhline(problem["goal"], color="0.4", linestyle=":", label="published best, at time 1")
            axes.set(xscale="log", yscale="log", title=title, xlabel="time / published")
        figure.axes[0].set_ylabel("error, mean over seeds")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        finish(figure, FIGURES / "benchmark-accuracy.png")


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--problem", nargs="+", choices=list(GOALS), default=list(GOALS))
    options = parser.parse_args()
    fr.use_all_cores()
    rows: dict[str, Any] = {}
    for title in options.problem:
        rows[title] = measure(title, GOALS[title](), options.rounds, options.seconds)
        if options.write:
            rows = write_raw("accuracy", rows, keep=True)
    if options.write:
        picture(rows)
        write_part("accuracy", f"![error over time](figures/benchmark-accuracy.png)\n\n{results(rows)}")
    print(results(rows))


if __name__ == "__main__":
    main()
