"""Memory that C allocates alone, and the ranges by which C classifies Python's allocations.

See ``hot_memory.c``: C's blocks lie in one region. Where Python looks an address up there, it
adopts the block, and frees it from then on.
"""

from __future__ import annotations

import ctypes
import itertools
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

OF_DEVICES, OF_HOST, BUFFERS = 0, 1, 2
"""The kinds of ranges: programs' allocations on devices and on the host, and all buffers."""
DEVICE, MANAGED, HOST, FOREIGN = 1, 2, 3, 4
_DRIVER_AHEAD, _CONTEXT_AHEAD = 1, 2
_KINDS = {"device": DEVICE, "managed": MANAGED, "host": HOST, "registered": HOST}

_u64, _i32, _u32 = ctypes.c_uint64, ctypes.c_int, ctypes.c_uint32
# Short functions that never take the GIL: they are called with it held.
_FUNCTIONS = (
    ctypes.PYFUNCTYPE(_i32, ctypes.c_void_p),
    ctypes.PYFUNCTYPE(None, _i32, _u64, _u64, _u32),
    ctypes.PYFUNCTYPE(None, _i32, _u64),
    ctypes.PYFUNCTYPE(_i32, _u64, ctypes.c_void_p),
    ctypes.PYFUNCTYPE(None, _u64),
    ctypes.PYFUNCTYPE(None, _u64),
    ctypes.CFUNCTYPE(None),  # waits without the GIL
    ctypes.PYFUNCTYPE(_i32),
    ctypes.PYFUNCTYPE(None),
    ctypes.PYFUNCTYPE(None, _u64, _u64),
    ctypes.PYFUNCTYPE(_i32, _u64, ctypes.c_void_p),
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


class _Ranges:
    """A mirror of ranges in C."""

    def __init__(self, blocks: _Blocks, of: int) -> None:
        self._blocks, self._of = blocks, of

    def add(self, start: int, size: int, piece: object) -> None:
        """Add a range; it replaces one with the same start."""
        self._blocks.add_range(self._of, start, size, _kind(piece))

    def remove(self, start: int) -> None:
        """Remove the range with this start."""
        self._blocks.remove_range(self._of, start)


def _kind(piece: object) -> int:
    """The kind of a program's allocation; of a buffer, C needs only the range."""
    if not isinstance(piece, Allocation):
        return DEVICE
    device = piece.context.device
    return _KINDS[piece.kind] if isinstance(device, HostDevice) and device.is_plain else FOREIGN


class _Large:
    """Owns a large allocation of C, which is alone in its pages."""

    __slots__ = ("_free", "size", "start")

    def __init__(self, start: int, size: int, free: Callable[[int, int], object]) -> None:
        self.start, self.size, self._free = start, size, free

    def __del__(self) -> None:
        self._free(self.start, self.size)


class _LargeBuffer(HostBuffer):
    """A buffer of it."""

    __slots__ = ()

    def extent(self) -> tuple[int, int]:
        """(start, end) of the pages that this buffer's owner alone uses."""
        end = self.address + self.size + guards.BYTES
        return self.address, -(-end // PAGE) * PAGE


class _Blocks:
    """C's functions, and the ranges that they have.

    Args:
        address: of ``struct gl_memory``.

    Attributes:
        start, end: of the region.
    """

    def __init__(self, address: int) -> None:
        addresses = (_u64 * len(_FUNCTIONS)).from_address(address)
        results = [kind(place) for kind, place in zip(_FUNCTIONS, addresses)]
        self._begin, self.add_range, self.remove_range, self._adopt, *rest = results
        self._release, self.end_context, *turn, self._move_context, large, free_large = rest
        self._large, self._free_large = large, free_large
        address_range = (_u64 * 3)()
        self.begun = bool(self._begin(ctypes.addressof(address_range)))
        if self.begun:
            TURNS.lock = _Turn(*turn)
        self.start, self.end, _ = address_range
        self._watched: set[object] = set()

    def watch(self, device: HostDevice) -> None:
        """Connect C's memory with a device's."""
        if device.memory not in self._watched:
            device.memory.accounting.mirror(_Ranges(self, BUFFERS))
            device.memory.outside = self.take_over
            self._watched.add(device.memory)

    def take_over(self, address: int) -> None:
        """Adopt the block at an address, if C has one there, as an allocation of Python."""
        if not self.start <= address < self.end:
            return
        results = (_u64 * 3)()
        with memory.lock:  # later look-ups find it
            if not self._adopt(address, ctypes.addressof(results)):
                return
            start, size, handle = results
            context = contexts.handles.find(handle)
            if context is None:  # another thread ended it, so no valid look-up can want it
                self._release(start)
                return
            self._add(Buffer(start, size, None, context.device), context, self._deallocate)

    @property
    def used_ahead(self) -> int:
        """The objects of the first device that C used ahead of Python: the driver, a context."""
        results = (_u64 * 3)()
        return results[2] if self._begin(ctypes.addressof(results)) else 0

    def take_all_over(self, context: Context) -> None:
        """Move C's allocations ahead of Python to a context; C allocates no more there."""
        self._move_context(ready.AHEAD, context.handle)
        results = (_u64 * 2)()
        for number in itertools.count():
            if not self._large(number, ctypes.addressof(results)):
                break
            start, size = results
            owner = _Large(start, size, self._free_large)
            buffer = _LargeBuffer(start, size, owner, context.device)
            self._add(buffer, context, goes_with_owner)  # which notes the same range again

    def _add(self, buffer: Buffer, context: Context, free: Deallocate) -> None:
        context.device.memory.accounting.add(buffer, free)
        memory.add(Allocation(buffer.address, buffer.size, "device", context, buffer))

    def _deallocate(self, address: int, size: int) -> None:
        self._release(address)


_begun: list[_Blocks] = []


def begin(address: int) -> bool:
    """Allow C to allocate; false if it cannot.

    Args:
        address: of its functions.
    """
    blocks = _Blocks(address)
    if blocks.begun:
        memory.mirror(_Ranges(blocks, OF_DEVICES), _Ranges(blocks, OF_HOST))
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
    blocks.watch(device)
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
