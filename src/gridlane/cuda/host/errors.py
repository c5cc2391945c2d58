"""Errors by numba.cuda's names."""

from __future__ import annotations

from gridlane.core.errors import CompileError as CudaLoweringError
from gridlane.core.errors import DeviceError, KernelError, LaunchError
from gridlane.launch.dimensions import MISSING_CONFIGURATION

KernelRuntimeError = KernelError
missing_launch_config_msg = MISSING_CONFIGURATION
LoweringError = CudaLoweringError
CudaSupportError = CudaAPIError = CudaDriverError = DeviceError

__all__ = [
    "CudaAPIError", "CudaDriverError", "CudaLoweringError", "CudaSupportError",
    "KernelRuntimeError", "LaunchError", "LoweringError", "missing_launch_config_msg",
]  # fmt: skip
