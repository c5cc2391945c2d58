"""Devices of the runtime: their number, attributes and properties."""

from __future__ import annotations

from gridlane.abi.calls import devices as driver
from gridlane.abi.calls.registry import implements
from gridlane.abi.calls.runtime.properties import FIELDS, OLD_FIELDS
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import devices
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums
from gridlane.core.cuda_table.headers import old_members

_ATTRIBUTES = enums()["CUdevice_attribute"].values


@implements("cudaDeviceGetTexture1DLinearMaxWidth")
def linear_texture(form: Struct | None, ordinal: int) -> int:
    """The most texels of a texture of linear memory; the same for all formats."""
    if form is None or form.x <= 0:
        fail(INVALID_VALUE, "no format of texels")
    return driver.one(ordinal, "MAXIMUM_TEXTURE1D_LINEAR_WIDTH")


def _filled(struct: Struct, ordinal: int, fields: dict[str, tuple[str, ...]]) -> Struct:
    known = driver.attributes(ordinal)
    for field, names in fields.items():
        values = [known[_ATTRIBUTES[f"CU_DEVICE_ATTRIBUTE_{each}"]] for each in names]
        setattr(struct, field, values if len(values) > 1 else values[0])
    struct.name = driver.title(ordinal)[:255]
    struct.uuid.bytes = devices.identity(ordinal)
    struct.totalGlobalMem = driver.total_memory(ordinal)
    return struct


@implements("cudaGetDeviceProperties")
def properties(ordinal: int) -> Struct:
    """All that is known of a device; each number is that of its attribute."""
    devices.initialise()
    struct = _filled(Struct("cudaDeviceProp"), ordinal, FIELDS)
    known = driver.attributes(ordinal)
    old = [
        known[_ATTRIBUTES[f"CU_DEVICE_ATTRIBUTE_{OLD_FIELDS[name][0]}"]] for name in old_members()
    ]
    struct.reserved = [*old, *struct.reserved[len(old) :]]
    return struct


@implements("cudaGetDeviceProperties_v2")
def properties_12(ordinal: int) -> Struct:
    """All that is known of a device, in the structure of CUDA 12."""
    devices.initialise()
    return _filled(Struct("cudaDeviceProp@12"), ordinal, OLD_FIELDS)


def _numbers(struct: Struct, field: str) -> tuple[int, ...]:
    numbers: int | tuple[int, ...] = getattr(struct, field)
    return numbers if isinstance(numbers, tuple) else (numbers,)


def _met(wanted: Struct, there: Struct) -> int:
    """How many of the wanted numbers a device has; one that is 0 is not wanted."""
    met = 0
    for field in (*FIELDS, "totalGlobalMem"):
        met += sum(0 < a <= b for a, b in zip(_numbers(wanted, field), _numbers(there, field)))
    return met


@implements("cudaChooseDevice")
def choose(wanted: Struct | None) -> int:
    """The device that has the most of the wanted properties; the first of several."""
    devices.initialise()
    if wanted is None:
        fail(INVALID_VALUE, "no properties")
    met = [_met(wanted, properties(ordinal)) for ordinal in range(devices.count())]
    return met.index(max(met))
