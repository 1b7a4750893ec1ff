"""The claims of a figure as a table."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fredholm.storage import write_atomically


def write_claims(path: Path, judged: Iterable[Any]) -> None:
    """Claim, verdict and evidence as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["claim", "verdict", "evidence"])
    writer.writerows(judged)
    write_atomically(path, lambda file: file.write(text.getvalue().encode()))
