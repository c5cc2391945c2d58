"""cvt. PTX ISA 9.0, "Data Movement and Conversion Instructions"."""

from __future__ import annotations

from gridlane.core.dtypes import DType, bf16, f16, f32, f64, i32, i64, u16, u32, u64
from gridlane.frontends.ptx.forms.floating import saturated
from gridlane.frontends.ptx.forms.logic import flushed
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Value
from gridlane.passes.legalise.flushing import tiny_flushed, up

Operands = tuple[Operand, ...]

_INTS = "u8|u16|u32|u64|s8|s16|s32|s64"
_ROUND: dict[str, type[Op]] = {
    "rni": math.Rint,
    "rzi": math.Trunc,
    "rmi": math.Floor,
    "rpi": math.Ceil,
}


@form(f"cvt .{_INTS} .{_INTS}", "d, a")
# .sat is for targets that cannot hold each number of the source.
@form("cvt .sat .s8|s16|s32|s64 .u64", "d, a")
@form("cvt .sat .s8|s16|s32 .u32|s64", "d, a")
@form("cvt .sat .s8|s16 .u16|s32", "d, a")
@form("cvt .sat .s8 .u8|s16", "d, a")
@form("cvt .sat .u8|u16|u32|u64 .s8|s16|s32|s64", "d, a")
@form("cvt .sat .u8|u16|u32 .u64", "d, a")
@form("cvt .sat .u8|u16 .u32", "d, a")
@form("cvt .sat .u8 .u16", "d, a")
def int_to_int(t: Values, m: Match, o: Operands) -> None:
    """Truncated, extended, or saturated."""
    target, source = m.types
    value = t.read(o[1], source, narrows=True)
    if m.has("sat"):
        value = _clamped(t, value, target)
    t.write(o[0], t.widen(o[0], t.b.cast(value, target)))


def _clamped(t: Values, value: Value, target: DType) -> Value:
    """An integer within the range of another type."""
    source = value.type
    assert isinstance(source, DType)
    if target.min > source.min:
        value = t.b.binary(arith.Max, value, t.b.const(target.min, source))
    if target.max < source.max:
        value = t.b.binary(arith.Min, value, t.b.const(target.max, source))
    return value


@form(f"cvt .rn .f16|f32|f64 .{_INTS}", "d, a")
@form("cvt .rn .bf16 .u16|u32|u64|s16|s32|s64", "d, a")
@form(f"cvt .rn [.ftz] [.sat] .f32 .{_INTS}", "d, a")
def int_to_float(t: Values, m: Match, o: Operands) -> None:
    """Rounded to nearest even."""
    target, source = m.types
    converted = t.b.cast(t.read(o[1], source, narrows=True), target)
    t.write(o[0], t.widen(o[0], saturated(t, converted) if m.has("sat") else converted))


@form(f"cvt .rni|rzi|rmi|rpi [.ftz] [.sat] .{_INTS} .f32", "d, a")
@form(f"cvt .rni|rzi|rmi|rpi [.sat] .{_INTS} .f16|f64", "d, a")
@form("cvt .rni|rzi|rmi|rpi .u16|u32|u64|s16|s32|s64 .bf16", "d, a")
def float_to_int(t: Values, m: Match, o: Operands) -> None:
    """Rounded to an integer, then saturated. A NaN becomes 0, or the upper bit if the source or the
    target has 64 bits."""
    b, (target, source) = t.b, m.types
    value = _flushed(t, m, t.read(o[1], source, narrows=True))
    rounding = _ROUND[m.modifiers[0]]
    if source in (f16, bf16):
        value = b.cast(value, f32)
    rounded = value if rounding is math.Trunc else b.unary(rounding, value)
    integer = of_nan(t.b, value, b.cast(rounded, target))
    t.write(o[0], t.widen(o[0], integer))


def of_nan(b: Builder, value: Value, integer: Value) -> Value:
    """The integer that a float became; the upper bit for a NaN if one of them has 64 bits."""
    target = integer.type
    assert isinstance(target, DType)
    if value.type is not f64 and target not in (i64, u64):
        return integer
    upper = b.const(target.min if target.is_signed else 1 << target.bits - 1, target)
    return b.select(b.binary(arith.Ne, value, value), upper, integer)


@form("cvt .f32 .f16|bf16", "d, a")
@form("cvt .f64 .f16|bf16|f32", "d, a")
@form("cvt [.ftz] [.sat] .f32 .f16", "d, a")
@form("cvt [.ftz] .f64 .f32", "d, a")
@form("cvt .rn [.ftz] [.sat] .f32 .f64", "d, a")
@form("cvt .rn [.ftz] .f16 .f32", "d, a")
@form("cvt .rn .bf16 .f32", "d, a")
@form("cvt .rn .f16 .f64", "d, a")
def float_to_float(t: Values, m: Match, o: Operands) -> None:
    """Exact, or rounded to nearest even."""
    target, source = m.types
    value = _flushed(t, m, t.read(o[1], source, narrows=True))
    converted = t.b.cast(value, target)
    if m.has("ftz") and source is f64:
        converted = tiny_flushed(t.b, converted, t.b.cast(up(t.b, value), target))
        t.normal.add(converted)
    if m.has("sat"):
        converted = saturated(t, converted)
    t.write(o[0], t.widen(o[0], _flushed(t, m, converted)))


def _flushed(t: Values, m: Match, value: Value) -> Value:
    """A float, flushed with .ftz: here it is about f32 alone."""
    return flushed(t, value) if m.has("ftz") and value.type is f32 else value


@form("cvt [.rni|rzi|rmi|rpi] [.ftz] [.sat] .f32 .f32", "d, a")
@form("cvt [.rni|rzi|rmi|rpi] [.sat] .f64 .f64", "d, a")
@form("cvt [.rni|rzi|rmi|rpi] [.sat] .f16 .f16", "d, a")
@form("cvt [.rni|rzi|rmi|rpi] .bf16 .bf16", "d, a")
def round_float(t: Values, m: Match, o: Operands) -> None:
    """Rounded to an integer that stays a float."""
    value = _flushed(t, m, t.read(o[1], m.type))
    rounding = _ROUND.get(m.modifiers[0])
    if rounding is not None:
        if m.type in (f16, bf16):
            value = t.b.cast(t.b.unary(rounding, t.b.cast(value, f32)), m.type)
        else:
            value = t.b.unary(rounding, value)
    t.write(o[0], saturated(t, value) if m.has("sat") else value)


@form("cvt .rn .f16x2|bf16x2 .f32", "d, a, b")
def pack_halves(t: Values, m: Match, o: Operands) -> None:
    """Two numbers as two halves; the first one is the upper."""
    kind = bf16 if m.has("bf16x2") else f16
    high, low = (
        t.b.cast(t.b.bitcast(t.b.cast(t.read(each, f32), kind), u16), u32) for each in o[1:3]
    )
    t.write(o[0], t.b.or_(low, t.b.binary(arith.Shl, high, t.b.const(16, u32))))


@form("cvt .pack .sat .u16|s16 .s32", "d, a, b")
@form("cvt .pack .sat .u8|s8|u4|s4|u2|s2 .s32 .b32", "d, a, b, c")
def pack(t: Values, m: Match, o: Operands) -> None:
    """Two saturated integers in the lowest bits, the first one above; above them the lower bits of
    the third source."""
    b, name = t.b, m.modifiers[2]
    width, is_signed = int(name[1:]), name[0] == "s"
    low = -(1 << width - 1) if is_signed else 0
    word = b.const(0, u32)
    if len(o) == 4:
        word = b.binary(arith.Shl, t.read(o[3], u32), b.const(2 * width, u32))
    for place, operand in enumerate((o[2], o[1])):
        value = b.binary(arith.Max, t.read(operand, i32), b.const(low, i32))
        value = b.binary(arith.Min, value, b.const(low + (1 << width) - 1, i32))
        bits = b.and_(b.cast(value, u32), b.const((1 << width) - 1, u32))
        word = b.or_(word, b.binary(arith.Shl, bits, b.const(place * width, u32)))
    t.write(o[0], word)
