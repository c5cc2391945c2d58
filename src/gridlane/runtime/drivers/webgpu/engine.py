"""A WebGPU device as the engine of a single-buffer device."""

from __future__ import annotations

import time
import weakref
from typing import Any

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import INVALID_IMAGE, OUT_OF_MEMORY, fail, no_device
from gridlane.core.shader_abi import PARAMETERS, heap_binding, located
from gridlane.runtime.driver_workarounds import shader_features
from gridlane.runtime.drivers.single_buffer.engine import Command, Dispatch, Read, Stamp, Write
from gridlane.runtime.drivers.single_buffer.recorder import ARENA
from gridlane.runtime.drivers.single_buffer.transfers import move_kernel
from gridlane.runtime.drivers.webgpu.adapters import (
    TIMESTAMPS,
    WANTED_LIMITS,
    bindings,
    facts_of,
    limits_of,
)
from gridlane.runtime.drivers.webgpu.fences import Fence
from gridlane.runtime.drivers.webgpu.wgsl_sources import MOVE, MOVE_BETWEEN, complaint
from gridlane.runtime.queues.host_driven_recorder import SLICE_NS
from gridlane.runtime.queues.reentry import left_a_handler

SLOTS = 256
"""Time stamps of a query set."""
_STAMP_BYTES = 8


class _Slot:
    """Storage for a time: the device's in a query set, or the host's.

    Attributes:
        ns: the host's time once recorded, or the device's once read.
    """

    __slots__ = ("__weakref__", "index", "ns", "queries")

    def __init__(self, queries: Any = None, index: int = 0) -> None:
        self.queries, self.index, self.ns = queries, index, 0


class WebGpuEngine:
    """An adapter, opened with its largest limits."""

    target = "webgpu"
    format = "wgsl"

    def __init__(self, adapter: Any) -> None:
        timed = TIMESTAMPS in adapter.features
        wanted = {name: adapter.limits[name] for name in WANTED_LIMITS}
        try:
            self._gpu = adapter.request_device_sync(
                required_features=[TIMESTAMPS] if timed else [], required_limits=wanted
            )
        except Exception as error:  # the library raises any exception
            no_device("webgpu", f"{adapter.info['device']} does not open ({error})")
        granted = self._gpu.limits
        self.facts = facts_of(adapter, granted, timed)
        self.features = shader_features(self.facts.name)
        self.limits = limits_of(granted, self.facts.software)
        entry = self.target, self.format, "move_bytes"
        self.move = move_kernel(*entry, MOVE)
        self.move_between = move_kernel(*entry, MOVE_BETWEEN, between=True)
        self._queue = self._gpu.queue
        self._timed = timed
        self._free: list[tuple[Any, int]] = []
        self._usage = usage = bindings().BufferUsage
        self._layouts: dict[int, tuple[Any, Any]] = {}
        """The layouts of bind groups and pipelines, by the number of memory's buffers."""
        self._groups: dict[tuple[int, ...], Any] = {}
        """Bind groups, by the numbers of memory's buffers."""
        # Each launch sees ARENA bytes from its own on, so as many follow the last launch.
        self._arena = self._gpu.create_buffer(size=2 * ARENA, usage=usage.STORAGE | usage.COPY_DST)
        self._buffers: dict[int, Any] = {}

    def resize(self, number: int, size: int) -> None:
        """Grow a buffer and keep its contents, or create or release it."""
        if not size:
            self._groups.clear()
            self._buffers.pop(number).destroy()
            return
        usage = self._usage.STORAGE | self._usage.COPY_SRC | self._usage.COPY_DST
        try:
            buffer = self._gpu.create_buffer(size=size, usage=usage)
        except Exception as error:  # the classes of its errors have no public names
            if left_a_handler(error):
                raise
            fail(OUT_OF_MEMORY, f"a buffer of {size} bytes ({' '.join(str(error).split())})")
        old, self._buffers[number] = self._buffers.get(number), buffer
        self._groups.clear()
        if old is not None:
            encoder = self._gpu.create_command_encoder()
            encoder.copy_buffer_to_buffer(old, 0, buffer, 0, old.size)
            self._queue.submit([encoder.finish()])

    def _layout(self, count: int) -> tuple[Any, Any]:
        """The layouts of a bind group and of a pipeline with so many buffers of memory."""
        if count not in self._layouts:
            stage = bindings().ShaderStage.COMPUTE
            entries = [
                {
                    "binding": n,
                    "visibility": stage,
                    "buffer": {
                        "type": "read-only-storage" if n in PARAMETERS else "storage",
                        "has_dynamic_offset": n in PARAMETERS,
                    },
                }
                for n in range(count + len(PARAMETERS))
            ]
            group = self._gpu.create_bind_group_layout(entries=entries)
            pipeline = self._gpu.create_pipeline_layout(bind_group_layouts=[group])
            self._layouts[count] = group, pipeline
        return self._layouts[count]

    def _group(self, numbers: tuple[int, ...]) -> Any:
        """The bind group of buffers of memory."""
        own = {"buffer": self._arena, "offset": 0, "size": ARENA}
        parts: dict[int, dict[str, Any]] = dict.fromkeys(PARAMETERS, own)
        for place, number in enumerate(numbers):
            buffer = self._buffers[number]
            parts[heap_binding(place)] = {"buffer": buffer, "offset": 0, "size": buffer.size}
        entries = [{"binding": n, "resource": parts[n]} for n in sorted(parts)]
        bind_group = self._gpu.create_bind_group(
            layout=self._layout(len(numbers))[0], entries=entries
        )
        self._groups[numbers] = bind_group
        return bind_group

    def program(self, artifact: Artifact, dynamic_words: int) -> Any:
        """Create a compute pipeline."""
        text = artifact.code.decode()
        try:
            module = self._gpu.create_shader_module(code=text)
            stage: dict[str, Any] = {"module": module, "entry_point": artifact.entry}
            if artifact.uses_dynamic_shared:
                stage["constants"] = {"dynamic_words": dynamic_words}
            layout = self._layout(artifact.memory_bindings)[1]
            return self._gpu.create_compute_pipeline(layout=layout, compute=stage)
        except Exception as error:  # GPUValidationError and others, depending on wgpu's version
            if left_a_handler(error):
                raise
            fail(INVALID_IMAGE, f"kernel {artifact.name}: {complaint(text, str(error))}")

    # --- work ---

    def submit(self, commands: list[Command], arena: memoryview) -> None:
        """Encode commands, as many in one pass as possible, and submit them. Hot."""
        if len(arena):
            self._queue.write_buffer(self._arena, 0, arena)
        encoder: Any = None
        within: Any = None
        program: Any = None
        buffers: Any = None
        group: Any = None
        for command in commands:
            if isinstance(command, Dispatch):
                if within is None:
                    encoder = encoder or self._gpu.create_command_encoder()
                    within, program = encoder.begin_compute_pass(), None
                    # Dispatches of a pass see the writes of earlier ones.
                if command.program is not program:
                    program = command.program
                    within.set_pipeline(program)
                if command.buffers is not buffers:
                    buffers = command.buffers
                    group = self._groups.get(buffers) or self._group(buffers)
                within.set_bind_group(0, group, (command.params, command.launch))
                within.dispatch_workgroups(command.x, command.y, command.z)
                continue
            if within is not None:
                within.end()
                within = None
            if isinstance(command, Stamp) and self._timed:
                encoder = encoder or self._gpu.create_command_encoder()
                self._stamp(encoder, command.slot)
                continue
            if encoder is not None:
                self._queue.submit([encoder.finish()])
                encoder = None
            self._other(command)
        if within is not None:
            within.end()
        if encoder is not None:
            self._queue.submit([encoder.finish()])

    def _other(self, command: Command) -> None:
        """Do a command that is not encoded, after the submitted work."""
        if isinstance(command, Write):
            number, offset = located(command.target)
            self._queue.write_buffer(self._buffers[number], offset, command.source)
        elif isinstance(command, Read):
            number, offset = located(command.source)
            buffer = self._queue.read_buffer(self._buffers[number], offset, command.size)
            end = command.skip + len(command.target)
            command.target[:] = buffer[command.skip : end]
        elif isinstance(command, Stamp):
            fence = self.fence()
            while not fence.poll(SLICE_NS):
                pass
            command.slot.ns = time.perf_counter_ns()

    def fence(self) -> Fence:
        """A point after the work so far."""
        return Fence(self._gpu, self._queue)

    def poll(self, fence: Fence, ns: int) -> bool:
        """Whether the work before it is done."""
        return fence.poll(ns)

    # --- time ---

    def new_stamp(self) -> _Slot:
        """Reserve a place in a query set."""
        if not self._timed:
            return _Slot()
        if not self._free:
            queries = self._gpu.create_query_set(type="timestamp", count=SLOTS)
            self._free = [(queries, n) for n in range(SLOTS)]
        queries, index = place = self._free.pop()
        slot = _Slot(queries, index)
        weakref.finalize(slot, self._free.append, place).atexit = False
        return slot

    def _stamp(self, encoder: Any, slot: _Slot) -> None:
        """Encode an empty pass, which records the time at its end."""
        writes = {"query_set": slot.queries, "end_of_pass_write_index": slot.index}
        encoder.begin_compute_pass(timestamp_writes=writes).end()

    def nanoseconds(self, stamp: _Slot) -> int:
        """The recorded time, in the device's ticks."""
        if stamp.queries is None or stamp.ns:
            return stamp.ns
        usage = self._usage.QUERY_RESOLVE | self._usage.COPY_SRC
        result = self._gpu.create_buffer(size=_STAMP_BYTES, usage=usage)
        encoder = self._gpu.create_command_encoder()
        encoder.resolve_query_set(stamp.queries, stamp.index, 1, result, 0)
        self._queue.submit([encoder.finish()])
        ticks = int.from_bytes(self._queue.read_buffer(result), "little")
        stamp.ns = int(ticks * self._period())
        return stamp.ns

    def _period(self) -> float:
        native = bindings().backends.wgpu_native
        return native.lib.wgpuQueueGetTimestampPeriod(self._queue._internal)

    def end(self) -> None:
        """Destroy the buffers and the device, which ends the library's thread that polls it; the
        rest is released with its objects."""
        for buffer in (*self._buffers.values(), self._arena):
            buffer.destroy()
        self._gpu.destroy()
