"""Peers that solve integro-differential equations, in one run: error and seconds of each, `python benchmarks/peers.py [--write]`.

Four equations u' + a u = y + ∫ k(x, t) u(t) dt with u(0) given, from the documentation of the peers themselves. Networks are 2 × 32 tanh,
in double precision where the peer allows it. One row (an equation and a peer) is written as soon as it is measured, and --only resumes.
idesolver needs numpy < 2 and runs in `.venv-idesolver` (`make` its rule); without that environment its column says so.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from harness import arguments, machine, read_raw, say, table, write_part, write_raw

GRID = 201  # points at which errors are measured
IDESOLVER = Path(__file__).parents[1] / ".venv-idesolver" / "bin" / "python"
NODES = 32  # of the hand-written collocation, and of the networks' quadrature


class Linear(NamedTuple):
    """u' + a u = y(x) + ∫ k(x, t) u(t) dt from 0 to x, or to the end."""

    end: float
    a: float
    is_volterra: bool
    start: float
    kernel: str  # in terms of x and t, with np
    y: str  # in terms of x
    exact: str

    def of(self, text: str, np_: Any) -> Callable[..., Any]:
        """A formula as a function, with this numpy."""
        return lambda x, t=0.0: eval(text, {"np": np_, "x": x, "t": t})


EQUATIONS = {
    "DeepXDE: Volterra": Linear(5.0, 1.0, True, 1.0, "np.exp(t - x)", "0 * x", "np.exp(-x) * np.cosh(x)"),
    "DeepXDE: sine": Linear(
        1.0, 0.0, True, 0.0, "-1.0 + 0 * t", "2 * np.pi * np.cos(2 * np.pi * x) + np.sin(np.pi * x)**2 / np.pi", "np.sin(2 * np.pi * x)"
    ),
    "NeuralPDE: memory": Linear(2.0, 2.0, True, 0.0, "-5.0 + 0 * t", "1.0 + 0 * x", "0.5 * np.exp(-x) * np.sin(2 * x)"),
    "idesolver: its quickstart": Linear(
        1.0, -1.0, False, 0.0, "x / (1 + t) / np.log(2.0)**2", "-x / 2 + 1 / (1 + x) - np.log(1 + x)", "np.log(1 + x)"
    ),
}


class Found(NamedTuple):
    """Values on the grid, and the seconds of everything."""

    values: np.ndarray
    seconds: float


def ours(equation: Linear, **keywords: Any) -> Found:
    """`fr.solve` of the equation as a user writes it."""
    import jax.numpy as jnp

    import fredholm as fr

    kernel, y = equation.of(equation.kernel, jnp), equation.of(equation.y, jnp)
    whole = fr.Interval(0.0, equation.end)
    begin = time.perf_counter()
    problem = fr.Equation(
        whole,
        lambda u, x: fr.derivative(u, x) + equation.a * u(x),
        fr.Integral((lambda x: fr.Interval(0.0, x[0])) if equation.is_volterra else whole, lambda u, x, t: kernel(x[0], t[0]) * u(t)),
        lambda x: y(x[0]),
        fr.Condition(fr.Point(0.0), equation.start),
    )
    solution = fr.solve(problem, seeds=1, progress=False, throw=False, **keywords)
    seconds = time.perf_counter() - begin
    return Found(np.asarray(solution(np.linspace(0.0, equation.end, GRID)[:, None])), seconds)


def trained(equation: Linear) -> Found:
    """The same with a network and Gauss–Newton."""
    import fredholm as fr

    return ours(equation, network=fr.MLP(32, 2, "tanh"), optimizer=fr.GaussNewton())


def collocation(equation: Linear) -> Found:
    """Thirty-two Chebyshev coefficients at Chebyshev points with Gauss nodes: what a person writes by hand."""
    from numpy.polynomial import chebyshev

    kernel, y = equation.of(equation.kernel, np), equation.of(equation.y, np)
    begin = time.perf_counter()
    end, n = equation.end, NODES
    x = 0.5 * end * (1 - np.cos(np.pi * (np.arange(n - 1) + 0.5) / (n - 1)))
    nodes, weights = np.polynomial.legendre.leggauss(n)
    eye = np.eye(n)
    slopes = np.stack([chebyshev.chebval(2 * x / end - 1, chebyshev.chebder(row)) * 2 / end for row in eye], axis=1)
    upper = x if equation.is_volterra else np.full_like(x, end)
    t = 0.5 * upper[:, None] * (nodes + 1)
    inside = np.einsum("xt,xtk->xk", 0.5 * upper[:, None] * weights * kernel(x[:, None], t), chebyshev.chebvander(2 * t / end - 1, n - 1))
    rows = slopes + equation.a * chebyshev.chebvander(2 * x / end - 1, n - 1) - inside
    matrix = np.vstack([rows, chebyshev.chebvander(np.array([-1.0]), n - 1)])
    c = np.linalg.solve(matrix, np.append(y(x), equation.start))
    values = chebyshev.chebval(2 * np.linspace(0.0, end, GRID) / end - 1, c)
    return Found(values, time.perf_counter() - begin)


IDE = """
import json, sys, time
import numpy as np
from idesolver import IDESolver
e = json.loads(sys.argv[1])
def of(text):
    return lambda x, t=0.0: eval(text, {"np": np, "x": x, "t": t})
kernel, y = of(e["kernel"]), of(e["y"])
begin = time.perf_counter()
solver = IDESolver(
    x=np.linspace(0, e["end"], e["grid"]), y_0=e["start"], c=lambda x, u: y(x) - e["a"] * u, d=lambda x: 1.0, k=lambda x, t: kernel(x, t),
    f=lambda u: u, lower_bound=lambda x: 0.0, upper_bound=(lambda x: x) if e["is_volterra"] else (lambda x: e["end"]),
    global_error_tolerance=1e-10, max_iterations=200,
)
solver.solve()
print(json.dumps({"values": np.asarray(solver.y).ravel().tolist(), "seconds": time.perf_counter() - begin}))
"""


def idesolver(equation: Linear) -> Found:
    """idesolver 1.1, in an environment of its own."""
    if not IDESOLVER.exists():
        raise RuntimeError("no .venv-idesolver; make .venv-idesolver/.ready")
    given = json.dumps({**equation._asdict(), "grid": GRID})
    done = subprocess.run([IDESOLVER, "-W", "ignore", "-c", IDE, given], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return Found(np.array(found["values"]), found["seconds"])


def deepxde(equation: Linear) -> Found:
    """DeepXDE with L-BFGS, in double precision. Its class of equations with integrals has limits 0 and x."""
    if not equation.is_volterra:
        raise RuntimeError("its integrals end at x")
    os.environ.setdefault("DDE_BACKEND", "pytorch")
    import deepxde as dde
    import torch

    dde.config.set_default_float("float64")
    dde.config.set_random_seed(0)
    kernel, y, exact = equation.of(equation.kernel, np), equation.of(equation.y, torch), equation.of(equation.exact, np)

    def ide(x: Any, u: Any, matrix: Any) -> Any:
        inside = torch.as_tensor(matrix) @ u
        slope = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
        return (slope + equation.a * u - y(x))[: len(inside)] - inside

    begin = time.perf_counter()
    line = dde.geometry.TimeDomain(0, equation.end)
    start = dde.icbc.IC(line, exact, lambda _, on_initial: on_initial)
    data = dde.data.IDE(
        line, ide, start, 20, kernel=lambda x, s: kernel(x, s) + 0 * s, num_domain=32, num_boundary=2, train_distribution="uniform"
    )
    model = dde.Model(data, dde.nn.FNN([1, 32, 32, 1], "tanh", "Glorot uniform"))
    dde.optimizers.config.set_LBFGS_options(maxiter=15000, ftol=0, gtol=1e-14)
    model.compile("L-BFGS")
    model.train(verbose=0)
    seconds = time.perf_counter() - begin
    return Found(model.predict(np.linspace(0.0, equation.end, GRID)[:, None])[:, 0], seconds)


def callback_value(params: Any, loss: Any, batch: Any) -> Any:
    """The loss, for the line search of jinns' Broyden: it finds functions by this beginning of their names."""
    return loss.evaluate(params, batch)[0]


def callback_slope(params: Any, loss: Any, batch: Any) -> Any:
    """Its gradient."""
    import jax

    return jax.grad(lambda own: loss.evaluate(own, batch)[0])(params)


def jinns(equation: Linear, way: str) -> Found:
    """jinns with its natural gradient or its self-scaled Broyden, and 32 Gauss nodes inside of its loss."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import jinns as library

    kernel, y = equation.of(equation.kernel, jnp), equation.of(equation.y, jnp)
    places, shares = (jnp.asarray(part) for part in np.polynomial.legendre.leggauss(NODES))

    class Memory(library.loss.ODE):
        """The equation, as jinns wants it."""

        def equation(self, t: Any, u: Any, params: Any) -> Any:
            x, slope = t[0], jax.jvp(lambda at: u(at, params), (t,), (jnp.ones_like(t),))[1]
            upper = x if equation.is_volterra else equation.end
            nodes = 0.5 * upper * (places + 1)
            inside = jnp.sum(0.5 * upper * shares * kernel(x, nodes) * jax.vmap(lambda s: u(s[None], params)[0])(nodes))
            return slope + equation.a * u(t, params) - y(x) - inside

    with jax.enable_x64(True):
        key = jax.random.key(0)
        begin = time.perf_counter()
        layers: list[Any] = [entry for a, b in pairwise([1, 32, 32, 1]) for entry in ((eqx.nn.Linear, a, b), (jax.nn.tanh,))]
        u, start = library.nn.PINN_MLP.create(key=key, eqx_list=tuple(layers[:-1]), eq_type="ODE")
        parameters = library.parameters.Params(nn_params=start, eq_params={})
        data = library.data.DataGeneratorODE(key=key, nt=256, tmin=0.0, tmax=equation.end, temporal_batch_size=256, method="grid")
        loss = library.loss.LossODE(
            u=u,
            dynamic_loss=Memory(),
            initial_condition=(0.0, equation.start),
            loss_weights=library.loss.LossWeightsODE(dyn_loss=1.0, initial_condition=1.0),
            params=parameters,
        )
        if way == "ngd":
            steps, optimizer, extra = 400, library.optimizers.vanilla_ngd(gram_reg=1e-10), None
        else:
            known = {"value": "train_loss_value", "grad_pt": "grads", "loss": "loss", "batch": "batch"}
            steps, optimizer = 3000, library.optimizers.scale_by_SSBroyden_family()
            extra = {name: library.solver.GetJinnsVariableName(variable) for name, variable in known.items()}
            extra |= {"value_fn": callback_value, "grad_fn": callback_slope}
        done = library.solve(
            n_iter=steps,
            init_params=parameters,
            data=data,
            loss=loss,
            optimizer=optimizer,
            verbose=False,
            extra_optax_args_and_kwargs=extra,
        )[0]
        jax.block_until_ready(done)
        seconds = time.perf_counter() - begin
        grid = jnp.linspace(0.0, equation.end, GRID)
        return Found(np.asarray(jax.vmap(lambda x: u(x[None], done)[0])(grid)), seconds)


PEERS: dict[str, Callable[[Linear], Found]] = {
    "fr.solve(problem)": ours,
    "fredholm, network, GaussNewton()": trained,
    "collocation by hand, 32": collocation,
    "idesolver, tolerance 1e-10": idesolver,
    "DeepXDE, L-BFGS": deepxde,
    "jinns, natural gradient": lambda equation: jinns(equation, "ngd"),
    "jinns, ssBroyden": lambda equation: jinns(equation, "broyden"),
}


def measured(equation: Linear, peer: Callable[[Linear], Found]) -> dict[str, Any]:
    """The relative error and the seconds, or why there are none."""
    try:
        found = peer(equation)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}"}
    truth = equation.of(equation.exact, np)(np.linspace(0.0, equation.end, GRID))
    return {"error": float(np.linalg.norm(found.values.ravel() - truth) / np.linalg.norm(truth)), "seconds": found.seconds}


def main() -> None:
    """Measures, prints, and writes the page if asked to; rows that are not measured now stay as they were."""
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS), help="these peers")
    parser.add_argument("--equations", nargs="+", choices=EQUATIONS, default=list(EQUATIONS), help="these equations")
    options = parser.parse_args()
    rows = read_raw("peers")
    for name in options.equations:
        for peer in options.only:
            rows.setdefault(name, {})[peer] = measured(EQUATIONS[name], PEERS[peer])
            say(f"{name}, {peer}: {rows[name][peer]}")
            if options.write:
                write_raw("peers", rows)
    cells = {
        peer: [
            "–"
            if (one := rows.get(name, {}).get(peer)) is None
            else one["failed"]
            if "failed" in one
            else f"{one['error']:.1e} ({one['seconds']:.3g} s)"
            for name in EQUATIONS
        ]
        for peer in PEERS
    }
    body = f"Measured with {machine('fredholm', 'jax', 'torch', 'jinns', 'deepxde')}; one seed; relative errors, and seconds of everything."
    body += "\n\n" + table(["", *EQUATIONS], [[peer, *own] for peer, own in cells.items()])
    if options.write:
        write_part("peers", body)
    print(body)


if __name__ == "__main__":
    main()
