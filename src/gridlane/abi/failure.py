"""The error of a call: CUDA's number, and the words for a trace."""

from __future__ import annotations

from typing import Any, NoReturn

from gridlane.core.error_kinds import KINDS
from gridlane.core.error_table import NAMES
from gridlane.core.errors import (
    MARK,
    ArgumentError,
    CompileError,
    DeviceError,
    KernelError,
    LaunchError,
    PtxError,
    TargetError,
)

SUCCESS = NAMES["CUDA_SUCCESS"]
INVALID_VALUE = NAMES["CUDA_ERROR_INVALID_VALUE"]
OUT_OF_MEMORY = NAMES["CUDA_ERROR_OUT_OF_MEMORY"]
NOT_INITIALIZED = NAMES["CUDA_ERROR_NOT_INITIALIZED"]
DEINITIALIZED = NAMES["CUDA_ERROR_DEINITIALIZED"]
INVALID_CONFIGURATION = NAMES["cudaErrorInvalidConfiguration"]
INVALID_SYMBOL = NAMES["cudaErrorInvalidSymbol"]
INVALID_DEVICE_FUNCTION = NAMES["cudaErrorInvalidDeviceFunction"]
NO_DEVICE = NAMES["CUDA_ERROR_NO_DEVICE"]
INVALID_DEVICE = NAMES["CUDA_ERROR_INVALID_DEVICE"]
INVALID_IMAGE = NAMES["CUDA_ERROR_INVALID_IMAGE"]
INVALID_CONTEXT = NAMES["CUDA_ERROR_INVALID_CONTEXT"]
NO_BINARY_FOR_GPU = NAMES["CUDA_ERROR_NO_BINARY_FOR_GPU"]
UNSUPPORTED_LIMIT = NAMES["CUDA_ERROR_UNSUPPORTED_LIMIT"]
INVALID_PTX = NAMES["CUDA_ERROR_INVALID_PTX"]
FILE_NOT_FOUND = NAMES["CUDA_ERROR_FILE_NOT_FOUND"]
INVALID_HANDLE = NAMES["CUDA_ERROR_INVALID_HANDLE"]
ILLEGAL_STATE = NAMES["CUDA_ERROR_ILLEGAL_STATE"]
NOT_FOUND = NAMES["CUDA_ERROR_NOT_FOUND"]
NOT_READY = NAMES["CUDA_ERROR_NOT_READY"]
COOPERATIVE_LAUNCH_TOO_LARGE = NAMES["CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"]
NOT_PERMITTED = NAMES["CUDA_ERROR_NOT_PERMITTED"]
ILLEGAL_ADDRESS = NAMES["CUDA_ERROR_ILLEGAL_ADDRESS"]
PRIMARY_CONTEXT_ACTIVE = NAMES["CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"]
CONTEXT_IS_DESTROYED = NAMES["CUDA_ERROR_CONTEXT_IS_DESTROYED"]
ASSERT = NAMES["CUDA_ERROR_ASSERT"]
LAUNCH_FAILED = NAMES["CUDA_ERROR_LAUNCH_FAILED"]
NOT_SUPPORTED = NAMES["CUDA_ERROR_NOT_SUPPORTED"]
STREAM_CAPTURE_UNSUPPORTED = NAMES["CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"]
STREAM_CAPTURE_INVALIDATED = NAMES["CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"]
STREAM_CAPTURE_MERGE = NAMES["CUDA_ERROR_STREAM_CAPTURE_MERGE"]
STREAM_CAPTURE_UNMATCHED = NAMES["CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"]
STREAM_CAPTURE_UNJOINED = NAMES["CUDA_ERROR_STREAM_CAPTURE_UNJOINED"]
STREAM_CAPTURE_ISOLATION = NAMES["CUDA_ERROR_STREAM_CAPTURE_ISOLATION"]
STREAM_CAPTURE_IMPLICIT = NAMES["CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"]
CAPTURED_EVENT = NAMES["CUDA_ERROR_CAPTURED_EVENT"]
STREAM_CAPTURE_WRONG_THREAD = NAMES["CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"]
GRAPH_EXEC_UPDATE_FAILURE = NAMES["CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"]
INVALID_CLUSTER_SIZE = NAMES["CUDA_ERROR_INVALID_CLUSTER_SIZE"]
UNKNOWN = NAMES["CUDA_ERROR_UNKNOWN"]
STICKY = frozenset(
    NAMES[f"CUDA_ERROR_{name}"]
    for name in (
        *("ILLEGAL_ADDRESS", "LAUNCH_OUT_OF_RESOURCES", "LAUNCH_TIMEOUT", "ASSERT"),
        *("HARDWARE_STACK_ERROR", "ILLEGAL_INSTRUCTION", "MISALIGNED_ADDRESS"),
        *("INVALID_ADDRESS_SPACE", "INVALID_PC", "LAUNCH_FAILED"),
    )
)
"""The numbers of failed kernels, which stay with the context; see CUDA's documentation of each."""


class Failure(Exception):
    """A call failed with a number of CUresult.

    Attributes:
        given: the results that the call returns all the same.
    """

    def __init__(self, number: int, what: str = "", given: tuple[Any, ...] = ()) -> None:
        super().__init__(number, what)
        self.number, self.what, self.given = number, what, given


def fail(number: int, what: str = "") -> NoReturn:
    """Raise a failure; ``what`` describes the failed request."""
    raise Failure(number, what)


def same(failure: Failure, error: BaseException) -> Failure:
    """The failure, which is the same one as an error: the history of errors has both once."""
    mark = vars(error).get(MARK)
    if mark is not None:
        vars(failure)[MARK] = mark
    return failure


def failure_of(error: BaseException) -> Failure:
    """The failure that an exception of gridlane's is to a caller of CUDA.

    >>> failure_of(PtxError("line 1: no opcode")).number
    218
    """
    return error if isinstance(error, Failure) else same(_failure_of(error), error)


def _failure_of(error: BaseException) -> Failure:
    if isinstance(error, DeviceError):
        return Failure(error.number or UNKNOWN, str(error))
    if isinstance(error, KernelError):
        name = getattr(error, "exception", "")
        return Failure(ASSERT if name == "AssertionError" else LAUNCH_FAILED, str(error))
    for kind, number in _NUMBERS:
        if isinstance(error, kind):
            return Failure(number, str(error))
    raise error


_NUMBERS: tuple[tuple[type[BaseException], int], ...] = tuple(
    (kind, KINDS[kind].number)
    for kind in (
        *(PtxError, TargetError, CompileError, LaunchError, ArgumentError),
        *(MemoryError, FileNotFoundError),
    )
)
