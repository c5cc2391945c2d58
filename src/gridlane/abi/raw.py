"""The caller's memory, by address."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any, NoReturn

from gridlane.abi.failure import INVALID_IMAGE, INVALID_VALUE, fail

START, END = 1 << 12, 1 << 56
"""No program has memory in front of these, a page that is never mapped, and from there on: the
largest address space of a 64-bit Linux."""
_OWN_MEMORY = "/proc/self/mem"
"""The process's memory as a file, on Linux: a read of bytes that are not there fails."""
_PIECE = 1 << 20


def view(address: int, size: int, owner: Any = None) -> memoryview:
    """Writable bytes at an address. The view keeps their owner alive; without an owner the caller
    keeps them alive.

    Raises:
        Failure: INVALID_VALUE, an address that no memory has, such as a null pointer.
    """
    if size and address < START:
        _refuse(address)
    array: Any = (ctypes.c_char * size).from_address(address)
    array.owner = owner
    return memoryview(array).cast("B")


def copied(address: int, size: int) -> bytes:
    """The bytes at an address that the caller's data names, which may be wrong.

    Raises:
        Failure: INVALID_IMAGE, there are not so many; on Linux, else the process faults.
    """
    result = readable(address, size)
    if len(result) != size:
        fail(INVALID_IMAGE, f"{size} bytes at {address:#x}, of which {len(result)} are there")
    return result


def readable(address: int, size: int) -> bytes:
    """As many of the bytes at an address as there are, on Linux; else the process faults."""
    try:
        memory = os.open(_OWN_MEMORY, os.O_RDONLY)
    except OSError:
        return ctypes.string_at(address, size)
    content = bytearray()
    try:
        while len(content) < size:
            more = os.pread(memory, min(size - len(content), _PIECE), address + len(content))
            if not more:
                break
            content += more
    except (OSError, OverflowError):
        pass  # what was read so far is all
    finally:
        os.close(memory)
    return bytes(content)


def text(address: int) -> bytes:
    """The characters at an address up to a NUL.

    Raises:
        Failure: INVALID_VALUE, an address that no memory has.
    """
    if address < START:
        _refuse(address)
    return ctypes.string_at(address)


def words(address: int, count: int) -> tuple[int, ...]:
    """An array of 64-bit numbers: pointers, handles or sizes.

    Raises:
        Failure: INVALID_VALUE, no memory has so many.
    """
    if 8 * count >= END:
        fail(INVALID_VALUE, f"an array of {count} elements")
    return struct.unpack(f"<{count}Q", _bytes(address, 8 * count)) if count else ()


def numbers(address: int, count: int) -> tuple[int, ...]:
    """An array of 32-bit numbers, such as enumerators."""
    return struct.unpack(f"<{count}i", _bytes(address, 4 * count)) if count else ()


def _bytes(address: int, size: int) -> bytes:
    if address < START:
        _refuse(address)
    return ctypes.string_at(address, size)


def _refuse(address: int) -> NoReturn:
    fail(INVALID_VALUE, f"there is no memory at {address:#x}")


def put_words(address: int, values: list[int] | tuple[int, ...]) -> None:
    """Write an array of 64-bit numbers."""
    view(address, 8 * len(values))[:] = struct.pack(f"<{len(values)}Q", *values)


def put(address: int, data: bytes) -> None:
    """Write bytes."""
    view(address, len(data))[:] = data


def check_range(address: int, size: int) -> None:
    """Raise INVALID_VALUE for bytes that no program has."""
    if address < START or address + size > END:
        fail(INVALID_VALUE, f"{size} bytes at {address:#x} of the host")
