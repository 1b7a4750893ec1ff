"""`python -m fredholm`, and the command `fredholm`: from the arguments to an exit code.

0: succeeded; 1: something failed; 2: wrong input; 130: Ctrl-C.
"""

import os
import sys
from collections.abc import Sequence

import jax

from fredholm.cli.folders import CommandError
from fredholm.cli.parser import parse
from fredholm.cli.session import logging_to_terminal, start_jax
from fredholm.common.starting import handled_interrupts
from fredholm.training.processes import LostProcessError

INTERRUPTED = 130  # the exit code after Ctrl-C; all processes of a run end by it together


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    code = _run(arguments)
    if code not in (0, INTERRUPTED) and jax.distributed.is_initialized():
        os._exit(code)  # an orderly end would wait for the other processes, which may wait for this one
    return code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        handled_interrupts()
        options = parse(sys.argv[1:] if arguments is None else arguments)
        with logging_to_terminal(options.verbose):
            if options.name != "list":
                start_jax(getattr(options, "distributed", False))
            return options.run_command(options)
    except ValueError as error:
        return _say(error, 2)
    except (CommandError, LostProcessError) as error:
        return _say(error, 1)
    except KeyboardInterrupt as error:
        return _say(str(error) or "interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has left (`fredholm list | head`): nothing more can be said, not even by the interpreter at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _say(f"{error.filename}: {error.strerror}" if error.filename else error, 1)


def _say(error: object, code: int) -> int:
    """One line on standard error."""
    print(f"fredholm: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
