"""What `solve` returns: the trained networks of all seeds, how they got there, and how good they are."""

import html
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fredholm.equation import Equation
from fredholm.inspection import Certificate, Diagnosis, RunOf, Subject, certificates, diagnose, why_failed
from fredholm.keys import Keys
from fredholm.methods import AbstractMethod
from fredholm.networks import AbstractNetwork, Field, as_recipe
from fredholm.recipes import NotRebuildableError, decode
from fredholm.rules import AbstractRule
from fredholm.statistics import bootstrap_interval
from fredholm.status import SeedStatus, Status
from fredholm.storage import Arrays, RunFolder, unflatten

if TYPE_CHECKING:
    import xarray

BLOCK = 20_000  # points that are predicted at once


class Solution:
    """The solution of an equation: one network for each seed.

    Attributes:
        problem: the `Equation`, or None where a loaded run could not rebuild it.
        settings: everything that defines the run, as plain data (what `run.json` holds).
        status: a `SeedStatus` for each seed, how its training ended and at which step.
        history: an `xarray.Dataset` over (seed, step) with `loss` and its parts, `integration_variance`, `excess_variance`, `drift`,
            `size` (of the network), `regularization_weight` (λ, where it is measured), `error` and what else applies. Where the
            parameters are averaged, `error` is that of the average, the answer, and `error_main` that of the network itself.
        unknowns: the learned scalars, an array over the seeds for each; `history` has their way there as `unknown_<name>`.
    """

    def __init__(
        self,
        problem: Equation | None,
        settings: dict[str, Any],
        status: Sequence[SeedStatus],
        history: "xarray.Dataset",
        u: Field,
        target: Field,
        arrays: Arrays,
        main: Field | None = None,
    ):
        self.problem, self.settings, self.status, self.history = problem, settings, tuple(status), history
        # Stacked over the seeds: the answer, the delayed copy, and the network itself, which is the answer unless it is averaged.
        self._u, self._target, self._main = u, target, u if main is None else main
        self._scores: dict[str, np.ndarray] | None = None  # what evaluate() found, since tables and pictures ask for it again
        self._arrays = arrays  # the whole training state by path, so that a saved solution can be continued

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return tuple(self.settings["seeds"])

    @property
    def good(self) -> np.ndarray:
        """Which seeds ended well."""
        return np.array([not entry.status.is_failure for entry in self.status])

    @property
    def steps(self) -> int:
        """The steps that the run has done."""
        return int(self.settings["done"])

    @property
    def seconds(self) -> float:
        """The time spent in training, over all its parts."""
        return float(self.settings["seconds"])

    @property
    def unknowns(self) -> dict[str, np.ndarray]:
        """The learned scalars of each seed."""
        return {name: np.asarray(value) for name, value in self._u.unknowns.items()}

    def members(self, points: Any, *, of: Callable[..., Any] | None = None) -> np.ndarray:
        """The prediction of every seed at points of shape (n, d): (s, n), or (s, n, m) for m outputs.

        `of` is for what follows from the solution: `of=lambda u, x: fr.gradient(u, x)`.
        """
        return self._predict(self._u, points, of)

    def __call__(self, points: Any, *, of: Callable[..., Any] | None = None) -> np.ndarray:
        """The mean prediction over the seeds that ended well, at points of shape (n, d): (n,), or (n, m) for m outputs.

        With `of`, the mean of what follows from the solution: `solution(points, of=lambda u, x: fr.derivative(u, x))` is its slope.
        """
        return self._mean(self.members(points, of=of))

    def target(self, points: Any) -> np.ndarray:
        """The mean prediction of the target network, the delayed copy; the network itself for methods that have none."""
        return self._mean(self._predict(self._target, points))

    def targets(self) -> "Solution":
        """The same run with its delayed copies as the answer: what pictures of the target are made from."""
        return Solution(self.problem, self.settings, self.status, self.history, self._target, self._target, self._arrays)

    def main(self, points: Any) -> np.ndarray:
        """The mean prediction of the network itself; the same as the solution's where the parameters are not averaged."""
        return self._mean(self._predict(self._main, points))

    def _mean(self, values: np.ndarray) -> np.ndarray:
        good = self.good if self.good.any() else np.ones(len(self.status), bool)
        return values[good].mean(axis=0)

    def _predict(self, u: Field, points: Any, of: Callable[..., Any] | None = None) -> np.ndarray:
        with self._precision():
            points = jnp.asarray(points, float)
            if points.ndim != 2 or points.shape[1] != u.inputs:
                raise ValueError(f"points: got shape {points.shape}; expected (n, {u.inputs}), one point in each row.")
            # In blocks, since a grid of evaluation can be larger than what the devices hold for all seeds at once.
            starts = range(0, max(1, len(points)), BLOCK)
            return np.concatenate([np.asarray(_predict_stacked(u, points[start : start + BLOCK], of)) for start in starts], axis=1)

    def evaluate(self, points: Any = None, *, problem: Equation | None = None, certificate: bool = False) -> dict[str, np.ndarray]:
        """The error of each seed against the exact solution: `mse`, `relative_l2` and where they apply `mse_mean_free`,
        `mse_linear_free`, `mse_normalized`, each an array over the seeds; at the problem's own evaluation points unless given.

        With `certificate=True` also what needs no exact solution, from points and nodes drawn for it (of given samples, from the same
        rows as the training, since there are no others): `true_loss`, an unbiased
        estimate of E[r(x)²], with its 95 % interval `true_loss_low`, `true_loss_high`. For an equation of the second kind, u = K[u] + y,
        whose integrals contract by a factor q < 1, also `contraction` with its interval and `error_bound`, ‖r‖/(1 − q) from the upper
        ends of both: a bound of the root mean square error over the domain, to first order in the error where K is not linear.
        """
        if certificate:
            found = [one.scores() for one in self.certify(problem=problem)]
            proven = {name: np.array([scores[name] for scores in found]) for name in found[0] if all(name in scores for scores in found)}
            return {**(self.evaluate(points, problem=problem) if self._problem(problem).exact is not None else {}), **proven}
        if points is None and problem is None and self._scores is not None:
            return self._scores
        own_points, problem = points is None and problem is None, self._problem(problem)
        if problem.exact is None:
            raise ValueError("evaluate: the problem has no exact solution to compare with; evaluate(certificate=True) needs none.")
        if problem.evaluation is None:
            raise ValueError("evaluate: the problem says nothing of where to evaluate; give Equation(evaluation=fr.Evaluation(...)).")
        evaluation = problem.evaluation
        with self._precision():
            points = evaluation.points() if points is None else jnp.asarray(points, float)
            predictions = jnp.asarray(self.members(points)).reshape(len(self.seeds), len(points), problem.outputs)
            shared = None if problem.is_drawn else problem.truth(points)
            rows = []
            for index, seed in enumerate(self.seeds):
                truth = problem.realize(Keys.of(seed).problem).truth(points) if shared is None else shared
                rows.append(evaluation(predictions[index], truth, points))
        scores = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
        if own_points:
            self._scores = scores
        return scores

    def certify(self, *, problem: Equation | None = None) -> list[Certificate]:
        """What `evaluate(certificate=True)` has as arrays, as one `Certificate` for each seed."""
        problem = self._problem(problem)
        with self._precision():
            fields = [_member(self._u, at) for at in range(len(self.seeds))]
            equations = [problem.realize(Keys.of(seed).problem) if problem.is_drawn else problem for seed in self.seeds]
            return certificates(equations, fields)

    def diagnose(
        self, *, problem: Equation | None = None, method: AbstractMethod | None = None, rule: AbstractRule | None = None
    ) -> Diagnosis:
        """Why a training failed, or that it did not: what its history shows, and what a few fresh samples tell of the first seed that ended
        well; each symptom in plain words with its numbers and its remedy. `diagnosis.remedy` holds the keywords of `solve` that cure it.

        A problem, a method or a rule that was your own and is not in the run's folder must be given again.
        """
        problem = self._problem(problem)
        used: AbstractMethod = method or _recorded("method", self.settings)
        rules = problem.rules(rule or _recorded("rule", self.settings))
        run = RunOf(used, rules, self.settings["batch"], self.steps, _decoded(self.settings["optimizer"]))

        def seed(at: int) -> Subject:
            equation = problem.realize(Keys.of(self.seeds[at]).problem) if problem.is_drawn else problem
            main, answer, target = (_member(one, at) for one in (self._main, self._u, self._target))
            return Subject(equation, main, answer, target, run)

        failed = {index: f"seed {self.seeds[index]}: {entry}" for index, entry in enumerate(self.status) if entry.status.is_failure}
        with self._precision():
            first = int(np.flatnonzero(self.good)[0]) if self.good.any() else 0
            symptoms = [] if not failed else [why_failed("; ".join(failed.values()), seed(min(failed)))]
            return diagnose(str(self.settings["label"]), self.history, seed(first), symptoms)

    def summary(self, *, problem: Equation | None = None) -> dict[str, tuple[float, float, float]]:
        """The mean over the seeds that ended well, with its 95 % bootstrap interval, of every metric and learned scalar."""
        known = problem or self.problem
        errors = self.evaluate(problem=problem) if known is not None and known.exact is not None else {}
        good = self.good if self.good.any() else np.ones(len(self.status), bool)
        return {name: bootstrap_interval(array[good], least=0.0) for name, array in errors.items()} | {
            name: bootstrap_interval(array[good]) for name, array in self.unknowns.items()
        }

    def to_dataset(self, grid: Any = None) -> "xarray.Dataset":
        """The predictions as an `xarray.Dataset`, ready for NetCDF (`.to_netcdf`) or a table (`.to_dataframe().to_csv`).

        `grid` maps an axis name to its coordinates, `{"x": linspace(0, 1, 50), "t": [0, 1]}`, or is an array of points of shape (n, d).
        """
        import xarray

        grid = self._default_grid() if grid is None else grid
        if isinstance(grid, Mapping):
            axes = {str(name): np.asarray(values, float) for name, values in grid.items()}
            if len(axes) != self._u.inputs or any(values.ndim != 1 for values in axes.values()):
                raise ValueError(f"grid: got {len(axes)} axes {list(axes)}; expected {self._u.inputs}, each a list of numbers.")
            points = np.stack([axis.ravel() for axis in np.meshgrid(*axes.values(), indexing="ij")], axis=-1)
            shape, dims, coordinates = tuple(map(len, axes.values())), tuple(axes), dict(axes)
        else:
            points = np.asarray(grid, float)
            shape, dims = (len(points),), ("point",)
            coordinates = {f"x{axis}": ("point", points[:, axis]) for axis in range(points.shape[1])}
        outputs = () if self._u.outputs == 1 else ("output",)
        tail = () if self._u.outputs == 1 else (self._u.outputs,)
        members = self.members(points).reshape(len(self.seeds), *shape, *tail)
        data = {
            "mean": ((*dims, *outputs), self(points).reshape(*shape, *tail)),
            "members": (("seed", *dims, *outputs), members),
            "main": ((*dims, *outputs), self.main(points).reshape(*shape, *tail)),
            "target": ((*dims, *outputs), self.target(points).reshape(*shape, *tail)),
        }
        if self.problem is not None and self.problem.exact is not None and not self.problem.is_drawn:
            data["exact"] = ((*dims, *outputs), np.asarray(self.problem.truth(jnp.asarray(points, float))).reshape(*shape, *tail))
        return xarray.Dataset(data, coords={"seed": list(self.seeds), **coordinates}, attrs={"made_by": "fredholm"})

    def _default_grid(self) -> Any:
        if self.problem is None or self.problem.evaluation is None:
            raise ValueError("to_dataset: give a grid, for instance {'x': numpy.linspace(0, 1, 101)}, or points of shape (n, d).")
        points = np.asarray(self.problem.evaluation.points(2000))
        if points.shape[1] > 2:
            return points
        counts = 201 if points.shape[1] == 1 else 101
        return {f"x{axis}": np.linspace(points[:, axis].min(), points[:, axis].max(), counts) for axis in range(points.shape[1])}

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A picture of the solution beside the truth, its error and its training; written to `path` if given. Returns the figure."""
        from fredholm.plots.solution import plot_solution

        return plot_solution(self, path)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """One HTML page, which opens without a network, with the results, pictures and settings of this run."""
        from fredholm.report import write_report

        return write_report({str(self.settings["label"]): self}, path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes a run folder, which `load` and `resume` read: plain formats, no code."""
        folder = RunFolder.create(path)
        with folder.locked():
            folder.write_history(self.history)
            folder.write_checkpoint(self._arrays, self.steps)
            folder.write_settings(self.settings)
        return folder.path

    def _problem(self, problem: Equation | None) -> Equation:
        found = problem or self.problem
        if found is None:
            raise ValueError("this run's problem was made in Python and is not in its folder: give problem=.")
        return found

    def _precision(self) -> Any:
        return jax.enable_x64(self.settings["precision"] == "float64")

    def score(self) -> tuple[str, tuple[float, float, float]] | None:
        """The problem's own metric with its mean and interval, or None where there is no exact solution."""
        if self.problem is None or self.problem.exact is None or self.problem.evaluation is None:
            return None
        name = self.problem.evaluation.score
        return name, self.summary()[name]

    def __repr__(self) -> str:
        return "\n".join(f"{name:<10}{text}" for name, text in self._lines())

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(n)}</th><td>{html.escape(t)}</td></tr>" for n, t in self._lines())
        return f"<table>{rows}</table>"

    def _lines(self) -> list[tuple[str, str]]:
        failed = [f"seed {seed}: {entry}" for seed, entry in zip(self.seeds, self.status, strict=True) if entry.status.is_failure]
        ended = next((entry.status.value for entry in self.status if not entry.status.is_failure), "every seed failed")
        lines = [
            ("solution", str(self.settings["label"])),
            ("status", f"{ended}; {int(self.good.sum())} of {len(self.seeds)} seeds well, {self.steps} steps in {self.seconds:.1f} s"),
        ]
        lines += [("", text) for text in failed]
        reasons = (self.settings.get("auto") or {}).get("reasons", ())
        lines += [("" if index else "chosen", text) for index, text in enumerate(reasons)]
        score = self.score()
        if score is not None:
            name, (mean, low, high) = score
            spread = f"95 % interval over seeds [{low:.3g}, {high:.3g}]" if np.isfinite(low) else "no interval, which takes two seeds"
            lines.append(("error", f"{name} {mean:.3g}, {spread}"))
        for name, values in self.unknowns.items():
            lines.append((name, describe_unknown(values[self.good])))
        return lines


def _member(stacked: Field, at: int) -> Field:
    """The network of one seed."""
    return jax.tree.map(lambda leaf: leaf[at] if eqx.is_array(leaf) else leaf, stacked)


def _recorded(name: str, settings: dict[str, Any]) -> Any:
    """A noun of the run's settings, which is needed."""
    try:
        return decode(settings[name])
    except NotRebuildableError as error:
        raise ValueError(f"{name}: {error} Give diagnose({name}=...), the same as at the start.") from None


def describe_unknown(values: np.ndarray) -> str:
    """A learned scalar: its mean and interval, and how far apart the seeds are."""
    mean, low, high = bootstrap_interval(values)
    if len(values) < 2:
        return f"{mean:.5g}, one seed"
    return f"{mean:.5g}, 95 % interval [{low:.5g}, {high:.5g}]; seeds from {values.min():.5g} to {values.max():.5g}"


@eqx.filter_jit
def _predict_stacked(u: Field, points: Float[Array, "n d"], of: Callable[..., Any] | None) -> Float[Array, "s n ..."]:
    value = (lambda one, x: one(x)) if of is None else of
    return eqx.filter_vmap(lambda one: jax.vmap(lambda x: jnp.asarray(value(one, x)))(points), in_axes=(eqx.if_array(0),))(u)


def load(path: str | os.PathLike[str], network: Any = None, problem: Equation | None = None) -> Solution:
    """A run from its folder. It predicts by itself where the network is ours; give `network=` or `problem=` where they were your own.

    Nothing that the folder holds is imported or executed.
    """
    folder = RunFolder.open(path)
    settings = folder.read_settings()
    arrays, step = folder.read_checkpoint()
    history = folder.read_history()
    history = history.sel(step=history.step <= step)
    problem = problem or _decoded(settings["problem"])
    recipe = _network_recipe(network, problem, settings)
    skeleton = _field_skeleton(recipe, settings)
    with jax.enable_x64(settings["precision"] == "float64"):
        main, average, delayed = (_saved(skeleton, arrays, part) for part in (".u", ".average", ".method"))
        delayed = delayed or _saved(skeleton, arrays, ".method.target")  # beside it, an adaptive method keeps what it has measured
        assert main is not None
        answer, target = main if average is None else average, main if delayed is None else delayed
    status = [SeedStatus(Status[name], at) for name, at in settings["status"]]
    return Solution(problem, settings, status, history, answer, target, arrays, main)


def _saved(skeleton: Field, arrays: Arrays, part: str) -> Field | None:
    """The network in this part of the training state, or None where there is none."""
    kept = {name.removeprefix(part): value for name, value in arrays.items() if name.startswith((f"{part}.network", f"{part}.unknowns"))}
    return _stacked(skeleton, kept) if kept else None


def _decoded(data: Any) -> Any:
    try:
        return decode(data)
    except NotRebuildableError:
        return None


def _network_recipe(network: Any, problem: Equation | None, settings: dict[str, Any]) -> AbstractNetwork:
    """The network that was given now, or recorded, or is the given problem's own."""
    recipe = network if network is not None else _decoded(settings["network"])
    if recipe is None and problem is not None:
        recipe = problem.defaults.network
    if recipe is None:
        raise ValueError(
            "this run's network was your own and is not in its folder: give load(path, network=...), the same recipe, module or function, "
            "or problem=... if its defaults have the network."
        )
    return as_recipe(recipe)


def _field_skeleton(recipe: AbstractNetwork, settings: dict[str, Any]) -> Field:
    inputs, outputs = settings["inputs"], settings["outputs"]
    network = recipe.build(inputs, outputs, jax.random.key(0))
    return Field(network, {name: jnp.zeros(()) for name in settings["unknowns"]}, inputs, outputs)


def _stacked(skeleton: Field, arrays: Arrays) -> Field:
    """The skeleton with arrays that have a leading axis of seeds."""
    dynamic, static = eqx.partition(skeleton, eqx.is_array)
    seeds = len(next(iter(arrays.values())))
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((seeds, *leaf.shape), leaf.dtype), dynamic)
    return eqx.combine(jax.tree.map(jnp.asarray, unflatten(shapes, arrays)), static)
