"""cvt to floats with fewer bits, rounded in any direction, by integers.

A number is a word whose upper bit is its first one, and an exponent. PTX ISA 9.0, "cvt".
"""

from __future__ import annotations

from dataclasses import dataclass

from gridlane.core.dtypes import DType, b1, bf16, f16, f32, f64, i32, u8, u16, u32
from gridlane.frontends.ptx.forms.floating import saturated
from gridlane.frontends.ptx.forms.logic import flushed
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.types import unsigned
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
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
TF32 = Layout(32, 10, -126, 0x7F7FE000, 0x7FFFFFFF)
EIGHT = {"e4m3x2": Layout(8, 3, -6, 0x7E, 0x7F), "e5m2x2": Layout(8, 2, -14, 0x7B, 0x7F)}
"""Of these the greatest number is followed by a NaN, or by infinity."""


@dataclass(frozen=True, slots=True)
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


def parts_of(t: Values, value: Value) -> Parts:
    """The parts of an integer or a float."""
    assert isinstance(value.type, DType)
    return _of_float(t, value) if value.type.is_float else _of_integer(t, value)


def _of_integer(t: Values, value: Value) -> Parts:
    b, kind = t.b, value.type
    assert isinstance(kind, DType)
    if kind.bits < 32:
        kind = i32 if kind.is_signed else u32
        value = b.cast(value, kind)
    word = unsigned(kind.bits)
    negative = b.lt(value, b.zero(kind)) if kind.is_signed else b.const(False, b1)
    bits = b.cast(value, word)
    bits = b.select(negative, b.sub(b.zero(word), bits), bits)
    zeros = b.cast(b.unary(arith.Clz, bits), i32)
    shifted = b.binary(arith.Shl, bits, b.cast(zeros, u32))
    return Parts(negative, shifted, b.sub(b.const(kind.bits - 1, i32), zeros), None)


def _of_float(t: Values, value: Value) -> Parts:
    """A subnormal number has no upper bit, and the exponent of the least normal one."""
    b = t.b
    if value.type in (f16, bf16):
        value = b.cast(value, f32)
    kind = value.type
    assert isinstance(kind, DType)
    word, layout = unsigned(kind.bits), LAYOUTS[kind]
    bits = b.bitcast(value, word)
    sign = b.const(1 << word.bits - 1, word)
    negative = b.binary(arith.Ge, bits, sign)
    magnitude = b.and_(bits, b.const(word.max >> 1, word))
    field = b.cast(_right(t, magnitude, layout.fraction), i32)
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


def _right(t: Values, value: Value, count: int) -> Value:
    return t.b.binary(arith.Shr, value, t.b.const(count, u32))


def narrowed(
    t: Values, parts: Parts, layout: Layout, mode: str, finite: bool = False, ftz: bool = False
) -> Value:
    """The bits of a number in a format, in a word of its size or of the source's.

    Args:
        mode: ``rn rz rm rp``, or ``rna`` for halves away from 0.
        finite: what is above the greatest number, infinity included, is that number.
        ftz: what is below the least normal number is 0.
    """
    b, word = t.b, parts.word.type
    assert isinstance(word, DType)
    zero, one = b.const(0, i32), b.const(1, word)
    keep = layout.fraction + 1
    least = b.const(layout.least, i32)
    below = b.binary(arith.Max, b.sub(least, parts.exponent), zero)
    dropped = b.add(b.const(word.bits - keep, i32), below)
    dropped = b.binary(arith.Min, dropped, b.const(word.bits + 1, i32))
    kept = _kept(t, parts, dropped, mode)
    above = b.binary(arith.Max, b.sub(parts.exponent, least), zero)
    shift = b.const(layout.fraction, u32)
    made = b.add(kept, b.binary(arith.Shl, b.cast(above, word), shift))
    made = b.select(b.eq(parts.word, b.zero(word)), b.zero(word), made)
    if ftz:  # below when rounded to as many bits as a normal number has
        whole = _kept(t, parts, b.const(word.bits - keep, i32), mode)
        carried = b.eq(whole, b.const(1 << keep, word))
        next_ = b.select(carried, b.add(parts.exponent, b.const(1, i32)), parts.exponent)
        made = b.select(b.lt(next_, least), b.zero(word), made)
    greatest = b.const(layout.greatest, word)
    limit = greatest if finite else _beyond(t, parts, mode, greatest, b.add(greatest, one))
    # The exponent wraps for a small format: infinity and what is far above are apart.
    far = b.binary(arith.Gt, above, b.const(1 << layout.bits - layout.fraction - 1, i32))
    made = b.select(b.or_(far, b.binary(arith.Gt, made, greatest)), limit, made)
    if parts.special is not None:
        special, _ = parts.special
        infinity = greatest if finite else b.add(greatest, one)
        made = b.select(special, infinity, made)
    sign = b.select(parts.negative, b.const(1 << layout.bits - 1, word), b.zero(word))
    made = b.or_(made, sign)
    if parts.special is not None:
        made = b.select(parts.special[1], b.const(layout.nan, word), made)
    return made


def _kept(t: Values, parts: Parts, dropped: Value, mode: str) -> Value:
    """The word without its lowest bits, rounded."""
    b, word = t.b, parts.word.type
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


def _beyond(t: Values, parts: Parts, mode: str, greatest: Value, infinity: Value) -> Value:
    """What a number above the greatest one becomes."""
    if mode == "rz":
        return greatest
    if mode == "rm":
        return t.b.select(parts.negative, infinity, greatest)
    if mode == "rp":
        return t.b.select(parts.negative, greatest, infinity)
    return infinity


_INTS = "u8|u16|u32|u64|s8|s16|s32|s64"
_WIDE_INTS = "u16|u32|u64|s16|s32|s64"
_MODES = "rn", "rz", "rm", "rp", "rna"


def _source(t: Values, m: Match, operand: Operand, kind: DType) -> Value:
    value = t.read(operand, kind, narrows=True)
    return flushed(t, value) if m.has("ftz") and kind is f32 else value


def _half(t: Values, m: Match, value: Value, target: DType) -> Value:
    """A source as a float, rounded as the form says."""
    b, layout, mode = t.b, LAYOUTS[target], m.one_of(*_MODES) or "rn"
    assert isinstance(value.type, DType)
    is_wide = target is f64 and value.type.bits < 64
    exact = is_wide or (target is f32 and value.type in (f16, bf16))
    if exact or (mode == "rn" and not m.has("satfinite", "ftz")):
        made = b.cast(value, target)
    else:
        ftz = m.has("ftz") and target is f32
        bits = narrowed(t, parts_of(t, value), layout, mode, m.has("satfinite"), ftz)
        made = b.bitcast(b.cast(bits, unsigned(layout.bits)), target)
    made = positive(t, made) if m.has("relu") else made
    return saturated(t, made) if m.has("sat") else made


def positive(t: Values, value: Value) -> Value:
    """A float, or 0 where it is negative; a NaN stays one.

    By its bits: of a comparison of a half with 0 ptxas makes a maximum of f32, whose NaN has bits
    in the other half of a pair.
    """
    b, kind = t.b, value.type
    assert isinstance(kind, DType)
    word, layout = unsigned(kind.bits), LAYOUTS[kind]
    sign, infinity = 1 << kind.bits - 1, layout.greatest + 1
    bits = b.bitcast(value, word)
    below = b.binary(arith.Le, b.sub(bits, b.const(sign, word)), b.const(infinity, word))
    return b.bitcast(b.select(below, b.zero(word), bits), kind)


@form(f"cvt .rz|rm|rp [.sat] .f16|f64 .{_INTS}", "d, a")
@form(f"cvt .rn .sat .f16|f64 .{_INTS}", "d, a")
@form(f"cvt .rz|rm|rp [.ftz] [.sat] .f32 .{_INTS}", "d, a")
@form(f"cvt .rz|rm|rp .bf16 .{_WIDE_INTS}", "d, a")
@form("cvt .rz|rm|rp [.ftz] [.sat] .f32 .f64", "d, a")
@form("cvt .rz|rm|rp [.ftz] [.sat] .f16 .f32", "d, a")
@form("cvt .rn [.ftz] .sat .f16 .f32", "d, a")
@form("cvt .rn|rz .relu .f16|bf16 .f32", "d, a")
@form("cvt .rn|rz .satfinite [.relu] .f16|bf16 .f32", "d, a")
@form("cvt .rz|rm|rp [.sat] .f16 .f64", "d, a")
@form("cvt .rn .sat .f16 .f64", "d, a")
@form("cvt .rn .ftz .bf16 .f32", "d, a")
@form("cvt .rz|rm|rp [.ftz] .bf16 .f32", "d, a")
@form("cvt .rz|rm|rp .bf16 .f64", "d, a")
@form("cvt .rn .bf16 .f64", "d, a")
@form("cvt [.rn|rz|rm|rp] .bf16 .f16", "d, a")  # without a mode as ptxas has it, to nearest
@form("cvt [.rn|rz|rm|rp] .f16 .bf16", "d, a")
@form("cvt .rn|rz|rm|rp [.ftz] .f32 .bf16", "d, a")
@form("cvt .ftz .f32 .bf16", "d, a")
@form("cvt .rn|rz|rm|rp .f64 .bf16", "d, a")
@form("cvt .sat .f64 .f16", "d, a")
@form("cvt [.ftz] .sat .f64 .f32", "d, a")
def narrow(t: Values, m: Match, o: Operands) -> None:
    """A number as a float."""
    target, source = m.types
    made = _half(t, m, _source(t, m, o[1], source), target)
    if m.has("ftz") and target is f32 and source is bf16:
        made = flushed(t, made)
    t.write(o[0], t.widen(o[0], made))


@form("cvt .rz .f16x2|bf16x2 .f32", "d, a, b")
@form("cvt .rn|rz .relu .f16x2|bf16x2 .f32", "d, a, b")
@form("cvt .rn|rz .satfinite [.relu] .f16x2|bf16x2 .f32", "d, a, b")
def pack(t: Values, m: Match, o: Operands) -> None:
    """Two numbers as two halves; the first one is the upper."""
    target = bf16 if m.has("bf16x2") else f16
    made = [t.b.bitcast(_half(t, m, t.read(each, f32), target), u16) for each in o[1:3]]
    t.write(o[0], joined(t, made[1], made[0]))


def joined(t: Values, low: Value, high: Value) -> Value:
    """Two unsigned integers as one of twice the width."""
    assert isinstance(low.type, DType)
    wide = unsigned(2 * low.type.bits)
    shifted = t.b.binary(arith.Shl, t.b.cast(high, wide), t.b.const(low.type.bits, u32))
    return t.b.or_(t.b.cast(low, wide), shifted)


@form("cvt .rn|rz [.satfinite] [.relu] .tf32 .f32", "d, a")
@form("cvt .rna [.satfinite] .tf32 .f32", "d, a")
def to_tf32(t: Values, m: Match, o: Operands) -> None:
    """An f32 whose lower 13 bits are 0."""
    b, value = t.b, t.read(o[1], f32)
    parts, mode = parts_of(t, value), m.one_of(*_MODES)
    # In the format's own place of the word, infinity follows the greatest number.
    layout = Layout(19, 10, -126, TF32.greatest >> 13, 0x3FFFF)
    bits = narrowed(t, parts, layout, mode, m.has("satfinite"))
    made = b.bitcast(b.binary(arith.Shl, bits, b.const(13, u32)), f32)
    if m.has("relu"):
        made = positive(t, made)
    t.write(o[0], b.bitcast(made, u32))


@form("cvt .rn .satfinite [.relu] .e4m3x2|e5m2x2 .f32", "d, a, b")
@form("cvt .rn .satfinite [.relu] .e4m3x2|e5m2x2 .f16x2", "d, a")
def to_eight(t: Values, m: Match, o: Operands) -> None:
    """Two numbers as two floats of 8 bits; of f32 the first one is the upper."""
    b, layout = t.b, EIGHT[m.one_of(*EIGHT)]
    if len(o) == 3:
        high, low = (t.read(each, f32) for each in o[1:3])
    else:
        word = t.read(o[1], u32)
        halves = word, b.binary(arith.Shr, word, b.const(16, u32))
        low, high = (b.cast(b.bitcast(b.cast(each, u16), f16), f32) for each in halves)
    made: list[Value] = []
    for value in (low, high):
        bits = narrowed(t, parts_of(t, value), layout, "rn", finite=True)
        if m.has("relu"):
            negative = b.binary(arith.Le, value, b.zero(f32))
            bits = b.select(negative, b.zero(u32), bits)
        made.append(b.cast(bits, u8))
    t.write(o[0], joined(t, *made))


@form("cvt .rn [.relu] .f16x2 .e4m3x2|e5m2x2", "d, a")
def from_eight(t: Values, m: Match, o: Operands) -> None:
    """Two floats of 8 bits as two halves, which have every number of them."""
    b, layout = t.b, EIGHT[m.one_of(*EIGHT)]
    word = b.cast(t.read(o[1], u16), u32)
    made: list[Value] = []
    for place in (0, 8):
        bits = b.and_(b.binary(arith.Shr, word, b.const(place, u32)), b.const(0xFF, u32))
        half = _widened(t, bits, layout)
        if m.has("relu"):
            half = b.select(_is_negative(t, bits, layout), b.zero(u32), half)
        made.append(b.cast(half, u16))
    t.write(o[0], joined(t, *made))


def _is_negative(t: Values, bits: Value, layout: Layout) -> Value:
    b = t.b
    minus_nan = _first_nan(layout) + 0x80
    return b.and_(b.binary(arith.Ge, bits, b.const(0x80, u32)), b.lt(bits, b.const(minus_nan, u32)))


def _first_nan(layout: Layout) -> int:
    return 0x7F if layout.fraction == 3 else 0x7D


def _widened(t: Values, bits: Value, layout: Layout) -> Value:
    """The bits of a half for those of a float of 8 bits."""
    b = t.b
    if layout.fraction == 2:  # the upper byte of a half
        return b.binary(arith.Shl, bits, b.const(8, u32))
    magnitude, sign = b.and_(bits, b.const(0x7F, u32)), b.and_(bits, b.const(0x80, u32))
    normal = b.add(b.binary(arith.Shl, magnitude, b.const(7, u32)), b.const(8 << 10, u32))
    # A subnormal number is up to 7 times 2^-9.
    small = b.mul(b.cast(magnitude, f32), b.const(2.0**-9, f32))
    tiny = b.cast(b.bitcast(b.cast(small, f16), u16), u32)
    made = b.select(b.lt(magnitude, b.const(8, u32)), tiny, normal)
    made = b.select(b.eq(magnitude, b.const(0x7F, u32)), b.const(0x7FFF, u32), made)
    return b.or_(made, b.binary(arith.Shl, sign, b.const(8, u32)))
