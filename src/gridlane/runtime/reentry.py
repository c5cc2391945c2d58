"""Python code that runs in the middle of other code on the same thread: signal handlers, and
finalizers of objects."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

from gridlane.core.device_errors import NOT_PERMITTED, fail


class _Thread(threading.local):
    waits = False
    """With locks that others need."""


here = _Thread()
"""Of the calling thread."""


@contextmanager
def locked_wait() -> Generator[None]:
    """In the with block this thread waits for the device with locks, a library's perhaps, that
    other threads need to go on: what a handler waits for might never come."""
    before, here.waits = here.waits, True
    try:
        yield
    finally:
        here.waits = before


def is_reentry(lock: threading.RLock) -> bool:
    """Whether this thread is in the middle of what the lock is for, or waits with locks that others
    need: it was interrupted there."""
    # As threading.Condition asks.
    return lock._is_owned() or here.waits  # type: ignore[attr-defined]


def refuse_reentry() -> NoReturn:
    """Refuse to go on.

    Raises:
        DeviceError: NOT_PERMITTED.
    """
    fail(
        NOT_PERMITTED,
        "a signal handler or a finalizer uses the device while this thread does so",
        "let the handler set a flag, and launch behind it",
    )
