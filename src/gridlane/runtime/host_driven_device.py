"""The base of host-driven devices: streams by number, copies by the default stream, and the no-op
methods of the device protocol."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, Literal, TypeVar

import gridlane.runtime.host_driven_seams  # noqa: F401  # pyright: ignore[reportUnusedImport]  # names the seams
from gridlane.core.device_errors import (
    INVALID_DEVICE,
    INVALID_HANDLE,
    NOT_PERMITTED,
    OUT_OF_MEMORY,
    KernelStop,
    described,
    fail,
    handled,
)
from gridlane.core.endings import alone, at_end, at_its_end
from gridlane.core.errors import DeviceError
from gridlane.core.weak import live
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer
from gridlane.memory.suballocator import Suballocation, Suballocator
from gridlane.runtime.attributes import attributes_of
from gridlane.runtime.protocol import Limits, Route
from gridlane.runtime.queues.host_driven_context import HostDrivenContext
from gridlane.runtime.queues.host_driven_event import HostDrivenEvent
from gridlane.runtime.queues.host_driven_recorder import AnyRecorder
from gridlane.runtime.queues.host_driven_stream import HostDrivenStream
from gridlane.runtime.queues.host_driven_transfers import Transfers
from gridlane.runtime.reporting import Owner, Owners, Unreads

_APART = {
    "CAN_MAP_HOST_MEMORY": 0,
    "UNIFIED_ADDRESSING": 0,
    "MANAGED_MEMORY": 0,
    "CONCURRENT_MANAGED_ACCESS": 0,
    "PAGEABLE_MEMORY_ACCESS": 0,
}
"""The CUDA attributes of a device whose addresses differ from the host's."""

Stream = HostDrivenStream[Any]

A = TypeVar("A")
C = TypeVar("C", bound=HostDrivenContext)
R = TypeVar("R", bound=AnyRecorder)
M = TypeVar("M", bound=Suballocator)


def count_of(usable: Callable[[], Sequence[object]]) -> int:
    """The number of devices of this machine; 0 without a driver."""
    try:
        return len(usable())
    except DeviceError as error:
        handled(error)
        return 0


def chosen(adapters: Sequence[A], ordinal: int, library: str) -> A:
    """The adapter of a device.

    Raises:
        DeviceError: INVALID_DEVICE.
    """
    if ordinal >= len(adapters):
        fail(INVALID_DEVICE, f"device {ordinal} of {library}; this machine has {len(adapters)}")
    return adapters[ordinal]


class HostDrivenDevice(Generic[C, R]):
    """Base of the host-driven devices."""

    host_visible = False
    route: Route = "queued"
    timed_by: Literal["device", "host"] = "device"
    several_buffers: bool | None = None
    # Kernels may use the instructions of this generation; the code generator legalises or refuses
    # those that the device lacks.
    compute_capability = (8, 0)
    name: str
    ordinal: int
    limits: Limits
    context: C
    recorder: R
    transfers: Transfers[Any, Any]
    dlpack_kind: int | None = None
    """DLPack's kind of the memory, of dlpack_abi; None if DLPack has none."""

    ended = False
    """Whether the process is exiting."""

    runs_parts = False
    """Whether a kernel was loaded whose launch is several submissions."""

    def _begin_streams(self) -> None:
        """Start with the default stream alone."""
        self.owners = Owners()
        self.unread = Unreads(self.owners, self._is_past)
        self._streams: weakref.WeakValueDictionary[int, Stream] = weakref.WeakValueDictionary()
        self.default_stream = Stream(self, default=True)
        self.default_stream.context.device_name = self.name
        forget = weakref.WeakMethod(self._begin_in_child)
        os.register_at_fork(after_in_child=lambda: call() if (call := forget()) else None)

    def _begin_in_child(self) -> None:
        """Refuse all work in the child of a fork: no GPU driver survives a fork, and a thread that
        held the lock does not exist."""
        context = self.default_stream.context
        context.lock = threading.RLock()
        context.deferred_queues.clear()
        context.fault = context.fault or described(
            NOT_PERMITTED,
            f"the process forked, and the device {self.name} stays with the parent",
            "use the device in the child alone, or start processes by spawn",
        )

    # --- the exit of the process ---

    def _end_with_process(self) -> None:
        """Finish the work so far at the exit of the process, and refuse later work. A device
        without references has been released by then."""
        end = weakref.WeakMethod(self._end)
        at_end(lambda: call() if (call := end()) else None)

    def _end(self) -> None:
        stream = self.default_stream
        context, lost = stream.context, stream.context.fault is not None
        with suppress(DeviceError, KernelStop):
            stream.put_in()
        with context.lock:  # no other thread submits from here on
            with suppress(DeviceError, KernelStop):
                stream.settle()
            self.ended = True
            context.fault = at_its_end(f"the device {self.name}")
        if not lost:
            self._give_back(alone())

    def _give_back(self, everything: bool) -> None:
        """Save the caches between processes, and release the driver's objects, unless another
        thread may be using them."""
        raise NotImplementedError

    # --- memory ---

    def register_host(self, address: int, size: int) -> None:
        """Do nothing: copies need no pinned memory, and pinning makes none faster."""

    def reaches(self, other: object, address: int) -> bool:
        """Return False: host-driven devices share no memory."""
        return False

    def dlpack_device(self, address: int) -> tuple[int, int] | None:
        """DLPack's device of the memory, if it has one."""
        return None if self.dlpack_kind is None else (self.dlpack_kind, self.ordinal)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the device."""
        self.default_stream.copy(target, source, size)
        self.default_stream.drain()

    def upload(self, target: int, source: memoryview) -> None:
        """Copy to the device."""
        self.default_stream.write(target, source)

    def download(self, target: memoryview, source: int) -> None:
        """Copy to the host."""
        self.default_stream.read(target, source)

    def fill(self, target: int, byte: int, size: int) -> None:
        """Set bytes."""
        self.default_stream.fill(target, byte, size)
        self.default_stream.drain()

    # --- queues ---

    def new_event(self, timing: bool = True) -> HostDrivenEvent:
        """Create an event; ``timed_by`` says whose clock it has."""
        return HostDrivenEvent(self, timing)

    def new_stream(self) -> Stream:
        """Create a stream."""
        stream = Stream(self)
        self._streams[stream.handle] = stream
        return stream

    def stream_at(self, handle: int) -> Stream:
        """The stream with this number; there are no per-thread default streams here."""
        if handle in (0, 1, 2):
            return self.default_stream
        stream = self._streams.get(handle)
        if stream is None:
            fail(INVALID_HANDLE, f"{handle:#x} is no stream of this device")
        return stream

    def synchronize(self, owner: object = None) -> None:
        """Wait for the work of all streams; raise the first error."""
        stream = self.default_stream
        stream.drain()
        self.check()
        if stream.context.deferred_queues:
            for each in (stream, *live(self._streams)):
                each.deferred.raise_error()

    def flush(self) -> None:
        """Write the lines that kernels printed; called when work is done."""
        if self.unread.launches:
            self.unread.flush()

    def check(
        self, handle: int | None = None, late: bool = False, owner: Owner | None = None
    ) -> None:
        """Raise the first error that a kernel reported; called when work is done.

        Args:
            handle: of the stream whose launches count; None for all. A launch that another thread
                waits for does not count.
            late: only errors that are the device's own count.
            owner: whose launches alone count.
        """
        if self.unread.launches:
            self.unread.check(handle, late, owner)

    def _is_past(self, point: int) -> bool:
        """Whether the submitted work with a number is done."""
        return point < self.context.progress and self.recorder.poll(point)

    def activate(self) -> None:
        """Do nothing: these drivers have no current device of a thread."""

    def forget_thread(self) -> None:
        """Do nothing: threads hold no state of the device."""

    # --- facts ---

    def _attributes(self, integrated: bool) -> dict[str, int]:
        """The CUDA attributes, from the driver's properties."""
        own = {"INTEGRATED": int(integrated), **_APART}
        return attributes_of(self.limits, self.compute_capability) | own


class ArenaDevice(HostDrivenDevice[C, R], Generic[C, R, M]):
    """Base of devices whose memory is arenas, and that share memory with the host.

    Attributes:
        pool, staging_pool: its memory, and the host memory that it can access.
        memory, staging: these with their buffers.
    """

    pool: M
    staging_pool: M
    memory: DeviceMemory[Suballocation]
    staging: DeviceMemory[Suballocation]

    # --- memory ---

    def allocate(self, size: int) -> Suballocation:
        """Allocate device memory; if it is short, wait for deferred frees."""
        return self._allocate(self.memory, size)

    def stage(self, size: int) -> Suballocation:
        """Allocate memory that host and device share."""
        return self._allocate(self.staging, size)

    def _allocate(self, memory: DeviceMemory[Suballocation], size: int) -> Suballocation:
        self.context.enter()
        if self.context.retired:
            self.recorder.collect()
        try:
            return memory.allocate(size)
        except DeviceError as error:
            if error.number != OUT_OF_MEMORY:
                raise
            handled(error)
        self.recorder.wait(self.recorder.last)
        self._trim()
        return memory.allocate(size)

    def _trim(self) -> None:
        """Release unused memory."""
        self.recorder.collect()
        self.pool.trim()
        self.staging_pool.trim()

    def adopt(self, address: int, size: int) -> Buffer:
        """Borrow memory inside an array of this device; no other library allocates here."""
        return Buffer(address, size, self.transfers.place(address, size)[0])
