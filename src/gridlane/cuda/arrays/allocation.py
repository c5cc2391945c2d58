"""Memory of this thread's device: allocated here, or borrowed from other libraries."""

from __future__ import annotations

import ctypes
import os

from gridlane.core import dlpack_abi
from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.launch import current
from gridlane.memory.resource import Buffer, HostMemory
from gridlane.runtime.protocol import Device


def allocate(size: int, owner: Device | None = None) -> Buffer:
    """Allocate ``size`` bytes on a device, by default this thread's; DeviceError OUT_OF_MEMORY when
    there is none.

    An allocation of 0 bytes has the address 0, as CUDA's has.
    """
    owner = owner or current.device()
    return owner.allocate(size) if size else Buffer(0, 0, device=owner)


def allocate_host(size: int, kind: HostMemory) -> Buffer:
    """Allocate mapped or managed memory, which host and device use at one address or at two.

    Raises:
        DeviceError: NOT_SUPPORTED, the device has memory of its own; OUT_OF_MEMORY.
    """
    owner = current.device()
    return owner.allocate_host(size, kind) if size else Buffer(0, 0, device=owner)


def borrowed(address: int, size: int, owner: object) -> Buffer:
    """Wrap host memory with another owner, on a device that uses it in place."""
    return Buffer(address if size else 0, size, owner, current.device())


def holds(address: int) -> bool:
    """Whether an address lies in memory of this thread's device that was allocated here."""
    return current.device().memory.find(address, 1) is not None


def check_cuda_memory(owner: Device | None) -> None:
    """Raise AttributeError if memory must not be presented as CUDA memory.

    The CPU's memory is presented so, as in numba's simulator, in a process without CUDA's driver:
    no library there could take the address for a GPU's.
    """
    owner = owner or current.device()
    if owner.dlpack_device(0) == (dlpack_abi.CUDA, owner.ordinal):
        return
    if not owner.host_visible:
        why = f"the memory of the device {owner.name!r} is not CUDA's"
    elif has_cuda_driver():
        why = (
            f"the memory of the device {owner.name!r} is the host's, and this process has loaded "
            "CUDA's driver, whose libraries would take it for a GPU's"
        )
    else:
        return
    raise AttributeError(f"no __cuda_array_interface__: {why}; use __dlpack__ or copy_to_host")


def check_reads_interface() -> None:
    """Raise INVALID_VALUE if no ``__cuda_array_interface__`` can be of this thread's device,
    whatever its address."""
    owner = current.device()
    if not owner.host_visible and owner.dlpack_device(0) != (dlpack_abi.CUDA, owner.ordinal):
        fail(
            INVALID_VALUE,
            f"__cuda_array_interface__ shows memory of CUDA, and the device {owner.name!r} has "
            "other memory",
            "copy the data to the host, and pass it as a numpy array",
        )


def has_cuda_driver() -> bool:
    """Whether CUDA's driver library is loaded in this process; the test does not load it."""
    try:
        ctypes.CDLL("libcuda.so.1", os.RTLD_NOLOAD)
    except OSError:
        return False
    return True


def buffer_at(address: int, size: int) -> Buffer:
    """The live allocation that holds ``size`` bytes at ``address``, inside it or at its start; an
    address of another owner, a library or GPU, is looked up by the device.

    Raises:
        DeviceError: INVALID_VALUE, the memory is not this device's.
    """
    owner = current.device()
    if not size:
        return Buffer(0, 0, device=owner)
    return owner.memory.find(address, size) or _adopted(owner, address, size)


def _adopted(owner: Device, address: int, size: int) -> Buffer:
    buffer = owner.adopt(address, size)
    there = buffer.device = buffer.device or owner
    return (there is not owner and there.memory.find(address, size)) or buffer
