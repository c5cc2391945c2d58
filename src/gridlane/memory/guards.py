"""Guard bytes in front of and behind the memory of the process's devices: a kernel that writes a
little too far is noted when the memory is freed, where nothing else would show it."""

from __future__ import annotations

import ctypes
import sys

from gridlane.core import trace
from gridlane.core.config import config

BYTES = 32
ADVICE = "GRIDLANE_CHECK=1 names the line"
_PATTERN = bytes(0xA5 ^ 7 * n & 0xFF for n in range(BYTES))


def set_guards(start: int, end: int, room: int) -> None:
    """Write the guards of memory, which has ``BYTES`` in front of it and some bytes of room behind
    it. Hot."""
    ctypes.memmove(start - BYTES, _PATTERN, BYTES)
    ctypes.memmove(end, _PATTERN, room if room < BYTES else BYTES)


def check_guards(start: int, end: int, room: int) -> None:
    """Note that bytes of a guard have changed. It is for finalizers: it never raises. Hot."""
    count = room if room < BYTES else BYTES
    before, behind = ctypes.string_at(start - BYTES, BYTES), ctypes.string_at(end, count)
    if before != _PATTERN:
        _note(end - start, "in front of its start", _changed(before)[-1] - BYTES)
    if behind != _PATTERN[:count]:
        _note(end - start, "behind its end", end - start + _changed(behind)[0])


def _changed(guard: bytes) -> list[int]:
    """Which bytes of a guard have changed."""
    return [n for n, byte in enumerate(guard) if byte != _PATTERN[n]]


def _note(size: int, where: str, place: int) -> None:
    if not sys.is_finalizing() and not config().quiet:
        trace.write(
            f"gridlane: memory of {size} bytes was written {where}, at byte {place}: a kernel or a "
            f"copy goes too far; {ADVICE}"
        )
