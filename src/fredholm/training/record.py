"""What `run.json` holds: the settings of a run as text, and how far it is."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import equinox as eqx

from fredholm.storage.run_folder import RunFolder, environment
from fredholm.training.settings import FIELDS, RecordedSettings, RunSettings
from fredholm.training.status import SeedStatus, Status

FORMAT = 2  # format 1 had objects as nested JSON, and is still read


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
            settings.recorded(),
            label or f"{type(problem).__name__}, {type(settings.method).__name__}, {settings.rule!r}",
            problem.inputs,
            problem.outputs,
            tuple(sorted(problem.unknowns)),
            auto,
            dict(origin) if origin else None,
            environment(),
        )

    def at(self, done: int, seconds: float, status: tuple[SeedStatus, ...]) -> "RunRecord":
        """The record after so many steps."""
        return replace(self, done=done, seconds=seconds, status=status)

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
