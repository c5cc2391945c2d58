"""Stop a lattice's launches on the CPU that last too long, by the CPU's signal."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from gridlane.actors.errors import ActorError
from gridlane.core.errors import KernelError
from gridlane.core.forks import fork_waits
from gridlane.core.threads import start_thread

SHORTEST = 0.05
"""Seconds between two polls, at least."""


class Stopper:
    """Watches blocking launches by a thread of its own.

    Args:
        name: of the lattice, for errors.
        limit: seconds that a launch may take.
    """

    def __init__(self, name: str, limit: float) -> None:
        from gridlane.runtime.drivers.cpu_native import pool

        kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int)
        self._stop: Any = kind(pool().code["gridlane_stop"])
        self._name, self._limit = name, limit
        self._lock = threading.Lock()
        self._launch: tuple[int, float] | None = None
        self._asked = False
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, step: int) -> Generator[None]:
        """Stop the launch of the with block where it lasts too long.

        Raises:
            ActorError: it was stopped.
        """
        if self._thread is None or not self._thread.is_alive():  # a fork's child has none
            thread = threading.Thread(target=self._watch, name="gridlane lattice", daemon=True)
            self._thread = thread
            start_thread(thread)
        self._launch = threading.get_ident(), time.monotonic()
        try:
            yield
        except KernelError as error:
            if not self._asked:
                raise
            raise ActorError(
                f"{self._name} has not ended its step {step} within {self._limit:g} s, the "
                "watchdog's limit: the step is stopped, and the lattice is ended"
            ) from error
        finally:
            self._done()

    def _done(self) -> None:
        with fork_waits(), self._lock:
            if self._launch is not None and self._asked:
                self._stop(self._launch[0], 0)  # the thread's next launch must not be stopped
            self._launch, self._asked = None, False

    def _watch(self) -> None:
        while not self._ended.wait(max(self._limit / 10, SHORTEST)):
            with self._lock:
                launch = self._launch
                if launch is not None and time.monotonic() - launch[1] > self._limit:
                    self._asked = True
                    self._stop(launch[0], 1)

    def end(self) -> None:
        """End the thread."""
        self._ended.set()
