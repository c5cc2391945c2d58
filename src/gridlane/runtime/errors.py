"""Failures of devices and of running kernels: one table, raised in one place.

CUDA's driver and runtime share their numbers; ``NAMES`` has both spellings.
"""

from __future__ import annotations

import builtins
from functools import cache
from typing import NoReturn

from gridlane.core.artifact import KernelErrorSite
from gridlane.core.errors import DeviceError, KernelError
from gridlane.core.source import describe

# number: (driver name, runtime name, meaning, advice)
TABLE: dict[int, tuple[str, str, str, str]] = {
    0: ("CUDA_SUCCESS", "cudaSuccess", "no error", ""),
    1: (
        "CUDA_ERROR_INVALID_VALUE",
        "cudaErrorInvalidValue",
        "a value passed to the call is out of its range",
        "check sizes, shapes and handles of the call",
    ),
    2: (
        "CUDA_ERROR_OUT_OF_MEMORY",
        "cudaErrorMemoryAllocation",
        "not enough memory on the device",
        "free arrays that are no longer used, or work in smaller pieces",
    ),
    3: (
        "CUDA_ERROR_NOT_INITIALIZED",
        "cudaErrorInitializationError",
        "the driver is not initialised",
        "use the device before any fork, and not from a child process of it",
    ),
    4: ("CUDA_ERROR_DEINITIALIZED", "cudaErrorCudartUnloading", "the driver is shutting down", ""),
    5: ("CUDA_ERROR_PROFILER_DISABLED", "cudaErrorProfilerDisabled", "no profiler is attached", ""),
    9: (
        "CUDA_ERROR_INVALID_CONFIGURATION",  # runtime only; named alike here
        "cudaErrorInvalidConfiguration",
        "the launch asks for a grid or block that the device does not have",
        "a block has at most 1024 threads, and its z axis at most 64",
    ),
    12: ("CUDA_ERROR_INVALID_PITCH", "cudaErrorInvalidPitchValue", "a pitch is out of range", ""),
    13: ("CUDA_ERROR_INVALID_SYMBOL", "cudaErrorInvalidSymbol", "no such symbol", ""),
    21: (
        "CUDA_ERROR_INVALID_MEMCPY_DIRECTION",
        "cudaErrorInvalidMemcpyDirection",
        "a copy between these kinds of memory does not exist",
        "",
    ),
    34: (
        "CUDA_ERROR_STUB_LIBRARY",
        "cudaErrorStubLibrary",
        "the loaded libcuda is a stub for linking",
        "put the driver's own libcuda first in the search path",
    ),
    35: (
        "CUDA_ERROR_INSUFFICIENT_DRIVER",
        "cudaErrorInsufficientDriver",
        "the driver is older than the runtime",
        "update the driver",
    ),
    46: (
        "CUDA_ERROR_DEVICE_UNAVAILABLE",
        "cudaErrorDevicesUnavailable",
        "the device is in use or not available",
        "another process may hold it exclusively",
    ),
    98: (
        "CUDA_ERROR_INVALID_DEVICE_FUNCTION",
        "cudaErrorInvalidDeviceFunction",
        "the kernel does not exist on this device",
        "",
    ),
    100: (
        "CUDA_ERROR_NO_DEVICE",
        "cudaErrorNoDevice",
        "there is no such device on this machine",
        "`gridlane devices` lists those that there are",
    ),
    101: (
        "CUDA_ERROR_INVALID_DEVICE",
        "cudaErrorInvalidDevice",
        "no device has this number",
        "devices count from 0",
    ),
    200: (
        "CUDA_ERROR_INVALID_IMAGE",
        "cudaErrorInvalidKernelImage",
        "the code is not one that this device loads",
        "compile it for this device",
    ),
    201: (
        "CUDA_ERROR_INVALID_CONTEXT",
        "cudaErrorDeviceUninitialized",
        "no context is current",
        "",
    ),
    205: ("CUDA_ERROR_MAP_FAILED", "cudaErrorMapBufferObjectFailed", "mapping failed", ""),
    208: ("CUDA_ERROR_ALREADY_MAPPED", "cudaErrorAlreadyMapped", "already mapped", ""),
    209: (
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "cudaErrorNoKernelImageForDevice",
        "the module has no code for this device",
        "compile it for this device's compute capability",
    ),
    214: (
        "CUDA_ERROR_ECC_UNCORRECTABLE",
        "cudaErrorECCUncorrectable",
        "a memory error that could not be corrected",
        "the device's memory may be failing",
    ),
    215: ("CUDA_ERROR_UNSUPPORTED_LIMIT", "cudaErrorUnsupportedLimit", "no such limit", ""),
    217: (
        "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
        "cudaErrorPeerAccessUnsupported",
        "the devices cannot reach each other's memory",
        "copy through the host",
    ),
    218: ("CUDA_ERROR_INVALID_PTX", "cudaErrorInvalidPtx", "the PTX does not assemble", ""),
    221: (
        "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
        "cudaErrorJitCompilerNotFound",
        "the driver's PTX compiler is missing",
        "reinstall the driver",
    ),
    222: (
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "cudaErrorUnsupportedPtxVersion",
        "the PTX is newer than the driver",
        "update the driver, or compile for an older PTX version",
    ),
    300: ("CUDA_ERROR_INVALID_SOURCE", "cudaErrorInvalidSource", "the source is invalid", ""),
    301: ("CUDA_ERROR_FILE_NOT_FOUND", "cudaErrorFileNotFound", "file not found", ""),
    302: (
        "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND",
        "cudaErrorSharedObjectSymbolNotFound",
        "a library lacks a symbol that the code needs",
        "",
    ),
    303: (
        "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED",
        "cudaErrorSharedObjectInitFailed",
        "a library did not load",
        "",
    ),
    304: (
        "CUDA_ERROR_OPERATING_SYSTEM",
        "cudaErrorOperatingSystem",
        "a call of the operating system failed",
        "",
    ),
    400: (
        "CUDA_ERROR_INVALID_HANDLE",
        "cudaErrorInvalidResourceHandle",
        "the handle is not one of a live stream, event or module",
        "keep the object while it is used; events must be recorded before they are read",
    ),
    401: ("CUDA_ERROR_ILLEGAL_STATE", "cudaErrorIllegalState", "not possible in this state", ""),
    500: ("CUDA_ERROR_NOT_FOUND", "cudaErrorSymbolNotFound", "no symbol of this name", ""),
    600: (
        "CUDA_ERROR_NOT_READY",
        "cudaErrorNotReady",
        "the work has not finished",
        "synchronize the event or its stream first",
    ),
    700: (
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "cudaErrorIllegalAddress",
        "the kernel read or wrote memory outside every array",
        "run with debug=True or on the device `interp`, which names the line",
    ),
    701: (
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        "cudaErrorLaunchOutOfResources",
        "the launch needs more registers or shared memory than the device has",
        "use fewer threads in a block or less shared memory",
    ),
    702: (
        "CUDA_ERROR_LAUNCH_TIMEOUT",
        "cudaErrorLaunchTimeout",
        "the kernel ran longer than the system allows",
        "split the work over several launches",
    ),
    704: (
        "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
        "cudaErrorPeerAccessAlreadyEnabled",
        "peer access is already on",
        "",
    ),
    705: (
        "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
        "cudaErrorPeerAccessNotEnabled",
        "peer access is not on",
        "",
    ),
    708: (
        "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",
        "cudaErrorSetOnActiveProcess",
        "the device is already in use by this process",
        "set this before the first call that uses the device",
    ),
    709: (
        "CUDA_ERROR_CONTEXT_IS_DESTROYED",
        "cudaErrorContextIsDestroyed",
        "the context is gone",
        "",
    ),
    710: ("CUDA_ERROR_ASSERT", "cudaErrorAssert", "an assertion in the kernel failed", ""),
    712: (
        "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
        "cudaErrorHostMemoryAlreadyRegistered",
        "the host memory is pinned already",
        "",
    ),
    713: (
        "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
        "cudaErrorHostMemoryNotRegistered",
        "the host memory is not pinned",
        "",
    ),
    714: ("CUDA_ERROR_HARDWARE_STACK_ERROR", "cudaErrorHardwareStackError", "stack overflow", ""),
    715: (
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        "cudaErrorIllegalInstruction",
        "the device met an instruction that it does not have",
        "",
    ),
    716: (
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "cudaErrorMisalignedAddress",
        "an address is not a multiple of the element's size",
        "check views and record layouts",
    ),
    717: (
        "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        "cudaErrorInvalidAddressSpace",
        "an address is in a space that the instruction cannot reach",
        "",
    ),
    718: ("CUDA_ERROR_INVALID_PC", "cudaErrorInvalidPc", "the program counter is invalid", ""),
    719: ("CUDA_ERROR_LAUNCH_FAILED", "cudaErrorLaunchFailure", "the kernel failed", ""),
    720: (
        "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
        "cudaErrorCooperativeLaunchTooLarge",
        "a cooperative grid does not fit on the device at once",
        "launch fewer blocks",
    ),
    800: ("CUDA_ERROR_NOT_PERMITTED", "cudaErrorNotPermitted", "not permitted here", ""),
    801: (
        "CUDA_ERROR_NOT_SUPPORTED",
        "cudaErrorNotSupported",
        "the device or the system does not support this",
        "",
    ),
    900: (
        "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        "cudaErrorStreamCaptureUnsupported",
        "not possible while a stream is captured",
        "",
    ),
    909: ("CUDA_ERROR_TIMEOUT", "cudaErrorTimeout", "the wait ran out of time", ""),
    999: ("CUDA_ERROR_UNKNOWN", "cudaErrorUnknown", "an unknown failure", ""),
}

INVALID_VALUE = 1
OUT_OF_MEMORY = 2
NO_DEVICE = 100
INVALID_DEVICE = 101
INVALID_IMAGE = 200
INVALID_HANDLE = 400
NOT_READY = 600
ILLEGAL_ADDRESS = 700
OUT_OF_RESOURCES = 701
COOPERATIVE_TOO_LARGE = 720
NOT_PERMITTED = 800
NOT_SUPPORTED = 801

NAMES = {name: number for number, row in TABLE.items() for name in row[:2]}


def device_error(number: int, what: str = "", advice: str = "") -> DeviceError:
    """The exception of a CUDA error number; ``what`` says what was asked for.

    >>> print(device_error(2, "400 bytes"))
    CUDA_ERROR_OUT_OF_MEMORY (2): not enough memory on the device: 400 bytes
      free arrays that are no longer used, or work in smaller pieces
    """
    name, _, meaning, known = TABLE.get(number, TABLE[999])
    return DeviceError(name, number, f"{meaning}: {what}" if what else meaning, advice or known)


def fail(number: int, what: str = "", advice: str = "") -> NoReturn:
    """Raise ``device_error``."""
    raise device_error(number, what, advice)


class KernelStop(KernelError):
    """A kernel stopped itself. ``exception`` is the name of what it raised; ``thread`` and
    ``block`` are the indices of the first thread that reported, (x, y, z) each."""

    exception: str = ""
    text: str = ""
    thread: tuple[int, int, int] = (0, 0, 0)
    block: tuple[int, int, int] = (0, 0, 0)


@cache
def _stop_class(name: str) -> type[KernelStop]:
    """KernelStop that is also the builtin exception called ``name``, when there is one."""
    builtin = getattr(builtins, name, None)
    if not (isinstance(builtin, type) and issubclass(builtin, Exception)):
        return KernelStop
    try:
        return type(name, (KernelStop, builtin), {"__module__": "gridlane"})
    except TypeError:  # a builtin with a memory layout of its own, such as OSError
        return KernelStop


def kernel_exception(
    site: KernelErrorSite,
    thread: tuple[int, int, int] = (0, 0, 0),
    block: tuple[int, int, int] = (0, 0, 0),
) -> KernelStop:
    """What a kernel's error report raises on the host."""
    loc = site.loc
    where = f"tid={list(thread)} ctaid={list(block)}: {site.message}"
    lines = [where]
    if loc.line:
        lines.append(f"In function {loc.function!r}, file {loc.file}, line {loc.line}")
        lines.append(describe(loc))
    error = _stop_class(site.exception)("\n".join(lines))
    error.exception, error.text, error.thread, error.block = (
        site.exception,
        site.message,
        thread,
        block,
    )
    return error
