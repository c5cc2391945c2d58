"""Values of code that a program emits: operands of the translation, with LLVM's types."""

from __future__ import annotations

from typing import Any

from gridlane.core import argtypes
from gridlane.core.argtypes import ArgType, ScalarType
from gridlane.core.dtypes import DType
from gridlane.core.errors import CompileError, TypingError, UnsupportedError
from gridlane.cuda.extending.lowering.types import dtype_of_llvm, llvm_of
from gridlane.frontends.python.conversion import cast_scalar, cast_to
from gridlane.frontends.python.operands import (
    ComplexNumber,
    Operand,
    Scalar,
    TupleOperand,
    UserValue,
)
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.typing_types import typing_type


class Lowered:
    """A value: its operand, and ``type``, its type of llvmlite."""

    __slots__ = ("_t", "operand")

    def __init__(self, t: Translator, operand: Operand) -> None:
        self._t, self.operand = t, operand

    @property
    def type(self) -> Any:
        """The type of llvmlite."""
        return llvm_of(typing_type(self._t, self.operand, False))


def scalar_of(t: Translator, value: Any) -> Scalar:
    """The number of a value, or of a constant of llvmlite; integers are signed."""
    if isinstance(value, Lowered):
        if isinstance(value.operand, Scalar):
            return signed(t, value.operand)
        raise t.fail(UnsupportedError, f"a number is required here, not {value.operand.type_name}")
    kind, known = getattr(value, "type", None), getattr(value, "constant", None)
    if kind is None or not isinstance(known, int | float):
        raise t.fail(UnsupportedError, f"a value of the builder is required here, not {value!r}")
    return constant_of(t, dtype_of_llvm(kind), known)


def constant_of(t: Translator, dtype: DType, value: Any) -> Scalar:
    """A constant; an integer wraps to its type."""
    if dtype.is_float:
        return t.number(float(value), dtype)
    if dtype.is_bool:
        return t.number(bool(value), dtype)
    bits = int(value) & ((1 << dtype.bits) - 1)
    wrapped = bits - (1 << dtype.bits) if dtype.is_signed and bits >> (dtype.bits - 1) else bits
    return t.number(wrapped, dtype)


def signed(t: Translator, number: Scalar) -> Scalar:
    """An integer as the signed one of the same bits."""
    dtype = number.dtype
    if not dtype.is_integer or dtype.is_bool or dtype.is_signed:
        return number
    return Scalar(t.b.cast(number.value, dtype_of_llvm(f"i{dtype.bits}")))


def unsigned(t: Translator, number: Scalar) -> Scalar:
    """An integer as the unsigned one of the same bits."""
    dtype = number.dtype
    if not dtype.is_integer or dtype.is_bool or not dtype.is_signed:
        return number
    return Scalar(t.b.cast(number.value, _UNSIGNED[dtype.bits]))


_UNSIGNED = {
    8: argtypes.uint8.dtype,
    16: argtypes.uint16.dtype,
    32: argtypes.uint32.dtype,
    64: argtypes.uint64.dtype,
}


def items_of(t: Translator, value: Any) -> tuple[Operand, ...]:
    """The members of an aggregate."""
    operand = value.operand if isinstance(value, Lowered) else None
    if isinstance(operand, TupleOperand | UserValue):
        return operand.items
    if isinstance(operand, ComplexNumber):
        return Scalar(operand.real), Scalar(operand.imag)
    raise t.fail(UnsupportedError, f"a struct is required here, not {_name(value)}")


def with_items(operand: Operand, items: tuple[Operand, ...]) -> Operand:
    """An aggregate of the same type with other members."""
    if isinstance(operand, UserValue):
        return UserValue(operand.type, items)
    if isinstance(operand, ComplexNumber):
        real, imag = items
        assert isinstance(real, Scalar) and isinstance(imag, Scalar)
        return ComplexNumber(real.value, imag.value)
    assert isinstance(operand, TupleOperand)
    return TupleOperand(items, operand.fields, operand.cls)


def operand_as(t: Translator, value: Any, kind: ArgType) -> Operand:
    """The operand of a value, which must have the type in LLVM IR that a type has.

    Raises:
        TypingError: it has another.
    """
    if isinstance(kind, ScalarType):
        number = scalar_of(t, value)
        own, wanted = number.dtype, kind.dtype
        same = (own.is_float, own.is_bool, own.bits) == (
            wanted.is_float,
            wanted.is_bool,
            wanted.bits,
        )
        if not same:
            raise t.fail(TypingError, f"the code gives {own}, where {kind} is declared")
        return cast_scalar(t, number, wanted)
    if not isinstance(value, Lowered):
        raise t.fail(TypingError, f"the code gives {_name(value)}, where {kind} is declared")
    try:
        return cast_to(t, value.operand, kind)
    except CompileError as error:
        raise t.fail(TypingError, f"the code gives another type: {error.message}") from None


def _name(value: Any) -> str:
    return value.operand.type_name if isinstance(value, Lowered) else repr(value)
