"""Fences of a WebGPU queue: wgpu calls a callback when the work before a point is done.

Two other ways do not work. The result of wgpuDevicePoll is true while kernels run, and wgpu-py's
``on_submitted_work_done`` (0.32) passes a callback of another type than the library calls.
"""

from __future__ import annotations

import time
from functools import cache
from itertools import count
from types import TracebackType
from typing import Any

from gridlane.runtime.drivers.single_buffer.engine import SPIN_NS
from gridlane.runtime.drivers.webgpu.adapters import bindings

_NUMBERS = count(1)
_OPEN: dict[int, Fence] = {}
"""Fences that wgpu has not told of, by the numbers that it passes to the callback."""
_INTERRUPTIONS: list[BaseException] = []
"""What signal handlers raised in the callback; wgpu, which called it, cannot pass it on."""

_SHORTEST, _LONGEST = 20_000, 1_000_000
"""Nanoseconds of sleep between two polls of a long wait."""
_SHARE = 32
"""Sleeps take this share of the time waited so far."""


def _told(status: int, *rest: Any) -> None:
    """The callback of wgpu; its last argument but one is the number of the fence."""
    fence = _OPEN.pop(int(_ffi().cast("uintptr_t", rest[-2])), None)
    if fence is not None:
        fence.status, fence.reached = status, True


def _interrupted(_kind: object, error: BaseException, traceback: TracebackType | None) -> None:
    _INTERRUPTIONS.append(error.with_traceback(traceback))


@cache
def _callback() -> Any:
    """The callback for all queues. It is never freed: wgpu may call it as a device ends."""
    text = "void(WGPUQueueWorkDoneStatus, WGPUStringView, void *, void *)"
    return _ffi().callback(text, _told, onerror=_interrupted)


def _ffi() -> Any:
    return bindings().backends.wgpu_native.ffi


class Fence:
    """The point after a queue's work so far.

    Args:
        device, queue: wgpu's objects.

    Attributes:
        reached: whether the work before the point is done.
        status: the status that wgpu reports.
    """

    __slots__ = ("_device", "_lib", "_queue", "reached", "status")

    def __init__(self, device: Any, queue: Any) -> None:
        self._lib = bindings().backends.wgpu_native.lib
        self._device, self._queue = device._internal, queue._internal
        self.reached = False
        self.status = 0
        self.ask(next(_NUMBERS))

    def ask(self, number: int) -> None:
        """Request a callback of wgpu for the end of the work so far."""
        ffi = _ffi()
        info = ffi.new("WGPUQueueWorkDoneCallbackInfo *")
        info.mode = self._lib.WGPUCallbackMode_AllowProcessEvents
        info.callback = _callback()
        info.userdata1 = ffi.cast("void *", number)
        _OPEN[number] = self
        self._lib.wgpuQueueOnSubmittedWorkDone(self._queue, info[0])

    def passed(self) -> bool:
        """Process wgpu's callbacks, without waiting; return whether the work is done.

        Raises:
            RuntimeError: wgpu reports that the work failed.
        """
        if not self.reached:
            self._lib.wgpuDevicePoll(self._device, False, _ffi().NULL)
            if _INTERRUPTIONS:
                _ask_again()
        if self.reached and self.status != self._lib.WGPUQueueWorkDoneStatus_Success:
            raise RuntimeError(f"the queue's work ends with status {self.status}")
        return self.reached

    def poll(self, ns: int) -> bool:
        """Whether the work is done, after ``ns`` at most: by polls, in long waits with sleeps
        between them. wgpu's own wait would keep signal handlers waiting."""
        start = time.monotonic_ns()
        while not self.passed():
            waited = time.monotonic_ns() - start
            if waited >= ns:
                return False
            if ns > SPIN_NS:
                time.sleep(min(max(waited / _SHARE, _SHORTEST), _LONGEST) / 1e9)
        return True


def _ask_again() -> None:
    """Raise what a signal handler raised in the callback. The exception may precede the mark of the
    fence, so the callbacks of all open fences are requested again."""
    error = _INTERRUPTIONS.pop()
    for number, fence in list(_OPEN.items()):
        fence.ask(number)
    raise error
