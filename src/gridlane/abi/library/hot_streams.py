"""Streams of a program that C and Python use by one native queue; see ``hot_order.c``."""

from __future__ import annotations

import ctypes
from typing import Any, cast

from gridlane.abi.state import contexts, streams
from gridlane.abi.state.streams import Stream
from gridlane.runtime import protocol
from gridlane.runtime.host_device import HostDevice
from gridlane.runtime.queues.host_stream import OwnHostStream
from gridlane.runtime.queues.native_queues import native

_u32, _u64, _pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p


class _Functions:
    """The functions of ``struct gl_streams``; see ``handles.Outside``. They are short, so the GIL
    stays held."""

    def __init__(self, address: int) -> None:
        addresses = (_u64 * 6).from_address(address)
        self._add = ctypes.PYFUNCTYPE(ctypes.c_int, _u64, _u64, _u64)(addresses[0])
        self._adopt = ctypes.PYFUNCTYPE(_pointer, _u64, _pointer)(addresses[1])
        self._withdraw = ctypes.PYFUNCTYPE(None, _u64)(addresses[2])
        self._first_ended = ctypes.PYFUNCTYPE(_u64)(addresses[3])
        self._forget_ended = ctypes.PYFUNCTYPE(None, _u64)(addresses[4])
        count: int = ctypes.PYFUNCTYPE(_u64)(addresses[5])()
        self._ended = _u32.from_address(count)

    def settle(self) -> None:
        """Drop the streams and events that C ended."""
        while self._ended.value:
            with streams.adopting:  # any thread that adopts one of them has finished
                handle: int = self._first_ended()
                for each in (streams.streams, streams.events):
                    ended = each.known(handle)
                    if ended is not None:
                        streams.forget(ended)
                self._forget_ended(handle)  # after that: other threads read the count

    def adopt(self, number: int) -> None:
        """Adopt a stream that C made."""
        results = (_u64 * 3)()
        with streams.adopting:
            address: Any = self._adopt(number, ctypes.addressof(results))
            if not address:
                return
            context = contexts.handles.find(results[0])
            flags, priority = results[1], ctypes.c_int64(results[2]).value
            if context is None or context.ends_now:  # by another thread
                native.release_queue(address)
                return
            assert isinstance(context.device, HostDevice)  # C makes no others
            own = cast("protocol.Stream", OwnHostStream(context.device, address))
            stream = Stream(own, context, flags, priority, number, number)
            if streams.streams.put(number, stream):  # or a signal handler did so
                streams.own(stream)

    def add(self, target: Stream) -> None:
        """Add a stream that Python made, if C may use it. Without memory, and in the child of a
        fork, C does not have it, so that calls about it enter Python."""
        if isinstance(target.queue, OwnHostStream):
            self._add(target.handle, target.context.handle, target.queue.queue.address)

    def withdraw(self, number: int) -> None:
        """Remove a stream: no thread finds it any more."""
        self._withdraw(number)


def begin(address: int) -> None:
    """Allow C to make, use and end streams.

    Args:
        address: of ``struct gl_streams`` of any library: all share their streams.
    """
    functions = _Functions(address)
    streams.streams.outside = functions
    for each in streams.streams.objects():
        functions.add(each)
