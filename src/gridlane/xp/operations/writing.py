"""Steps that the formulas of many rows share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import inf, nan
from typing import Any

import numpy as np

from gridlane.core.dtypes import b1, bf16, f16, f32
from gridlane.ir.complexes.arithmetic import Pair
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.op import Op
from gridlane.ir.ops import control, math
from gridlane.ir.values import ErrorSite
from gridlane.xp.operations.loops import floating, loops_of
from gridlane.xp.operations.record import Bound, Complex, Operand, Operation

Real = Callable[..., Expression]


def unary(op: type[Op], x: Expression) -> Expression:
    """An op of one operand."""
    return x.writer.wrap(x.writer.builder.unary(op, x.value))


def binary(op: type[Op], x: Expression, y: Expression | float) -> Expression:
    """An op of two operands."""
    return x.writer.binary(op, x, y if isinstance(y, Expression) else number(x, y))


def number(like: Expression, value: float) -> Expression:
    """A constant of the type of another value."""
    return like.writer.const(value, like.dtype)


def real(operand: Operand) -> Expression:
    """An operand of a row without complex loops."""
    assert isinstance(operand, Expression)
    return operand


def by_op(op: type[Op]) -> Callable[[Writer, Expression], Expression]:
    """The row of an op of one operand."""
    return lambda w, a: unary(op, a)


def by_op2(op: type[Op]) -> Callable[[Writer, Expression, Expression], Expression]:
    """The row of an op of two operands."""
    return lambda w, a, b: binary(op, a, b)


def widened(build: Callable[..., Any]) -> Callable[..., Any]:
    """Compute float16 and bfloat16 in float32, and round once."""

    @wraps(build)
    def wide(w: Writer, *operands: Expression) -> Any:
        dtype = operands[-1].dtype
        if dtype not in (f16, bf16):
            return build(w, *operands)
        result = build(w, *[each.cast(f32) for each in operands])
        if isinstance(result, Expression):
            return result.cast(dtype)
        return tuple([each.cast(dtype) if each.dtype is f32 else each for each in result])

    return wide


def split(on_real: Callable[..., Any], on_complex: Callable[..., Any]) -> Callable[..., Any]:
    """One build of two, for real and for complex operands."""

    def build(w: Writer, *operands: Operand) -> Any:
        chosen = on_complex if isinstance(operands[0], Complex) else on_real
        return chosen(w, *operands)

    return build


def pair(z: Complex) -> Pair:
    """The values of a complex number."""
    return Pair(z.real.value, z.imag.value)


def from_pair(w: Writer, values: Pair) -> Complex:
    """A complex number of values."""
    return Complex(w.wrap(values.real), w.wrap(values.imag))


def on_pairs(function: Callable[..., Pair]) -> Callable[..., Complex]:
    """A function of ``ir/complexes`` for complex operands."""
    return lambda w, *operands: from_pair(w, function(w.builder, *map(pair, operands)))


def truth(w: Writer, x: Operand) -> Expression:
    """Whether a number is not 0; NaN is true."""
    if isinstance(x, Complex):
        return x.real.differs(0.0) | x.imag.differs(0.0)
    return x.cast(b1)


def is_nan(w: Writer, x: Operand) -> Expression:
    """Whether a number, or a part of it, is NaN."""
    if isinstance(x, Complex):
        return x.real.is_nan() | x.imag.is_nan()
    return x.is_nan() if x.dtype.is_float else w.const(False, b1)


def is_infinite(w: Writer, x: Operand) -> Expression:
    """Whether a number, or a part of it, is infinite."""
    if isinstance(x, Complex):
        return is_infinite(w, x.real) | is_infinite(w, x.imag)
    return abs(x).equals(inf) if x.dtype.is_float else w.const(False, b1)


def is_finite(w: Writer, x: Operand) -> Expression:
    """Whether no part of a number is NaN or infinite."""
    return ~(is_nan(w, x) | is_infinite(w, x))


def chosen(w: Writer, condition: Expression, x: Operand, y: Operand) -> Operand:
    """One of two numbers, which may be complex."""
    if isinstance(x, Complex) and isinstance(y, Complex):
        return Complex(w.select(condition, x.real, y.real), w.select(condition, x.imag, y.imag))
    return w.select(condition, real(x), real(y))


def quiet_nan(like: Expression) -> Expression:
    """NaN."""
    return number(like, nan)


def signed(size: Expression | float, sign: Expression) -> Expression:
    """A size with the sign of another number."""
    of = size if isinstance(size, Expression) else number(sign, size)
    return binary(math.Copysign, of, sign)


def refuse(w: Writer, condition: Expression, exception: str, message: str) -> None:
    """End the thread with an error where a condition holds."""
    b = w.builder
    known = [(each.exception, each.message) for each in b.module.errors]
    if (exception, message) not in known:
        known.append((exception, message))
        b.module.errors.append(ErrorSite(exception, message))
    with b.if_(condition.value):
        b.emit(control.Raise(known.index((exception, message))))


def of_floats(
    section: str,
    name: str,
    build: Callable[..., Any],
    summary: str,
    *,
    arity: int = 0,
    ulp: float | None = 4,
    of_operands: bool = False,
    least: float = 0,
    special: str = "",
    gradient: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
) -> Operation:
    """A row of floats alone, which computes the narrow ones in float32.

    Args:
        arity: the number of operands; by default those that ``build`` names.
        ulp: the bound for float32 and float64, of which the narrow ones are rounded, within 1.
    """
    bound = None if ulp is None else Bound(1, 1, ulp, ulp, of_operands, least)
    types = floating(name)
    written, arity = widened(build), arity or build.__code__.co_argcount - 1
    return Operation(
        name, arity, written, types, summary, section, aliases, special, bound, gradient
    )


def of_numpy(
    section: str,
    name: str,
    build: Callable[..., Any],
    summary: str,
    *,
    like: str = "",
    **facts: Any,
) -> Operation:
    """A row with the operands and the dtypes of NumPy's function of its name, or of ``like``."""
    ufunc = getattr(np, like or name)
    return Operation(name, ufunc.nin, build, loops_of(ufunc), summary, section, **facts)


# ---- steps without loss


def product(w: Writer, x: Expression, y: Expression) -> tuple[Expression, Expression]:
    """A rounded product, and what it lacks."""
    rounded = x * y
    return rounded, fused(w, x, y, -rounded)


def fused(w: Writer, x: Expression, y: Expression, z: Expression) -> Expression:
    """x * y + z, rounded once."""
    return w.wrap(w.builder.fma(x.value, y.value, z.value))


def finite_or(w: Writer, x: Expression, other: float = 0.0) -> Expression:
    """x, or another number where it is infinite or NaN: a correction that is not one."""
    return w.select(is_finite(w, x), x, number(x, other))


def decayed(w: Writer, power: Expression, lacking: Expression) -> Expression:
    """exp(-(power + lacking)) for a small ``lacking``."""
    size = unary(math.Exp, -power)
    return size - finite_or(w, size * lacking)


def clamped(w: Writer, x: Expression, low: float, high: float) -> Expression:
    """x between two numbers; NaN stays."""
    return w.select(x < low, number(x, low), w.select(x > high, number(x, high), x))
