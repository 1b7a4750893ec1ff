"""What the tests of the command line share: a user's file, short settings, how a process is started."""

import sys

TINY = ["--width", "4", "--depth", "1", "--batch", "8", "--seeds", "2", "--schedule", "constant", "--steps", "30"]
LONG = [*TINY[:-1], "3000"]  # with a checkpoint every 10 steps, long enough to be interrupted
FILE = """
import os
import jax.numpy as jnp
import fredholm as fr

if "MARK" in os.environ:
    os.mkdir(os.environ["MARK"])

def make(rate=1.0):
    return fr.Equation(
        domain=fr.Interval(0.0, 1.0),
        f=lambda u, x: fr.derivative(u, x) + rate * u(x),
        integrals=fr.Integral(over=lambda x: fr.Interval(0.0, x[0]), g=lambda u, x, t: u(t)),
        conditions=fr.Condition(at=fr.Point(0.0), value=1.0),
    )

problem = make()
number = 3

def undefined():
    return fr.Equation(domain=fr.Interval(0.0, 1.0), f=lambda u, x: nothing(x))

def reversed_limits():
    return fr.Equation(domain=fr.Interval(1.0, 0.0), f=lambda u, x: u(x))
"""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fredholm", *arguments]
