"""Memory that C allocates alone.

See ``native/space.h``: C's blocks lie in one region. Where Python looks an address up there, it
adopts the block, and frees it from then on.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

from gridlane.abi.library import ready
from gridlane.abi.state import contexts, devices, memory
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.memory import Allocation
from gridlane.memory import guards
from gridlane.memory.accounting import Deallocate
from gridlane.memory.host import PAGE, HostBuffer, HostResource
from gridlane.memory.resource import Buffer, goes_with_owner
from gridlane.runtime.host_device import HostDevice
from gridlane.runtime.queues.default_stream_lock import TURNS
from gridlane.runtime.queues.native_queues import native

_DRIVER_AHEAD, _CONTEXT_AHEAD = 1, 2

_u64, _i32 = ctypes.c_uint64, ctypes.c_int
# Short functions that never take the GIL: they are called with it held.
_FUNCTIONS = (
    ctypes.PYFUNCTYPE(_i32, ctypes.c_void_p),
    ctypes.PYFUNCTYPE(None, _u64),
    ctypes.CFUNCTYPE(None),  # waits without the GIL
    ctypes.PYFUNCTYPE(_i32),
    ctypes.PYFUNCTYPE(None),
    ctypes.PYFUNCTYPE(None, _u64, _u64),
)
"""The types of ``struct gl_memory``'s members."""


class _Turn:
    """The default stream's lock among threads of Python and of C.

    Args:
        take, try_take, give: C's functions; a thread acquires C's lock once.
    """

    def __init__(
        self,
        take: Callable[[], object],
        try_take: Callable[[], int],
        give: Callable[[], object],
    ) -> None:
        self._own, self._depth = threading.RLock(), 0
        self._take, self._try_take, self._give = take, try_take, give

    def acquire(self, blocking: bool = True) -> bool:
        """Acquire it; false if another thread holds it and the caller does not wait."""
        if not self._own.acquire(blocking):
            return False
        try:
            if not self._depth and not self._took(blocking):
                self._own.release()
                return False
            self._depth += 1
        except BaseException:
            self._own.release()
            raise
        return True

    def _took(self, blocking: bool) -> bool:
        if not blocking:
            return bool(self._try_take())
        self._take()
        return True

    def release(self) -> None:
        """Release it."""
        self._depth -= 1
        if not self._depth:
            self._give()
        self._own.release()

    def _is_owned(self) -> bool:
        return self._own._is_owned()  # type: ignore[attr-defined]  # as threading.Condition asks

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


class _Large:
    """Owns a large allocation of C, which is alone in its pages."""

    __slots__ = ("size", "start")

    def __init__(self, start: int, size: int) -> None:
        self.start, self.size = start, size

    def __del__(self, free: Callable[[int, int], object] = native.free_large) -> None:
        free(self.start, self.size)


class _LargeBuffer(HostBuffer):
    """A buffer of it."""

    __slots__ = ()

    def extent(self) -> tuple[int, int]:
        """(start, end) of the pages that this buffer's owner alone uses."""
        end = self.address + self.size + guards.BYTES
        return self.address, -(-end // PAGE) * PAGE


class _Blocks:
    """C's functions.

    Args:
        address: of ``struct gl_memory``.

    Attributes:
        start, end: of the region of blocks; 0 where there is none.
    """

    def __init__(self, address: int) -> None:
        addresses = (_u64 * len(_FUNCTIONS)).from_address(address)
        results = [kind(place) for kind, place in zip(_FUNCTIONS, addresses)]
        self._begin, self.end_context, *turn, self._move_context = results
        facts = (_u64 * 4)()
        self.begun = bool(self._begin(ctypes.addressof(facts)))
        if self.begun:
            TURNS.lock = _Turn(*turn)
        self.start, self.end, _, self._large = facts

    def take_over(self, address: int) -> None:
        """Adopt the block at an address, if C has one there, as an allocation of Python."""
        if not self.start <= address < self.end:
            return
        with memory.lock:  # later look-ups find it
            block = native.adopt_block(address)
            if block is None:
                return
            start, size, handle = block
            context = contexts.handles.find(handle)
            if context is None:  # another thread ended it, so no valid look-up can want it
                native.release_block(start)
                return
            self._add(Buffer(start, size, None, context.device), context, _release)

    @property
    def used_ahead(self) -> int:
        """The objects of the first device that C used ahead of Python: the driver, a context."""
        facts = (_u64 * 4)()
        return facts[2] if self._begin(ctypes.addressof(facts)) else 0

    def take_all_over(self, context: Context) -> None:
        """Move C's allocations ahead of Python to a context; C allocates no more there."""
        self._move_context(ready.AHEAD, context.handle)
        for start, size in native.ranges(self._large):
            buffer = _LargeBuffer(start, size, _Large(start, size), context.device)
            self._add(buffer, context, goes_with_owner)
            native.remove_range(self._large, start)

    def _add(self, buffer: Buffer, context: Context, free: Deallocate) -> None:
        context.device.memory.accounting.add(buffer, free)
        memory.add(Allocation(buffer.address, buffer.size, "device", context, buffer))


def _release(address: int, size: int) -> None:
    native.release_block(address)


_begun: list[_Blocks] = []


def begin(address: int) -> bool:
    """Allow C to allocate; false if it cannot.

    Args:
        address: of its functions.
    """
    blocks = _Blocks(address)
    if blocks.begun:
        memory.outside.append(blocks.take_over)
        _begun.append(blocks)
    return blocks.begun


def take_over_blocks() -> None:
    """Move what C allocated ahead of Python to the first device."""
    (blocks,) = _begun
    used = blocks.used_ahead
    if used & _DRIVER_AHEAD:
        devices.initialise()
    if used & _CONTEXT_AHEAD:
        context = ready.first_context()
        watch(context)
        blocks.take_all_over(context)


def watch(context: Context) -> bool:
    """Allow C to copy and fill in a context; return whether it may allocate there."""
    (blocks,) = _begun
    device = context.device
    assert isinstance(device, HostDevice)
    device.memory.outside = blocks.take_over
    if "memory of C" not in context.kept:
        context.kept["memory of C"] = True
        handle = context.handle
        context.ends.append(lambda: blocks.end_context(handle))
    is_plain = type(device.memory.resource) is HostResource and device.memory.limit is None
    return is_plain and blocks.start > 0


def is_alive(context: Context) -> bool:
    """Whether calls in a context may succeed."""
    return bool(context.handle) and not context.ends_now and not context.faulted


def is_fit(context: Context) -> bool:
    """Whether C may do a context's work."""
    device = context.device
    return is_alive(context) and isinstance(device, HostDevice) and device.is_plain
