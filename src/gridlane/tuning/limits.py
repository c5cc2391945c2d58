"""Launches that last too long: devices that can stop one do, others are waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from gridlane.core.errors import KernelError
from gridlane.core.forks import fork_waits
from gridlane.core.threads import start_thread
from gridlane.launch import current
from gridlane.runtime.protocol import Device
from gridlane.tuning.errors import Overran

_AGAIN_S = 0.05
"""Seconds between two requests: one between two launches reaches none."""


def can_stop(device: Device) -> bool:
    """Whether a device ends a launch on request."""
    return hasattr(device, "stop_thread")


@contextmanager
def limited(device: Device, seconds: float) -> Generator[None]:
    """Stop the launches of this thread, on the default stream, that are in the with block after
    ``seconds``. A device that cannot stop a launch is not asked.

    Raises:
        Overran: one was stopped.
    """
    if not can_stop(device):
        yield
        return
    watch = _Watch(device, seconds)
    try:
        yield
    except KernelError as error:
        if not watch.asked:
            raise
        raise Overran(f"stopped after {seconds:.3g} s") from error
    finally:
        watch.end()


def waited(call: Callable[[], object], device: Device, seconds: float) -> bool:
    """Call on a thread of its own, which uses a device; whether it has ended after ``seconds``. An
    exception of it is raised here."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            current.choose(device)
            call()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="gridlane tuning", daemon=True)
    start_thread(thread)
    thread.join(max(seconds, 0.0))
    if errors:
        raise errors[0]
    return not thread.is_alive()


class _Watch:
    """A thread that requests the end of another one's launches, from a time on."""

    def __init__(self, device: Any, seconds: float) -> None:
        self._device, self._seconds = device, seconds
        self._owner = threading.get_ident()
        self._ended, self._lock = threading.Event(), threading.Lock()
        self.asked = False
        self._thread = threading.Thread(target=self._wait, name="gridlane tuning", daemon=True)
        start_thread(self._thread)

    def _wait(self) -> None:
        seconds = self._seconds
        while not self._ended.wait(max(seconds, 0.0)):
            seconds = _AGAIN_S
            with self._lock:
                if not self._ended.is_set():
                    self.asked = True
                    self._device.stop_thread(self._owner, True)

    def end(self) -> None:
        """End the thread, and withdraw the request: the next launch must not be stopped."""
        with fork_waits(), self._lock:
            self._ended.set()
            if self.asked:
                self._device.stop_thread(self._owner, False)
        self._thread.join()
