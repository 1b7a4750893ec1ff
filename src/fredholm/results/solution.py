"""What `solve` returns: the trained networks of all seeds, how they got there, and how good they are."""

import html
import os
import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from fredholm.common.findings import Report
from fredholm.common.statistics import bootstrap_interval
from fredholm.diagnostics.certificate import Certificate, certificates
from fredholm.diagnostics.diagnosis import diagnose
from fredholm.equation.equation import Equation
from fredholm.functions.field import Field
from fredholm.methods.protocol import AbstractMethod, Trained
from fredholm.report.solved import Shown
from fredholm.rules.base import AbstractRule
from fredholm.storage.run_folder import Arrays, RunFolder
from fredholm.training.devices import gather
from fredholm.training.record import RunRecord
from fredholm.training.settings import FIELDS
from fredholm.training.status import SeedStatus, Status, describe_failures
from fredholm.training.training import Training

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

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
        record: RunRecord,
        problem: Equation | None,
        history: "xarray.Dataset",
        u: Field,
        target: Field,
        arrays: Arrays,
        main: Field | None = None,
    ):
        self.record, self.problem, self.history = record, problem, history
        # Stacked over the seeds: the answer, the delayed copy, and the network itself, which is the answer unless it is averaged.
        self._u, self._target, self._main = u, target, u if main is None else main
        self._scores: dict[str, np.ndarray] | None = None  # what evaluate() found, since tables and pictures ask for it again
        self._arrays = arrays  # the whole training state by path, so that a saved solution can be continued

    @classmethod
    def of(cls, training: Training, record: RunRecord, ended: Status) -> "Solution":
        """The training as it stands."""
        states, settings = gather(training.states), training.settings
        target = settings.known_method.target(states.u, states.method)
        assert isinstance(target, Field)
        answer = states.u if states.average is None else states.average
        now = record.at(training.step, training.seconds, training.status(ended))
        return cls(now, settings.problem, training.history(), answer, target, training.snapshot(), states.u)

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that defines the run, and how far it is, as plain data: what `run.json` holds."""
        return self.record.to_json()

    def shown(self) -> Shown:
        """What a page says of the run besides its results."""
        record = self.record
        settings = {name: text for name in FIELDS if (text := record.settings.text(name)) != "None"}
        if command := (record.origin or {}).get("command"):
            settings["command"] = shlex.join(command)
        packages = record.environment.get("packages", {})
        machine = {name: value for name, value in record.environment.items() if name != "packages"}
        versions = {
            name: ", ".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in (packages | machine).items()
        }
        own = [name for name in ("problem", "network") if record.settings.is_own(name)]
        return Shown(settings, versions, own, record.kept != "networks", self._evaluations())

    def _evaluations(self) -> int | None:
        """Evaluations of integrands in one step of one seed, where the run's problem, method and rule are known."""
        settings, problem = self.record.settings, self.problem
        method, rule = settings.part("method"), settings.part("rule")
        if problem is None or method is None or rule is None:
            return None
        return method.evaluations(problem, problem.rules(rule)).of_integrands(settings.batch)

    @property
    def precision(self) -> str:
        """float32 or float64."""
        return self.record.settings.precision

    @property
    def inputs(self) -> int:
        """d, the size of the network's input."""
        return self.record.inputs

    @property
    def outputs(self) -> int:
        """m, the number of unknown functions."""
        return self.record.outputs

    @property
    def label(self) -> str:
        """What the run is called in tables and pictures."""
        return self.record.label

    @property
    def status(self) -> tuple[SeedStatus, ...]:
        """How the training of each seed ended, and at which step."""
        return self.record.status

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return self.record.settings.seeds

    @property
    def good(self) -> np.ndarray:
        """Which seeds succeeded."""
        return np.array([not entry.status.is_failure for entry in self.status])

    @property
    def steps(self) -> int:
        """The steps that the run has done."""
        return self.record.done

    @property
    def seconds(self) -> float:
        """The time spent in training, over all its parts."""
        return self.record.seconds

    @property
    def unknowns(self) -> dict[str, np.ndarray]:
        """The learned scalars of each seed."""
        return {name: np.asarray(value) for name, value in self._u.unknowns.items()}

    def members(self, points: ArrayLike, *, of: Callable[..., Any] | None = None) -> np.ndarray:
        """The prediction of every seed at points of shape (n, d): (s, n), or (s, n, m) for m outputs.

        `of` is for what follows from the solution: `of=lambda u, x: fr.gradient(u, x)`.
        """
        return self._predict(self._u, points, of)

    def __call__(self, points: ArrayLike, *, of: Callable[..., Any] | None = None) -> np.ndarray:
        """The mean prediction over the seeds that succeeded, at points of shape (n, d): (n,), or (n, m) for m outputs.

        With `of`, the mean of what follows from the solution: `solution(points, of=lambda u, x: fr.derivative(u, x))` is its slope.
        """
        return self._mean(self.members(points, of=of))

    def target(self, points: ArrayLike) -> np.ndarray:
        """The mean prediction of the target network, the delayed copy; the network itself for methods that have none."""
        return self._mean(self._predict(self._target, points))

    def targets(self) -> "Solution":
        """The same run with its delayed copies as the answer: what pictures of the target are made from."""
        return Solution(self.record, self.problem, self.history, self._target, self._target, self._arrays)

    def main(self, points: ArrayLike) -> np.ndarray:
        """The mean prediction of the network itself; the same as the solution's where the parameters are not averaged."""
        return self._mean(self._predict(self._main, points))

    def _mean(self, values: np.ndarray) -> np.ndarray:
        good = self.good if self.good.any() else np.ones(len(self.status), bool)
        return values[good].mean(axis=0)

    def _predict(self, u: Field, points: ArrayLike, of: Callable[..., Any] | None = None) -> np.ndarray:
        with self._precision():
            points = jnp.asarray(points, float)
            if points.ndim != 2 or points.shape[1] != u.inputs:
                raise ValueError(f"points: got shape {points.shape}; expected (n, {u.inputs}), one point in each row.")
            # In blocks, since a grid of evaluation can be larger than what the devices hold for all seeds at once.
            starts = range(0, max(1, len(points)), BLOCK)
            return np.concatenate([np.asarray(_predict_stacked(u, points[start : start + BLOCK], of)) for start in starts], axis=1)

    def evaluate(
        self, points: ArrayLike | None = None, *, problem: Equation | None = None, certificate: bool = False
    ) -> dict[str, np.ndarray]:
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
                truth = problem.for_seed(seed).truth(points) if shared is None else shared
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
            equations = [problem.for_seed(seed) for seed in self.seeds]
            return certificates(equations, fields)

    def diagnose(
        self, *, problem: Equation | None = None, method: AbstractMethod | None = None, rule: AbstractRule | None = None
    ) -> Report:
        """Why a training failed, or that it did not: what its history shows, and what a few fresh samples tell of the first seed that ended
        well; each finding in plain words with its numbers and its remedy. `report.remedy` holds the keywords of `solve` that cure it.

        A problem, a method or a rule that was your own and is not in the run's folder must be given again.
        """
        problem = self._problem(problem)
        used: AbstractMethod = method or self._recorded("method")
        rules = problem.rules(rule or self._recorded("rule"))
        optimizer = self.record.settings.part("optimizer")

        def seed(at: int) -> Trained:
            main, answer, target = (_member(one, at) for one in (self._main, self._u, self._target))
            equation = problem.for_seed(self.seeds[at])
            return Trained(equation, main, answer, target, rules, self.record.settings.batch, self.steps, optimizer)

        failed = np.flatnonzero(~self.good)
        with self._precision():
            first = int(np.flatnonzero(self.good)[0]) if self.good.any() else 0
            ends = "; ".join(describe_failures(self.status, self.seeds))
            known = [used.why_failed(ends, seed(int(failed[0])))] if len(failed) else []
            return diagnose(self.label, self.history, used, seed(first), known)

    def _recorded(self, name: str) -> Any:
        """An object of the run's settings, which is needed."""
        found = self.record.settings.part(name)
        if found is None:
            text = self.record.settings.text(name)
            raise ValueError(f"{name}: it was made in Python and is not in the file: {text}. Give diagnose({name}=...), as at the start.")
        return found

    def summary(self, *, problem: Equation | None = None) -> dict[str, tuple[float, float, float]]:
        """The mean over the seeds that succeeded, with its 95 % bootstrap interval, of every metric and learned scalar."""
        known = problem or self.problem
        errors = self.evaluate(problem=problem) if known is not None and known.exact is not None else {}
        good = self.good if self.good.any() else np.ones(len(self.status), bool)
        return {name: bootstrap_interval(array[good], least=0.0) for name, array in errors.items()} | {
            name: bootstrap_interval(array[good]) for name, array in self.unknowns.items()
        }

    def to_dataset(self, grid: Mapping[str, ArrayLike] | ArrayLike | None = None) -> "xarray.Dataset":
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

    def plot(self, path: str | os.PathLike[str] | None = None) -> "Figure":
        """A picture of the solution beside the truth, its error and its training; written to `path` if given. Returns the figure."""
        from fredholm.report.plots.solution import plot_solution

        return plot_solution(self, path)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """One HTML page, which opens offline, with the results, pictures and settings of this run."""
        from fredholm.report.page import write_report

        return write_report({self.label: self}, path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes a run folder, which `load` and `resume` read: plain formats, no code."""
        folder = RunFolder.create(path)
        with folder.locked():
            folder.write(self.history, self._arrays, self.steps, self.record.to_json(), self.record.settings.arrays)
        return folder.path

    def _problem(self, problem: Equation | None) -> Equation:
        found = problem or self.problem
        if found is None:
            raise ValueError("this run's problem was made in Python and is not in its folder: give problem=.")
        return found

    def _precision(self) -> AbstractContextManager[None]:
        return jax.enable_x64(self.record.settings.precision == "float64")

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
        ended = next((entry.status.value for entry in self.status if not entry.status.is_failure), "every seed failed")
        lines = [
            ("solution", self.label),
            ("status", f"{ended}; {int(self.good.sum())} of {len(self.seeds)} seeds succeeded, {self.steps} steps in {self.seconds:.1f} s"),
        ]
        lines += [("", text) for text in describe_failures(self.status, self.seeds)]
        reasons = (self.record.auto or {}).get("reasons", ())
        lines += [("" if index else "chosen", text) for index, text in enumerate(reasons)]
        score = self.score()
        if score is not None:
            name, (mean, low, high) = score
            spread = f"95 % interval over seeds [{low:.3g}, {high:.3g}]" if np.isfinite(low) else "no interval: it needs at least two seeds"
            lines.append(("error", f"{name} {mean:.3g}, {spread}"))
        for name, values in self.unknowns.items():
            lines.append((name, describe_unknown(values[self.good])))
        return lines


def _member(stacked: Field, at: int) -> Field:
    """The network of one seed."""
    return jax.tree.map(lambda leaf: leaf[at] if eqx.is_array(leaf) else leaf, stacked)


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
