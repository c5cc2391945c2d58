"""Arithmetic that is that of f32 on other operands: two f32 in a register of 64 bits (``.f32x2``),
a half beside an f32, minimum and maximum of three. PTX ISA 9.0, "Floating-Point Instructions" and
"Mixed Precision Floating-Point Instructions".

Each is the form of f32 with the same modifiers, on registers of its own.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, bf16, f16, f32, u32, u64
from gridlane.frontends.ptx.forms.table import Match, find, form
from gridlane.frontends.ptx.operands import Operand, Reg, Register
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]
_MODES = "[.rn|rz|rm|rp]"


def _single(t: Values, root: str, modifiers: tuple[str, ...], *sources: Value) -> Value:
    """What the form of f32 makes of values."""
    named = tuple(Reg(Register("part", f32, -1)) for _ in (None, *sources))
    for register, value in zip(named[1:], sources, strict=True):
        t.write(register, value)
    found = find(root, (*modifiers, "f32"), len(named))
    assert found is not None, (root, modifiers)
    found.form.build(t, found, named)
    return t.of(named[0].register)


def _modifiers(m: Match, *without: str) -> tuple[str, ...]:
    return tuple(each for each in m.modifiers if each not in ("f32", "f32x2", *without))


@form(f"add {_MODES} [.ftz] .f32x2", "d, a, b")
@form(f"sub {_MODES} [.ftz] .f32x2", "d, a, b")
@form(f"mul {_MODES} [.ftz] .f32x2", "d, a, b")
@form("fma .rn|rz|rm|rp [.ftz] .f32x2", "d, a, b, c")
def pair(t: Values, m: Match, o: Operands) -> None:
    """An operation on each of two f32, the first of them in the lower half."""
    b, words = t.b, [t.read(each, u64) for each in o[1:]]
    made: list[Value] = []
    for shift in (0, 32):
        shifted = [b.binary(arith.Shr, word, b.const(shift, u32)) for word in words]
        parts = [b.bitcast(b.cast(each, u32), f32) for each in shifted]
        single = _single(t, m.form.root, _modifiers(m), *parts)
        made.append(b.cast(b.bitcast(single, u32), u64))
    upper = b.binary(arith.Shl, made[1], b.const(32, u32))
    t.write(o[0], b.or_(made[0], upper))


@form(f"add {_MODES} [.sat] .f32 .f16|bf16", "d, a, c")
@form(f"sub {_MODES} [.sat] .f32 .f16|bf16", "d, a, c")
@form("fma .rn|rz|rm|rp [.sat] .f32 .f16|bf16", "d, a, b, c")
def mixed(t: Values, m: Match, o: Operands) -> None:
    """An operation on halves, which are exact in f32, and an f32."""
    kind: DType = f16 if m.modifiers[-1] == "f16" else bf16
    halves = [t.b.cast(t.read(each, kind), f32) for each in o[1:-1]]
    modifiers = _modifiers(m, "f16", "bf16")
    t.write(o[0], _single(t, m.form.root, modifiers, *halves, t.read(o[-1], f32)))


@form("min [.ftz] [.NaN] [.abs] .f32", "d, a, b, c")
@form("max [.ftz] [.NaN] [.abs] .f32", "d, a, b, c")
def extreme_of_three(t: Values, m: Match, o: Operands) -> None:
    """The smallest or largest of three; with .abs of the magnitudes."""
    first, *others = (t.read(each, f32) for each in o[1:])
    if m.has("abs"):
        first, *others = (t.b.unary(arith.Abs, each) for each in (first, *others))
    for other in others:
        first = _single(t, m.form.root, _modifiers(m, "abs"), first, other)
    t.write(o[0], first)
