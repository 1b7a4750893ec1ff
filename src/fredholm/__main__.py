"""`python -m fredholm`, and the command `fredholm`: from the arguments to an exit code.

0: succeeded; 1: something failed; 2: wrong input; 130: Ctrl-C.
"""

import os
import sys
from collections.abc import Sequence

from fredholm.cli.folders import CommandError
from fredholm.cli.parser import parse
from fredholm.cli.session import logging_to_terminal, start_jax
from fredholm.common.starting import handled_interrupts


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    try:
        handled_interrupts()
        options = parse(sys.argv[1:] if arguments is None else arguments)
        with logging_to_terminal(options.verbose):
            if options.name != "list":
                start_jax()
            return options.run_command(options)
    except ValueError as error:
        return _say(error, 2)
    except CommandError as error:
        return _say(error, 1)
    except KeyboardInterrupt as error:
        return _say(str(error) or "interrupted", 130)
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
