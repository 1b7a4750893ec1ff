"""The tables of a study: one row for each run, seed and record; one for each run; one for each pair of runs."""

import csv
import io
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fredholm.common.statistics import bootstrap_interval
from fredholm.storage.files import write_atomically
from fredholm.storage.serialisation import to_text
from fredholm.study.folder import StudyFolder, outcomes
from fredholm.study.outcome import Outcome, paired
from fredholm.study.run import Run
from fredholm.training.status import describe_failures

if TYPE_CHECKING:
    import pandas

TABLE, SUMMARY, PAIRS = "table.csv", "summary.csv", "paired.csv"
MOST_PAIRED = 60  # runs of one problem: beyond, the pairs are left to the reader of the table
HOW = ("loss_rule", "variable")  # how a problem's integrals are taken, not what is solved


def tidy(folder: StudyFolder, found: Mapping[str, Outcome]) -> "pandas.DataFrame":
    """One row for each run, seed and record. A run without a result is one row, with its reason where it failed."""
    import pandas  # here, since it takes long to import

    parts = []
    for run in folder.runs:
        about = {"run": run.name, "key": run.key, **run.labels}
        one = found.get(run.name)
        if one is None:
            state = folder.state(run)
            parts.append(pandas.DataFrame([{**about, "status": state.word, "reason": state.reason}]))
            continue
        rows: "pandas.DataFrame" = one.history.to_dataframe().reset_index().sort_values(["seed", "step"])
        words = dict(zip(run.seeds, one.status, strict=True))
        columns = {"status": [words[seed].status.name.lower() for seed in rows["seed"]]}
        columns["reason"] = [str(words[seed]) if words[seed].status.is_failure else "" for seed in rows["seed"]]
        lead = pandas.DataFrame({name: [value] * len(rows) for name, value in about.items()})
        parts.append(pandas.concat([lead, rows.reset_index(drop=True), pandas.DataFrame(columns)], axis=1))
    return pandas.concat(parts, ignore_index=True)


def summary(folder: StudyFolder, found: Mapping[str, Outcome]) -> "pandas.DataFrame":
    """One row for each run: the error at its best record and at its end, means over seeds with their 95 % intervals."""
    import pandas  # here, since it takes long to import

    rows = []
    for run in folder.runs:
        one = found.get(run.name)
        row: dict[str, object] = {"run": run.name, "key": run.key, **run.labels, "status": folder.state(run).word}
        row |= {"steps": run.settings.steps, "batch": run.settings.batch, "seeds": len(run.seeds)}
        if one is None:
            rows.append({**row, "reason": folder.failure(run)})
            continue
        kept = one.kept()
        row |= {
            "metric": one.metric,
            "failed_seeds": int((~one.good).sum()),
            "best_step": one.best_step(),
        }
        for name, values in {"best": one.best(), "last": one.last(), **{f"final_{m}": v for m, v in one.scores.items()}}.items():
            mean, low, high = bootstrap_interval(values[kept], least=0.0)
            row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
        rows.append({**row, "seconds": round(one.seconds, 1), "reason": "; ".join(describe_failures(one.status, run.seeds))})
    return pandas.DataFrame(rows)


def pairs(found: Mapping[str, Outcome]) -> "pandas.DataFrame":
    """One row for each pair of runs of one problem: matched differences and ratios of the best error, with 95 % intervals."""
    import pandas  # here, since it takes long to import

    rows = []
    counts = Counter(subject(one.run) for one in found.values())
    for (first, one), (second, other) in itertools.combinations(found.items(), 2):
        if subject(one.run) != subject(other.run) or counts[subject(one.run)] > MOST_PAIRED:
            continue
        between = paired(one, other)
        row: dict[str, object] = {"first": first, "second": second, "seeds": between.seeds}
        for name, (mean, low, high) in (("difference", between.difference), ("ratio", between.ratio)):
            row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    columns = ["first", "second", "seeds", *(f"{name}{end}" for name in ("difference", "ratio") for end in ("", "_low", "_high"))]
    return pandas.DataFrame(rows, columns=columns)


def subject(run: Run) -> str:
    """What is solved: runs of one subject are compared."""
    problem = None if run.is_own else run.settings.part("problem")
    if problem is None:
        return json.dumps(run.settings.values["problem"], sort_keys=True)
    options = {name: to_text(value) for name, value in (problem.recipe() or {}).items() if name not in HOW}
    return json.dumps([type(problem).__name__, options], sort_keys=True)


def write_tables(folder: StudyFolder) -> dict[str, Outcome]:
    """Writes the three tables as CSV, and returns the finished runs."""
    found = outcomes(folder)
    for name, table in ((TABLE, tidy(folder, found)), (SUMMARY, summary(folder, found)), (PAIRS, pairs(found))):
        text = table.to_csv(index=False, float_format="%.9g")
        write_atomically(folder.path / name, lambda file, text=text: file.write(text.encode()))
    return found


def write_rows(path: Path, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Writes a small table as CSV, floats with six digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in rows)
    write_atomically(path, lambda file: file.write(text.getvalue().encode()))
