"""Ctrl-C at a safe moment: between two chunks, when the state is whole."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Within it the first Ctrl-C is only noted, and the function it gives says so; a second one interrupts at once, as ever.

    An exception in the middle of a chunk could leave the weights of one step with the number of another, and one that falls into a
    callback of the garbage collector (JAX has such) is lost. Only the main thread receives signals: elsewhere nothing changes.
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
