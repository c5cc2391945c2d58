"""The device of a thread, its flags and limits."""

from __future__ import annotations

from gridlane.abi import raw
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_DEVICE, INVALID_VALUE, fail
from gridlane.abi.state import contexts, devices, threads
from gridlane.core.cuda_table import constants

_FLAGS = constants()["cudaDeviceMask"]
_MAPPED = constants()["cudaDeviceMapHost"]
_FLAGS_VALID = constants()["cudaInitDeviceFlagsAreValid"]


def checked(ordinal: int) -> int:
    """The number of a device that is there."""
    devices.initialise()
    devices.device(ordinal)
    return ordinal


@implements("cudaInitDevice")
def init_device(ordinal: int, device_flags: int, flags: int) -> None:
    """Make the primary context of a device; the thread's device stays."""
    if flags & ~_FLAGS_VALID:
        fail(INVALID_VALUE, f"initialising with the flags {flags:#x}")
    context = contexts.primary(checked(ordinal))
    if flags:
        _set_flags(ordinal, device_flags)
    context.for_runtime().check()


@implements("cudaDeviceReset", "cudaThreadExit")
def reset() -> None:
    """End the primary context of this thread's device and all that is in it, and with it the fault
    of a kernel. A context that the driver made stays; the runtime has nothing of its own in it."""
    ordinal, context = threads.device(), contexts.top()
    if context is None or context.is_primary:
        contexts.primary(ordinal).leave_runtime()
    threads.forget()


@implements("cudaSetValidDevices")
def set_valid(address: int, count: int) -> None:
    """Set the devices of threads that choose none, in their order; 0 for all."""
    devices.initialise()
    if not count:
        threads.set_valid([])
        return
    if not address or not 0 < count <= devices.count():
        fail(INVALID_VALUE, f"{count} valid devices at {address:#x}; there are {devices.count()}")
    ordinals = list(raw.numbers(address, count))
    for each in ordinals:
        if not 0 <= each < devices.count():
            fail(INVALID_DEVICE, f"device {each}; there are {devices.count()}")
    threads.set_valid(ordinals)


def _set_flags(ordinal: int, flags: int) -> None:
    contexts.check_flags(flags, _FLAGS)
    context = contexts.primary(ordinal)
    context.flags = flags & ~_MAPPED
    if context.context is not None:
        context.context.flags = context.flags


@implements("cudaSetDeviceFlags")
def set_flags(flags: int) -> None:
    """Set the flags of this thread's device, and make its context: how the host waits is left to
    the device."""
    contexts.check_flags(flags, _FLAGS)
    ordinal, context = threads.device(), contexts.top()
    if context is not None and not context.is_primary:
        context.check().flags = flags & ~_MAPPED
        return
    _set_flags(ordinal, flags)
    threads.ready()


@implements("cudaGetDeviceFlags")
def get_flags() -> int:
    """The flags of this thread's device; the runtime's contexts map host memory."""
    ordinal, context = threads.device(), contexts.top()
    if context is not None and not context.is_primary:
        return context.check().flags
    return contexts.primary(ordinal).flags | _MAPPED
