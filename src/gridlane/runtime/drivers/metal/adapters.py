"""The devices that Metal lists, and those that this driver can use."""

from __future__ import annotations

from functools import cache
from typing import Any

from gridlane.core.device_errors import no_device
from gridlane.core.frozen import frozen
from gridlane.runtime.drivers.metal.provider import Provider, provider

OLDEST_MACOS = (15, 0)
"""The first version whose compiler reads MSL 3.2, which has fences separate from barriers."""


@frozen
class Adapter:
    """A device of Metal.

    Attributes:
        device: the MTLDevice.
        registry: its number in the system.
        threads: the largest threadgroup along each axis; ``most_threads`` in total.
        shared: bytes of threadgroup memory.
        largest_buffer, working_set: bytes of one buffer, and of all that should be in use.
        missing: why it is unusable, or "".
    """

    provider: Provider
    device: Any
    name: str
    registry: int
    unified: bool
    threads: tuple[int, int, int]
    most_threads: int
    shared: int
    largest_buffer: int
    working_set: int
    missing: str


@cache
def all_adapters() -> tuple[Adapter, ...]:
    """Every device that Metal lists."""
    there = provider()
    with there.pool():
        return tuple(_adapter(there, device) for device in there.metal.MTLCopyAllDevices())


def usable() -> tuple[Adapter, ...]:
    """The devices that this driver can use.

    Raises:
        DeviceError: METAL_NO_DEVICE, with the reason of each unusable device.
    """
    every = all_adapters()
    able = tuple(adapter for adapter in every if not adapter.missing)
    if able:
        return able
    message = "; ".join(f"{adapter.name}: {adapter.missing}" for adapter in every)
    if provider().emulated:
        no_device(
            "metal", message or "the stand-in for Metal has no g++", "install g++ 12 or newer"
        )
    no_device("metal", message or "Metal shows no device", "use an Apple M1 or newer with macOS 15")


def _adapter(there: Provider, device: Any) -> Adapter:
    most = tuple(device.maxThreadsPerThreadgroup())
    return Adapter(
        provider=there,
        device=device,
        name=str(device.name()),
        registry=int(device.registryID()),
        unified=bool(device.hasUnifiedMemory()),
        threads=most,
        most_threads=min(1024, max(most)),
        shared=int(device.maxThreadgroupMemoryLength()),
        largest_buffer=int(device.maxBufferLength()),
        working_set=int(device.recommendedMaxWorkingSetSize()),
        missing=_missing(there, device),
    )


def _missing(there: Provider, device: Any) -> str:
    if there.macos < OLDEST_MACOS:
        wanted, present = (".".join(map(str, each)) for each in (OLDEST_MACOS, there.macos))
        return f"macOS {wanted} or newer is needed, for MSL 3.2 (this is {present})"
    # Metal 3: kernels follow pointers in memory, and add floats atomically.
    if not device.supportsFamily_(there.metal.MTLGPUFamilyMetal3):
        return "it is not of the family Metal 3"
    return ""
