"""A WebGPU device as the engine of a single-buffer device."""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from typing import Any

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import INVALID_IMAGE, OUT_OF_MEMORY, fail, no_device
from gridlane.runtime.driver_workarounds import shader_features
from gridlane.runtime.drivers.single_buffer.engine import Command, Dispatch, Read, Stamp, Write
from gridlane.runtime.drivers.single_buffer.queue import ARENA
from gridlane.runtime.drivers.single_buffer.transfers import move_kernel
from gridlane.runtime.drivers.webgpu.adapters import (
    TIMESTAMPS,
    WANTED_LIMITS,
    bindings,
    facts_of,
    limits_of,
)
from gridlane.runtime.drivers.webgpu.texts import MOVE, complaint
from gridlane.runtime.queues.reentry import locked_wait

SLOTS = 256
"""Time stamps of a query set."""
_KINDS = ("storage", "read-only-storage", "read-only-storage")
_STAMP_BYTES = 8


class _Slot:
    """Storage for a time: the device's in a query set, or the host's.

    Attributes:
        ns: the host's time, once recorded.
    """

    __slots__ = ("__weakref__", "index", "ns", "queries")

    def __init__(self, queries: Any = None, index: int = 0) -> None:
        self.queries, self.index, self.ns = queries, index, 0


class _Fence:
    """A point in the submitted work, at which a buffer is mapped. Only a waiting thread is
    notified, so a thread waits on behalf of callers that only ask.

    Attributes:
        reached: whether the buffer is mapped.
    """

    __slots__ = ("_lock", "_promise", "_watched", "answer", "reached")

    def __init__(self, answer: Any, promise: Any) -> None:
        self.answer, self._promise = answer, promise
        self.reached = self._watched = False
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Wait for the mapping."""
        with locked_wait(), self._lock:
            if not self.reached:
                self._promise.sync_wait()
                self.reached = True

    def passed(self) -> bool:
        """Whether it is mapped."""
        if not self.reached and not self._watched:
            self._watched = True
            threading.Thread(target=self.wait, name="gridlane-webgpu", daemon=True).start()
        return self.reached


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
        self.move = move_kernel(self.target, self.format, "move_bytes", MOVE)
        self._queue = self._gpu.queue
        self._timed = timed
        self._free: list[tuple[Any, int]] = []
        self._usage = usage = bindings().BufferUsage
        stage = bindings().ShaderStage.COMPUTE
        entries = [
            {
                "binding": n,
                "visibility": stage,
                "buffer": {"type": kind, "has_dynamic_offset": n > 0},
            }
            for n, kind in enumerate(_KINDS)
        ]
        self._layout = self._gpu.create_bind_group_layout(entries=entries)
        self._pipelines = self._gpu.create_pipeline_layout(bind_group_layouts=[self._layout])
        # Each launch sees ARENA bytes from its own on, so as many follow the last launch.
        self._arena = self._gpu.create_buffer(size=2 * ARENA, usage=usage.STORAGE | usage.COPY_DST)
        self._buffer: Any = None
        self._bound: Any = None
        self._answers: list[Any] = []
        self._fences: deque[_Fence] = deque()

    def resize(self, size: int) -> None:
        """Grow the buffer, and keep its contents."""
        usage = self._usage.STORAGE | self._usage.COPY_SRC | self._usage.COPY_DST
        try:
            made = self._gpu.create_buffer(size=size, usage=usage)
        except Exception as error:  # the classes of its errors have no public names
            fail(OUT_OF_MEMORY, f"a buffer of {size} bytes ({' '.join(str(error).split())})")
        old, self._buffer = self._buffer, made
        if old is not None:
            encoder = self._gpu.create_command_encoder()
            encoder.copy_buffer_to_buffer(old, 0, made, 0, old.size)
            self._queue.submit([encoder.finish()])
        parts = [{"buffer": made}, *({"buffer": self._arena, "size": ARENA} for _ in range(2))]
        entries = [
            {"binding": n, "resource": {"offset": 0, "size": size, **part}}
            for n, part in enumerate(parts)
        ]
        self._bound = self._gpu.create_bind_group(layout=self._layout, entries=entries)

    def program(self, artifact: Artifact, dynamic_words: int) -> Any:
        """Create a compute pipeline."""
        text = artifact.code.decode()
        try:
            module = self._gpu.create_shader_module(code=text)
            stage: dict[str, Any] = {"module": module, "entry_point": artifact.entry}
            if artifact.uses_dynamic_shared:
                stage["constants"] = {"dynamic_words": dynamic_words}
            return self._gpu.create_compute_pipeline(layout=self._pipelines, compute=stage)
        except Exception as error:  # GPUValidationError and others, depending on wgpu's version
            fail(INVALID_IMAGE, f"kernel {artifact.name}: {complaint(text, str(error))}")

    # --- work ---

    def submit(self, commands: list[Command], arena: memoryview) -> None:
        """Encode commands, as many in one pass as possible, and submit them. Hot."""
        if len(arena):
            self._queue.write_buffer(self._arena, 0, arena)
        encoder: Any = None
        within: Any = None
        program: Any = None
        for command in commands:
            if isinstance(command, Dispatch):
                if within is None:
                    encoder = encoder or self._gpu.create_command_encoder()
                    within, program = encoder.begin_compute_pass(), None
                    # Dispatches of a pass see the writes of earlier ones.
                if command.program is not program:
                    program = command.program
                    within.set_pipeline(program)
                within.set_bind_group(0, self._bound, (command.params, command.launch))
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
            self._queue.write_buffer(self._buffer, command.target, command.source)
        elif isinstance(command, Read):
            found = self._queue.read_buffer(self._buffer, command.source, command.size)
            end = command.skip + len(command.target)
            command.target[:] = found[command.skip : end]
        elif isinstance(command, Stamp):
            self.wait(self.fence())
            command.slot.ns = time.perf_counter_ns()

    def fence(self) -> Any:
        """Set a word after the work so far, and map it when that is done. wgpu-py 0.32 offers no
        other way: its on_submitted_work_done passes a callback of another type."""
        while self._fences and self._fences[0].reached:
            answer = self._fences.popleft().answer
            answer.unmap()
            self._answers.append(answer)
        answer = self._answers.pop() if self._answers else self._new_answer()
        encoder = self._gpu.create_command_encoder()
        encoder.clear_buffer(answer, 0, 4)
        self._queue.submit([encoder.finish()])
        made = _Fence(answer, answer.map_async(bindings().MapMode.READ))
        self._fences.append(made)
        return made

    def _new_answer(self) -> Any:
        return self._gpu.create_buffer(size=4, usage=self._usage.MAP_READ | self._usage.COPY_DST)

    def passed(self, fence: _Fence) -> bool:
        """Whether it is mapped."""
        return fence.passed()

    def wait(self, fence: _Fence) -> None:
        """Wait for the mapping."""
        fence.wait()

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
        if stamp.queries is None:
            return stamp.ns
        usage = self._usage.QUERY_RESOLVE | self._usage.COPY_SRC
        result = self._gpu.create_buffer(size=_STAMP_BYTES, usage=usage)
        encoder = self._gpu.create_command_encoder()
        encoder.resolve_query_set(stamp.queries, stamp.index, 1, result, 0)
        self._queue.submit([encoder.finish()])
        ticks = int.from_bytes(self._queue.read_buffer(result), "little")
        return int(ticks * self._period())

    def _period(self) -> float:
        native = bindings().backends.wgpu_native
        return native.lib.wgpuQueueGetTimestampPeriod(self._queue._internal)

    def end(self) -> None:
        """Destroy the buffers; the rest is released with its objects."""
        for buffer in (self._buffer, self._arena):
            if buffer is not None:
                buffer.destroy()
