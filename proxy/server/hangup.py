"""SIGHUP held back while nobody listens for it. It waits then, and is delivered when it is let through; by default it
would end the process. Children inherit this, so that a worker cannot be hit before it has begun."""

from __future__ import annotations

import signal

HANGUP = {signal.SIGHUP}


def hold() -> None:
    """Hold it back in this thread, and in what this thread starts from now on."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HANGUP)


def let_through() -> None:
    """Somebody listens now."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANGUP)
