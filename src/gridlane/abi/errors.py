"""The one way into the functions of ``calls``: checks before, and errors after."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from gridlane.abi.calls.registry import Call
from gridlane.abi.failure import NOT_SUPPORTED, Failure, failure_of
from gridlane.abi.state import captures, contexts, devices
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
        The number of its error, and what it gives back; () after most errors.
    """
    try:
        if call is None:
            raise Failure(NOT_SUPPORTED, f"{row.base}: {row.refused or UNDONE}")
        if row.needs != "nothing":
            devices.check_initialised()
            if row.needs == "context":
                contexts.current()
            captures.check_unsafe(row.base)
        made = call(*values)
    except (Failure, GridlaneError, MemoryError, OSError) as error:
        failure = failure_of(error)
        if trace.enabled():
            print(f"gridlane: {row.base}: {failure.number}: {failure.what}", file=sys.stderr)
        return failure.number, failure.given
    if made is None:
        return 0, ()
    return 0, made if isinstance(made, tuple) else (made,)
