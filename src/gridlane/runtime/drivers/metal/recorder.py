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
from functools import partial
from typing import Any

from gridlane.core.shader_abi import METAL_LAUNCH_BYTES
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.suballocator import Suballocation
from gridlane.runtime.drivers.metal.context import Context
from gridlane.runtime.drivers.metal.faults import explained
from gridlane.runtime.drivers.metal.memory import Residency
from gridlane.runtime.drivers.metal.moving import Mover
from gridlane.runtime.drivers.metal.pipelines import Pipeline
from gridlane.runtime.queues.host_driven_context import Ordered
from gridlane.runtime.queues.host_driven_recorder import BatchRecorder, Place
from gridlane.runtime.reporting import ReportBlock

LONGEST = 64
"""The largest number of launches in a command buffer."""
LARGEST = 1 << 16
"""Bytes of parameters beyond which a command buffer is committed."""
AT_ONCE = 4096
"""The limit of setBytes; larger parameters go through a buffer."""
_STEP = 16
_SLICE_MS = 100  # of waiting, between checks for signals of the process and for failures
_COUNTED = 2**32 - 1  # threads along an axis: Metal's 32-bit limit

# u32 base[3], u32 grid[3], u64 report, u32 bytes of dynamic shared memory: core.shader_abi.
_LAUNCH = pack.Struct("<6IQI4x")
assert _LAUNCH.size == METAL_LAUNCH_BYTES

Shape = tuple[int, int, int]


class Batch:
    """A command buffer. ``keep`` is held until it is done.

    Attributes:
        told: the version of the residency that is declared to its encoder, where there is no
            residency set.
        end: when it was done, in seconds of the host's monotonic clock; 0 before.
    """

    __slots__ = (
        "bytes",
        "command",
        "commands",
        "encoder",
        "end",
        "keep",
        "names",
        "pipeline",
        "told",
        "value",
    )

    def __init__(self, command: Any, encoder: Any, value: int) -> None:
        self.command, self.encoder, self.value = command, encoder, value
        self.commands = self.bytes = self.told = 0
        self.end = 0.0
        self.keep: list[Any] = []
        self.names: dict[str, None] = {}
        self.pipeline: Any = None


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
        self.batch: Batch | None = None

    def passed_at(self) -> float:
        """The time at which the device passed it; call it when it has."""
        return max(self.time, self.batch.end if self.batch is not None else 0.0)


class MetalRecorder(BatchRecorder[Batch]):
    """Records, commits and waits. Methods that change it hold the context's lock."""

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
        self.last = self.default_point = context.progress - 1
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

    def launch(
        self,
        stream: Ordered,
        bound: Any,
        prepared: Pipeline,
        params: bytes,
        grid: Shape,
        shared: int,
        block: ReportBlock | None,
        /,
    ) -> None:
        """Record a launch. Hot."""
        report, keep = block.address if block else 0, (bound.kernel, block)
        self._put(stream, prepared, params, grid, bound.block, shared, report, keep)

    def _put(
        self,
        stream: Ordered,
        pipeline: Pipeline,
        params: bytes,
        grid: Shape,
        block: Shape,
        shared: int = 0,
        report: int = 0,
        keep: Any = None,
    ) -> None:
        """Record a launch. Hot.

        Args:
            params: the parameter block.
            grid, block: blocks along each axis, and threads of a block.
            shared: bytes of dynamic shared memory.
            report: address of the report block, or 0.
            keep: is kept alive until the launch is done.
        """
        context = self.context
        with self.lock, context.pool():
            batch = self._room(len(params))
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
            self._dispatch(encoder, grid, block, shared, report)
            if keep is not None:
                batch.keep.append(keep)
            batch.names[pipeline.name] = None
            batch.commands += 1
            batch.bytes += len(params)
            stream.point = self.last = batch.value
            if stream.is_default:
                self.default_point = batch.value

    def _bind(self, batch: Batch, params: bytes) -> None:
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
        """Record a copy of bytes that do not overlap, by a kernel: it is in order with others, and
        accepts any address and size."""
        (arena, offset), (other, start) = target, source
        move = self._mover.launch("copy", arena.address + offset, other.address + start, size)
        self._put(stream, *move, keep=keep)

    def fill(self, stream: Ordered, target: Place, size: int, byte: int) -> None:
        """Record a fill, by a kernel."""
        self._put(stream, *self._mover.launch("fill", target[0].address + target[1], 0, size, byte))

    def new_stamp(self, owner: object) -> Stamp:
        """Storage for a time."""
        return Stamp()

    def stamp(self, stream: Ordered, stamp: Stamp) -> None:
        """Record the time when all earlier work is done."""
        stamp.batch = self.flush()
        stamp.time = time.monotonic()

    def between_ms(self, first: Stamp, second: Stamp) -> float:
        """Milliseconds from one stamp to another."""
        # The batch before the mark may have been another stream's, and continued.
        for stamp in (first, second):
            if stamp.batch is not None:
                self.wait(stamp.batch.value)
        return (second.passed_at() - first.passed_at()) * 1e3

    def _room(self, size: int) -> Batch:
        """The open batch, with room for a launch with so many bytes of parameters."""
        batch = self._open
        if batch is not None:
            if batch.commands < LONGEST and batch.bytes + size <= LARGEST:
                return batch
            self.flush()
        return self._begin()

    def _begin(self) -> Batch:
        self.context.raise_fault()  # a fault may have come since the caller entered
        self.collect()
        command = self._queue.commandBuffer()
        encoder = command.computeCommandEncoder()
        if self._fenced:  # else no encoder updates it
            encoder.waitForFence_(self._fence)
        self._open = Batch(command, encoder, self.context.progress)
        return self._open

    # --- committing and waiting ---

    def flush(self) -> Batch | None:
        """Commit the recorded work; return the last batch that is not known to be done."""
        with self.lock:
            batch = self._open
            if batch is not None:
                with self.context.pool():
                    batch.encoder.updateFence_(self._fence)
                    self._fenced = True
                    batch.encoder.endEncoding()
                    batch.command.encodeSignalEvent_value_(self._event, batch.value)
                    batch.command.commit()
                self._open = None
                self.context.progress += 1
                self._flying.append(batch)
            return self._flying[-1] if self._flying else None

    def passed(self, number: int, /) -> bool:
        """Whether a batch is done; recorded work is submitted."""
        done = super().passed(number)
        self.context.raise_fault()
        return done

    def wait(self, value: int, /) -> None:
        """Wait until a batch is done.

        Raises:
            DeviceError: a batch up to this one failed.
        """
        if value >= self.context.progress:
            self.flush()
        if not self.context.poll(partial(self.is_done, value)):
            self._block(value)
        if self.context.retired:
            self.collect()
        self.context.raise_fault()

    def is_done(self, number: int, /, ns: int = 0) -> bool:
        """Whether a committed batch is done; a query takes no time here."""
        self.collect()
        with self.lock:
            return not self._flying or self._flying[0].value > number

    def _block(self, value: int) -> None:
        """Wait for a committed batch without polling."""
        while True:
            with self.lock:
                first = self._flying[0] if self._flying else None
                # The next collector of the batch takes the command buffer out of it.
                command = first.command if first is not None else None
            if first is None or first.value > value:
                return
            self._wait_for(command, first.value)
            self.collect()

    def _wait_for(self, command: Any, value: int) -> None:
        """Wait in slices, between which Python handles signals. A failed batch may never set the
        event."""
        with self.context.pool():
            while command.status() < self._completed:
                if self._event.waitUntilSignaledValue_timeoutMS_(value, _SLICE_MS):
                    command.waitUntilCompleted()

    def _poll(self, number: int, /) -> bool:
        with self.context.pool():
            return self._flying[0].command.status() >= self._completed

    def _release(self, batch: Batch) -> None:
        """Release its resources, and note how it ended."""
        context = self.context
        with context.pool():
            if batch.command.status() != self._completed and context.fault is None:
                context.fault = explained(batch.command.error(), ", ".join(batch.names))
            batch.end = float(batch.command.GPUEndTime())
            batch.keep.clear()
            batch.command = batch.encoder = batch.pipeline = None

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
