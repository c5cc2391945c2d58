"""numba's calling convention: the flat parameters of a device function that other code calls, or
that other code defines, and the layout of its result in memory.

An array is passed as (owner, parent, number of elements, bytes of an element, data, extents,
strides in bytes), a complex number as its parts, a tuple or a short vector as its items. The result
is a value of C's layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gridlane.core import argtypes
from gridlane.core.dtypes import DType, i64, u8, u64
from gridlane.core.errors import TypingError
from gridlane.core.frozen import frozen
from gridlane.core.parameters import array_members
from gridlane.frontends.python.conversion import strides_of
from gridlane.frontends.python.layout import element_type, memory_type, pointee
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    ComplexNumber,
    EnumMember,
    EnumVariable,
    Operand,
    Pointer,
    RecordView,
    Scalar,
    TupleOperand,
    Vector,
)
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import Builder
from gridlane.ir.types import Space, Type, pointer
from gridlane.ir.values import Value

ABIS = ("c", "numba")
"""``c``: the result is the function's. ``numba``: the first parameter is the address of the result,
and the function returns an int that is 0, or says that the thread raised an exception."""

Take = Callable[[Type], Value]
"""Makes the next parameter."""


def taken(kind: argtypes.ArgType, take: Take) -> Operand:
    """The operand of an argument, from parameters that ``take`` makes in order."""
    if isinstance(kind, argtypes.ScalarType):
        return Scalar(take(kind.dtype))
    if isinstance(kind, argtypes.ComplexType):
        return ComplexNumber(take(kind.part), take(kind.part))
    if isinstance(kind, argtypes.ArrayType):
        return _taken_array(kind, take)
    if isinstance(kind, argtypes.VectorType):
        return Vector(tuple([Scalar(take(kind.element.dtype)) for _ in range(kind.count)]))
    if isinstance(kind, argtypes.TupleType):
        items = tuple([taken(item, take) for item in kind.items])
        return TupleOperand(items, kind.fields, kind.cls)
    if isinstance(kind, argtypes.RecordType):
        return RecordView(kind, take(pointer(memory_type(kind), Space.GENERIC)))
    if isinstance(kind, argtypes.CPointerType):
        return Pointer(kind, take(pointer(pointee(kind), Space.GENERIC)))
    if isinstance(kind, argtypes.EnumType) and kind.number is not None:
        return EnumMember(Scalar(take(kind.number.dtype)), kind.cls)
    if isinstance(kind, argtypes.NoneType):
        take(u64)
        return NONE
    raise TypingError(f"a function with an ABI cannot take an argument of type {kind}")


def _taken_array(kind: argtypes.ArrayType, take: Take) -> ArrayView:
    for _ in range(4):  # the owner, the parent, the number of elements and the size of one
        take(i64)
    start = pointer(element_type(kind), Space.GENERIC)
    data, *numbers = [take(dtype or start) for dtype, _ in array_members(kind.ndim)]
    shape, strides = tuple(numbers[: kind.ndim]), tuple(numbers[kind.ndim :])
    return ArrayView(kind, data, shape, strides if kind.layout == "A" else ())


def handed(t: Translator, operand: Operand) -> Iterator[Value]:
    """The values of an argument of another language's function, in the order of ``taken``."""
    b = t.b
    if isinstance(operand, Scalar):
        yield operand.value
    elif isinstance(operand, ComplexNumber):
        yield from (operand.real, operand.imag)
    elif isinstance(operand, ArrayView):
        count, step = b.const(1, i64), memory_type(operand.type.element).size
        for extent in operand.shape:
            count = b.mul(count, extent)
        yield from (b.const(0, i64), b.const(0, i64), count, b.const(step, i64), operand.pointer)
        yield from (*operand.shape, *strides_of(t, operand))
    elif isinstance(operand, TupleOperand):
        for item in operand.items:
            yield from handed(t, item)
    elif isinstance(operand, RecordView | Pointer):
        yield operand.pointer
    elif isinstance(operand, EnumVariable):
        yield operand.place
    elif operand is NONE:
        yield b.const(0, u64)
    else:
        raise t.fail(TypingError, f"{operand.type_name} cannot be handed to a foreign function")


@frozen
class Layout:
    """A result in memory: its size and alignment, and the scalars in it with their offsets."""

    size: int
    align: int
    scalars: tuple[tuple[int, DType], ...]

    @property
    def scalar(self) -> DType | None:
        """The type of a result that is one number."""
        return self.scalars[0][1] if len(self.scalars) == 1 else None


def layout_of(kind: argtypes.ArgType) -> Layout:
    """The layout of a result.

    Raises:
        TypingError: functions with an ABI return no value of the type.
    """
    if isinstance(kind, argtypes.ScalarType):
        return Layout(kind.dtype.size, kind.dtype.size, ((0, kind.dtype),))
    if isinstance(kind, argtypes.EnumType) and kind.number is not None:
        return layout_of(kind.number)
    if isinstance(kind, argtypes.ComplexType):
        return _struct([layout_of(argtypes.scalar_of(kind.part))] * 2)
    if isinstance(kind, argtypes.VectorType):
        return _struct([layout_of(kind.element)] * kind.count)
    if isinstance(kind, argtypes.TupleType):
        return _struct([layout_of(item) for item in kind.items])
    if isinstance(kind, argtypes.NoneType):
        return Layout(0, 1, ())
    raise TypingError(f"a function with an ABI cannot return a value of type {kind}")


def _struct(members: list[Layout]) -> Layout:
    end, align, scalars = 0, 1, list[tuple[int, DType]]()
    for each in members:
        start = -(-end // each.align) * each.align
        scalars += [(start + offset, dtype) for offset, dtype in each.scalars]
        end, align = start + each.size, max(align, each.align)
    return Layout(-(-end // align) * align, align, tuple(scalars))


def result_values(operand: Operand) -> list[Value]:
    """The scalars of a result, in the order of its layout."""
    if isinstance(operand, Scalar):
        return [operand.value]
    if isinstance(operand, ComplexNumber):
        return [operand.real, operand.imag]
    if isinstance(operand, TupleOperand):
        return [value for item in operand.items for value in result_values(item)]
    return []


def result_operand(kind: argtypes.ArgType, values: Iterator[Value]) -> Operand:
    """The operand of a result from its scalars, in the order of its layout."""
    if isinstance(kind, argtypes.ScalarType):
        return Scalar(next(values))
    if isinstance(kind, argtypes.EnumType) and kind.number is not None:
        return EnumMember(Scalar(next(values)), kind.cls)
    if isinstance(kind, argtypes.ComplexType):
        return ComplexNumber(next(values), next(values))
    if isinstance(kind, argtypes.VectorType):
        return Vector(tuple([Scalar(next(values)) for _ in range(kind.count)]))
    if isinstance(kind, argtypes.TupleType):
        items = tuple([result_operand(item, values) for item in kind.items])
        return TupleOperand(items, kind.fields, kind.cls)
    return NONE


def store_result(b: Builder, there: Value, layout: Layout, values: list[Value]) -> None:
    """Store the scalars of a result at an address of bytes."""
    assert isinstance(there.type, type(pointer(u8, Space.GENERIC)))
    for (offset, dtype), value in zip(layout.scalars, values, strict=True):
        place = b.offset(there, b.const(offset, i64)) if offset else there
        b.store(b.recast(place, pointer(dtype, there.type.space)), value)


__all__ = [
    "ABIS", "Layout", "handed", "layout_of", "result_operand", "result_values", "store_result",
    "taken",
]  # fmt: skip
