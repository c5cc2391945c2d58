"""What a thread does once, as loading modules and opening a device, and cannot begin again in the
middle of it: signal handlers and finalizers run between any two lines."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from gridlane.core.errors import DeviceError


class FirstUse:
    """Something that is done once.

    Args:
        what: in words, behind "while this thread".
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._threads: set[int] = set()
        self._done = False

    @contextmanager
    def __call__(self) -> Generator[None]:
        """In the with block this thread does it.

        Raises:
            DeviceError: NOT_PERMITTED, it is in the middle of it.
        """
        thread = threading.get_ident()
        if self._done:
            yield
            return
        if thread in self._threads:
            raise DeviceError(
                "CUDA_ERROR_NOT_PERMITTED",
                800,
                f"a signal handler or a finalizer uses the device while this thread {self._what}",
                "let the handler set a flag and launch behind it, or launch a kernel once before "
                "the handler is installed",
            )
        self._threads.add(thread)
        try:
            yield
        finally:
            self._threads.discard(thread)
        self._done = True
