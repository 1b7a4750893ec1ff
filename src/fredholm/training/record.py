"""What `run.json` holds: the settings of a run as text, and how far it is."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import numpy as np

from fredholm.functions.protocol import as_network
from fredholm.optimizers.protocol import as_optimizer
from fredholm.storage.run_folder import RunFolder, environment
from fredholm.storage.serialisation import NotRebuildableError, decode, to_text
from fredholm.training.settings import FIELDS, RunSettings
from fredholm.training.status import SeedStatus, Status

FORMAT = 2  # format 1 had objects as nested JSON, and is still read


PARTS = ("problem", "method", "rule", "network", "optimizer")  # objects, which a file holds as text
PLAIN = tuple(name for name in FIELDS if name not in PARTS)  # numbers and words
_WRAPPED: Mapping[str, Callable[[object], object]] = {"network": as_network, "optimizer": as_optimizer}


def recorded(settings: RunSettings) -> "RecordedSettings":
    """The settings as plain values and text: what a file holds."""
    arrays: dict[str, np.ndarray] = {}
    parts = {name: to_text(getattr(settings, name), arrays) for name in PARTS}
    plain = {name: getattr(settings, name) for name in PLAIN}
    stop = None if settings.stop is None else repr(settings.stop)  # for the record: a run that is resumed is given its rule again
    return RecordedSettings({**parts, **plain, "seeds": list(settings.seeds), "stop": stop}, arrays)


class RecordedSettings(eqx.Module):
    """`RunSettings` as a file holds them: plain values, and text as in Python for what is an object. What was the user's own is named
    there and cannot be rebuilt."""

    values: dict[str, Any]
    arrays: Mapping[str, np.ndarray] = eqx.field(
        default_factory=dict
    )  # those that are too large for a text, by the names that it has for them

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
        """How much of the averaged parameters stays at each step; a run of before there was averaging has none."""
        return float(self.values.get("average", 0.0))

    @property
    def precision(self) -> str:
        """float32 or float64."""
        return str(self.values["precision"])

    @property
    def key(self) -> str:
        """The hash of the settings, whatever the order in which they were given."""
        text = json.dumps(self.values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def is_own(self, name: str) -> bool:
        """True where a part was the user's own, and is not in the file."""
        try:
            decode(self.values[name], self.arrays)
        except NotRebuildableError:
            return True
        return False

    def part(self, name: str) -> Any:
        """A recorded object, or None where it was the user's own and is not in the file."""
        try:
            return decode(self.values[name], self.arrays)
        except NotRebuildableError:
            return None

    def text(self, name: str) -> str:
        """A setting as it is shown."""
        value = self.values.get(name)
        if not isinstance(value, dict):
            return str(value)
        if "file" in value:  # the user's own equation in a study
            options = ", ".join(f"{option}={text}" for option, text in value.get("options", {}).items())
            return f"{value['file']}({options})"
        return str(value["opaque"]) if "opaque" in value else to_text(decode(value), {})  # as files of format 1 have it

    def rebuilt_part(self, name: str, call: str) -> Any:
        """A recorded object. Where it was the user's own, an error that says what to write, "resume(path, ...)"."""
        try:
            return decode(self.values[name], self.arrays)
        except NotRebuildableError as error:
            raise ValueError(f"{name}: {error} Give {call.replace('...', f'{name}=...')}, the same as at the start.") from None

    def rebuilt(self, call: str, **given: object) -> RunSettings:
        """The settings with every object made again; those that a file cannot hold must be among the given. `call` is what the user has
        to write, "resume(path, ...)"."""
        found: dict[str, Any] = {name: self.values[name] for name in PLAIN if name in self.values}
        found |= {"average": self.average, "seeds": self.seeds, "stop": None}
        for name in PARTS:
            value = given.get(name)
            value = self.rebuilt_part(name, call) if value is None else value
            found[name] = _WRAPPED.get(name, lambda one: one)(value)
        return RunSettings(**{**found, **{name: value for name, value in given.items() if name in PLAIN and value is not None}})


class RunRecord(eqx.Module):
    """A run on disk. Its JSON has the settings' own keys beside those of this class."""

    settings: RecordedSettings
    label: str  # what the run is called in tables and pictures
    inputs: int
    outputs: int
    unknowns: tuple[str, ...]  # the names of the learned scalars
    auto: dict[str, Any] | None  # the reasons of the pilot and what it cost, where there was one
    origin: dict[str, Any] | None  # where the command line found the problem
    environment: dict[str, Any]  # versions and devices
    done: int = 0  # steps
    seconds: float = 0.0
    status: tuple[SeedStatus, ...] = ()
    kept: str | None = None  # "networks" where a study has kept nothing else

    @classmethod
    def of(cls, settings: RunSettings, label: str | None, auto: dict[str, Any] | None, origin: Mapping[str, Any] | None) -> "RunRecord":
        """The record of a run that has not begun."""
        problem = settings.problem
        return cls(
            recorded(settings),
            label or f"{type(problem).__name__}, {type(settings.method).__name__}, {settings.rule!r}",
            problem.inputs,
            problem.outputs,
            tuple(sorted(problem.unknowns)),
            auto,
            dict(origin) if origin else None,
            environment(),
        )

    def at(self, done: int, seconds: float, status: Sequence[SeedStatus]) -> "RunRecord":
        """The record after so many steps."""
        return replace(self, done=done, seconds=seconds, status=tuple(status))

    def with_steps(self, steps: int) -> "RunRecord":
        """The record with another planned number of steps."""
        return replace(self, settings=self.settings.replaced(steps=steps))

    def to_json(self) -> dict[str, Any]:
        """The content of `run.json`."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("settings", "kept")}
        own |= {"unknowns": list(self.unknowns), "status": [[entry.status.name, entry.step] for entry in self.status]}
        return {"format": FORMAT, "label": own.pop("label"), **self.settings.values, **own, **({"kept": self.kept} if self.kept else {})}

    @classmethod
    def read(cls, folder: RunFolder) -> "RunRecord":
        """The record of a run folder."""
        data = folder.read_settings()
        settings = RecordedSettings({name: data[name] for name in FIELDS if name in data}, folder.read_arrays())
        own = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        own |= {"unknowns": tuple(data["unknowns"]), "status": tuple(SeedStatus(Status[name], int(step)) for name, step in data["status"])}
        return cls(settings=settings, **{"auto": None, "origin": None, "environment": {}, **own})
