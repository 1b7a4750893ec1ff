"""DeepXDE's own Volterra example, side by side: `python benchmarks/volterra.py [--write]`.

u' + u = ∫₀ˣ e^(t−x) u dt on [0, 5], u(0) = 1. As shipped the example needs TensorFlow and fails there (the matrix of its quadrature has
252 columns for 253 points). With the PyTorch backend and a matrix that is a tensor it runs: 12 points, Gauss with 20 nodes, 3 × 20 tanh.
fredholm has the same network and rule, as many points (drawn anew in every step, there fixed), and Adam; a second line has what Auto
chooses, with the network of `Volterra()`. The time to an error is counted from the call, with compilation and pilot; a training is given
up after a minute.
"""

import os
import time
from typing import Any

import numpy as np
from harness import Spread, arguments, machine, say, table, write_part, write_raw

LEVELS = (1e-3, 2e-4)  # relative L2
SECONDS = 60.0  # after which a training is given up
GRID = np.linspace(0.0, 5.0, 1001, dtype=np.float32)[:, None]
TRUTH = np.exp(-GRID) * np.cosh(GRID)

Reached = dict[str, float]  # seconds by level; missing where a level was not reached


def note(reached: Reached, error: float, seconds: float) -> bool:
    """Notes the levels that are reached now; True when all are."""
    for level in LEVELS:
        if error <= level:
            reached.setdefault(str(level), seconds)
    return len(reached) == len(LEVELS)


def deepxde(seed: int, optimizer: str) -> Reached:
    """The example, until the last level or the end of the time."""
    os.environ.setdefault("DDE_BACKEND", "pytorch")
    import deepxde as dde
    import torch

    dde.config.set_random_seed(seed)

    def ide(x: Any, y: Any, matrix: Any) -> Any:
        right = torch.as_tensor(matrix) @ y
        slope = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]
        return (slope + y)[: len(right)] - right

    reached: Reached = {}
    begin = time.perf_counter()

    class Watch(dde.callbacks.Callback):
        """Looks at the error now and then."""

        def on_epoch_end(self) -> None:
            steps = self.model.train_state.step
            if optimizer == "adam" and steps % 50:
                return
            error = float(np.linalg.norm(self.model.predict(GRID) - TRUTH) / np.linalg.norm(TRUTH))
            elapsed = time.perf_counter() - begin
            self.model.stop_training = note(reached, error, elapsed) or elapsed > SECONDS

    interval = dde.geometry.TimeDomain(0, 5)
    start = dde.icbc.IC(interval, lambda x: np.exp(-x) * np.cosh(x), lambda _, on_initial: on_initial)
    data = dde.data.IDE(
        interval,
        ide,
        start,
        20,
        kernel=lambda x, s: np.exp(s - x),
        num_domain=10,
        num_boundary=2,
        train_distribution="uniform",
        num_test=100,
    )
    model = dde.Model(data, dde.nn.FNN([1, 20, 20, 20, 1], "tanh", "Glorot uniform"))
    if optimizer == "adam":
        model.compile("adam", lr=1e-3)
        model.train(iterations=1_000_000, display_every=1_000_000, callbacks=[Watch()], verbose=0)
    else:
        dde.optimizers.config.set_LBFGS_options()
        dde.optimizers.config.LBFGS_options["iter_per_step"] = 20  # how often the callback is asked, otherwise every 1000
        model.compile("L-BFGS")
        model.train(callbacks=[Watch()], verbose=0)
    return reached


def fredholm(seed: int, **keywords: Any) -> Reached:
    """A training of `Volterra()`, until the last level or the end of the time or of its steps."""
    import fredholm as fr

    reached: Reached = {}
    begin = time.perf_counter()

    def tell(training: Any) -> None:
        if training.records and "error" in training.records[-1]:
            note(reached, float(np.median(training.records[-1]["error"])), time.perf_counter() - begin)

    stop = fr.Tolerance(min(LEVELS))
    common: dict[str, Any] = {"record_every": 100, "seeds": [seed], "minutes": SECONDS / 60, "progress": tell, "throw": False}
    fr.solve(fr.problems.Volterra(), **keywords, stop=stop, **common)
    return reached


def the_same(seed: int) -> Reached:
    """The network, the rule and as many points as in DeepXDE's example, with Adam at a constant rate."""
    import fredholm as fr

    settings = {"rule": fr.Gauss(20), "network": fr.MLP(20, 3, "tanh"), "optimizer": fr.Adam(1e-3), "batch": 12, "steps": 1_000_000}
    return fredholm(seed, method=fr.Standard(), **settings)


def automatic(seed: int) -> Reached:
    """What the pilot of Auto chooses, its time with it."""
    import fredholm as fr

    return fredholm(seed, method=fr.Auto(), steps=5000)


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = arguments(__doc__)
    parser.set_defaults(rounds=3)
    options = parser.parse_args()
    peers = {
        "DeepXDE, L-BFGS (its example)": lambda seed: deepxde(seed, "lbfgs"),
        "DeepXDE, Adam": lambda seed: deepxde(seed, "adam"),
        "fredholm, the same with Adam": the_same,
        "fredholm, Auto, 5000 steps": automatic,
    }
    rows: dict[str, list[Reached]] = {name: [] for name in peers}
    failed: dict[str, str] = {}
    for repeat in range(options.rounds):
        for name, train in peers.items():
            if name in failed:
                continue
            try:
                rows[name].append(train(repeat))
            except Exception as error:
                failed[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
            say(f"{name}, seed {repeat}: {failed.get(name) or rows[name][-1]}")
    lines = []
    for name, found in rows.items():
        cells = []
        for level in LEVELS:
            times = [one[str(level)] for one in found if str(level) in one]
            cells.append(f"{Spread.of(times)}, {len(times)} of {len(found)}" if times else "not reached" if found else "–")
        lines.append([name, *cells, failed.get(name, "")])
    columns = ["training", *(f"seconds to relative L2 {level:g}" for level in LEVELS), "failed"]
    body = f"Measured with {machine('fredholm', 'jax', 'torch', 'deepxde')}.\n\n{table(columns, lines)}"
    if options.write:
        write_raw("volterra", {"reached": rows, "failed": failed})
        write_part("volterra", body)
    print(body)


if __name__ == "__main__":
    main()
