"""``numba.cuda.cudadrv.driver``: the classes that programs name, and the current device."""

from __future__ import annotations

from typing import Any

from gridlane.core.errors import DeviceError
from gridlane.cuda.arrays.creation import is_cuda_array
from gridlane.cuda.arrays.devicearray import as_device
from gridlane.cuda.arrays.transport import PinnedMemory
from gridlane.cuda.host.device import (
    Context,
    CudaDevice,
    MemoryInfo,
    cuda_error,
    current_context,
)
from gridlane.cuda.host.profiling import profile_start, profile_stop
from gridlane.cuda.host.streams import AnyStream as Stream  # numba has one class for all kinds
from gridlane.cuda.host.streams import Event
from gridlane.cuda.kernels.linkable import LinkerError as LinkerError
from gridlane.cuda.names import missing
from gridlane.launch import current

CudaAPIError = CudaDriverError = DeviceError
Device = CudaDevice
get_context = current_context


class _Driver:
    """The part of numba's driver object that reports availability."""

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


driver = _Driver()


def is_device_memory(value: Any) -> bool:
    """Whether an object is, or exposes, device memory."""
    return is_cuda_array(value) or as_device(value) is not value


def _have_nvjitlink() -> bool:
    return False


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "cuda.cudadrv.driver")


__all__ = [
    "Context",
    "CudaAPIError",
    "CudaDriverError",
    "Device",
    "Event",
    "LinkerError",
    "MemoryInfo",
    "PinnedMemory",
    "Stream",
    "driver",
    "get_context",
    "is_device_memory",
    "profile_start",
    "profile_stop",
]
