"""Callbacks: host functions that streams run, and the operations that they may use.

A callback of a host-driven device or a GPU may use no device of either kind: it would wait for its
own stream, which waits for it. A callback is ordinary work on devices whose work runs on host
threads. It may launch, copy, and wait for each stream that does not wait for its own; see
``host_queue.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

from gridlane.core.device_errors import NOT_PERMITTED, fail


class _Thread(threading.local):
    in_callback = False
    """Whether the thread is in a callback that may not use devices."""


here = _Thread()
"""The state of the calling thread."""


@contextmanager
def callback() -> Generator[None]:
    """Mark this thread, in the with block, as running a callback that may not use devices."""
    here.in_callback = True
    try:
        yield
    finally:
        here.in_callback = False


def refuse_in_callback() -> NoReturn:
    """Refuse the use of a device.

    Raises:
        DeviceError: NOT_PERMITTED.
    """
    fail(NOT_PERMITTED, "a callback of a stream may not use the device")
