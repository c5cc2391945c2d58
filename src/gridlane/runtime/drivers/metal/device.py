"""One device of Metal."""

from __future__ import annotations

import atexit
import threading
import uuid
import weakref
from collections.abc import Sequence
from contextlib import suppress

from gridlane.core.artifact import Artifact
from gridlane.core.errors import DeviceError
from gridlane.core.options import Target
from gridlane.runtime.chunks import Block
from gridlane.runtime.drivers.metal.adapters import Adapter
from gridlane.runtime.drivers.metal.context import Context
from gridlane.runtime.drivers.metal.event import MetalEvent
from gridlane.runtime.drivers.metal.kernel import MetalKernel
from gridlane.runtime.drivers.metal.memory import Pool
from gridlane.runtime.drivers.metal.moving import Mover
from gridlane.runtime.drivers.metal.pipelines import Pipelines
from gridlane.runtime.drivers.metal.provider import LABEL
from gridlane.runtime.drivers.metal.recorder import Recorder
from gridlane.runtime.drivers.metal.stream import MetalStream
from gridlane.runtime.drivers.metal.transfers import place
from gridlane.runtime.errors import (
    INVALID_HANDLE,
    NOT_SUPPORTED,
    OUT_OF_MEMORY,
    KernelStop,
    fail,
)
from gridlane.runtime.hosted import attributes_of
from gridlane.runtime.protocol import Block as BlockShape
from gridlane.runtime.protocol import Buffer, HostMemory, Limits


class MetalDevice:
    """An adapter, opened: memory, a queue of work, and kernels."""

    host_visible = False
    # What kernels may count on; the code generator makes it of what the device has.
    compute_capability = (8, 0)

    def __init__(self, adapter: Adapter, ordinal: int) -> None:
        self.adapter, self.ordinal = adapter, ordinal
        self.emulated = adapter.provider.emulated
        name = f"metal:{ordinal}" if ordinal else "metal"
        # Whatever names the device, a trace or an error, says what it is.
        self.name = f"{name} ({LABEL})" if self.emulated else name
        self.limits = _limits(adapter)
        self.reporting: weakref.WeakSet[MetalKernel] = weakref.WeakSet()
        self.unread: set[MetalKernel] = set()
        """Kernels that may have told something that is not read yet."""
        self._lock = threading.Lock()
        self.context = Context(adapter)
        self.pool = Pool(self.context)
        self.pipelines = Pipelines(self.context)
        self._make_recorder()
        self._streams: weakref.WeakValueDictionary[int, MetalStream] = weakref.WeakValueDictionary()
        self.default_stream = MetalStream(self, default=True)
        atexit.register(self.close)

    def _make_recorder(self) -> None:
        self.recorder = Recorder(self.context, self.pool)
        self.mover = Mover(self.pipelines, self.recorder)

    # --- code ---

    def target(self, block: BlockShape) -> Target:
        """One text for any block shape."""
        return Target("metal")

    def finish(self, artifact: Artifact) -> Artifact:
        """Metal compiles when a pipeline is made; archive.py keeps that."""
        return artifact

    def compile_ahead(self, texts: Sequence[str]) -> None:
        """Give the stand-in's compiler many texts at once, as it takes a second for any. Apple's
        gets each when it is loaded."""
        if self.emulated:
            self.adapter.provider.metal.compile_ahead(texts)

    def load(self, artifact: Artifact) -> MetalKernel:
        """Give a text to Metal's compiler."""
        self.context.enter()
        return MetalKernel(self, artifact)

    # --- memory ---

    def allocate(self, size: int) -> Buffer:
        """Device memory, of the pool."""
        block = self.allocate_block(size)
        return Buffer(block.address, size, block)

    def allocate_block(self, size: int) -> Block:
        """The same, as a block; where memory is short, what is about to be freed is waited for."""
        self.context.enter()
        if self.context.retired:
            self.recorder.collect()
        try:
            return self.pool.allocate(size)
        except DeviceError as error:
            if error.number != OUT_OF_MEMORY:
                raise
        self.recorder.wait(self.recorder.last)
        self.recorder.collect()
        self.pool.trim()
        return self.pool.allocate(size)

    def allocate_host(self, size: int, kind: HostMemory) -> Buffer:
        """Pinned memory, which copies use directly.

        Raises:
            DeviceError: NOT_SUPPORTED, mapped and managed memory: the host's address of memory is
                another one than the device's.
        """
        if kind != "pinned":
            fail(NOT_SUPPORTED, f"{kind} memory: the device {self.name} has addresses of its own")
        block = self.allocate_block(size)
        return Buffer(block.pointer, size, block)

    def register_host(self, address: int, size: int) -> None:
        """Pin memory: copies are as correct without, and no faster with it."""

    def adopt(self, address: int, size: int) -> Buffer:
        """Memory inside an array of this device; no other library allocates here."""
        return Buffer(address, size, place(self, address, size)[0])

    def memory_info(self) -> tuple[int, int]:
        """Bytes (free, in all) of what the device should have in use at most."""
        total = self.adapter.working_set
        with self.context.pool():
            used = int(self.context.device.currentAllocatedSize())
        return max(0, total - used), total

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

    def new_stream(self) -> MetalStream:
        """A stream of its own."""
        stream = MetalStream(self)
        self._streams[stream.handle] = stream
        return stream

    def stream_at(self, handle: int) -> MetalStream:
        """The stream with this number; a thread has no default stream of its own here."""
        if handle in (0, 1, 2):
            return self.default_stream
        found = self._streams.get(handle)
        if found is None:
            fail(INVALID_HANDLE, f"{handle:#x} is no stream of this device")
        return found

    def new_event(self, timing: bool = True) -> MetalEvent:
        """An event of the device's clock."""
        return MetalEvent(self, timing)

    def synchronize(self) -> None:
        """Wait for the work of all streams; raise the first error."""
        self.default_stream.drain()
        self.check()
        for stream in (self.default_stream, *tuple(self._streams.values())):
            stream.raise_error()

    def flush(self) -> None:
        """Write what kernels printed; called when work is done."""
        if not self.unread:
            return
        for kernel in tuple(self.reporting):
            if kernel.report is not None and kernel.artifact.prints:
                kernel.report.flush()

    def check(self) -> None:
        """Raise the first error that a kernel reported; called when work is done."""
        if not self.unread:
            return
        for kernel in tuple(self.reporting):
            stop: KernelStop | None = kernel.report.stop() if kernel.report is not None else None
            if stop is not None:
                raise (kernel.explain(stop) if kernel.explain else stop) from None
        if self.recorder.idle:
            self.unread.clear()

    def reset(self) -> None:
        """Wait for all work, forget what kernels raised, and give unused memory back. After a
        failure the work goes to a new queue; arrays stay, with whatever is in them."""
        with suppress(KernelStop, DeviceError):
            self.default_stream.drain()
        with self._lock:
            if self.context.fault is not None:
                self.recorder.abandon()
                self.context.fault = None
                self._make_recorder()
        for kernel in tuple(self.reporting):
            if kernel.report is not None:
                kernel.report.stop()
        self.unread.clear()
        self.recorder.collect()
        self.pool.trim()

    def close(self) -> None:
        """Wait for all work, at the end of the process."""
        if self.context.fault is None:
            with suppress(DeviceError, KernelStop):
                self.default_stream.drain()
        if self.context.fault is not None:
            self.recorder.abandon()
        self.pipelines.end()

    def activate(self) -> None:
        """Nothing: Metal has no current device."""

    def forget_thread(self) -> None:
        """Nothing: Metal keeps nothing by threads."""

    # --- facts ---

    def attributes(self) -> dict[str, int]:
        """CUDA's attributes, by what Metal tells."""
        own = {
            "INTEGRATED": int(self.adapter.unified),
            "CAN_MAP_HOST_MEMORY": 0,
            "UNIFIED_ADDRESSING": 0,
            "MANAGED_MEMORY": 0,
            "CONCURRENT_MANAGED_ACCESS": 0,
            "PAGEABLE_MEMORY_ACCESS": 0,
        }
        return attributes_of(self.limits, self.compute_capability) | own

    def describe(self) -> dict[str, object]:
        """What there is to know."""
        free, total = self.memory_info()
        system = "macOS {}.{}".format(*self.adapter.provider.macos)
        told = f"{LABEL}, for tests and trials" if self.emulated else f"Metal of {system}"
        return {
            "name": self.adapter.name,
            "metal": told,
            "memory": f"{free >> 20} of {total >> 20} MiB free",
            "uuid": f"GPU-{uuid.UUID(int=self.adapter.registry)}",
        }


def _limits(adapter: Adapter) -> Limits:
    return Limits(
        max_threads=adapter.most_threads,
        max_block=adapter.threads,
        max_shared=adapter.shared,
        max_dynamic_shared=adapter.shared,
    )
