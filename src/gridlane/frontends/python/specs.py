"""The shape of an operand without its values; ``unification`` has the common one of two.

A spec is hashable. ``flatten`` splits an operand into IR values, ``rebuild`` assembles it again, so
that any operand can live in variables and pass through calls.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from gridlane.core import argtypes
from gridlane.core.dtypes import DType, b1, i64
from gridlane.core.encoding import encode
from gridlane.core.frozen import frozen
from gridlane.frontends.python.extensions import EXTENSIONS
from gridlane.frontends.python.operands import (
    NONE,
    Activation,
    ArrayView,
    Chars,
    ComplexNumber,
    EnumMember,
    EnumVariable,
    Fragment,
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
    number,
)
from gridlane.frontends.python.parts import PASSED, Shape, parts_of, put_together, taken_apart
from gridlane.ir.builder import Builder
from gridlane.ir.types import FragmentType, PointerType, Type
from gridlane.ir.values import Value

UNBOUNDED = 1 << 80
"""An absent upper bound: the value is not negative unless 64 bits overflowed."""


@frozen
class ScalarSpec:
    """A number; of class ``cls`` where it is a member of an IntEnum."""

    dtype: DType
    lo: int
    hi: int
    cls: type[enum.Enum] | None = None


@frozen
class ComplexSpec:
    part: DType


@frozen
class TimeSpec:
    """A date or a span of time."""

    type: argtypes.TimeType


@frozen
class CharsSpec:
    """A fixed-width string."""

    type: argtypes.CharsType


@frozen
class ArraySpec:
    type: argtypes.ArrayType
    pointer: PointerType


@frozen
class PointerSpec:
    type: argtypes.CPointerType
    pointer: PointerType


@frozen
class RecordSpec:
    type: argtypes.RecordType
    pointer: PointerType
    readonly: bool = False


@frozen
class RecordValueSpec:
    """A record without memory of its own; its fields have any value of their types."""

    type: argtypes.RecordType


@frozen
class FragmentSpec:
    type: FragmentType


@frozen
class TupleSpec:
    items: tuple[Spec, ...]
    fields: tuple[str, ...]
    cls: type | None


@frozen
class UserSpec:
    """A value of a type that the program defines, by the specs of its members."""

    type: argtypes.ArgType
    items: tuple[Spec, ...]


@frozen
class OptionalSpec:
    """A value that may be None, by the spec of the value, which is the only item."""

    items: tuple[Spec]


@frozen
class FunctionSpec:
    """A function that the kernel defines, with the specs of the values that it has. There is one
    for each definition and activation: what it reads of this depends on the place of the call."""

    node: ast.AST
    around: Activation
    name: str
    defaults: tuple[str, ...]
    captured: tuple[str, ...]
    items: tuple[Spec, ...]

    @property
    def type(self) -> str:
        """Its type as an error message spells it."""
        return f"the local function {self.name}"


@frozen
class PartsSpec:
    """A range, a slice, or another iterable of Python's, by the specs of its parts. Only calls and
    returns have it: branches merge the parts."""

    shape: Shape
    items: tuple[Spec, ...]


@frozen
class VectorSpec:
    """A short vector; its components have any value of their type."""

    type: argtypes.VectorType

    @property
    def item(self) -> ScalarSpec:
        """The spec of a component."""
        return any_number(self.type.element.dtype)


@frozen
class MemberSpec:
    """Any member of an Enum."""

    cls: type[enum.Enum]

    @property
    def type(self) -> str:
        """Its type as an error message spells it."""
        return f"a member of {self.cls.__name__}"


@frozen
class StaticSpec:
    """A compile-time object, equal only to itself."""

    object: Any

    def __hash__(self) -> int:
        return id(self.object)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticSpec) and _same_object(self.object, other.object)


@dataclass(frozen=True, slots=True, eq=False)
class LiteralSpec:
    """A number baked into a function that needs it at compile time, equal only to a bitwise equal
    one: zeros of either sign are two functions, and a NaN is one."""

    dtype: DType
    value: int | float | bool

    def __hash__(self) -> int:
        return hash((self.dtype, encode(self.value)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LiteralSpec) or self.dtype is not other.dtype:
            return False
        return encode(self.value) == encode(other.value)


Spec = (
    ScalarSpec
    | ComplexSpec
    | TimeSpec
    | CharsSpec
    | ArraySpec
    | PointerSpec
    | RecordSpec
    | RecordValueSpec
    | FragmentSpec
    | TupleSpec
    | UserSpec
    | OptionalSpec
    | FunctionSpec
    | PartsSpec
    | VectorSpec
    | MemberSpec
    | StaticSpec
    | LiteralSpec
)


def _same_object(lhs: Any, rhs: Any) -> bool:
    return lhs is rhs or (type(lhs) is type(rhs) and isinstance(lhs, str | bytes) and lhs == rhs)


def spec_of(operand: Operand) -> Spec | None:
    """The spec of an operand; None for one that cannot live in a variable (ranges, slices …)."""
    if isinstance(operand, Scalar):
        cls = operand.cls if isinstance(operand, EnumMember) else None
        return ScalarSpec(operand.dtype, operand.lo, operand.hi, cls)
    if isinstance(operand, ArrayView):
        return ArraySpec(operand.type, operand.pointer.type)  # type: ignore[arg-type]  # a pointer
    if isinstance(operand, Pointer):
        return PointerSpec(operand.type, operand.pointer.type)  # type: ignore[arg-type]  # a pointer
    if isinstance(operand, ComplexNumber):
        return ComplexSpec(operand.part)
    if isinstance(operand, Time):
        return TimeSpec(operand.type)
    if isinstance(operand, Chars):
        return CharsSpec(operand.type)
    if isinstance(operand, Vector):
        return VectorSpec(operand.type)
    if isinstance(operand, TupleOperand | UserValue):
        items = tuple([spec_of(item) for item in operand.items])
        if any(item is None for item in items):
            return None
        if isinstance(operand, UserValue):
            return UserSpec(operand.type, items)  # type: ignore[arg-type]  # no None
        return TupleSpec(items, operand.fields, operand.cls)  # type: ignore[arg-type]  # no None
    if isinstance(operand, OptionalOperand):
        inner = spec_of(operand.inner)
        return None if inner is None else OptionalSpec((inner,))
    if isinstance(operand, LocalFunction):
        return _function_spec(operand)
    if isinstance(operand, RecordView):
        kind = operand.pointer.type
        return RecordSpec(operand.type, kind, operand.readonly)  # type: ignore[arg-type]  # a pointer
    if isinstance(operand, RecordValue):
        return RecordValueSpec(operand.type)
    if isinstance(operand, Static):
        return StaticSpec(operand.object)
    if isinstance(operand, EnumVariable):
        return MemberSpec(operand.cls)
    if isinstance(operand, Fragment):
        return FragmentSpec(operand.value.type)  # type: ignore[arg-type]  # a fragment
    return None


def passed_spec(operand: Operand) -> Spec | None:
    """The spec of an argument or a result; None for one that calls cannot pass (methods …)."""
    spec = spec_of(operand)
    apart = taken_apart(operand) if isinstance(operand, PASSED) else None
    if spec is not None or apart is None:
        return spec
    items = tuple([passed_spec(part) for part in apart[1]])
    return None if None in items else PartsSpec(apart[0], items)  # type: ignore[arg-type]


def _function_spec(function: LocalFunction) -> Spec | None:
    items = tuple([spec_of(item) for item in function.items])
    if None in items:
        return None
    names = tuple(function.defaults), tuple(function.captured)
    return FunctionSpec(function.node, function.around, function.name, *names, items)  # type: ignore[arg-type]  # no None


def any_number(dtype: DType) -> ScalarSpec:
    """The spec of a number without a known value."""
    limits = (dtype.min, dtype.max) if dtype.is_integer else (0, 1)
    return ScalarSpec(dtype, *limits)


@cache
def field_specs(kind: argtypes.RecordType) -> tuple[Spec, ...]:
    """The specs of a record's fields in a value."""
    return tuple([_value_spec(item) for _, item, _ in kind.fields])


_PLAIN: dict[type[argtypes.ArgType], Callable[[Any], Spec]] = {
    argtypes.ScalarType: lambda kind: any_number(kind.dtype),
    argtypes.ComplexType: lambda kind: ComplexSpec(kind.part),
    argtypes.TimeType: TimeSpec,
    argtypes.CharsType: CharsSpec,
    argtypes.VectorType: VectorSpec,
}


def plain_spec(kind: argtypes.ArgType) -> Spec | None:
    """The spec of a value of a type that has no parts in memory; None for other types."""
    return next((of(kind) for cls, of in _PLAIN.items() if isinstance(kind, cls)), None)


def _value_spec(kind: argtypes.ArgType) -> Spec:
    if isinstance(kind, argtypes.RecordType):
        return RecordValueSpec(kind)
    plain = plain_spec(kind)
    if plain is not None:
        return plain
    assert isinstance(kind, argtypes.NestedArrayType)
    spec = _value_spec(kind.element)
    for extent in reversed(kind.shape):
        spec = TupleSpec((spec,) * extent, (), None)
    return spec


def flatten(operand: Operand) -> list[Value]:
    """The IR values of an operand, in the order of ``ir_types`` and ``rebuild``."""
    if isinstance(operand, Scalar):
        return [operand.value]
    if isinstance(operand, ArrayView):
        return [operand.pointer, *operand.shape, *operand.strides]
    if isinstance(operand, ComplexNumber):
        return [operand.real, operand.imag]
    if isinstance(operand, Time):
        return [operand.value]
    if isinstance(operand, Chars):
        return list(operand.units)
    if isinstance(operand, TupleOperand | RecordValue | UserValue | LocalFunction):
        return [value for item in operand.items for value in flatten(item)]
    if isinstance(operand, RecordView | Pointer):
        return [operand.pointer]
    if isinstance(operand, EnumVariable):
        return [operand.place]
    if isinstance(operand, Fragment):
        return [operand.value]
    if isinstance(operand, OptionalOperand):
        return [operand.present, *flatten(operand.inner)]
    if isinstance(operand, PASSED):
        return [value for part in parts_of(operand) for value in flatten(part)]
    return []


def ir_types(spec: Spec) -> list[Type]:
    """The types of the values of ``flatten``."""
    if isinstance(spec, ScalarSpec):
        return [spec.dtype]
    if isinstance(spec, ArraySpec):
        extents = spec.type.ndim * (2 if spec.type.layout == "A" else 1)
        return [spec.pointer, *[i64] * extents]
    if isinstance(spec, ComplexSpec):
        return [spec.part, spec.part]
    if isinstance(spec, CharsSpec):
        return [spec.type.unit] * spec.type.count
    if isinstance(spec, TupleSpec | UserSpec | FunctionSpec | PartsSpec):
        return [type_ for item in spec.items for type_ in ir_types(item)]
    if isinstance(spec, OptionalSpec):
        return [b1, *ir_types(spec.items[0])]
    if isinstance(spec, VectorSpec):
        return [spec.item.dtype] * spec.type.count
    if isinstance(spec, RecordSpec | PointerSpec):
        return [spec.pointer]
    if isinstance(spec, RecordValueSpec):
        return [type_ for item in field_specs(spec.type) for type_ in ir_types(item)]
    if isinstance(spec, MemberSpec | TimeSpec):
        return [i64]
    if isinstance(spec, FragmentSpec):
        return [spec.type]
    return []


def suffixes(spec: Spec) -> list[str]:
    """A name for each value of ``flatten``, to append to the variable's."""
    if isinstance(spec, ArraySpec):
        axes = range(spec.type.ndim)
        strides = [f"_strides{d}" for d in axes] if spec.type.layout == "A" else []
        return ["", *[f"_shape{d}" for d in axes], *strides]
    if isinstance(spec, ComplexSpec):
        return ["_real", "_imag"]
    if isinstance(spec, CharsSpec):
        return [f"_{place}" for place in range(spec.type.count)]
    if isinstance(spec, TupleSpec | PartsSpec):
        return [f"_{n}{tail}" for n, item in enumerate(spec.items) for tail in suffixes(item)]
    if isinstance(spec, OptionalSpec):
        return ["_present", *suffixes(spec.items[0])]
    if isinstance(spec, UserSpec):
        pairs = zip(EXTENSIONS.structure(spec.type), spec.items, strict=True)
        return [f"_{name}{tail}" for (name, _), item in pairs for tail in suffixes(item)]
    if isinstance(spec, FunctionSpec):
        pairs = zip((*spec.defaults, *spec.captured), spec.items, strict=True)
        return [f"_{name}{tail}" for name, item in pairs for tail in suffixes(item)]
    if isinstance(spec, VectorSpec):
        return [f"_{number}" for number in range(spec.type.count)]
    if isinstance(spec, RecordValueSpec):
        pairs = zip(spec.type.fields, field_specs(spec.type), strict=True)
        return [f"_{name}{tail}" for (name, _, _), item in pairs for tail in suffixes(item)]
    return [""] * len(ir_types(spec))


def function_of(spec: FunctionSpec, items: list[Operand]) -> LocalFunction:
    """The function of a spec with its values."""
    count = len(spec.defaults)
    defaults = dict(zip(spec.defaults, items[:count], strict=True))
    captured = dict(zip(spec.captured, items[count:], strict=True))
    return LocalFunction(spec.node, spec.around, spec.name, defaults, captured)


def rebuild(b: Builder, spec: Spec, values: Iterator[Value]) -> Operand:
    """The operand of a spec from its values, taken from ``values`` in order."""
    if isinstance(spec, ScalarSpec):
        scalar = Scalar(next(values), spec.lo, spec.hi)
        return scalar if spec.cls is None else EnumMember(scalar, spec.cls)
    if isinstance(spec, ArraySpec):
        start = next(values)
        shape = tuple([next(values) for _ in range(spec.type.ndim)])
        strided = spec.type.layout == "A"
        strides = tuple([next(values) for _ in range(spec.type.ndim)]) if strided else ()
        return ArrayView(spec.type, start, shape, strides)
    if isinstance(spec, ComplexSpec):
        return ComplexNumber(next(values), next(values))
    if isinstance(spec, TimeSpec):
        return Time(spec.type, next(values))
    if isinstance(spec, CharsSpec):
        return Chars(spec.type, tuple([next(values) for _ in range(spec.type.count)]))
    if isinstance(spec, TupleSpec | UserSpec | OptionalSpec | FunctionSpec | PartsSpec):
        return _rebuild_nested(b, spec, values)
    if isinstance(spec, VectorSpec):
        item = spec.item
        parts = [Scalar(next(values), item.lo, item.hi) for _ in range(spec.type.count)]
        return Vector(tuple(parts), spec.type.extents)
    if isinstance(spec, RecordSpec):
        return RecordView(spec.type, next(values), spec.readonly)
    if isinstance(spec, PointerSpec):
        return Pointer(spec.type, next(values))
    if isinstance(spec, RecordValueSpec):
        fields = tuple([rebuild(b, item, values) for item in field_specs(spec.type)])
        return RecordValue(spec.type, fields)
    if isinstance(spec, FragmentSpec):
        return Fragment(next(values))
    if isinstance(spec, MemberSpec):
        return EnumVariable(spec.cls, next(values))
    if isinstance(spec, LiteralSpec):
        return number(b, spec.value, spec.dtype)
    return NONE if spec.object is None else Static(spec.object)


def _rebuild_nested(
    b: Builder,
    spec: TupleSpec | UserSpec | OptionalSpec | FunctionSpec | PartsSpec,
    values: Iterator[Value],
) -> Operand:
    """The operand of a spec that has others."""
    if isinstance(spec, OptionalSpec):
        return OptionalOperand(next(values), rebuild(b, spec.items[0], values))
    if isinstance(spec, PartsSpec):
        return put_together(spec.shape, [_part(b, item, values) for item in spec.items])
    items = [rebuild(b, item, values) for item in spec.items]
    if isinstance(spec, TupleSpec):
        return TupleOperand(tuple(items), spec.fields, spec.cls)
    if isinstance(spec, UserSpec):
        return UserValue(spec.type, tuple(items))
    return function_of(spec, items)


def _part(b: Builder, spec: Spec, values: Iterator[Value]) -> Operand:
    """A part of a range or slice: a constant, as a step of 1, stays one."""
    operand = rebuild(b, spec, values)
    if isinstance(spec, ScalarSpec) and spec.dtype.is_integer and spec.lo == spec.hi:
        return number(b, spec.lo, spec.dtype)
    return operand
