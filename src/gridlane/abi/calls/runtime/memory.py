"""Memory of devices, of the host for copies, and of both."""

from __future__ import annotations

from gridlane.abi.calls import memory as driver
from gridlane.abi.calls.registry import implements
from gridlane.abi.state import contexts, memory
from gridlane.abi.struct import Struct


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
