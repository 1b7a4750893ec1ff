"""`fredholm new`: a file with an equation to start from, which runs as it is."""

from argparse import Namespace
from pathlib import Path

from fredholm.common.checks import nearest

HEAD = '''"""{title}

    python {file}                     solves it
    fredholm check {file}:problem     tests it first
    fredholm solve {file}:problem     solves it, with a run folder and a page
"""

import jax.numpy as jnp

import fredholm as fr

'''
TAIL = """
if __name__ == "__main__":
    solution = fr.solve(problem)
    print(solution)
    solution.plot("solution.png")
"""
MEMORY = """problem = fr.Equation(
    domain=fr.Interval(0.0, 5.0),  # where the equation holds; x is a point of shape (1,)
    f=lambda u, x: fr.derivative(u, x) + u(x),  # what stands outside of the integrals
    integrals=[
        fr.Integral(
            over=lambda x: fr.Interval(0.0, x[0]),  # limits may depend on x
            g=lambda u, x, t: jnp.exp(t[0] - x[0]) * u(t),  # at one node t
        )
    ],
    y=lambda x: 0.0,  # f - integrals = y
    conditions=[fr.Condition(at=fr.Point(0.0), value=lambda x: 1.0)],
    exact=lambda x: jnp.exp(-x[0]) * jnp.cosh(x[0]),  # if you know it; leave it out otherwise
)
"""
WEAK = """problem = fr.Equation(
    # Each x is a disc; the flux of the gradient of u through its edge is what is inside of it.
    domain=fr.Law(center=fr.Box((-1.0, -1.0), (1.0, 1.0)), radius=fr.Interval(0.1, 1.0)),
    integrals=[
        fr.Integral(
            over=lambda x: fr.Sphere(x.center, x.radius),
            g=lambda u, x, t: fr.directional(u, t, (t - x.center) / x.radius),  # no f: this is a weak form
        )
    ],
    y=lambda x: 4.0 * jnp.pi * x.radius**2,  # the integral of the source 4 over the disc
    conditions=[fr.Condition(at=fr.Sphere((0.0, 0.0), 2.0), value=lambda x: 4.0)],
    exact=lambda x: x[0] ** 2 + x[1] ** 2,
    evaluation=fr.Evaluation(at=fr.Box((-1.0, -1.0), (1.0, 1.0))),
    inputs=2,  # of u, where x is no plain point
)
"""
INVERSE = """truth = 0.5  # what is to be found
times = jnp.linspace(0.0, 1.0, 20)[:, None]

problem = fr.Equation(
    domain=fr.Interval(0.0, 1.0),
    f=lambda u, x: u(x),
    integrals=[fr.Integral(over=fr.Interval(0.0, 1.0), g=lambda u, x, t: u.kappa * x[0] * u(t))],
    y=lambda x: 1.0,
    unknowns={"kappa": 0.1},  # learned scalars with their first values, read as u.kappa
    conditions=[fr.Data(times, 1.0 + times[:, 0] * truth / (1 - truth / 2))],  # what was measured
    exact=lambda x: 1.0 + x[0] * truth / (1 - truth / 2),
)
"""
KINDS = {
    "memory": ("u'(x) + u(x) = the integral of exp(t - x) u(t) over [0, x], u(0) = 1: an equation with memory.", MEMORY),
    "weak": ("The Laplacian of u is 4 in the plane, by the divergence theorem on random discs: a weak form.", WEAK),
    "inverse": ("u(x) = 1 + kappa x times the integral of u over [0, 1], with kappa unknown and u measured: an inverse problem.", INVERSE),
}


def new(options: Namespace) -> int:
    """`fredholm new`."""
    path = Path(options.file)
    if options.kind not in KINDS:
        raise nearest("kind", options.kind, KINDS)
    if path.suffix != ".py":
        raise ValueError(f"{path}: expected the name of a Python file, as my_problem.py.")
    if path.exists():
        raise ValueError(f"{path} exists. Choose another name.")
    if not path.parent.is_dir():
        raise ValueError(f"{path.parent} is not a folder. Make it first, or choose another name.")
    title, body = KINDS[options.kind]
    path.write_text(HEAD.format(title=title, file=path.name) + body + TAIL, encoding="utf-8")
    print(f"{path}: {title}\nnext: fredholm check {path}:problem", flush=True)
    return 0
