"""The beginning, versions, and the names of errors."""

from __future__ import annotations

from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, NOT_FOUND, fail
from gridlane.abi.state import devices
from gridlane.core.cuda_table import enums
from gridlane.core.error_table import TABLE


@implements("cuInit")
def init(flags: int) -> None:
    """Make the driver ready."""
    if flags:
        fail(INVALID_VALUE, f"the flags are 0, not {flags}")
    devices.initialise()


@implements("cuGetExportTable")
def export_table(number: int) -> None:
    """Refuse: the driver's undocumented tables are not CUDA's interface."""
    fail(NOT_FOUND, "the driver's undocumented tables are not here")


def error_name(number: int) -> bytes | None:
    """The name of an error in the driver."""
    for name, value in enums()["CUresult"].values.items():
        if value == number:
            return name.encode()
    return None


@implements("cuGetErrorName")
def get_error_name(error: int) -> bytes:
    """The name of an error."""
    name = error_name(error)
    return name if name is not None else fail(INVALID_VALUE, f"no error has the number {error}")


@implements("cuGetErrorString")
def get_error_string(error: int) -> bytes:
    """What an error means."""
    if error_name(error) is None:
        fail(INVALID_VALUE, f"no error has the number {error}")
    return meaning(error)


def meaning(error: int) -> bytes:
    """The words of gridlane's table of errors."""
    row = TABLE.get(error)
    return row.meaning.encode() if row else b"no error" if not error else b"an unknown error"
