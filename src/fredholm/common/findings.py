"""Findings of a check or a diagnosis, and the report that holds them."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

LEVELS = ("ok", "note", "warning", "error")


class Finding(NamedTuple):
    """One finding, in plain words with its numbers."""

    level: Literal["ok", "note", "warning", "error"]
    about: str  # "shapes", "exact solution", "variance", "uniqueness", "bias", "drift", "lag", "noise", "capacity", ...
    text: str  # the observation, and what to do about it
    remedy: Mapping[str, object] = {}  # the keywords of solve that cure it; empty where the equation itself must change

    @property
    def is_wrong(self) -> bool:
        """True for warnings and errors."""
        return self.level in ("warning", "error")


class Unresolved(Exception):  # noqa: N818 - it is an answer, not an error
    """A question has nothing to go by; the message says why."""


class Report:
    """The result of `check` or `diagnose`. `findings` holds everything, `symptoms` only warnings and errors. `ok` is True without
    symptoms. It prints itself."""

    def __init__(self, title: str, findings: Sequence[Finding], *, verdicts: tuple[str, str] = ("nothing suspicious", "see below")):
        self.title, self.findings, self._verdicts = title, tuple(findings), verdicts

    @property
    def ok(self) -> bool:
        """True where there is no warning and no error."""
        return not self.symptoms

    @property
    def symptoms(self) -> tuple[Finding, ...]:
        """The warnings and errors."""
        return tuple(finding for finding in self.findings if finding.is_wrong)

    @property
    def remedy(self) -> dict[str, object]:
        """The keywords of solve that cure the symptoms. Where two symptoms disagree, the first one counts."""
        return {name: value for symptom in reversed(self.symptoms) for name, value in symptom.remedy.items()}

    def __contains__(self, about: str) -> bool:
        return any(symptom.about == about for symptom in self.symptoms)

    def __repr__(self) -> str:
        lines = [f"{self.title}: {self._verdicts[0 if self.ok else 1]}"]
        lines += [f"{finding.level:<10}{finding.about}: {finding.text}" for finding in self.findings]
        return "\n".join(lines)
