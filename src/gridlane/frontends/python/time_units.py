"""Units of numpy's datetime64 and timedelta64, conversions between them, and NaT."""

from __future__ import annotations

import numpy as np

from gridlane.core.argtypes import TimeType
from gridlane.core.dtypes import i64
from gridlane.core.errors import TypingError
from gridlane.frontends.python.operands import Operand, Time
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import arith
from gridlane.ir.values import Value


def common(lhs: TimeType, rhs: TimeType) -> TimeType | None:
    """The type of one kind that holds both; None for a span of months beside one of days,
    and for units too far apart."""
    try:
        dtype = np.promote_types(lhs.numpy, rhs.numpy)
    except (TypeError, OverflowError):  # days in attoseconds are too many for numpy
        return None
    return TimeType.of(dtype)


def in_unit(t: Translator, operand: Time, kind: TimeType) -> Value:
    """The count of a time in a finer unit of the same kind of time.

    Raises:
        TypingError: the unit is coarser, or its length depends on the calendar.
    """
    if operand.type == kind or operand.type.is_generic:
        return operand.value
    factor = _factor(operand.type, kind)
    b = t.b
    if factor is not None:
        result = b.mul(operand.value, b.const(factor, i64))
    else:
        months = _factor(operand.type, TimeType("M", 1, operand.type.is_span))
        days = _factor(TimeType("D", 1, operand.type.is_span), kind)
        if months is None or days is None or operand.type.is_span:
            raise t.fail(
                TypingError,
                f"{operand.type} does not convert to {kind}; only a finer unit of fixed length is "
                "exact",
            )
        first = _days(t, b.mul(operand.value, b.const(months, i64)))
        result = b.mul(first, b.const(days, i64))
    return unless_nat(t, result, operand.value)


_ATTOSECONDS = {
    **{"W": 604_800 * 10**18, "D": 86_400 * 10**18, "h": 3_600 * 10**18, "m": 60 * 10**18},
    **{"s": 10**18, "ms": 10**15, "us": 10**12, "ns": 10**9, "ps": 10**6, "fs": 10**3, "as": 1},
}
_MONTHS = {"Y": 12, "M": 1}


def _factor(have: TimeType, want: TimeType) -> int | None:
    """How many of one unit another one is, if it is a whole number of them."""
    for table in (_ATTOSECONDS, _MONTHS):
        if have.unit in table and want.unit in table:
            whole, rest = divmod(table[have.unit] * have.multiple, table[want.unit] * want.multiple)
            return None if rest else whole
    return None


def _days(t: Translator, months: Value) -> Value:
    """The days from 1970-01-01 to the first of a month, which is counted from 1970-01.

    By years that begin in March, in periods of 400 years with 146,097 days each.
    """

    b = t.b

    def div(value: Value, by: int) -> Value:
        below = b.binary(arith.Lt, value, b.const(0, i64))
        start = b.sub(value, b.select(below, b.const(by - 1, i64), b.const(0, i64)))
        return b.div(start, b.const(by, i64))

    def times(value: Value, factor: int) -> Value:
        return t.b.mul(value, t.b.const(factor, i64))

    since_march = b.add(months, b.const(1970 * 12 - 2, i64))
    year = div(since_march, 12)
    month = b.sub(since_march, times(year, 12))
    period = div(year, 400)
    year_in_it = b.sub(year, times(period, 400))
    day = div(b.add(times(month, 153), b.const(2, i64)), 5)
    leap = b.sub(div(year_in_it, 4), div(year_in_it, 100))
    day = b.add(b.add(day, times(year_in_it, 365)), leap)
    return b.sub(b.add(times(period, 146_097), day), b.const(719_468, i64))


def is_nat(t: Translator, value: Value) -> Value:
    """Whether a count is NaT."""
    return t.b.eq(value, t.b.const(i64.min, i64))


def unless_nat(t: Translator, result: Value, *operands: Value) -> Value:
    """The result, or NaT where an operand is NaT."""
    for operand in operands:
        result = t.b.select(is_nat(t, operand), t.b.const(i64.min, i64), result)
    return result


def convert_time(t: Translator, operand: Operand, kind: TimeType) -> Time | None:
    """A time as one of another unit of its kind; None for other operands."""
    if not isinstance(operand, Time) or operand.type.is_span is not kind.is_span:
        return None
    return Time(kind, in_unit(t, operand, kind))
