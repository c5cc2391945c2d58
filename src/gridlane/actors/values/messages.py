"""The classes of messages and states: values on the host, records in kernels."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from gridlane.actors._engine import Form
from gridlane.actors.layouts.class_lines import line_of
from gridlane.actors.layouts.from_class import from_class
from gridlane.actors.layouts.python import dtype as numpy_dtype
from gridlane.actors.layouts.schema import Layout
from gridlane.actors.values.packing import CODES, writer_of
from gridlane.core import numpy_types
from gridlane.core.argtypes import RecordType, ScalarType
from gridlane.core.errors import TypingError

T = TypeVar("T", bound=type)

TIERS = (256, 1024, 4096, 16384)
"""The sizes of payloads in the slots of a queue, in bytes."""


def next_tier(size: int) -> int:
    """The smallest tier that holds a payload."""
    return next((tier for tier in TIERS if tier >= size), TIERS[-1])


@dataclass(frozen=True, slots=True)
class Shape:
    """The class of a message or state: its layout, and the conversion of its values to bytes.

    Attributes:
        record: its type in kernels.
        pack: the bytes of a value.
        unpack: a value of bytes.
        form: the C code of both, where all fields are scalars.
    """

    cls: type
    layout: Layout
    record: RecordType
    pack: Callable[[Any], bytes]
    unpack: Callable[[bytes], Any]
    form: Form | None

    @property
    def number(self) -> int:
        """64 bits that identify the class in every process."""
        return self.layout.type_id


@dataclass_transform()
def message(cls: T) -> T:
    """Make a class of annotations the type of a message.

    On the host it is a dataclass; two values are equal if their bytes are. In kernels it is a
    record: a call of the class makes a value of it. Fields have the types of
    ``layouts.from_class``; array fields are numpy arrays, and fields of other such classes numpy
    records, whose fields are attributes, in arrays as well. Such fields may be given as sequences,
    as values of their class and as tuples too; what a field cannot hold is a TypeError when the
    message is sent.

    Raises:
        TypingError: it has no fields, or a type that memory cannot hold, at its line.

    >>> from gridlane import actors
    >>> from gridlane.cuda import float32, int32
    >>> @actors.message
    ... class Order:
    ...     price: float32
    ...     size: int32 = 1
    >>> Order(1.5)
    Order(price=1.5, size=1)
    >>> bytes(Order(1.5, 2)) == np.array((1.5, 2), "f4,i4").tobytes()
    True
    """
    return _decorated(cls, True)


@dataclass_transform()
def state(cls: T) -> T:
    """Make a class of annotations the type of an actor's state, as ``message``; of any size."""
    return _decorated(cls, False)


def _decorated(cls: Any, is_message: bool) -> Any:
    layout, limit = from_class(cls), TIERS[-1]
    if is_message and layout.size > limit:
        raise TypingError(
            f"the message {cls.__qualname__} has {layout.size} bytes, and the largest tier of "
            f"queues has {limit}: send it in parts, or keep it in an array that the actor has",
            line_of(cls),
        )
    has_init = "__init__" in vars(cls)
    result: Any = dataclass(eq=False)(cls)
    number = layout.type_id if is_message else 0
    record = _record(layout, f"{cls.__module__}.{cls.__qualname__}", number)
    flat = all(isinstance(field.type, ScalarType) for field in layout.fields)
    form = _form(result, layout, has_init)
    pack, unpack = (form.pack, form.unpack) if flat else _nested(result, layout, form)
    result.__gridlane_type__ = record
    result.__gridlane_shape__ = Shape(result, layout, record, pack, unpack, form if flat else None)
    result.__bytes__ = _by(pack)
    result.__eq__ = _equal
    result.__hash__ = None
    return result


def _by(pack: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """A method of Python; functions of C are none by themselves."""
    return lambda value: pack(value)


def _equal(self: Any, other: Any) -> Any:
    if type(self) is not type(other):
        return NotImplemented
    return bytes(self) == bytes(other)


def _record(layout: Layout, label: str, number: int) -> RecordType:
    record = numpy_types.from_numpy(numpy_dtype(layout))
    assert isinstance(record, RecordType)
    return dataclasses.replace(record, label=label, number=number)


def shape_of(cls: Any, what: str) -> Shape:
    """The shape of a decorated class; TypingError for any other."""
    shape = _known(cls)
    if shape is not None:
        return shape
    name = getattr(cls, "__qualname__", repr(cls))
    raise TypingError(f"{name} is no {what}: decorate the class with @actors.{what}")


def _known(cls: Any) -> Shape | None:
    shape = vars(cls).get("__gridlane_shape__") if isinstance(cls, type) else None
    return shape if isinstance(shape, Shape) else None


# --- values to bytes ---


def _form(cls: Any, layout: Layout, has_init: bool) -> Form:
    """Conversions in C, for fields that are scalars. A value is made as the dataclass does, but
    without a call of its own where that only assigns the fields."""
    fields = tuple(
        (each.name, CODES[str(each.type)], each.offset, str(each.type))
        for each in layout.fields
        if isinstance(each.type, ScalarType)
    )
    assigns = not has_init and not hasattr(cls, "__post_init__")
    is_plain = assigns and cls.__new__ is object.__new__ and type(cls).__call__ is type.__call__
    return Form(cls, fields, layout.size, is_plain)


def _nested(
    cls: Any, layout: Layout, form: Form
) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    """Conversions for arrays and other classes as well."""
    kind = numpy_dtype(layout)
    names = [field.name for field in layout.fields]
    others = [
        (each, writer_of(each.type, f"{cls.__qualname__}.{each.name}"))
        for each in layout.fields
        if not isinstance(each.type, ScalarType)
    ]

    def pack(self: Any) -> bytes:
        data = bytearray(form.pack(self))
        for field, write in others:
            data[field.offset : field.end] = write(getattr(self, field.name))
        return bytes(data)

    def unpack(data: bytes) -> Any:
        record: Any = np.frombuffer(bytearray(data), kind).view(np.recarray)[0]
        return cls(*[_plain(record[name]) for name in names])

    return pack, unpack


def _plain(value: Any) -> Any:
    """A number of numpy as Python's; records, and arrays of them, with fields as attributes."""
    if getattr(value, "shape", ()):
        return value if value.dtype.names is None else value.view(np.recarray)
    is_number = isinstance(value, np.generic) and not isinstance(value, np.void)
    return value.item() if is_number else value  # pyright: ignore[reportUnknownVariableType]
