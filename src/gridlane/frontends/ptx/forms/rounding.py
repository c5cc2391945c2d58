"""Arithmetic of f32 rounded towards zero, minus or plus infinity.

The exact result is the sum of two f64: a product of f32 is exact in f64, and the error of a sum is
a float (D. E. Knuth, "The Art of Computer Programming", volume 2, theorem 4.2.2 B). The nearest f32
is the result, or its neighbour.
"""

from __future__ import annotations

from gridlane.core.dtypes import f32, f64, u32, u64
from gridlane.frontends.ptx.forms.floating import result, source
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import math
from gridlane.ir.ops.arith import Ge, Gt, Ne
from gridlane.ir.values import Value
from gridlane.passes.legalise.flushing import up

Operands = tuple[Operand, ...]
_MODES = "rz", "rm", "rp"


@form("add .rz|rm|rp [.ftz] [.sat] .f32", "d, a, b")
@form("sub .rz|rm|rp [.ftz] [.sat] .f32", "d, a, b")
def add(t: Values, m: Match, o: Operands) -> None:
    """A sum or difference."""
    first, second = (t.b.cast(source(t, m, each), f64) for each in o[1:3])
    if m.form.root == "sub":
        second = t.b.neg(second)
    result(t, m, o[0], rounded_sum(t, m.one_of(*_MODES), first, second))


@form("mul .rz|rm|rp [.ftz] [.sat] .f32", "d, a, b")
def mul(t: Values, m: Match, o: Operands) -> None:
    """A product, which is exact in f64."""
    first, second = (t.b.cast(source(t, m, each), f64) for each in o[1:3])

    def product(first: Value) -> Value:
        made = t.b.mul(first, second)
        return towards(t, m.one_of(*_MODES), made, made, t.b.const(0.0, f64))

    result(t, m, o[0], product(first), lambda: product(up(t.b, first)))


@form("fma .rz|rm|rp [.ftz] [.sat] .f32", "d, a, b, c")
@form("mad .rz|rm|rp [.ftz] [.sat] .f32", "d, a, b, c")
def fma(t: Values, m: Match, o: Operands) -> None:
    """A product and a sum."""
    first, second, third = (t.b.cast(source(t, m, each), f64) for each in o[1:4])

    def made(first: Value, third: Value) -> Value:
        return rounded_sum(t, m.one_of(*_MODES), t.b.mul(first, second), third)

    result(t, m, o[0], made(first, third), lambda: made(up(t.b, first), up(t.b, third)))


@form("div .rz|rm|rp [.ftz] .f32", "d, a, b")
@form("rcp .rz|rm|rp [.ftz] .f32", "d, a")
def div(t: Values, m: Match, o: Operands) -> None:
    """A quotient."""
    one = t.b.const(1.0, f32)
    first = source(t, m, o[1]) if m.form.root == "div" else one
    second = source(t, m, o[2] if m.form.root == "div" else o[1])
    dividend, divisor, mode = t.b.cast(first, f64), t.b.cast(second, f64), m.one_of(*_MODES)
    made = _quotient(t, mode, dividend, divisor)
    result(t, m, o[0], made, lambda: _quotient(t, mode, up(t.b, dividend), divisor))


def _quotient(t: Values, mode: str, first: Value, second: Value) -> Value:
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
    return _neighbour(t, mode, made, near, error)


@form("sqrt .rz|rm|rp [.ftz] .f32", "d, a")
def sqrt(t: Values, m: Match, o: Operands) -> None:
    """A square root; its square is exact in f64."""
    b, value = t.b, source(t, m, o[1])
    made = b.unary(math.Sqrt, value)
    wide = b.cast(made, f64)
    error = b.sub(b.cast(value, f64), b.mul(wide, wide))
    result(t, m, o[0], _neighbour(t, m.one_of(*_MODES), made, wide, error))


def rounded_sum(t: Values, mode: str, first: Value, second: Value) -> Value:
    """The sum of two f64, as an f32."""
    b = t.b
    total = b.add(first, second)
    part = b.sub(total, first)
    error = b.add(b.sub(first, b.sub(total, part)), b.sub(second, part))
    if mode == "rm":  # an exact 0 is -0, unless both are +0
        bits = b.or_(b.bitcast(first, u64), b.bitcast(second, u64))
        positive = b.eq(bits, b.zero(u64))
        zero = b.select(positive, b.const(0.0, f64), b.const(-0.0, f64))
        total = b.select(b.eq(total, b.const(0.0, f64)), zero, total)
    return towards(t, mode, total, total, error)


def towards(t: Values, mode: str, near: Value, sign: Value, error: Value) -> Value:
    """The sum of ``near`` and a small ``error``, both f64, as an f32."""
    b = t.b
    made = b.cast(near, f32)
    off = b.sub(near, b.cast(made, f64))
    whole = b.select(b.eq(off, b.const(0.0, f64)), error, off)
    return _neighbour(t, mode, made, sign, whole)


def _neighbour(t: Values, mode: str, made: Value, sign: Value, error: Value) -> Value:
    """The nearest f32, or its neighbour towards the mode's direction where ``error``, what the
    exact result has more, says that it was passed."""
    b, zero = t.b, t.b.const(0.0, f64)
    above, below = b.binary(Gt, error, zero), b.lt(error, zero)
    down, up = _step(t, made, -1), _step(t, made, 1)
    if mode == "rm":
        return b.select(below, down, made)
    if mode == "rp":
        return b.select(above, up, made)
    positive = b.binary(Ge, sign, zero)
    lower = b.select(b.and_(positive, below), down, made)
    return b.select(b.and_(b.not_(positive), above), up, lower)


def _step(t: Values, value: Value, direction: int) -> Value:
    """The next f32 in a direction."""
    b = t.b
    bits = b.bitcast(value, u32)
    one = b.const(1, u32)
    is_negative = b.binary(Ge, bits, b.const(0x80000000, u32))
    grows = is_negative if direction < 0 else b.not_(is_negative)
    moved = b.select(grows, b.add(bits, one), b.sub(bits, one))
    least = b.const(0x80000001 if direction < 0 else 1, u32)
    is_zero = b.eq(b.and_(bits, b.const(0x7FFFFFFF, u32)), b.zero(u32))
    return b.bitcast(b.select(is_zero, least, moved), f32)


def _is_finite(t: Values, value: Value) -> Value:
    b = t.b
    bits = b.and_(b.bitcast(value, u32), b.const(0x7FFFFFFF, u32))
    return b.lt(bits, b.const(0x7F800000, u32))
