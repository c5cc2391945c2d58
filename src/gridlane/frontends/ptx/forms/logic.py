"""Logic, shifts and comparisons. PTX ISA 9.0, "Logic and Shift", "Comparison and Selection"."""

from __future__ import annotations

from gridlane.core.dtypes import DType, b1, f16, f32, u32
from gridlane.frontends.ptx.forms.table import Match, form, rows
from gridlane.frontends.ptx.operands import Operand, Sink
from gridlane.frontends.ptx.types import unsigned
from gridlane.frontends.ptx.values import Values
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, floating
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]
BITWISE: dict[str, type[Op]] = {"and": arith.And, "or": arith.Or, "xor": arith.Xor}


rows(
    ("and .<bits>|pred", "d, a, b", arith.And),
    ("or .<bits>|pred", "d, a, b", arith.Or),
    ("xor .<bits>|pred", "d, a, b", arith.Xor),
    ("not .<bits>|pred", "d, a", arith.Not),
    ("shl .<bits>", "d, a, b u32", arith.Shl),
    ("shr .<bits>|<int>", "d, a, b u32", arith.Shr),
)


@form("cnot .<bits>", "d, a")
def cnot(t: Values, m: Match, o: Operands) -> None:
    """1 for 0, else 0."""
    is_zero = t.b.eq(t.read(o[1], m.type), t.b.zero(m.type))
    t.write(o[0], t.b.select(is_zero, t.b.const(1, m.type), t.b.zero(m.type)))


@form("shf .l|r .clamp|wrap .b32", "d, a, b, c")
def shf(t: Values, m: Match, o: Operands) -> None:
    """A shift of two words: the upper of them, or the lower one."""
    b, low, high, amount = t.b, *(t.read(each, u32) for each in o[1:])
    limit = b.const(32, u32)
    if m.has("wrap"):
        amount = b.and_(amount, b.const(31, u32))
    else:
        amount = b.binary(arith.Min, amount, limit)
    other = b.sub(limit, amount)
    if m.has("l"):
        shifted = b.or_(b.binary(arith.Shl, high, amount), b.binary(arith.Shr, low, other))
    else:
        shifted = b.or_(b.binary(arith.Shr, low, amount), b.binary(arith.Shl, high, other))
    t.write(o[0], shifted)


# --- comparisons

_ORDERED: dict[str, type[Op]] = {
    "eq": arith.Eq,
    "lt": arith.Lt,
    "le": arith.Le,
    "gt": arith.Gt,
    "ge": arith.Ge,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_OPPOSITE = {"neu": "eq", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}


def compare(t: Values, name: str, dtype: DType, ftz: bool, o: Operands) -> Value:
    """The result of a comparison."""
    if name in _UNSIGNED:
        name, dtype = _UNSIGNED[name], unsigned(dtype.bits)
    first, second = t.read(o[0], dtype), t.read(o[1], dtype)
    if ftz:
        first, second = flushed(t, first), flushed(t, second)
    return compared(t, name, first, second)


def compared(t: Values, name: str, first: Value, second: Value) -> Value:
    """The result of a comparison of values of a type."""
    b, dtype = t.b, first.type
    assert isinstance(dtype, DType)
    if name in ("num", "nan"):
        both = b.and_(b.eq(first, first), b.eq(second, second))
        return both if name == "num" else b.not_(both)
    if name == "equ":
        either = b.or_(b.binary(arith.Ne, first, first), b.binary(arith.Ne, second, second))
        return b.or_(either, b.eq(first, second))
    if name == "neu":
        return b.binary(arith.Ne, first, second)
    if name in _OPPOSITE:
        return b.not_(b.binary(_ORDERED[_OPPOSITE[name]], first, second))
    if name == "ne" and dtype.is_float:  # false with a NaN
        smaller, larger = b.lt(first, second), b.binary(arith.Gt, first, second)
        return b.or_(smaller, larger)
    op = arith.Ne if name == "ne" else _ORDERED[name]
    return b.binary(op, first, second)


def flushed(t: Values, value: Value) -> Value:
    """An f16 or f32, with 0 of its sign for a subnormal number."""
    if _is_normal(t, value):
        return value
    result = t.emit(floating.Flush(value))
    t.normal.add(result)
    return result


def _is_normal(t: Values, value: Value) -> bool:
    """Whether a float is no subnormal number: a constant, or what was flushed before."""
    known, kind = constant(value), value.type
    assert isinstance(kind, DType)
    is_number = isinstance(known, float) and (known == 0.0 or not abs(known) < _SMALLEST[kind])
    return is_number or value in t.normal


_SMALLEST = {f16: 2.0**-14, f32: 2.0**-126}
"""The smallest normal numbers."""
_NAMES = "eq|ne|lt|le|gt|ge"
COMPARISONS = f"{_NAMES}|equ|neu|ltu|leu|gtu|geu|num|nan"


@form("setp .eq|ne .<bits>", "d, a, b")
@form("setp .eq|ne .and|or|xor .<bits>", "d, a, b, c")
@form(f"setp .{_NAMES} .<int>", "d, a, b")
@form(f"setp .{_NAMES} .and|or|xor .<int>", "d, a, b, c")
@form("setp .lo|ls|hi|hs .<unsigned>", "d, a, b")
@form("setp .lo|ls|hi|hs .and|or|xor .<unsigned>", "d, a, b, c")
@form(f"setp .{COMPARISONS} [.ftz] .f32|f16", "d, a, b")
@form(f"setp .{COMPARISONS} .and|or|xor [.ftz] .f32|f16", "d, a, b, c")
@form(f"setp .{COMPARISONS} .f64|bf16", "d, a, b")
@form(f"setp .{COMPARISONS} .and|or|xor .f64|bf16", "d, a, b, c")
def setp(t: Values, m: Match, o: Operands) -> None:
    """A comparison, and its opposite, each combined with a predicate."""
    first, second = t.both(o[0])
    comparison = compare(t, m.modifiers[0], m.type, m.has("ftz"), o[1:3])
    results = (comparison,) if isinstance(second, Sink) else (comparison, t.b.not_(comparison))
    if len(o) == 4:
        other, op = t.read(o[3], b1), BITWISE[m.one_of("and", "or", "xor")]
        results = tuple(t.b.binary(op, each, other) for each in results)
    for operand, value in zip((first, second), results):
        t.write(operand, value)


@form("set .eq|ne .u32|s32|f32|f16|bf16 .<bits>", "d, a, b")
@form(f"set .{_NAMES} .u32|s32|f32|f16|bf16 .<int>", "d, a, b")
@form("set .lo|ls|hi|hs .u32|s32|f32|f16|bf16 .<unsigned>", "d, a, b")
@form(f"set .{COMPARISONS} [.ftz] .u32|s32|f32|f16 .f32", "d, a, b")
@form(f"set .{COMPARISONS} .bf16 .f32", "d, a, b")
@form(f"set .{COMPARISONS} .u32|s32|f32|f16|bf16 .f64", "d, a, b")
@form("set .eq|ne .and|or|xor .u32|s32|f32|f16|bf16 .<bits>", "d, a, b, c")
@form(f"set .{_NAMES} .and|or|xor .u32|s32|f32|f16|bf16 .<int>", "d, a, b, c")
@form("set .lo|ls|hi|hs .and|or|xor .u32|s32|f32|f16|bf16 .<unsigned>", "d, a, b, c")
@form(f"set .{COMPARISONS} .and|or|xor [.ftz] .u32|s32|f32|f16 .f32", "d, a, b, c")
@form(f"set .{COMPARISONS} .and|or|xor .bf16 .f32", "d, a, b, c")
@form(f"set .{COMPARISONS} .and|or|xor .u32|s32|f32|f16|bf16 .f64", "d, a, b, c")
def set_(t: Values, m: Match, o: Operands) -> None:
    """A comparison, combined with a predicate, as all ones or as 1.0."""
    kind = m.types[0]
    comparison = compare(t, m.modifiers[0], m.type, m.has("ftz"), o[1:3])
    if len(o) == 4:
        comparison = t.b.binary(BITWISE[m.one_of("and", "or", "xor")], comparison, t.read(o[3], b1))
    true = t.b.const(1.0 if kind.is_float else -1, kind)
    t.write(o[0], t.b.select(comparison, true, t.b.zero(kind)))
