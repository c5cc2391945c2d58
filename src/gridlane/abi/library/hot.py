"""Publish to a thread which calls C may answer alone; see ``hot.h``.

A call that enters Python costs a microsecond or more, so C answers the most frequent calls in the
states in which they succeed. Python's state stays the truth: it publishes its answers with the
numbers of ``core.epochs`` from before it read its state.
"""

from __future__ import annotations

import ctypes
import threading

from gridlane.abi.library import hot_events, hot_launches, hot_memory, hot_streams, ready
from gridlane.abi.state import contexts, devices, notices, pools, streams, threads
from gridlane.abi.state.contexts import Context
from gridlane.core import epochs
from gridlane.core.config import config
from gridlane.core.embedding import is_guest
from gridlane.core.endings import at_end
from gridlane.native import refuse
from gridlane.runtime.queues.native_queues import native

DEVICE, CONTEXT, NO_ERROR, READY, IDLE, ALLOCATES = 1, 2, 4, 8, 32, 128


class _Known(ctypes.Structure):
    """``struct gl_thread``."""

    _fields_ = (
        ("state", ctypes.c_uint64),
        ("pools", ctypes.c_uint64),
        ("context", ctypes.c_uint64),
        ("own", ctypes.c_uint64),
        ("device", ctypes.c_int32),
        ("chosen", ctypes.c_int32),
        ("knows", ctypes.c_uint32),
    )


class _Table(ctypes.Structure):
    """The addresses in ``hot.c``."""

    _fields_ = (
        ("state", ctypes.c_uint64),
        ("pools", ctypes.c_uint64),
        ("code", ctypes.c_uint64),
        ("offers", ctypes.c_uint64),
        ("memory", ctypes.c_uint64),
        ("streams", ctypes.c_uint64),
        ("events", ctypes.c_uint64),
        ("queues", ctypes.c_uint64),
        ("unread", ctypes.c_uint64),
        ("sizes", ctypes.c_uint64),
    )


class _Offer:
    """Whether Python publishes: not before C requests it, nor at the process's end."""

    def __init__(self) -> None:
        self.offers: ctypes.c_int | None = None

    def begin(self, table: _Table, tells: bool) -> None:
        """Publish from now on: Python's state is the truth, and the queues are those of both."""
        queues = ctypes.c_uint64.from_address(table.queues)
        if queues.value:
            native.adopt(queues.value)
        else:
            queues.value = native.state()
        if not hot_memory.begin(table.memory):
            return
        for epoch, address in (
            (epochs.state, table.state),
            (epochs.pools, table.pools),
            (epochs.code, table.code),
        ):
            epoch.lies_at(address)
        self.offers = ctypes.c_int.from_address(table.offers)
        hot_launches.begin()
        hot_streams.begin(table.streams)
        hot_events.begin(table.events)
        hot_memory.take_over_blocks()
        if not tells:
            return
        self.offers.value = 1
        at_end(self.end)

    def end(self) -> None:
        """Publish no more, as Python ends."""
        if self.offers is not None:
            self.offers.value = 0
        epochs.state.changed()


_offer = _Offer()
_lock = threading.Lock()


class _End:
    """Expires what C has of a thread when the thread's Python state ends."""

    def __del__(self) -> None:
        epochs.state.changed()


_of_thread = threading.local()


def _check_sizes(address: int) -> None:
    """Compare the records of a library with those of Python's module: both use the same queues."""
    own = native.sizes()
    sizes = tuple((ctypes.c_uint32 * len(own)).from_address(address))
    if own != sizes:
        refuse(f"its records have the sizes {own} in place of {sizes}")


def begin(address: int) -> None:
    """Prepare for a library whose table is at an address; 0 for one that answers nothing alone.

    Raises:
        CompileError: Python's module has queues of another layout.
    """
    if not address:
        return
    table = _Table.from_address(address)
    _check_sizes(table.sizes)
    tells = not config().trace and config().native
    is_ahead = ctypes.c_uint64.from_address(table.state).value == ready.AHEAD
    if is_guest() and not config().quiet:
        ctypes.c_uint64.from_address(table.unread).value = notices.address_of_unread()
    with _lock:
        if _offer.offers is None and (tells or is_ahead):
            _offer.begin(table, tells)


def tell(address: int) -> int:
    """Publish to this thread what C may answer alone.

    Args:
        address: of its ``struct gl_thread``.
    """
    known = _Known.from_address(address)
    known.knows = 0
    known.state, known.pools = epochs.state.number, epochs.pools.number
    if not offers():
        return 0
    if not hasattr(_of_thread, "end"):
        _of_thread.end = _End()
    context = contexts.top()
    known.context = context.handle if context is not None else 0
    known.own = streams.handle_of_thread(context) if context is not None else 0
    known.device, known.chosen = _devices(context)
    knows = 0
    if devices.is_initialised():
        knows = CONTEXT
        knows |= DEVICE if known.device >= 0 else 0
        knows |= IDLE if context is not None and not pools.holds_any(context.device) else 0
        if context is not None and hot_memory.is_fit(context):
            knows |= READY | (ALLOCATES if hot_memory.watch(context) else 0)
    if not threads.last():
        knows |= NO_ERROR
    known.knows = knows
    return 0


def _devices(context: Context | None) -> tuple[int, int]:
    """The device of this thread, and the one for which cudaSetDevice changes nothing; -1 for
    none."""
    chosen = threads.chosen()
    if context is None or not (context.handle or context.is_primary):
        return -1 if chosen is None else chosen, -1
    bound = context.is_primary and hot_memory.is_alive(context) and chosen == context.ordinal
    bound = bound and contexts.primary(context.ordinal).in_runtime
    return context.ordinal, context.ordinal if bound else -1


def offers() -> bool:
    """Whether C answers calls alone."""
    return _offer.offers is not None and bool(_offer.offers.value)
