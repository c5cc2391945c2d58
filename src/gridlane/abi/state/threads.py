"""What the runtime remembers of a thread: its device and its last error."""

from __future__ import annotations

import threading

from gridlane.abi.failure import NOT_READY, Failure, fail
from gridlane.abi.state import contexts, devices
from gridlane.abi.state.contexts import Context
from gridlane.core import epochs
from gridlane.core.device_errors import handled
from gridlane.core.errors import GridlaneError


class _Thread(threading.local):
    def __init__(self) -> None:
        self.device: int | None = None
        self.last = 0


_thread = _Thread()
_valid: list[int] = []


def ready() -> Context:
    """The context for a call of the runtime's: the current one, or else the primary context of the
    thread's device, which becomes current.

    Raises:
        Failure: the fault of a kernel; CONTEXT_IS_DESTROYED, the driver destroyed it; or no device.
    """
    devices.initialise()
    context = contexts.top()
    if context is not None and (context.handle or not context.is_primary):
        return context.check()
    if context is not None:  # another thread reset the device
        return bind(context.ordinal)
    return bind(device())


def bind(ordinal: int) -> Context:
    """Make the primary context of a device current."""
    context = contexts.primary(ordinal).for_runtime()
    if contexts.top() is not context or _thread.device != ordinal:
        contexts.make_current(context)  # which changes the epoch
        _thread.device = ordinal
    return context.check()


def device() -> int:
    """The number of the thread's device, whether it has a context or not."""
    devices.initialise()
    context = contexts.top()
    if context is not None and (context.handle or context.is_primary):
        return context.ordinal
    return _thread.device if _thread.device is not None else _first()


def chosen() -> int | None:
    """The number of the device that the runtime made this thread's; None if it made none."""
    return _thread.device


def _first() -> int:
    """The device of a thread that has chosen none: the first valid one that opens."""
    for ordinal in _valid:
        try:
            devices.device(ordinal)
        except (GridlaneError, Failure) as error:
            handled(error)
            continue
        return ordinal
    devices.device(0)
    return 0


def set_valid(ordinals: list[int]) -> None:
    """Set the devices of threads that choose none, in their order; [] for all devices."""
    _valid[:] = ordinals


# --- the last error ---


def note(number: int) -> None:
    """Note the error of a call; that work is not done yet is none."""
    if number != NOT_READY:
        _thread.last = number
        epochs.state.changed()


def last() -> int:
    """The last error; the fault of a kernel stays until its context ends."""
    context = contexts.top()
    if context is not None and context.handle and context.failed is not None:
        return context.failed.number
    return _thread.last


def forget() -> None:
    """Forget the last error."""
    if _thread.last:
        _thread.last = 0
        epochs.state.changed()


def start_again() -> None:
    """Forget device and error, as a new thread."""
    _thread.device, _thread.last = None, 0
    _valid.clear()
    epochs.state.changed()


def raise_last() -> None:
    """Raise the last error, if there is one."""
    number = last()
    if number:
        fail(number, "the last error of this thread")
