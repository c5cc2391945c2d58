"""The parameter block of a launch: from values to bytes, by one generated function.

Its text holds what is known before the launch: where each scalar lies, how it is reached, and which
conversion it needs.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridlane.core.artifact import ParamSlot
from gridlane.core.dtypes import INTEGERS, DType, Kind, bf16, f16, f32

Packer = Callable[..., bytes]

_FORMATS = {
    (Kind.BOOL, 1): "?",
    **{(Kind.SIGNED, size): code for size, code in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))},
    **{(Kind.UNSIGNED, size): code for size, code in ((1, "B"), (2, "H"), (4, "I"), (8, "Q"))},
    **{(Kind.FLOAT, size): code for size, code in ((2, "e"), (4, "f"), (8, "d"))},
}


@dataclass(frozen=True, slots=True)
class Field:
    """Bytes at an offset of the block: a code of ``struct``, and the expression that it packs."""

    offset: int
    code: str
    expression: str


def format_of(dtype: DType) -> str:
    """The code of ``struct`` of a scalar. bfloat16 goes by its bits.

    >>> format_of(f32), format_of(bf16)
    ('f', 'H')
    """
    return "H" if dtype is bf16 else _FORMATS[dtype.kind, dtype.size]


def converted(text: str, dtype: DType) -> str:
    """The expression that makes of any number what the code of a scalar packs: integers wrap, and
    floats are rounded, to infinity where they are too large."""
    if dtype is bf16:
        return f"bf16_bits({text})"
    if dtype.is_bool:
        return f"bool({text})"
    if dtype.is_integer:
        return f"wrap_{dtype}({text})"
    return f"narrow_{dtype}({text})" if dtype in (f16, f32) else text


def source(names: Sequence[str], fields: Sequence[Field], size: int) -> tuple[str, str]:
    """The format of the block, and the text of the function that packs values of these names.

    Args:
        fields: in order of their offsets.
        size: bytes of the block.
    """
    codes, end = ["<"], 0
    for field in fields:
        if field.offset > end:
            codes.append(f"{field.offset - end}x")
        codes.append(field.code)
        end = field.offset + struct.calcsize(f"<{field.code}")
    if size > end:
        codes.append(f"{size - end}x")
    parameters = "".join(f"{name}, " for name in names)
    packed = ", ".join(field.expression for field in fields)
    return "".join(codes), f"def pack({parameters}):\n    return block({packed})\n"


def make_packer(
    names: Sequence[str], fields: Sequence[Field], size: int, helpers: dict[str, Any] | None = None
) -> Packer:
    """The function; see ``source``. Expressions may use the ``helpers``, and what ``converted``
    does."""
    layout, text = source(names, fields, size)
    known: dict[str, Any] = {"block": struct.Struct(layout).pack, "bool": bool, **_HELPERS}
    made: dict[str, Any] = {}
    exec(compile(text, "<gridlane parameters>", "exec"), known | (helpers or {}), made)
    return made["pack"]


def flat_packer(params: Sequence[ParamSlot], size: int) -> Packer:
    """The function that takes one value a slot: a number, and for a pointer an address or what has
    one, as a Buffer.

    >>> slots = ParamSlot("x", 0, None, 0), ParamSlot("n", 8, f16, 1)
    >>> flat_packer(slots, 16)(0x1000, 1.0).hex()
    '0010000000000000003c000000000000'
    """
    names, fields = [], []
    for number, slot in enumerate(params):
        names.append(name := f"v{number}")
        if slot.dtype is None:
            fields.append(Field(slot.offset, "Q", f"address({name})"))
        else:
            fields.append(Field(slot.offset, format_of(slot.dtype), converted(name, slot.dtype)))
    return make_packer(names, fields, size)


def _address(value: Any) -> int:
    number = operator.index(getattr(value, "address", value))
    if not 0 <= number < 2**64:
        raise ValueError(f"{number} is no address: they have 64 bits")
    return number


def _bf16_bits(value: Any) -> int:
    return int(np.asarray(value, bf16.numpy).view(np.uint16))


def _narrow(dtype: DType) -> Callable[[Any], Any]:
    """Round to a narrower float; infinity on overflow, where struct would raise."""
    scalar = dtype.numpy.type

    def narrow(value: Any) -> Any:
        with np.errstate(over="ignore"):
            return scalar(value)

    return narrow


def _wrap(dtype: DType) -> Callable[[Any], int]:
    wrap = dtype.wrap
    return lambda value: wrap(int(value))


_HELPERS: dict[str, Any] = {
    "address": _address,
    "bf16_bits": _bf16_bits,
    **{f"narrow_{dtype}": _narrow(dtype) for dtype in (f16, f32)},
    **{f"wrap_{dtype}": _wrap(dtype) for dtype in INTEGERS},
}
