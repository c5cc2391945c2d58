"""Comparison, identity and membership."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from gridlane.core.dtypes import DType, b1, f64, i64, u64
from gridlane.core.errors import TypingError
from gridlane.frontends.python import chars, complexes, enums, promotion, times
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    Chars,
    ComplexNumber,
    EnumMember,
    EnumVariable,
    Operand,
    OptionalOperand,
    Scalar,
    Static,
    Time,
    TupleOperand,
    Vector,
)
from gridlane.frontends.python.optionals import inner_of, presence, value_of
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.values import Value

Kind = type[ast.cmpop]

OPS: dict[Kind, type[Op]] = {
    ast.Eq: arith.Eq,
    ast.NotEq: arith.Ne,
    ast.Lt: arith.Lt,
    ast.LtE: arith.Le,
    ast.Gt: arith.Gt,
    ast.GtE: arith.Ge,
}
_SYMBOLS: dict[Kind, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_SWAPPED: dict[Kind, Kind] = {
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}


def compare(t: Translator, kind: Kind, lhs: Operand, rhs: Operand) -> Value:
    """``lhs <kind> rhs`` as a b1."""
    if isinstance(lhs, OptionalOperand) or isinstance(rhs, OptionalOperand):
        if kind in (ast.Eq, ast.NotEq):
            same = _both(t, lhs, rhs, lambda a, b: compare(t, ast.Eq, a, b))
            return same if kind is ast.Eq else t.b.not_(same)
        lhs, rhs = value_of(t, lhs), value_of(t, rhs)
    if isinstance(lhs, Scalar) and isinstance(rhs, Scalar):
        return _scalars(t, kind, lhs, rhs)
    if isinstance(lhs, Time) and isinstance(rhs, Time):
        comparison = times.compare(t, kind, OPS[kind], lhs, rhs)
        if comparison is not None:
            return comparison
    if isinstance(lhs, Chars) or isinstance(rhs, Chars):
        comparison = chars.compare(t, kind, lhs, rhs)
        if comparison is not None:
            return comparison
    if isinstance(lhs, Vector) or isinstance(rhs, Vector):
        return _vectors(t, kind, lhs, rhs)
    if isinstance(lhs, TupleOperand) and isinstance(rhs, TupleOperand):
        return _tuples(t, kind, lhs, rhs)
    if isinstance(lhs, Static) and isinstance(rhs, Static):
        return _objects(t, kind, lhs, rhs)
    if _has_member(lhs, rhs) and kind in (ast.Eq, ast.NotEq):
        same = enums.equal(t, lhs, rhs)
        return same if kind is ast.Eq else t.b.not_(same)
    numbers = all(isinstance(side, Scalar | ComplexNumber) for side in (lhs, rhs))
    if numbers and kind in (ast.Eq, ast.NotEq):
        same = complexes.equal(t, *complexes.both(t, lhs, rhs))
        return same if kind is ast.Eq else t.b.not_(same)
    none = [side for side in (lhs, rhs) if isinstance(side, Static)]
    if none and kind in (ast.Eq, ast.NotEq):
        return t.b.const(kind is ast.NotEq, b1)
    advice = "; index the arrays, as in a[i]" if _has_array(lhs, rhs) else ""
    raise t.fail(
        TypingError,
        f"{lhs.type_name} {_SYMBOLS[kind]} {rhs.type_name} is not defined in a kernel{advice}",
    )


def _both(
    t: Translator, lhs: Operand, rhs: Operand, same: Callable[[Operand, Operand], Value]
) -> Value:
    """Whether two operands that may be None are both None, or both are not and the ``same``."""
    b, left, right = t.b, presence(t, lhs), presence(t, rhs)
    if NONE in (lhs, rhs):
        return b.not_(left if rhs is NONE else right)
    equal = same(inner_of(lhs), inner_of(rhs))
    return b.or_(b.and_(b.and_(left, right), equal), b.not_(b.or_(left, right)))


def _has_member(*sides: Operand) -> bool:
    return any(isinstance(side, EnumVariable) for side in sides)


def _has_text(*sides: Operand) -> bool:
    """Whether a string of an array is among texts alone."""
    are_texts = [
        isinstance(side, Static) and isinstance(side.object, str | bytes) for side in sides
    ]
    return any(are_texts) and any(isinstance(side, Chars) for side in sides)


def _has_array(*sides: Operand) -> bool:
    return any(isinstance(side, ArrayView) for side in sides)


def _scalars(t: Translator, kind: Kind, lhs: Scalar, rhs: Scalar) -> Value:
    dtype = _of_constant(lhs, rhs) or _of_constant(rhs, lhs) or _common(t, lhs.dtype, rhs.dtype)
    if dtype is None:
        return _signed_with_u64(t, kind, lhs, rhs)
    a, b = t.b.cast(lhs.value, dtype), t.b.cast(rhs.value, dtype)
    x, y = constant(a), constant(b)
    if type(x) is float and type(y) is float:
        return t.b.const(bool(_evaluate(kind, x, y)), b1)
    return t.b.binary(OPS[kind], a, b)


def _of_constant(number: Scalar, other: Scalar) -> DType | None:
    """The other side's integer type, when a constant integer fits in it."""
    known = constant(number.value)
    dtype = other.dtype
    fits = type(known) is int and dtype.is_integer and dtype.min <= known <= dtype.max
    return dtype if fits else None


def _common(t: Translator, lhs: DType, rhs: DType) -> DType | None:
    """The type in which two numbers compare exactly; None for a signed one with a u64."""
    if lhs is rhs and lhs is not b1:
        return lhs
    if lhs.is_float or rhs.is_float:
        return t.promoted(promotion.unify, lhs, rhs)
    if u64 in (lhs, rhs):
        other = rhs if lhs is u64 else lhs
        return None if other.is_signed else u64
    return i64 if lhs.bits > 32 or rhs.bits > 32 else _narrow(lhs, rhs)


def _narrow(lhs: DType, rhs: DType) -> DType:
    """Two integers of up to 32 bits: the smaller type that holds both."""
    common = promotion.unify(lhs, rhs)
    return i64 if common is f64 else (promotion.unify(common, promotion.dtypes.i32))


def _signed_with_u64(t: Translator, kind: Kind, lhs: Scalar, rhs: Scalar) -> Value:
    """Compare a signed number with a u64: a negative one is smaller than all of them."""
    if rhs.dtype.is_signed:
        kind, lhs, rhs = _SWAPPED[kind], rhs, lhs
    b = t.b
    wide = b.cast(lhs.value, i64)
    unsigned = b.binary(OPS[kind], b.cast(wide, u64), rhs.value)
    if lhs.surely_not_negative:
        return unsigned
    negative = b.lt(wide, b.const(0, i64))
    if kind in (ast.Lt, ast.LtE, ast.NotEq):
        return b.or_(negative, unsigned)
    return b.and_(b.not_(negative), unsigned)


def _tuples(t: Translator, kind: Kind, lhs: TupleOperand, rhs: TupleOperand) -> Value:
    """Compare lexicographically, as Python does."""
    b = t.b
    pairs = list(zip(lhs.items, rhs.items, strict=False))
    if kind in (ast.Eq, ast.NotEq):
        same = b.const(len(lhs.items) == len(rhs.items), b1)
        if constant(same):
            for left, right in pairs:
                same = _and(t, same, compare(t, ast.Eq, left, right))
        return same if kind is ast.Eq else b.not_(same)
    strict = ast.Lt if kind in (ast.Lt, ast.LtE) else ast.Gt
    # From the last item to the first: this pair decides unless it is equal.
    lengths = _evaluate(kind, len(lhs.items), len(rhs.items))
    result = b.const(bool(lengths), b1)
    for left, right in reversed(pairs):
        below = compare(t, strict, left, right)
        equal = compare(t, ast.Eq, left, right)
        result = b.or_(below, _and(t, equal, result))
    return result


def _as_long(lhs: TupleOperand, rhs: TupleOperand) -> bool:
    return len(lhs.items) == len(rhs.items)


def _vectors(t: Translator, kind: Kind, lhs: Operand, rhs: Operand) -> Value:
    """Whether all components are equal, or not all; vectors have no order."""
    known = kind in (ast.Eq, ast.NotEq)
    if known and isinstance(lhs, Vector) and isinstance(rhs, Vector) and _as_long(lhs, rhs):
        return _tuples(t, kind, lhs, rhs)
    raise t.fail(
        TypingError,
        f"{lhs.type_name} {_SYMBOLS[kind]} {rhs.type_name} is not defined; == and != compare all "
        "components of vectors of one length, and a.x < b.x one of each",
    )


def _and(t: Translator, lhs: Value, rhs: Value) -> Value:
    if constant(lhs) is True:
        return rhs
    return lhs if constant(rhs) is True else t.b.and_(lhs, rhs)


_EVALUATE: dict[Kind, Any] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}


def _evaluate(kind: Kind, lhs: Any, rhs: Any) -> bool:
    return _EVALUATE[kind](lhs, rhs)


def _objects(t: Translator, kind: Kind, lhs: Static, rhs: Static) -> Value:
    """Compare two compile-time objects, at compile time."""
    try:
        return t.b.const(bool(_evaluate(kind, lhs.object, rhs.object)), b1)
    except TypeError as error:
        raise t.fail(TypingError, str(error)) from None


def identical(t: Translator, lhs: Operand, rhs: Operand) -> Value:
    """``lhs is rhs``: objects at compile time; numbers by type and value, as in numba."""
    if isinstance(lhs, OptionalOperand) or isinstance(rhs, OptionalOperand):
        return _both(t, lhs, rhs, lambda a, b: identical(t, a, b))
    if _has_member(lhs, rhs):
        return enums.same(t, lhs, rhs)
    if isinstance(lhs, EnumMember) and isinstance(rhs, EnumMember):
        if lhs.cls is not rhs.cls:
            return t.b.const(False, b1)
        if lhs.member is not None and rhs.member is not None:
            return t.b.const(lhs.member is rhs.member, b1)
        return _scalars(t, ast.Eq, lhs, rhs)
    if isinstance(lhs, Scalar) and isinstance(rhs, Scalar):
        members = isinstance(lhs, EnumMember) or isinstance(rhs, EnumMember)
        never = members and not (_may_be_member(lhs) and _may_be_member(rhs))
        if never or lhs.dtype is not rhs.dtype:
            return t.b.const(False, b1)
        return _scalars(t, ast.Eq, lhs, rhs)
    if isinstance(lhs, TupleOperand) and isinstance(rhs, TupleOperand):
        return _tuples(t, ast.Eq, lhs, rhs)
    if all(isinstance(side, Scalar | ComplexNumber) for side in (lhs, rhs)):
        if lhs.type_name != rhs.type_name:
            return t.b.const(False, b1)
        return compare(t, ast.Eq, lhs, rhs)
    same = lhs is rhs
    if isinstance(lhs, Static) and isinstance(rhs, Static):
        same = lhs.object is rhs.object
    elif isinstance(lhs, ArrayView) and isinstance(rhs, ArrayView):
        same = lhs.pointer is rhs.pointer and lhs.shape == rhs.shape
    elif _has_text(lhs, rhs) or not any(isinstance(side, Static) for side in (lhs, rhs)):
        raise t.fail(
            TypingError,
            f"{lhs.type_name} is {rhs.type_name}: their identity is not known; compare with ==",
        )
    return t.b.const(same, b1)


def _may_be_member(side: Scalar) -> bool:
    """Whether a number may be a member of an enum: an argument, a variable or a function's result,
    but not a computed or loaded number."""
    op = side.value.op
    passed = memory.ReadVar, arith.Select, control.Call
    return isinstance(side, EnumMember) or op is None or isinstance(op, passed)


def contains(t: Translator, item: Operand, container: Operand) -> Value:
    """``item in container`` for tuples and strings."""
    text = container.object if isinstance(container, Static) else None
    if isinstance(text, str | bytes):
        known = item.object if isinstance(item, Static) else None
        if isinstance(known, str | bytes) and isinstance(known, bytes) is isinstance(text, bytes):
            return t.b.const(known in text, b1)  # type: ignore[operator]  # both of one kind
        container = chars.of_constant(t, text)
    if isinstance(container, Chars):
        return chars.contains(t, container, item)
    if not isinstance(container, TupleOperand):
        raise t.fail(
            TypingError,
            f"in {container.type_name}: membership is defined for tuples, strings and ranges; "
            "write a loop instead",
        )
    is_member = t.b.const(False, b1)
    for other in container.items:
        same = compare(t, ast.Eq, item, other)
        is_member = same if constant(is_member) is False else t.b.or_(is_member, same)
    return is_member
