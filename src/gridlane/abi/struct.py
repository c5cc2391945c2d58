"""Structures of CUDA's headers in memory: the caller's, or their own."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping
from typing import Any

from gridlane.abi import raw
from gridlane.core.cuda_table.layout import Field, Layout, layout

_CODES = {("int", 1): "bB", ("int", 2): "hH", ("int", 4): "iI", ("int", 8): "qQ"}


class Struct:
    """A structure. Its members are attributes: numbers, bytes for arrays of char, tuples for other
    arrays, and structures, which share this one's memory.

    Args:
        name: of the structure in the table.
        address: of its memory, which the caller keeps; 0 for memory of its own, which is zero.

    >>> size = Struct("cudaExtent")
    >>> size.width, size.depth = 640, 3
    >>> size.width, size.height
    (640, 0)
    """

    __slots__ = ("_kept", "_layout", "_memory")
    _kept: Any
    _layout: Layout
    _memory: Any

    def __init__(self, name: str | Layout, address: int = 0, kept: Any = None) -> None:
        laid = layout(name) if isinstance(name, str) else name
        if not address:
            kept = ctypes.create_string_buffer(laid.size)
            address = ctypes.addressof(kept)
        object.__setattr__(self, "_layout", laid)
        object.__setattr__(self, "_memory", raw.view(address, laid.size))
        object.__setattr__(self, "_kept", (kept, address))

    @classmethod
    def of(cls, name: str | Layout, data: bytes) -> Struct:
        """A structure of its own with these bytes first; the others are zero."""
        new_struct = cls(name)
        new_struct._memory[: len(data)] = data
        return new_struct

    @property
    def address(self) -> int:
        """Of its first byte."""
        return self._kept[1]

    def __bytes__(self) -> bytes:
        return bytes(self._memory)

    def fill(self, data: bytes) -> None:
        """Write all bytes."""
        self._memory[:] = data

    def member(self, name: str) -> Any:
        """A member by its name, which may be that of an attribute here: ``address``."""
        return self._read(self._layout.fields[name])

    def __getattr__(self, name: str) -> Any:
        field = self._layout.fields.get(name)
        if field is None:
            raise AttributeError(f"{self._layout.name} has no member {name!r}")
        return self._read(field)

    def __setattr__(self, name: str, value: Any) -> None:
        field = self._layout.fields.get(name)
        if field is None:
            raise AttributeError(f"{self._layout.name} has no member {name!r}")
        self._write(field, value)

    def _read(self, field: Field) -> Any:
        kind, offset = field.type, field.offset
        if field.inner is not None:
            step = field.inner.size
            structs = [
                Struct(field.inner, self.address + offset + n * step, self._kept)
                for n in range(kind.count or 1)
            ]
            return tuple(structs) if kind.count else structs[0]
        size = kind.size * (kind.count or 1)
        data = bytes(self._memory[offset : offset + size])
        if kind.count and kind.size == 1:
            return data
        values = struct.unpack(f"<{kind.count or 1}{code(field)}", data)
        return values if kind.count else values[0]

    def _write(self, field: Field, value: Any) -> None:
        kind, offset = field.type, field.offset
        if field.inner is not None:
            given = tuple(value) if kind.count else (value,)
            data = b"".join(map(bytes, given))
            size = field.inner.size * (kind.count or 1)
        elif kind.count and kind.size == 1:
            data, size = bytes(value).ljust(kind.count, b"\0"), kind.count
        else:
            given = tuple(value) if kind.count else (value,)
            data = struct.pack(f"<{len(given)}{code(field)}", *given)
            size = kind.size * (kind.count or 1)
        if len(data) > size:
            raise ValueError(f"{field.name} takes {size} bytes, not {len(data)}")
        self._memory[offset : offset + len(data)] = data


def members(struct: Struct) -> Mapping[str, Field]:
    """The members of a structure by name."""
    return struct._layout.fields  # pyright: ignore[reportPrivateUsage]  # its members are C's


def code(field: Field) -> str:
    """The format of the ``struct`` module for a member that is a number."""
    kind = field.type
    if kind.kind == "float":
        return "f" if kind.size == 4 else "d"
    if kind.kind in ("pointer", "handle"):
        return "Q"
    return _CODES["int", kind.size][not kind.signed]
