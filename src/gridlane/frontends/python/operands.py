"""The operands that a kernel's expressions evaluate to during translation.

An operand is flat IR values with the user's type. ``Static`` is known at compile time and has no IR
value: functions, types, modules, None, strings.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gridlane.core import argtypes
from gridlane.core.dtypes import DType
from gridlane.core.source import Loc
from gridlane.frontends.python.scope import protocol
from gridlane.ir.builder import Builder, Number, constant
from gridlane.ir.types import FragmentType, Role, Space
from gridlane.ir.values import Value


class Operand:
    """Base of all operands."""

    __slots__ = ()
    kind: ClassVar[str] = "?"
    """The type as an error message spells it, of those that have no other spelling."""

    @property
    def type_name(self) -> str:
        """The type as an error message spells it."""
        return self.kind


class Typed(Operand):
    """Base of those that have the user's type."""

    __slots__ = ()
    type: Any

    @property
    def type_name(self) -> str:
        return str(self.type)


class Located(Typed):
    """Base of those at an address."""

    __slots__ = ()
    pointer: Any

    @property
    def space(self) -> Space:
        """The address space of the elements, or of the record."""
        return self.pointer.type.space


class Scalar(Operand):
    """One number.

    ``lo`` and ``hi`` bound an integer's value. A ``hi`` beyond the dtype's largest value means: not
    below ``lo`` unless a 64-bit computation overflowed. That is enough to index an array without a
    test for negative indices, where ``lo`` is not negative, and for nothing else: decisions on the
    value use ``sure``.
    """

    __slots__ = ("hi", "lo", "value")

    def __init__(self, value: Value, lo: int | None = None, hi: int | None = None) -> None:
        self.value = value
        dtype = value.type
        if lo is None and dtype.is_integer:  # type: ignore[union-attr]  # scalars only
            lo = dtype.min  # type: ignore[union-attr]
        if hi is None and dtype.is_integer:  # type: ignore[union-attr]
            hi = dtype.max  # type: ignore[union-attr]
        self.lo = 0 if lo is None else lo
        self.hi = 1 if hi is None else hi

    @property
    def dtype(self) -> DType:
        """The scalar type."""
        return self.value.type  # type: ignore[return-value]  # scalars only

    @property
    def type_name(self) -> str:
        return argtypes.scalar_of(self.dtype).name

    @property
    def not_negative(self) -> bool:
        """Whether the value cannot be negative, 64-bit overflow aside."""
        return self.lo >= 0

    @property
    def sure(self) -> tuple[int, int]:
        """The bounds of an integer that hold after an overflow as well."""
        dtype = self.dtype
        return (self.lo, self.hi) if self.hi <= dtype.max else (dtype.min, dtype.max)

    @property
    def surely_not_negative(self) -> bool:
        """Whether the value cannot be negative at all."""
        return self.lo >= 0 and self.hi <= self.dtype.max


def number(b: Builder, value: Number, dtype: DType) -> Scalar:
    """A constant."""
    value_op = b.const(value, dtype)
    if dtype.is_integer:
        known = constant(value_op)
        return Scalar(value_op, known, known)  # type: ignore[arg-type]  # an int
    return Scalar(value_op)


class EnumMember(Scalar):
    """A member of an IntEnum: its number, its class, and the member where the kernel names it."""

    __slots__ = ("cls", "member")

    def __init__(self, number: Scalar, cls: type[enum.Enum], member: Any = None) -> None:
        super().__init__(number.value, number.lo, number.hi)
        self.cls = cls
        self.member = member

    @property
    def type_name(self) -> str:
        return f"{argtypes.scalar_of(self.dtype).name} (a {self.cls.__name__})"


@dataclass(slots=True, eq=False)
class EnumVariable(Operand):
    """A member of an Enum that is known at run time: its index in the class."""

    cls: type[enum.Enum]
    place: Value

    @property
    def type_name(self) -> str:
        return f"a member of {self.cls.__name__}"


@dataclass(slots=True, eq=False)
class ComplexNumber(Operand):
    """A complex number of two floats."""

    real: Value
    imag: Value

    @property
    def part(self) -> DType:
        """The type of the two floats."""
        return self.real.type  # type: ignore[return-value]  # floats

    @property
    def type_name(self) -> str:
        return f"complex{self.part.bits * 2}"


@dataclass(slots=True, eq=False)
class Time(Typed):
    """A date or a span of time: an i64 count of its type's unit."""

    type: argtypes.TimeType
    value: Value


@dataclass(slots=True, eq=False)
class Chars(Typed):
    """A fixed-width string: its code points as u32, or its bytes as u8. NULs follow a shorter text.
    A store to the memory that it was read from does not change it."""

    type: argtypes.CharsType
    units: tuple[Value, ...]


@dataclass(slots=True, eq=False)
class ArrayView(Located):
    """An n-d array: a pointer to its first element, extents as i64, strides in bytes for "A"."""

    type: argtypes.ArrayType
    pointer: Value
    shape: tuple[Value, ...]
    strides: tuple[Value, ...] = ()


@dataclass(slots=True, eq=False)
class ArrayExpression(Operand):
    """A function of numpy's on arrays, element by element: an array without memory, whose elements
    are computed where they are read.

    Attributes:
        function: of numpy's, with a handler in ``calls/registry``.
        element: the type of its results.
        place: where it is written.
        operands: numbers, arrays and further expressions, which broadcast.
        extents: of the result.
    """

    function: Any
    element: argtypes.ArgType
    place: Loc
    operands: tuple[Operand, ...]
    extents: tuple[Scalar, ...]

    @property
    def type(self) -> argtypes.ArrayType:
        """The type that it has as an array in memory."""
        return argtypes.ArrayType(self.element, len(self.extents), "C")

    @property
    def shape(self) -> tuple[Value, ...]:
        """The extents as values."""
        return tuple([extent.value for extent in self.extents])

    @property
    def type_name(self) -> str:
        return str(self.type)


Elements = ArrayView | ArrayExpression
"""What has elements and a shape."""


def arrays_in(value: Operand) -> Iterator[ArrayView]:
    """The arrays that an operand reads: itself, or those of an expression."""
    if isinstance(value, ArrayView):
        yield value
    elif isinstance(value, ArrayExpression):
        for each in value.operands:
            yield from arrays_in(each)


@dataclass(slots=True, eq=False)
class Pointer(Located):
    """The address of a first element, without extents."""

    type: argtypes.CPointerType
    pointer: Value


@dataclass(slots=True, eq=False)
class RecordView(Located):
    """A record in memory; ``readonly`` where it lies in an array that is."""

    type: argtypes.RecordType
    pointer: Value
    readonly: bool = False


@dataclass(slots=True, eq=False)
class RecordValue(Operand):
    """A record without memory of its own, which nothing changes: one operand for each field.

    An array field is a tuple of its elements, nested once for each further axis.
    """

    type: argtypes.RecordType
    items: tuple[Operand, ...]

    @property
    def type_name(self) -> str:
        return f"a value of {self.type}"


@dataclass(slots=True, eq=False)
class UserValue(Typed):
    """A value of a type that the program defines: one operand for each member of its model, in
    order. Nothing changes it."""

    type: argtypes.ArgType
    items: tuple[Operand, ...]


@dataclass(slots=True, eq=False)
class OptionalOperand(Operand):
    """A value that may be None at run time: ``present`` is a b1, and ``inner`` has any values where
    that is false."""

    present: Value
    inner: Operand

    @property
    def type_name(self) -> str:
        return f"{self.inner.type_name} or None"


@dataclass(slots=True, eq=False)
class Fragment(Operand):
    """A matrix that a warp holds."""

    value: Value

    @property
    def type_name(self) -> str:
        kind = self.value.type
        assert isinstance(kind, FragmentType)
        role = {Role.ACC: "accumulator"}.get(kind.role, f"fragment {kind.role.value}")
        return f"{role} {kind.rows}x{kind.cols} of {argtypes.scalar_of(kind.element)}"


@dataclass(slots=True, eq=False)
class TupleOperand(Operand):
    """A tuple, or a namedtuple of class ``cls``."""

    items: tuple[Operand, ...]
    fields: tuple[str, ...] = ()
    cls: type | None = None

    @property
    def type_name(self) -> str:
        inside = ", ".join(item.type_name for item in self.items)
        return f"{self.cls.__name__ if self.cls else 'tuple'}({inside})"


class Vector(TupleOperand):
    """A short vector: a tuple of numbers of one type, with arithmetic."""

    __slots__ = ("extents",)

    def __init__(self, items: tuple[Scalar, ...], extents: tuple[int, ...] = ()) -> None:
        super().__init__(items, tuple("xyzw"[: len(items)]))
        self.extents = extents
        """Those of its axes, where it has several."""

    @property
    def numbers(self) -> tuple[Scalar, ...]:
        """The components."""
        return self.items  # type: ignore[return-value]  # numbers, by the constructor

    @property
    def type(self) -> argtypes.VectorType:
        """The vector's type."""
        element = argtypes.scalar_of(self.numbers[0].dtype)
        return argtypes.VectorType(element, len(self.items), self.extents)

    @property
    def type_name(self) -> str:
        return str(self.type)


@dataclass(slots=True, eq=False)
class Static(Operand):
    """A Python object that the kernel uses by identity."""

    object: Any

    @property
    def type_name(self) -> str:
        kind = self.object
        if kind is None or isinstance(kind, argtypes.ArgType):
            return "None" if kind is None else f"the type {kind}"
        if isinstance(kind, type):
            return f"{type(kind).__name__} {kind.__name__}"
        name = protocol(kind, "__name__") or protocol(kind, "name")
        return f"{type(kind).__name__} {name or kind!r}"


@dataclass(slots=True, eq=False)
class FormattedText(Operand):
    """An f-string: texts, and operands with their formats."""

    kind: ClassVar[str] = "an f-string of numbers"
    parts: tuple[str | tuple[Operand, str], ...]


@dataclass(slots=True, eq=False)
class BoundMethod(Operand):
    """``receiver.name``, to be called; ``is_own`` where the dialect has it, without the program's
    extensions."""

    receiver: Operand
    name: str
    is_own: bool = True

    @property
    def type_name(self) -> str:
        return f"method {self.name} of {self.receiver.type_name}"


@dataclass(slots=True, eq=False)
class Activation:
    """The variables of a function, or of one that is inlined in it, while it is translated.

    Attributes:
        names: its parameters and variables.
        outer: the activation of the function around it.
        env: the names that it sees, where it calls an inlined function.
    """

    names: frozenset[str]
    outer: Activation | None = None
    env: dict[str, Operand] = field(default_factory=dict[str, Operand])


@dataclass(slots=True, eq=False)
class LocalFunction(Operand):
    """A function defined inside a kernel.

    Attributes:
        node: its definition, or its lambda.
        around: the activation of the function that it is defined in.
        defaults: those of its parameters, by name.
        captured: the variables that it reads of activations that have ended.
    """

    node: Any
    around: Activation
    name: str
    defaults: dict[str, Operand]
    captured: dict[str, Operand] = field(default_factory=dict[str, Operand])

    @property
    def items(self) -> tuple[Operand, ...]:
        """The values that it has."""
        return (*self.defaults.values(), *self.captured.values())

    @property
    def type_name(self) -> str:
        return f"the local function {self.name}"


@dataclass(slots=True, eq=False)
class RangeOperand(Operand):
    """``range(start, stop, step)``, all of one integer type."""

    kind: ClassVar[str] = "range"
    start: Scalar
    stop: Scalar
    step: Scalar


@dataclass(slots=True, eq=False)
class EnumerateOperand(Operand):
    """``enumerate(inner, start)``."""

    kind: ClassVar[str] = "enumerate"
    inner: Operand
    start: Scalar


@dataclass(slots=True, eq=False)
class ZipOperand(Operand):
    """``zip(*items)``."""

    kind: ClassVar[str] = "zip"
    items: tuple[Operand, ...]


@dataclass(slots=True, eq=False)
class ReversedOperand(Operand):
    """``reversed(inner)``."""

    kind: ClassVar[str] = "reversed"
    inner: Operand


@dataclass(slots=True, eq=False)
class SliceOperand(Operand):
    """``start:stop:step`` of a subscript; None where omitted."""

    kind: ClassVar[str] = "slice"
    start: Scalar | None
    stop: Scalar | None
    step: Scalar | None


@dataclass(slots=True, eq=False)
class Conflict(Operand):
    """A variable whose types do not unify at a join: an error when it is read."""

    types: tuple[str, str]
    places: tuple[Loc, ...] = ()

    @property
    def type_name(self) -> str:
        return f"{self.types[0]} or {self.types[1]}"


NONE = Static(None)
