"""The device's stream behind what numba takes for a stream."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from gridlane.core.process_bound import ProcessBound
from gridlane.launch import current
from gridlane.runtime import protocol


class NativeStream(ProcessBound):
    """What stands for a stream of the device, ``native``."""

    native: protocol.Stream
    _instead = "make one with cuda.stream() where it is used"


def number_of(stream: Any) -> int:
    """The number of a stream that is not ours: None, its number, or another library's stream."""
    if hasattr(stream, "__cuda_stream__"):
        _, handle = stream.__cuda_stream__()
        return int(handle)
    if stream is None:
        return 0
    if _is_number(stream):
        return int(stream)
    raise TypeError(f"a stream is one of cuda.stream(), or 0; got {stream!r}")


def _is_number(value: Any) -> bool:
    """Whether a value is an integer, or counts as one, and is no fraction."""
    if isinstance(value, Integral):
        return True
    return hasattr(value, "__int__") and not isinstance(value, Real)


def native_stream(stream: Any) -> protocol.Stream:
    """The device's stream; DeviceError INVALID_HANDLE where a number has none."""
    if isinstance(stream, NativeStream):
        return stream.native
    return current.device().stream_at(number_of(stream))
