"""numpy's functions on single numbers, with numpy's result types."""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from gridlane.core.dtypes import DType, i8
from gridlane.core.errors import TypingError
from gridlane.frontends.python import complexes, division, promotion
from gridlane.frontends.python.array_expressions import true_divide
from gridlane.frontends.python.calls.builtin import absolute, two_way
from gridlane.frontends.python.calls.complex_mathematics import UNARY as COMPLEX_UNARY
from gridlane.frontends.python.calls.mathematics import (
    degrees,
    is_finite,
    is_infinite,
    is_nan,
    radians,
)
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.compare import compare
from gridlane.frontends.python.conversion import cast_scalar, scalar, truth
from gridlane.frontends.python.operands import (
    ArrayView,
    ComplexNumber,
    Operand,
    Scalar,
    Time,
    TupleOperand,
)
from gridlane.frontends.python.operators import BINARY, UNARY
from gridlane.frontends.python.time_units import is_nat
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, math

Emit = Callable[["Translator", Operand], Operand]

_FLOAT_UNARY: dict[str, type[Op]] = {
    **{name: getattr(math, name.capitalize()) for name in ("sqrt", "cbrt", "exp", "exp2", "expm1")},
    **{name: getattr(math, name.capitalize()) for name in ("log", "log2", "log10", "log1p", "sin")},
    **{name: getattr(math, name.capitalize()) for name in ("cos", "tan", "sinh", "cosh", "tanh")},
    **{f"arc{n}": getattr(math, f"A{n}") for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "rint": math.Rint,
    "fabs": arith.Abs,
}
_ROUNDING: dict[str, type[Op]] = {"floor": math.Floor, "ceil": math.Ceil, "trunc": math.Trunc}
_FLOAT_BINARY: dict[str, type[Op]] = {
    "arctan2": math.Atan2,
    "hypot": math.Hypot,
    "copysign": math.Copysign,
    "nextafter": math.Nextafter,
}
_COMPLEX = {
    name.replace("a", "arc", 1) if name[0] == "a" else name: emit
    for name, emit in COMPLEX_UNARY.items()
}


def _number(t: Translator, x: Operand, name: str) -> Scalar:
    if isinstance(x, ArrayView):
        raise t.fail(
            TypingError, f"np.{name} takes one number in a kernel, not {x.type_name}; index it"
        )
    return scalar(t, x)


def _float(t: Translator, x: Operand, name: str) -> Scalar:
    number = _number(t, x, name)
    return cast_scalar(t, number, t.promoted(promotion.numpy_floating, number.dtype))


def _register_floats() -> None:
    for name, op in _FLOAT_UNARY.items():

        def one(t: Translator, x: Operand, name: str = name, op: type[Op] = op) -> Operand:
            if isinstance(x, ComplexNumber) and name in _COMPLEX:
                return _COMPLEX[name](t, x)  # type: ignore[return-value]  # complex or real
            return Scalar(t.b.unary(op, _float(t, x, name).value))

        register((getattr(np, name),), f"np.{name}", one, "x")
    for name, op in _ROUNDING.items():

        def rounded(t: Translator, x: Operand, name: str = name, op: type[Op] = op) -> Operand:
            number = _number(t, x, name)
            return Scalar(t.b.unary(op, number.value)) if number.dtype.is_float else number

        register((getattr(np, name),), f"np.{name}", rounded, "x")
    for name, op in _FLOAT_BINARY.items():

        def two(
            t: Translator, x: Operand, y: Operand, name: str = name, op: type[Op] = op
        ) -> Operand:
            a, b = _number(t, x, name), _number(t, y, name)
            dtype = t.promoted(promotion.numpy_floating_pair, a.dtype, b.dtype)
            return Scalar(t.b.binary(op, t.b.cast(a.value, dtype), t.b.cast(b.value, dtype)))

        register((getattr(np, name),), f"np.{name}", two, "x1, x2")


_register_floats()

# Operators whose result has numpy's common type rather than Python's 64 bits.
_OPERATORS: dict[str, type[ast.operator]] = {
    "add": ast.Add,
    "subtract": ast.Sub,
    "multiply": ast.Mult,
    "floor_divide": ast.FloorDiv,
    "remainder": ast.Mod,
    "power": ast.Pow,
    "bitwise_and": ast.BitAnd,
    "bitwise_or": ast.BitOr,
    "bitwise_xor": ast.BitXor,
    "left_shift": ast.LShift,
    "right_shift": ast.RShift,
}
_COMPARISONS: dict[str, type[ast.cmpop]] = {
    "equal": ast.Eq,
    "not_equal": ast.NotEq,
    "less": ast.Lt,
    "less_equal": ast.LtE,
    "greater": ast.Gt,
    "greater_equal": ast.GtE,
}


_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)


def _common(t: Translator, a: Scalar, b: Scalar, kind: type[ast.operator]) -> DType:
    """The type in which numpy computes on two numbers. A literal that is not negative leaves an
    unsigned operand its type; a variable of int64 makes float64 of uint64, which has no bits."""
    dtype = t.promoted(promotion.unify, a.dtype, b.dtype)
    if not dtype.is_float or a.dtype.is_float or b.dtype.is_float:
        return dtype
    for number, literal in ((a, b), (b, a)):
        value = constant(literal.value)
        if not number.dtype.is_signed and type(value) is int and value >= 0:
            return number.dtype
    if kind in _BITWISE:
        raise t.fail(
            TypingError,
            f"{a.type_name} and {b.type_name} have no common type of integers; "
            f"convert one, as by np.{a.type_name}(...)",
        )
    return dtype


def _narrowed(t: Translator, result: Operand, dtype: DType) -> Operand:
    return cast_scalar(t, result, dtype) if isinstance(result, Scalar) else result


def _register_operators() -> None:
    for name, kind in _OPERATORS.items():

        def emit(t: Translator, x: Operand, y: Operand, kind: type[ast.operator] = kind) -> Operand:
            if not (isinstance(x, Scalar) and isinstance(y, Scalar)):
                return BINARY[kind](t, x, y)
            dtype = _common(t, x, y, kind)
            if not dtype.is_bool and not (x.dtype.is_float and y.dtype.is_float):
                x, y = cast_scalar(t, x, dtype), cast_scalar(t, y, dtype)
            shift = kind in (ast.LShift, ast.RShift) and dtype.is_bool
            return _narrowed(t, BINARY[kind](t, x, y), i8 if shift else dtype)

        register((getattr(np, name),), f"np.{name}", emit, "x1, x2")
    for name, relation in _COMPARISONS.items():

        def test(
            t: Translator, x: Operand, y: Operand, relation: type[ast.cmpop] = relation
        ) -> Operand:
            if isinstance(x, ComplexNumber) or isinstance(y, ComplexNumber):
                # numpy orders complex numbers by their real, then their imaginary parts.
                x, y = (
                    TupleOperand((Scalar(z.real), Scalar(z.imag))) for z in complexes.both(t, x, y)
                )
            return Scalar(compare(t, relation, x, y))

        register((getattr(np, name),), f"np.{name}", test, "x1, x2")


@handles(np.true_divide, params="x1, x2")
def _true_divide(t: Translator, x1: Operand, x2: Operand) -> Operand:
    return _quotient(t, x1, x2, promotion.numpy_floating_pair, promotion.numpy_complex)


def _divided_elements(t: Translator, x1: Operand, x2: Operand) -> Operand:
    return _quotient(t, x1, x2, promotion.numpy_quotient, promotion.complex_part)


register((true_divide,), "np.true_divide", _divided_elements, "x1, x2")


def _quotient(
    t: Translator,
    x1: Operand,
    x2: Operand,
    rule: Callable[[DType, DType], DType],
    part: Callable[[DType], DType],
) -> Operand:
    if isinstance(x1, ComplexNumber) or isinstance(x2, ComplexNumber):
        return complexes.divide(t, *complexes.both(t, x1, x2, part))
    a, b = _number(t, x1, "true_divide"), _number(t, x2, "true_divide")
    dtype = t.promoted(rule, a.dtype, b.dtype)
    return division.true_divide(t, cast_scalar(t, a, dtype), cast_scalar(t, b, dtype))


_register_operators()


def _own_type(unary: type[ast.unaryop], name: str) -> None:
    def emit(t: Translator, x: Operand) -> Operand:
        result = UNARY[unary](t, x)
        return _narrowed(t, result, x.dtype) if isinstance(x, Scalar) else result

    register((getattr(np, name),), f"np.{name}", emit, "x")


_own_type(ast.USub, "negative")
_own_type(ast.UAdd, "positive")
_own_type(ast.Invert, "invert")
register((np.absolute,), "np.absolute", absolute, "x")


def _angle(emit: Callable[[Translator, Operand], Operand], name: str) -> Emit:
    return lambda t, x: emit(t, _float(t, x, name))


register((np.degrees, np.rad2deg), "np.degrees", _angle(degrees, "degrees"), "x")
register((np.radians, np.deg2rad), "np.radians", _angle(radians, "radians"), "x")
for _target, _test in ((np.isnan, is_nan), (np.isinf, is_infinite), (np.isfinite, is_finite)):
    register((_target,), f"np.{_target.__name__}", lambda t, x, f=_test: Scalar(f(t, x)), "x")


@handles(np.isnat, params="x")
def _is_nat(t: Translator, x: Operand) -> Operand:
    if not isinstance(x, Time):
        raise t.fail(TypingError, f"np.isnat takes a date or a span of time, not {x.type_name}")
    return Scalar(is_nat(t, x.value))


@handles(np.square, params="x")
def _square(t: Translator, x: Operand) -> Operand:
    result = BINARY[ast.Mult](t, x, x)
    return _narrowed(t, result, x.dtype) if isinstance(x, Scalar) else result


@handles(np.reciprocal, params="x")
def _reciprocal(t: Translator, x: Operand) -> Operand:
    number = _number(t, x, "reciprocal")
    if number.dtype.is_float:
        return division.true_divide(t, t.number(1, number.dtype), number)
    dtype = i8 if number.dtype.is_bool else number.dtype
    return Scalar(division.truncated(t, t.number(1, dtype), cast_scalar(t, number, dtype)))


@handles(np.fmod, params="x1, x2")
def _fmod(t: Translator, x1: Operand, x2: Operand) -> Operand:
    """The remainder with the sign of the dividend, of integers in their type; 0 for a divisor of
    0 among them."""
    a, b = _number(t, x1, "fmod"), _number(t, x2, "fmod")
    dtype = _common(t, a, b, ast.Mod)
    if dtype.is_float:
        dtype = t.promoted(promotion.numpy_floating_pair, a.dtype, b.dtype)
        return Scalar(t.b.rem(t.b.cast(a.value, dtype), t.b.cast(b.value, dtype)))
    dtype = i8 if dtype.is_bool else dtype
    return Scalar(division.remainder(t, cast_scalar(t, a, dtype), cast_scalar(t, b, dtype)))


@handles(np.sign, params="x")
def _sign(t: Translator, x: Operand) -> Operand:
    """-1, 0 or 1 of the operand's type; NaN for NaN."""
    number, b = _number(t, x, "sign"), t.b
    zero, one = b.const(0, number.dtype), b.const(1, number.dtype)
    result = b.select(b.lt(zero, number.value), one, zero)
    if number.dtype.is_signed or number.dtype.is_float:
        result = b.select(b.lt(number.value, zero), b.const(-1, number.dtype), result)
    if number.dtype.is_float:
        result = b.select(is_nan(t, number), number.value, result)
    return Scalar(result)


def _extreme(name: str, kind: type[ast.cmpop], relation: type[Op], keep_nan: bool) -> None:
    """Register np.maximum or minimum, which return a NaN operand, or fmax or fmin, which return the
    number."""

    beyond = arith.Gt if relation is arith.Ge else arith.Lt

    def of_complex(t: Translator, x: Operand, y: Operand) -> Operand:
        """By the real parts, then by the imaginary ones, as numpy orders them."""
        u, v = complexes.both(t, x, y, promotion.numpy_complex)
        b = t.b
        known = b.not_(b.or_(is_nan(t, Scalar(u.imag)), is_nan(t, Scalar(v.imag))))
        further = b.and_(b.value(beyond(u.real, v.real)), known)
        same = b.value(arith.Eq(u.real, v.real))
        ordered = b.or_(further, b.and_(same, b.value(relation(u.imag, v.imag))))  # type: ignore[call-arg]  # a Compare
        first = b.or_(ordered, is_nan(t, u if keep_nan else v))
        return ComplexNumber(b.select(first, u.real, v.real), b.select(first, u.imag, v.imag))

    def emit(t: Translator, x: Operand, y: Operand) -> Operand:
        if isinstance(x, ComplexNumber) or isinstance(y, ComplexNumber):
            return of_complex(t, x, y)
        a, b = _number(t, x, name), _number(t, y, name)
        dtype = t.promoted(promotion.numpy_pair, a.dtype, b.dtype)
        if not dtype.is_float:
            return two_way(t, kind, a, b)
        u, v = t.b.cast(a.value, dtype), t.b.cast(b.value, dtype)
        # A comparison with NaN is false: it selects v, or u by the rule for NaN. Of zeros u.
        ordered = t.b.value(relation(u, v))  # type: ignore[call-arg]  # a Compare
        first = t.b.or_(ordered, is_nan(t, Scalar(u if keep_nan else v)))
        return Scalar(t.b.select(first, u, v))

    register((getattr(np, name),), f"np.{name}", emit, "x1, x2")


_extreme("minimum", ast.Lt, arith.Le, True)
_extreme("maximum", ast.Gt, arith.Ge, True)
_extreme("fmin", ast.Lt, arith.Le, False)
_extreme("fmax", ast.Gt, arith.Ge, False)


def _logical(name: str, op: type[Op]) -> None:
    def emit(t: Translator, x: Operand, y: Operand) -> Operand:
        return Scalar(t.b.binary(op, truth(t, x), truth(t, y)))

    register((getattr(np, name),), f"np.{name}", emit, "x1, x2")


_logical("logical_and", arith.And)
_logical("logical_or", arith.Or)
_logical("logical_xor", arith.Xor)


@handles(np.logical_not, params="x")
def _logical_not(t: Translator, x: Operand) -> Operand:
    return Scalar(t.b.not_(truth(t, x)))


@handles(np.signbit, params="x")
def _signbit(t: Translator, x: Operand) -> Operand:
    number = _float(t, x, "signbit")
    one = t.b.binary(math.Copysign, t.b.const(1.0, number.dtype), number.value)
    return Scalar(t.b.lt(one, t.b.const(0.0, number.dtype)))


@handles(np.conjugate, params="x")
def _conjugate(t: Translator, x: Operand) -> Operand:
    if isinstance(x, ComplexNumber):
        return ComplexNumber(x.real, t.b.neg(x.imag))
    number = _number(t, x, "conjugate")
    return cast_scalar(t, number, i8) if number.dtype.is_bool else number


@handles(np.real, params="val")
def _real(t: Translator, val: Operand) -> Operand:
    return Scalar(val.real) if isinstance(val, ComplexNumber) else _number(t, val, "real")


@handles(np.imag, params="val")
def _imag(t: Translator, val: Operand) -> Operand:
    if isinstance(val, ComplexNumber):
        return Scalar(val.imag)
    return t.number(0, _number(t, val, "imag").dtype)
