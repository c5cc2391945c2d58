"""What the exceptions are that no device numbers: a category, CUDA's number and a remedy each.

Programs of CUDA's interface get the number; the history of errors has all three.
"""

from __future__ import annotations

from typing import NamedTuple

from gridlane.core import errors
from gridlane.core.error_table import NAMES, TABLE


class Kind(NamedTuple):
    """What the exceptions of a class are.

    Attributes:
        category: one of ``error_table.CATEGORIES``.
        number: CUDA's for them.
        advice: the user's remedy.
    """

    category: str
    number: int
    advice: str


def _kind(category: str, name: str, advice: str) -> Kind:
    return Kind(category, NAMES[name], advice)


_IMAGE = "CUDA_ERROR_INVALID_IMAGE"
KINDS: dict[type[BaseException], Kind] = {
    errors.UnsupportedError: _kind(
        "compile", _IMAGE, "write what the message names instead; docs/language.md has the dialect"
    ),
    errors.ConstantError: _kind(
        "compile", _IMAGE, "use a literal, or a global or closure variable, in the named range"
    ),
    errors.TypingError: _kind(
        "compile", _IMAGE, "convert the value on the line of the message, as by float32() or int()"
    ),
    errors.NameLookupError: _kind(
        "compile", _IMAGE, "define the name above the first launch, or correct its spelling"
    ),
    errors.TargetError: _kind(
        "unsupported", "CUDA_ERROR_NOT_SUPPORTED",
        "use a device that has the feature: `gridlane devices --limits` compares them",
    ),
    errors.PtxError: _kind(
        "compile", "CUDA_ERROR_INVALID_PTX", "correct the line of the message, or compile it again"
    ),
    errors.CompileError: _kind(
        "compile", _IMAGE, "change the line of the message; `gridlane explain` shows each step"
    ),
    errors.VerifyError: _kind(
        "compile", _IMAGE, "report it with the kernel, unless the IR was written by hand"
    ),
    errors.ParseError: _kind("compile", _IMAGE, "correct the line and column of the message"),
    errors.LaunchError: _kind(
        "launch", "CUDA_ERROR_INVALID_VALUE",
        "choose a grid, a block and shared memory within the limits of `gridlane devices --limits`",
    ),
    errors.ArgumentError: _kind(
        "use", "CUDA_ERROR_INVALID_VALUE", "pass arguments of the number and types of the message"
    ),
    errors.UnsupportedBackend: _kind(
        "unsupported", "CUDA_ERROR_NOT_SUPPORTED",
        "use another device: `gridlane doctor` shows those that run kernels here",
    ),
    errors.KernelError: _kind(
        "fault", "CUDA_ERROR_LAUNCH_FAILED",
        "look at the values of the thread and block in the message, at its line",
    ),
    errors.StoreFull: _kind(
        "memory", "CUDA_ERROR_OUT_OF_MEMORY", "free blocks or disk space, or set a larger quota"
    ),
    errors.StoreCorrupt: _kind(
        "system", "CUDA_ERROR_OPERATING_SYSTEM", "write the block again, and check the disk"
    ),
    errors.StoreUnavailable: _kind(
        "system", "CUDA_ERROR_OPERATING_SYSTEM", "check the folder, or open the store again"
    ),
    errors.StoreError: _kind(
        "system", "CUDA_ERROR_OPERATING_SYSTEM", "check the file or the folder of the message"
    ),
    errors.TierFull: _kind(
        "memory", "CUDA_ERROR_OUT_OF_MEMORY", "release blocks, allow more bytes, or add a disk"
    ),
    errors.BlockInUse: _kind(
        "use", "CUDA_ERROR_INVALID_VALUE", "leave the with block of the other pin before"
    ),
    errors.SpillError: _kind(
        "system", "CUDA_ERROR_OPERATING_SYSTEM", "free room in the tier below, and try again"
    ),
    errors.TierError: _kind(
        "use", "CUDA_ERROR_INVALID_VALUE", "look at the tiers of the message"
    ),
    errors.MissingError: _kind(
        "unsupported", "CUDA_ERROR_NOT_SUPPORTED", "use the alternative in the message"
    ),
    errors.DeviceError: _kind(
        "system", "CUDA_ERROR_UNKNOWN", TABLE[NAMES["CUDA_ERROR_UNKNOWN"]].advice
    ),
    errors.GridlaneError: _kind("system", "CUDA_ERROR_UNKNOWN", "read the message"),
    MemoryError: _kind(
        "memory", "CUDA_ERROR_OUT_OF_MEMORY", "free arrays of the host, or work in smaller pieces"
    ),
    OSError: _kind(
        "system", "CUDA_ERROR_OPERATING_SYSTEM", "read the system's message; it names the file"
    ),
    FileNotFoundError: _kind("use", "CUDA_ERROR_FILE_NOT_FOUND", "check the path"),
}  # fmt: skip
"""By class, a class in front of its bases."""


def kind_of(error: BaseException) -> Kind | None:
    """The kind of an exception: that of its class, or of the nearest base; None for foreign ones.

    >>> from gridlane.core.errors import ConstantError
    >>> kind_of(ConstantError("the shape is an argument")).category
    'compile'
    """
    for each in type(error).__mro__:
        if each in KINDS:
            return KINDS[each]
    return None
