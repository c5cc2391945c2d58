"""Map the errors of command buffers to CUDA's numbers."""

from __future__ import annotations

from typing import Any

from gridlane.core.device_errors import (
    DEVICES_UNAVAILABLE,
    ILLEGAL_ADDRESS,
    LAUNCH_FAILED,
    LAUNCH_TIMEOUT,
    NAMED_ADVICE,
    OUT_OF_MEMORY,
    described,
    noted,
)
from gridlane.core.errors import DeviceError

DOMAIN = "MTLCommandBufferErrorDomain"

# MTLCommandBufferError: CUDA's number, its meaning, and a remedy.
TABLE: dict[int, tuple[int, str, str]] = {
    1: (LAUNCH_FAILED, "an internal error", NAMED_ADVICE),
    2: (
        LAUNCH_TIMEOUT,
        "it took longer than the system allows",
        "make the kernel shorter, or split it; a loop may have no end",
    ),
    3: (
        ILLEGAL_ADDRESS,
        "a page fault",
        f"an index is out of bounds: {NAMED_ADVICE}",
    ),
    4: (
        LAUNCH_FAILED,
        "the process may not use the GPU any more, after errors of before",
        "start the process again",
    ),
    7: (LAUNCH_FAILED, "the system does not permit it", "run the program in the foreground"),
    8: (OUT_OF_MEMORY, "out of memory", "free arrays, or work in smaller pieces"),
    9: (
        LAUNCH_FAILED,
        "memory that it uses was freed",
        "keep arrays until the kernels that use them are done",
    ),
    11: (
        DEVICES_UNAVAILABLE,
        "the device was removed",
        "connect it again, and start the process again",
    ),
    12: (
        LAUNCH_FAILED,
        "the stack of a thread overflowed",
        "use smaller local arrays",
    ),
}
_UNKNOWN = (LAUNCH_FAILED, "an error that gridlane does not know", "update gridlane")


def explained(error: Any, kernels: str, device: str) -> DeviceError:
    """The exception for an NSError of a command buffer.

    Args:
        kernels: the names of the kernels in it.
        device: the name of the device.
    """
    code, domain = int(error.code()), str(error.domain())
    number, meaning, advice = TABLE.get(code, _UNKNOWN) if domain == DOMAIN else _UNKNOWN
    where = f", in {kernels}" if kernels else ""
    message = f"{meaning}{where} ({domain} {code}: {error.localizedDescription()})"
    text = f"{advice}; cuda.close() makes the device usable again"
    category = "lost" if number == DEVICES_UNAVAILABLE else ""
    return noted(described(number, message, text), category, device, kernels)
