"""Arithmetic of two f32 in a register of 64 bits. PTX ISA 9.0, "add", "sub", "mul" and "fma"."""

from __future__ import annotations

from gridlane.core.dtypes import f32, f64, u32, u64
from gridlane.frontends.ptx.forms.logic import flushed
from gridlane.frontends.ptx.forms.narrowing import joined
from gridlane.frontends.ptx.forms.rounding import rounded_sum, towards
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.op import FastMath
from gridlane.ir.ops import arith
from gridlane.ir.values import Value
from gridlane.passes.legalise.flushing import tiny_flushed, up

Operands = tuple[Operand, ...]


@form("add [.rn|rz|rm|rp] [.ftz] .f32x2", "d, a, b")
@form("sub [.rn|rz|rm|rp] [.ftz] .f32x2", "d, a, b")
@form("mul [.rn|rz|rm|rp] [.ftz] .f32x2", "d, a, b")
@form("fma .rn|rz|rm|rp [.ftz] .f32x2", "d, a, b, c")
def arithmetic(t: Values, m: Match, o: Operands) -> None:
    """The same operation on both numbers."""
    mode = m.one_of("rz", "rm", "rp")
    compute = _directed if mode else _nearest
    sources = zip(*(_parts(t, each) for each in o[1:]), strict=True)
    low, high = (t.b.bitcast(compute(t, m, mode, each), u32) for each in sources)
    t.write(o[0], joined(t, low, high))


def _parts(t: Values, operand: Operand) -> tuple[Value, Value]:
    b, word = t.b, t.read(operand, u64)
    upper = b.binary(arith.Shr, word, b.const(32, u32))
    low, high = (b.bitcast(b.cast(each, u32), f32) for each in (word, upper))
    return low, high


def _nearest(t: Values, m: Match, mode: str, sources: tuple[Value, ...]) -> Value:
    b = t.b
    b.fast |= FastMath.FTZ if m.has("ftz") else FastMath.NONE
    made = {"add": b.add, "sub": b.sub, "mul": b.mul, "fma": b.fma}[m.form.root](*sources)
    b.fast = FastMath.NONE
    return made


def _directed(t: Values, m: Match, mode: str, sources: tuple[Value, ...]) -> Value:
    """As rounding.py has it for one number."""
    b, ftz, root = t.b, m.has("ftz"), m.form.root
    first, second, *more = (b.cast(flushed(t, x) if ftz else x, f64) for x in sources)
    if root in ("add", "sub"):
        made = rounded_sum(t, mode, first, b.neg(second) if root == "sub" else second)
        return flushed(t, made) if ftz else made

    def product(scaled: bool) -> Value:
        made = b.mul(up(b, first) if scaled else first, second)
        if not more:
            return towards(t, mode, made, made, b.const(0.0, f64))
        return rounded_sum(t, mode, made, up(b, more[0]) if scaled else more[0])

    made = product(False)
    return tiny_flushed(b, made, product(True)) if ftz else made
