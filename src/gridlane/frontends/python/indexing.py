"""Subscripts: elements, views, records, tuples."""

from __future__ import annotations

from enum import EnumType
from typing import Any, TypeGuard

from gridlane.core import argtypes
from gridlane.core.dtypes import i64
from gridlane.core.errors import ConstantError, TypingError
from gridlane.frontends.python import chars
from gridlane.frontends.python.array_expressions import memory_needed, viewed
from gridlane.frontends.python.broadcasting import element
from gridlane.frontends.python.constants import operand_of
from gridlane.frontends.python.conversion import convert, integer, strides_of
from gridlane.frontends.python.element_addresses import Place, address, item_of
from gridlane.frontends.python.operands import (
    ArrayExpression,
    ArrayView,
    Chars,
    Elements,
    Operand,
    Pointer,
    RangeOperand,
    RecordValue,
    RecordView,
    Scalar,
    SliceOperand,
    Static,
    TupleOperand,
    Vector,
)
from gridlane.frontends.python.raising import guard
from gridlane.frontends.python.ranges import range_item, range_length
from gridlane.frontends.python.records import UNCHANGED, field_of
from gridlane.frontends.python.specs import CharsSpec, FunctionSpec, flatten, rebuild, spec_of
from gridlane.frontends.python.stubs import Dim3Stub
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unchanged import settle
from gridlane.frontends.python.vectors import unchanged
from gridlane.frontends.python.views import IndexPart, make_view
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith
from gridlane.ir.ops.control import MOST_NUMBERS
from gridlane.ir.types import Space
from gridlane.ir.values import Value


def subscript(t: Translator, base: Operand, index: Operand) -> Operand:
    """``base[index]`` as a value."""
    if isinstance(base, TupleOperand):
        return _tuple_subscript(t, base, index)
    if isinstance(base, RecordValue):
        return field_of(t, base, _field_name(t, base, index))
    if isinstance(base, RangeOperand):
        number = integer(t, index, "an integer index")
        message = "range object index out of range"
        position = checked(t, number, range_length(t, base), None, told=message)
        return Scalar(range_item(t, base, Scalar(position)).value)  # beyond the end it is no item
    if isinstance(base, Chars):
        return chars.item(t, base, integer(t, index, "an integer index"))
    if isinstance(base, Static):
        return _static_subscript(t, base, index)
    if isinstance(base, ArrayExpression):
        settle(t, base)
        return _expression_item(t, base, index.items if _is_tuple(index) else (index,))
    return item_of(t, place_of(t, base, index))


def _static_subscript(t: Translator, base: Static, index: Operand) -> Operand:
    """Index a compile-time object: a class of enum by name, a text by index or constant slice."""
    key = index.object if isinstance(index, Static) else None
    if isinstance(index, Scalar):
        key = constant(index.value)
        if key is None and isinstance(base.object, str) and "\0" not in base.object:
            index = integer(t, index, "an integer index")
            return chars.item(t, chars.of_constant(t, base.object), index)
    if isinstance(index, SliceOperand) and isinstance(base.object, str):
        key = _constant_slice(t, index, "a text")
    if isinstance(base.object, str | EnumType) and key is not None:
        try:
            return operand_of(t, base.object[key])  # type: ignore[index]  # a TypeError says so
        except (KeyError, IndexError, TypeError) as error:
            raise t.fail(ConstantError, f"{base.type_name} has no item {error}") from None
    # An object may answer to every name, or raise at each.
    is_kernel = hasattr(type(base.object), "__gridlane_function__")
    instead = "; a kernel launches no kernel: call it as a device function" if is_kernel else ""
    raise t.fail(TypingError, f"{base.type_name} cannot be indexed in a kernel{instead}")


def _constant_slice(t: Translator, index: SliceOperand, what: str) -> slice:
    bounds = [index.start, index.stop, index.step]
    known: list[Any] = [None if item is None else constant(item.value) for item in bounds]
    if known.count(None) != bounds.count(None):
        raise t.fail(ConstantError, f"{what} is sliced with constant bounds")
    return slice(*known)


def _is_tuple(index: Operand) -> TypeGuard[TupleOperand]:
    return isinstance(index, TupleOperand)


def _expression_item(t: Translator, array: ArrayExpression, items: tuple[Operand, ...]) -> Operand:
    """An element of an expression of arrays, or the expression of views of them."""
    parts = _index_parts(t, array, items)
    indices = [part for part in parts if isinstance(part, Scalar)]
    if len(indices) < len(parts):
        return viewed(t, array, lambda each: make_view(t, each, parts, checked))
    pairs = enumerate(zip(indices, array.shape, strict=True))
    own = [checked(t, part, n, array, axis) for axis, (part, n) in pairs]
    return element(t, array, own)


def element_at(t: Translator, array: Elements, index: Scalar) -> Operand:
    """``array[index]`` for an index that is in range."""
    if isinstance(array, ArrayExpression):
        return _expression_item(t, array, (index,))
    return item_of(t, _array_place(t, array, (index,)))


# ---- places


def place_of(t: Translator, base: Operand, index: Operand) -> Place:
    """The place of ``base[index]``."""
    if isinstance(base, ArrayView):
        return _array_place(t, base, index.items if isinstance(index, TupleOperand) else (index,))
    if isinstance(base, Pointer):
        return _element_behind(t, base, integer(t, index, "an integer index"))
    if isinstance(base, RecordView):
        return record_place(t, base, _field_name(t, base, index))
    if isinstance(base, RecordValue):
        raise t.fail(TypingError, UNCHANGED)
    if isinstance(base, Chars):
        raise t.fail(TypingError, "a string does not change; store another one to the array")
    if isinstance(base, Vector):
        letter = _letter(base, index)
        raise t.fail(TypingError, unchanged(base, letter))
    if isinstance(base, TupleOperand):
        raise t.fail(TypingError, "a tuple cannot be changed; make a new one, or use a local array")
    number = isinstance(base, Scalar)
    instead = "; to write a result, pass an array of one element" if number else ""
    if isinstance(base, ArrayExpression):
        raise memory_needed(t, base, "a store to an element")
    raise t.fail(TypingError, f"{base.type_name} cannot be indexed{instead}")


def _element_behind(t: Translator, base: Pointer, index: Scalar) -> Place:
    """The place of an element at an address: no extents are known, as in C."""
    if base.type.element is None:
        raise t.fail(
            TypingError,
            f"{base.type} has no elements; carray(pointer, shape, dtype) makes an array of it",
        )
    return Place(base.type.element, t.b.offset(base.pointer, t.b.cast(index.value, i64)))


def _letter(vector: Vector, index: Operand) -> str:
    """The name of the component at an index, if that is known."""
    number = constant(index.value) if isinstance(index, Scalar) else None
    fields = vector.type.fields
    return fields[number] if type(number) is int and 0 <= number < len(fields) else ""


def _field_name(t: Translator, base: RecordView | RecordValue, index: Operand) -> str:
    if isinstance(index, Static) and isinstance(index.object, str):
        return index.object
    number = constant(index.value) if isinstance(index, Scalar) else None
    if type(number) is int and -len(base.type.fields) <= number < len(base.type.fields):
        return base.type.fields[number][0]
    raise t.fail(ConstantError, "a field of a record is named by a constant string, as in r['x']")


def record_place(t: Translator, record: RecordView, name: str) -> Place:
    """The place of a field of a record."""
    number = record.type.place_of(name)
    if number is not None:
        readonly = record.readonly or record.space is Space.CONSTANT
        pointer = t.b.field_pointer(record.pointer, number)
        return Place(record.type.fields[number][1], pointer, readonly=readonly)
    names = ", ".join(field for field, _, _ in record.type.fields)
    raise t.fail(TypingError, f"the record has no field {name!r}; it has {names}")


def _array_place(t: Translator, array: ArrayView, items: tuple[Operand, ...]) -> Place:
    field = items[0] if len(items) == 1 else None
    if isinstance(field, Static) and isinstance(field.object, str):
        return _field_view(t, array, field.object)
    parts = _index_parts(t, array, items)
    readonly = array.type.readonly or array.space is Space.CONSTANT
    if all(isinstance(part, Scalar) for part in parts):
        pairs = enumerate(zip(parts, array.shape, strict=True))
        indices = [checked(t, part, n, array, axis) for axis, (part, n) in pairs]  # type: ignore  # slices are gone
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


def _index_parts(t: Translator, array: Elements, items: tuple[Operand, ...]) -> list[IndexPart]:
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


def _index(t: Translator, array: Elements, item: Operand) -> Scalar:
    if isinstance(item, ArrayView) and item.type.ndim == 0:
        item = item_of(t, _array_place(t, item, ()))  # as numpy's, an index without axes
    if not isinstance(item, Scalar):
        axes = isinstance(item, Static) and isinstance(item.object, Dim3Stub)
        raise t.fail(
            TypingError,
            f"{array.type} is indexed by integers, slices and tuples of them, not by "
            f"{item.type_name}{'; write its .x, .y or .z' if axes else ''}",
        )
    if item.dtype.is_bool:
        raise t.fail(
            TypingError,
            "a bool is no index of an array: numpy takes it for a mask; write a[int(x)] for the "
            "element 0 or 1, or test it with if",
        )
    return integer(t, item, "an integer index")


def checked(
    t: Translator,
    index: Scalar,
    extent: Value,
    array: Elements | None,
    axis: int = 0,
    told: str = "tuple index out of range",
) -> Value:
    """An index as i64, counted from the end where it is negative; checked against the extent of the
    axis in debug mode and where accesses are."""
    b = t.b
    given = value = first = b.cast(index.value, i64)
    most = extent
    if not index.not_negative:
        known = constant(value)
        if known is not None:  # of which the bounds may be wider
            value = first = b.add(value, extent) if known < 0 else value
        else:
            negative = b.lt(value, b.const(0, i64))
            first, most = b.add(value, extent), b.add(extent, extent)
            value = b.select(negative, first, value)
    if t.unit.options.bounds:
        # Not of the select, so that what is linear in the lane is tested once for all lanes.
        outside = b.binary(arith.Ge, b.cast(first, _U64), b.cast(most, _U64))
        if array is None:
            guard(t, outside, "IndexError", told)
        else:
            guard(t, outside, "IndexError", *_out_of_bounds(t, given, array, axis))
    return value


def _out_of_bounds(
    t: Translator, index: Value, array: Elements, axis: int
) -> tuple[str, str, tuple[Value, ...]]:
    """The message of an index that is outside of an axis, its detail, and the numbers of that."""
    names = (name for name, operand in t.env.items() if operand is array)
    whose = f" of {name}" if (name := next(names, "")) else ""
    message = f"index is out of bounds: axis {axis}{whose}"
    shape = [constant(extent) for extent in array.shape]
    if len(shape) >= MOST_NUMBERS:
        return message, "", ()
    extents = [str(extent) if type(extent) is int else "{}" for extent in shape]
    text = f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"
    numbers = [n for n, extent in zip(array.shape, shape, strict=True) if type(extent) is not int]
    detail = f"index is out of bounds: {{}} on axis {axis}{whose}, whose shape is {text}"
    return message, detail, (index, *numbers)


_U64 = argtypes.uint64.dtype


# ---- tuples


def _tuple_subscript(t: Translator, base: TupleOperand, index: Operand) -> Operand:
    if isinstance(index, SliceOperand):
        items = base.items[_constant_slice(t, index, "a tuple")]
        return Vector(items) if isinstance(base, Vector) and items else TupleOperand(items)  # type: ignore[arg-type]  # its numbers
    return tuple_item(t, base, integer(t, index, "an integer index"), checked=True)


def tuple_item(t: Translator, base: TupleOperand, index: Scalar, checked: bool) -> Operand:
    """``base[index]``; an index that is not constant needs items of one type."""
    known = constant(index.value)
    count = len(base.items)
    if type(known) is int:
        if not -count <= known < count:
            raise t.fail(ConstantError, f"tuple index {known} out of range: {_items(base)}")
        return base.items[known]
    return _dynamic_item(t, base, index, checked)


def _items(base: TupleOperand) -> str:
    what = f"{base.type_name} has" if isinstance(base, Vector) else "it has"
    return f"{what} {len(base.items)} items"


def _dynamic_item(t: Translator, base: TupleOperand, index: Scalar, check: bool) -> Operand:
    base = _of_one_width(t, base)
    specs = {type(spec_of(item)) for item in base.items}
    names = {item.type_name for item in base.items}
    if len(names) != 1 or len(specs) != 1 or specs & {FunctionSpec, type(None)}:
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
        result = _pick(t, here, base.items[number], result)
    return result


def _of_one_width(t: Translator, base: TupleOperand) -> TupleOperand:
    """A tuple of strings, constants among them, with all in the width of the widest one."""
    if not all(isinstance(item, Chars | Static) for item in base.items):
        return base
    specs = [spec_of(item) for item in base.items]
    widest = specs[0] if specs else None
    for spec in specs[1:]:
        widest = t.unify(widest, spec) if widest is not None and spec is not None else None
    if not isinstance(widest, CharsSpec):
        return base
    return TupleOperand(tuple([convert(t, item, widest) for item in base.items]))


def _pick(t: Translator, here: Value, lhs: Operand, rhs: Operand) -> Operand:
    """One of two operands of the same type."""
    if isinstance(lhs, Scalar) and isinstance(rhs, Scalar):
        value = t.b.select(here, lhs.value, rhs.value)
        return Scalar(value, min(lhs.lo, rhs.lo), max(lhs.hi, rhs.hi))
    spec = t.unify(spec_of(lhs), spec_of(rhs))  # type: ignore[arg-type]  # same types
    pairs = zip(flatten(lhs), flatten(rhs), strict=True)
    chosen = [x if x is y else t.b.select(here, x, y) for x, y in pairs]
    return rebuild(t.b, spec, iter(chosen))  # type: ignore[arg-type]
