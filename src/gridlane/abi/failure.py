"""The error of a call: CUDA's number, and the words for a trace."""

from __future__ import annotations

from typing import Any, NoReturn

from gridlane.core.errors import (
    ArgumentError,
    CompileError,
    DeviceError,
    KernelError,
    LaunchError,
    PtxError,
    TargetError,
)

SUCCESS = 0
INVALID_VALUE = 1
OUT_OF_MEMORY = 2
NOT_INITIALIZED = 3
DEINITIALIZED = 4
INVALID_CONFIGURATION = 9
INVALID_SYMBOL = 13
INVALID_DEVICE_FUNCTION = 98
NO_DEVICE = 100
INVALID_DEVICE = 101
INVALID_IMAGE = 200
INVALID_CONTEXT = 201
NO_BINARY_FOR_GPU = 209
UNSUPPORTED_LIMIT = 215
INVALID_PTX = 218
FILE_NOT_FOUND = 301
INVALID_HANDLE = 400
ILLEGAL_STATE = 401
NOT_FOUND = 500
NOT_READY = 600
COOPERATIVE_LAUNCH_TOO_LARGE = 720
NOT_PERMITTED = 800
ILLEGAL_ADDRESS = 700
PRIMARY_CONTEXT_ACTIVE = 708
CONTEXT_IS_DESTROYED = 709
ASSERT = 710
LAUNCH_FAILED = 719
NOT_SUPPORTED = 801
STREAM_CAPTURE_UNSUPPORTED = 900
STREAM_CAPTURE_INVALIDATED = 901
STREAM_CAPTURE_MERGE = 902
STREAM_CAPTURE_UNMATCHED = 903
STREAM_CAPTURE_UNJOINED = 904
STREAM_CAPTURE_ISOLATION = 905
STREAM_CAPTURE_IMPLICIT = 906
CAPTURED_EVENT = 907
STREAM_CAPTURE_WRONG_THREAD = 908
GRAPH_EXEC_UPDATE_FAILURE = 910
INVALID_CLUSTER_SIZE = 912
UNKNOWN = 999
STICKY = frozenset({*range(700, 703), 710, 714, 715, 716, 717, 718, 719})
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


def failure_of(error: BaseException) -> Failure:
    """The failure that an exception of gridlane's is to a caller of CUDA.

    >>> failure_of(PtxError("line 1: no opcode")).number
    218
    """
    if isinstance(error, Failure):
        return error
    if isinstance(error, DeviceError):
        return Failure(error.number or UNKNOWN, str(error))
    if isinstance(error, KernelError):
        name = getattr(error, "exception", "")
        return Failure(ASSERT if name == "AssertionError" else LAUNCH_FAILED, str(error))
    for kind, number in _NUMBERS:
        if isinstance(error, kind):
            return Failure(number, str(error))
    raise error


_NUMBERS: tuple[tuple[type[BaseException], int], ...] = (
    (PtxError, INVALID_PTX),
    (TargetError, NOT_SUPPORTED),
    (CompileError, INVALID_IMAGE),
    (LaunchError, INVALID_VALUE),
    (ArgumentError, INVALID_VALUE),
    (MemoryError, OUT_OF_MEMORY),
    (FileNotFoundError, FILE_NOT_FOUND),
)
