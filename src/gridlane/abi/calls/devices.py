"""Devices: their number, names, attributes and memory."""

from __future__ import annotations

from gridlane.abi import raw
from gridlane.abi.calls.own_attributes import own_attributes
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import devices
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums
from gridlane.core.device_errors import handled
from gridlane.core.errors import GridlaneError

_PREFIX = "CU_DEVICE_ATTRIBUTE_"


def title(ordinal: int) -> bytes:
    """The name of a device that people read."""
    device = devices.device(ordinal)
    facts = device.describe()
    fact = facts.get("name") or facts.get("processor") or ""
    return f"gridlane {device.name}{f' ({fact})' if fact else ''}".encode("ascii", "replace")


def cut(text: bytes, room: int) -> bytes:
    """A text with a NUL behind it, in so many bytes."""
    if room <= 0:
        fail(INVALID_VALUE, f"{room} bytes for a text")
    return text[: room - 1] + b"\0"


@implements("cuDeviceGetUuid_v2")
def get_uuid(ordinal: int) -> Struct:
    """The identity of a device, which differs between machines."""
    struct = Struct("CUuuid")
    struct.bytes = devices.identity(ordinal)
    return struct


@implements("cuDeviceTotalMem_v2")
def total_memory(ordinal: int) -> int:
    """Bytes of its memory."""
    return devices.device(ordinal).memory_info()[1]


def attributes(ordinal: int) -> dict[int, int]:
    """The attributes of a device by their numbers. Each that CUDA documents has a value: 0, which
    means absent, if the device does not report it."""
    device = devices.device(ordinal)
    known = device.attributes() | own_attributes(device)
    values: dict[int, int] = {}
    for long, number in enums()["CUdevice_attribute"].values.items():
        short = long.removeprefix(_PREFIX)
        if short != "MAX":
            values[number] = known.get(short, values.get(number, 0))
    return values


@implements("cuDeviceGetAttribute")
def attribute(number: int, ordinal: int) -> int:
    """One attribute."""
    value = attributes(ordinal).get(number)
    if value is None:
        fail(INVALID_VALUE, f"no attribute has the number {number}")
    return value


def place(ordinal: int) -> bytes:
    """A device's place in words."""
    known = devices.device(ordinal).attributes()
    domain, bus, slot = (known.get(f"PCI_{n}_ID", 0) for n in ("DOMAIN", "BUS", "DEVICE"))
    return f"{domain:04X}:{bus:02X}:{slot if slot or bus else ordinal:02X}.0".encode()


@implements("cuDeviceGetByPCIBusId")
def by_bus_id(text: bytes | None) -> int:
    """The device at a place."""
    if text is None:
        fail(INVALID_VALUE, "the place is a null pointer")
    wanted = text.upper() if text.count(b":") == 2 else b"0000:" + text.upper()
    for ordinal in range(devices.count()):
        if place(ordinal) in (wanted, wanted + b".0"):
            return ordinal
    fail(INVALID_DEVICE, f"no device is at {text!r}")


@implements("cuDeviceGetExecAffinitySupport")
def affinity(kind: int, ordinal: int) -> int:
    """Whether a context may have a part of the device: never."""
    devices.device(ordinal)
    if kind != enums()["CUexecAffinityType"].values["CU_EXEC_AFFINITY_TYPE_SM_COUNT"]:
        fail(INVALID_VALUE, f"no affinity has the number {kind}")
    return 0


@implements("cuDeviceGetTexture1DLinearMaxWidth")
def linear_texture(form: int, channels: int, ordinal: int) -> int:
    """The most texels of a texture of linear memory; the same for all formats."""
    if form not in enums()["CUarray_format"].values.values() or channels not in (1, 2, 4):
        fail(INVALID_VALUE, f"texels of {channels} channels with the format {form}")
    return one(ordinal, "MAXIMUM_TEXTURE1D_LINEAR_WIDTH")


@implements("cuDeviceGetProperties")
def properties(ordinal: int) -> Struct:
    """A few attributes in one structure."""
    struct = Struct("CUdevprop")
    for field, names in _PROPERTIES.items():
        values = [one(ordinal, each) for each in names.split()]
        setattr(struct, field, values if len(values) > 1 else values[0])
    return struct


_PROPERTIES = {
    "maxThreadsPerBlock": "MAX_THREADS_PER_BLOCK",
    "maxThreadsDim": "MAX_BLOCK_DIM_X MAX_BLOCK_DIM_Y MAX_BLOCK_DIM_Z",
    "maxGridSize": "MAX_GRID_DIM_X MAX_GRID_DIM_Y MAX_GRID_DIM_Z",
    "sharedMemPerBlock": "MAX_SHARED_MEMORY_PER_BLOCK",
    "totalConstantMemory": "TOTAL_CONSTANT_MEMORY",
    "SIMDWidth": "WARP_SIZE",
    "memPitch": "MAX_PITCH",
    "regsPerBlock": "MAX_REGISTERS_PER_BLOCK",
    "clockRate": "CLOCK_RATE",
    "textureAlign": "TEXTURE_ALIGNMENT",
}
"""The members of CUdevprop, with the attributes of their elements."""


def one(ordinal: int, name: str) -> int:
    """An attribute by its name."""
    return attribute(enums()["CUdevice_attribute"].values[_PREFIX + name], ordinal)


@implements("cuDeviceGetHostAtomicCapabilities")
def host_atomics(operations: int, count: int, ordinal: int) -> list[int]:
    """The atomics of a device that are atomic for the host as well: none, if the device reports
    none."""
    devices.device(ordinal)
    known = enums()["CUatomicOperation"].values.values()
    if not operations or not count:
        fail(INVALID_VALUE, f"{count} operations at {operations:#x}")
    for each in raw.numbers(operations, count):
        if each not in known:
            fail(INVALID_VALUE, f"no operation has the number {each}")
    if one(ordinal, "HOST_NATIVE_ATOMIC_SUPPORTED"):
        fail(NOT_SUPPORTED, "the driver of the device does not tell which atomics the host sees")
    return [0] * count


def opens(ordinal: int) -> bool:
    """Whether a device can be used."""
    try:
        devices.device(ordinal)
    except GridlaneError as error:
        handled(error)
        return False
    return True
