"""The plain call on tasks that a new user brought: `python benchmarks/first_use.py [--write] [--only TASK ...] [--minutes M]`.

The equations and the answers from elsewhere are in benchmarks/tasks.py. Nothing is given to `fr.solve` but the equation, two seeds, and a
minute for those that need a network. A row that is not run keeps its earlier numbers.
"""

import time
from typing import Any

import numpy as np
import tasks
from harness import arguments, machine, read_raw, say, table, write_part, write_raw

import fredholm as fr

SEEDS = 2
NETWORKS = ("policy from 20 000 transitions", "basket put, 5 assets with jumps")  # the others are solved by a series


def measure(name: str, minutes: float) -> dict[str, Any]:
    """The errors of all seeds, the seconds of the whole call, and what print says of them."""
    task, begin = tasks.TASKS[name], time.perf_counter()
    limits = {"minutes": minutes} if name in NETWORKS else {}
    solution = fr.solve(task.equation(), seeds=SEEDS, progress=False, throw=False, **limits)
    seconds = time.perf_counter() - begin
    if task.reference is None:
        errors = solution.evaluate()["relative_l2"].tolist()
    else:
        points, values = task.reference()
        errors = [tasks.relative(found, values) for found in np.asarray(solution.members(points))]
    say(str(solution))
    lines = [line for line in str(solution).splitlines() if line.startswith(("residual", "k "))]
    said = "; ".join(line[10:].strip() for line in lines)
    return {"errors": errors, "seconds": seconds, "steps": solution.record.done, "said": said}


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", choices=list(tasks.TASKS), default=list(tasks.TASKS), help="these tasks")
    parser.add_argument("--minutes", type=float, default=1.0, help="of the trainings of networks")
    options = parser.parse_args()
    fr.use_all_cores()
    rows = read_raw("first use")
    for name in options.only:
        rows[name] = measure(name, options.minutes)
        say(f"{name}: {rows[name]}")
        if options.write:
            write_raw("first use", rows)
    lines = [
        [
            name,
            f"{max(rows[name]['errors']):.1e}",
            f"{task.wanted:g}",
            rows[name]["steps"],
            f"{rows[name]['seconds']:.0f}",
            rows[name]["said"],
        ]
        for name, task in tasks.TASKS.items()
        if name in rows
    ]
    columns = ["task", "error, worse seed", "wanted", "steps", "seconds", "what print says"]
    body = f"Measured with {machine('fredholm', 'jax')}; {SEEDS} seeds; relative errors in the mean square.\n\n{table(columns, lines)}"
    if options.write:
        write_part("first use", body)
    print(body)


if __name__ == "__main__":
    main()
