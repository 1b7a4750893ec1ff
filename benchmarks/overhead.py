"""What recording, progress and checkpoints cost at the default settings: `python benchmarks/overhead.py [--write]`.

2D Poisson as `solve` runs it by default: 4 seeds, 20 000 steps, 100 records, a checkpoint about every 20 seconds, progress shown. The
whole training, without its compilation, against a bare loop over the same compiled chunk; they take turns. Then each part by itself.
"""

import contextlib
import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import Spread, arguments, machine, ratios, say, table, write_part, write_raw
from ours import Ours

import fredholm as fr
from fredholm.api import _finish
from fredholm.storage.run_folder import RunFolder
from fredholm.training.callbacks import CHECKPOINT_SECONDS, TimeBudget
from fredholm.training.progress import show_progress
from fredholm.training.record import RunRecord
from fredholm.training.settings import settings_of
from fredholm.training.status import Status
from fredholm.training.training import Training

SEEDS = 4


class Screen(io.StringIO):
    """Where progress is drawn as on a terminal, with its bar, and nobody looks."""

    def isatty(self) -> bool:
        return True


class Whole:
    """A training that can be run again and again without compiling again."""

    def __init__(self, steps: int):
        self.training = Training(settings_of(fr.problems.Poisson().as_published(), steps=steps, seeds=SEEDS))
        self.empty, self.start = self.training.history(), self.training.snapshot()
        self.record = RunRecord.of(self.training.settings, "Poisson", None, None)

    def reset(self) -> None:
        """Back to step 0."""
        self.training.restore(self.start, 0, self.empty, 0.0)

    def __call__(self) -> float:
        """Seconds of a whole training with all callbacks of `solve`, and its packing into a `Solution`."""
        self.reset()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(Screen()):
            place = RunFolder.create(Path(folder) / "run")
            begin = time.perf_counter()
            _finish(self.training, self.record, place, TimeBudget(float("inf")), checkpoint_every=None, progress=True, throw=False)
            return time.perf_counter() - begin


def parts(whole: Whole, rounds: int) -> dict[str, list[float]]:
    """Seconds of one record, one update of the progress and one checkpoint."""
    training = whole.training
    seconds: dict[str, list[float]] = {}

    def timed(name: str, work: Callable[[], Any]) -> None:
        work()
        for _ in range(rounds):
            begin = time.perf_counter()
            work()
            seconds.setdefault(name, []).append(time.perf_counter() - begin)

    def record() -> None:
        training._since_record = 1
        state = training.arrays, training._sums, training.equation_arrays, training.keys
        training._record(np.array(training._recorder(*state, training.step), float))

    timed("a record", record)
    timed("the history, after 100 records", training.history)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(Screen()):
        place = RunFolder.create(Path(folder) / "run")

        def save() -> None:
            now = whole.record.at(training.step, training.seconds, training.status(Status.INTERRUPTED))
            place.write(training.history(), training.snapshot(), training.step, now.to_json(), now.settings.arrays)

        timed("a checkpoint", save)
        with show_progress("Poisson", 0, training.settings.steps, shown=True) as bar:
            timed("an update of the progress", lambda: bar.update(training))
    return seconds


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = arguments(__doc__)
    parser.set_defaults(rounds=3)
    parser.add_argument("--steps", type=int, default=20_000, help="of a whole training; default: that of the problem")
    options = parser.parse_args()
    fr.use_all_cores()
    bare = Ours(fr.problems.Poisson().as_published(), SEEDS)
    whole = Whole(options.steps)
    bare(200)
    whole()  # compiles the records too
    times: dict[str, list[float]] = {"bare": [], "whole": []}
    for turn in range(options.rounds):
        for name in ("bare", "whole") if turn % 2 == 0 else ("whole", "bare"):
            begin = time.perf_counter()
            seconds = whole() if name == "whole" else bare(options.steps) or time.perf_counter() - begin
            times[name].append(seconds)
            say(f"{name}: {seconds:.2f} s")
    single = parts(whole, 3 * options.rounds)
    over = Spread.of([100 * (ratio - 1) for ratio in ratios(times["whole"], times["bare"])])
    step = float(np.median(times["bare"])) / options.steps
    every = whole.training.settings.record_every
    share = {"a record": every * step, "a checkpoint": CHECKPOINT_SECONDS}
    lines = [
        [name, Spread.of([1000 * s for s in values]), f"{100 * np.median(values) / share[name]:.2f} %" if name in share else "–"]
        for name, values in single.items()
    ]
    body = "\n\n".join(
        [
            f"Measured with {machine('fredholm', 'jax')}; {options.steps} steps.",
            f"Bare loop {Spread.of(times['bare'])} s; with records, progress and checkpoints {Spread.of(times['whole'])} s: "
            f"{over.median:+.1f} % ({over.low:+.1f} to {over.high:+.1f}).",
            table(["part", "ms", "of the time between two of them"], lines),
        ]
    )
    if options.write:
        write_raw("overhead", {"steps": options.steps, "seconds": times, "parts": single})
        write_part("overhead", body)
    print(body)


if __name__ == "__main__":
    main()
