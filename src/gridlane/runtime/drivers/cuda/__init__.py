"""The devices ``cuda``, ``cuda:1`` …: NVIDIA GPUs, through the driver and cuda-bindings.

The context is the device's primary one, which CuPy, PyTorch and numba use as well.
"""

from __future__ import annotations

from gridlane.core.device_errors import INVALID_DEVICE, fail, handled
from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.cuda.api import call
from gridlane.runtime.drivers.cuda.device import CudaDevice, gpu

__all__ = ["CudaDevice", "device_count", "open_device"]


def device_count() -> int:
    """The number of GPUs of this machine; 0 without a driver."""
    try:
        return int(call("cuDeviceGetCount"))
    except DeviceError as error:
        handled(error)
        return 0


def open_device(ordinal: int = 0) -> CudaDevice:
    """Open a GPU by its number; return the same object while it is alive.

    Raises:
        DeviceError: NO_DEVICE and its like, without a driver or a GPU; INVALID_DEVICE.
    """
    count = int(call("cuDeviceGetCount"))
    if ordinal >= count:
        fail(INVALID_DEVICE, f"GPU {ordinal}; this machine has {count}")
    return gpu(ordinal)
