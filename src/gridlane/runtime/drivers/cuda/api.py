"""The CUDA driver's functions by name; a failure raises."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

from gridlane.core.device_errors import NEWER_DRIVER, NO_DEVICE, NOT_SUPPORTED, described, fail
from gridlane.core.error_table import NAMES
from gridlane.core.errors import DeviceError
from gridlane.core.extras import install
from gridlane.core.originals import originals

# These lose the context: every later call in it fails with the same number.
STICKY = frozenset(
    NAMES[f"CUDA_ERROR_{name}"]
    for name in (
        *("ECC_UNCORRECTABLE", "CONTAINED", "ILLEGAL_ADDRESS", "LAUNCH_TIMEOUT"),
        *("CONTEXT_IS_DESTROYED", "ASSERT", "HARDWARE_STACK_ERROR", "ILLEGAL_INSTRUCTION"),
        *("MISALIGNED_ADDRESS", "INVALID_ADDRESS_SPACE", "INVALID_PC", "LAUNCH_FAILED"),
        *("TENSOR_MEMORY_LEAK", "UNKNOWN"),
    )
)

# cuda-bindings' text for a result that it has no name for.
_UNNAMED = re.compile(r"(\d+) is not a valid CUresult")


@cache
def bindings() -> Any:
    """cuda.bindings.driver, with the driver initialised.

    Raises:
        DeviceError: what is missing, and how to get it.
    """
    try:
        # The extra ``cuda``; loaded when a GPU is asked for.
        with originals():  # gridlane.cuda.driver has its name in programs of "gridlane run"
            driver: Any = import_module("cuda.bindings.driver")
    except ImportError as error:
        what = f"cuda-bindings does not load ({error})"
        raise described(NO_DEVICE, what, install("cuda")) from None
    try:
        code = int(driver.cuInit(0)[0])
    except RuntimeError as error:  # libcuda is looked for at the first call
        reason = str(error).strip().splitlines()[0]
        raise described(
            NO_DEVICE,
            f"libcuda, the driver's library, does not load ({reason})",
            "install NVIDIA's driver; in a container, start it with the GPUs (--gpus all)",
        ) from None
    if code:
        raise described(code, "cuInit")
    return driver


def call(name: str, *args: Any, what: str = "") -> Any:
    """Call a function of the driver; returns its result, or a tuple of several.

    The history of errors has no failure of this: ``Context.explained`` and the opening of a device
    note theirs, and others ask whether the driver has something.

    Args:
        name: such as ``cuStreamCreate``.
        what: the subject of the call, for the message.

    Raises:
        DeviceError: the driver's number, name and meaning; 36 if an older driver lacks the call.
    """
    code, *values = answer(name, *args)
    if code:
        raise described(code, f"{name}: {what}" if what else name)
    return values[0] if len(values) == 1 else tuple(values)


def answer(name: str, *args: Any) -> tuple[Any, ...]:
    """Call a function of the driver; return its result code and its other results."""
    try:
        code, *values = getattr(bindings(), name)(*args)
    except ValueError as error:
        unnamed = _UNNAMED.search(str(error))
        if unnamed is None:
            raise
        return (int(unnamed[1]),)
    except RuntimeError as error:  # cuda-bindings' own: the driver has no such function
        if isinstance(error, DeviceError):
            raise
        fail(NEWER_DRIVER, f"{name}: {error}")
    return int(code), *values


def enum(kind: str, name: str) -> Any:
    """A constant: ``enum("CUjit_option", "CU_JIT_LTO")``."""
    return getattr(getattr(bindings(), kind), name)


@contextmanager
def relaxed() -> Generator[None]:
    """Allow this thread calls in a with block that no capture records."""
    mode = enum("CUstreamCaptureMode", "CU_STREAM_CAPTURE_MODE_RELAXED")
    before = call("cuThreadExchangeStreamCaptureMode", mode)
    try:
        yield
    finally:
        call("cuThreadExchangeStreamCaptureMode", before)


@cache
def library() -> ctypes.CDLL | None:
    """The driver's library itself, for the two or three calls whose cost matters; None if it has
    another name than on Linux."""
    bindings()
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


@cache
def address_of(name: str) -> int:
    """The address of a function in the loaded driver; 0 if it is unknown."""
    function = getattr(library(), name, None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def waiting() -> tuple[Callable[[int], int], Callable[[], int]]:
    """cuStreamSynchronize of a stream's number and cuCtxSynchronize, each returning its code.
    cuda-bindings takes four times as long to make an enum member of it."""
    library_object = library()
    if library_object is None:
        driver = bindings()
        return (
            lambda handle: int(driver.cuStreamSynchronize(driver.CUstream(handle))[0]),
            lambda: int(driver.cuCtxSynchronize()[0]),
        )
    stream = library_object.cuStreamSynchronize
    stream.argtypes = (ctypes.c_void_p,)
    return stream, library_object.cuCtxSynchronize


@cache
def ordering() -> tuple[Callable[[int, int], int], Callable[[int, int, int], int]] | None:
    """cuEventRecord of numbers of an event and a stream, and cuStreamWaitEvent of a stream, an
    event and 0, each returning its code; None where the driver's library is not found. Calls by
    cuda-bindings take several times as long."""
    library_object = library()
    if library_object is None:
        return None
    record, wait = library_object.cuEventRecord, library_object.cuStreamWaitEvent
    record.argtypes = ctypes.c_void_p, ctypes.c_void_p
    wait.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint
    return record, wait


HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
"""The type of a host function that the driver calls in stream order, with a number."""


@cache
def host_launcher() -> Callable[[int, Any, int], int]:
    """cuLaunchHostFunc of a stream's number, a HOST_FUNCTION and its number, returning its code.
    cuda-bindings frees what it passes after the first call, and a graph has more.

    Raises:
        DeviceError: NOT_SUPPORTED, the driver's library is not found by its name.
    """
    library_object = library()
    if library_object is None:
        fail(NOT_SUPPORTED, "host functions in streams", "put libcuda.so.1 on the library path")
    function = library_object.cuLaunchHostFunc
    function.argtypes = (ctypes.c_void_p, HOST_FUNCTION, ctypes.c_void_p)
    return function
