"""Numbers by their parts, and floats of fewer bits made of them, rounded in any direction.

A number is a word whose upper bit is its first one, and an exponent.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, b1, bf16, f16, f32, f64, i32, u32, u64
from gridlane.core.frozen import frozen
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith
from gridlane.ir.values import Value

_WORDS = {32: u32, 64: u64}


@frozen
class Layout:
    """A format of floats: so many bits, of which so many are the fraction; the exponent of the
    least normal number; the bits of the greatest number, and those of a NaN."""

    bits: int
    fraction: int
    least: int
    greatest: int
    nan: int


LAYOUTS = {
    f16: Layout(16, 10, -14, 0x7BFF, 0x7FFF),
    bf16: Layout(16, 7, -126, 0x7F7F, 0x7FFF),
    f32: Layout(32, 23, -126, 0x7F7FFFFF, 0x7FFFFFFF),
    f64: Layout(64, 52, -1022, 0x7FEFFFFF_FFFFFFFF, 0x7FFFFFFF_FFFFFFFF),
}


@frozen
class Parts:
    """A number: ``word`` times 2 to the ``exponent``, with the point behind the word's upper bit.

    Attributes:
        exponent: an i32.
        special: the b1 that it is infinite or no number, and the b1 that it is the latter; None of
            what cannot be.
    """

    negative: Value
    word: Value
    exponent: Value
    special: tuple[Value, Value] | None


def parts_of(b: Builder, value: Value) -> Parts:
    """The parts of an integer or a float."""
    assert isinstance(value.type, DType)
    return _of_float(b, value) if value.type.is_float else _of_integer(b, value)


def _of_integer(b: Builder, value: Value) -> Parts:
    kind = value.type
    assert isinstance(kind, DType)
    if kind.bits < 32:
        kind = i32 if kind.is_signed else u32
        value = b.cast(value, kind)
    word = _WORDS[kind.bits]
    negative = b.lt(value, b.zero(kind)) if kind.is_signed else b.const(False, b1)
    bits = b.cast(value, word)
    bits = b.select(negative, b.sub(b.zero(word), bits), bits)
    zeros = b.cast(b.unary(arith.Clz, bits), i32)
    shifted = b.binary(arith.Shl, bits, b.cast(zeros, u32))
    return Parts(negative, shifted, b.sub(b.const(kind.bits - 1, i32), zeros), None)


def _of_float(b: Builder, value: Value) -> Parts:
    """A subnormal number has no upper bit, and the exponent of the least normal one."""
    if value.type in (f16, bf16):
        value = b.cast(value, f32)
    kind = value.type
    assert isinstance(kind, DType)
    word, layout = _WORDS[kind.bits], LAYOUTS[kind]
    bits = b.bitcast(value, word)
    sign = b.const(1 << word.bits - 1, word)
    negative = b.binary(arith.Ge, bits, sign)
    magnitude = b.and_(bits, b.const(word.max >> 1, word))
    field = b.cast(_right(b, magnitude, layout.fraction), i32)
    fraction = b.and_(magnitude, b.const((1 << layout.fraction) - 1, word))
    is_normal = b.binary(arith.Ne, field, b.const(0, i32))
    hidden = b.select(is_normal, b.const(1 << layout.fraction, word), b.zero(word))
    shift = b.const(word.bits - 1 - layout.fraction, u32)
    shifted = b.binary(arith.Shl, b.or_(fraction, hidden), shift)
    one = b.const(1, i32)
    exponent = b.add(b.binary(arith.Max, field, one), b.const(layout.least - 1, i32))
    infinity = b.const(layout.greatest + 1, word)
    special = b.binary(arith.Ge, magnitude, infinity), b.binary(arith.Gt, magnitude, infinity)
    return Parts(negative, shifted, exponent, special)


def _right(b: Builder, value: Value, count: int) -> Value:
    return b.binary(arith.Shr, value, b.const(count, u32))


def narrowed(
    b: Builder, parts: Parts, layout: Layout, mode: str, finite: bool = False, ftz: bool = False
) -> Value:
    """The bits of a number in a format, in a word of its size or of the source's.

    Args:
        mode: ``rn rz rm rp``, or ``rna`` for halves away from 0.
        finite: what is above the greatest number, infinity included, is that number.
        ftz: what is below the least normal number is 0.
    """
    word = parts.word.type
    assert isinstance(word, DType)
    zero, one = b.const(0, i32), b.const(1, word)
    keep = layout.fraction + 1
    least = b.const(layout.least, i32)
    below = b.binary(arith.Max, b.sub(least, parts.exponent), zero)
    dropped = b.add(b.const(word.bits - keep, i32), below)
    dropped = b.binary(arith.Min, dropped, b.const(word.bits + 1, i32))
    kept = _kept(b, parts, dropped, mode)
    above = b.binary(arith.Max, b.sub(parts.exponent, least), zero)
    shift = b.const(layout.fraction, u32)
    result = b.add(kept, b.binary(arith.Shl, b.cast(above, word), shift))
    result = b.select(b.eq(parts.word, b.zero(word)), b.zero(word), result)
    if ftz:  # below when rounded to as many bits as a normal number has
        whole = _kept(b, parts, b.const(word.bits - keep, i32), mode)
        carried = b.eq(whole, b.const(1 << keep, word))
        next_ = b.select(carried, b.add(parts.exponent, b.const(1, i32)), parts.exponent)
        result = b.select(b.lt(next_, least), b.zero(word), result)
    greatest = b.const(layout.greatest, word)
    limit = greatest if finite else _beyond(b, parts, mode, greatest, b.add(greatest, one))
    # The exponent wraps for a small format: infinity and what is far above are apart.
    far = b.binary(arith.Gt, above, b.const(1 << layout.bits - layout.fraction - 1, i32))
    result = b.select(b.or_(far, b.binary(arith.Gt, result, greatest)), limit, result)
    if parts.special is not None:
        special, _ = parts.special
        infinity = greatest if finite else b.add(greatest, one)
        result = b.select(special, infinity, result)
    sign = b.select(parts.negative, b.const(1 << layout.bits - 1, word), b.zero(word))
    result = b.or_(result, sign)
    if parts.special is not None:
        result = b.select(parts.special[1], b.const(layout.nan, word), result)
    return result


def _kept(b: Builder, parts: Parts, dropped: Value, mode: str) -> Value:
    """The word without its lowest bits, rounded."""
    word = parts.word.type
    assert isinstance(word, DType)
    count, one = b.cast(dropped, u32), b.const(1, word)
    kept = b.binary(arith.Shr, parts.word, count)
    rest = b.and_(parts.word, b.sub(b.binary(arith.Shl, one, count), one))
    some = b.binary(arith.Ne, rest, b.zero(word))
    if mode == "rz":
        return kept
    if mode in ("rm", "rp"):
        up = b.and_(some, parts.negative if mode == "rm" else b.not_(parts.negative))
    else:
        half = b.binary(arith.Shl, one, b.sub(count, b.const(1, u32)))
        near = b.binary(arith.Le, dropped, b.const(word.bits, i32))  # else far below a half
        more = b.binary(arith.Gt, rest, half)
        tie = b.eq(rest, half)
        if mode == "rn":
            tie = b.and_(tie, b.eq(b.and_(kept, one), one))
        up = b.and_(near, b.or_(more, tie))
    return b.add(kept, b.select(up, one, b.zero(word)))


def _beyond(b: Builder, parts: Parts, mode: str, greatest: Value, infinity: Value) -> Value:
    """What a number above the greatest one becomes."""
    if mode == "rz":
        return greatest
    if mode == "rm":
        return b.select(parts.negative, infinity, greatest)
    if mode == "rp":
        return b.select(parts.negative, greatest, infinity)
    return infinity
