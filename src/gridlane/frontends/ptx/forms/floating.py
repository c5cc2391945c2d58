"""Floating-point arithmetic. PTX ISA 9.0, "Floating-Point" and "Half Precision" instructions.

Rounding to nearest even is the IR's. Approximate forms are computed with the error of the IR's
functions, which is below that of the ISA. f32 with .ftz reads and writes 0 for subnormal numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import DType, f32
from gridlane.frontends.ptx.forms.logic import flushed
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.types import unsigned
from gridlane.frontends.ptx.values import Values
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Value
from gridlane.passes.legalise.flushing import tiny_flushed

Operands = tuple[Operand, ...]
_BINARY: dict[str, type[Op]] = {"add": arith.Add, "sub": arith.Sub, "mul": arith.Mul}
_EXTREMES: dict[str, type[Op]] = {"min": arith.Min, "max": arith.Max}


def source(t: Values, m: Match, operand: Operand) -> Value:
    """A source, flushed if the form flushes."""
    value = t.read(operand, m.type)
    return flushed(t, value) if m.has("ftz") else value


def result(
    t: Values, m: Match, operand: Operand, value: Value, scaled: Scaled | None = None
) -> None:
    """Write a result: flushed, and limited to 0 and 1, if the form does so.

    Args:
        scaled: computes the result times 2^24, if the result may be inexact and subnormal.
    """
    if m.has("ftz") and scaled is not None:
        value = tiny_flushed(t.b, value, scaled())
        t.normal.add(value)
    elif m.has("ftz"):
        value = flushed(t, value)
    t.write(operand, saturated(t, value) if m.has("sat") else value)


Scaled = Callable[[], Value]


def computed(
    t: Values, m: Match, operand: Operand, compute: Callable[..., Value], *sources: Operand
) -> None:
    """Write the result of an op on sources; with .ftz the op flushes."""
    values = [t.read(each, m.type) for each in sources]
    if m.has("ftz"):
        t.b.fast |= FastMath.FTZ
    if m.has("approx"):
        t.b.fast |= FastMath.ROUGH
    output = compute(*values)
    t.b.fast = FastMath.NONE
    if m.has("ftz"):
        t.normal.add(output)
    t.write(operand, saturated(t, output) if m.has("sat") else output)


def saturated(t: Values, value: Value) -> Value:
    """A float within 0 and 1; a NaN becomes +0."""
    assert isinstance(value.type, DType)
    b, kind = t.b, value.type
    zero, one = b.const(0.0, kind), b.const(1.0, kind)
    above = b.binary(arith.Gt, value, zero)
    return b.select(above, b.select(b.lt(value, one), value, one), zero)


@form("add [.rn] [.ftz] [.sat] .f32", "d, a, b")
@form("sub [.rn] [.ftz] [.sat] .f32", "d, a, b")
@form("mul [.rn] [.ftz] [.sat] .f32", "d, a, b")
@form("add [.rn] .f64", "d, a, b")
@form("sub [.rn] .f64", "d, a, b")
@form("mul [.rn] .f64", "d, a, b")
def binary(t: Values, m: Match, o: Operands) -> None:
    """Sum, difference, product."""
    op = _BINARY[m.form.root]
    computed(t, m, o[0], lambda x, y: t.b.binary(op, x, y), *o[1:])


@form("fma .rn [.ftz] [.sat] .f32", "d, a, b, c")
@form("mad [.rn] [.ftz] [.sat] .f32", "d, a, b, c")
@form("fma .rn .f64", "d, a, b, c")
@form("mad .rn .f64", "d, a, b, c")
def fma(t: Values, m: Match, o: Operands) -> None:
    """A product and a sum, rounded once; texts of PTX 3.1 and older may leave out how."""
    computed(t, m, o[0], t.b.fma, *o[1:])


# --- quotients and roots


@form("div .rn [.ftz] .f32", "d, a, b")
@form("div .rn .f64", "d, a, b")
@form("div .approx|full [.ftz] .f32", "d, a, b")
def div(t: Values, m: Match, o: Operands) -> None:
    """The quotient, also for the approximate forms."""
    computed(t, m, o[0], t.b.div, *o[1:])


@form("rcp .rn|approx [.ftz] .f32", "d, a")
@form("rcp .rn .f64", "d, a")
def rcp(t: Values, m: Match, o: Operands) -> None:
    """The reciprocal."""
    one = t.b.const(1.0, m.type)
    computed(t, m, o[0], lambda value: t.b.div(one, value), o[1])


@form("rcp .approx .ftz .f64", "d, a")
@form("rsqrt .approx .ftz .f64", "d, a")
def rough(t: Values, m: Match, o: Operands) -> None:
    """The upper word of an f64 decides the upper word of the result; the lower one is 0."""
    b, word = t.b, unsigned(64)
    value = t.read(o[1], m.type)
    upper = b.const(0xFFFFFFFF_00000000, word)
    bits = b.and_(b.bitcast(value, word), upper)
    exponent = b.and_(bits, b.const(0x7FF << 52, word))
    sign = b.and_(bits, b.const(1 << 63, word))
    value = b.bitcast(b.select(b.eq(exponent, b.zero(word)), sign, bits), m.type)
    one = b.const(1.0, m.type)
    rounded = b.div(one, value if m.form.root == "rcp" else b.unary(math.Sqrt, value))
    bits = b.and_(b.bitcast(rounded, word), upper)
    exponent = b.and_(bits, b.const(0x7FF << 52, word))
    sign = b.and_(bits, b.const(1 << 63, word))
    t.write(o[0], b.bitcast(b.select(b.eq(exponent, b.zero(word)), sign, bits), m.type))


@form("sqrt .rn|approx [.ftz] .f32", "d, a")
@form("sqrt .rn .f64", "d, a")
def sqrt(t: Values, m: Match, o: Operands) -> None:
    """The square root."""
    computed(t, m, o[0], lambda value: t.b.unary(math.Sqrt, value), o[1])


_FUNCTIONS: dict[str, type[Op]] = {
    "rsqrt": math.Rsqrt,
    "sin": math.Sin,
    "cos": math.Cos,
    "lg2": math.Log2,
    "ex2": math.Exp2,
    "tanh": math.Tanh,
}


@form("rsqrt .approx [.ftz] .f32", "d, a")
@form("rsqrt .approx .f64", "d, a")
@form("sin .approx [.ftz] .f32", "d, a")
@form("cos .approx [.ftz] .f32", "d, a")
@form("lg2 .approx [.ftz] .f32", "d, a")
@form("ex2 .approx [.ftz] .f32", "d, a")
@form("tanh .approx .f32", "d, a")
def function(t: Values, m: Match, o: Operands) -> None:
    """A function, with the error of the IR's."""
    op = _FUNCTIONS[m.form.root]
    computed(t, m, o[0], lambda value: t.b.unary(op, value), o[1])


# --- signs, orders


@form("abs [.ftz] .f32", "d, a")
@form("neg [.ftz] .f32", "d, a")
@form("abs .f64", "d, a")
@form("neg .f64", "d, a")
def sign(t: Values, m: Match, o: Operands) -> None:
    """Without a sign, or with the other one."""
    op = arith.Neg if m.form.root == "neg" else arith.Abs
    result(t, m, o[0], t.b.unary(op, source(t, m, o[1])))


@form("min [.ftz] [.NaN] .f32", "d, a, b")
@form("max [.ftz] [.NaN] .f32", "d, a, b")
@form("min [.ftz] [.NaN] .xorsign .abs .f32", "d, a, b")
@form("max [.ftz] [.NaN] .xorsign .abs .f32", "d, a, b")
@form("min .f64", "d, a, b")
@form("max .f64", "d, a, b")
def extreme(t: Values, m: Match, o: Operands) -> None:
    """The smaller or larger."""
    result(t, m, o[0], extreme_of(t, m, *(t.read(each, m.type) for each in o[1:])))


@form("min [.ftz] [.NaN] [.abs] .f32", "d, a, b, c")
@form("max [.ftz] [.NaN] [.abs] .f32", "d, a, b, c")
def extreme_of_three(t: Values, m: Match, o: Operands) -> None:
    """The smallest or largest of three; with .abs of the magnitudes."""
    first, second, third = (t.read(each, m.type) for each in o[1:])
    if m.has("abs"):
        first, second, third = (t.b.unary(arith.Abs, each) for each in (first, second, third))
    result(t, m, o[0], extreme_of(t, m, extreme_of(t, m, first, second), third))


def extreme_of(t: Values, m: Match, first: Value, second: Value) -> Value:
    """The smaller or larger; of a number and a NaN the number, or with .NaN a NaN. With
    .xorsign.abs of the magnitudes, with the product's sign."""
    b, kind = t.b, first.type
    assert isinstance(kind, DType)
    op, word = _EXTREMES[m.form.root], unsigned(kind.bits)
    # Of the operands as they are: what flushes may give a NaN another sign.
    signs = b.binary(arith.Xor, b.bitcast(first, word), b.bitcast(second, word))
    if m.has("ftz"):
        first, second = flushed(t, first), flushed(t, second)
    is_number = b.and_(b.eq(first, first), b.eq(second, second))
    if m.has("xorsign"):
        first, second = (b.unary(arith.Abs, each) for each in (first, second))
    new_value = b.binary(op, first, second)
    if m.has("xorsign"):
        new_value = b.binary(math.Copysign, new_value, b.bitcast(signs, kind))
    if m.has("NaN"):  # the canonical one
        nan = b.const(word.max >> 1, word)
        new_value = b.bitcast(b.select(is_number, b.bitcast(new_value, word), nan), kind)
    return new_value


@form("copysign .f32|f64", "d, a, b")
def copysign(t: Values, m: Match, o: Operands) -> None:
    """The second source with the sign of the first."""
    t.write(o[0], t.b.binary(math.Copysign, t.read(o[2], m.type), t.read(o[1], m.type)))


@form("testp .finite|infinite|number|notanumber|normal|subnormal .f32|f64", "d, a")
def testp(t: Values, m: Match, o: Operands) -> None:
    """The class of a number."""
    b, word = t.b, unsigned(m.type.bits)
    bits = b.bitcast(t.read(o[1], m.type), word)
    mantissa = 23 if m.type is f32 else 52
    magnitude = b.and_(bits, b.const(word.max >> 1, word))
    infinite = b.const(((1 << (m.type.bits - mantissa - 1)) - 1) << mantissa, word)
    least, zero = b.const(1 << mantissa, word), b.zero(word)
    subnormal = b.and_(b.binary(arith.Gt, magnitude, zero), b.lt(magnitude, least))
    tests = {
        "finite": lambda: b.lt(magnitude, infinite),
        "infinite": lambda: b.eq(magnitude, infinite),
        "number": lambda: b.binary(arith.Le, magnitude, infinite),
        "notanumber": lambda: b.binary(arith.Gt, magnitude, infinite),
        "normal": lambda: b.and_(b.not_(subnormal), b.lt(magnitude, infinite)),  # as 0 is
        "subnormal": lambda: subnormal,
    }
    t.write(o[0], tests[m.modifiers[0]]())
