"""Bad input, as a tired person types it: `python bad_inputs.py` prints what is not refused in one clear line. Nobody checks types here.

Each entry has a part of the message and the call. Nothing here trains.
"""

import sys
import traceback

import numpy as np

import fredholm as fr
from fredholm.training.training import Training

NAN = float("nan")
UNIT, SQUARE, VOLTERRA = fr.Interval(0.0, 1.0), fr.Box((0.0, 0.0), (1.0, 1.0)), fr.problems.Volterra()
ON_UNIT = fr.Integral(UNIT, lambda u, x, t: u(t))
TINY = {"steps": 2, "seeds": 1, "batch": 4, "network": fr.MLP(4, 1), "progress": False}


def made(**changes):
    """An equation with these parts changed."""
    return fr.Equation(**{"domain": UNIT, "f": lambda u, x: u(x), "integrals": ON_UNIT, **changes})


def tried(**changes):
    """The same equation, as far as the checks before a training."""
    return fr.solve(made(**changes), fr.DelayedTarget(), **TINY)


def solved(**changes):
    return fr.solve(VOLTERRA, **{**TINY, **changes})


def g(function):
    return tried(integrals=fr.Integral(UNIT, function))


CALLS = {
    # the arguments of classes
    "Equation domain: got (0, 1); expected a domain": lambda: made(domain=(0, 1)),
    "Equation integrals: got 3; expected Integral": lambda: made(integrals=3),
    "Equation integrals: got <class": lambda: made(integrals=fr.Integral),
    "Equation conditions: got 3; expected Condition": lambda: made(conditions=3),
    "Equation unknowns: got [1]; expected names": lambda: made(unknowns=[1]),
    "Equation unknowns: got 'network' as a name": lambda: made(unknowns={"network": 1.0}),
    "Equation unknowns['kappa']: got nan": lambda: made(unknowns={"kappa": NAN}),
    "Equation view: got 3; expected": lambda: made(view=3),
    "Equation f: got 3; expected a function": lambda: made(f=3),
    "Equation y: got nan; expected a function": lambda: made(y=NAN),
    "Equation y: got 'a'; expected": lambda: made(y="a"),
    "Equation exact: got 3; expected a function": lambda: made(exact=3),
    "Equation drawn: got 3; expected a function": lambda: made(drawn=3),
    "Equation evaluation: got 3; expected": lambda: made(evaluation=3),
    "Equation defaults: got 3; expected": lambda: made(defaults=3),
    "Equation outputs: got 0; expected": lambda: made(outputs=0),
    "Integral over: got (0, 1); expected": lambda: fr.Integral(over=(0, 1), g=lambda u, x, t: u(t)),
    "Integral g: got 3; expected a function": lambda: fr.Integral(UNIT, 3),
    "Integral rule: got 8; expected": lambda: fr.Integral(UNIT, lambda u, x, t: u(t), rule=8),
    "Condition at: got 3; expected a domain": lambda: fr.Condition(3, 1.0),
    "Condition value: got nan; expected": lambda: fr.Condition(fr.Point(0.0), NAN),
    "IntegralCondition value: got nan; expected": lambda: fr.IntegralCondition(ON_UNIT, NAN),
    "IntegralCondition integral: got": lambda: fr.IntegralCondition(lambda u: 1.0, 1.0),
    "Periodic at: got 0.0; expected a domain": lambda: fr.Periodic(0.0, 1.0),
    "Data: got no values; expected": lambda: fr.Data(3),
    "Data points: got shape (); expected": lambda: fr.Data(3, 4),
    "Data: got 2 points and 3 values; expected": lambda: fr.Data([0.0, 1.0], [1.0, 2.0, 3.0]),
    "Data values: got a number that is not finite": lambda: fr.Data([0.0, 1.0], [1.0, NAN]),
    "Data points: got ['a']; expected numbers": lambda: fr.Data(["a"], [1.0]),
    "activation: got 3; expected one of": lambda: fr.MLP(4, 1, 3),
    "MLP width: got 1000000000; expected a whole number from 1": lambda: fr.MLP(10**9),
    "Constrained form: got 3; expected": lambda: fr.Constrained(fr.MLP(), 3),
    "HalfLine low: got nan; expected a finite": lambda: fr.HalfLine(NAN),
    "Line mean: got 'a'; expected a number": lambda: fr.Line("a"),
    "Interval low: got '0'; expected a number": lambda: fr.Interval("0", 1.0),
    "Simplex: got 3; expected several": lambda: fr.Simplex(3),
    "Jumps size: got 2.0; expected": lambda: fr.Jumps(0.5, 2.0),
    "PowerLaw high: got 'far'; expected": lambda: fr.PowerLaw(0.0, "far"),
    "Sphere radius: got nan; expected": lambda: fr.Sphere((0.0, 0.0), NAN),
    "Gauss randomize: got 'x'; expected": lambda: fr.Gauss(2, "x"),
    "Even randomize: got 3; expected": lambda: fr.Even(2, randomize=3),
    "Write Shift(...), with its parentheses": lambda: fr.Even(2, fr.Shift),
    "Shift fixed: got 'a'; expected": lambda: fr.Shift("a"),
    "Importance rule: got 3; expected": lambda: fr.Importance(3, fr.Normal((0.0,))),
    "Importance proposal: got 3; expected": lambda: fr.Importance(fr.MonteCarlo(2), 3),
    "Auto using: got 'x'; expected": lambda: fr.Auto(using="x"),
    "Adam schedule: got 'cos'; expected": lambda: fr.Adam(1e-3, "cos"),
    "Muon schedule: got 'cos'; expected": lambda: fr.Muon(1e-3, "cos"),
    "unknown pairs 'both'": lambda: fr.DoubleSampling(pairs="both"),
    "Evaluation at: got 3; expected": lambda: fr.Evaluation(3),
    "View inputs: got 3; expected": lambda: fr.View(3),
    # the user's functions
    "f at one x: Too many indices": lambda: tried(f=lambda u, x: u(x)[0]),
    "write u(x), not u(x)[0]": lambda: tried(f=lambda u, x: u(x)[0]),
    "f at one x: ZeroDivisionError": lambda: tried(f=lambda u, x: u(x) + 1 / 0),
    "f at one x: NameError": lambda: tried(f=lambda u, x: u(x) + undefined),
    "f at one x: it returned None": lambda: tried(f=lambda u, x: None),
    "f at one x: it returned complex": lambda: tried(f=lambda u, x: 1j * u(x)),
    "f at one x: it returned True or False": lambda: tried(f=lambda u, x: u(x) > 0),
    "f at one x: it takes entry 7 of an array of 1": lambda: tried(f=lambda u, x: u(x) * x[7]),
    "y at one x: it takes entry -2 of an array of 1": lambda: tried(y=lambda x: x[-2]),
    "y at one x: ZeroDivisionError": lambda: tried(y=lambda x: 1 / 0),
    "f at one x: y: it returned 2 values": lambda: tried(domain=SQUARE, integrals=(), y=lambda x: x),
    "g of integral 1: it returned None": lambda: g(lambda u, x, t: None),
    "g of integral 1: it takes entry 7": lambda: g(lambda u, x, t: u(t) * t[7]),
    "g of integral 1: NameError": lambda: g(lambda u, x, t: undefined),
    "integral 1, at x =": lambda: tried(integrals=fr.Integral(lambda x: fr.Interval(0.0, undefined), lambda u, x, t: u(t))),
    "condition 1, value at one x: NameError": lambda: tried(conditions=fr.Condition(UNIT, lambda x: undefined)),
    "jnp.interp for np.interp": lambda: tried(f=lambda u, x: u(x) + np.interp(x[0], [0, 1], [1, 2])),
    "jnp.asarray(table)[i]": lambda: tried(f=lambda u, x: u(x) + np.arange(5.0)[(4 * x[0]).astype(int)]),
    "jnp.asarray(values)[i]": lambda: tried(f=lambda u, x: u(x) + [1, 2, 3][(2 * x[0]).astype(int)]),
    # the keywords of solve
    "solve: got 'volterra' as the problem": lambda: fr.solve("volterra"),
    "method: got 'standard'; expected": lambda: fr.solve(VOLTERRA, "standard"),
    "rule: got 8; expected": lambda: solved(rule=8),
    "network: got 64; expected": lambda: solved(network=64),
    "optimizer: got 0.001; expected": lambda: solved(optimizer=1e-3),
    "precision: got 'float16'; expected": lambda: solved(precision="float16"),
    "seeds: got 1.5; expected": lambda: solved(seeds=1.5),
    "seeds: got 2147483648; expected": lambda: solved(seeds=2**31),
    "seeds: got 1180591620717411303424; expected": lambda: solved(seeds=[2**70]),
    "out: got 3; expected": lambda: solved(out=3),
    "label: got 3; expected": lambda: solved(label=3),
    "throw: got 'a'; expected": lambda: solved(throw="a"),
    "progress: got 3; expected": lambda: solved(progress=3),
    "stop: got 3; expected": lambda: solved(stop=3),
    "checkpoint_every: got 'a'; expected": lambda: solved(checkpoint_every="a"),
    "unknown keyword of solve 'step'. Did you mean 'steps'": lambda: solved(step=3),
    "unknown keyword 'epochs'. Here it is steps": lambda: solved(epochs=3),
    "unknown keyword 'lr'. Here it is optimizer=fr.Adam": lambda: solved(lr=3),
    "compare: unknown keyword 'seed'. Here it is seeds": lambda: fr.compare(VOLTERRA, {"a": fr.Standard()}, seed=3),
    "unknown keyword of resume 'step'": lambda: fr.resume("runs", step=3),
    "compare methods: got 3; expected": lambda: fr.compare(VOLTERRA, 3),
    "Most is for the network at all nodes of one x": lambda: solved(rule=fr.MonteCarlo(10**9)),
    "Most is for the points of a step": lambda: solved(batch=10**10),
    "Most is for the parameters": lambda: solved(network=fr.MLP(100_000, 50)),
    # other calls
    "path: got None; expected": lambda: fr.load(None),
    "path: got 3; expected": lambda: fr.resume(3),
    "check: got 3; expected": lambda: fr.check(3),
    "keep_programs: got 3; expected": lambda: fr.keep_programs(3),
    "use_all_cores: got 'a'; expected": lambda: fr.use_all_cores("a"),
}


def wrong():
    """What each call does instead of a `ValueError` of one line with its message."""

    def trained(self, settings):
        raise RuntimeError("a training was started")

    Training.__init__ = trained
    for message, call in CALLS.items():
        try:
            call()
        except ValueError as error:
            if message not in str(error) or "\n" in str(error) or len(str(error)) > 500:
                yield message, f"{error}"
        except BaseException as error:
            yield message, f"{type(error).__name__}: {error}"
        else:
            yield message, "nothing was refused"


def long_traceback():
    """The traceback of an error in the user's own function, where it shows more than the user's own lines and what they mean."""

    def y(x):
        return undefined * x[0]

    try:
        tried(y=y)
    except ValueError as error:
        lines = "".join(traceback.format_exception(error)).splitlines()
        if len(lines) > 20 or not any("return undefined * x[0]" in line for line in lines):
            yield "a short traceback", "\n".join(lines)


if __name__ == "__main__":
    found = [f"expected {message!r}, got: {told}" for message, told in (*wrong(), *long_traceback())]
    print(*found, f"{len(CALLS) - len(found)} of {len(CALLS)} inputs are refused in one clear line", sep="\n")
    sys.exit(bool(found))
