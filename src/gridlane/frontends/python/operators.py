"""The binary and unary operators of Python on the operands of a kernel."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from gridlane.core.dtypes import DType, b1, i64
from gridlane.core.errors import TypingError
from gridlane.frontends.python import (
    array_expressions,
    bounds,
    complexes,
    division,
    promotion,
    times,
    vectors,
)
from gridlane.frontends.python.conversion import cast_scalar
from gridlane.frontends.python.operands import (
    ComplexNumber,
    Elements,
    Operand,
    Pointer,
    Scalar,
    TupleOperand,
    UserValue,
)
from gridlane.frontends.python.power import power
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.values import Value

Emit = Callable[["Translator", Operand, Operand], Operand]

SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
}

_FLOAT_FOLDS: dict[type[Op], Callable[[float, float], float]] = {
    arith.Add: operator.add,
    arith.Sub: operator.sub,
    arith.Mul: operator.mul,
}


def fold_floats(op: type[Op], lhs: Value, rhs: Value) -> float | None:
    """The result of an op on two constant floats, or None."""
    fold = _FLOAT_FOLDS.get(op)
    a, b = constant(lhs), constant(rhs)
    if fold is None or type(a) is not float or type(b) is not float:
        return None
    return fold(a, b)


def _arithmetic(symbol: str, op: type[Op], bound: Callable[..., tuple[int, int]]) -> Emit:
    """``+``, ``-``, ``*``: on numbers."""

    def emit(t: Translator, lhs: Operand, rhs: Operand) -> Operand:
        if not (isinstance(lhs, Scalar) and isinstance(rhs, Scalar)):
            return _other(t, symbol, lhs, rhs)
        dtype = t.promoted(promotion.arithmetic, lhs.dtype, rhs.dtype)
        a, b = cast_scalar(t, lhs, dtype), cast_scalar(t, rhs, dtype)
        if dtype.is_float:
            known = fold_floats(op, a.value, b.value)
            if known is not None:
                return t.folded(known, a, b)
            return Scalar(t.arithmetic(op, a.value, b.value))
        builder = {"+": t.b.add, "*": t.b.mul, "-": t.b.sub}[symbol]
        return Scalar(builder(a.value, b.value), *bound(dtype, a, b))

    return emit


def _bitwise(symbol: str, op: type[Op], bound: Callable[..., tuple[int, int]]) -> Emit:
    """``&``, ``|``, ``^``: two bools give a bool."""

    def emit(t: Translator, lhs: Operand, rhs: Operand) -> Operand:
        if not (isinstance(lhs, Scalar) and isinstance(rhs, Scalar)):
            return _other(t, symbol, lhs, rhs)
        _no_floats(t, symbol, lhs, rhs)
        if lhs.dtype is b1 and rhs.dtype is b1:
            return Scalar(t.b.binary(op, lhs.value, rhs.value))
        dtype = promotion.integer(lhs.dtype, rhs.dtype)
        a, b = cast_scalar(t, lhs, dtype), cast_scalar(t, rhs, dtype)
        return Scalar(t.b.binary(op, a.value, b.value), *bound(dtype, a, b))

    return emit


def _shift(symbol: str, op: type[Op], bound: Callable[..., tuple[int, int]]) -> Emit:
    """``<<``, ``>>``: the left side decides the type."""

    def emit(t: Translator, lhs: Operand, rhs: Operand) -> Operand:
        if not (isinstance(lhs, Scalar) and isinstance(rhs, Scalar)):
            return _other(t, symbol, lhs, rhs)
        _no_floats(t, symbol, lhs, rhs)
        dtype = promotion.integer(lhs.dtype)
        a = cast_scalar(t, lhs, dtype)
        amount = cast_scalar(t, rhs, promotion.integer(rhs.dtype))
        x, y = constant(a.value), constant(amount.value)
        if type(x) is int and type(y) is int and 0 <= y < 64:
            return t.number(x << y if symbol == "<<" else x >> y, dtype)
        return Scalar(t.b.value(op(a.value, amount.value)), *bound(dtype, a, amount))  # type: ignore[call-arg]

    return emit


def _no_floats(t: Translator, symbol: str, *operands: Scalar) -> None:
    for operand in operands:
        if operand.dtype.is_float:
            raise t.fail(
                TypingError,
                f"{symbol} takes integers and bools, not {operand.type_name}; use int(...)",
            )


def _other(t: Translator, symbol: str, lhs: Operand, rhs: Operand) -> Operand:
    """Operators on complex numbers and tuples."""
    sides = (lhs, rhs)
    if all(isinstance(side, Scalar | ComplexNumber) for side in sides):
        result = complexes.BINARY.get(symbol)
        if result is not None:
            return result(t, *complexes.both(t, lhs, rhs))
    if symbol in ("+", "-") and any(isinstance(side, Pointer) for side in sides):
        moved = _moved(t, symbol, lhs, rhs)
        if moved is not None:
            return moved
    if symbol == "+" and isinstance(lhs, TupleOperand) and isinstance(rhs, TupleOperand):
        return TupleOperand(lhs.items + rhs.items)
    if symbol == "*" and isinstance(lhs, TupleOperand) and isinstance(rhs, Scalar):
        count = constant(rhs.value)
        if type(count) is int:
            return TupleOperand(lhs.items * count)
    raise mismatch(t, symbol, lhs, rhs)


def _moved(t: Translator, symbol: str, lhs: Operand, rhs: Operand) -> Pointer | None:
    """An address some elements further, as in C; None where the operands do not make one."""
    if symbol == "+" and isinstance(rhs, Pointer):
        lhs, rhs = rhs, lhs
    if not isinstance(lhs, Pointer) or not isinstance(rhs, Scalar) or not rhs.dtype.is_integer:
        return None
    if lhs.type.element is None:
        return None
    count = t.b.cast(rhs.value, i64)
    return Pointer(lhs.type, t.b.offset(lhs.pointer, t.b.neg(count) if symbol == "-" else count))


def mismatch(t: Translator, symbol: str, lhs: Operand, rhs: Operand) -> TypingError:
    """The error of an operator whose operands do not fit."""
    if isinstance(lhs, UserValue) or isinstance(rhs, UserValue):
        advice = "; implement it with @overload of the function in operator"
    elif isinstance(lhs, Elements) or isinstance(rhs, Elements):
        advice = "; it takes numbers and arrays of them; index other arrays, as in a[i]"
    else:
        advice = "; it takes numbers"
    return TypingError(
        f"{symbol} between {lhs.type_name} and {rhs.type_name} is not defined in a kernel{advice}",
        t.b.loc,
    )


def _numbers(symbol: str, emit: Callable[[Translator, Scalar, Scalar], Scalar]) -> Emit:
    """An operator that another function emits for scalars."""

    def checked(t: Translator, lhs: Operand, rhs: Operand) -> Operand:
        if isinstance(lhs, Scalar) and isinstance(rhs, Scalar):
            return emit(t, lhs, rhs)
        return _other(t, symbol, lhs, rhs)

    return checked


def _matmul(t: Translator, lhs: Operand, rhs: Operand) -> Operand:
    raise mismatch(t, "@", lhs, rhs)


_OF_NUMBERS: dict[type[ast.operator], Emit] = {
    ast.Add: _arithmetic("+", arith.Add, bounds.add),
    ast.Sub: _arithmetic("-", arith.Sub, bounds.sub),
    ast.Mult: _arithmetic("*", arith.Mul, bounds.mul),
    ast.Div: _numbers("/", division.true_divide),
    ast.FloorDiv: _numbers("//", division.floor_divide),
    ast.Mod: _numbers("%", division.modulo),
    ast.Pow: power,
    ast.BitAnd: _bitwise("&", arith.And, bounds.and_),
    ast.BitOr: _bitwise("|", arith.Or, bounds.or_),
    ast.BitXor: _bitwise("^", arith.Xor, bounds.or_),
    ast.LShift: _shift("<<", arith.Shl, bounds.shl),
    ast.RShift: _shift(">>", arith.Shr, bounds.shr),
    ast.MatMult: _matmul,
}
BINARY: dict[type[ast.operator], Emit] = {
    kind: array_expressions.binary(
        kind, times.binary(SYMBOLS[kind], vectors.binary(SYMBOLS[kind], emit))
    )
    for kind, emit in _OF_NUMBERS.items()
}


# ---- unary


def negative(t: Translator, operand: Operand) -> Operand:
    """``-x``."""
    if isinstance(operand, ComplexNumber):
        return ComplexNumber(t.b.neg(operand.real), t.b.neg(operand.imag))
    number = _one(t, "-", operand)
    known = constant(number.value)
    own, dtype = _own(number), promotion.unary(number.dtype)
    if known is not None:
        result = t.folded(-known, number) if own is number.dtype else t.number(-known, own)
        return cast_scalar(t, result, dtype)
    if dtype.is_float:
        return Scalar(t.b.neg(number.value))
    a = cast_scalar(t, number, own)
    limits = bounds.clamp(own, -a.hi, -a.lo)
    return cast_scalar(t, Scalar(t.b.neg(a.value), *limits), dtype)


def _own(number: Scalar) -> DType:
    """The type in which ``-x`` and ``~x`` are computed: the operand's, widened afterwards, so that
    ``-uint8(1)`` is 255. A bool counts as an int64."""
    return promotion.unary(number.dtype) if number.dtype.is_bool else number.dtype


def positive(t: Translator, operand: Operand) -> Operand:
    """``+x``."""
    if isinstance(operand, ComplexNumber):
        return operand
    number = _one(t, "+", operand)
    return cast_scalar(t, number, promotion.unary(number.dtype))


def invert(t: Translator, operand: Operand) -> Operand:
    """``~x``; the logical not of a bool."""
    number = _one(t, "~", operand)
    _no_floats(t, "~", number)
    if number.dtype is b1:
        return Scalar(t.b.not_(number.value))
    dtype = promotion.integer(number.dtype)
    known = constant(number.value)
    if type(known) is int:
        return cast_scalar(t, t.number(~known, number.dtype), dtype)
    return cast_scalar(t, Scalar(t.b.not_(number.value)), dtype)


def _one(t: Translator, symbol: str, operand: Operand) -> Scalar:
    if isinstance(operand, Scalar):
        return operand
    raise t.fail(TypingError, f"{symbol} takes a number, not {operand.type_name}")


UNARY: dict[type[ast.unaryop], Callable[[Translator, Operand], Operand]] = {
    ast.USub: array_expressions.unary(ast.USub, times.unary("-", vectors.unary(negative))),
    ast.UAdd: array_expressions.unary(ast.UAdd, times.unary("+", vectors.unary(positive))),
    ast.Invert: array_expressions.unary(ast.Invert, times.unary("~", vectors.unary(invert))),
}
