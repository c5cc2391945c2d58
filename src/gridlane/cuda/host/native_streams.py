"""The device's stream of any object that numba accepts as a stream."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from gridlane.core.process_bound import ProcessBound
from gridlane.launch import current
from gridlane.runtime import protocol


class NativeStream(ProcessBound):
    """An object that represents a stream of the device, ``native``."""

    native: protocol.Stream
    _instead = "make one with cuda.stream() where it is used"


def number_of(stream: Any) -> int:
    """The number of a foreign stream: of None, a number, or another library's stream."""
    if hasattr(stream, "__cuda_stream__"):
        _, handle = stream.__cuda_stream__()
        return int(handle)
    if stream is None:
        return 0
    if _is_number(stream):
        return int(stream)
    raise TypeError(f"a stream is one of cuda.stream(), or 0; got {stream!r}")


def _is_number(value: Any) -> bool:
    """Whether a value is an integer, or converts to one and is no real number."""
    if isinstance(value, Integral):
        return True
    return hasattr(value, "__int__") and not isinstance(value, Real)


def native_stream(stream: Any) -> protocol.Stream:
    """The device's stream; DeviceError INVALID_HANDLE if no stream has the number."""
    if isinstance(stream, NativeStream):
        return stream.native
    return current.device().stream_at(number_of(stream))
