"""The meaning of the ops on integers only."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.interp.values import Array, Lanes
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, integer

Function = Callable[..., Lanes]


def unsigned(values: Array) -> Array:
    """Bitwise the same integers, read as unsigned."""
    return values.view(f"u{values.dtype.itemsize}")


def _mulhi(lhs: Array, rhs: Array) -> Array:
    dtype = lhs.dtype
    bits = dtype.itemsize * 8
    if bits < 64:
        wide = f"{dtype.kind}8"
        return ((lhs.astype(wide) * rhs.astype(wide)) >> bits).astype(dtype)
    a, b = unsigned(lhs), unsigned(rhs)
    low = np.uint64(0xFFFFFFFF)
    a1, a0, b1_, b0 = a >> 32, a & low, b >> 32, b & low
    middle = a1 * b0 + ((a0 * b0) >> 32)
    high = a1 * b1_ + (middle >> 32) + ((a0 * b1_ + (middle & low)) >> 32)
    # A negative factor is its unsigned reading minus 2**64.
    high = high - np.where(lhs < 0, b, 0) - np.where(rhs < 0, a, 0)
    return high.view(dtype)


def _amount(amount: Array) -> Array:
    return unsigned(amount).astype(np.uint64)


def _shift_left(value: Array, amount: Array) -> Array:
    bits, by = value.dtype.itemsize * 8, _amount(amount)
    shifted = unsigned(value).astype(np.uint64) << np.minimum(by, bits - 1)
    return np.where(by < bits, shifted, 0).astype(f"u{bits // 8}").view(value.dtype)


def _shift_right(value: Array, amount: Array) -> Array:
    bits, by = value.dtype.itemsize * 8, _amount(amount)
    shifted = value >> np.minimum(by, bits - 1).astype(value.dtype)
    return np.where(by < bits, shifted, np.where(value < 0, -1, 0).astype(value.dtype))


def _bits(values: Array) -> Array:
    """Bits of each element along axis 1, least significant first."""
    octets = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
    return np.unpackbits(octets, axis=1, bitorder="little")


def _popcount(values: Array) -> Array:
    return _bits(values).sum(axis=1).astype(values.dtype)


def _leading_zeros(values: Array) -> Array:
    bits = _bits(values)[:, ::-1]
    width: int = bits.shape[1]
    zeros = np.where(bits.any(axis=1), np.argmax(bits, axis=1), width)
    return zeros.astype(values.dtype)


def _reversed(values: Array) -> Array:
    packed = np.packbits(_bits(values)[:, ::-1], axis=1, bitorder="little")
    return packed.view(values.dtype).reshape(-1)


def _saturating(function: Callable[[Any, Any], Any]) -> Function:
    """A saturating sum or difference, computed in unbounded integers."""

    def apply(lhs: Array, rhs: Array) -> Array:
        info = np.iinfo(lhs.dtype)
        whole = function(lhs.astype(object), rhs.astype(object))
        return np.clip(whole, int(info.min), int(info.max)).astype(lhs.dtype)

    return apply


def _carrying(function: Callable[[Any, Any], Any]) -> Function:
    """A sum or difference of words with a carry, computed in unbounded integers."""

    def apply(lhs: Array, rhs: Array, carry: Array) -> Lanes:
        a, b = unsigned(lhs), unsigned(rhs)
        whole = function(function(a.astype(object), b.astype(object)), carry.astype(int))
        word = (whole % (1 << a.itemsize * 8)).astype(a.dtype)
        return word.view(lhs.dtype), (whole != word).astype(np.bool_)

    return apply


def _field(value: Array, position: Array, length: Array) -> Array:
    """A bit field of each value, sign-extended or zero-extended, computed bit by bit."""
    bits = _bits(value)
    width: int = bits.shape[1]
    start, size = ((number & 0xFF).astype(np.int64)[:, None] for number in (position, length))
    place = np.arange(width)[None, :]
    taken = np.take_along_axis(bits, np.minimum(start + place, width - 1), axis=1)
    last = np.take_along_axis(bits, np.clip(start + size - 1, 0, width - 1), axis=1)
    above = np.where((value.dtype.kind == "i") & (size > 0), last, 0)
    return _joined(np.where((place < size) & (start + place < width), taken, above), value.dtype)


def _with_field(field: Array, base: Array, position: Array, length: Array) -> Array:
    """The base with a bit field replaced, computed bit by bit."""
    given, bits = _bits(field), _bits(base)
    width: int = bits.shape[1]
    place = np.arange(width)[None, :]
    start, size = ((number & 0xFF).astype(np.int64)[:, None] for number in (position, length))
    inside = (place >= start) & (place < start + size)
    moved = np.take_along_axis(given, np.maximum(place - start, 0), axis=1)
    return _joined(np.where(inside, moved, bits), base.dtype)


def _joined(bits: Array, dtype: np.dtype[Any]) -> Array:
    """Integers of bits along axis 1, least significant first."""
    packed = np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view(dtype).reshape(-1)


_PICKED: dict[integer.PermuteMode, Callable[[Array, int], Array]] = {
    integer.PermuteMode.F4E: lambda start, place: start + place,
    integer.PermuteMode.B4E: lambda start, place: (start - place) % 8,
    integer.PermuteMode.RC8: lambda start, place: start,
    integer.PermuteMode.ECL: np.maximum,
    integer.PermuteMode.ECR: np.minimum,
    integer.PermuteMode.RC16: lambda start, place: start % 2 * 2 + place % 2,
}
"""Which of eight bytes becomes byte ``place``, from the low two bits of the selector."""


def _permute(op: integer.Prmt, low: Array, high: Array, selector: Array) -> Array:
    lanes = np.arange(len(low))
    octets = np.stack([low, high], axis=1).view(np.uint8)
    array = np.zeros((len(low), 4), np.uint8)
    for place in range(4):
        if op.mode is integer.PermuteMode.GENERIC:
            nibble = selector >> np.uint32(4 * place)
            byte = octets[lanes, nibble & 7]
            array[:, place] = np.where(nibble & 8, byte.view(np.int8) >> 7, byte)
        else:
            array[:, place] = octets[lanes, _PICKED[op.mode](selector & 3, place)]
    return array.view(np.uint32).reshape(-1)


PLAIN: dict[type[Op], Function] = {
    arith.MulHi: _mulhi,
    arith.Shl: _shift_left,
    arith.Shr: _shift_right,
    arith.Popcount: _popcount,
    arith.Clz: _leading_zeros,
    arith.Brev: _reversed,
    integer.AddSat: _saturating(operator.add),
    integer.SubSat: _saturating(operator.sub),
    integer.AddCarry: _carrying(operator.add),
    integer.SubBorrow: _carrying(operator.sub),
    integer.Bfe: _field,
    integer.Bfi: _with_field,
}
"""The function of each op on its operands."""

WITH_OP: dict[type[Op], Function] = {
    integer.Prmt: _permute,
}
"""The function of each op whose attributes matter."""
