"""Stores to elements in memory and to whole views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod

from gridlane.core import argtypes
from gridlane.core.config import config
from gridlane.core.dtypes import i64
from gridlane.core.errors import CompileError, TypingError, UnsupportedError
from gridlane.frontends.python import cells
from gridlane.frontends.python.apart import require_apart
from gridlane.frontends.python.broadcasting import (
    item_for,
    loop_in,
    loop_over,
    require_broadcast,
    stop_where,
)
from gridlane.frontends.python.chars_memory import store_chars
from gridlane.frontends.python.conversion import cast_to
from gridlane.frontends.python.element_addresses import Place, address, load
from gridlane.frontends.python.extensions import EXTENSIONS, is_users
from gridlane.frontends.python.layout import memory_type
from gridlane.frontends.python.operands import (
    ArrayExpression,
    ArrayView,
    Chars,
    ComplexNumber,
    Operand,
    RecordValue,
    RecordView,
    TupleOperand,
    UserValue,
    Vector,
    arrays_in,
)
from gridlane.frontends.python.optionals import value_of
from gridlane.frontends.python.overlaps import (
    Order,
    covers,
    falling,
    is_repeated,
    order_of,
    share,
)
from gridlane.frontends.python.raising import guard
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unchanged import settle
from gridlane.frontends.python.vector_memory import store_vector
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import Space
from gridlane.ir.values import Value

_MOST_HELD = 64
"""Elements of a view that are held in registers."""


def store(t: Translator, place: Place, value: Operand) -> None:
    """Write a value to a place, converted to the element's type."""
    if place.readonly:
        raise t.fail(
            TypingError,
            "this array is read-only: constant memory, or an argument that may not be written; "
            "store to another array, or pass a copy",
        )
    value = value_of(t, value)
    if place.view is not None:
        broadcast_store(t, place.view, value)
        return
    store_element(t, place.pointer, place.element, value)


def store_element(t: Translator, address: Value, kind: argtypes.ArgType, value: Operand) -> None:
    """Write one element."""
    b = t.b
    if isinstance(kind, argtypes.RecordType):
        _store_record(t, address, kind, value)
        return
    if is_users(kind):
        _store_user(t, address, kind, value)
        return
    if isinstance(kind, argtypes.NestedArrayType):
        view = load(t, address, kind)
        assert isinstance(view, ArrayView)
        broadcast_store(t, view, value)
        return
    element = cast_to(t, value, kind)
    if isinstance(element, ComplexNumber):
        cells.write(t, b.field_pointer(address, 0), element.real)
        cells.write(t, b.field_pointer(address, 1), element.imag)
    elif isinstance(kind, argtypes.VectorType):
        assert isinstance(element, Vector)
        store_vector(t, address, kind, element)
    elif isinstance(element, Chars):
        store_chars(t, address, element)
    else:
        cells.write(t, address, element.value)  # type: ignore[attr-defined]  # a scalar


def _store_user(t: Translator, address: Value, kind: argtypes.ArgType, value: Operand) -> None:
    """Write a value of a user's type, member by member."""
    if not isinstance(value, UserValue) or value.type != kind:
        raise t.fail(TypingError, f"a value of {kind} is required here, not {value.type_name}")
    members = EXTENSIONS.structure(kind)
    for number, ((_, own), item) in enumerate(zip(members, value.items, strict=True)):
        store_element(t, t.b.field_pointer(address, number), own, item)


def _store_record(t: Translator, address: Value, kind: argtypes.RecordType, value: Operand) -> None:
    """Write a record: one in memory, a value, or a tuple with an item for each field."""
    if isinstance(value, RecordView) and value.type.numpy == kind.numpy:
        _copy_record(t, address, value)
        return
    is_value = isinstance(value, RecordValue) and value.type.numpy == kind.numpy
    if not is_value and not _is_tuple_of(value, len(kind.fields)):
        raise t.fail(TypingError, f"a record {kind} is required here, not {value.type_name}")
    items = value.items  # type: ignore[attr-defined]  # both have them
    for number, ((_, own, _), item) in enumerate(zip(kind.fields, items, strict=True)):
        store_element(t, t.b.field_pointer(address, number), own, item)


def _is_tuple_of(value: Operand, count: int) -> bool:
    return isinstance(value, TupleOperand) and len(value.items) == count


def _copy_record(t: Translator, address: Value, source: RecordView) -> None:
    """Copy a record: whole where it is a value, field by field where it holds arrays or strings."""
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
    return isinstance(kind, argtypes.NestedArrayType | argtypes.CharsType)


# ---- whole views


def broadcast_store(t: Translator, view: ArrayView, value: Operand) -> None:
    """``view[...] = value``: a number for every element, or an array or tuple of as many axes or
    fewer, element by element."""
    order: Order | bool | None = True
    if isinstance(value, ArrayExpression):
        settle(t, value)
        order = _common_order(t, view, [value])
    elif isinstance(value, ArrayView) and share(view, value):
        order = order_of(t, view, value)
        value = value if order else _held(t, view, value)
    elif isinstance(value, ArrayView):
        require_apart(t, view, value)
    if isinstance(value, TupleOperand) and not _is_element(view, value):
        _store_tuple(t, view, _apart(t, view, value))
        return
    _store_each(t, view, value, (), None if isinstance(order, bool) else order, is_checked=True)


def _apart(t: Translator, view: ArrayView, value: TupleOperand) -> TupleOperand:
    """A tuple that is stored to a view, with copies of its views of the same array."""
    if not any(isinstance(item, ArrayView | TupleOperand) for item in value.items):
        return value
    for each in value.items:
        if isinstance(each, ArrayView) and not share(view, each):
            require_apart(t, view, each, in_place=False)
    items = [
        _held(t, view, item)
        if isinstance(item, ArrayView) and share(view, item)
        else _apart(t, view, item)
        if isinstance(item, TupleOperand)
        else item
        for item in value.items
    ]
    return TupleOperand(tuple(items), value.fields, value.cls)


def _held(t: Translator, view: ArrayView, source: ArrayView) -> Operand:
    """The elements of a source that the view may overlap, in registers.

    Raises:
        UnsupportedError: they are too many, or how many is not known.
    """
    shape = [constant(extent) for extent in source.shape]
    counts = [extent for extent in shape if isinstance(extent, int)]
    if len(counts) == len(shape) and prod(counts) <= _MOST_HELD:
        held = _elements(t, source, counts, [])
        if held is not None:
            return held
    raise _overlapping(t, view)


def _overlapping(t: Translator, view: ArrayView) -> CompileError:
    return t.fail(
        UnsupportedError,
        f"what is stored to {view.type} comes from a view of the same array that it may overlap: "
        "numpy copies that first, which needs memory; store the elements in a loop, to another "
        "array first where they do overlap",
    )


def _elements(
    t: Translator, source: ArrayView, counts: list[int], indices: list[Value]
) -> Operand | None:
    """The element at some indices, or those below as a tuple for each axis that is left; None where
    they stay in memory."""
    if len(indices) == len(counts):
        item = load(t, address(t, source, indices), source.type.element)
        return None if isinstance(item, RecordView | ArrayView) else item
    items: list[Operand] = []
    for number in range(counts[len(indices)]):
        item = _elements(t, source, counts, [*indices, t.b.const(number, i64)])
        if item is None:
            return None
        items.append(item)
    return TupleOperand(tuple(items))


def local_array(t: Translator, kind: argtypes.ArgType, shape: tuple[int, ...]) -> ArrayView:
    """A new array of the thread, with any values."""
    start = t.b.value(memory.LocalArray(memory_type(kind), max(1, prod(shape))))
    extents = tuple([t.b.const(extent, i64) for extent in shape])
    return ArrayView(argtypes.ArrayType(kind, len(shape), "C"), start, extents)


def new_array(t: Translator, kind: argtypes.ArgType, shape: Sequence[Value]) -> ArrayView:
    """A new array of the thread, with any values. The thread ends with an error where its size is
    known when the kernel runs alone, and is more than a thread's stack has."""
    known = [constant(extent) for extent in shape]
    counts = [extent for extent in known if type(extent) is int]
    if len(counts) == len(known):
        return local_array(t, kind, tuple(counts))
    b, element = t.b, memory_type(kind)
    most = max(1, (t.unit.options.stack or config().stack) // element.size)
    count = reduce(b.mul, shape)
    message = f"an array of more than {most} elements in a thread's memory; GRIDLANE_STACK sets it"
    guard(t, b.binary(arith.Gt, count, b.const(most, i64)), "MemoryError", message)
    t.unit.bounded[b.loc] = most * element.size
    start = b.value(memory.LocalArray(element, most))
    return ArrayView(argtypes.ArrayType(kind, len(shape), "C"), start, tuple(shape))


def fill_view(
    t: Translator,
    view: ArrayView,
    operands: list[Operand],
    item: Callable[[list[Operand]], Operand],
) -> None:
    """Store ``item(values)`` to every element, of the operands' values, which broadcast."""
    readonly = view.type.readonly or view.space is Space.CONSTANT
    for each in operands:
        require_broadcast(t, each, view.shape)

    def element(indices: list[Value]) -> None:
        place = Place(view.type.element, address(t, view, indices), readonly=readonly)
        store(t, place, item([item_for(t, each, indices) for each in operands]))

    loop_in(t, _common_order(t, view, operands), view.shape, (), element, is_checked=True)


def _common_order(t: Translator, view: ArrayView, operands: list[Operand]) -> Order | None:
    """The order in which a view is filled with a function of others.

    Raises:
        UnsupportedError: two of them, or one with other strides, may overlap it.
    """
    moved: list[Order] = []
    is_broadcast = False
    for each in [array for operand in operands for array in arrays_in(operand)]:
        if share(view, each):
            order = order_of(t, view, each)
            if order is True:
                is_broadcast |= not covers(view, each)
            elif order is False or is_repeated(view, each):
                raise _overlapping(t, view)
            else:
                moved.append(order)
        else:
            require_apart(t, view, each)
    if len(moved) + is_broadcast > 1:
        raise _overlapping(t, view)
    return falling(t, view) if is_broadcast else moved[0] if moved else None


def _store_tuple(
    t: Translator, view: ArrayView, value: TupleOperand, outer: tuple[Value, ...] = ()
) -> None:
    """Store a tuple of numbers, tuples and arrays below the first indices, as the array that it is
    to numpy: it broadcasts from its last axis on."""
    missing = len(view.shape) - len(outer) - _depth(view, value)
    if missing < 0:
        raise t.fail(
            TypingError, f"{value.type_name} does not fit in a view of {len(view.shape)} dimensions"
        )
    axis = len(outer)
    if missing:
        end = axis + missing
        loop_over(
            t, view.shape[:end], list(outer), lambda at: _store_tuple(t, view, value, tuple(at))
        )
        return
    extent, count = constant(view.shape[axis]), len(value.items)
    if count == 1 and extent != 1:
        up_to = view.shape[: axis + 1]
        loop_over(t, up_to, list(outer), lambda at: _store_item(t, view, value.items[0], tuple(at)))
        return
    if extent not in (None, count):
        raise t.fail(TypingError, f"a tuple of {count} items is stored to {extent} elements")
    if extent is None:
        wrong = t.b.binary(arith.Ne, view.shape[axis], t.b.const(count, i64))
        stop_where(t, wrong, f"a tuple of {count} items is stored to a view of another size")
    for number, item in enumerate(value.items):
        _store_item(t, view, item, (*outer, t.b.const(number, i64)))


def _store_item(t: Translator, view: ArrayView, item: Operand, indices: tuple[Value, ...]) -> None:
    """Store an item of a tuple below its indices."""
    if isinstance(item, TupleOperand) and len(indices) < len(view.shape):
        _store_tuple(t, view, item, indices)
    else:
        _store_each(t, view, item, indices)


def _is_element(view: ArrayView, value: TupleOperand) -> bool:
    """Whether a tuple is one element: a vector, or the fields of a record."""
    if isinstance(view.type.element, argtypes.RecordType):
        return not all(isinstance(item, TupleOperand | RecordValue) for item in value.items)
    return isinstance(value, Vector) and isinstance(view.type.element, argtypes.VectorType)


def _depth(view: ArrayView, value: Operand) -> int:
    """The number of dimensions that an operand has as an array."""
    if isinstance(value, ArrayView):
        return value.type.ndim
    if not isinstance(value, TupleOperand) or _is_element(view, value):
        return 0
    return 1 + max((_depth(view, item) for item in value.items), default=0)


def _store_each(
    t: Translator,
    view: ArrayView,
    value: Operand,
    outer: tuple[Value, ...],
    order: Order | None = None,
    is_checked: bool = False,
) -> None:
    """Store an operand, which may broadcast, to the elements below the first indices."""
    require_broadcast(t, value, view.shape[len(outer) :])

    def element(indices: list[Value]) -> None:
        item = item_for(t, value, indices)
        store_element(t, address(t, view, indices), view.type.element, item)

    loop_in(t, order, view.shape, outer, element, is_checked)
