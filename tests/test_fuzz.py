"""The quick parts of the attack: junk in constructors, in settings, on the command line, and in the files of a run."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import fredholm as fr

LEFT = 900  # objects that a solve may leave: the last few programs of a function are kept
SEED, EXAMPLES = 20, 30  # `make attack` takes another one each time


def test_junk_is_refused_in_one_line_and_nothing_is_wrong_in_silence():
    """In a process of its own: the suite checks types at run time, a user's program does not."""
    arguments = [Path(__file__).with_name("attack.py"), "api", "text", "line", "folders", "--seed", str(SEED), "--examples", str(EXAMPLES)]
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


def test_repeated_solves_do_not_keep_their_programs():
    """Each solve of a new equation leaves about 300 objects; with the programs of `eqx.filter_jit`, which stay for ever, it was 1500."""
    unit = fr.Interval(0.0, 1.0)

    def solved():
        equation = fr.Equation(unit, lambda u, x: u(x), fr.Integral(unit, lambda u, x, t: 0.5 * u(t)), 1.0, exact=lambda x: 2.0)
        network = fr.MLP(4, 1, scaled=False)
        fr.solve(equation, fr.Standard(), rule=fr.MonteCarlo(2), network=network, steps=2, seeds=1, batch=4, progress=False)
        gc.collect()
        return len(gc.get_objects())

    solved()
    before = solved()
    solved()
    assert (solved() - before) / 2 < LEFT
