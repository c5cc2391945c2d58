"""Functions of the driver by name and version.

In Python they have no addresses; the C library answers with its own.
"""

from __future__ import annotations

from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED, fail
from gridlane.abi.state import devices
from gridlane.core.cuda_table.functions import functions

_NOT_FOUND, _OLDER = 1, 2
"""The numbers of CUdriverProcAddressQueryResult and cudaDriverEntryPointQueryResult."""
_OLDEST = 2000


@implements("cuGetProcAddress_v2")
def address(symbol: bytes | None, version: int, flags: int) -> tuple[int, int]:
    """No address: CUDA has no such function, or it is newer than the requested version.

    Raises:
        Failure: NOT_SUPPORTED for a function that there is.
    """
    if not symbol or flags not in (0, 1, 2) or not _OLDEST <= version <= devices.VERSION:
        fail(INVALID_VALUE, f"the function {symbol!r} of CUDA {version}, with the flags {flags}")
    name = symbol.decode(errors="replace")
    versions = [
        1000 * row.since[0] + 10 * row.since[1]
        for row in functions("driver").values()
        if row.base == name
    ]
    if not versions:
        return 0, _NOT_FOUND
    if min(versions) > version:
        return 0, _OLDER
    fail(
        NOT_SUPPORTED,
        f"{name} has no address in Python: call gridlane.cuda.driver.{name}; gridlane's C library "
        "gives addresses",
    )


@implements("cuGetProcAddress")
def address_alone(symbol: bytes | None, version: int, flags: int) -> int:
    """See ``address``; NOT_FOUND for a function without an address."""
    address_of_function, status = address(symbol, version, flags)
    return address_of_function if not status else fail(NOT_FOUND, f"{symbol!r} of CUDA {version}")
