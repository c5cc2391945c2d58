"""cvt to floats with fewer bits, rounded in any direction, by integers.

PTX ISA 9.0, "cvt".
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, bf16, f16, f32, f64, u8, u16, u32
from gridlane.frontends.ptx.forms.floating import saturated
from gridlane.frontends.ptx.forms.logic import flushed
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.types import unsigned
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith
from gridlane.ir.rounding.parts import LAYOUTS, Layout, narrowed, parts_of
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]


TF32 = Layout(32, 10, -126, 0x7F7FE000, 0x7FFFFFFF)
EIGHT = {"e4m3x2": Layout(8, 3, -6, 0x7E, 0x7F), "e5m2x2": Layout(8, 2, -14, 0x7B, 0x7F)}
"""Of these the greatest number is followed by a NaN, or by infinity."""


_INTS = "u8|u16|u32|u64|s8|s16|s32|s64"
_WIDE_INTS = "u16|u32|u64|s16|s32|s64"
_MODES = "rn", "rz", "rm", "rp", "rna"


def _source(t: Values, m: Match, operand: Operand, kind: DType) -> Value:
    value = t.read(operand, kind, narrows=True)
    return flushed(t, value) if m.has("ftz") and kind is f32 else value


def _half(t: Values, m: Match, value: Value, target: DType) -> Value:
    """A source as a float, rounded by the form's mode."""
    b, layout, mode = t.b, LAYOUTS[target], m.one_of(*_MODES) or "rn"
    assert isinstance(value.type, DType)
    is_wide = target is f64 and value.type.bits < 64
    exact = is_wide or (target is f32 and value.type in (f16, bf16))
    if exact or (mode == "rn" and not m.has("satfinite", "ftz")):
        result = b.cast(value, target)
    else:
        ftz = m.has("ftz") and target is f32
        bits = narrowed(t.b, parts_of(t.b, value), layout, mode, m.has("satfinite"), ftz)
        result = b.bitcast(b.cast(bits, unsigned(layout.bits)), target)
    result = positive(t, result) if m.has("relu") else result
    return saturated(t, result) if m.has("sat") else result


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
    narrowed = _half(t, m, _source(t, m, o[1], source), target)
    if m.has("ftz") and target is f32 and source is bf16:
        narrowed = flushed(t, narrowed)
    t.write(o[0], t.widen(o[0], narrowed))


@form("cvt .rz .f16x2|bf16x2 .f32", "d, a, b")
@form("cvt .rn|rz .relu .f16x2|bf16x2 .f32", "d, a, b")
@form("cvt .rn|rz .satfinite [.relu] .f16x2|bf16x2 .f32", "d, a, b")
def pack(t: Values, m: Match, o: Operands) -> None:
    """Two numbers as two halves; the first one is the upper."""
    target = bf16 if m.has("bf16x2") else f16
    results = [t.b.bitcast(_half(t, m, t.read(each, f32), target), u16) for each in o[1:3]]
    t.write(o[0], joined(t, results[1], results[0]))


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
    parts, mode = parts_of(t.b, value), m.one_of(*_MODES)
    # In the format's own place of the word, infinity follows the greatest number.
    layout = Layout(19, 10, -126, TF32.greatest >> 13, 0x3FFFF)
    bits = narrowed(t.b, parts, layout, mode, m.has("satfinite"))
    rounded_float = b.bitcast(b.binary(arith.Shl, bits, b.const(13, u32)), f32)
    if m.has("relu"):
        rounded_float = positive(t, rounded_float)
    t.write(o[0], b.bitcast(rounded_float, u32))


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
    new_values: list[Value] = []
    for value in (low, high):
        bits = narrowed(t.b, parts_of(t.b, value), layout, "rn", finite=True)
        if m.has("relu"):
            negative = b.binary(arith.Le, value, b.zero(f32))
            bits = b.select(negative, b.zero(u32), bits)
        new_values.append(b.cast(bits, u8))
    t.write(o[0], joined(t, *new_values))


@form("cvt .rn [.relu] .f16x2 .e4m3x2|e5m2x2", "d, a")
def from_eight(t: Values, m: Match, o: Operands) -> None:
    """Two floats of 8 bits as two halves, which have every number of them."""
    b, layout = t.b, EIGHT[m.one_of(*EIGHT)]
    word = b.cast(t.read(o[1], u16), u32)
    new_values: list[Value] = []
    for place in (0, 8):
        bits = b.and_(b.binary(arith.Shr, word, b.const(place, u32)), b.const(0xFF, u32))
        half = _widened(t, bits, layout)
        if m.has("relu"):
            half = b.select(_is_negative(t, bits, layout), b.zero(u32), half)
        new_values.append(b.cast(half, u16))
    t.write(o[0], joined(t, *new_values))


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
    result = b.select(b.lt(magnitude, b.const(8, u32)), tiny, normal)
    result = b.select(b.eq(magnitude, b.const(0x7F, u32)), b.const(0x7FFF, u32), result)
    return b.or_(result, b.binary(arith.Shl, sign, b.const(8, u32)))
