"""Vectors of elements that are read and written at once: ``cuda.vector.load`` and ``store``."""

from __future__ import annotations

from functools import reduce
from itertools import product
from math import prod

from gridlane.core import argtypes
from gridlane.core.dtypes import i64
from gridlane.core.errors import ConstantError, TypingError
from gridlane.frontends.python import vector_stubs
from gridlane.frontends.python.calls.casts import constant_integer, constant_shape
from gridlane.frontends.python.calls.registry import handles
from gridlane.frontends.python.conversion import cast_scalar, integer
from gridlane.frontends.python.element_addresses import Place, address, byte_offset, load
from gridlane.frontends.python.indexing import checked
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    Operand,
    Scalar,
    TupleOperand,
    Vector,
)
from gridlane.frontends.python.stores import store
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.vector_memory import load_vector, store_vector, viewed
from gridlane.ir.types import Space
from gridlane.ir.values import Value

_WHOLE = (2, 4)
"""The numbers of components that one access may read."""


@handles(vector_stubs.load)
def _load(
    t: Translator, array: Operand, indices: Operand, shape: Operand, alignment: Operand | None
) -> Operand:
    view, extents = _array(t, "load", array), constant_shape(t, shape)
    if not extents or min(extents) < 1:
        raise t.fail(ConstantError, "vector.load(): a vector has at least one component")
    dense = _is_dense(t, alignment)
    kind = _vector_type(view, prod(extents))
    first = _first(t, view, indices, extents)
    if dense and len(extents) == 1 and _is_whole(kind):
        return load_vector(t, viewed(t, address(t, view, first), kind), kind)
    element = view.type.element
    loaded = [load(t, each, element) for each in _addresses(t, view, first, extents, dense)]
    items = tuple([item for item in loaded if isinstance(item, Scalar)])
    return Vector(items, extents if len(extents) > 1 else ())


@handles(vector_stubs.store)
def _store(
    t: Translator, array: Operand, index: Operand, vector: Operand, alignment: Operand | None
) -> Operand:
    view = _array(t, "store", array)
    if not isinstance(vector, Vector):
        raise t.fail(TypingError, f"vector.store() takes a vector, not {vector.type_name}")
    readonly = view.type.readonly or view.space is Space.CONSTANT
    if readonly:
        raise t.fail(TypingError, "the array of vector.store() is read-only")
    dense = _is_dense(t, alignment)
    kind = _vector_type(view, len(vector.items))
    extents = vector.extents or (len(vector.items),)
    first = _first(t, view, index, extents)
    element = kind.element.dtype
    numbers = tuple([cast_scalar(t, number, element) for number in vector.numbers])
    if dense and _is_whole(kind):
        start = viewed(t, address(t, view, first), kind)
        store_vector(t, start, kind, Vector(numbers))
        return NONE
    pointers = _addresses(t, view, first, extents, dense)
    for place, number in zip(pointers, numbers, strict=True):
        store(t, Place(view.type.element, place), number)
    return NONE


def _array(t: Translator, name: str, array: Operand) -> ArrayView:
    if isinstance(array, ArrayView) and isinstance(array.type.element, argtypes.ScalarType):
        return array
    raise t.fail(TypingError, f"vector.{name}() takes an array of numbers, not {array.type_name}")


def _vector_type(view: ArrayView, count: int) -> argtypes.VectorType:
    assert isinstance(view.type.element, argtypes.ScalarType)
    return argtypes.VectorType(view.type.element, count)


def _is_whole(kind: argtypes.VectorType) -> bool:
    """Whether one access may read a vector."""
    return kind.count in _WHOLE and kind.element != argtypes.boolean


def _is_dense(t: Translator, alignment: Operand | None) -> bool:
    """Whether the elements follow each other in memory, as an alignment says."""
    if alignment is None or alignment is NONE:
        return False
    value = constant_integer(t, alignment, "alignment")
    if value < 1 or value & (value - 1):
        raise t.fail(ConstantError, f"the alignment of a vector is a power of two, not {value}")
    return True


def _first(t: Translator, view: ArrayView, index: Operand, extents: tuple[int, ...]) -> list[Value]:
    """The index of the first element along each axis."""
    items = index.items if isinstance(index, TupleOperand) else (index,)
    numbers = [integer(t, item, "an integer index") for item in items]
    if len(numbers) == 1 and view.type.ndim > 1:
        return _from_linear(t, view, numbers[0], prod(extents))
    if len(numbers) != view.type.ndim or len(extents) > view.type.ndim:
        raise t.fail(
            TypingError,
            f"{len(numbers)} indices and {len(extents)} axes for an array of {view.type.ndim} "
            "dimensions",
        )
    pairs = enumerate(zip(numbers, view.shape, strict=True))
    indices = [checked(t, one, n, view, axis) for axis, (one, n) in pairs]
    if t.unit.options.bounds:
        behind = [1] * (view.type.ndim - len(extents)) + [*extents]
        for axis, (start, count) in enumerate(zip(indices, behind, strict=True)):
            last = Scalar(t.b.add(start, t.b.const(count - 1, i64)), 0, i64.max)
            checked(t, last, view.shape[axis], view, axis)
    return indices


_BEHIND = "index is out of bounds: it counts the elements of the array"


def _from_linear(t: Translator, view: ArrayView, index: Scalar, count: int) -> list[Value]:
    """The index along each axis of the first of some elements by its number in memory."""
    if view.type.layout != "C":
        raise t.fail(
            TypingError, f"one index of {view.type} counts elements without gaps; give all of them"
        )
    number = t.b.cast(index.value, i64)
    if t.unit.options.bounds:
        size = reduce(t.b.mul, view.shape)
        last = t.b.add(number, t.b.const(count - 1, i64))
        for each in (number, last):
            checked(t, Scalar(each, 0, i64.max), size, None, told=_BEHIND)
    return [*[t.b.const(0, i64) for _ in view.shape[1:]], number]


def _addresses(
    t: Translator, view: ArrayView, first: list[Value], extents: tuple[int, ...], dense: bool
) -> list[Value]:
    """The addresses of the components."""
    b, start = t.b, address(t, view, first)
    if dense:
        size = view.pointer.type.element.size  # type: ignore[union-attr]  # a pointer
        return [byte_offset(t, start, b.const(n * size, i64)) for n in range(prod(extents))]
    outer = len(first) - len(extents)
    return [
        address(
            t,
            view,
            [
                *first[:outer],
                *[b.add(one, b.const(n, i64)) for one, n in zip(first[outer:], steps, strict=True)],
            ],
        )
        for steps in product(*map(range, extents))
    ]
