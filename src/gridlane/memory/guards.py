"""Guard bytes behind the memory of the process's devices: a kernel that writes a little too far is
noted when the memory is freed, where nothing else would show it."""

from __future__ import annotations

import ctypes
import sys

from gridlane.core import trace
from gridlane.core.config import config

BYTES = 32
ADVICE = "GRIDLANE_CHECK=1 names the line"
_PATTERN = bytes(0xA5 ^ 7 * n & 0xFF for n in range(BYTES))


def set_guard(end: int, room: int) -> None:
    """Write the guard of memory that ends at an address, with some bytes of room behind it. Hot."""
    ctypes.memmove(end, _PATTERN, room if room < BYTES else BYTES)


def check_guard(start: int, end: int, room: int) -> None:
    """Note that bytes of a guard have changed. It is for finalizers: it never raises. Hot."""
    count = room if room < BYTES else BYTES
    found = ctypes.string_at(end, count)
    if found != _PATTERN[:count] and not sys.is_finalizing() and not config().quiet:
        first = next(n for n in range(count) if found[n] != _PATTERN[n])
        trace.write(
            f"gridlane: memory of {end - start} bytes was written behind its end, at byte "
            f"{end - start + first}: a kernel or a copy goes too far; {ADVICE}"
        )
