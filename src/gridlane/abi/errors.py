"""The one way into the functions of ``calls``: checks before, and errors after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NoReturn

from gridlane.abi.calls.registry import Call
from gridlane.abi.failure import NOT_READY, NOT_SUPPORTED, UNKNOWN, Failure, failure_of
from gridlane.abi.state import captures, contexts, devices, notices, threads
from gridlane.core import trace
from gridlane.core.cuda_table import enums
from gridlane.core.cuda_table.functions import Function
from gridlane.core.device_errors import noted
from gridlane.core.errors import GridlaneError

UNDONE = "gridlane does not have it"


Way = Callable[..., tuple[int, tuple[Any, ...]]]
_ERRORS = Failure, GridlaneError, MemoryError, OSError
_LAUNCHES = frozenset(
    {
        "cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync", "cuLaunchKernel", "cuLaunchKernelEx",
        "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernelMultiDevice", "cuGraphLaunch",
        "cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel",
        "cudaLaunchCooperativeKernelMultiDevice", "cudaGraphLaunch",
    }
)  # fmt: skip


def way_in(row: Function, call: Call | None) -> Way:
    """A function with the checks before it, prepared for any number of calls.

    Args:
        call: what it does; None for one that is refused.

    Returns:
        What takes a value for each parameter that is not given back, and returns the number of the
        error, and what is given back; () after most errors.
    """
    check = _check(row) if call is not None else None
    work = call or _refusing(row)

    def enter(*values: Any) -> tuple[int, tuple[Any, ...]]:
        try:
            if check is not None:
                check()
            results = work(*values)
        except _ERRORS as error:
            return _answered(row, error)
        if results is None:
            return 0, ()
        return 0, results if isinstance(results, tuple) else (results,)

    return enter


def called(row: Function, call: Call | None, values: Sequence[Any]) -> tuple[int, tuple[Any, ...]]:
    """Call a function; see ``way_in``."""
    return way_in(row, call)(*values)


def _refusing(row: Function) -> Call:
    def refuse(*values: Any) -> NoReturn:
        raise Failure(NOT_SUPPORTED, f"{row.base}: {row.refused or UNDONE}")

    return refuse


def _check(row: Function) -> Callable[[], object] | None:
    """What raises unless the state is what a row needs. A function that is refused is so in any."""
    if row.needs == "nothing":
        return None
    is_runtime = row.api == "runtime"
    checks: list[Callable[[], object]] = [
        threads.ready if is_runtime else devices.check_initialised
    ]
    if row.needs == "context" and not is_runtime:
        checks.append(contexts.current)
    if row.base in captures.UNSAFE:
        checks.append(partial(captures.check_unsafe, row.base))

    def check() -> None:
        for each in checks:
            each()

    return check if len(checks) > 1 else checks[0]


def _answered(row: Function, error: BaseException) -> tuple[int, tuple[Any, ...]]:
    """What a call that raised returns."""
    number, what = _told(error)
    if number != NOT_READY and row.family != "errors":  # the answers to questions
        noted(error)
    given = error.given if isinstance(error, Failure) else ()
    if row.base in _LAUNCHES:
        notices.refused(row.base, error)
    if trace.enabled():
        trace.write(f"gridlane: {row.base}: {number}: {what}")
    if row.api != "runtime":
        return number, given
    number = number if number in _of_runtime() else UNKNOWN
    if row.family != "errors":
        threads.note(number)
    else:
        notices.fetched()
    return number, given


def _told(error: BaseException) -> tuple[int, str]:
    """The number and the words of an error. The error itself would keep alive the frames that
    raised it, and the memory that these are about to free."""
    failure = failure_of(error)
    return failure.number, failure.what


@cache
def _of_runtime() -> frozenset[int]:
    """The numbers that the runtime has; a few of the driver's are not among them."""
    return frozenset(enums()["cudaError_t"].values.values())
