"""Arithmetic of f16 and bf16, one in a register or two.

PTX ISA 9.0, "Half Precision Floating-Point Instructions". Each operation rounds once to nearest.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, b1, bf16, f16, f32, u16, u32
from gridlane.frontends.ptx.forms.floating import extreme_of, saturated
from gridlane.frontends.ptx.forms.logic import BITWISE, COMPARISONS, compared, flushed
from gridlane.frontends.ptx.forms.narrowing import positive
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand, Sink
from gridlane.frontends.ptx.values import Values
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]
_BINARY: dict[str, type[Op]] = {
    "add": arith.Add,
    "sub": arith.Sub,
    "mul": arith.Mul,
}


def _kind(m: Match) -> DType:
    return bf16 if m.modifiers[-1].startswith("bf16") else f16


def _is_packed(m: Match) -> bool:
    return m.modifiers[-1].endswith("x2")


def halves(t: Values, m: Match, operand: Operand, flush: bool = True) -> tuple[Value, ...]:
    """The halves of a source, the lower one first, flushed if the form flushes."""
    b, kind = t.b, _kind(m)
    if not _is_packed(m):
        sources = (t.read(operand, kind),)
    else:
        word = t.read(operand, u32)
        upper = b.binary(arith.Shr, word, b.const(16, u32))
        sources = tuple(b.bitcast(b.cast(each, u16), kind) for each in (word, upper))
    flushes = flush and m.has("ftz") and kind is f16
    return tuple(flushed(t, each) for each in sources) if flushes else sources


def joined(t: Values, words: list[Value]) -> Value:
    """One or two words of 16 bits in a register."""
    if len(words) == 1:
        return words[0]
    b = t.b
    low, high = (b.cast(each, u32) for each in words)
    return b.or_(low, b.binary(arith.Shl, high, b.const(16, u32)))


def _write(t: Values, m: Match, operand: Operand, outputs: list[Value]) -> None:
    """Write halves, finished by the form's modifiers."""
    b, kind, finished = t.b, _kind(m), list[Value]()
    for each in outputs:
        if m.has("sat"):
            each = saturated(t, each)
        if m.has("relu"):
            each = positive(t, each)
        finished.append(flushed(t, each) if m.has("ftz") and kind is f16 else each)
    words = [b.bitcast(each, u16) for each in finished] if _is_packed(m) else finished
    t.write(operand, joined(t, words))


@form("add [.rn] [.ftz] [.sat] .f16|f16x2", "d, a, b")
@form("sub [.rn] [.ftz] [.sat] .f16|f16x2", "d, a, b")
@form("mul [.rn] [.ftz] [.sat] .f16|f16x2", "d, a, b")
@form("add [.rn] .bf16|bf16x2", "d, a, b")
@form("sub [.rn] .bf16|bf16x2", "d, a, b")
@form("mul [.rn] .bf16|bf16x2", "d, a, b")
def binary(t: Values, m: Match, o: Operands) -> None:
    """Sum, difference, product."""
    pairs = zip(halves(t, m, o[1]), halves(t, m, o[2]), strict=True)
    _write(t, m, o[0], [t.b.binary(_BINARY[m.form.root], *each) for each in pairs])


@form("fma .rn [.ftz] [.sat|relu] .f16|f16x2", "d, a, b, c")
@form("fma .rn [.relu] .bf16|bf16x2", "d, a, b, c")
def fma(t: Values, m: Match, o: Operands) -> None:
    """A product and a sum, rounded once."""
    parts = zip(*(halves(t, m, each) for each in o[1:4]), strict=True)
    _write(t, m, o[0], [t.b.fma(*each) for each in parts])


@form("neg [.ftz] .f16|f16x2", "d, a")
@form("abs [.ftz] .f16|f16x2", "d, a")
@form("neg .bf16|bf16x2", "d, a")
@form("abs .bf16|bf16x2", "d, a")
def sign(t: Values, m: Match, o: Operands) -> None:
    """Without a sign, or with the other one."""
    op = arith.Neg if m.form.root == "neg" else arith.Abs
    _write(t, m, o[0], [t.b.unary(op, each) for each in halves(t, m, o[1])])


@form("min [.ftz] [.NaN] .f16|f16x2", "d, a, b")
@form("max [.ftz] [.NaN] .f16|f16x2", "d, a, b")
@form("min [.ftz] [.NaN] .xorsign .abs .f16|f16x2", "d, a, b")
@form("max [.ftz] [.NaN] .xorsign .abs .f16|f16x2", "d, a, b")
@form("min [.NaN] .bf16|bf16x2", "d, a, b")
@form("max [.NaN] .bf16|bf16x2", "d, a, b")
@form("min [.NaN] .xorsign .abs .bf16|bf16x2", "d, a, b")
@form("max [.NaN] .xorsign .abs .bf16|bf16x2", "d, a, b")
def extreme(t: Values, m: Match, o: Operands) -> None:
    """The smaller or larger."""
    pairs = zip(*(halves(t, m, each, flush=False) for each in o[1:]), strict=True)
    _write(t, m, o[0], [extreme_of(t, m, *each) for each in pairs])


@form("ex2 .approx .f16|f16x2", "d, a")
@form("ex2 .approx .ftz .bf16|bf16x2", "d, a")
@form("tanh .approx .f16|f16x2|bf16|bf16x2", "d, a")
def function(t: Values, m: Match, o: Operands) -> None:
    """A function, of f32 and rounded."""
    b, kind = t.b, _kind(m)
    op = math.Exp2 if m.form.root == "ex2" else math.Tanh
    results = [b.cast(b.unary(op, b.cast(each, f32)), kind) for each in halves(t, m, o[1])]
    if m.has("ftz"):
        results = [_without_tiny(t, each) for each in results]
    _write(t, m, o[0], results)


def _without_tiny(t: Values, value: Value) -> Value:
    """A bf16, or 0 for a subnormal one."""
    b = t.b
    exponent = b.and_(b.bitcast(value, u16), b.const(0x7F80, u16))
    return b.select(b.eq(exponent, b.zero(u16)), b.zero(bf16), value)


# --- comparisons


@form(f"setp .{COMPARISONS} [.ftz] .f16x2", "d, a, b")
@form(f"setp .{COMPARISONS} .and|or|xor [.ftz] .f16x2", "d, a, b, c")
@form(f"setp .{COMPARISONS} .bf16x2", "d, a, b")
@form(f"setp .{COMPARISONS} .and|or|xor .bf16x2", "d, a, b, c")
def setp(t: Values, m: Match, o: Operands) -> None:
    """A comparison of each half, combined with a predicate."""
    for target, comparison in zip(t.both(o[0]), _compared(t, m, o), strict=True):
        if not isinstance(target, Sink):
            t.write(target, comparison)


def _compared(t: Values, m: Match, o: Operands) -> list[Value]:
    pairs = zip(halves(t, m, o[1]), halves(t, m, o[2]), strict=True)
    results = [compared(t, m.modifiers[0], *each) for each in pairs]
    if len(o) == 4:
        op, other = BITWISE[m.one_of("and", "or", "xor")], t.read(o[3], b1)
        results = [t.b.binary(op, each, other) for each in results]
    return results


@form(f"set .{COMPARISONS} [.ftz] .u16|s16|u32|s32|f16 .f16", "d, a, b")
@form(f"set .{COMPARISONS} .and|or|xor [.ftz] .u16|s16|u32|s32|f16 .f16", "d, a, b, c")
@form(f"set .{COMPARISONS} .bf16 .f16", "d, a, b")
@form(f"set .{COMPARISONS} .and|or|xor .bf16 .f16", "d, a, b, c")
@form(f"set .{COMPARISONS} .u16|s16|u32|s32|bf16 .bf16", "d, a, b")
@form(f"set .{COMPARISONS} .and|or|xor .u16|s16|u32|s32|bf16 .bf16", "d, a, b, c")
@form(f"set .{COMPARISONS} [.ftz] .u32|s32|f16x2 .f16x2", "d, a, b")
@form(f"set .{COMPARISONS} .and|or|xor [.ftz] .u32|s32|f16x2 .f16x2", "d, a, b, c")
@form(f"set .{COMPARISONS} .u32|s32|bf16x2 .bf16x2", "d, a, b")
@form(f"set .{COMPARISONS} .and|or|xor .u32|s32|bf16x2 .bf16x2", "d, a, b, c")
def set_(t: Values, m: Match, o: Operands) -> None:
    """A comparison of each half, as all ones or as 1.0."""
    b, to = t.b, m.modifiers[-2]
    if _is_packed(m):
        one = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(to, 0xFFFF)
        words = [b.select(e, b.const(one, u16), b.zero(u16)) for e in _compared(t, m, o)]
        t.write(o[0], joined(t, words))
        return
    kind, (comparison,) = m.types[0], _compared(t, m, o)
    true = (
        b.const(1.0, kind) if kind.is_float else b.const(-1 if kind.is_signed else kind.max, kind)
    )
    t.write(o[0], b.select(comparison, true, b.zero(kind)))
