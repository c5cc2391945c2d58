"""Work at the end of the process, in reverse order of registration.

``import gridlane`` registers it, so it runs after the functions that a program registers with
``atexit`` later: such functions still use devices.
"""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from gridlane.core.errors import DeviceError

OWN_THREADS = "gridlane-"
"""The prefix of the names of gridlane's threads."""


class _Ending:
    def __init__(self) -> None:
        self.work = ExitStack()
        self.over = False

    def come(self) -> None:
        self.over = True
        self.work.close()


_ending = _Ending()


def begin() -> None:
    """Register the work with Python, which runs it after functions that are registered later."""
    atexit.register(_ending.come)


def at_end(work: Callable[..., object], *args: Any, **named: Any) -> None:
    """Call ``work`` at the end of the process."""
    _ending.work.callback(work, *args, **named)


def over() -> bool:
    """Whether the process is ending."""
    return _ending.over


def at_its_end(ended: str) -> DeviceError:
    """The error of every use of a device, or of anything else that the end of the process has
    ``ended``: CUDA's driver reports its own end so."""
    return DeviceError(
        "CUDA_ERROR_DEINITIALIZED",
        4,
        f"the driver is shutting down: the process is at its end, which has ended {ended}",
        "use the device before: in main, or in a function that atexit is given after gridlane is "
        "imported; join threads, as daemons go on while the process ends",
    )


def alone() -> bool:
    """Whether only this thread and gridlane's own run Python: none is in a driver's function then,
    and none reads its memory."""
    every = threading.enumerate()
    ours = {thread.ident for thread in every if thread.name.startswith(OWN_THREADS)}
    every_thread = set(sys._current_frames())  # pyright: ignore[reportPrivateUsage]  # documented
    return not every_thread - ours - {threading.get_ident()}
