"""The first moments of the command `fredholm`: importing this module, as the package does before all others, lets Ctrl-C end the command.

What a command still imports takes seconds. There is nothing to save yet, and a traceback of an import helps nobody.

It also keeps the compiler quiet, which reports slow compilations in pages of its own: its errors come as exceptions all the same.
"""

import os
import signal
import sys
from pathlib import PurePath

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # read once, when jaxlib is loaded


def is_command() -> bool:
    """True where this process is the command `fredholm`, or `python -m fredholm`."""
    program = sys.argv[0] if sys.argv else ""
    # While Python looks for the module of -m, that is what it calls the program.
    return "fredholm" in sys.orig_argv[1:4] if program == "-m" else PurePath(program).stem == "fredholm"


def handled_interrupts() -> None:
    """From here on the command handles Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
