"""Conversions between operand types: implicit ones at joins and stores, explicit casts."""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.core import argtypes, enums
from gridlane.core.dtypes import DType, i64
from gridlane.core.errors import TypingError
from gridlane.frontends.python.chars import convert_chars, is_text
from gridlane.frontends.python.layout import memory_type
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    BoundMethod,
    Chars,
    ComplexNumber,
    Elements,
    EnumMember,
    EnumVariable,
    LocalFunction,
    Operand,
    OptionalOperand,
    Pointer,
    RecordValue,
    RecordView,
    Scalar,
    Static,
    Time,
    TupleOperand,
    UserValue,
    Vector,
)
from gridlane.frontends.python.optionals import absent, inner_of, presence, value_of
from gridlane.frontends.python.parts import parts_of, put_together
from gridlane.frontends.python.results import spec_of_type
from gridlane.frontends.python.specs import (
    ArraySpec,
    CharsSpec,
    ComplexSpec,
    FunctionSpec,
    MemberSpec,
    OptionalSpec,
    PartsSpec,
    PointerSpec,
    RecordSpec,
    ScalarSpec,
    Spec,
    TupleSpec,
    UserSpec,
    VectorSpec,
    function_of,
)
from gridlane.frontends.python.time_units import convert_time
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith
from gridlane.ir.values import Value


def convert(t: Translator, operand: Operand, spec: Spec) -> Operand:
    """The operand converted to a spec that it is known to unify with."""
    if isinstance(spec, OptionalSpec):
        return _optional(t, operand, spec)
    if isinstance(spec, ScalarSpec):
        assert isinstance(operand, Scalar)
        return cast_scalar(t, operand, spec.dtype)
    if isinstance(spec, ComplexSpec):
        return to_complex(t, operand, spec.part)
    if isinstance(spec, VectorSpec):
        assert isinstance(operand, Vector)
        return cast_vector(t, operand, spec.type)
    if isinstance(spec, CharsSpec):
        chars = convert_chars(t, operand, spec.type)
        assert chars is not None
        return chars
    if isinstance(spec, PartsSpec):
        return put_together(spec.shape, _convert_each(t, parts_of(operand), spec.items))
    if isinstance(spec, TupleSpec):
        assert isinstance(operand, TupleOperand)
        items = _convert_each(t, operand.items, spec.items)
        return TupleOperand(tuple(items), spec.fields, spec.cls)
    if isinstance(spec, UserSpec):
        assert isinstance(operand, UserValue)
        return UserValue(spec.type, tuple(_convert_each(t, operand.items, spec.items)))
    if isinstance(spec, FunctionSpec):
        assert isinstance(operand, LocalFunction)
        return function_of(spec, _convert_each(t, operand.items, spec.items))
    if isinstance(spec, ArraySpec):
        assert isinstance(operand, ArrayView)
        return _convert_array(t, operand, spec)
    if isinstance(spec, MemberSpec) and isinstance(operand, Static):
        return _member(t, operand, spec)
    if isinstance(spec, PointerSpec):
        assert isinstance(operand, Pointer)
        return Pointer(spec.type, t.b.recast(operand.pointer, spec.pointer))
    if isinstance(spec, RecordSpec):
        assert isinstance(operand, RecordView)
        return RecordView(spec.type, t.b.recast(operand.pointer, spec.pointer), spec.readonly)
    return operand


def _member(t: Translator, operand: Static, spec: MemberSpec) -> EnumVariable:
    place = enums.index_of(operand.object)
    assert place is not None
    return EnumVariable(spec.cls, t.b.const(place, i64))


def _convert_each(
    t: Translator, operands: Sequence[Operand], specs: Sequence[Spec]
) -> list[Operand]:
    return [convert(t, each, wanted) for each, wanted in zip(operands, specs, strict=True)]


def _optional(t: Translator, operand: Operand, spec: OptionalSpec) -> OptionalOperand:
    if operand is NONE:
        return absent(t, spec)
    inner = convert(t, inner_of(operand), spec.items[0])
    return OptionalOperand(presence(t, operand), inner)


def _convert_array(t: Translator, array: ArrayView, spec: ArraySpec) -> ArrayView:
    start = t.b.recast(array.pointer, spec.pointer)
    wide = spec.type.layout == "A" and array.type.layout != "A"
    strides = strides_of(t, array) if wide else array.strides
    return ArrayView(spec.type, start, array.shape, strides)


def strides_of(t: Translator, array: ArrayView) -> tuple[Value, ...]:
    """The strides of an array in bytes; computed from the shape for C and F arrays."""
    return byte_strides(t.b, array)


def byte_strides(b: Builder, array: ArrayView) -> tuple[Value, ...]:
    """The strides of an array in bytes, by a builder alone."""
    if array.type.layout == "A":
        return array.strides
    step = b.const(memory_type(array.type.element).size, i64)
    strides = []
    extents = array.shape if array.type.layout == "F" else array.shape[::-1]
    for extent in extents:
        strides.append(step)
        step = b.mul(step, extent)
    return tuple(strides if array.type.layout == "F" else strides[::-1])


def cast_scalar(t: Translator, operand: Scalar, dtype: DType) -> Scalar:
    """A number converted to another scalar type, as C converts."""
    if operand.dtype is dtype:
        return operand
    value = t.b.cast(operand.value, dtype)
    if dtype.is_integer and not operand.dtype.is_float:
        if dtype.min <= operand.lo and operand.hi <= dtype.max:
            return Scalar(value, operand.lo, operand.hi)
        if operand.lo >= 0 and dtype is i64 and operand.dtype.is_signed:
            return Scalar(value, operand.lo, operand.hi)
    return Scalar(value)


def cast_vector(t: Translator, operand: TupleOperand, kind: argtypes.VectorType) -> Vector:
    """A vector, or a tuple of numbers, with each converted to a vector's component.

    Raises:
        TypingError: they are more or fewer than the vector has, or no numbers.
    """
    if len(operand.items) != kind.count:
        raise t.fail(
            TypingError,
            f"{kind} has {kind.count} components, but {operand.type_name} has "
            f"{len(operand.items)}; choose some, as in v.{kind.fields}",
        )
    what = f"a number as a component of {kind}"
    numbers = [scalar(t, item, what) for item in operand.items]
    items = tuple([cast_scalar(t, one, kind.element.dtype) for one in numbers])
    return Vector(items, kind.extents)


def to_complex(t: Translator, operand: Operand, part: DType) -> ComplexNumber:
    """A number, or a vector of two, as a complex number of two floats of type ``part``."""
    if isinstance(operand, Vector) and len(operand.numbers) == 2:
        return ComplexNumber(*[t.b.cast(number.value, part) for number in operand.numbers])
    if isinstance(operand, ComplexNumber):
        return ComplexNumber(t.b.cast(operand.real, part), t.b.cast(operand.imag, part))
    number = scalar(t, operand, "a number")
    return ComplexNumber(t.b.cast(number.value, part), t.b.const(0.0, part))


def scalar(t: Translator, operand: Operand, wanted: str = "a number") -> Scalar:
    """The operand, which must be one number."""
    operand = value_of(t, operand)
    if isinstance(operand, Scalar):
        return operand
    element = isinstance(operand, ArrayView) and operand.type.ndim
    instead = "; index the array, as in a[i]" if element else ""
    raise t.fail(TypingError, f"{wanted} is required here, not {operand.type_name}{instead}")


def integer(t: Translator, operand: Operand, wanted: str = "an integer") -> Scalar:
    """The operand, which must be an integer; a bool counts as one."""
    number = scalar(t, operand, wanted)
    if number.dtype.is_float:
        raise t.fail(
            TypingError,
            f"{wanted} is required here, not {number.type_name}; convert it with int(...)",
        )
    return number


def cast_to(t: Translator, operand: Operand, kind: argtypes.ArgType) -> Operand:
    """An explicit or storing conversion to a user's type.

    Raises:
        TypingError: there is none, as from complex to real.
    """
    if isinstance(kind, argtypes.OptionalType):
        return _cast_optional(t, operand, kind)
    operand = value_of(t, operand)
    if isinstance(kind, argtypes.ComplexType):
        return to_complex(t, operand, kind.part)
    if isinstance(kind, argtypes.ScalarType):
        if isinstance(operand, ComplexNumber) and kind.dtype.is_bool:
            return Scalar(truth(t, operand))
        if isinstance(operand, ComplexNumber):
            raise t.fail(
                TypingError,
                f"a complex number does not convert to {kind}; take .real or .imag of it",
            )
        return cast_scalar(t, scalar(t, operand, f"a number to convert to {kind}"), kind.dtype)
    if isinstance(kind, argtypes.TimeType):
        time = convert_time(t, operand, kind)
        if time is None:
            raise t.fail(TypingError, f"{kind} is required here, not {operand.type_name}")
        return time
    if isinstance(kind, argtypes.CharsType):
        chars = convert_chars(t, operand, kind)
        if chars is None:
            raise t.fail(TypingError, f"{kind} is required here, not {operand.type_name}")
        return chars
    if isinstance(kind, argtypes.VectorType):
        if isinstance(operand, ComplexNumber) and kind.count == 2:
            operand = TupleOperand((Scalar(operand.real), Scalar(operand.imag)))
        if isinstance(operand, TupleOperand):
            return cast_vector(t, operand, kind)
        raise t.fail(
            TypingError,
            f"{kind} is required here, not {operand.type_name}; write {kind}({_each(kind)})",
        )
    result = _cast_aggregate(t, operand, kind)
    if result is not None:
        return result
    raise t.fail(TypingError, f"{kind} is required here, not {operand.type_name}")


def _cast_optional(t: Translator, operand: Operand, kind: argtypes.OptionalType) -> Operand:
    spec = spec_of_type(kind)
    assert isinstance(spec, OptionalSpec)
    if operand is NONE:
        return absent(t, spec)
    return OptionalOperand(presence(t, operand), cast_to(t, inner_of(operand), kind.type))


def _each(kind: argtypes.VectorType) -> str:
    return ", ".join(kind.fields)


def _cast_aggregate(t: Translator, operand: Operand, kind: argtypes.ArgType) -> Operand | None:
    """Tuples item by item, arrays to a looser layout, records and None as they are."""
    if isinstance(kind, argtypes.ArrayType) and isinstance(operand, ArrayView):
        return cast_array(t, operand, kind)
    if isinstance(kind, argtypes.TupleType) and isinstance(operand, TupleOperand):
        if len(kind.items) != len(operand.items):
            return None
        pairs = zip(operand.items, kind.items, strict=True)
        items = tuple([cast_to(t, item, want) for item, want in pairs])
        return TupleOperand(items, kind.fields, kind.cls)
    if isinstance(kind, argtypes.CPointerType) and isinstance(operand, Pointer):
        fits = kind.element in (operand.type.element, None)
        return Pointer(kind, operand.pointer) if fits else None
    same_record = isinstance(operand, RecordView | UserValue) and operand.type == kind
    if isinstance(kind, argtypes.EnumType):
        return _cast_member(t, operand, kind)
    nothing = isinstance(kind, argtypes.NoneType) and operand.type_name == "None"
    return operand if same_record or nothing else None


def _cast_member(t: Translator, operand: Operand, kind: argtypes.EnumType) -> Operand | None:
    if isinstance(operand, EnumVariable | EnumMember):
        return operand if operand.cls is kind.cls else None
    if isinstance(operand, Static) and type(operand.object) is kind.cls:
        return convert(t, operand, MemberSpec(kind.cls))
    return None


def cast_array(t: Translator, array: ArrayView, kind: argtypes.ArrayType) -> ArrayView:
    """An array passed where an array type is declared: only the layout may become looser."""
    own = array.type
    fits = own.element == kind.element and own.ndim == kind.ndim
    if not fits or (kind.layout != "A" and own.layout != kind.layout):
        raise t.fail(TypingError, f"{kind} is required here, not {own}")
    return _convert_array(t, array, ArraySpec(kind, array.pointer.type))  # type: ignore[arg-type]


def truth(t: Translator, operand: Operand) -> Value:
    """Whether an operand counts as true, as a b1: by the program's own overload of ``bool``, but of
    numbers."""
    b = t.b
    if isinstance(operand, Scalar):
        return b.cast(operand.value, _B1)
    if isinstance(operand, OptionalOperand):
        return b.and_(operand.present, truth(t, operand.inner))
    own = t.rules.truth(t, operand)
    if own is not None:
        return own
    if isinstance(operand, ComplexNumber):
        return b.or_(b.cast(operand.real, _B1), b.cast(operand.imag, _B1))
    if isinstance(operand, Chars):
        return is_text(t, operand)
    if isinstance(operand, TupleOperand) and not isinstance(operand, Vector):
        return b.const(bool(operand.items), _B1)
    if isinstance(operand, Time):
        return b.not_(equal_zero(t, operand.value))  # of NaT too, as in numpy
    if isinstance(operand, Static):
        return b.const(bool(operand.object), _B1)
    is_false = isinstance(operand, EnumVariable) and enums.has_own_truth(operand.cls)
    if isinstance(operand, BoundMethod | LocalFunction | EnumVariable) and not is_false:
        return b.const(True, _B1)
    raise t.fail(TypingError, _without_truth(operand))


def _without_truth(operand: Operand) -> str:
    """Why an operand does not count as true or false, and what does."""
    if isinstance(operand, Vector):
        return f"{operand.type_name} has no truth value; compare its components, as in v.x > 0"
    if isinstance(operand, Elements):
        return "an array has no truth value; compare an element, or test its size with len()"
    if isinstance(operand, UserValue):
        return (
            f"a value of {operand.type} has no truth value; give its types one by @overload(bool)"
        )
    if isinstance(operand, RecordView | RecordValue):
        return "a record has no truth value; compare one of its fields"
    if isinstance(operand, EnumVariable):
        return (
            f"members of {operand.cls.__name__} can be false, and which one the variable holds is "
            "known at run time; compare it with a member"
        )
    return f"{operand.type_name} has no truth value; test what it is made of"


_B1 = argtypes.boolean.dtype


def equal_zero(t: Translator, value: Value) -> Value:
    """Whether a number is zero."""
    return t.b.binary(arith.Eq, value, t.b.const(0, value.type))
