"""Explicit conversions: ``float32(x)``, ``np.int8(x)``, ``int(x)``, ``complex(a, b)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core import argtypes, numpy_types
from gridlane.core.dtypes import b1, f64, i64
from gridlane.core.errors import ConstantError, TypingError
from gridlane.frontends.python import promotion
from gridlane.frontends.python.calls.registry import handles
from gridlane.frontends.python.conversion import cast_scalar, cast_to, scalar, to_complex, truth
from gridlane.frontends.python.doubles import conversion, is_double
from gridlane.frontends.python.operands import (
    ComplexNumber,
    Operand,
    Scalar,
    Static,
    TupleOperand,
    Vector,
)
from gridlane.frontends.python.specs import ComplexSpec, ScalarSpec, flatten, spec_of
from gridlane.frontends.python.times import make_time
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unification import complex_part
from gridlane.frontends.python.unit import LiteralNeeded
from gridlane.ir.builder import constant

PYTHON_TYPES = {
    bool: argtypes.boolean,
    int: argtypes.int64,
    float: argtypes.float64,
    complex: argtypes.complex128,
}


def cast_call(
    t: Translator, kind: argtypes.ArgType, arguments: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    """``kind(x)``, or ``kind(real, imag)`` for a complex type."""
    operand = _converted(t, kind, arguments, keywords)
    if t.causes is not None:
        given = [value for item in arguments for value in flatten(item) if constant(value) is None]
        doubles = [value for value in flatten(operand) if is_double(value) and value not in given]
        t.causes += [conversion(t.b.loc, str(kind), value) for value in doubles]
    return operand


def _converted(
    t: Translator, kind: argtypes.ArgType, arguments: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    if isinstance(kind, argtypes.ComplexType) and len(arguments) == 2 and not keywords:
        real, imag = (scalar(t, item).value for item in arguments)
        return ComplexNumber(t.b.cast(real, kind.part), t.b.cast(imag, kind.part))
    if isinstance(kind, argtypes.TimeType) and 0 < len(arguments) < 3 and not keywords:
        return make_time(t, kind, arguments)
    if len(arguments) > 1 or keywords:
        raise t.fail(TypingError, f"{kind}(...) takes one number")
    if not arguments:
        return cast_to(t, t.integer(0), kind)
    return cast_to(t, arguments[0], kind)


@handles(int, params="x=")
def _int(t: Translator, x: Operand | None) -> Operand:
    """Integers keep their type, as in numba; floats truncate to int64."""
    number = t.integer(0) if x is None else scalar(t, x)
    return number if number.dtype.is_integer else cast_scalar(t, number, i64)


@handles(float, params="x=")
def _float(t: Translator, x: Operand | None) -> Operand:
    """Floats keep their type, as in numba; the rest becomes what Python's are. A text is that of a
    constant: ``float("nan")``."""
    if isinstance(x, Static) and isinstance(x.object, str):
        try:
            return Scalar(t.b.const(float(x.object), f64))
        except ValueError as error:
            raise t.fail(ConstantError, str(error)) from None
    number = t.integer(0) if x is None else scalar(t, x)
    return cast_scalar(t, number, t.promoted(promotion.floating, number.dtype))


@handles(bool, params="x=", optionals=True)
def _bool(t: Translator, x: Operand | None) -> Operand:
    return Scalar(t.b.const(False, b1) if x is None else truth(t, x))


@handles(complex, params="real=, imag=")
def _complex(t: Translator, real: Operand | None, imag: Operand | None) -> Operand:
    real = t.integer(0) if real is None else real
    if isinstance(real, Vector) and imag is None and len(real.numbers) == 2:
        real, imag = real.numbers
    parts = [real] if imag is None else [real, imag]
    specs = [spec_of(item) for item in parts]
    if not all(isinstance(spec, ScalarSpec | ComplexSpec) for spec in specs):
        raise t.fail(TypingError, f"complex() takes numbers, not {real.type_name}")
    rule = promotion.complex_call
    part = complex_part(t.promoted, *specs, part_for=rule)  # type: ignore[arg-type]  # checked above
    if imag is None and isinstance(specs[0], ComplexSpec):
        part = t.promoted(promotion.widest, part)
    if imag is None:
        return to_complex(t, real, part)
    return ComplexNumber(*[t.b.cast(scalar(t, item).value, part) for item in parts])


def as_type(t: Translator, operand: Operand) -> argtypes.ArgType:
    """The element type that a ``dtype`` argument names.

    Raises:
        TypingError: it does not name one.
    """
    wanted: Any = operand.object if isinstance(operand, Static) else None
    wanted = getattr(wanted, "__gridlane_type__", wanted)
    if isinstance(wanted, argtypes.ArgType):
        return wanted
    try:
        if wanted in PYTHON_TYPES:
            return PYTHON_TYPES[wanted]
        if wanted is not None:
            return numpy_types.from_numpy(np.dtype(wanted))
    except TypeError:
        pass
    if isinstance(wanted, str):
        raise t.fail(TypingError, f"Invalid NumPy dtype specified: {wanted!r}")
    raise t.fail(
        TypingError,
        f"a dtype is required here, such as float32 or np.int64, not {operand.type_name}",
    )


@handles(np.dtype, params="dtype")
def _dtype(t: Translator, dtype: Operand) -> Operand:
    return Static(as_type(t, dtype))


_REQUIRED = "RequireLiteralValue"
"""numba's name of the error, by which it is looked up."""


def constant_integer(t: Translator, operand: Operand, what: str) -> int:
    """A compile-time integer.

    Raises:
        LiteralNeeded: it is a parameter, which may be constant for the caller.
        ConstantError: it is not constant.
    """
    if isinstance(operand, Scalar):
        known = constant(operand.value)
        if type(known) is int:
            return known
        message = (
            f"{_REQUIRED}: {what} must be a constant integer, which must be known when the kernel "
            f"is compiled, but this is a value of type {operand.type_name}; use a literal, or a "
            "global or closure variable"
        )
        position = t.parameters.get(operand.value)
        if position is not None:
            raise LiteralNeeded(message, t.b.loc, t.function, position)
        raise t.fail(ConstantError, message)
    raise t.fail(
        TypingError, f"{_REQUIRED}: {what} must be a constant integer, not {operand.type_name}"
    )


def constant_shape(t: Translator, operand: Operand) -> tuple[int, ...]:
    """A compile-time shape: an integer or a tuple of them."""
    items = operand.items if isinstance(operand, TupleOperand) else (operand,)
    return tuple([constant_integer(t, item, "the shape of the array") for item in items])
