"""Base of devices whose kernels run on the host: streams, events, attributes, pinned memory."""

from __future__ import annotations

import os
import uuid
from typing import Any

from gridlane.core import dlpack_abi
from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.core.options import Target
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.host import HostResource
from gridlane.memory.resource import Buffer, HostMemory, MemoryResource
from gridlane.runtime.event import Event
from gridlane.runtime.protocol import Block, Limits, Route
from gridlane.runtime.stream import (
    DefaultStream,
    Stream,
    by_handle,
    live_streams,
)
from gridlane.runtime.stream_queue import wait_for_streams

_FIXED = {
    "INTEGRATED": 1,
    "CAN_MAP_HOST_MEMORY": 1,
    "UNIFIED_ADDRESSING": 1,
    "MANAGED_MEMORY": 1,
    "CONCURRENT_MANAGED_ACCESS": 1,
    "PAGEABLE_MEMORY_ACCESS": 1,
    "CONCURRENT_KERNELS": 1,
    "ASYNC_ENGINE_COUNT": 1,
    "COOPERATIVE_LAUNCH": 0,
    "KERNEL_EXEC_TIMEOUT": 0,
    "TCC_DRIVER": 0,
    "ECC_ENABLED": 0,
    "COMPUTE_MODE": 0,
    "TOTAL_CONSTANT_MEMORY": 64 * 1024,
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": 2,
    "GLOBAL_L1_CACHE_SUPPORTED": 1,
    "LOCAL_L1_CACHE_SUPPORTED": 1,
    "MAX_REGISTERS_PER_BLOCK": 65536,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "PCI_BUS_ID": 0,
    "PCI_DEVICE_ID": 0,
    "PCI_DOMAIN_ID": 0,
}


class HostDevice:
    """Base of the devices ``cpu`` and ``interp``. A subclass has the kernels.

    Args:
        resource: where the device's memory comes from.
    """

    name: str
    ordinal = 0
    limits: Limits
    host_visible: bool
    route: Route = "inline"
    # What kernels may count on: the instructions of a device of this generation are all here.
    compute_capability = (8, 0)

    def __init__(self, resource: MemoryResource[Buffer]) -> None:
        self.memory = DeviceMemory(resource, self)
        self._pinned = DeviceMemory(HostResource(), self)
        self.default_stream = DefaultStream(self)  # type: ignore[arg-type]  # a subclass is one

    # --- code ---

    def target(self, block: Block) -> Target:
        """The device's own name is its target's; code is made for one block shape."""
        return Target(self.name, block=block)

    def finish(self, artifact: Artifact) -> Artifact:
        """Nothing is left to do."""
        return artifact

    # --- memory ---

    def allocate(self, size: int) -> Buffer:
        """Device memory; see Device."""
        return self.memory.allocate(size)

    def allocate_host(self, size: int, kind: HostMemory) -> Buffer:
        """Pinned memory is any memory here; mapped and managed memory is the device's own where
        that is the host's.

        Raises:
            DeviceError: NOT_SUPPORTED, the device's memory is apart from the host's.
        """
        if kind == "pinned":
            return self._pinned.allocate(size)
        if not self.host_visible:
            fail(NOT_SUPPORTED, f"{kind} memory: the device {self.name} has memory of its own")
        return self.allocate(size)

    def register_host(self, address: int, size: int) -> None:
        """Pin memory: copies are as correct without, and no faster with it."""

    def adopt(self, address: int, size: int) -> Buffer:
        """No other library allocates on this device."""
        fail(
            INVALID_VALUE,
            f"{size} bytes at {address:#x} are not in an array of the device {self.name!r}",
            f"copy the data to the device {self.name!r} with cuda.to_device",
        )

    def reaches(self, other: Any, address: int) -> bool:
        """Memory of another device is out of bounds here."""
        return False

    def dlpack_device(self, address: int) -> tuple[int, int] | None:
        """The host's memory where the device uses that; else DLPack has no kind for it."""
        return (dlpack_abi.CPU, 0) if self.host_visible else None

    def memory_info(self) -> tuple[int, int]:
        """Of the machine's memory, as the device has no other."""
        page, total = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
        return os.sysconf("SC_AVPHYS_PAGES") * page, total * page

    # --- queues ---

    def new_stream(self) -> Stream:
        """A stream with a thread of its own."""
        return Stream(self)  # type: ignore[arg-type]  # a subclass is a Device

    def stream_at(self, handle: int) -> Stream | DefaultStream:
        """The stream with this number. Work of a thread runs on the thread, so CUDA's 2, the
        thread's own default, is the default stream as well."""
        if handle in (0, 1, 2):
            return self.default_stream
        found = by_handle(handle)
        if found is None:
            fail(INVALID_HANDLE, f"{handle:#x} is no stream of this device")
        return found

    def stop_thread(self, thread: int, wish: bool) -> None:
        """Ask the launch of a thread to end early, or take that back."""
        raise NotImplementedError

    def new_event(self, timing: bool = True) -> Event:
        """An event of the host's clock."""
        return Event(timing)

    def synchronize(self) -> None:
        """Wait for all streams; raise the first error."""
        wait_for_streams()
        for each in live_streams():
            each.synchronize()

    def reset(self) -> None:
        """Wait for all work. Memory goes with the arrays that hold it."""
        self.synchronize()

    def forget_thread(self) -> None:
        """Nothing: host threads need no context."""

    def activate(self) -> None:
        """Nothing, likewise."""

    # --- facts ---

    def attributes(self) -> dict[str, int]:
        """CUDA's attributes of a device of this generation."""
        return attributes_of(self.limits, self.compute_capability)


def attributes_of(limits: Limits, compute_capability: tuple[int, int]) -> dict[str, int]:
    """CUDA's attributes of a device that is not CUDA's, by its limits."""
    sizes: dict[str, int] = {
        "WARP_SIZE": limits.warp_size,
        "MULTIPROCESSOR_COUNT": limits.multiprocessors,
        "MAX_THREADS_PER_BLOCK": limits.max_threads,
        "MAX_SHARED_MEMORY_PER_BLOCK": limits.max_shared,
        "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": limits.max_dynamic_shared,
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": limits.max_dynamic_shared,
        "COMPUTE_CAPABILITY_MAJOR": compute_capability[0],
        "COMPUTE_CAPABILITY_MINOR": compute_capability[1],
    }
    for axis, block, grid in zip("XYZ", limits.max_block, limits.max_grid):
        sizes[f"MAX_BLOCK_DIM_{axis}"] = block
        sizes[f"MAX_GRID_DIM_{axis}"] = grid
    return _FIXED | sizes


def machine_uuid() -> str:
    """A name of a device of this machine that differs between machines."""
    digits = f"{uuid.getnode():032x}"
    parts = digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]
    return "GPU-" + "-".join(parts)


class HostKernel:
    """Base of the kernels of these devices, which are made for one block shape."""

    artifact: Artifact

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self.explain: Any = None

    def bind(self, block: Block) -> Any:
        """The kernel itself."""
        assert self.artifact.block in (None, block), "compiled for another block shape"
        return self

    def figures(self) -> None:
        """Code generation counts no registers."""

    def occupancy(self, threads: int, shared: int = 0) -> int:
        """A worker runs one block at a time."""
        return 1
