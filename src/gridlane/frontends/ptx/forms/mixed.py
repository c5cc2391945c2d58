"""Sums of halves and f32. PTX ISA 9.0, "Mixed Precision Floating-Point Instructions".

A half is an f32 without a change.
"""

from __future__ import annotations

from gridlane.core.dtypes import f32, f64
from gridlane.frontends.ptx.forms.floating import saturated
from gridlane.frontends.ptx.forms.rounding import WAYS, way_of
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops.floating import FmaTowards, sum_towards
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]


@form("add [.rn|rz|rm|rp] [.sat] .f32 .f16|bf16", "d, a, c")
@form("sub [.rn|rz|rm|rp] [.sat] .f32 .f16|bf16", "d, a, c")
def add(t: Values, m: Match, o: Operands) -> None:
    """A half and an f32, or without it."""
    first, third = t.b.cast(t.read(o[1], m.type), f32), t.read(o[2], f32)
    if m.form.root == "sub":
        third = t.b.neg(third)
    if m.one_of(*WAYS):
        total = sum_towards(t.b, way_of(m), t.b.cast(first, f64), t.b.cast(third, f64))
    else:
        total = t.b.add(first, third)
    _write(t, m, o[0], total)


@form("fma .rn|rz|rm|rp [.sat] .f32 .f16|bf16", "d, a, b, c")
def fma(t: Values, m: Match, o: Operands) -> None:
    """A product of halves and an f32."""
    b, third = t.b, t.read(o[3], f32)
    first, second = (b.cast(t.read(each, m.type), f32) for each in o[1:3])
    if m.one_of(*WAYS):
        total = b.value(FmaTowards(first, second, third, way_of(m)))
    else:
        total = b.fma(first, second, third)
    _write(t, m, o[0], total)


def _write(t: Values, m: Match, operand: Operand, total: Value) -> None:
    t.write(operand, saturated(t, total) if m.has("sat") else total)
