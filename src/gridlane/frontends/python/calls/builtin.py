"""Python's builtins: abs, min, max, round, len, range, enumerate, zip, divmod, pow, print …"""

from __future__ import annotations

import ast
import math as math_
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.dtypes import DType, b1, i8, i32, i64, u64
from gridlane.core.errors import TypingError
from gridlane.frontends.python import (
    bounds,
    chars,
    complexes,
    division,
    promotion,
    reductions,
    times,
)
from gridlane.frontends.python.attributes import extent
from gridlane.frontends.python.calls.mathematics import is_finite, is_infinite
from gridlane.frontends.python.calls.printing import print_parts
from gridlane.frontends.python.calls.reductions import of_items
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.compare import OPS
from gridlane.frontends.python.conversion import cast_scalar, integer, scalar, truth
from gridlane.frontends.python.iteration import length, static_items
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    Chars,
    ComplexNumber,
    Elements,
    EnumerateOperand,
    Operand,
    RangeOperand,
    ReversedOperand,
    Scalar,
    SliceOperand,
    Static,
    Time,
    TupleOperand,
    Vector,
    ZipOperand,
)
from gridlane.frontends.python.operators import BINARY
from gridlane.frontends.python.power import power
from gridlane.frontends.python.stubs import literal_unroll
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.vectors import binary, unary
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, math


@handles(abs, params="x")
def absolute(t: Translator, x: Operand) -> Operand:
    """``abs(x)``, in the operand's own type; of each component of a vector."""
    if isinstance(x, Vector):
        return unary(absolute)(t, x)
    if isinstance(x, Time):
        return times.absolute(t, x)
    if isinstance(x, ComplexNumber):
        return complexes.magnitude(t, x)
    number = scalar(t, x)
    if number.dtype.is_bool:
        return cast_scalar(t, number, i8)
    if not number.dtype.is_integer:
        return Scalar(t.b.unary(arith.Abs, number.value))
    if number.surely_not_negative:
        return number
    value = t.b.unary(arith.Abs, number.value)
    if number.not_negative:
        return Scalar(value, 0, number.hi)
    top = max(map(abs, number.sure))
    # The most negative integer stays negative, which one bound short of it rules out.
    return Scalar(value, 0, top) if top <= number.dtype.max else Scalar(value)


def _extreme(t: Translator, name: str, kind: type[ast.cmpop], operands: list[Operand]) -> Operand:
    """``min`` or ``max``, from left to right: a later operand replaces the result where it is
    strictly smaller (larger), so a leading NaN stays, as in Python. Of two floats a NaN yields to
    the number, as in numba."""
    if len(operands) == 1 and isinstance(operands[0], TupleOperand):
        operands = list(operands[0].items)
    if len(operands) == 1 and isinstance(operands[0], ArrayView):
        function = reductions.least if name == "min" else reductions.greatest
        return of_items(t, function, operands[0], name)
    if any(isinstance(operand, Vector) for operand in operands):
        return _of_vectors(t, name, kind, operands)
    if len(operands) > 1 and any(isinstance(operand, Time) for operand in operands):
        return _of_times(t, name, kind, operands)
    if not operands or (len(operands) == 1 and not isinstance(operands[0], Scalar)):
        raise t.fail(TypingError, f"{name}() takes two numbers or more, or a tuple of them")
    numbers = [scalar(t, operand, f"a number in {name}()") for operand in operands]
    if len(numbers) == 2 and all(number.dtype.is_float for number in numbers):
        return _of_floats(t, kind, *numbers)
    result = numbers[0]
    for other in numbers[1:]:
        result = two_way(t, kind, result, other)
    return result


def _of_vectors(
    t: Translator, name: str, kind: type[ast.cmpop], operands: list[Operand]
) -> Operand:
    """The smaller or larger of each component, from left to right."""
    two = binary(f"{name}()", lambda t, a, b: _extreme(t, name, kind, [a, b]))
    result = operands[0]
    for other in operands[1:]:
        result = two(t, result, other)
    return result


def _of_times(t: Translator, name: str, kind: type[ast.cmpop], operands: list[Operand]) -> Time:
    """The earliest or latest date, the shortest or longest span, from left to right."""
    result = operands[0]
    for other in operands[1:]:
        both = isinstance(result, Time) and isinstance(other, Time)
        is_further = times.further(t, kind, result, other) if both else None  # type: ignore[arg-type]
        if is_further is None:
            raise t.fail(
                TypingError,
                f"{name}() of {result.type_name} and {other.type_name}, which have no order; "
                "convert one of them",
            )
        result = is_further
    assert isinstance(result, Time)
    return result


def _of_floats(t: Translator, kind: type[ast.cmpop], lhs: Scalar, rhs: Scalar) -> Scalar:
    """The smaller or larger of two floats; -0.0 is below 0.0. With a constant operand that is one
    comparison, which is false for NaN and right for both zeros."""
    dtype = t.promoted(promotion.unify, lhs.dtype, rhs.dtype)
    a, b = t.b.cast(lhs.value, dtype), t.b.cast(rhs.value, dtype)
    a, b = (b, a) if constant(b) is None else (a, b)
    limit = constant(b)
    if limit is None or math_.isnan(limit):
        return Scalar(t.b.binary(arith.Min if kind is ast.Lt else arith.Max, a, b))
    relation = _BESIDE_CONSTANT[kind, math_.copysign(1.0, limit)]
    return Scalar(t.b.select(t.b.binary(OPS[relation], a, b), a, b))


_BESIDE_CONSTANT: dict[tuple[type[ast.cmpop], float], type[ast.cmpop]] = {
    (ast.Lt, 1.0): ast.LtE,
    (ast.Lt, -1.0): ast.Lt,
    (ast.Gt, 1.0): ast.Gt,
    (ast.Gt, -1.0): ast.GtE,
}
"""The comparison that selects the operand rather than the constant: by min (Lt) or max (Gt), and
the constant's sign."""


def two_way(t: Translator, kind: type[ast.cmpop], lhs: Scalar, rhs: Scalar) -> Scalar:
    """rhs where ``rhs <kind> lhs``, else lhs."""
    dtype = t.promoted(promotion.unify, lhs.dtype, rhs.dtype)
    a, b = cast_scalar(t, lhs, dtype), cast_scalar(t, rhs, dtype)
    pick = min if kind is ast.Lt else max
    if dtype.is_integer:
        x, y = constant(a.value), constant(b.value)
        if x is not None and y is not None:
            return t.number(pick(x, y), dtype)
        op = arith.Min if kind is ast.Lt else arith.Max
        return Scalar(t.b.binary(op, a.value, b.value), *bounds.extreme(dtype, pick, a, b))
    wins = t.b.binary(OPS[kind], b.value, a.value) if not dtype.is_bool else None
    if wins is None:
        op = arith.And if kind is ast.Lt else arith.Or
        return Scalar(t.b.binary(op, a.value, b.value))
    return Scalar(t.b.select(wins, b.value, a.value))


@handles(min, params="*", unstored=True)
def _min(t: Translator, *operands: Operand) -> Operand:
    return _extreme(t, "min", ast.Lt, list(operands))


@handles(max, params="*", unstored=True)
def _max(t: Translator, *operands: Operand) -> Operand:
    return _extreme(t, "max", ast.Gt, list(operands))


@handles(round, params="number, ndigits=")
def _round(t: Translator, number: Operand, ndigits: Operand | None) -> Operand:
    """Round to the nearest integer, ties to even; with ndigits a float."""
    value = scalar(t, number)
    if ndigits is None or (isinstance(ndigits, Static) and ndigits.object is None):
        if not value.dtype.is_float:
            return cast_scalar(t, value, i64)
        return Scalar(t.b.cast(t.b.unary(math.Rint, value.value), i64))
    digits = integer(t, ndigits, "an integer number of digits")
    value = cast_scalar(t, value, t.promoted(promotion.math_narrow, value.dtype))
    return _round_digits(t, value, digits)


def _round_digits(t: Translator, value: Scalar, digits: Scalar) -> Scalar:
    """rint(x * 10**n) / 10**n in float64, or what Python's floats are if wider than x; x itself
    where it has no such digit or is not finite."""
    own = value.dtype
    b, dtype = t.b, t.promoted(promotion.widest, own)
    value = cast_scalar(t, value, dtype)
    zero = b.binary(math.Copysign, b.const(0.0, dtype), value.value)
    known, most = constant(digits.value), int(np.log10(np.finfo(dtype.numpy).max))
    if type(known) is int and known > most:
        return Scalar(b.cast(value.value, own))
    if type(known) is int and known < -most:
        return Scalar(b.cast(b.select(is_finite(t, value), zero, value.value), own))
    if type(known) is int:
        scale = b.const(10.0 ** abs(known), dtype)
        up = b.const(known >= 0, b1)
    else:
        up = b.binary(arith.Ge, digits.value, b.const(0, digits.dtype))
        exponent = b.unary(arith.Abs, b.cast(digits.value, dtype))
        scale = b.binary(math.Pow, b.const(10.0, dtype), exponent)
    scaled = b.select(up, b.mul(value.value, scale), b.div(value.value, scale))
    whole = b.unary(math.Rint, scaled)
    result = b.select(up, b.div(whole, scale), b.mul(whole, scale))
    if type(known) is not int:
        endless = b.and_(is_infinite(t, Scalar(scale)), is_finite(t, value))
        beyond = b.and_(b.not_(up), endless)
        scaled, result = b.select(beyond, zero, scaled), b.select(beyond, zero, result)
    # From here on the product is whole, and its digits are beyond those of x. Infinity and NaN are
    # not below it either.
    limit = b.const(2.0 ** np.finfo(dtype.numpy).nmant, dtype)
    has_digit = b.lt(b.unary(arith.Abs, scaled), limit)
    return Scalar(b.cast(b.select(has_digit, result, value.value), own))


@handles(divmod, params="x, y")
def _divmod(t: Translator, x: Operand, y: Operand) -> Operand:
    a, b = scalar(t, x), scalar(t, y)
    dtype = t.promoted(promotion.division_pair, a.dtype, b.dtype)
    quotient = division.floor_divide_as(t, a, b, dtype)
    return TupleOperand((quotient, division.modulo_as(t, a, b, dtype)))


@handles(pow, params="base, exp")
def _pow(t: Translator, base: Operand, exp: Operand) -> Operand:
    return power(t, base, exp)


# ---- sequences


@handles(len, params="obj", unstored=True)
def _len(t: Translator, obj: Operand) -> Operand:
    if isinstance(obj, Static) and isinstance(obj.object, str | bytes):
        return t.integer(len(obj.object))
    if isinstance(obj, Chars):
        return chars.length(t, obj)
    items = static_items(t, obj)
    if items is not None:
        return t.integer(len(items))
    if not isinstance(obj, Elements | RangeOperand):
        raise t.fail(TypingError, f"{obj.type_name} has no length")
    return extent(length(t, obj))


@handles(literal_unroll, params="items")
def _literal_unroll(t: Translator, items: Operand) -> Operand:
    """A tuple, a loop over which is unrolled anyway; or a range, whose items have one type."""
    if not isinstance(items, TupleOperand | RangeOperand):
        raise t.fail(
            TypingError, f"literal_unroll() takes a tuple or a range, not {items.type_name}"
        )
    return items


@handles(range, params="*")
def _range(t: Translator, *operands: Operand) -> Operand:
    if not 1 <= len(operands) <= 3:
        raise t.fail(TypingError, f"range takes 1 to 3 integers, not {len(operands)} arguments")
    numbers = [_bound(t, item) for item in operands]
    dtype = _range_type(numbers)
    parts = [cast_scalar(t, number, dtype) for number in numbers]
    start = t.number(0, dtype) if len(parts) == 1 else parts[0]
    step = parts[2] if len(parts) == 3 else t.number(1, dtype)
    return RangeOperand(start, parts[0] if len(parts) == 1 else parts[1], step)


@handles(slice, params="*")
def _slice(t: Translator, *operands: Operand) -> Operand:
    if not 1 <= len(operands) <= 3:
        raise t.fail(TypingError, f"slice takes 1 to 3 integers, not {len(operands)} arguments")
    parts = [
        None if item is NONE else cast_scalar(t, integer(t, item, "an integer in slice()"), i64)
        for item in operands
    ]
    if len(parts) == 1:
        return SliceOperand(None, parts[0], None)
    return SliceOperand(parts[0], parts[1], parts[2] if len(parts) == 3 else None)


def _bound(t: Translator, operand: Operand) -> Scalar:
    """A bound of a range: an integer, or a constant float that is one."""
    known = constant(operand.value) if isinstance(operand, Scalar) else None
    if isinstance(known, float) and known.is_integer() and abs(known) <= 2**53:
        return t.integer(int(known))
    return integer(t, operand, "an integer in range()")


def _range_type(numbers: list[Scalar]) -> DType:
    """int32 for bools and signed integers up to 32 bits, uint64 for unsigned ones, else int64."""
    kinds = [number.dtype for number in numbers]
    if all((kind.is_signed and kind.bits <= 32) or kind.is_bool for kind in kinds):
        return i32
    return u64 if all(not kind.is_signed for kind in kinds) else i64


@handles(enumerate, params="iterable, start=", unstored=True)
def _enumerate(t: Translator, iterable: Operand, start: Operand | None) -> Operand:
    first = t.integer(0) if start is None else cast_scalar(t, integer(t, start), i64)
    return EnumerateOperand(iterable, first)


@handles(zip, params="*", unstored=True)
def _zip(t: Translator, *operands: Operand) -> Operand:
    if not operands:
        return TupleOperand(())
    return ZipOperand(operands)


@handles(reversed, params="sequence", unstored=True)
def _reversed(t: Translator, sequence: Operand) -> Operand:
    return ReversedOperand(sequence)


@handles(tuple, params="iterable=")
def _tuple(t: Translator, iterable: Operand | None) -> Operand:
    items = [] if iterable is None else static_items(t, iterable)
    if items is None:
        raise t.fail(
            TypingError,
            f"tuple({iterable.type_name}): the number of items is not known here",  # type: ignore[union-attr]
        )
    return TupleOperand(tuple(items))


@handles(sum, params="iterable, start=", unstored=True)
def _sum(t: Translator, iterable: Operand, start: Operand | None) -> Operand:
    items = static_items(t, iterable)
    total: Operand = t.integer(0) if start is None else start
    if items is None:
        return of_items(t, reductions.added, iterable, "sum", total)
    for item in items:
        total = BINARY[ast.Add](t, total, item)
    return total


def _truths(name: str, of_array: Any, start: bool, op: type[Op]) -> Callable[..., Operand]:
    """``any`` or ``all``: of a tuple's items by an op, of an array by a function."""

    def emit(t: Translator, iterable: Operand) -> Operand:
        items = static_items(t, iterable)
        if items is None:
            return of_items(t, of_array, iterable, name)
        verdict = t.b.const(start, b1)
        for item in items:
            verdict = t.b.binary(op, verdict, truth(t, item))
        return Scalar(verdict)

    return emit


register((any,), "any", _truths("any", reductions.some, False, arith.Or), "iterable")
register((all,), "all", _truths("all", reductions.every, True, arith.And), "iterable")


@handles(print, params="*", optionals=True)
def _print(t: Translator, *operands: Operand) -> Operand:
    return print_parts(t, operands)
