"""The base of devices whose shaders have no pointers: memory is one buffer, or several."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import NOT_SUPPORTED, KernelStop, fail
from gridlane.core.errors import DeviceError
from gridlane.core.options import Target
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.host import HostResource
from gridlane.memory.resource import Buffer, HostMemory
from gridlane.runtime.drivers.single_buffer.arena import FirstBuffer, GrowingArena
from gridlane.runtime.drivers.single_buffer.engine import Engine
from gridlane.runtime.drivers.single_buffer.kernel import SingleBufferKernel
from gridlane.runtime.drivers.single_buffer.recorder import WordRecorder
from gridlane.runtime.drivers.single_buffer.transfers import WordTransfers
from gridlane.runtime.host_driven_device import HostDrivenDevice
from gridlane.runtime.protocol import Block
from gridlane.runtime.queues.host_driven_context import HostDrivenContext
from gridlane.runtime.reporting import Unreads


class SingleBufferDevice(HostDrivenDevice[HostDrivenContext, WordRecorder]):
    """A device of a shader library: buffers, a queue, and kernels.

    Args:
        open_engine: opens the library's device; called again after the device was lost.
        dlpack_kind: see ``HostDrivenDevice``.
    """

    def __init__(
        self,
        family: str,
        ordinal: int,
        open_engine: Callable[[], Engine],
        dlpack_kind: int | None = None,
    ) -> None:
        self.ordinal, self.dlpack_kind = ordinal, dlpack_kind
        self.name = f"{family}:{ordinal}" if ordinal else family
        self._open_engine = open_engine
        self._lock = threading.RLock()
        self._closed = False
        self._pinned = DeviceMemory(HostResource(), self, kind="pinned")
        self._open()
        self.memory = DeviceMemory(self.arena, self)
        self._end_with_process()

    def _open(self) -> None:
        engine = self.engine = self._open_engine()
        self.limits = engine.limits
        self.timed_by = "host" if engine.facts.clock == "host" else "device"
        recorder = self.recorder = WordRecorder(engine, self._move_program)
        self.context = recorder.context
        self.several_buffers = False
        self.arena = GrowingArena(recorder, self._note_several)
        self.report_memory = DeviceMemory(FirstBuffer(self.arena), self, kind="reports")
        self.transfers = WordTransfers(self)
        self._begin_streams()
        self.unread = Unreads(self.owners, self._is_past, recorder.lock)
        self.move = SingleBufferKernel(self, engine.move)
        self._between: SingleBufferKernel | None = None

    def _note_several(self) -> None:
        self.several_buffers = self.recorder.several_buffers = True

    # --- code ---

    def target(self, block: Block) -> Target:
        """The compilation target; the text contains the block shape."""
        return Target(self.engine.target, block=block, features=self.engine.features)

    def load(self, artifact: Artifact) -> SingleBufferKernel:
        """Compile a text with the driver's compiler."""
        self.context.enter()
        return SingleBufferKernel(self, artifact)

    def _move_program(self, between: bool) -> Any:
        if not between:
            return self.move.program(0)
        if self._between is None:  # few programs have such copies
            self._between = SingleBufferKernel(self, self.engine.move_between)
        return self._between.program(0)

    # --- memory ---

    def allocate(self, size: int) -> Buffer:
        """Suballocate bytes of a buffer, which grows on demand."""
        self.context.enter()
        return self.memory.allocate(size)

    def allocate_host(self, size: int, kind: HostMemory) -> Buffer:
        """Allocate pinned memory, which is ordinary host memory.

        Raises:
            DeviceError: NOT_SUPPORTED for memory whose address kernels use.
        """
        if kind != "pinned":
            fail(NOT_SUPPORTED, f"{kind} memory: the device {self.name} has memory of its own")
        return self._pinned.allocate(size)

    def adopt(self, address: int, size: int) -> Buffer:
        """Borrow memory inside an array of this device; no other library allocates here."""
        self.transfers.place(address, size)
        return Buffer(address, size)

    def memory_info(self) -> tuple[int, int]:
        """Bytes (free, total) of the buffers so far at their largest size."""
        return self.arena.available(), self.arena.total()

    def has_buffer(self, number: int) -> bool:
        """Whether the memory has a buffer with this number."""
        segments = self.arena.segments
        return number < len(segments) and segments[number].size > 0

    def has_several_buffers(self) -> bool:
        """Whether an array lies in a further buffer; those without arrays are released."""
        if any(segment.size for segment in self.arena.segments[1:]):
            self.arena.trim()
        return any(segment.size for segment in self.arena.segments[1:])

    # --- queues ---

    def flush(self) -> None:
        """Read the reports of kernels, and write their printed lines; called when work is done."""
        if self.unread.launches:
            with self.recorder.lock:
                for block, launch in tuple(self.unread.launches.items()):
                    block.collect(launch)

    def reset(self) -> None:
        """Wait for all work and drop the errors of kernels; reopen a lost device. Arrays from
        before the loss are lost."""
        if self.ended:
            return
        if self.context.fault is None:
            with suppress(KernelStop):
                self.default_stream.drain()
        with self._lock:
            if self.context.fault is not None:
                with suppress(Exception):  # the state of a lost device is unknown
                    self.engine.end()
                self._open()
                self.memory = self.memory.renewed(self.arena)
                return
        self.unread.forget()

    def close(self) -> None:
        """Wait for all work and close the device."""
        if self._closed or self.context.fault is not None:
            return
        with suppress(DeviceError, KernelStop):
            self.default_stream.drain()
        self._give_back(True)

    def _give_back(self, everything: bool) -> None:
        if self._closed or not everything:
            return
        self._closed = True
        with suppress(DeviceError), self.context.lock:
            self.engine.end()

    # --- facts ---

    def attributes(self) -> dict[str, int]:
        """The CUDA attributes, from the library's properties."""
        return self._attributes(self.engine.facts.kind != "discrete")

    def describe(self) -> dict[str, object]:
        """Facts for ``gridlane devices``."""
        facts = self.engine.facts
        free, total = self.memory_info()
        identity = f"{uuid.getnode()} {self.name} {facts.name}"
        return {
            "name": facts.name,
            "kind": facts.kind,
            "driver": facts.driver,
            "api": facts.api,
            "memory": f"{free >> 20} of {total >> 20} MiB free ({facts.why})",
            "clock": f"events have the {facts.clock}'s time",
            "uuid": f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, identity)}",
        }
