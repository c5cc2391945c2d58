"""A nest on the processor and on a device, by the size of its arrays."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

_TIMES = 3


class Threshold:
    """The sizes at which a device is faster than the processor, by what was measured.

    The first call of a size between those that are known runs on both with copies of its arrays,
    once to compile and some times by the clock; larger sizes than one at which the device was
    faster are the device's, and smaller ones than the processor's the processor's.

    Attributes:
        host: the largest size at which the processor was faster, as the number of bits of its
            bytes; -1 for none.
        device: the least at which the device was; None for none.
    """

    def __init__(self) -> None:
        self.host = -1
        self.device: int | None = None

    def is_device(self, arrays: list[Any], times: Callable[[str], float]) -> bool:
        """Whether the device is faster for these arrays.

        Args:
            arrays: NumPy's; others are where they are.
            times: measures the seconds of a call on the ``"host"`` or the ``"device"``.
        """
        size = sum(each.nbytes for each in arrays).bit_length()
        if size <= self.host:
            return False
        if self.device is not None and size >= self.device:
            return True
        is_faster = times("device") < times("host")
        if is_faster:
            self.device = size
        else:
            self.host = size
        return is_faster

    def __str__(self) -> str:
        known = f"the processor's up to {_bytes(self.host)}" if self.host >= 0 else ""
        other = f"the device's from {_bytes(self.device - 1)} on" if self.device else ""
        return ", ".join(each for each in (known, other) if each) or "not measured yet"


def _bytes(bits: int) -> str:
    return f"{1 << max(bits, 0):,} bytes"


def fastest(call: Callable[[], object]) -> float:
    """The least seconds of some calls, behind one that compiles."""
    call()
    found: list[float] = []
    for _ in range(_TIMES):
        start = perf_counter()
        call()
        found.append(perf_counter() - start)
    return min(found)


def copies(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with arrays of their own; the same array twice is one copy."""
    made: dict[int, Any] = {}
    for each in args:
        if isinstance(each, np.ndarray):
            made.setdefault(id(each), each.copy(order="K"))
    return tuple([made.get(id(each), each) for each in args])
