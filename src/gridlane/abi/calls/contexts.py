"""Contexts and their limits."""

from __future__ import annotations

from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import (
    INVALID_CONTEXT,
    INVALID_VALUE,
    PRIMARY_CONTEXT_ACTIVE,
    UNSUPPORTED_LIMIT,
    fail,
)
from gridlane.abi.state import contexts
from gridlane.abi.state.contexts import Context, check_flags
from gridlane.abi.struct import Struct
from gridlane.core.config import config
from gridlane.core.cuda_table import enums
from gridlane.core.errors import ArgumentError
from gridlane.modules import heap

_FLAGS = 0x1FF
"""The bits of CUctx_flags."""

_LIMITS = enums()["CUlimit"].values
_STACK, _PRINTF, _HEAP = (
    _LIMITS[f"CU_LIMIT_{name}"] for name in ("STACK_SIZE", "PRINTF_FIFO_SIZE", "MALLOC_HEAP_SIZE")
)
_SYNC_DEPTH, _PENDING, _L2_FETCH, _PERSISTING = (
    _LIMITS[f"CU_LIMIT_{name}"]
    for name in (
        "DEV_RUNTIME_SYNC_DEPTH",
        "DEV_RUNTIME_PENDING_LAUNCH_COUNT",
        "MAX_L2_FETCH_GRANULARITY",
        "PERSISTING_L2_CACHE_SIZE",
    )
)
"""Limits that are noted: nothing here depends on them."""


@implements("cuDevicePrimaryCtxSetFlags_v2")
def set_primary_flags(ordinal: int, flags: int) -> None:
    """Set the flags of a device's primary context."""
    check_flags(flags, _FLAGS)
    contexts.primary(ordinal).flags = flags


@implements("cuDevicePrimaryCtxGetState")
def primary_state(ordinal: int) -> tuple[int, int]:
    """The flags of a device's primary context, and whether it exists."""
    context = contexts.primary(ordinal)
    return context.flags, int(context.context is not None and bool(context.context.handle))


def created(flags: int, ordinal: int) -> int:
    """Create a context and make it current."""
    check_flags(flags, _FLAGS)
    context = Context(ordinal, flags)
    contexts.push(context)
    return context.handle


@implements("cuCtxCreate_v4")
def create(params: Struct | None, flags: int, ordinal: int) -> int:
    """Create a context and make it current."""
    if params is not None and (params.numExecAffinityParams or params.cigParams):
        fail(INVALID_VALUE, "a context has no part of a device to itself here")
    return created(flags, ordinal)


@implements("cuCtxDestroy_v2")
def destroy(handle: int) -> None:
    """End a context; it leaves this thread's stack if it is current."""
    context = contexts.of_handle(handle) if handle else fail(INVALID_CONTEXT, "no context")
    if any(contexts.primary(n).context is context for n in (context.ordinal,)):
        fail(PRIMARY_CONTEXT_ACTIVE, "a primary context ends by cuDevicePrimaryCtxRelease")
    if contexts.top() is context:
        contexts.pop()
    context.end()


@implements("cuCtxGetCurrent")
def get_current() -> int:
    """The current context, or 0."""
    context = contexts.top()
    return context.handle if context is not None else 0


@implements("cuCtxSetFlags")
def set_flags(flags: int) -> None:
    """Set the flags of the current context."""
    check_flags(flags, _FLAGS)
    contexts.current().flags = flags


def default_limits() -> dict[int, int]:
    """The limits before a program sets them, as gridlane's settings have them."""
    return {
        **{_STACK: config().stack, _PRINTF: 1 << 20, _HEAP: config().heap},
        **{_SYNC_DEPTH: 2, _PENDING: 2048, _L2_FETCH: 64, _PERSISTING: 0},
    }


@implements("cuCtxGetLimit")
def get_limit(limit: int) -> int:
    """A limit of the current context."""
    known = default_limits() | contexts.current().limits
    if limit not in known:
        fail(UNSUPPORTED_LIMIT, f"the limit {limit} does not apply to gridlane's devices")
    return known[limit]


@implements("cuCtxSetLimit")
def set_limit(limit: int, value: int) -> None:
    """Set a limit. The size of stacks is a setting of the process: one within it is noted, a larger
    one is refused; the heap may grow until a kernel uses it."""
    context, known = contexts.current(), default_limits()
    if limit not in known:
        fail(UNSUPPORTED_LIMIT, f"the limit {limit} does not apply to gridlane's devices")
    if limit == _STACK and value > known[limit]:
        fail(INVALID_VALUE, f"{value} bytes: set GRIDLANE_STACK={value} before the program starts")
    if limit == _HEAP:
        try:
            heap.resize(context.device, value)
        except ArgumentError as error:
            fail(INVALID_VALUE, str(error))
    context.limits[limit] = value


@implements("cuCtxSetSharedMemConfig")
def set_shared_config(width: int) -> None:
    """Note a width of shared memory's banks, which no device allows programs to choose."""
    if width not in enums()["CUsharedconfig"].values.values():
        fail(INVALID_VALUE, f"no width has the number {width}")
    contexts.current().kept["banks"] = width
