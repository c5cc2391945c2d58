"""Records as values: their constructors, and copies of records in memory.

A value has no memory, so that every execution of a constructor makes a record of its own, in loops
too. It does not change; a place in memory that it is stored to does.
"""

from __future__ import annotations

from math import prod

from gridlane.core import argtypes
from gridlane.core.dtypes import i64
from gridlane.core.errors import TypingError, UnsupportedError
from gridlane.frontends.python.broadcasting import item_for
from gridlane.frontends.python.conversion import cast_to
from gridlane.frontends.python.element_addresses import load
from gridlane.frontends.python.operands import (
    ArrayView,
    Operand,
    RecordValue,
    RecordView,
    TupleOperand,
)
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant

LIMIT = 64
"""The maximum number of numbers in a value, each of which takes a register."""


UNCHANGED = (
    "a record that is a value does not change; make another one, or store it to an element of an "
    "array and change that"
)
"""The words of a refused store to a field."""


def make_record(
    t: Translator,
    kind: argtypes.RecordType,
    arguments: list[Operand],
    keywords: dict[str, Operand],
) -> RecordValue:
    """``Record(a, b, name=c)``: one operand for each field, converted as a store converts it;
    ``Record(record)`` copies a record of the same type.

    Raises:
        TypingError: a field is missing, given twice or unknown, or does not convert.
        UnsupportedError: the record has more numbers than a value may.
    """
    require_small(t, kind)
    if len(arguments) == 1 and not keywords and _is_record(arguments[0], kind):
        return record_value(t, kind, arguments[0])
    names = tuple([name for name, _, _ in kind.fields])
    given = dict(zip(names, arguments, strict=False))
    twice = given.keys() & keywords.keys()
    given |= keywords
    if len(arguments) > len(names) or twice or given.keys() != set(names):
        count = len(arguments) + len(keywords)
        raise t.fail(TypingError, f"the record takes ({', '.join(names)}), not {_given(count)}")
    return RecordValue(
        kind, tuple([_field(t, item, given[name], name) for name, item, _ in kind.fields])
    )


def _given(count: int) -> str:
    return "one value" if count == 1 else f"{count} values of such names"


def _is_record(operand: Operand, kind: argtypes.RecordType) -> bool:
    """Whether an operand is a record with the fields of a type; their labels may differ."""
    return isinstance(operand, RecordView | RecordValue) and operand.type.numpy == kind.numpy


def record_value(t: Translator, kind: argtypes.RecordType, operand: Operand) -> RecordValue:
    """The value of a record in memory, or of a tuple with an item for each field.

    Raises:
        TypingError: the operand is neither, or a field does not convert.
        UnsupportedError: the record has more numbers than a value may.
    """
    if isinstance(operand, RecordValue) and _is_record(operand, kind):
        return RecordValue(kind, operand.items)
    require_small(t, kind)
    if isinstance(operand, TupleOperand) and len(operand.items) == len(kind.fields):
        items = operand.items
    elif isinstance(operand, RecordView) and _is_record(operand, kind):
        pointers = [t.b.field_pointer(operand.pointer, n) for n in range(len(kind.fields))]
        pairs = zip(pointers, kind.fields, strict=True)
        items = tuple([load(t, place, item) for place, (_, item, _) in pairs])
    else:
        raise t.fail(TypingError, f"a record {kind} is required here, not {operand.type_name}")
    pairs = zip(kind.fields, items, strict=True)
    return RecordValue(kind, tuple([_field(t, own, item, name) for (name, own, _), item in pairs]))


def _field(t: Translator, kind: argtypes.ArgType, operand: Operand, name: str) -> Operand:
    if isinstance(kind, argtypes.RecordType):
        return record_value(t, kind, operand)
    if isinstance(kind, argtypes.NestedArrayType):
        return _elements(t, kind, operand, name)
    return cast_to(t, operand, kind)


def _elements(
    t: Translator, kind: argtypes.NestedArrayType, operand: Operand, name: str
) -> TupleOperand:
    """The elements of an array field: an array's or a tuple's, or one number for all of them."""
    if isinstance(operand, ArrayView):
        _require_shape(t, kind, operand, name)
    first, *rest = kind.shape
    if isinstance(operand, TupleOperand) and len(operand.items) != first:
        given_count = len(operand.items)
        raise t.fail(
            TypingError, f"the field {name} has {first} elements, but {given_count} are given"
        )
    inner = argtypes.NestedArrayType(kind.element, tuple(rest)) if rest else kind.element
    items: list[Operand] = []
    for number in range(first):
        if isinstance(operand, ArrayView):
            items.append(_array_element(t, kind, operand, (number,)))
        else:
            one = operand.items[number] if isinstance(operand, TupleOperand) else operand
            items.append(_field(t, inner, one, name))
    return TupleOperand(tuple(items))


def _array_element(
    t: Translator, kind: argtypes.NestedArrayType, array: ArrayView, indices_so_far: tuple[int, ...]
) -> Operand:
    """The elements of an array below the first indices."""
    if len(indices_so_far) < len(kind.shape):
        extent = kind.shape[len(indices_so_far)]
        return TupleOperand(
            tuple([_array_element(t, kind, array, (*indices_so_far, n)) for n in range(extent)])
        )
    indices = [t.b.const(index, i64) for index in indices_so_far]
    return _field(t, kind.element, item_for(t, array, indices), "")


def _require_shape(
    t: Translator, kind: argtypes.NestedArrayType, array: ArrayView, name: str
) -> None:
    """Require that an array broadcasts to the field; its shape must be known here."""
    known = [constant(extent) for extent in array.shape]
    if None in known:
        raise t.fail(
            TypingError,
            f"the field {name} has the shape {kind.shape}, and the extents of {array.type} are "
            "known at run time; store to the field of a record in memory, element by element",
        )
    own = kind.shape[len(kind.shape) - len(known) :] if len(known) <= len(kind.shape) else ()
    fits = len(own) == len(known)
    if not fits or any(have not in (1, want) for have, want in zip(known, own, strict=True)):
        shape = tuple([int(extent) for extent in known if extent is not None])
        raise t.fail(
            TypingError, f"an array of shape {shape} does not fit the field {name}: {kind.shape}"
        )


def require_small(t: Translator, kind: argtypes.RecordType) -> None:
    """Refuse a record that is too large for a value."""
    count = _numbers(kind)
    if count > LIMIT:
        raise t.fail(
            UnsupportedError,
            f"a record of {count} numbers is too large for a value, which holds {LIMIT}; fill the "
            "fields of a record in memory, such as an element of cuda.local.array(1, dtype)",
        )


def _numbers(kind: argtypes.ArgType) -> int:
    if isinstance(kind, argtypes.RecordType):
        return sum(_numbers(item) for _, item, _ in kind.fields)
    if isinstance(kind, argtypes.NestedArrayType):
        return prod(kind.shape) * _numbers(kind.element)
    if isinstance(kind, argtypes.CharsType):
        return kind.count
    return 2 if isinstance(kind, argtypes.ComplexType) else 1


def record_type_of(target: object) -> argtypes.RecordType | None:
    """The record type that an object represents: a dtype, a type, or a class that has one as its
    own ``__gridlane_type__``."""
    if isinstance(target, argtypes.RecordType):
        return target
    known = vars(target).get("__gridlane_type__") if isinstance(target, type) else None
    return known if isinstance(known, argtypes.RecordType) else None


def field_of(t: Translator, record: RecordValue, name: str) -> Operand:
    """The operand of a field."""
    number = record.type.place_of(name)
    if number is not None:
        return record.items[number]
    names = [field for field, _, _ in record.type.fields]
    raise t.fail(TypingError, f"the record has no field {name!r}; it has {', '.join(names)}")
