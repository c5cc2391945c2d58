"""Work that a thread does once, as loading modules and opening a device, and that is not reentrant:
signal handlers and finalizers run between any two lines."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from gridlane.core.errors import DeviceError


class FirstUse:
    """Work that is done once.

    Args:
        what: a description to follow "while this thread".
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._threads: set[int] = set()
        self._done = False

    @contextmanager
    def __call__(self) -> Generator[None]:
        """Do the work in the with block, on this thread.

        Raises:
            DeviceError: NOT_PERMITTED, this thread is already doing it.
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
