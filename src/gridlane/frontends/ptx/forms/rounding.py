"""Arithmetic of f32 rounded towards zero, minus or plus infinity, by f64 but for ``fma``."""

from __future__ import annotations

from gridlane.core.dtypes import f32, f64
from gridlane.frontends.ptx.forms.floating import computed, result, source
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops.floating import (
    FmaTowards,
    Towards,
    rounded_towards,
    sum_towards,
)
from gridlane.ir.rounding.arithmetic32 import quotient, root
from gridlane.ir.values import Value
from gridlane.passes.legalise.flushing import up

Operands = tuple[Operand, ...]
WAYS = {"rz": Towards.ZERO, "rm": Towards.DOWN, "rp": Towards.UP}


def way_of(m: Match) -> Towards:
    """The direction that a form names."""
    return WAYS[m.one_of(*WAYS)]


@form("add .rz|rm|rp [.ftz] [.sat] .f32", "d, a, b")
@form("sub .rz|rm|rp [.ftz] [.sat] .f32", "d, a, b")
def add(t: Values, m: Match, o: Operands) -> None:
    """A sum or difference."""
    first, second = (t.b.cast(source(t, m, each), f64) for each in o[1:3])
    if m.form.root == "sub":
        second = t.b.neg(second)
    result(t, m, o[0], sum_towards(t.b, way_of(m), first, second))


@form("mul .rz|rm|rp [.ftz] [.sat] .f32", "d, a, b")
def mul(t: Values, m: Match, o: Operands) -> None:
    """A product, which is exact in f64."""
    first, second = (t.b.cast(source(t, m, each), f64) for each in o[1:3])

    def product(first: Value) -> Value:
        exact = t.b.mul(first, second)
        return rounded_towards(t.b, way_of(m), exact, exact, t.b.const(0.0, f64))

    result(t, m, o[0], product(first), lambda: product(up(t.b, first)))


@form("fma .rz|rm|rp [.ftz] [.sat] .f32", "d, a, b, c")
@form("mad .rz|rm|rp [.ftz] [.sat] .f32", "d, a, b, c")
def fma(t: Values, m: Match, o: Operands) -> None:
    """A product and a sum."""

    def made(x: Value, y: Value, z: Value) -> Value:
        return t.b.value(FmaTowards(x, y, z, way_of(m), t.b.fast))

    computed(t, m, o[0], made, *o[1:])


@form("div .rz|rm|rp [.ftz] .f32", "d, a, b")
@form("rcp .rz|rm|rp [.ftz] .f32", "d, a")
def div(t: Values, m: Match, o: Operands) -> None:
    """A quotient."""
    one = t.b.const(1.0, f32)
    first = source(t, m, o[1]) if m.form.root == "div" else one
    second = source(t, m, o[2] if m.form.root == "div" else o[1])
    dividend, divisor, way = t.b.cast(first, f64), t.b.cast(second, f64), way_of(m)
    rounded_quotient = quotient(t.b, way, dividend, divisor)
    result(t, m, o[0], rounded_quotient, lambda: quotient(t.b, way, up(t.b, dividend), divisor))


@form("sqrt .rz|rm|rp [.ftz] .f32", "d, a")
def sqrt(t: Values, m: Match, o: Operands) -> None:
    """A square root."""
    result(t, m, o[0], root(t.b, way_of(m), source(t, m, o[1])))
