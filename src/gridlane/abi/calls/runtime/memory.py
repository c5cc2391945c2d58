"""Memory of devices, of the host for copies, and of both."""

from __future__ import annotations

from gridlane.abi.calls import memory as driver
from gridlane.abi.calls.registry import implements
from gridlane.abi.state import contexts, memory
from gridlane.abi.struct import Struct


@implements("cudaMalloc")
def allocate(size: int) -> int:
    """Memory of the thread's device; null for no bytes."""
    return memory.allocate(contexts.current(), size).address if size else 0


@implements("cudaMallocHost")
def allocate_host(size: int) -> int:
    """Memory of the host for copies; null for no bytes."""
    return driver.host_allocate_plain(size) if size else 0


@implements("cudaHostAlloc")
def allocate_host_with_flags(size: int, flags: int) -> int:
    """Memory of the host for copies; null for no bytes."""
    return driver.host_memory(size, flags) if size else 0


def allocate_rows(width: int, height: int) -> tuple[int, int]:
    """Memory for rows: its address, null for no bytes, and bytes from row to row."""
    memory.check_size(width)
    pitch = -(-width // driver.PITCH) * driver.PITCH
    if not pitch or not height:
        return 0, pitch
    return memory.allocate(contexts.current(), pitch * height).address, pitch


@implements("cudaMalloc3D")
def allocate_3d(extent: Struct) -> Struct:
    """Memory for planes of rows; its address is null for no bytes."""
    struct = Struct("cudaPitchedPtr")
    struct.ptr, struct.pitch = allocate_rows(extent.width, extent.height * extent.depth)
    struct.xsize, struct.ysize = extent.width, extent.height
    return struct
