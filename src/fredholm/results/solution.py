"""`Solution`, which `solve` returns: the trained networks of all seeds, their history, and their errors."""

import html
import os
import shlex
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from fredholm.common.checks import positive_integer
from fredholm.common.findings import Finding, Report
from fredholm.common.statistics import bootstrap_interval
from fredholm.diagnostics.certificate import Certificate, certificates
from fredholm.diagnostics.diagnosis import diagnose
from fredholm.diagnostics.quality import Quality, qualities
from fredholm.diagnostics.refined import Refined, other_form, refined
from fredholm.equation.equation import Equation
from fredholm.equation.evaluation import METRICS
from fredholm.equation.family import OfMember
from fredholm.functions.chebyshev import Series
from fredholm.functions.field import Field
from fredholm.methods.protocol import AbstractMethod, Evaluations, Trained
from fredholm.report.solved import Shown
from fredholm.results.dataset import dataset
from fredholm.results.estimate import estimated
from fredholm.results.exported import exported
from fredholm.results.prediction import MeanNetwork, Predicted, Values, member, predict, rows_of, with_parameters
from fredholm.results.printed import described
from fredholm.rules.base import AbstractRule
from fredholm.solving.correction import Correction, Estimate
from fredholm.storage.files import Arrays
from fredholm.storage.run_folder import RunFolder
from fredholm.training.devices import gather
from fredholm.training.engine import AbstractEngine
from fredholm.training.record import RunRecord
from fredholm.training.settings import FIELDS
from fredholm.training.status import SeedStatus, Status, describe_failures

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


class Solution:
    """The solution of an equation: one trained network for each seed. It is a function of points:

        solution = fr.solve(fr.problems.Volterra(), seeds=4)
        solution                                      # prints status, error and learned scalars
        solution(points)                              # the mean over the seeds: points (n, d), values (n,)
        solution(points, of=fr.derivative)            # the derivative of u
        solution.u                                    # a JAX function of one point (d,): jax.grad(solution.u), fr.laplacian(solution.u, x)
        solution.members(points)                      # each seed: (s, n)
        solution.evaluate()["mse"]                    # the error of each seed: (s,)
        solution.diagnose()                           # why a training failed
        solution.save("runs/volterra")                # fr.load and fr.resume read it

    Shapes: s seeds, n points, d inputs, m outputs. With one output the axis m is left out.

    Attributes:
        problem: the `Equation`; None where a loaded run could not rebuild it.
        settings: everything that defines the run, as plain data: the content of `run.json`.
        status: a `SeedStatus` for each seed: how its training ended, and at which step.
        history: an `xarray.Dataset` over (seed, step). It has `loss` and its parts, and where they apply `integration_variance`,
            `excess_variance` (the bias of the standard loss), `drift` (between network and target), `size` (of the network),
            `regularization_weight` (λ), and `error` against the exact solution. Where the parameters are averaged, `error` is that of the
            average, which is the answer, and `error_main` that of the network itself.
        unknowns: the learned scalars by name, each an array (s,). `history` has their course as `unknown_<name>`.

    Args:
        record (RunRecord): the settings and the status of the run.
        problem (Equation): the equation; None where a loaded run could not rebuild it.
        history (xarray.Dataset): what was recorded, over (seed, step).
        u (function): the networks of all seeds.
        target (function): the delayed networks.
        arrays (dict): what a checkpoint holds.
        main (function): the networks without averaging; default: None.

    Examples:
        >>> import fredholm as fr
        >>> solution = fr.solve(fr.problems.Volterra(), network=fr.Chebyshev(8), seeds=1, progress=False)
        >>> solution([[1.0], [2.0]]).shape
        (2,)
        >>> solution.status[0].status.value
        'finished'

    See also:
        `solve`, `load`, `View`.
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
        # Each stacked over the seeds: the answer, the delayed copy, and the network itself. Without averaging the last is the answer.
        self._u, self._target, self._main = u, target, u if main is None else main
        self._scores: dict[str, np.ndarray] | None = None  # a cache of evaluate(), for tables and figures
        self._qualities: list[Quality] | None = None  # caches for printing: of quality(), certify() and estimate()
        self._certificates: list[Certificate] | None = None
        self._estimated: tuple[Estimate, Correction | None] | None = None
        self._arrays = arrays  # the whole training state by path, so that a saved solution can be resumed

    @classmethod
    def of(cls, training: AbstractEngine, record: RunRecord, ended: Status) -> "Solution":
        """The solution of a training in its present state."""
        states, settings = gather(training.states), training.settings
        target = settings.known_method.target(states.u, states.method)
        assert isinstance(target, Field)
        answer = states.u if states.average is None else states.average
        now = record.at(training.step, training.seconds, training.status(ended), settings)
        return cls(now, settings.problem, training.history(), answer, target, training.snapshot(), states.u)

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that defines the run, and its progress, as plain data: the content of `run.json`."""
        return self.record.to_json()

    def shown(self) -> Shown:
        """Settings and versions, for the report of the run."""
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
        """Evaluations of integrands in one step of one seed; None where problem, method or rule are not known."""
        counted = self._counted()
        return None if counted is None else counted.of_integrands(self.record.settings.batch)

    @property
    def evaluations(self) -> int | None:
        """Evaluations of f and of integrands that each seed has spent, the method's own measurements included; None where they are not
        known."""
        counted = self._counted()
        return None if counted is None else self.steps * (counted.of_step(self.record.settings.batch) + counted.measured)

    def _counted(self) -> Evaluations | None:
        settings, problem = self.record.settings, self.problem
        method, rule = settings.part("method"), settings.part("rule")
        return None if problem is None or method is None or rule is None else method.evaluations(problem, problem.rules(rule))

    @property
    def precision(self) -> str:
        """The precision of the training, "float32" or "float64"."""
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
        """The name of the run in tables and figures."""
        return self.record.label

    @property
    def status(self) -> tuple[SeedStatus, ...]:
        """How the training of each seed ended, and at which step; in the order of `seeds`."""
        return self.record.status

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return self.record.settings.seeds

    @property
    def good(self) -> np.ndarray:
        """A boolean array (s,): True for the seeds that succeeded."""
        return np.array([not entry.status.is_failure for entry in self.status])

    @property
    def steps(self) -> int:
        """The number of steps done."""
        return self.record.done

    @property
    def seconds(self) -> float:
        """The time spent in training, in seconds, over all sessions of a resumed run."""
        return self.record.seconds

    @property
    def unknowns(self) -> dict[str, np.ndarray]:
        """The learned scalars by name, each an array (s,)."""
        return {name: np.asarray(value) for name, value in self._u.unknowns.items()}

    @property
    def spectrum(self) -> np.ndarray | None:
        """The largest coefficient of each degree, of the first seed's series; None where u is no series."""
        first = member(self._u, 0).network
        return first.spectrum() if isinstance(first, Series) else None

    def members(self, points: ArrayLike | float, *, of: Predicted | None = None, **parameters: ArrayLike | float) -> Values:
        """The prediction of every seed, failed ones included.

        Args:
            points: points of shape (n, d), or one point (d,); with one input also n numbers (n,), or one number.
            of: a function of u and one point x, to predict something else than u(x): `of=lambda u, x: fr.gradient(u, x)`.
            parameters: of a family, as in a call.

        Returns:
            An array (s, n), or (s, n, m) for m outputs; with `of`, (s, n, ...) with the shape of its value. One point has no axis n.
        """
        names = self.record.parameters
        of = OfMember(of, names) if of is not None and names else of
        return self._predict(self._u, with_parameters(points, names, parameters, self.inputs), of)

    def __call__(self, points: ArrayLike | float, *, of: Predicted | None = None, **parameters: ArrayLike | float) -> Values:
        """The mean prediction over the seeds that succeeded: `solution(np.linspace(0, 5, 101))`.

        It is a JAX function too: `jax.grad(solution)`, `jax.jit` and `jax.vmap` of it work, and then the result is a JAX array.

        Args:
            points: points of shape (n, d), or one point (d,); with one input also n numbers (n,), or one number.
            of: a function of u and one point x, to predict something else than u(x): `of=fr.derivative`, or
                `of=lambda u, x: u(x) ** 2`.
            parameters: of a family, a number for each parameter or n of them: `solution(points, kappa=1.3)`, where points are those of x.
                Without them a point has the parameters after its own coordinates.

        Returns:
            An array (n,), or (n, m) for m outputs; with `of`, (n, ...) with the shape of its value. For one point without the axis n. Where
            every seed failed, it is the mean over all of them, each at its last good state.
        """
        return self._mean(self.members(points, of=of, **parameters))

    @property
    def u(self) -> Field:
        """The mean over the seeds that succeeded as a JAX function of one point of shape (d,), with the learned scalars as attributes.

        It takes the place of u in any other function: `fr.laplacian(solution.u, x)`, `jax.hessian(solution.u)`, or in the f or g of another
        equation.
        """
        kept: Field = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[self._kept()]) if eqx.is_array(leaf) else leaf, self._u)
        unknowns = {name: jnp.mean(values) for name, values in kept.unknowns.items()}
        return Field(MeanNetwork(kept.network), unknowns, kept.inputs, kept.outputs)

    def start(self, seeds: int) -> Field:
        """The networks of the seeds that succeeded, as many as asked for, by turns: what another training begins with."""
        places = np.resize(np.flatnonzero(self._kept()), seeds)
        return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[places]) if eqx.is_array(leaf) else leaf, self._u)

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Writes the mean prediction as a compiled function, which JAX runs without fredholm, on CPUs, GPUs and TPUs:

            solution.export("u.bin")
            u = jax.export.deserialize(bytearray(Path("u.bin").read_bytes())).call   # points (n, d) to values (n,), or (n, m)

        The file is StableHLO with the parameters in it. Loading it runs no Python of anyone. With a name that ends in .npz it holds the
        arrays of an MLP or a series instead, which `docs/read_exported.py` reads with NumPy alone. Of a family, points have the
        parameters after their coordinates.
        """
        with self._precision():
            return exported(self.u, path)

    def target(self, points: ArrayLike | float) -> Values:
        """The mean prediction of the target network, the delayed copy; methods without one give the network itself. Shapes as in a call;
        of a family, points have the parameters after their coordinates."""
        return self._mean(self._predict(self._target, points))

    def targets(self) -> "Solution":
        """The same run with its target networks, the delayed copies, as the answer: for figures of the target."""
        return Solution(self.record, self.problem, self.history, self._target, self._target, self._arrays)

    def main(self, points: ArrayLike | float) -> Values:
        """The mean prediction of the network itself, without averaged parameters, in the shapes of a call."""
        return self._mean(self._predict(self._main, points))

    def _kept(self) -> np.ndarray:
        """The seeds that means are taken over: those that succeeded, or all where none did."""
        return self.good if self.good.any() else np.ones(len(self.status), bool)

    def _mean(self, values: Values) -> Values:
        mean = values[self._kept()].mean(axis=0)
        return mean if isinstance(mean, jax.Array) else np.asarray(mean)

    def _predict(self, u: Field, points: ArrayLike | float, of: Predicted | None = None) -> Values:
        return predict(u, points, of, self.precision)

    def evaluate(
        self,
        points: ArrayLike | None = None,
        *,
        problem: Equation | None = None,
        certificate: bool = False,
        **parameters: ArrayLike | float,
    ) -> dict[str, np.ndarray]:
        """The errors of each seed against the exact solution: `solution.evaluate()["mse"]`.

        Args:
            points: where to compare, of shape (n, d); default: the problem's own evaluation points.
            problem: the equation; default: that of the run. Needed where a loaded run could not rebuild it.
            certificate: also estimate the true loss, which needs no exact solution.
            parameters: of a family, the member to compare at: `solution.evaluate(kappa=1.3)`; default: all of them.

        Returns:
            An array (s,) for each metric: `mse`, `relative_l2`, and where they apply `mse_mean_free`, `mse_linear_free`, `mse_normalized`.

            With `certificate=True` also `true_loss`, an unbiased estimate of E[r(x)²], with its 95 % interval `true_loss_low` and
            `true_loss_high`. It comes from fresh points and nodes; where samples are given, from the same ones as the training. For an
            equation of the second kind, u = K[u] + y, with a contraction K by a factor q < 1, also `contraction` with its interval, and
            `error_bound` = ‖r‖/(1 − q) from the upper ends of both. It bounds the root mean square error over the domain; where K is not
            linear, to first order in the error.

        Raises:
            ValueError: where there is no exact solution and `certificate` is False.
        """
        if certificate:
            found = [one.scores() for one in self.certify(problem=problem)]
            proven = {name: np.array([scores[name] for scores in found]) for name in found[0] if all(name in scores for scores in found)}
            return {
                **(
                    self.evaluate(points, problem=problem, certificate=False, **parameters)
                    if self._problem(problem).exact is not None
                    else {}
                ),
                **proven,
            }
        is_own = points is None and problem is None and not parameters
        if is_own and self._scores is not None:
            return self._scores
        problem = self._problem(problem)
        if problem.exact is None:
            raise ValueError("evaluate: the problem has no exact solution to compare with; evaluate(certificate=True) needs none.")
        if problem.evaluation is None:
            raise ValueError("evaluate: the problem has no evaluation points; give Equation(evaluation=fr.Evaluation(...)).")
        evaluation = problem.evaluation
        with self._precision():
            names = tuple(problem.parameters)
            given = evaluation.points()[:, : -len(names) if parameters else None] if points is None else points
            at = rows_of(jnp.asarray(with_parameters(given, names, parameters, problem.inputs), float), problem.inputs)[0]
            predictions = jnp.asarray(self.members(at)).reshape(len(self.seeds), len(at), problem.outputs)
            shared = None if problem.is_drawn else problem.truth(at)
            rows = []
            for index, seed in enumerate(self.seeds):
                truth = problem.for_seed(seed).truth(at) if shared is None else shared
                rows.append(evaluation(predictions[index], truth, at))
        scores = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
        if is_own:
            self._scores = scores
        return scores

    def quality(self, *, problem: Equation | None = None) -> list[Quality]:
        """How well each seed satisfies the equation, its conditions and data, relative to their terms: `solution.quality()[0].residual`.

        It needs no exact solution, and is measured once, on first use, with fresh points and nodes. `print(solution)` shows it.
        """
        if problem is None and self._qualities is not None:
            return self._qualities
        equation = self._problem(problem)
        with self._precision():
            found = qualities([equation.for_seed(seed) for seed in self.seeds], [member(self._u, at) for at in range(len(self.seeds))])
        if problem is None:
            self._qualities = found
        return found

    def estimate(self, *, seed: int | None = None, problem: Equation | None = None) -> Estimate:
        """The estimated error of `solution(points)`, the mean over seeds, where no exact solution is known.

            solution.estimate().error       # 0.018: at most about 1.8 % of u, in the root mean square
            print(solution.estimate())      # in words; where there is none, "not available: " and why

        The residual is linearised about u, and one Newton correction is solved for in a linear class: a Chebyshev series on up to three
        axes, random features on more. `error` is twice the size of that correction and of what it leaves. It is measured once, on first
        use; `print(solution)` shows it. It never raises. A solve by a series has made its own estimate.

        Args:
            seed: one of `seeds`, for its network alone; default: the mean over the seeds that succeeded.
            problem: the equation; default: that of the run.

        Returns:
            An `Estimate`: `error`, `about`, and where there are data `unknowns` and `intervals` of learned scalars.
        """
        return self._correction(problem, seed)[0]

    def _correction(self, problem: Equation | None, seed: int | None = None) -> tuple[Estimate, Correction | None]:
        if problem is None and seed is None and self._estimated is not None:
            return self._estimated
        with self._precision():
            found = estimated(problem or self.problem, self._u, self.good, self.seeds, seed, self.seconds)
        if problem is None and seed is None:
            self._estimated = found
        return found

    def refined(self, points: ArrayLike, samples: int = 10_000, *, problem: Equation | None = None) -> Refined:
        """A better value at each point, with an interval.

            found = solution.refined([[0.5], [1.0]])
            found.value, found.low, found.high, found.about

        For u = K[u] + y it is one more application of the right-hand side, from fresh samples. Where K contracts, the 95 % interval
        contains the solution; else that of K[u] + y, which `about` says. For any other equation it is one Newton correction of u in a
        linear class, as in `estimate`, and the interval is twice what a second correction finds and the class leaves out.

        Args:
            points: where, of shape (n, d); with one input (n,) too.
            samples: nodes of each integral at each point, for u = K[u] + y.
            problem: the equation; default: that of the run.

        Returns:
            `value`, `low` and `high`, each (n,) or (n, m), and `about`: what the interval contains.

        Raises:
            ValueError: where there is neither; it says why.
        """
        equation, count = self._problem(problem), positive_integer("samples", samples)
        with self._precision():
            rows, _ = rows_of(jnp.asarray(points, float), self.inputs)
            if not (other := other_form(equation, self.u)):
                return refined(equation, self.u, rows, count, jax.random.fold_in(jax.random.key(2**31 - 1), 77))
        known, correction = self._correction(problem)
        if correction is None:
            raise ValueError(f"refined: the equation is {other}, and a Newton correction is {known}")
        with jax.enable_x64(True):
            rows, _ = rows_of(jnp.asarray(points, float), self.inputs)
            value, half = (part[:, 0] if self.outputs == 1 else part for part in correction.refined(rows))
        return Refined(value, value - half, value + half, f"the solution: {known.about}")

    def certify(self, *, problem: Equation | None = None) -> list[Certificate]:
        """One `Certificate` for each seed: the numbers of `evaluate(certificate=True)` as objects, with `.loss` and `.error_bound`.

        It is measured once, on first use. `print(solution)` shows it.

            best = min(solution.certify(), key=lambda one: one.loss)
        """
        if problem is None and self._certificates is not None:
            return self._certificates
        known = self._problem(problem)
        with self._precision():
            fields = [member(self._u, at) for at in range(len(self.seeds))]
            found = certificates([known.for_seed(seed) for seed in self.seeds], fields)
        if problem is None:
            self._certificates = found
        return found

    def diagnose(
        self, *, problem: Equation | None = None, method: AbstractMethod | None = None, rule: AbstractRule | None = None
    ) -> Report:
        """Why a training failed, that nothing is wrong, or what could not be tested: `print(solution.diagnose())`.

        It examines the history, the first seed that succeeded on fresh samples, and the residuals of the other seeds. Each finding has its
        numbers and a remedy in plain words. `report.remedy` holds all keywords of `solve` for a better run, those of this one with what
        changes: `fr.solve(problem, **report.remedy)`. `report.changes` holds the changes alone.

        Args:
            problem: the equation; default: that of the run.
            method: the method; default: that of the run.
            rule: the rule; default: that of the run.

        After `load`, parts that were your own are not known and must be given again.
        """
        problem = self._problem(problem)
        used: AbstractMethod = method or self._recorded("method")
        rules = problem.rules(rule or self._recorded("rule"))
        optimizer = self.record.settings.part("optimizer")

        def seed(at: int) -> Trained:
            main, answer, target = (member(one, at) for one in (self._main, self._u, self._target))
            equation = problem.for_seed(self.seeds[at])
            return Trained(equation, main, answer, target, rules, self.record.settings.batch, self.steps, optimizer)

        failed = np.flatnonzero(~self.good)
        with self._precision():
            good = [int(at) for at in np.flatnonzero(self.good)]
            first = good[0] if good else 0
            ends = "; ".join(describe_failures(self.status, self.seeds))
            known = [used.why_failed(ends, seed(int(failed[0])))] if len(failed) else []
            if any(entry.status.is_unfinished for entry in self.status):
                planned = self.record.settings.steps
                text = f"the training ended at step {self.steps} of {planned}. Continue it: fredholm resume, fr.resume(path)."
                known.append(Finding("warning", "unfinished", text))
            others = {self.seeds[at]: seed(at) for at in good[1:]}
            return diagnose(self.label, self.history, used, seed(first), known, others=others, settings=self._keywords())

    def _keywords(self) -> dict[str, object]:
        """The settings as keywords of `solve`, without parts that were made in Python and after `load` are not known."""
        settings = self.record.settings
        parts = {name: part for name in ("method", "rule", "network", "optimizer") if (part := settings.part(name)) is not None}
        plain = {"steps": settings.steps, "batch": settings.batch, "average": settings.average}
        return {**parts, **plain, **({"precision": self.precision} if self.precision != "float32" else {})}

    def _recorded(self, name: str) -> Any:
        """An object of the run's settings; `ValueError` where the file does not hold it."""
        found = self.record.settings.part(name)
        if found is None:
            text = self.record.settings.text(name)
            raise ValueError(
                f"{name}: it was made in Python and is not in the file: {text}. Give diagnose({name}=...), the same as at the start."
            )
        return found

    def summary(self, *, problem: Equation | None = None) -> dict[str, tuple[float, float, float]]:
        """(mean, low, high) of every metric and learned scalar: the mean over the seeds that succeeded, and its 95 % bootstrap interval.

        The interval needs at least two seeds; with one, low and high are NaN. The metrics need an exact solution.
        """
        known = problem or self.problem
        errors = self.evaluate(problem=problem) if known is not None and known.exact is not None else {}
        good = self._kept()
        return {name: bootstrap_interval(array[good], least=0.0) for name, array in errors.items()} | {
            name: bootstrap_interval(array[good]) for name, array in self.unknowns.items()
        }

    def to_dataset(self, grid: Mapping[str, ArrayLike] | ArrayLike | None = None) -> "xarray.Dataset":
        """The predictions as an `xarray.Dataset`, ready for NetCDF (`.to_netcdf`) or a table (`.to_dataframe().to_csv`).

        Args:
            grid: the coordinates of each axis by name, in the order of the inputs, `{"x": np.linspace(0, 1, 50), "t": [0, 1]}`; or points
                of shape (n, d). Default: a regular grid over the evaluation points for d = 1 and 2, else 2000 of these points.

        Returns:
            A dataset with `mean` (over the seeds that succeeded), `members` (each seed), `main`, `target`, and where it is known `exact`.
        """
        return dataset(self, grid)

    def plot(self, path: str | os.PathLike[str] | None = None) -> "Figure":
        """A figure of the solution, the exact solution, the error and the training; saved to `path` if given: `solution.plot("u.png")`."""
        from fredholm.report.plots.solution import plot_solution

        return plot_solution(self, path)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Writes one HTML page with the results, figures and settings of this run, which opens offline; returns its path."""
        from fredholm.report.page import write_report

        return write_report({self.label: self}, path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes a run folder, which `load` and `resume` read, and returns its path. It holds plain formats and no code.

        `ValueError` where the folder exists and is not empty.
        """
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
        """The name of the problem's own metric, and its (mean, low, high) as in `summary`; None where there is no exact solution."""
        if self.problem is None or self.problem.exact is None or self.problem.evaluation is None:
            return None
        name = self.problem.evaluation.score
        return name, self.summary()[name]

    def score_of_mean(self) -> float | None:
        """The problem's own metric for `solution(points)`, the mean over the seeds that succeeded: what you get. None for a single seed,
        without an exact solution, and where each seed has an equation of its own."""
        if self.score() is None or self._kept().sum() < 2 or self.problem is None or self.problem.is_drawn:
            return None
        evaluation = self.problem.evaluation
        assert evaluation is not None
        with self._precision():
            points = evaluation.points()
            mean = jnp.asarray(self(points)).reshape(len(points), self.outputs)
            return float(METRICS[evaluation.score](mean, self.problem.truth(points), points))

    def __repr__(self) -> str:
        return "\n".join(f"{name:<10}{text}" for name, text in self.lines())

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(n)}</th><td>{html.escape(t)}</td></tr>" for n, t in self.lines())
        from fredholm.report.page import picture
        from fredholm.report.plots.solution import plot_solution

        shown = picture(plot_solution(self), "")
        source = f"data:image/png;base64,{shown.data}"
        return f'<table>{rows}</table><img width="{shown.width}" style="max-width:100%" alt="the solution" src="{source}">'

    def lines(self) -> list[tuple[str, str]]:
        """What `print(solution)` says: pairs of a heading and a text, for pages and for your own tables."""
        return described(self, (self.record.auto or {}).get("reasons", ()))
