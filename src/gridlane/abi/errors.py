"""The one way into the functions of ``calls``: checks before, and errors after."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from gridlane.abi.calls.registry import Call
from gridlane.abi.failure import NOT_SUPPORTED, UNKNOWN, Failure, failure_of
from gridlane.abi.state import contexts, devices, threads
from gridlane.abi.table import enums
from gridlane.abi.table.functions import Function
from gridlane.core import trace
from gridlane.core.errors import GridlaneError

UNDONE = "gridlane does not have it"


def called(row: Function, call: Call | None, values: Sequence[Any]) -> tuple[int, tuple[Any, ...]]:
    """Call a function.

    Args:
        call: what it does; None for one that is refused.
        values: one for each parameter that is not given back.

    Returns:
        The number of its error, and what it gives back, () after an error.
    """
    try:
        if call is None:
            raise Failure(NOT_SUPPORTED, f"{row.base}: {row.refused or UNDONE}")
        if row.api == "runtime":
            if row.needs != "nothing":
                threads.ready()
        elif row.needs != "nothing":
            devices.check_initialised()
            if row.needs == "context":
                contexts.current()
        made = call(*values)
    except (Failure, GridlaneError, MemoryError, OSError) as error:
        number, what = _told(error)
        if trace.enabled():
            print(f"gridlane: {row.base}: {number}: {what}", file=sys.stderr)
        if row.api != "runtime":
            return number, ()
        number = number if number in _of_runtime() else UNKNOWN
        if row.family != "errors":
            threads.note(number)
        return number, ()
    if made is None:
        return 0, ()
    return 0, made if isinstance(made, tuple) else (made,)


def _told(error: BaseException) -> tuple[int, str]:
    """The number and the words of an error. Who keeps the error itself keeps the frames that raised
    it, and memory that these are about to free."""
    failure = failure_of(error)
    return failure.number, failure.what


@cache
def _of_runtime() -> frozenset[int]:
    """The numbers that the runtime has; a few of the driver's are not among them."""
    return frozenset(enums()["cudaError_t"].values.values())
