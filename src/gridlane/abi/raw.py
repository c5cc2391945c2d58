"""The caller's memory, by address."""

from __future__ import annotations

import ctypes
import struct
from typing import Any


def view(address: int, size: int, owner: Any = None) -> memoryview:
    """Writable bytes at an address. The view keeps their owner alive; without one they are the
    caller's, who does."""
    array: Any = (ctypes.c_char * size).from_address(address)
    array.owner = owner
    return memoryview(array).cast("B")


def text(address: int) -> bytes:
    """The characters at an address up to a NUL."""
    return ctypes.string_at(address)


def words(address: int, count: int) -> tuple[int, ...]:
    """An array of 64-bit numbers: pointers, handles or sizes."""
    return struct.unpack(f"<{count}Q", ctypes.string_at(address, 8 * count)) if count else ()


def numbers(address: int, count: int) -> tuple[int, ...]:
    """An array of 32-bit numbers, such as enumerators."""
    return struct.unpack(f"<{count}i", ctypes.string_at(address, 4 * count)) if count else ()


def put_words(address: int, values: list[int] | tuple[int, ...]) -> None:
    """Write an array of 64-bit numbers."""
    view(address, 8 * len(values))[:] = struct.pack(f"<{len(values)}Q", *values)


def put(address: int, data: bytes) -> None:
    """Write bytes."""
    view(address, len(data))[:] = data
