"""Arithmetic of f32 rounded towards zero, minus or plus infinity, by f64 but for ``fma``."""

from __future__ import annotations

from gridlane.core.dtypes import f32, f64, u32
from gridlane.frontends.ptx.forms.floating import computed, result, source
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import math
from gridlane.ir.ops.arith import Ne
from gridlane.ir.ops.floating import (
    FmaTowards,
    Towards,
    neighbour_towards,
    rounded_towards,
    sum_towards,
)
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
        made = t.b.mul(first, second)
        return rounded_towards(t.b, way_of(m), made, made, t.b.const(0.0, f64))

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
    made = _quotient(t, way, dividend, divisor)
    result(t, m, o[0], made, lambda: _quotient(t, way, up(t.b, dividend), divisor))


def _quotient(t: Values, way: Towards, first: Value, second: Value) -> Value:
    """A quotient of f64 that have the bits of f32, as an f32. The nearest one times the divisor is
    exact in f64: compared with the dividend it tells on which side the quotient is."""
    b = t.b
    near = b.div(first, second)
    made = b.cast(near, f32)
    back = b.mul(b.cast(made, f64), second)
    rest = b.sub(first, back)  # its sign is right, as the two are close
    negative = b.lt(second, b.zero(f64))
    error = b.select(negative, b.neg(rest), rest)
    # An infinite or zero quotient of finite numbers is off by more than a comparison shows.
    plain = b.and_(_is_finite(t, made), b.binary(Ne, made, b.zero(f32)))
    error = b.select(plain, error, b.sub(near, b.cast(made, f64)))
    return neighbour_towards(b, way, made, near, error)


@form("sqrt .rz|rm|rp [.ftz] .f32", "d, a")
def sqrt(t: Values, m: Match, o: Operands) -> None:
    """A square root; its square is exact in f64."""
    b, value = t.b, source(t, m, o[1])
    made = b.unary(math.Sqrt, value)
    wide = b.cast(made, f64)
    error = b.sub(b.cast(value, f64), b.mul(wide, wide))
    result(t, m, o[0], neighbour_towards(b, way_of(m), made, wide, error))


def _is_finite(t: Values, value: Value) -> Value:
    b = t.b
    bits = b.and_(b.bitcast(value, u32), b.const(0x7FFFFFFF, u32))
    return b.lt(bits, b.const(0x7F800000, u32))
