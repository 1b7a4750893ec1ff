"""What says that a run of a study is finished, and how far one is that is not."""

import json
from pathlib import Path

RESULT = "result.json"  # a run that has it is finished


PART = ".part"  # a folder that is being received


def steps_done(folder: Path) -> int:
    """The steps of a run's newest checkpoint; 0 where there is none."""
    try:
        return int(json.loads((folder / "run.json").read_text(encoding="utf-8"))["done"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def result_key(folder: Path) -> str | None:
    """The key of the run whose result is in a folder, or None where there is none."""
    try:
        return str(json.loads((folder / RESULT).read_text(encoding="utf-8"))["key"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
