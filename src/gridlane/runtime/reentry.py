"""Python code that runs in the middle of other code on the same thread: signal handlers, and
finalizers of objects."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from gridlane.runtime.errors import NOT_PERMITTED, fail


class _Thread(threading.local):
    waits = False


_thread = _Thread()


@contextmanager
def locked_wait() -> Generator[None]:
    """In the with block this thread waits for the device with locks, a library's perhaps, that
    other threads need to go on: what a handler waits for might never come."""
    before, _thread.waits = _thread.waits, True
    try:
        yield
    finally:
        _thread.waits = before


def refuse_reentry(lock: threading.RLock) -> None:
    """Refuse to go on where this thread is in the middle of what the lock is for, or waits with
    locks that others need: it was interrupted there. Hot.

    Raises:
        DeviceError: NOT_PERMITTED.
    """
    # As threading.Condition asks.
    if lock._is_owned() or _thread.waits:  # type: ignore[attr-defined]
        fail(
            NOT_PERMITTED,
            "a signal handler or a finalizer uses the device while this thread does so",
            "let the handler set a flag, and launch behind it",
        )
