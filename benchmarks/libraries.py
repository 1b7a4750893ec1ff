r"""Beside the libraries that people use: `python benchmarks/libraries.py [--write]`.

One equation, $u(x) = e^x + x - \frac43 + \int_0^1 t\,u(t)\,dt$ on [0, 1], whose solution is $u = e^x + x$ (the integral is then 4/3). Every
library has the same network (3 × 64, tanh), the same batch (200) and Adam with the rate 1e-3; the time of a training is that of the whole
call, compilation and set-up of the trainer with it, and every library gets as many steps as fit into the same time.

TorchPhysics has a condition for integrals of its own. PINA has none, and its equation is given a closure over the network; so is that of
jinns, where a loss has no random key, so that it can only have fixed nodes (Gauss).
"""

import logging
import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from harness import FIGURES, Spread, arguments, machine, ratios, say, table, ticks, write_part, write_raw

import fredholm as fr
from fredholm.report.plots.style import PALETTE, finish, house_style, new_figure

BATCH, RATE = 200, 1e-3
GRID = np.linspace(0.0, 1.0, 1001, dtype=np.float32)[:, None]
TRUTH = np.exp(GRID[:, 0]) + GRID[:, 0]
SEEDS = 4  # of one training of fredholm: all at once
MARKS = {"fredholm": "o", "TorchPhysics": "s", "PINA": "^", "jinns": "D"}
SHORT = 200  # steps of the first training; from it and a much longer one the number that fits into the time is known
SIGNAL = 4.0  # seconds by which that one is longer, at least: compilation varies by one


class Trained(NamedTuple):
    """A training: how many seed-steps it did, in how many seconds, and the relative L2 error of every seed."""

    steps: int
    seconds: float
    errors: list[float]


Peer = Callable[[int, int], Trained]  # of a seed, and of a number of steps


def relative(prediction: Any) -> float:
    """The relative L2 error on the grid."""
    return float(np.linalg.norm(np.asarray(prediction).reshape(-1) - TRUTH) / np.linalg.norm(TRUTH))


def equation() -> fr.Equation:
    """The equation."""
    return fr.Equation(
        domain=fr.Interval(0.0, 1.0),
        f=lambda u, x: u(x),
        integrals=[fr.Integral(over=fr.Interval(0.0, 1.0), g=lambda u, x, t: t[0] * u(t))],
        y=lambda x: jnp.exp(x[0]) + x[0] - 4 / 3,
        exact=lambda x: jnp.exp(x[0]) + x[0],
    )


def fredholm(method: fr.DelayedTarget | fr.Standard, rule: fr.MonteCarlo | fr.Shared | fr.Gauss, *, cosine: bool = False) -> Peer:
    """With a constant rate as the others have it, or with the schedule that is its default."""

    def train(seed: int, steps: int) -> Trained:
        optimizer = fr.Adam(RATE, fr.Cosine()) if cosine else fr.Adam(RATE)
        seeds = [SEEDS * seed + index for index in range(SEEDS)]
        begin = time.perf_counter()
        solution = fr.solve(
            equation(),
            method,
            rule=rule,
            network=fr.MLP(64, 3, "tanh"),
            optimizer=optimizer,
            steps=steps,
            batch=BATCH,
            seeds=seeds,
            progress=False,
            throw=False,
        )
        seconds = time.perf_counter() - begin
        return Trained(SEEDS * steps, seconds, [relative(member) for member in solution.members(GRID)])

    return train


def torchphysics(n: int) -> Peer:
    """`IntegroPINNCondition` with n random nodes, which all x of a step share."""
    import pytorch_lightning as lightning
    import torch
    import torchphysics as tp

    def residual(u: Any, x: Any, u_integral: Any, x_integral: Any) -> Any:
        return u - torch.exp(x) - x + 4 / 3 - torch.mean(x_integral * u_integral, dim=1, keepdim=True)

    def train(seed: int, steps: int) -> Trained:
        torch.manual_seed(seed)
        begin = time.perf_counter()
        x, u = tp.spaces.R1("x"), tp.spaces.R1("u")
        interval = tp.domains.Interval(x, 0, 1)
        network = tp.models.FCN(input_space=x, output_space=u, hidden=(64, 64, 64))
        points, nodes = (tp.samplers.RandomUniformSampler(interval, n_points=count) for count in (BATCH, n))
        condition = tp.conditions.IntegroPINNCondition(network, points, residual, nodes)
        solver = tp.solver.Solver([condition], optimizer_setting=tp.solver.OptimizerSetting(torch.optim.Adam, lr=RATE))
        lightning.Trainer(max_steps=steps, num_sanity_val_steps=0, **quiet()).fit(solver)
        seconds = time.perf_counter() - begin
        with torch.no_grad():
            found = network(tp.spaces.Points(torch.tensor(GRID), x)).as_tensor
        return Trained(steps, seconds, [relative(found)])

    return train


def pina(n: int) -> Peer:
    """An equation that closes over the network, with n random nodes; PINA's collocation points are drawn once."""
    import torch
    from pina import Condition, LabelTensor, Trainer
    from pina.domain import CartesianDomain
    from pina.equation import Equation
    from pina.model import FeedForward
    from pina.optim import TorchOptimizer
    from pina.problem import SpatialProblem
    from pina.solver import PINN

    def train(seed: int, steps: int) -> Trained:
        torch.manual_seed(seed)
        begin = time.perf_counter()
        network = FeedForward(1, 1, inner_size=64, n_layers=3, func=torch.nn.Tanh)

        def residual(points: Any, u: Any) -> Any:
            t = torch.rand(n, 1)
            integral = (t * network(LabelTensor(t, ["x"])).tensor).mean()
            x = points.extract(["x"]).tensor
            return u - LabelTensor(torch.exp(x) + x - 4 / 3 + integral, ["u"])

        class Problem(SpatialProblem):
            """The equation, as PINA wants it."""

            output_variables = ["u"]
            spatial_domain = CartesianDomain({"x": [0, 1]})
            domains = {"D": spatial_domain}
            conditions = {"D": Condition(domain="D", equation=Equation(residual))}

        problem = Problem()
        problem.discretise_domain(BATCH, "random", domains=["D"])
        solver = PINN(problem, network, optimizer=TorchOptimizer(torch.optim.Adam, lr=RATE))
        Trainer(solver, max_epochs=steps, **quiet()).train()  # one batch in an epoch
        seconds = time.perf_counter() - begin
        with torch.no_grad():
            found = network(LabelTensor(torch.tensor(GRID), ["x"])).tensor
        return Trained(steps, seconds, [relative(found)])

    return train


def jinns(n: int) -> Peer:
    """A dynamic loss that closes over n Gauss nodes: it is given no random key."""
    import equinox as eqx
    import jinns as library

    places, weights = np.polynomial.legendre.leggauss(n)
    nodes, shares = jnp.asarray((places + 1) / 2), jnp.asarray(weights / 2)

    class Fredholm(library.loss.PDEStatio):
        """The equation, as jinns wants it."""

        def equation(self, x: Any, u: Any, params: Any) -> Any:
            inside = jax.vmap(lambda t: u(t[None], params)[0])(nodes)
            return u(x, params) - (jnp.exp(x) + x - 4 / 3) - jnp.sum(shares * nodes * inside)

    def train(seed: int, steps: int) -> Trained:
        key = jax.random.key(seed)
        begin = time.perf_counter()
        sizes = [1, 64, 64, 64, 1]
        layers: list[Any] = [entry for a, b in pairwise(sizes) for entry in ((eqx.nn.Linear, a, b), (jax.nn.tanh,))]
        u, start = library.nn.PINN_MLP.create(key=key, eqx_list=tuple(layers[:-1]), eq_type="PDEStatio")
        parameters = library.parameters.Params(nn_params=start, eq_params={})
        data = library.data.CubicMeshPDEStatio(
            key=key, n=100 * BATCH, omega_batch_size=BATCH, dim=1, min_pts=(0.0,), max_pts=(1.0,), method="uniform"
        )
        weights = library.loss.LossWeightsPDEStatio(dyn_loss=1.0)
        loss = library.loss.LossPDEStatio(u=u, loss_weights=weights, dynamic_loss=Fredholm(), params=parameters)
        trained = library.solve(n_iter=steps, init_params=parameters, data=data, loss=loss, optimizer=optax.adam(RATE), verbose=False)[0]
        jax.block_until_ready(trained)
        seconds = time.perf_counter() - begin
        return Trained(steps, seconds, [relative(jax.vmap(lambda x: u(x, trained))(jnp.asarray(GRID)))])

    return train


def quiet() -> dict[str, Any]:
    """A Lightning trainer that neither logs nor saves: nothing but training is timed."""
    for family in ("pytorch_lightning", "lightning.pytorch"):  # their own import sets the level, so it is set here and not before
        logging.getLogger(f"{family}.utilities.rank_zero").setLevel(logging.ERROR)
    names = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    return {**dict.fromkeys(names, False), "accelerator": "cpu", "devices": 1}


PEERS: dict[str, Callable[[], Peer]] = {
    "fredholm, 1 node": lambda: fredholm(fr.DelayedTarget(), fr.MonteCarlo(1)),
    "fredholm, 1 node, cosine": lambda: fredholm(fr.DelayedTarget(), fr.MonteCarlo(1), cosine=True),
    "fredholm, 16 nodes": lambda: fredholm(fr.DelayedTarget(), fr.MonteCarlo(16)),
    "fredholm, 16 nodes, cosine": lambda: fredholm(fr.DelayedTarget(), fr.MonteCarlo(16), cosine=True),
    "fredholm, 16 shared nodes": lambda: fredholm(fr.DelayedTarget(), fr.Shared(fr.MonteCarlo(16))),
    "fredholm, 200 shared nodes": lambda: fredholm(fr.DelayedTarget(), fr.Shared(fr.MonteCarlo(BATCH))),
    "fredholm, 16 Gauss nodes": lambda: fredholm(fr.Standard(), fr.Gauss(16)),
    "fredholm, 16 Gauss nodes, cosine": lambda: fredholm(fr.Standard(), fr.Gauss(16), cosine=True),
    "TorchPhysics, 1 node": lambda: torchphysics(1),
    "TorchPhysics, 16 nodes": lambda: torchphysics(16),
    "PINA, 1 node": lambda: pina(1),
    "PINA, 16 nodes": lambda: pina(16),
    "jinns, 16 Gauss nodes": lambda: jinns(16),
}


def silent(peer: Peer) -> Peer:
    """The peer without its warnings: some import sets the filters back, and one that is printed at every step takes a share of its time."""

    def train(seed: int, steps: int) -> Trained:
        with warnings.catch_warnings(action="ignore"):
            return peer(seed, steps)

    return train


def timing(peer: Peer) -> tuple[float, float]:
    """Seconds of a step, and of all that a training takes besides."""
    peer(0, SHORT)  # imports, and whatever else only the first call of a process does
    short, steps = peer(0, SHORT).seconds, 8 * SHORT
    while (more := peer(0, steps).seconds - short) < SIGNAL:
        steps *= 4
    each = more / (steps - SHORT)
    return each, max(short - SHORT * each, 0.0)


def run(names: list[str], seconds: float, repeats: int) -> dict[str, Any]:
    """All peers, each for the same time; they take turns, one training after the other."""
    peers, plans, rows = {}, {}, {}
    for name in names:
        try:
            peers[name] = silent(PEERS[name]())
            each, overhead = timing(peers[name])
        except Exception as error:
            rows[name] = {"failed": f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"}
            say(f"{name}: {rows[name]['failed']}")
            peers.pop(name, None)
            continue
        plans[name] = max(SHORT, round((seconds - overhead) / each))
        rows[name] = {"steps": plans[name], "overhead": overhead, "rate": [], "seconds": [], "errors": []}
        say(f"{name}: {1 / each:.0f} steps/s, {overhead:.1f} s besides, {plans[name]} steps in {seconds:g} s")
    for repeat in range(repeats):
        for name, peer in peers.items():
            done = peer(repeat, plans[name])
            rows[name]["rate"].append(done.steps / max(done.seconds - rows[name]["overhead"], 1e-9))
            rows[name]["seconds"].append(done.seconds)
            rows[name]["errors"] += done.errors
            say(f"{name}, repeat {repeat}: {done.seconds:.1f} s, relative L2 {np.median(done.errors):.1e}")
    return rows


def results(rows: dict[str, Any]) -> str:
    """The table; rates are compared with TorchPhysics at the same number of nodes, round by round, errors by their medians."""
    lines = []
    for name, row in rows.items():
        if "failed" in row:
            lines.append([name, *["–"] * 6, row["failed"]])
            continue
        other = rows.get("TorchPhysics, 1 node" if ", 1 node" in name else "TorchPhysics, 16 nodes", {})
        faster = Spread.of(ratios(row["rate"], other["rate"])) if other.get("rate") else "–"
        better = Spread.of([np.median(other["errors"]) / error for error in row["errors"]]) if other.get("errors") else "–"
        cells = [Spread.of(row["rate"]), row["steps"], f"{np.median(row['seconds']):.1f}", Spread.of(row["errors"]), faster, better, ""]
        lines.append([name, *cells])
    columns = ["library", "seed-steps/s", "steps", "seconds", "relative L2", "× TorchPhysics' seed-steps", "its error / this", "failed"]
    packages = ("fredholm", "jax", "torch", "torchphysics", "pina-mathlab", "jinns")
    return f"Measured with {machine(*packages)}.\n\n{table(columns, lines)}"


def picture(rows: dict[str, Any]) -> None:
    """Error against seed-steps per second."""
    with house_style():
        figure = new_figure(6.4, 4)
        axes = figure.subplots()
        shown = [(name, row) for name, row in rows.items() if "failed" not in row]
        for index, (name, row) in enumerate(shown):
            rate = np.full(len(row["errors"]), np.median(row["rate"]))
            color, mark = PALETTE[index % len(PALETTE)], MARKS[name.split(",")[0]]
            axes.plot(rate, row["errors"], mark, color=color, label=name, markersize=4)
        axes.set(yscale="log", xlabel="seed-steps/s", ylabel="relative L2 error, equal wall time")
        ticks(axes, (100, 300, 1000, 3000, 10_000))
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        finish(figure, FIGURES / "benchmark-libraries.png")


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    parser = arguments(__doc__)
    parser.set_defaults(rounds=3, seconds=20.0)
    parser.add_argument("--peer", nargs="+", choices=list(PEERS), default=list(PEERS))
    options = parser.parse_args()
    logging.getLogger("fredholm").setLevel(logging.ERROR)
    fr.use_all_cores()
    rows = run(options.peer, options.seconds, options.rounds)
    if options.write:
        rows = write_raw("libraries", rows)
        picture(rows)
        write_part("libraries", f"![error against speed](figures/benchmark-libraries.png)\n\n{results(rows)}")
    print(results(rows))


if __name__ == "__main__":
    main()
