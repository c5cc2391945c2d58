"""The work of all streams, recorded into command buffers of one queue, in one order.

A command buffer has one encoder, whose launches run one after the other. Encoders of a queue may
overlap, so each waits for the fence that its predecessor updates: Metal does not track the buffers,
which kernels reach by pointers.

A command buffer is committed when a thread waits or when it is full. At its end it sets a shared
event to its number; the host waits for that.
"""

from __future__ import annotations

import struct as pack
import time
from typing import Any

from gridlane.core.errors import DeviceError
from gridlane.core.shader_abi import METAL_LAUNCH_BYTES
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.suballocator import Suballocation
from gridlane.runtime.drivers.metal.context import Context
from gridlane.runtime.drivers.metal.faults import explained
from gridlane.runtime.drivers.metal.memory import Residency
from gridlane.runtime.drivers.metal.moving import Mover
from gridlane.runtime.drivers.metal.pipelines import Pipeline, Prepared
from gridlane.runtime.queues.host_driven_context import Ordered
from gridlane.runtime.queues.host_driven_recorder import Batch, Place, Recorder
from gridlane.runtime.reporting import ReportBlock

AT_ONCE = 4096
"""The limit of setBytes; larger parameters go through a buffer."""
_STEP = 16
_COUNTED = 2**32 - 1  # threads along an axis: Metal's 32-bit limit

# u32 base[3], u32 grid[3], u64 report, u32 bytes of dynamic shared memory: core.shader_abi.
_LAUNCH = pack.Struct("<6IQI4x")
assert _LAUNCH.size == METAL_LAUNCH_BYTES

Shape = tuple[int, int, int]


class MetalBatch(Batch):
    """A command buffer.

    Attributes:
        told: the version of the residency that is declared to its encoder, where there is no
            residency set.
        names: the kernels in it.
        end: when it was done, in seconds of the host's monotonic clock; 0 before.
    """

    __slots__ = ("command", "encoder", "end", "names", "pipeline", "told")

    def __init__(self, command: Any, encoder: Any) -> None:
        super().__init__()
        self.command, self.encoder = command, encoder
        self.told = 0
        self.end = 0.0
        self.names: dict[str, None] = {}
        self.pipeline: Pipeline | None = None


class Stamp:
    """A time, on the clock that counts since boot: mach_absolute_time, which is Python's
    ``time.monotonic``. The device reports when each command buffer ended, so a stamp ends the open
    one.

    Attributes:
        time: of the recording, in seconds; the time of the stamp if no batch is before it.
        batch: the last one before it that was not known to be done then.
    """

    __slots__ = ("batch", "time")

    def __init__(self) -> None:
        self.time = 0.0
        self.batch: MetalBatch | None = None

    def passed_at(self) -> float:
        """The time at which the device passed it; call it when it has."""
        return max(self.time, self.batch.end if self.batch is not None else 0.0)


class MetalRecorder(Recorder[Context, MetalBatch, Place, Prepared, Stamp]):
    """Records, commits and waits. Methods that change it hold the context's lock."""

    room = 1 << 16

    def __init__(
        self,
        context: Context,
        memory: DeviceMemory[Suballocation],
        residency: Residency,
        mover: Mover,
    ) -> None:
        super().__init__(context)
        self._memory, self._residency, self._mover = memory, residency, mover
        self._size = context.metal.MTLSize
        self._completed = context.metal.MTLCommandBufferStatusCompleted
        self.begin_again()

    def begin_again(self) -> None:
        """Begin with a new queue, with nothing recorded or in flight."""
        context, residency = self.context, self._residency
        self.last = self.default_point = self.done = context.progress - 1
        self._fenced = False
        self._open = None
        self._flying.clear()
        device = context.device
        with context.pool():
            self._queue = device.newCommandQueue()
            self._fence = device.newFence()
            self._event = device.newSharedEvent()
            if residency.set is not None:
                self._queue.addResidencySet_(residency.set)

    # --- recording ---

    def begin(self) -> MetalBatch:
        """A command buffer with its encoder."""
        self.collect()
        with self.context.pool():
            command = self._queue.commandBuffer()
            encoder = command.computeCommandEncoder()
            if self._fenced:  # else no encoder updates it
                encoder.waitForFence_(self._fence)
        return MetalBatch(command, encoder)

    def launch(
        self,
        stream: Ordered,
        prepared: Prepared,
        params: bytes,
        grid: Shape,
        shared: int,
        block: ReportBlock | None,
        /,
    ) -> None:
        """Record a launch. Hot."""
        pipeline, shape, keep = prepared
        context, size = self.context, len(params)
        with self.lock, context.pool():
            batch = self.ordered(stream, size)
            encoder = batch.encoder
            if batch.pipeline is not pipeline:
                encoder.setComputePipelineState_(pipeline.state)
                batch.pipeline = pipeline
            if params:
                self._bind(batch, params)
            if pipeline.uses_dynamic_shared:
                encoder.setThreadgroupMemoryLength_atIndex_(max(_STEP, _whole(shared)), 0)
            residency = self._residency
            if residency.set is None and batch.told != residency.version:
                residency.tell(encoder)
                batch.told = residency.version
            self._dispatch(encoder, grid, shape, shared, block.address if block else 0)
            batch.keep += (keep, block)
            batch.names[pipeline.name] = None
            batch.at += size

    def _bind(self, batch: MetalBatch, params: bytes) -> None:
        room = _whole(len(params))  # the size of a C struct is a multiple of its alignment
        params = params.ljust(room, b"\0")
        if room <= AT_ONCE:
            batch.encoder.setBytes_length_atIndex_(params, room, 0)
            return
        block = self._memory.allocate(room)
        block.host()[:] = params
        offset = block.arena.skip + block.offset
        batch.encoder.setBuffer_offset_atIndex_(block.arena.buffer, offset, 0)
        batch.keep.append(block)

    def _dispatch(self, encoder: Any, grid: Shape, block: Shape, shared: int, report: int) -> None:
        """Dispatch the grid, in parts if it exceeds Metal's limit on threads."""
        most = [_COUNTED // size for size in block]
        threads = self._size(*block)
        for z in range(0, grid[2], most[2]):
            for y in range(0, grid[1], most[1]):
                for x in range(0, grid[0], most[0]):
                    constants = _LAUNCH.pack(x, y, z, *grid, report, shared)
                    encoder.setBytes_length_atIndex_(constants, METAL_LAUNCH_BYTES, 1)
                    part = [min(m, g - at) for m, g, at in zip(most, grid, (x, y, z))]
                    encoder.dispatchThreadgroups_threadsPerThreadgroup_(self._size(*part), threads)

    def copy(
        self, stream: Ordered, target: Place, source: Place, size: int, keep: object = None
    ) -> None:
        """Record a copy by a kernel: it is in order with others, and accepts any address and
        size."""
        (arena, offset), (other, start) = target, source
        places = arena.address + offset, other.address + start
        self.launch(stream, *self._mover.launch("copy", *places, size, 0, keep), 0, None)

    def fill(self, stream: Ordered, target: Place, size: int, byte: int) -> None:
        """Record a fill, by a kernel."""
        address = target[0].address + target[1]
        self.launch(stream, *self._mover.launch("fill", address, 0, size, byte), 0, None)

    def new_stamp(self, owner: object) -> Stamp:
        """Storage for a time."""
        return Stamp()

    def stamp(self, stream: Ordered, stamp: Stamp) -> None:
        """Record the time when all earlier work is done."""
        self.flush()
        stamp.batch = self._flying[-1] if self._flying else None
        stamp.time = time.monotonic()

    def between_ms(self, first: Stamp, second: Stamp) -> float:
        """Milliseconds from one stamp to another."""
        # The batch before the mark may have been another stream's, and continued.
        for stamp in (first, second):
            if stamp.batch is not None:
                self.wait(stamp.batch.value)
        return (second.passed_at() - first.passed_at()) * 1e3

    # --- committing and waiting ---

    def submit(self, batch: MetalBatch) -> None:
        """Commit a command buffer."""
        batch.value = self.context.progress
        with self.context.pool():
            batch.encoder.updateFence_(self._fence)
            self._fenced = True
            batch.encoder.endEncoding()
            batch.command.encodeSignalEvent_value_(self._event, batch.value)
            batch.command.commit()
            self._open = None
            self.context.progress += 1
            self._flying += (batch,)

    def poll(self, number: int, /, ns: int = 0) -> bool:
        """Whether a batch is done, by the states of command buffers. A failed one may never set the
        event that the wait is for."""
        if self.done >= number:
            return True
        with self.lock, self.context.pool():
            flying = (each for each in self._flying if each.command.status() < self._completed)
            first = next(flying, None)
            self.done = (self.context.progress if first is None else first.value) - 1
            command: Any = None if first is None else first.command
        if self.done >= number:
            return True
        if first is not None and ns > self.spin_ns:
            with self.context.pool():
                if self._event.waitUntilSignaledValue_timeoutMS_(first.value, ns // 1_000_000):
                    command.waitUntilCompleted()
        return False

    def wait(self, number: int, /) -> None:
        """Wait until a batch is done.

        Raises:
            DeviceError: a batch up to this one failed.
        """
        super().wait(number)
        self.context.raise_fault()

    def passed(self, number: int, /) -> bool:
        """Whether a batch is done; recorded work is submitted."""
        super().passed(number)
        self.collect()
        self.context.raise_fault()
        return self.done >= number

    def release(self, batch: MetalBatch) -> None:
        """Release its resources, and note how it ended."""
        context, command = self.context, batch.command
        with context.pool():
            if command.status() != self._completed and context.fault is None:
                context.fault = self.fault(batch)
            batch.end = float(command.GPUEndTime())
        batch.keep.clear()
        batch.command = batch.encoder = batch.pipeline = None

    def fault(self, cause: MetalBatch) -> DeviceError:
        """The exception of a command buffer's error."""
        return explained(cause.command.error(), ", ".join(cause.names), self.context.device_name)

    def abandon(self) -> None:
        """Drop recorded work after a failure, and wait for committed work: an encoder must have
        ended before it is released."""
        with self.lock, self.context.pool():
            batch, self._open = self._open, None
            if batch is not None:
                batch.encoder.endEncoding()
            for each in self._flying:
                each.command.waitUntilCompleted()
            self.collect()


def _whole(size: int) -> int:
    """Round up to a multiple of 16 bytes."""
    return -(-size // _STEP) * _STEP
