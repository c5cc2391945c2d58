"""Detect Python code that interrupts other code on the same thread: signal handlers, and finalizers
of objects."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

from gridlane.core.device_errors import NOT_PERMITTED, fail


class _Thread(threading.local):
    waits = False
    """Whether the thread waits while it holds locks that others need."""


here = _Thread()
"""The state of the calling thread."""


@contextmanager
def locked_wait() -> Generator[None]:
    """Mark this thread, in the with block, as waiting for the device with locks, perhaps a
    library's, that other threads need: a handler that waits then could wait for ever."""
    before, here.waits = here.waits, True
    try:
        yield
    finally:
        here.waits = before


def is_reentry(lock: threading.RLock) -> bool:
    """Whether this thread holds the lock, or waits with locks that others need: it was interrupted
    there."""
    # As threading.Condition asks.
    return lock._is_owned() or here.waits  # type: ignore[attr-defined]


def refuse_reentry() -> NoReturn:
    """Refuse to continue in reentrant code.

    Raises:
        DeviceError: NOT_PERMITTED.
    """
    fail(
        NOT_PERMITTED,
        "a signal handler or a finalizer uses the device while this thread does so",
        "let the handler set a flag, and launch behind it",
    )
