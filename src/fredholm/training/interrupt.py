"""Ctrl-C at a safe moment: between two chunks, where the state is consistent."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Defers the first Ctrl-C: it is only noted, and the function that is yielded returns True. A second one interrupts at once.

    An exception in the middle of a chunk could leave the weights of one step with the number of another. One that is raised inside a
    callback of the garbage collector (JAX has some) is lost. Only the main thread receives signals: elsewhere nothing changes.
    """
    noted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal noted
        if noted:
            raise KeyboardInterrupt
        noted = True

    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: noted
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
