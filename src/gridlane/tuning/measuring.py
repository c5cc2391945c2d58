"""The time of calls on this thread's device."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridlane.core.device_errors import handled
from gridlane.core.errors import DeviceError
from gridlane.launch import current
from gridlane.runtime.protocol import Device, Event

_CACHE = 256 << 20
"""Bytes that fill the second cache of any GPU."""
_LEAST_CACHE = 1 << 20


def cache_filler(device: Device) -> Callable[[], None]:
    """The call that empties a GPU's cache of what was measured before; on the host's own devices
    there is none to empty. A device whose arrays are smaller has a smaller cache."""
    if device.host_visible:
        return lambda: None
    size = _CACHE
    while size >= _LEAST_CACHE:
        try:
            buffer = device.allocate(size)
        except DeviceError as error:
            handled(error)
            size //= 2
            continue
        return lambda: device.default_stream.fill(buffer.address, 0, size)
    return lambda: None


def milliseconds(
    call: Callable[[], Any],
    warmup: float,
    rep: float,
    before: Callable[[], Any] | None = None,
    marks: list[tuple[Event, Event]] | None = None,
) -> list[float]:
    """The times of single calls, by the device's events.

    The first call, which may compile, is never counted. The second one is the only one if it takes
    longer than ``warmup`` and ``rep``.

    Args:
        warmup, rep: milliseconds to spend on calls that are not counted, and on those that are.
        before: called in front of each call, not measured.
        marks: to which the calls add events before and behind what is measured of them; None to
            measure all that they do.
    """
    device = current.device()
    stream = device.default_stream
    clear = cache_filler(device)

    def measured() -> list[tuple[Event, Event]]:
        if before is not None:
            before()
        clear()
        start, end = device.new_event(), device.new_event()
        known = 0 if marks is None else len(marks)
        start.record(stream)
        call()
        end.record(stream)
        return [(start, end)] if marks is None else marks[known:]

    call()
    stream.synchronize()
    begin = time.perf_counter_ns()
    calls = [measured()]
    stream.synchronize()
    if (time.perf_counter_ns() - begin) / 1e6 <= warmup + rep:
        begin = time.perf_counter_ns()
        for _ in range(5):
            clear()
            call()
        stream.synchronize()
        once = max((time.perf_counter_ns() - begin) / 5e6, 1e-4)
        for _ in range(max(1, int(warmup / once))):
            call()
        calls = [measured() for _ in range(max(1, int(rep / once)))]
        stream.synchronize()
    return [sum(start.elapsed_ms(end) for start, end in each) for each in calls]


def summarised(
    times: Sequence[float], quantiles: Sequence[float] | None, return_mode: str
) -> float | list[float]:
    """Times as one number, or as the quantiles that are asked for.

    Raises:
        ValueError: ``return_mode`` is no mode, or a quantile is none.

    >>> summarised([1.0, 2.0, 6.0], None, "median")
    2.0
    """
    if quantiles is not None:
        found = [float(np.quantile(times, each)) for each in quantiles]
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return [*times]
    if return_mode not in _MODES:
        raise ValueError(f"return_mode is all or one of {', '.join(_MODES)}, not {return_mode!r}")
    return float(_MODES[return_mode](times))


_MODES: dict[str, Callable[[Sequence[float]], Any]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
}


def sampled(
    call: Callable[[], Any],
    seconds: float,
    before: Callable[[], Any] | None = None,
    clear: Callable[[], None] | None = None,
    most: int = 30,
) -> list[float]:
    """The times of single calls, in milliseconds, as many as fit into some seconds: at least one.

    Args:
        before: called in front of each call, not measured.
        clear: empties caches; see ``cache_filler``.
        most: the most calls.
    """
    device = current.device()
    stream, times = device.default_stream, list[float]()
    end = time.monotonic() + seconds
    while not times or (len(times) < most and time.monotonic() < end):
        if before is not None:
            before()
        if clear is not None:
            clear()
        first, last = device.new_event(), device.new_event()
        first.record(stream)
        call()
        last.record(stream)
        stream.synchronize()
        times.append(first.elapsed_ms(last))
    return times
