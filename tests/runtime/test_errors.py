"""The table of device failures, and what a stopped kernel raises."""

from __future__ import annotations

import pytest

from gridlane.core.artifact import KernelErrorSite
from gridlane.core.errors import DeviceError, KernelError
from gridlane.core.source import Loc
from gridlane.runtime import errors


@pytest.mark.parametrize(
    ("number", "driver", "runtime"),
    [
        (1, "CUDA_ERROR_INVALID_VALUE", "cudaErrorInvalidValue"),
        (2, "CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation"),
        (700, "CUDA_ERROR_ILLEGAL_ADDRESS", "cudaErrorIllegalAddress"),
        (701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "cudaErrorLaunchOutOfResources"),
        (702, "CUDA_ERROR_LAUNCH_TIMEOUT", "cudaErrorLaunchTimeout"),
        (704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "cudaErrorPeerAccessAlreadyEnabled"),
        (705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "cudaErrorPeerAccessNotEnabled"),
        (708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cudaErrorSetOnActiveProcess"),
        (716, "CUDA_ERROR_MISALIGNED_ADDRESS", "cudaErrorMisalignedAddress"),
        (717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "cudaErrorInvalidAddressSpace"),
    ],
)
def test_numbers(number, driver, runtime):
    assert errors.TABLE[number][:2] == (driver, runtime)
    assert errors.NAMES[driver] == errors.NAMES[runtime] == number


def test_device_error_says_all():
    with pytest.raises(DeviceError) as caught:
        errors.fail(errors.OUT_OF_MEMORY, "8 bytes")
    assert str(caught.value) == (
        "CUDA_ERROR_OUT_OF_MEMORY (2): not enough memory on the device: 8 bytes\n"
        "  free arrays that are no longer used, or work in smaller pieces"
    )


@pytest.mark.parametrize(
    ("name", "builtin"),
    [("IndexError", IndexError), ("ZeroDivisionError", ZeroDivisionError), ("Mine", RuntimeError)],
)
def test_kernel_exception_is_its_builtin_too(name, builtin):
    loc = Loc("kernel.py", 12, 5, function="f")
    error = errors.kernel_exception(KernelErrorSite(name, "what", loc), (1, 2, 3), (4, 5, 6))
    assert isinstance(error, KernelError) and isinstance(error, builtin)
    assert error.exception == name and error.thread == (1, 2, 3)
    assert "tid=[1, 2, 3] ctaid=[4, 5, 6]: what" in str(error)
    assert "In function 'f', file kernel.py, line 12" in str(error)
