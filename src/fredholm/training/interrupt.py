"""Ctrl-C and SIGTERM at a safe moment: between two chunks, where the state is consistent."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# The signals, and what handles them in a program that has not changed it. A scheduler ends a job by SIGTERM some time before it kills it.
DEFERRED = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Defers the first Ctrl-C or SIGTERM: it is only noted, and the function that is yielded returns True. A second one interrupts at once.

    An exception in the middle of a chunk could leave the weights of one step with the number of another. One that is raised inside a
    callback of the garbage collector (JAX has some) is lost. Only the main thread receives signals: elsewhere nothing changes. A program
    that handles one of the signals itself keeps its handler.
    """
    noted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal noted
        if noted:
            raise KeyboardInterrupt
        noted = True

    is_main = threading.current_thread() is threading.main_thread()
    ours = {number: usual for number, usual in DEFERRED.items() if is_main and signal.getsignal(number) is usual}
    for number in ours:
        signal.signal(number, note)
    try:
        yield lambda: noted
    finally:
        for number, usual in ours.items():
            signal.signal(number, usual)
