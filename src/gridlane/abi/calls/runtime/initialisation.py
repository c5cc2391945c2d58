"""Versions, errors by their numbers, and the last error of a thread."""

from __future__ import annotations

from gridlane.abi.calls import initialisation
from gridlane.abi.calls.registry import implements
from gridlane.abi.state import threads
from gridlane.core.cuda_table import enums

UNKNOWN = b"unrecognized error code"


@implements("cudaGetErrorName")
def error_name(error: int) -> bytes:
    """The name of an error."""
    for name, number in enums()["cudaError_t"].values.items():
        if number == error:
            return name.encode()
    return UNKNOWN


@implements("cudaGetErrorString")
def error_string(error: int) -> bytes:
    """What an error means."""
    return UNKNOWN if error_name(error) == UNKNOWN else initialisation.meaning(error)


@implements("cudaGetLastError")
def take_last_error() -> None:
    """Return the last error of this thread, and forget it; the fault of a kernel stays until the
    device is reset."""
    try:
        threads.raise_last()
    finally:
        threads.forget()
