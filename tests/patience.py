"""A limit for tests of what must not hang: no measurement of speed, but far more seconds than it takes on any machine."""

import contextlib
import signal


@contextlib.contextmanager
def ends(seconds=120):
    """Fails where something waits for ever: far more seconds than it takes on any machine."""

    def waited(number, frame):
        raise AssertionError(f"still waiting after {seconds} s")

    before = signal.signal(signal.SIGALRM, waited)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
