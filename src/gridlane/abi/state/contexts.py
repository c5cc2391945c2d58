"""Contexts: what a program allocates and loads on a device, and each thread's stack of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn, Protocol

from gridlane.abi.failure import (
    CONTEXT_IS_DESTROYED,
    INVALID_CONTEXT,
    INVALID_VALUE,
    STICKY,
    Failure,
    fail,
    failure_of,
    same,
)
from gridlane.abi.state import devices, notices
from gridlane.abi.state.handles import Handles
from gridlane.core import epochs
from gridlane.core.device_errors import noted
from gridlane.core.errors import GridlaneError
from gridlane.memory.resource import Buffer
from gridlane.runtime.protocol import Device

handles: Handles[Context] = Handles("context")

after_wait: list[Callable[[Device], object]] = []
"""What is called after a program waited for work of a device."""


def waited(device: Device) -> None:
    """Call what is due after a wait for work of a device."""
    for each in after_wait:
        each(device)


class Capture(Protocol):
    """A capture of streams of a context."""

    def refuse(self, what: str) -> NoReturn:
        """Invalidate it, and raise STREAM_CAPTURE_UNSUPPORTED."""
        ...

    def check_legacy(self) -> None:
        """Invalidate it, and raise STREAM_CAPTURE_IMPLICIT, if the legacy default stream waits for
        its streams."""
        ...

    def abandon(self) -> None:
        """End it without a graph."""
        ...


def refuse_all(refusals: Iterable[Callable[[], object]]) -> None:
    """Call what may refuse something and invalidates a capture then, each of it; raise one of the
    failures."""
    first_failure: Failure | None = None
    for each in refusals:
        try:
            each()
        except Failure as failure:
            first_failure = failure
    if first_failure is not None:
        raise first_failure


class Context:
    """A context. All of a device share its memory and its kernels' code.

    Attributes:
        ordinal: of the device.
        flags: as it was created with.
        handle: its number; 0 after its end.
        buffers: what was allocated in it, by address.
        limits: those that the program set, by their number of CUlimit.
        is_primary: whether it is the one that the users of its device share.
        kept: what else lives as long as it, by its owner's name.
        ends: functions that its end calls, in reverse order.
        captures: those in progress of its streams.
        ends_now: whether its end has begun.
    """

    def __init__(self, ordinal: int, flags: int = 0, is_primary: bool = False) -> None:
        self.ordinal, self.flags, self.is_primary = ordinal, flags, is_primary
        self.device: Device = devices.device(ordinal)
        self.buffers: dict[int, Buffer] = {}
        self.limits: dict[int, int] = {}
        self.kept: dict[str, Any] = {}
        self.ends: list[Callable[[], object]] = []
        self.captures: set[Capture] = set()
        self._fault: Failure | None = None
        self.ends_now = False
        self.handle = handles.add(self)

    @property
    def failed(self) -> Failure | None:
        """The fault of a kernel, which stays until the context ends."""
        return self._fault

    def check(self) -> Context:
        """Return the context.

        Raises:
            Failure: the fault of a kernel, which stays until the context ends; or
                CONTEXT_IS_DESTROYED.
        """
        if not self.handle:
            fail(CONTEXT_IS_DESTROYED, "the context was destroyed")
        if self._fault is not None:
            raise same(Failure(self._fault.number, self._fault.what), self._fault)
        return self

    @property
    def faulted(self) -> bool:
        """Whether a kernel failed, so that no further work of the context is done."""
        return self._fault is not None

    def fault(self, error: BaseException) -> Failure:
        """Note that a kernel failed: each later call in the context fails with the same number."""
        failure = failure_of(error)
        if self._fault is None:  # a copy, which keeps no frames
            noted(error)
            self._fault = same(Failure(failure.number, failure.what), error)
            epochs.state.changed()
            notices.fault(error)
        return failure

    def failed_by(self, error: BaseException) -> Failure:
        """The failure to raise for an error of the device's: a kernel's stays with the context."""
        failure = failure_of(error)
        return self.fault(error) if failure.number in STICKY else failure

    def note(self, error: BaseException) -> None:
        """Note what failed on the thread of a stream: later calls return the fault of a kernel."""
        if isinstance(error, GridlaneError):
            self.failed_by(error)

    def synchronize(self) -> None:
        """Wait for all work of the device.

        Raises:
            Failure: of the first kernel that failed; NOT_PERMITTED, a callback of a stream waits;
                STREAM_CAPTURE_UNSUPPORTED, a stream is captured.
        """
        what = "waiting for a context with a captured stream"
        refuse_all(partial(each.refuse, what) for each in tuple(self.captures))
        try:
            self.device.synchronize(self)
        except GridlaneError as error:
            raise self.failed_by(error) from None
        self.check()  # another caller may have taken the error
        waited(self.device)

    def finish(self) -> None:
        """Wait for all work of the device; later calls report a kernel that failed."""
        try:
            self.device.synchronize(self)
        except GridlaneError as error:
            self.failed_by(error)

    def end(self) -> None:
        """Wait for its work, and free what is in it."""
        self.ends_now = True
        epochs.state.changed()
        for each in tuple(self.captures):
            each.abandon()
        with suppress(GridlaneError):
            self.device.synchronize(self)
        if self._fault is not None:
            with suppress(GridlaneError):
                self.device.reset()
        for end in reversed(self.ends):
            end()
        self.ends.clear()
        self.kept.clear()
        self.buffers.clear()
        handles.discard(self.handle)
        self.handle = 0
        epochs.state.changed()


# --- the primary context of each device ---


class Primary:
    """The context of a device that the runtime and its users share, with its count of holders.

    Attributes:
        holders: how often it is held; the runtime holds it once, for all its callers.
        in_runtime: whether the runtime does.
    """

    def __init__(self, ordinal: int) -> None:
        self.ordinal, self.flags, self.holders = ordinal, 0, 0
        self.in_runtime = False
        self.context: Context | None = None

    def retain(self) -> Context:
        """Hold it; create it for its first holder."""
        with _lock:
            context = self._alive()
            self.holders += 1
            return context

    def for_runtime(self) -> Context:
        """The context for the runtime, which holds it from now on."""
        with _lock:
            context = self._alive()
            self.holders += not self.in_runtime
            self.in_runtime = True
            return context

    def _alive(self) -> Context:
        if self.context is None or not self.context.handle:
            self.context = Context(self.ordinal, self.flags, is_primary=True)
        return self.context

    def release(self) -> None:
        """Release it; end it with its last holder.

        Raises:
            Failure: INVALID_CONTEXT, it has no holder.
        """
        with _lock:
            if not self.holders:
                fail(INVALID_CONTEXT, "the primary context is not retained")
            self.holders -= 1
            if not self.holders:
                self.reset()

    def leave_runtime(self) -> None:
        """End the context, which the runtime no longer holds."""
        with _lock:
            self.holders -= self.in_runtime
            self.in_runtime = False
            epochs.state.changed()
            self.reset()

    def reset(self) -> None:
        """End the context; its holders get a new one."""
        with _lock:
            if self.context is not None and self.context.handle:
                self.context.end()
            self.context = None


_lock = threading.RLock()
_primaries: dict[int, Primary] = {}


def primary(ordinal: int) -> Primary:
    """That of a device.

    Raises:
        Failure: INVALID_DEVICE, there is no such device.
    """
    devices.device(ordinal)
    with _lock:
        return _primaries.setdefault(ordinal, Primary(ordinal))


# --- the stack of a thread ---


class _Thread(threading.local):
    def __init__(self) -> None:
        self.stack: list[Context] = []


_thread = _Thread()


def stack() -> list[Context]:
    """The contexts of this thread; the last is the current one."""
    return _thread.stack


def push(context: Context) -> None:
    """Make a context current, above the present one."""
    _thread.stack.append(context)
    epochs.state.changed()


def pop() -> Context:
    """Take the current context off the stack, which has one."""
    context = _thread.stack.pop()
    epochs.state.changed()
    return context


def top() -> Context | None:
    """The current context of this thread, whatever its state."""
    return _thread.stack[-1] if _thread.stack else None


def current() -> Context:
    """The current context of this thread, fit for work.

    Raises:
        Failure: INVALID_CONTEXT, there is none; CONTEXT_IS_DESTROYED; or the fault of a kernel.
    """
    context = top()
    if context is None:
        fail(INVALID_CONTEXT, "no context is current on this thread")
    return context.check()


def make_current(context: Context | None) -> None:
    """Replace the current context; None takes it off the stack."""
    if _thread.stack:
        _thread.stack.pop()
    if context is not None:
        _thread.stack.append(context)
    epochs.state.changed()


def of_handle(number: int) -> Context:
    """A context by its handle; 0 is the current one.

    Raises:
        Failure: INVALID_CONTEXT, there is none; INVALID_VALUE, it was destroyed.
    """
    if not number:
        return current()
    context = handles.find(number)
    if context is None:
        fail(INVALID_CONTEXT, f"{number:#x} is no context")
    return context


def check_flags(flags: int, known: int) -> None:
    """Raise INVALID_VALUE for bits that no flag has."""
    if flags & ~known:
        fail(INVALID_VALUE, f"the flags {flags:#x}; known are {known:#x}")
