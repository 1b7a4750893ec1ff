"""The content of `run.json`: the settings of a run as text, and its progress."""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import numpy as np

from fredholm.equation.building import with_conditions
from fredholm.functions.protocol import as_network
from fredholm.optimizers.protocol import as_optimizer
from fredholm.rules.resolved import Resolved
from fredholm.storage.files import Arrays
from fredholm.storage.run_folder import RunFolder, environment
from fredholm.storage.serialisation import NotRebuildableError, decode, to_text
from fredholm.training.schema import check_run
from fredholm.training.settings import FIELDS, RunSettings
from fredholm.training.status import SeedStatus, Status, failure

if TYPE_CHECKING:
    import xarray

logger = logging.getLogger("fredholm")
FORMAT = 2  # format 1 held objects as nested JSON; it can still be read


PARTS = ("problem", "method", "rule", "network", "optimizer")  # objects, which the file holds as text
OPTIONAL = "adapt"  # an object too, which the file holds where there is one
PLAIN = tuple(name for name in FIELDS if name not in (*PARTS, OPTIONAL))  # numbers and words
_WRAPPED: Mapping[str, Callable[[object], object]] = {"network": as_network, "optimizer": as_optimizer}


def recorded(settings: RunSettings) -> "RecordedSettings":
    """The settings as plain values and text, as a file holds them."""
    arrays: dict[str, np.ndarray] = {}
    parts = {name: to_text(getattr(settings, name), arrays) for name in (*PARTS, *([OPTIONAL] if settings.adapt else []))}
    plain = {name: getattr(settings, name) for name in PLAIN}
    stop = None if settings.stop is None else repr(settings.stop)  # for information: `resume` needs the rule again
    return RecordedSettings({**parts, **plain, "seeds": list(settings.seeds), "stop": stop}, arrays)


class RecordedSettings(eqx.Module):
    """`RunSettings` as a file holds them: plain values, and objects as Python text. The user's own objects have only a name there, from
    which they cannot be rebuilt."""

    values: dict[str, Any]
    arrays: Mapping[str, np.ndarray] = eqx.field(default_factory=dict)  # too large for text, by the names that the text has for them

    def replaced(self, **changes: object) -> "RecordedSettings":
        """The settings with other values."""
        return RecordedSettings({**self.values, **changes}, self.arrays)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return tuple(self.values["seeds"])

    @property
    def steps(self) -> int:
        """The planned number of steps."""
        return int(self.values["steps"])

    @property
    def batch(self) -> int:
        """Points x in each step."""
        return int(self.values["batch"])

    @property
    def average(self) -> float:
        """The share of the averaged parameters that stays at each step; 0 for runs recorded before averaging existed."""
        return float(self.values.get("average", 0.0))

    @property
    def precision(self) -> str:
        """float32 or float64."""
        return str(self.values["precision"])

    @property
    def key(self) -> str:
        """A hash of the settings, independent of their order."""
        text = json.dumps(self.values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def is_own(self, name: str) -> bool:
        """True where a part was the user's own object, which the file does not hold."""
        try:
            decode(self.values[name], self.arrays)
        except NotRebuildableError:
            return True
        return False

    def part(self, name: str) -> Any:
        """A recorded object, or None where it was the user's own, which the file does not hold."""
        try:
            return decode(self.values[name], self.arrays)
        except NotRebuildableError:
            return None
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error

    def text(self, name: str) -> str:
        """A setting as text for a person."""
        value = self.values.get(name)
        if not isinstance(value, dict):
            return str(value)
        if "file" in value:  # the user's own equation in a study
            options = ", ".join(f"{option}={text}" for option, text in value.get("options", {}).items())
            return f"{value['file']}({options})"
        return str(value["opaque"]) if "opaque" in value else to_text(decode(value), {})  # as files of format 1 have it

    def rebuilt_part(self, name: str, call: str) -> Any:
        """A recorded object. Where it was the user's own, a `ValueError` says what to write, as `call` has it: "resume(path, ...)"."""
        try:
            return decode(self.values[name], self.arrays)
        except NotRebuildableError as error:
            raise ValueError(f"{name}: {error} Give {call.replace('...', f'{name}=...')}, the same as at the start.") from None

    def rebuilt(self, call: str, **given: object) -> RunSettings:
        """The settings with every object rebuilt. Objects that the file does not hold must be in `given`; else the error says what to
        write, as `call` has it: "resume(path, ...)"."""
        found: dict[str, Any] = {name: self.values[name] for name in PLAIN if name in self.values}
        found |= {"average": self.average, "seeds": self.seeds, "stop": None}
        for name in (*PARTS, *([OPTIONAL] if OPTIONAL in self.values else [])):
            value = given.get(name)
            value = self.rebuilt_part(name, call) if value is None else value
            found[name] = _WRAPPED.get(name, lambda one: one)(value)
        found["network"] = with_conditions(found["network"], found["problem"])
        return RunSettings(**{**found, **{name: value for name, value in given.items() if name in PLAIN and value is not None}})


class RunRecord(eqx.Module):
    """A run on disk. Its JSON holds the keys of the settings and the fields of this class side by side."""

    settings: RecordedSettings
    label: str  # what the run is called in tables and pictures
    inputs: int
    outputs: int
    unknowns: tuple[str, ...]  # the names of the learned scalars
    auto: dict[str, Any] | None  # reasons and cost of the pilot, if there was one
    origin: dict[str, Any] | None  # where the command line found the problem
    environment: dict[str, Any]  # versions and devices
    done: int = 0  # steps so far
    seconds: float = 0.0
    status: tuple[SeedStatus, ...] = ()
    kept: str | None = None  # "networks" where a study has kept only those
    parameters: tuple[str, ...] = ()  # of a family: the names of the last inputs

    @classmethod
    def of(cls, settings: RunSettings, label: str | None, auto: dict[str, Any] | None, origin: Mapping[str, Any] | None) -> "RunRecord":
        """The record of a run that has not begun."""
        problem = settings.problem
        return cls(
            recorded(settings),
            label or _label(settings),
            problem.inputs,
            problem.outputs,
            tuple(sorted(problem.unknowns)),
            auto,
            dict(origin) if origin else None,
            environment(),
            parameters=tuple(problem.parameters),
        )

    def at(self, done: int, seconds: float, status: Sequence[SeedStatus], settings: RunSettings | None = None) -> "RunRecord":
        """The record after `done` steps. A series and the number of its solves are known only then."""
        found = replace(self, done=done, seconds=seconds, status=tuple(status))
        if settings is None or not settings.network.is_linear:
            return found
        return replace(found, settings=self.settings.replaced(network=to_text(settings.network, {}), steps=settings.steps))

    def with_reasons(self, reasons: Sequence[str]) -> "RunRecord":
        """The record with what was chosen on the way."""
        if not reasons:
            return self
        before = self.auto or {"reasons": [], "evaluations": 0, "seconds": 0.0}
        return replace(self, auto={**before, "reasons": [*before["reasons"], *reasons]})

    def with_steps(self, steps: int) -> "RunRecord":
        """The record with another planned number of steps."""
        return replace(self, settings=self.settings.replaced(steps=steps))

    def to_json(self) -> dict[str, Any]:
        """The content of `run.json`."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("settings", "kept", "parameters")}
        own |= {"parameters": list(self.parameters)} if self.parameters else {}
        own |= {"unknowns": list(self.unknowns), "status": [[entry.status.name, entry.step] for entry in self.status]}
        return {"format": FORMAT, "label": own.pop("label"), **self.settings.values, **own, **({"kept": self.kept} if self.kept else {})}

    def as_saved(self, arrays: Arrays, step: int) -> "RunRecord":
        """The record of the training state in a checkpoint. It may be another state than the record speaks of: a process was killed during
        a save, or the newest checkpoint is damaged. Such a run counts as interrupted."""
        if step == self.done:
            return self
        failed = arrays.get(".failed_at", np.full(len(self.settings.seeds), -1))
        loss = arrays.get(".failed_loss", np.full(len(failed), np.nan))
        status = [
            SeedStatus(Status.INTERRUPTED, step) if at < 0 else SeedStatus(failure(float(value)), int(at))
            for at, value in zip(failed, loss, strict=True)
        ]
        return self.at(step, self.seconds, status)

    @classmethod
    def read(cls, folder: RunFolder) -> "RunRecord":
        """The record of a run folder, as `run.json` has it."""
        data = folder.read_settings()
        check_run(str(folder.path / "run.json"), data, [*FIELDS, *cls.__dataclass_fields__])
        settings = RecordedSettings({name: data[name] for name in FIELDS if name in data}, folder.read_arrays())
        own = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        own |= {"unknowns": tuple(data["unknowns"]), "status": tuple(SeedStatus(Status[name], int(step)) for name, step in data["status"])}
        own |= {"parameters": tuple(data.get("parameters", ()))}
        return cls(settings=settings, **{"auto": None, "origin": None, "environment": {}, **own})


class SavedRun(NamedTuple):
    """What a run folder holds. Its parts agree with each other."""

    record: RunRecord  # with the steps and the status of the checkpoint
    arrays: Arrays  # the training state
    history: "xarray.Dataset"

    @classmethod
    def read(cls, folder: RunFolder) -> "SavedRun":
        """Everything that `load` and `resume` need of a folder."""
        record = RunRecord.read(folder)
        if folder.is_before_first_checkpoint():
            raise ValueError(
                f"{folder.path}: the run was killed before its first checkpoint; fredholm resume {folder.path} starts it again."
            )
        state, step = folder.read_checkpoint()
        if step < record.done:
            logger.warning("%s: the state of step %d is used; that of step %d is damaged or was not saved.", folder.path, step, record.done)
        history = folder.read_history()
        if tuple(history["seed"].values.tolist()) != record.settings.seeds:
            raise ValueError(f"{folder.path}: its history is that of other seeds than its run.json.")
        return cls(record.as_saved(state, step), state, history.sel(step=history["step"] <= step))


def _label(settings: RunSettings) -> str:
    """The default name of a run in tables and pictures."""
    problem = type(settings.problem).__name__
    if settings.network.is_linear and isinstance(settings.rule, Resolved):
        return f"{problem}, {type(settings.network).__name__}"
    return f"{problem}, {type(settings.method).__name__}, {settings.rule!r}"
