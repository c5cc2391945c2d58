"""Kernels that launch kernels (dynamic parallelism), on devices of the host.

A launch in a kernel is a record in memory that the kernel gets (core/launch_queue.py). When its
grid is done the records run, each with all that it launches itself before the next one; those of
``cudaStreamTailLaunch`` are the last. CUDA allows that order: a grid cannot wait for its launches.
"""

from __future__ import annotations

import struct
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from gridlane.core.artifact import Artifact, ParamSlot
from gridlane.core.errors import KernelError, LaunchError, PtxError, TargetError
from gridlane.core.frozen import frozen
from gridlane.core.launch_queue import (
    COUNT,
    HEADER,
    ORDER,
    RECORD,
    TAIL_STREAM,
    Kind,
)
from gridlane.launch.dimensions import Dim3
from gridlane.launch.kernel import Kernel
from gridlane.launch.plan import Plan
from gridlane.memory.resource import Buffer
from gridlane.runtime.protocol import BoundKernel, Device, Explain, LoadedKernel


class Child(Protocol):
    """The interface of a kernel that is launched: ``modules.kernel.ModuleKernel``."""

    @property
    def name(self) -> str:
        """Its name in the PTX."""
        ...

    def plan(self, block: Dim3, device: Device) -> tuple[Kernel, Plan]:
        """The kernel by its way to a device, and its plan for blocks of a shape."""
        ...

    def packed(self, plan: Plan, block: bytes) -> tuple[bytes, Any]:
        """The parameter block of the code, and what the launch keeps alive."""
        ...


KernelAt = Callable[[int], Child]
"""The kernel of the module at an address.

Raises:
    KernelError: there is none.
"""
_BYTES = 4 << 20
"""Bytes of the memory for the launches of a grid."""
_WORDS = struct.Struct("<16I")
_FIELDS = struct.Struct("<IIQ3I3IIIQQ")
_lock = threading.Lock()


@frozen
class Record:
    """A launch, copy or fill that a kernel requested.

    Attributes:
        order: its place among those of its grid.
        target: the kernel's address, or that of the memory written.
        value: the byte of a fill; ``size``: the bytes of a copy or fill; ``source``: of a copy.
        params: the parameters as CUDA packs them, and bytes behind them.
    """

    order: int
    kind: Kind
    target: int
    grid: Dim3
    block: Dim3
    shared: int
    value: int
    stream: int
    size: int
    params: bytes

    @property
    def source(self) -> int:
        """The address that a copy reads."""
        return self.grid[0] | self.grid[1] << 32


class LaunchingKernel:
    """A loaded kernel that launches kernels; see LoadedKernel.

    Args:
        slot: of the address of the memory for launches.
        stride: bytes of a record.
    """

    def __init__(
        self, device: Device, inner: LoadedKernel, slot: ParamSlot, stride: int, at: KernelAt
    ) -> None:
        self.artifact: Artifact = inner.artifact
        self.device, self.inner, self.slot, self.stride, self.at = device, inner, slot, stride, at

    def bind(self, block: Dim3) -> BoundKernel:
        """Bind the kernel to a block shape."""
        return LaunchingBound(self, self.inner.bind(block))

    def figures(self) -> Any:
        """Registers, memory and the largest block, as of any kernel of the device."""
        return self.inner.figures()

    def occupancy(self, threads: int, shared: int = 0) -> int:
        """Blocks that a multiprocessor holds, as of any kernel of the device."""
        return self.inner.occupancy(threads, shared)


class LaunchingBound:
    """A kernel that launches kernels, for blocks of a shape; see BoundKernel."""

    in_parts = True

    def __init__(self, kernel: LaunchingKernel, inner: BoundKernel) -> None:
        self.artifact, self.device = kernel.artifact, kernel.device
        self._kernel, self._inner = kernel, inner
        self.explain: Explain | None = None

    @property
    def raises(self) -> bool:
        """Whether it can stop itself; what it launches may."""
        return True

    def launch(self, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Run a grid, and all work that it and its launches request."""
        waiting = [deque(self.run(params, (gx, gy, gz), shared))]
        while waiting:
            if not waiting[-1]:
                waiting.pop()
                continue
            asked = self._execute(waiting[-1].popleft())
            if asked:
                waiting.append(deque(asked))

    def run(self, params: bytes, grid: Dim3, shared: int) -> list[Record]:
        """Run a grid; return its records, in order."""
        kernel = self._kernel
        queue = _take(self.device, kernel.stride)
        try:
            slot, address = kernel.slot, queue.address.to_bytes(8, "little")
            block = params[: slot.offset] + address + params[slot.end :]
            self._inner.explain = self.explain
            self._inner.launch(block, *grid, shared)
            return _records(self.device, queue, kernel.stride)
        finally:
            _give_back(self.device, kernel.stride, queue)

    def _execute(self, record: Record) -> list[Record]:
        """Execute a record; return the records of its own launch."""
        device = self.device
        if record.kind is Kind.COPY:
            device.copy(record.target, record.source, record.size)
            return []
        if record.kind is Kind.FILL:
            device.fill(record.target, record.value & 255, record.size)
            return []
        child = self._kernel.at(record.target)
        try:
            kernel, plan = child.plan(record.block, device)
            packed, _ = child.packed(plan, record.params)
            plan = kernel.fitting(plan, record.grid, packed)
            plan.check(child.name, record.grid, record.shared, device.default_stream)
        except (LaunchError, PtxError, TargetError) as error:
            raise KernelError(f"{self.artifact.name} launches {child.name}: {error}") from error
        bound = plan.kernel
        if isinstance(bound, LaunchingBound):
            return bound.run(packed, record.grid, record.shared)
        bound.launch(packed, *record.grid, record.shared)
        return []


def wrap(
    device: Device, loaded: LoadedKernel, slot: ParamSlot, stride: int, launcher: KernelAt
) -> LoadedKernel:
    """A loaded kernel whose launches run.

    Raises:
        TargetError: the device is none of the host's.
    """
    name = loaded.artifact.name
    if device.route != "inline":
        raise TargetError(
            f"{name} launches kernels (dynamic parallelism), which the device {device.name} does "
            "not do here: use the device cpu or interp, or launch from the host"
        )
    if loaded.artifact.params[-1] is not slot:
        raise TargetError(
            f"{name} launches kernels and has a barrier of the whole grid, which this device does "
            "in parts: launch in a kernel of its own, or from the host"
        )
    return LaunchingKernel(device, loaded, slot, stride, launcher)


# --- the memory of a grid ---


def _take(device: Device, stride: int) -> Buffer:
    """Memory for the launches of a grid, with none in it."""
    with _lock:
        free: list[Buffer] = device.memory.kept.setdefault(_key(stride), [])
        queue = free.pop() if free else None
    queue = queue or device.allocate(_BYTES)
    head = _WORDS.pack(0, 0, 0, (_BYTES - HEADER) // stride, stride, *[0] * 11)
    device.upload(queue.address, memoryview(head))
    return queue


def _give_back(device: Device, stride: int, queue: Buffer) -> None:
    with _lock:
        device.memory.kept[_key(stride)].append(queue)


def _key(stride: int) -> str:
    return f"launches of {stride} bytes"


def _records(device: Device, queue: Buffer, stride: int) -> list[Record]:
    """The records of a grid, in order, with tail launches last."""
    head = bytearray(HEADER)
    device.download(memoryview(head), queue.address)
    header_words = _WORDS.unpack(head)
    if not header_words[ORDER]:
        return []
    count = min(header_words[COUNT], (_BYTES - HEADER) // stride)
    block = bytearray(count * stride)
    device.download(memoryview(block), queue.address + HEADER)
    records = [_record(block, n * stride, stride) for n in range(count)]
    asked = [each for each in records if each.order]
    return sorted(asked, key=lambda each: (each.stream == TAIL_STREAM, each.order))


def _record(block: bytearray, start: int, stride: int) -> Record:
    order, kind, target, *rest = _FIELDS.unpack_from(block, start)
    gx, gy, gz, bx, by, bz, shared, value, stream, size = rest
    params = bytes(block[start + RECORD : start + stride])
    shape = (gx, gy, gz), (bx, by, bz)
    return Record(order, Kind(kind), target, *shape, shared, value, stream, size, params)
