"""``numba.cuda.cudadrv.driver``: the classes that programs name, and the current device."""

from __future__ import annotations

from functools import partial
from typing import Any

from gridlane.core.device_errors import device_error
from gridlane.core.errors import DeviceError
from gridlane.cuda import driver_calls as binding
from gridlane.cuda.arrays.ipc import IpcHandle
from gridlane.cuda.arrays.managers import (
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    MemoryInfo,
    NumbaCUDAMemoryManager,
)
from gridlane.cuda.arrays.pointers import (
    AutoFreePointer,
    ManagedMemory,
    ManagedOwnedPointer,
    MappedMemory,
    MappedOwnedPointer,
    MemoryPointer,
    OwnedPointer,
    PinnedMemory,
)
from gridlane.cuda.host.device import (
    ActiveContext,
    Context,
    CudaDevice,
    cuda_error,
    current_context,
    pop_active_context,
    set_memory_manager,
)
from gridlane.cuda.host.profiling import profile_start, profile_stop
from gridlane.cuda.host.streams import AnyStream as Stream  # numba has one class for all kinds
from gridlane.cuda.host.streams import Event
from gridlane.cuda.kernels.linkable import LinkerError as LinkerError
from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat.driver_copies import (
    device_ctypes_pointer,
    device_extents,
    device_memory_depends,
    device_memory_size,
    device_memset,
    device_pointer,
    device_to_device,
    device_to_host,
    host_memory_extents,
    host_memory_size,
    host_pointer,
    host_to_device,
    is_device_memory,
    is_host_memory,
    memory_size_from_info,
    require_device_memory,
)
from gridlane.launch import current

CudaAPIError = CudaDriverError = DeviceError
Device = CudaDevice
get_context = current_context


class _Driver:
    """numba's driver object: CUDA's functions, which raise where they fail, and some of its own."""

    @property
    def is_available(self) -> bool:
        """Whether the device opens."""
        return cuda_error() is None

    @property
    def initialization_error(self) -> DeviceError | None:
        """The error of opening the device."""
        return cuda_error()

    def get_device(self, number: int = 0) -> CudaDevice:
        """The device."""
        return current_context(number).device

    def get_device_count(self) -> int:
        """The number of devices."""
        return current.count()

    def get_version(self) -> tuple[int, int]:
        """The CUDA version whose semantics kernels have."""
        return 12, 0

    def pop_active_context(self) -> Any:
        """Pop this thread's active context; returns its CUcontext, None if there is none."""
        return pop_active_context()

    def get_active_context(self) -> ActiveContext:
        """This thread's active context, for a with block."""
        return ActiveContext()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(f"the driver has no function {name!r}")
        return partial(_call, getattr(binding, name), name)


_NO_CONTEXT = (3, 201)
"""CUDA_ERROR_NOT_INITIALIZED and INVALID_CONTEXT."""


def _call(function: Any, name: str, *args: Any) -> Any:
    """Call a function of CUDA's; returns its result, or a tuple of several.

    Raises:
        DeviceError: it failed.
    """
    code, *values = function(*args)
    if int(code) in _NO_CONTEXT:  # numba's driver is initialised, and has the primary context
        binding.cuInit(0)
        binding.cuCtxSetCurrent(current_context().handle)
        code, *values = function(*args)
    if int(code):
        raise device_error(int(code), name)
    return values[0] if len(values) == 1 else tuple(values) or None


driver = _Driver()


def _have_nvjitlink() -> bool:  # pyright: ignore[reportUnusedFunction]  # numba's name
    return False


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "cuda.cudadrv.driver")


__all__ = [
    "AutoFreePointer", "BaseCUDAMemoryManager", "Context", "CudaAPIError", "CudaDriverError",
    "Device", "Event", "GetIpcHandleMixin", "HostOnlyCUDAMemoryManager", "IpcHandle",
    "LinkerError", "ManagedMemory", "ManagedOwnedPointer", "MappedMemory", "MappedOwnedPointer",
    "MemoryInfo", "MemoryPointer", "NumbaCUDAMemoryManager", "OwnedPointer", "PinnedMemory",
    "Stream", "binding", "device_ctypes_pointer", "device_extents", "device_memory_depends",
    "device_memory_size", "device_memset", "device_pointer", "device_to_device", "device_to_host",
    "driver", "get_context", "host_memory_extents", "host_memory_size", "host_pointer",
    "host_to_device", "is_device_memory", "is_host_memory", "memory_size_from_info",
    "profile_start", "profile_stop", "require_device_memory", "set_memory_manager",
]  # fmt: skip
