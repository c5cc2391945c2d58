"""The base of devices whose kernels run on the host: streams, events, attributes, pinned memory."""

from __future__ import annotations

import os
import sys
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NoReturn, Self

from gridlane.core import dlpack_abi, epochs
from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import (
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_SUPPORTED,
    fail,
)
from gridlane.core.frozen import frozen
from gridlane.core.options import Target
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.host import HostResource
from gridlane.memory.resource import Buffer, HostMemory, MemoryResource
from gridlane.runtime.attributes import attributes_of
from gridlane.runtime.host_map import BUFFERS, HostMap
from gridlane.runtime.protocol import Block, Explain, Limits, Route
from gridlane.runtime.queues.host_event import HostEvent
from gridlane.runtime.queues.host_stream import (
    DefaultHostStream,
    HostStream,
    OwnHostStream,
    by_handle,
    live_streams,
    wait_for_all,
)

if TYPE_CHECKING:
    from gridlane.runtime.batches import Batch, GridLaunch


class HostDevice:
    """Base of the devices ``cpu`` and ``interp``. A subclass runs the kernels.

    Args:
        resource: the device's memory resource.

    Attributes:
        is_plain: whether C may do its work: its memory is the process's, and its kernels are
            machine code.
        shares_memory: whether the program has memory that host and kernels use at once, so that a
            kernel may wait for the host: mapped, managed, or pinned by CUDA's interface.
    """

    name: str
    ordinal = 0
    limits: Limits
    host_visible: bool
    route: Route = "inline"
    timed_by: Literal["device", "host"] = "host"
    several_buffers: bool | None = None
    is_plain = False
    shares_memory = False
    # Kernels may use all instructions of an NVIDIA device of this generation.
    compute_capability = (8, 0)

    def __init__(self, resource: MemoryResource[Buffer]) -> None:
        self.memory = DeviceMemory(resource, self, HostMap(BUFFERS))
        self._pinned = DeviceMemory(HostResource(), self, kind="pinned")
        self.default_stream = DefaultHostStream(self)
        self._of_thread = threading.local()

    # --- code ---

    def target(self, block: Block) -> Target:
        """The compilation target, named after the device; code is specific to a block shape."""
        return Target(self.name, block=block)

    # --- memory ---

    def allocate(self, size: int) -> Buffer:
        """Device memory; see Device."""
        return self.memory.allocate(size)

    def allocate_host(self, size: int, kind: HostMemory) -> Buffer:
        """Allocate pinned memory, which is ordinary memory here; mapped and managed memory is the
        device's own if the device uses host memory.

        Raises:
            DeviceError: NOT_SUPPORTED, the device's memory is separate from the host's.
        """
        if kind == "pinned":
            return self._pinned.allocate(size)
        if not self.host_visible:
            fail(NOT_SUPPORTED, f"{kind} memory: the device {self.name} has memory of its own")
        self.note_shared()
        return self.allocate(size)

    def note_shared(self) -> None:
        """Note that the program has memory which the host uses while kernels run."""
        if self.is_plain and not self.shares_memory:
            self.shares_memory = True
            epochs.code.changed()

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the device; the bytes may overlap."""
        raise NotImplementedError

    def upload(self, target: int, source: memoryview) -> None:
        """Copy host bytes to the device."""
        raise NotImplementedError

    def download(self, target: memoryview, source: int) -> None:
        """Copy device bytes to the host."""
        raise NotImplementedError

    def fill(self, target: int, byte: int, size: int) -> None:
        """Set bytes."""
        raise NotImplementedError

    def register_host(self, address: int, size: int) -> Buffer | None:
        """Note that the host shares the memory; copies need no pinning, which makes none faster."""
        self.note_shared()
        return None

    def adopt(self, address: int, size: int) -> Buffer:
        """Refuse foreign memory: no other library allocates on this device."""
        fail(
            INVALID_VALUE,
            f"{size} bytes at {address:#x} are not in an array of the device {self.name!r}",
            f"copy the data to the device {self.name!r} with cuda.to_device",
        )

    def reaches(self, other: object, address: int) -> bool:
        """Return False: memory of another device is out of bounds here."""
        return False

    def dlpack_device(self, address: int) -> tuple[int, int] | None:
        """DLPack's host memory if the device uses it; else None, as DLPack has no kind for it."""
        return (dlpack_abi.CPU, 0) if self.host_visible else None

    def memory_info(self) -> tuple[int, int]:
        """Bytes (free, total) of the machine's memory, as the device has no other."""
        page, total = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
        return os.sysconf("SC_AVPHYS_PAGES") * page, total * page

    # --- queues ---

    def batch(self, launches: Sequence[GridLaunch]) -> Batch | None:
        """Launches that are made together; None where each is made alone."""
        return None

    def new_stream(self) -> OwnHostStream:
        """Create a stream with a thread of its own."""
        return OwnHostStream(self)

    def stream_at(self, handle: int) -> HostStream:
        """The stream with this number. CUDA's 2 is the calling thread's default stream, which is in
        order with the default stream alone."""
        if handle in (0, 1):
            return self.default_stream
        if handle == 2:
            return self._stream_of_thread()
        host_stream = by_handle(handle)
        if host_stream is None:
            fail(INVALID_HANDLE, f"{handle:#x} is no stream of this device")
        return host_stream

    def _stream_of_thread(self) -> OwnHostStream:
        own: OwnHostStream | None = getattr(self._of_thread, "stream", None)
        if own is None:
            own = self._of_thread.stream = self.new_stream()
        return own

    def stop_thread(self, thread: int, wish: bool) -> None:
        """Request that the launch of a thread ends early, or withdraw the request."""
        raise NotImplementedError

    def new_event(self, timing: bool = True) -> HostEvent:
        """Create an event on the host's clock."""
        return HostEvent(timing)

    def synchronize(self, owner: object = None) -> None:
        """Wait for all streams; raise the first error, but none of a stream of another owner's."""
        wait_for_all()
        self.default_stream.raise_error()
        for each in live_streams():
            others = owner is not None and each.queue.owner not in (None, owner)
            if each.device is self and not others:
                each.synchronize()

    def reset(self) -> None:
        """Wait for all work. Arrays free their own memory."""
        self.synchronize()

    def forget_thread(self) -> None:
        """Do nothing: host threads need no context."""

    def activate(self) -> None:
        """Do nothing: host threads need no context."""

    # --- facts ---

    def attributes(self) -> dict[str, int]:
        """The CUDA attributes of a device of this generation."""
        shares = sys.platform == "linux" and hasattr(self, "export_memory")
        facts = attributes_of(self.limits, self.compute_capability)
        return facts | {"IPC_EVENT_SUPPORTED": int(shares), "CLUSTER_LAUNCH": 1}


def note_shared(device: object) -> None:
    """Note that a program has memory which the host uses while kernels of a device run."""
    if isinstance(device, HostDevice):
        device.note_shared()


def shares_memory(device: object) -> bool:
    """Whether a program has memory that the host uses while kernels of a device run."""
    return isinstance(device, HostDevice) and device.shares_memory


def machine_uuid() -> str:
    """The UUID of a device of this machine; it differs between machines."""
    digits = f"{uuid.getnode():032x}"
    parts = digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]
    return "GPU-" + "-".join(parts)


@frozen
class MachineCode:
    """How C launches a kernel.

    Attributes:
        launch: the address of a function: of the next, the parameter block, the grid's x, y and z,
            bytes of dynamic shared memory, and a report of 40 bytes; 0 is success.
        plan: the address of its first argument.
        fail: raises the error of another number: of that, the report's address, the grid's x and y.
    """

    launch: int
    plan: int
    fail: Callable[[int, int, int, int], NoReturn]


class HostKernel:
    """Base of the kernels of host devices, whose code is specific to a block shape."""

    artifact: Artifact

    @property
    def machine_code(self) -> MachineCode | None:
        """How C launches the kernel, if it can."""
        return None

    @property
    def quick(self) -> tuple[int, int] | None:
        """The addresses of ``machine_code``, by which streams launch the kernel without Python;
        None also while launches are observed."""
        return None

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self.explain: Explain | None = None

    def bind(self, block: Block) -> Self:
        """Return the kernel itself."""
        assert self.artifact.block in (None, block), "compiled for another block shape"
        return self

    def figures(self) -> None:
        """Return None: code generation counts no registers."""

    def occupancy(self, threads: int, shared: int = 0) -> int:
        """Return 1: a worker runs one block at a time."""
        return 1
