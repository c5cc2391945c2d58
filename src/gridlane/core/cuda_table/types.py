"""The C types of the table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from gridlane.core.cuda_table.names import aliases, callbacks, enums
from gridlane.core.cuda_table.structs import is_struct

Kind = Literal["int", "float", "pointer", "handle", "enum", "struct", "void"]

_NUMBERS: dict[str, tuple[Kind, int, bool]] = {
    "char": ("int", 1, True),
    "signed char": ("int", 1, True),
    "unsigned char": ("int", 1, False),
    "short": ("int", 2, True),
    "unsigned short": ("int", 2, False),
    "int": ("int", 4, True),
    "unsigned int": ("int", 4, False),
    "long": ("int", 8, True),
    "unsigned long": ("int", 8, False),
    "long long": ("int", 8, True),
    "unsigned long long": ("int", 8, False),
    "size_t": ("int", 8, False),
    "uint32_t": ("int", 4, False),
    "uint64_t": ("int", 8, False),
    "float": ("float", 4, True),
    "double": ("float", 8, True),
    "void": ("void", 0, False),
}


@dataclass(frozen=True, slots=True)
class CType:
    """A type of C on a 64-bit machine.

    Attributes:
        kind: a handle is a pointer that only the library follows.
        name: the last name that it has: ``CUdeviceptr``, ``CUresult``, ``unsigned int``.
        size: bytes; 0 for a struct, whose layout is ``layout``'s.
        signed: of an integer.
        to: what a pointer points to, as in C.
        count: the elements of an array; 0 for what is none.
    """

    kind: Kind
    name: str
    size: int
    signed: bool = False
    to: str = ""
    count: int = 0


@cache
def ctype(text: str) -> CType:
    """A type by its text.

    Raises:
        ValueError: there is no such type.

    >>> ctype("CUdevice").size, ctype("const void *").to, ctype("CUstream").kind
    (4, 'const void', 'handle')
    >>> ctype("int[3]").count, ctype("CUresult").kind
    (3, 'enum')
    """
    array = re.fullmatch(r"(.*?)((?:\[\d+\])+)", text)
    if array:
        of = ctype(array[1])
        count = 1
        for each in re.findall(r"\d+", array[2]):
            count *= int(each)
        return CType(of.kind, of.name, of.size, of.signed, of.to, count)
    if "(*" in text:
        return CType("pointer", text, 8, to="void")
    if text.endswith("*"):
        return CType("pointer", text, 8, to=text[:-1].removesuffix(" "))
    plain = re.sub(r"\bconst\b", "", text).strip()
    if text.endswith(" const"):  # a constant pointer
        return ctype(text.removesuffix(" const"))
    if plain in callbacks():
        return CType("pointer", plain, 8, to="void")
    if plain in _NUMBERS:
        kind, size, signed = _NUMBERS[plain]
        return CType(kind, plain, size, signed)
    if plain in enums():
        return CType("enum", plain, 4, min(enums()[plain].values.values()) < 0)
    if plain in aliases():
        of = aliases()[plain]
        if of.endswith("*"):
            return CType("handle", plain, 8)
        base = ctype(of)
        return CType(base.kind, plain, base.size, base.signed, base.to, base.count)
    if is_struct(plain):
        return CType("struct", plain, 0)
    raise ValueError(f"the table has no type {text!r}")
