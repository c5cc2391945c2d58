"""Subscripts: elements, views, records, tuples; loads and stores."""

from __future__ import annotations

from dataclasses import dataclass
from enum import EnumType
from typing import TYPE_CHECKING, Any

from gridlane.core import argtypes
from gridlane.core.dtypes import i64, u8
from gridlane.core.errors import ConstantError, TypingError
from gridlane.frontends.python.conversion import cast_to, integer, strides_of
from gridlane.frontends.python.operands import (
    ArrayView,
    ComplexNumber,
    Operand,
    RangeOperand,
    RecordView,
    Scalar,
    SliceOperand,
    Static,
    TupleOperand,
)
from gridlane.frontends.python.views import IndexPart, broadcast_store, make_view
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import Space, StructType, pointer
from gridlane.ir.values import Value

if TYPE_CHECKING:
    from gridlane.frontends.python.translator import Translator


@dataclass(slots=True, eq=False)
class Place:
    """Where a subscript points: an element in memory, or a view of several."""

    element: argtypes.ArgType
    pointer: Value
    view: ArrayView | None = None
    readonly: bool = False


# ---- loads


def subscript(t: Translator, base: Operand, index: Operand) -> Operand:
    """``base[index]`` as a value."""
    if isinstance(base, TupleOperand):
        return _tuple_subscript(t, base, index)
    if isinstance(base, RangeOperand):
        from gridlane.frontends.python.iteration import range_item

        return range_item(t, base, integer(t, index, "an integer index"))
    if isinstance(base, Static):
        return _static_subscript(t, base, index)
    return item_of(t, place_of(t, base, index))


def _static_subscript(t: Translator, base: Static, index: Operand) -> Operand:
    """A compile-time object: a class of enum by name, a text by constant index."""
    from gridlane.frontends.python.constants import operand_of

    key = index.object if isinstance(index, Static) else None
    if isinstance(index, Scalar):
        key = constant(index.value)
    if isinstance(base.object, str | EnumType) and key is not None:
        try:
            return operand_of(t, base.object[key])  # type: ignore[index]  # a TypeError says so
        except (KeyError, IndexError, TypeError) as error:
            raise t.fail(ConstantError, f"{base.type_name} has no item {error}") from None
    raise t.fail(TypingError, f"{base.type_name} cannot be indexed in a kernel")


def item_of(t: Translator, place: Place) -> Operand:
    """The value at a place."""
    if place.view is not None:
        return place.view
    return load(t, place.pointer, place.element, place.readonly)


def load(t: Translator, address: Value, kind: argtypes.ArgType, readonly: bool = False) -> Operand:
    """The operand of an element in memory: numbers are loaded, records and arrays stay there."""
    b = t.b
    if isinstance(kind, argtypes.ScalarType):
        return Scalar(_read(t, address))
    if isinstance(kind, argtypes.ComplexType):
        real = _read(t, b.field_pointer(address, 0))
        return ComplexNumber(real, _read(t, b.field_pointer(address, 1)))
    if isinstance(kind, argtypes.RecordType):
        return RecordView(kind, address, readonly)
    assert isinstance(kind, argtypes.NestedArrayType)
    array = argtypes.ArrayType(kind.element, len(kind.shape), "C", readonly)
    shape = tuple([b.const(extent, i64) for extent in kind.shape])
    return ArrayView(array, b.field_pointer(address, 0), shape)


def is_unaligned(address: Value) -> bool:
    """Whether an address of a number is not known to be aligned; see layout.memory_type."""
    return isinstance(address.type.element, StructType)  # type: ignore[union-attr]  # a pointer


def _read(t: Translator, address: Value) -> Value:
    """Load a number."""
    found = t.b.load(address)
    return t.b.value(memory.Part(found, 0)) if is_unaligned(address) else found


def _write(t: Translator, address: Value, value: Value) -> None:
    """Store a number."""
    if is_unaligned(address):
        whole = address.type.element  # type: ignore[union-attr]  # a pointer
        value = t.b.value(memory.Pack((value,), whole))  # type: ignore[arg-type]  # a struct
    t.b.store(address, value)


def element_at(t: Translator, array: ArrayView, index: Scalar) -> Operand:
    """``array[index]`` for an index that is in range."""
    return item_of(t, _array_place(t, array, (index,)))


# ---- stores


def store(t: Translator, place: Place, value: Operand) -> None:
    """Write a value to a place, converted to the element's type."""
    if place.readonly:
        raise t.fail(
            TypingError,
            "this array is read-only: constant memory, or an argument that may not be written; "
            "store to another array, or pass a copy",
        )
    if place.view is not None:
        broadcast_store(t, place.view, value, store_element)
        return
    store_element(t, place.pointer, place.element, value)


def store_element(t: Translator, address: Value, kind: argtypes.ArgType, value: Operand) -> None:
    """Write one element."""
    b = t.b
    if isinstance(kind, argtypes.RecordType):
        if not isinstance(value, RecordView) or value.type != kind:
            raise t.fail(TypingError, f"a record {kind} is required here, not {value.type_name}")
        _copy_record(t, address, value)
        return
    if isinstance(kind, argtypes.NestedArrayType):
        view = load(t, address, kind)
        assert isinstance(view, ArrayView)
        broadcast_store(t, view, value, store_element)
        return
    made = cast_to(t, value, kind)
    if isinstance(made, ComplexNumber):
        _write(t, b.field_pointer(address, 0), made.real)
        _write(t, b.field_pointer(address, 1), made.imag)
    else:
        _write(t, address, made.value)  # type: ignore[attr-defined]  # a scalar


def _copy_record(t: Translator, address: Value, source: RecordView) -> None:
    """Copy a record: whole where it is a value, field by field where it holds arrays."""
    b = t.b
    plain = address.type.element == source.pointer.type.element  # type: ignore[union-attr]
    if plain and not _holds_array(source.type):
        b.store(address, b.load(source.pointer))
        return
    for number, (_, kind, _) in enumerate(source.type.fields):
        item = load(t, b.field_pointer(source.pointer, number), kind)
        store_element(t, b.field_pointer(address, number), kind, item)


def _holds_array(kind: argtypes.ArgType) -> bool:
    if isinstance(kind, argtypes.RecordType):
        return any(_holds_array(item) for _, item, _ in kind.fields)
    return isinstance(kind, argtypes.NestedArrayType)


# ---- places


def place_of(t: Translator, base: Operand, index: Operand) -> Place:
    """Where ``base[index]`` is."""
    if isinstance(base, ArrayView):
        return _array_place(t, base, index.items if isinstance(index, TupleOperand) else (index,))
    if isinstance(base, RecordView):
        return record_place(t, base, _field_name(t, base, index))
    if isinstance(base, TupleOperand):
        raise t.fail(TypingError, "a tuple cannot be changed; make a new one, or use a local array")
    raise t.fail(TypingError, f"{base.type_name} cannot be indexed")


def _field_name(t: Translator, base: RecordView, index: Operand) -> str:
    if isinstance(index, Static) and isinstance(index.object, str):
        return index.object
    number = constant(index.value) if isinstance(index, Scalar) else None
    if type(number) is int and -len(base.type.fields) <= number < len(base.type.fields):
        return base.type.fields[number][0]
    raise t.fail(ConstantError, "a field of a record is named by a constant string, as in r['x']")


def record_place(t: Translator, record: RecordView, name: str) -> Place:
    """Where a field of a record is."""
    for number, (field, kind, _) in enumerate(record.type.fields):
        if field == name:
            readonly = record.readonly or record.space is Space.CONSTANT
            return Place(kind, t.b.field_pointer(record.pointer, number), readonly=readonly)
    names = ", ".join(field for field, _, _ in record.type.fields)
    raise t.fail(TypingError, f"the record has no field {name!r}; it has {names}")


def _array_place(t: Translator, array: ArrayView, items: tuple[Operand, ...]) -> Place:
    field = items[0] if len(items) == 1 else None
    if isinstance(field, Static) and isinstance(field.object, str):
        return _field_view(t, array, field.object)
    parts = _index_parts(t, array, items)
    readonly = array.type.readonly or array.space is Space.CONSTANT
    if all(isinstance(part, Scalar) for part in parts):
        indices = [checked(t, part, n, array) for part, n in zip(parts, array.shape)]  # type: ignore  # slices are gone
        return Place(array.type.element, address(t, array, indices), readonly=readonly)
    view = make_view(t, array, parts, checked)
    return Place(array.type.element, view.pointer, view, readonly)


def _field_view(t: Translator, array: ArrayView, name: str) -> Place:
    """``array['field']``: the field of every record, as a strided view."""
    if not isinstance(array.type.element, argtypes.RecordType):
        raise t.fail(TypingError, f"{array.type} has no fields; index it with integers")
    record = RecordView(array.type.element, array.pointer, array.type.readonly)
    place = record_place(t, record, name)
    kind = argtypes.ArrayType(place.element, array.type.ndim, "A", array.type.readonly)
    view = ArrayView(kind, place.pointer, array.shape, strides_of(t, array))
    return Place(place.element, place.pointer, view, place.readonly)


def _index_parts(t: Translator, array: ArrayView, items: tuple[Operand, ...]) -> list[IndexPart]:
    """The subscript's items with an ellipsis expanded and missing axes filled with ``:``."""
    full = SliceOperand(None, None, None)
    axes = sum(not _is_new_axis(item) and not _is_ellipsis(item) for item in items)
    ndim = array.type.ndim
    if axes > ndim:
        raise t.fail(
            TypingError, f"{axes} indices for an array of {ndim} dimensions ({array.type})"
        )
    parts: list[IndexPart] = []
    expanded = False
    for item in items:
        if _is_ellipsis(item) and not expanded:
            parts += [full] * (ndim - axes)
            expanded = True
        elif _is_new_axis(item):
            parts.append(None)
        elif isinstance(item, SliceOperand):
            parts.append(item)
        else:
            parts.append(_index(t, array, item))
    return parts if expanded else [*parts, *[full] * (ndim - axes)]


def _is_ellipsis(item: Operand) -> bool:
    return isinstance(item, Static) and item.object is Ellipsis


def _is_new_axis(item: Operand) -> bool:
    return isinstance(item, Static) and item.object is None


def _index(t: Translator, array: ArrayView, item: Operand) -> Scalar:
    if not isinstance(item, Scalar):
        raise t.fail(
            TypingError,
            f"{array.type} is indexed by integers, slices and tuples of them, not by "
            f"{item.type_name}",
        )
    return integer(t, item, "an integer index")


def checked(t: Translator, index: Scalar, extent: Value, array: ArrayView | None) -> Value:
    """An index as i64, counted from the end where it is negative; in debug mode tested against
    the extent."""
    b = t.b
    value = b.cast(index.value, i64)
    if not index.not_negative:
        known = constant(value)
        if known is not None:
            value = b.add(value, extent)
        else:
            negative = b.lt(value, b.const(0, i64))
            value = b.select(negative, b.add(value, extent), value)
    if t.unit.options.debug:
        from gridlane.frontends.python.division import guard

        outside = b.binary(arith.Ge, b.cast(value, _U64), b.cast(extent, _U64))
        what = "index is out of bounds" if array is not None else "tuple index out of range"
        guard(t, outside, "IndexError", what)
    return value


_U64 = argtypes.uint64.dtype


def address(t: Translator, array: ArrayView, indices: list[Value]) -> Value:
    """The address of an element, from one index for each axis."""
    b = t.b
    if not indices:
        return array.pointer
    if array.type.layout == "A":
        return byte_offset(t, array.pointer, strided_sum(t, indices, array.strides))
    shape = array.shape
    if array.type.layout == "F":
        indices, shape = indices[::-1], shape[::-1]
    flat = indices[0]
    for extent, index in zip(shape[1:], indices[1:], strict=True):
        flat = b.add(b.mul(flat, extent), index)
    return b.offset(array.pointer, flat)


def strided_sum(t: Translator, indices: list[Value], strides: tuple[Value, ...]) -> Value:
    """The sum of index * stride."""
    total: Value | None = None
    for index, stride in zip(indices, strides, strict=True):
        term = t.b.mul(index, stride)
        total = term if total is None else t.b.add(total, term)
    assert total is not None
    return total


def byte_offset(t: Translator, start: Value, offset: Value) -> Value:
    """An address some bytes further."""
    b = t.b
    kind = start.type
    if constant(offset) == 0:
        return start
    raw = b.recast(start, pointer(u8, kind.space))  # type: ignore[union-attr]  # a pointer
    return b.recast(b.offset(raw, offset), kind)  # type: ignore[arg-type]  # a pointer


# ---- tuples


def _tuple_subscript(t: Translator, base: TupleOperand, index: Operand) -> Operand:
    if isinstance(index, SliceOperand):
        bounds = [index.start, index.stop, index.step]
        known: list[Any] = [None if item is None else constant(item.value) for item in bounds]
        if known.count(None) != bounds.count(None):
            raise t.fail(ConstantError, "a tuple is sliced with constant bounds")
        return TupleOperand(base.items[slice(*known)])
    return tuple_item(t, base, integer(t, index, "an integer index"), checked=True)


def tuple_item(t: Translator, base: TupleOperand, index: Scalar, checked: bool) -> Operand:
    """``base[index]``; an index that is not constant needs items of one type."""
    known = constant(index.value)
    count = len(base.items)
    if type(known) is int:
        if not -count <= known < count:
            raise t.fail(ConstantError, f"tuple index {known} out of range: it has {count} items")
        return base.items[known]
    return _dynamic_item(t, base, index, checked)


def _dynamic_item(t: Translator, base: TupleOperand, index: Scalar, check: bool) -> Operand:
    from gridlane.frontends.python.joins import through
    from gridlane.frontends.python.specs import spec_of

    specs = {type(spec_of(item)) for item in base.items}
    names = {item.type_name for item in base.items}
    if len(names) != 1 or len(specs) != 1:
        raise t.fail(
            TypingError,
            f"{base.type_name} is indexed by a value that is not constant, which needs items of "
            "one type; use a constant index, or an array",
        )
    b = t.b
    value = b.cast(index.value, i64)
    if check:
        value = checked(t, index, b.const(len(base.items), i64), None)
    result = base.items[-1]
    for number in range(len(base.items) - 2, -1, -1):
        here = b.eq(value, b.const(number, i64))
        result = _pick(t, here, base.items[number], result, through)
    return result


def _pick(t: Translator, here: Value, lhs: Operand, rhs: Operand, through) -> Operand:  # type: ignore[no-untyped-def]
    """One of two operands of the same type."""
    from gridlane.frontends.python.specs import flatten, rebuild, spec_of, unify

    if isinstance(lhs, Scalar) and isinstance(rhs, Scalar):
        value = t.b.select(here, lhs.value, rhs.value)
        return Scalar(value, min(lhs.lo, rhs.lo), max(lhs.hi, rhs.hi))
    spec = unify(spec_of(lhs), spec_of(rhs))  # type: ignore[arg-type]  # same types
    pairs = zip(flatten(lhs), flatten(rhs), strict=True)
    chosen = [x if x is y else t.b.select(here, x, y) for x, y in pairs]
    return rebuild(t, spec, iter(chosen))  # type: ignore[arg-type]
