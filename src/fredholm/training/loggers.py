"""Ready callbacks that write every record to a tool for watching trainings. Each tool is imported only when its callback is used."""

import contextlib
import importlib
import os
from abc import abstractmethod
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from fredholm.training.callbacks import AfterRecord
from fredholm.training.progress import Watched
from fredholm.training.status import Status


class AbstractLogger(AfterRecord):
    """Writes each record: of every quantity its mean over the seeds, as `loss`, `error`, `integration_variance`, ..."""

    @contextlib.contextmanager
    def during(self, training: Watched) -> Iterator["AbstractLogger"]:
        with super().during(training), self.opened(training):
            yield self

    def after_record(self, training: Watched) -> Status | None:
        means = {name: values[np.isfinite(values)] for name, values in training.records[-1].items()}
        self.write({name: float(values.mean()) for name, values in means.items() if len(values)}, training.step)
        return None

    @abstractmethod
    def opened(self, training: Watched) -> contextlib.AbstractContextManager[object]:
        """The tool's own run, open during the training."""

    @abstractmethod
    def write(self, values: dict[str, float], step: int) -> None:
        """Writes the values of one record."""


class TensorBoard(AbstractLogger):
    """Event files for TensorBoard (`pip install tensorboard`; `tensorboard --logdir FOLDER`).

    Args:
        folder (path): where the event files go.

    Examples:
        >>> import fredholm as fr
        >>> logger = fr.TensorBoard("runs/tensorboard")  # fr.solve(problem, callbacks=[logger])

    See also:
        `MLflow`, `WandB`, `AbstractCallback`.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        super().__init__()
        self._folder, self._writer = os.fspath(folder), None

    @contextlib.contextmanager
    def opened(self, training: Watched) -> Iterator[None]:
        self._writer = _imported("tensorboard.summary", "tensorboard").Writer(self._folder)
        try:
            yield
        finally:
            self._writer.close()

    def write(self, values: dict[str, float], step: int) -> None:
        assert self._writer is not None
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)


class MLflow(AbstractLogger):
    """A run of MLflow (`pip install mlflow`), in its own store or where `MLFLOW_TRACKING_URI` says. `options` are `mlflow.start_run`'s.

    Args:
        experiment (str): the name of the experiment; default: 'fredholm'.
        **options (any): arguments of `mlflow.start_run`.

    Examples:
        >>> import fredholm as fr
        >>> logger = fr.MLflow("fredholm")  # fr.solve(problem, callbacks=[logger])

    See also:
        `TensorBoard`, `WandB`.
    """

    def __init__(self, experiment: str = "fredholm", **options: Any):
        super().__init__()
        self._experiment, self._options = experiment, options

    @contextlib.contextmanager
    def opened(self, training: Watched) -> Iterator[None]:
        self._mlflow = _imported("mlflow", "mlflow")
        self._mlflow.set_experiment(self._experiment)
        with self._mlflow.start_run(**self._options):
            self._mlflow.log_params(_settings(training))
            yield

    def write(self, values: dict[str, float], step: int) -> None:
        self._mlflow.log_metrics(values, step=step)


class WandB(AbstractLogger):
    """A run of Weights & Biases (`pip install wandb`). `options` go to `wandb.init`: `mode="offline"`, `dir=...`, `name=...`.

    Args:
        project (str): the name of the project; default: 'fredholm'.
        **options (any): arguments of `wandb.init`.

    Examples:
        >>> import fredholm as fr
        >>> logger = fr.WandB("fredholm", mode="offline")  # fr.solve(problem, callbacks=[logger])

    See also:
        `TensorBoard`, `MLflow`.
    """

    def __init__(self, project: str = "fredholm", **options: Any):
        super().__init__()
        self._project, self._options, self._run = project, options, None

    @contextlib.contextmanager
    def opened(self, training: Watched) -> Iterator[None]:
        self._run = _imported("wandb", "wandb").init(project=self._project, config=_settings(training), **self._options)
        try:
            yield
        finally:
            self._run.finish()

    def write(self, values: dict[str, float], step: int) -> None:
        assert self._run is not None
        self._run.log(values, step=step)


def _settings(training: Watched) -> dict[str, Any]:
    """The settings of the run, as text where they are objects."""
    settings = training.settings
    parts = {name: repr(getattr(settings, name))[:250] for name in ("method", "rule", "network", "optimizer")}
    return parts | {"steps": settings.steps, "batch": settings.batch, "seeds": len(settings.seeds), "precision": settings.precision}


def _imported(module: str, package: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"callbacks: {package} is not installed; expected it for this logger. Run pip install {package}.") from error
