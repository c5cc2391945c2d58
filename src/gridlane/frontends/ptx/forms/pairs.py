"""Arithmetic of two f32 in a register of 64 bits. PTX ISA 9.0, "add", "sub", "mul" and "fma"."""

from __future__ import annotations

from gridlane.core.dtypes import f32, f64, u32, u64
from gridlane.frontends.ptx.forms.logic import flushed
from gridlane.frontends.ptx.forms.narrowing import joined
from gridlane.frontends.ptx.forms.rounding import WAYS, way_of
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.op import FastMath
from gridlane.ir.ops import arith
from gridlane.ir.ops.floating import FmaTowards, rounded_towards, sum_towards
from gridlane.ir.values import Value
from gridlane.passes.legalise.flushing import tiny_flushed, up

Operands = tuple[Operand, ...]


@form("add [.rn|rz|rm|rp] [.ftz] .f32x2", "d, a, b")
@form("sub [.rn|rz|rm|rp] [.ftz] .f32x2", "d, a, b")
@form("mul [.rn|rz|rm|rp] [.ftz] .f32x2", "d, a, b")
@form("fma .rn|rz|rm|rp [.ftz] .f32x2", "d, a, b, c")
def arithmetic(t: Values, m: Match, o: Operands) -> None:
    """The same operation on both numbers."""
    compute = _directed if m.one_of(*WAYS) else _nearest
    sources = zip(*(_parts(t, each) for each in o[1:]), strict=True)
    low, high = (t.b.bitcast(compute(t, m, each), u32) for each in sources)
    t.write(o[0], joined(t, low, high))


def _parts(t: Values, operand: Operand) -> tuple[Value, Value]:
    b, word = t.b, t.read(operand, u64)
    upper = b.binary(arith.Shr, word, b.const(32, u32))
    low, high = (b.bitcast(b.cast(each, u32), f32) for each in (word, upper))
    return low, high


def _nearest(t: Values, m: Match, sources: tuple[Value, ...]) -> Value:
    b = t.b
    b.fast |= FastMath.FTZ if m.has("ftz") else FastMath.NONE
    result = {"add": b.add, "sub": b.sub, "mul": b.mul, "fma": b.fma}[m.form.root](*sources)
    b.fast = FastMath.NONE
    return result


def _directed(t: Values, m: Match, sources: tuple[Value, ...]) -> Value:
    """As rounding.py has it for one number."""
    b, ftz, root, way = t.b, m.has("ftz"), m.form.root, way_of(m)
    if root == "fma":
        x, y, z = sources
        return b.value(FmaTowards(x, y, z, way, FastMath.FTZ if ftz else FastMath.NONE))
    first, second = (b.cast(flushed(t, x) if ftz else x, f64) for x in sources)
    if root in ("add", "sub"):
        rounded_number = sum_towards(b, way, first, b.neg(second) if root == "sub" else second)
        return flushed(t, rounded_number) if ftz else rounded_number

    def product(first: Value) -> Value:
        result = b.mul(first, second)
        return rounded_towards(b, way, result, result, b.const(0.0, f64))

    rounded_number = product(first)
    return tiny_flushed(b, rounded_number, product(up(b, first))) if ftz else rounded_number
