"""Indices of elements as bits of what they are made of.

Where extents are powers of two, each coordinate of an element is some bits of the thread's number
and some of a loop's counter. Such an index is kept as a map of bits, so that shapes change without
arithmetic, and what lanes add to an address stays their number. Other indices are plain values.
"""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from gridlane.core.dtypes import i32, u32
from gridlane.core.frozen import frozen
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith
from gridlane.ir.values import Value

_T = TypeVar("_T")


@frozen
class Bits:
    """``count`` bits of ``source``, from bit ``low`` on, as the bits from ``at`` on of an index.
    ``whole``: the source has no bits above them."""

    source: Value
    low: int
    count: int
    at: int
    whole: bool

    def value(self, b: Builder) -> Value:
        """The bits at their place, as i32."""
        result = self.source
        if self.low:
            result = b.value(arith.Shr(result, b.const(self.low, i32)))
        if not self.whole:
            result = b.and_(result, b.const((1 << self.count) - 1, i32))
        # A product and not a shift: analyses follow the alignment of products.
        return b.mul(result, b.const(1 << self.at, i32)) if self.at else result


@frozen
class BitIndex:
    """The sum of a constant and of bits; no two of them share a bit."""

    constant: int = 0
    parts: tuple[Bits, ...] = ()

    def value(self, b: Builder) -> Value:
        """The index as an i32."""
        result = b.const(self.constant, i32)
        for part in self.parts:
            result = b.add(result, part.value(b))
        return result

    def high(self, bit: int) -> BitIndex:
        """The bits from ``bit`` on: the quotient by that power of two."""
        kept = [
            Bits(
                p.source,
                p.low + max(0, bit - p.at),
                p.count - max(0, bit - p.at),
                max(0, p.at - bit),
                p.whole,
            )
            for p in self.parts
            if p.at + p.count > bit
        ]
        return BitIndex(self.constant >> bit, tuple(kept))

    def below(self, bit: int) -> BitIndex:
        """The bits below ``bit``: the remainder."""
        kept = [
            Bits(p.source, p.low, min(p.count, bit - p.at), p.at, p.whole and p.at + p.count <= bit)
            for p in self.parts
            if p.at < bit
        ]
        return BitIndex(self.constant & ((1 << bit) - 1), tuple(kept))

    def joined(self, low: BitIndex, bits: int) -> BitIndex:
        """This index in front of one of ``bits`` bits."""
        moved = [Bits(p.source, p.low, p.count, p.at + bits, p.whole) for p in self.parts]
        parts: list[Bits] = []
        for part in sorted([*low.parts, *moved], key=lambda p: p.at):
            last = parts[-1] if parts else None
            if (
                last is not None
                and last.source is part.source
                and last.low + last.count == part.low
                and last.at + last.count == part.at
            ):
                parts[-1] = Bits(
                    last.source, last.low, last.count + part.count, last.at, part.whole
                )
            else:
                parts.append(part)
        return BitIndex(low.constant | self.constant << bits, tuple(parts))


Index: TypeAlias = "BitIndex | Value"
Coordinates: TypeAlias = tuple[Index, ...]

ZERO = BitIndex()


def log2(number: int) -> int | None:
    """The exponent of a power of two; None of another number.

    >>> log2(8), log2(1), log2(6)
    (3, 0, None)
    """
    return number.bit_length() - 1 if number & (number - 1) == 0 else None


def source(value: Value, count: int) -> BitIndex:
    """A value below a power of two as an index; a count of 1 is the index 0."""
    bits = log2(count)
    assert bits is not None
    return BitIndex(0, (Bits(value, 0, bits, 0, True),)) if bits else ZERO


def as_value(b: Builder, index: Index) -> Value:
    """An index as an i32."""
    return index.value(b) if isinstance(index, BitIndex) else index


def quotient(b: Builder, index: Index, by: int) -> Index:
    """An index divided by a number."""
    bits = log2(by)
    if bits == 0:
        return index
    if isinstance(index, BitIndex) and bits is not None:
        return index.high(bits)
    value = as_value(b, index)
    if bits is not None:
        return b.value(arith.Shr(value, b.const(bits, i32)))
    return _unsigned(b, arith.Div, value, by)


def remainder(b: Builder, index: Index, by: int) -> Index:
    """What division by a number leaves of an index."""
    bits = log2(by)
    if bits == 0:
        return ZERO
    if isinstance(index, BitIndex) and bits is not None:
        return index.below(bits)
    value = as_value(b, index)
    if bits is not None:
        return b.and_(value, b.const(by - 1, i32))
    return _unsigned(b, arith.Rem, value, by)


def _unsigned(b: Builder, op: type[arith.Div | arith.Rem], value: Value, by: int) -> Value:
    result = b.binary(op, b.cast(value, u32), b.const(by, u32))
    return b.cast(result, i32)


def flattened(b: Builder, at: Coordinates, shape: tuple[int, ...]) -> Index:
    """The row-major number of an element."""
    result: Index = ZERO
    for index, extent in zip(at, shape, strict=True):
        bits = log2(extent)
        if extent == 1:
            continue
        if isinstance(result, BitIndex) and isinstance(index, BitIndex) and bits is not None:
            result = result.joined(index, bits)
        elif result == ZERO:
            result = index
        else:
            scaled = b.mul(as_value(b, result), b.const(extent, i32))
            result = b.add(scaled, as_value(b, index))
    return result


def unflattened(b: Builder, number: Index, shape: tuple[int, ...]) -> Coordinates:
    """The coordinates of the element with a row-major number."""
    axes: list[Index] = []
    for place, extent in reversed([*enumerate(shape)]):
        rest = all(each == 1 for each in shape[:place])
        axes.append(number if rest and extent != 1 else remainder(b, number, extent))
        if not rest:
            number = quotient(b, number, extent)
    return tuple(reversed(axes))


def reshaped(
    b: Builder, at: Coordinates, shape: tuple[int, ...], into: tuple[int, ...]
) -> Coordinates:
    """Where the element at ``at`` of one shape is in another shape."""
    kept = [index for index, extent in zip(at, shape, strict=True) if extent != 1]
    if [extent for extent in shape if extent != 1] == [extent for extent in into if extent != 1]:
        rest = iter(kept)
        return tuple([next(rest) if extent != 1 else ZERO for extent in into])
    return unflattened(b, flattened(b, at, shape), into)


def swapped(each: tuple[_T, ...]) -> tuple[_T, ...]:
    """With the last two exchanged.

    >>> swapped((1, 2, 3))
    (1, 3, 2)
    """
    *others, line, column = each
    return (*others, column, line)
