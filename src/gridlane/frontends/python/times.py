"""Dates and spans of time, numpy's datetime64 and timedelta64: 64-bit counts of a unit, of which
the smallest is NaT. Units, results and NaT are numpy's."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.argtypes import TimeType
from gridlane.core.dtypes import f64, i64
from gridlane.core.errors import TypingError
from gridlane.frontends.python import division
from gridlane.frontends.python.conversion import cast_scalar
from gridlane.frontends.python.operands import Operand, Scalar, Static, Time
from gridlane.frontends.python.time_units import (
    common,
    convert_time,
    in_unit,
    is_nat,
    unless_nat,
)
from gridlane.frontends.python.translator import Translator
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.values import Value

Binary = Callable[[Translator, Operand, Operand], Operand]
Unary = Callable[[Translator, Operand], Operand]


def binary(symbol: str, emit: Binary) -> Binary:
    """An operator of numbers that takes times too, as far as numpy's does."""

    def each(t: Translator, lhs: Operand, rhs: Operand) -> Operand:
        if not (isinstance(lhs, Time) or isinstance(rhs, Time)):
            return emit(t, lhs, rhs)
        operand = _binary(t, symbol, lhs, rhs)
        if operand is None:
            raise t.fail(
                TypingError,
                f"{lhs.type_name} {symbol} {rhs.type_name} is not defined in a kernel"
                f"{_advice(symbol, lhs, rhs)}",
            )
        return operand

    return each


def _advice(symbol: str, lhs: Operand, rhs: Operand) -> str:
    if symbol not in "+-" or not (isinstance(lhs, Scalar) or isinstance(rhs, Scalar)):
        return ""
    unit = next(side.type for side in (lhs, rhs) if isinstance(side, Time)).numpy
    name, count = np.datetime_data(unit)
    return f"; a span is np.timedelta64(n, {name if count == 1 else f'{count}{name}'!r})"


def _binary(t: Translator, symbol: str, lhs: Operand, rhs: Operand) -> Operand | None:
    if isinstance(lhs, Time) and isinstance(rhs, Time):
        if symbol in ("+", "-"):
            return _sum(t, symbol, lhs, rhs)
        if lhs.type.is_span and rhs.type.is_span and symbol in ("/", "//", "%"):
            return _of_spans(t, symbol, lhs, rhs)
        return None
    if isinstance(rhs, Time):
        return _scaled(t, rhs, lhs) if symbol == "*" else None
    assert isinstance(lhs, Time)
    if symbol == "*":
        return _scaled(t, lhs, rhs)
    return _divided(t, lhs, rhs) if symbol in ("/", "//") else None


def _sum(t: Translator, symbol: str, lhs: Time, rhs: Time) -> Operand | None:
    spans = lhs.type.is_span, rhs.type.is_span
    if (spans == (False, False) and symbol == "+") or (spans == (True, False) and symbol == "-"):
        return None
    kind = common(lhs.type.as_span(all(spans)), rhs.type.as_span(all(spans)))
    if kind is None:
        return None
    a = in_unit(t, lhs, kind.as_span(spans[0]))
    b = in_unit(t, rhs, kind.as_span(spans[1]))
    result = t.b.add(a, b) if symbol == "+" else t.b.sub(a, b)
    return Time(kind.as_span(spans[0] is spans[1]), unless_nat(t, result, a, b))


def _of_spans(t: Translator, symbol: str, lhs: Time, rhs: Time) -> Operand | None:
    kind = common(lhs.type, rhs.type)
    if kind is None:
        return None
    x, y = in_unit(t, lhs, kind), in_unit(t, rhs, kind)
    b = t.b
    nat = b.or_(is_nat(t, x), is_nat(t, y))
    if symbol == "/":
        result = b.div(b.cast(x, f64), b.cast(y, f64))
        return Scalar(b.select(nat, b.const(float("nan"), f64), result))
    none = b.or_(nat, b.eq(y, b.const(0, i64)))
    if symbol == "//":
        whole = division.floor_divide(t, Scalar(x), Scalar(y)).value
        return Scalar(b.select(none, b.const(0, i64), whole))
    rest = division.modulo(t, Scalar(x), Scalar(y)).value
    return Time(kind, b.select(none, b.const(i64.min, i64), rest))


def _scaled(t: Translator, span: Time, number: Operand) -> Operand | None:
    if not span.type.is_span or not isinstance(number, Scalar):
        return None
    if number.dtype.is_float:
        factor = t.b.cast(number.value, f64)
        return _rounded(t, span, t.b.mul(t.b.cast(span.value, f64), factor))
    result = t.b.mul(span.value, cast_scalar(t, number, i64).value)
    return Time(span.type, unless_nat(t, result, span.value))


def _divided(t: Translator, span: Time, number: Operand) -> Operand | None:
    """A span divided by a number: truncated, by / and // alike, as in numpy."""
    if not span.type.is_span or not isinstance(number, Scalar):
        return None
    b = t.b
    if number.dtype.is_float:
        return _rounded(t, span, b.div(b.cast(span.value, f64), b.cast(number.value, f64)))
    by = cast_scalar(t, number, i64).value
    zero = b.eq(by, b.const(0, i64))
    result = b.select(zero, b.const(i64.min, i64), b.div(span.value, by))
    return Time(span.type, unless_nat(t, result, span.value))


def _rounded(t: Translator, span: Time, count: Value) -> Time:
    """A span of a float64's count, truncated; NaT for NaN and for what does not fit."""
    b = t.b
    fits = b.and_(
        b.binary(arith.Lt, count, b.const(2.0**63, f64)),
        b.binary(arith.Ge, count, b.const(-(2.0**63), f64)),
    )
    whole = b.select(fits, b.cast(count, i64), b.const(i64.min, i64))
    return Time(span.type, unless_nat(t, whole, span.value))


def unary(symbol: str, emit: Unary) -> Unary:
    """The same for one operand: ``-`` and ``+`` of a span. NaT is its own negative."""

    def each(t: Translator, operand: Operand) -> Operand:
        if not isinstance(operand, Time):
            return emit(t, operand)
        if not operand.type.is_span or symbol not in "+-":
            raise t.fail(TypingError, f"{symbol} of {operand.type_name} is not defined")
        return operand if symbol == "+" else Time(operand.type, t.b.neg(operand.value))

    return each


def absolute(t: Translator, operand: Time) -> Time:
    """``abs(span)``."""
    if not operand.type.is_span:
        raise t.fail(TypingError, f"abs of {operand.type_name} is not defined")
    b = t.b
    negative = b.binary(arith.Lt, operand.value, b.const(0, i64))
    return Time(operand.type, b.select(negative, b.neg(operand.value), operand.value))


def compare(
    t: Translator, kind: type[ast.cmpop], op: type[Op], lhs: Time, rhs: Time
) -> Value | None:
    """``lhs <op> rhs``, which is false for NaT but for ``!=``; None for a date beside a span."""
    if lhs.type.is_span is not rhs.type.is_span:
        return None
    both = common(lhs.type, rhs.type)
    if both is None:
        return None
    a, b = in_unit(t, lhs, both), in_unit(t, rhs, both)
    nat = t.b.or_(is_nat(t, a), is_nat(t, b))
    comparison = t.b.binary(op, a, b)
    return t.b.or_(nat, comparison) if kind is ast.NotEq else t.b.and_(t.b.not_(nat), comparison)


def further(t: Translator, kind: type[ast.cmpop], lhs: Time, rhs: Time) -> Time | None:
    """``rhs`` where ``rhs <kind> lhs``, else ``lhs``, in the unit of both: a leading NaT stays, a
    later one is passed over, as by Python's min and max. None as of ``compare``."""
    if lhs.type.is_span is not rhs.type.is_span:
        return None
    both = common(lhs.type, rhs.type)
    if both is None:
        return None
    a, b = in_unit(t, lhs, both), in_unit(t, rhs, both)
    wins = compare(t, kind, arith.Lt if kind is ast.Lt else arith.Gt, Time(both, b), Time(both, a))
    assert wins is not None
    return Time(both, t.b.select(wins, b, a))


def constant_time(t: Translator, value: Any) -> Time:
    """A numpy scalar that the kernel names."""
    return Time(TimeType.of(value.dtype), t.b.const(int(value.view(np.int64)), i64))


def make_time(t: Translator, kind: TimeType, arguments: list[Operand]) -> Time:
    """``np.timedelta64(n, "h")`` and ``np.datetime64("2000-01-01", "s")``: of a constant text, an
    integer, or a time; the unit is constant.

    Raises:
        TypingError: numpy has no such time, or it is not exact in the unit.
    """
    value, unit = arguments[0], arguments[1] if len(arguments) > 1 else None
    name = unit.object if isinstance(unit, Static) else None
    if unit is not None and not isinstance(name, str):
        raise t.fail(TypingError, f"the unit of a {kind} is a constant text, as in 'ms'")
    if isinstance(value, Static) and isinstance(value.object, str):
        return constant_time(t, _of_text(t, kind, value.object, name))
    wanted = kind if name is None else _with_unit(t, kind, name)
    if isinstance(value, Scalar) and not value.dtype.is_float:
        if wanted.is_generic and not wanted.is_span:
            raise t.fail(TypingError, "np.datetime64(n) needs a unit, as in np.datetime64(n, 'D')")
        return Time(wanted, cast_scalar(t, value, i64).value)
    time = value if isinstance(value, Time) and name is None else convert_time(t, value, wanted)
    if time is None or time.type.is_span is not kind.is_span:
        raise t.fail(
            TypingError,
            f"np.{kind}(...) takes an integer, a constant text or a {kind}, and a unit, not "
            f"{value.type_name}",
        )
    return time


def _of_text(t: Translator, kind: TimeType, text: str, unit: str | None) -> Any:
    if text in ("now", "today"):
        raise t.fail(TypingError, f"np.{kind}({text!r}) in a kernel: pass it as an argument")
    scalar_class = np.timedelta64 if kind.is_span else np.datetime64
    try:
        return scalar_class(text) if unit is None else scalar_class(text, unit)  # type: ignore[call-overload]  # any
    except (ValueError, TypeError, OverflowError) as error:
        raise t.fail(TypingError, f"np.{kind}({text!r}): {error}") from None


def _with_unit(t: Translator, kind: TimeType, unit: str) -> TimeType:
    try:
        return TimeType.of(np.dtype(f"m8[{unit}]")).as_span(kind.is_span)
    except TypeError as error:
        raise t.fail(TypingError, f"{unit!r} is no unit of a {kind}: {error}") from None
