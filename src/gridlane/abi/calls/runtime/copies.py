"""Copies of linear memory, with the kind that the program names."""

from __future__ import annotations

from gridlane.abi.calls import copies as driver
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import contexts, copying, memory, streams
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.copying import Rows
from gridlane.abi.state.streams import Stream
from gridlane.core.cuda_table import enums

INVALID_MEMCPY_DIRECTION = enums()["cudaError_t"].values["cudaErrorInvalidMemcpyDirection"]
INVALID_PITCH = enums()["cudaError_t"].values["cudaErrorInvalidPitchValue"]
_KINDS = enums()["cudaMemcpyKind"].values
DEFAULT = _KINDS["cudaMemcpyDefault"]
_SIDES: dict[int, tuple[bool | None, bool | None]] = {
    _KINDS[f"cudaMemcpy{name}"]: sides
    for name, sides in (
        ("HostToHost", (False, False)),
        ("HostToDevice", (True, False)),
        ("DeviceToHost", (False, True)),
        ("DeviceToDevice", (True, True)),
        ("Default", (None, None)),
    )
}
"""Whether the target and the source are the device's; None where the addresses tell."""


def sides(kind: int) -> tuple[bool | None, bool | None]:
    """The memory of the target and of the source by the kind of a copy.

    Raises:
        Failure: INVALID_MEMCPY_DIRECTION, there is no such kind.
    """
    sides_of_kind = _SIDES.get(kind)
    if sides_of_kind is None:
        fail(INVALID_MEMCPY_DIRECTION, f"no kind of copy has the number {kind}")
    return sides_of_kind


def check_side(address: int, size: int, expected: bool | None, context: Context) -> bool:
    """Whether bytes are the device's. Pinned memory and managed memory may be on both sides.

    Args:
        expected: the memory by the kind of the copy.

    Raises:
        Failure: INVALID_MEMCPY_DIRECTION, memory of the device is called the host's;
            INVALID_VALUE, what is called the device's is not known, as after its end, or no
            program has such bytes.
    """
    if not address or address + size > 1 << 64:
        fail(INVALID_VALUE, f"{size} bytes at {address:#x}")
    is_device = copying.side(address, size, context)
    allocation = memory.find(address, 1, context.ordinal)
    if expected and not is_device and allocation is None:
        fail(INVALID_VALUE, f"{address:#x} is not memory of the device {context.device.name}")
    if expected is not False or not is_device:
        return is_device
    if allocation is None or allocation.kind == "device":
        fail(INVALID_MEMCPY_DIRECTION, f"{address:#x} is memory of a device, not of the host")
    return allocation.kind == "managed"


def append(to: int, source: int, size: int, kind: int, stream: int) -> Stream:
    """Append a copy to a stream."""
    target, start = sides(kind)
    stream_object = streams.stream(stream)
    if not size:
        return stream_object
    end = Rows(to, check_side(to, size, target, stream_object.context))
    copying.copy(
        stream_object,
        end,
        Rows(source, check_side(source, size, start, stream_object.context)),
        size,
    )
    return stream_object


@implements("cudaMemcpyPeer")
def copy_peer(to: int, to_device: int, source: int, from_device: int, size: int) -> None:
    """Copy bytes from a device to a device."""
    target, start = (contexts.primary(each).for_runtime() for each in (to_device, from_device))
    driver.finished(driver.between(to, target.handle, source, start.handle, size, 0))


@implements("cudaMemcpyPeerAsync")
def copy_peer_async(
    to: int, to_device: int, source: int, from_device: int, size: int, stream: int
) -> None:
    """Copy bytes from a device to a device, in a stream."""
    target, start = (contexts.primary(each).for_runtime() for each in (to_device, from_device))
    driver.between(to, target.handle, source, start.handle, size, stream)
