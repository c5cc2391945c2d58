"""Pack the parameter block of a launch: from values to bytes, by one generated function.

Its text holds the facts known before the launch: the offset of each scalar, its path from the
argument, and its conversion.
"""

from __future__ import annotations

import ctypes
import operator
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gridlane.core.artifact import ParamSlot
from gridlane.core.dtypes import INTEGERS, DType, bf16, f16, f32, i64, u64
from gridlane.launch.geometry import address_of, scalar_dtype
from gridlane.launch.parameters import Packed, Parameters, Piece, code_of, struct_of

Packer = Callable[..., bytes]
Field = tuple[int, str, str]
"""(offset in the block, code of ``struct``, the expression that it packs)"""

_ANY = object()
"""A placeholder for an unknown value."""


def packer(parameters: Parameters, examples: Sequence[Any]) -> Packer:
    """Generate the function that packs arguments like ``examples``."""
    names = [f"a{n}" for n in range(len(examples))]
    fields: list[Field] = []
    for piece in parameters.pieces:
        text, value = names[piece.argument], examples[piece.argument]
        for item in piece.items:
            text, value = f"{text}[{item}]", value[item]
        fields += _fields(piece, text, value)
    return _defined(names, sorted(fields), parameters.size)


def flat_packer(parameters: Parameters) -> Packer:
    """Generate the function that takes one value per slot: a number, or for a pointer an address or
    an object that has one, such as a Buffer.

    >>> slots = ParamSlot("x", 0, None, 0), ParamSlot("n", 8, f16, 1)
    >>> flat_packer(Parameters(slots, 16))(0x1000, 1.0).hex()
    '0010000000000000003c000000000000'
    """
    return packer(parameters.flat, [_ANY] * len(parameters.slots))


def pack_from(parameters: Parameters, pointers: int) -> bytes:
    """Pack the block from values anywhere in memory: ``pointers`` is the address of an array with
    the address of each slot's value, as cuLaunchKernel takes them.

    Raises:
        ValueError: an address is null.
    """
    slots = parameters.slots
    if slots and not pointers:
        raise ValueError(f"the array of pointers to {len(slots)} parameters is null")
    block = bytearray(parameters.size)
    there = (ctypes.c_void_p * len(slots)).from_address(pointers) if slots else ()
    for number, (slot, address) in enumerate(zip(slots, there)):
        if not address:
            raise ValueError(f"the pointer to parameter {number}, {slot.name!r}, is null")
        block[slot.offset : slot.end] = _value_at(address, slot)
    return bytes(block)


def _value_at(address: int, slot: ParamSlot) -> bytes:
    octets = ctypes.string_at(address, slot.size)
    if slot.dtype is not None and slot.dtype.is_bool:  # code may rely on 0 and 1
        return bytes([octets != b"\0"])
    return octets


# --- the paths of values ---


def _fields(piece: Piece, text: str, value: Any) -> Iterator[Field]:
    layout = piece.array
    if (
        isinstance(value, Packed)
        and layout is not None
        and len(value.__gridlane_packed__) == layout.size
    ):
        yield piece.offset, f"{layout.size}s", f"{text}.__gridlane_packed__"
        return
    for slot in piece.slots:
        yield slot.offset, code_of(slot.dtype), _expression(piece.tail(slot), text, value, slot)


def _expression(tail: tuple[str | int, ...], text: str, value: Any, slot: ParamSlot) -> str:
    """The expression of a slot's value: ``text`` is the expression of its argument or item, and
    ``value`` an example of that."""
    dtype = slot.dtype
    if dtype is None:
        return f"address_of({text})" if isinstance(value, np.ndarray) else f"address({text})"
    if tail and tail[0] in ("shape", "strides"):
        return f"{text}.{tail[0]}[{tail[1]}]"
    if tail:  # the parts of a complex number
        text, value = f"{text}.{tail[0]}", getattr(value, str(tail[0]))
    if isinstance(value, np.datetime64 | np.timedelta64):
        return f"count_of({text})"
    plain = _fits(value, dtype) and dtype is not bf16 and not dtype.is_bool
    return text if plain else _converted(text, dtype)


def _fits(value: Any, dtype: DType) -> bool:
    """Whether ``struct`` packs values of an example's type to the bytes that the kernel expects."""
    have = scalar_dtype(value)
    if dtype.is_float:
        return have is not None and have.kind == "f" and have.itemsize <= dtype.size
    if have is not None:  # numpy's bool casts safely, but is no integer to ``struct``
        return have.kind != "b" and np.can_cast(have, dtype.numpy, "safe")
    if isinstance(value, int) and not isinstance(value, bool):
        # Python's int is an i64 or u64, as its type's key says; a signature may ask for the other.
        return dtype is (i64 if int(value) < 2**63 else u64)
    return False


def _converted(text: str, dtype: DType) -> str:
    """The expression that converts any number to the scalar type of a code: integers wrap, and
    floats are rounded, to infinity on overflow."""
    if dtype is bf16:
        return f"bf16_bits({text})"
    if dtype.is_bool:
        return f"bool({text})"
    if dtype.is_integer:
        return f"wrap_{dtype}({text})"
    return f"narrow_{dtype}({text})" if dtype in (f16, f32) else text


# --- the function ---


def _defined(names: Sequence[str], fields: Sequence[Field], size: int) -> Packer:
    """Define the function that packs values of these names; the fields are in order of offset."""
    parameters = "".join([f"{name}, " for name in names])
    packed = ", ".join([expression for _, _, expression in fields])
    text = f"def pack({parameters}):\n    return block({packed})\n"
    block = struct.Struct(struct_of([(offset, code) for offset, code, _ in fields], size))
    namespace: dict[str, Any] = {}
    exec(
        compile(text, "<gridlane parameters>", "exec"), _HELPERS | {"block": block.pack}, namespace
    )
    return namespace["pack"]


def _address(value: Any) -> int:
    number = operator.index(getattr(value, "address", value))
    if not 0 <= number < 2**64:
        raise ValueError(f"{number} is no address: they have 64 bits")
    return number


def _bf16_bits(value: Any) -> int:
    return int(np.asarray(value, bf16.numpy).view(np.uint16))


def _count(value: np.datetime64 | np.timedelta64) -> int:
    """The count of units that numpy keeps, NaT's too."""
    return int(np.asarray(value).view(np.int64)[()])


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
    "address_of": address_of,
    "bf16_bits": _bf16_bits,
    "count_of": _count,
    "bool": bool,
    **{f"narrow_{dtype}": _narrow(dtype) for dtype in (f16, f32)},
    **{f"wrap_{dtype}": _wrap(dtype) for dtype in INTEGERS},
}
