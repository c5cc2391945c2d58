"""The bytes of fields that are arrays and other classes; engine/form.c has those of scalars.

A value that a field cannot hold is a TypeError: one of another class, one out of range, a fraction
for an integer, an array of another shape. Floats are rounded.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from gridlane.actors.layouts.python import dtype_of
from gridlane.actors.layouts.schema import Array, FieldType, Layout
from gridlane.core.argtypes import ScalarType

CODES = {
    "bool": "?",
    **{"int8": "b", "int16": "h", "int32": "i", "int64": "q"},
    **{"uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q"},
    **{"float16": "e", "float32": "f", "float64": "d"},
}
"""Of Python's struct."""

Writer = Callable[[Any], bytes]
"""The bytes of a value; TypeError where it does not fit."""


def writer_of(kind: FieldType, label: str) -> Writer:
    """A writer of the values of a field.

    Args:
        label: its name in errors.
    """
    if isinstance(kind, Array):
        return _array(kind, label)
    return _scalar(kind, label) if isinstance(kind, ScalarType) else _record(kind, label)


def _wrong(label: str, kind: object, value: Any, why: str = "") -> TypeError:
    why = f" ({why})" if why else ""
    return TypeError(f"{label} is a {kind}, which {value!r:.200} does not fit{why}")


def _scalar(kind: ScalarType, label: str) -> Writer:
    pack = struct.Struct("<" + CODES[str(kind)]).pack

    def write(value: Any) -> bytes:
        try:
            return pack(value)
        except (struct.error, OverflowError, TypeError) as error:
            raise _wrong(label, kind, value) from error

    return write


def _record(kind: Layout, label: str) -> Writer:
    """A writer of values of the class, records of numpy, and tuples."""
    dtype = dtype_of(kind)
    writers = [writer_of(each.type, f"{label}.{each.name}") for each in kind.fields]

    def write(value: Any) -> bytes:
        shape = getattr(type(cast("object", value)), "__gridlane_shape__", None)
        if shape is not None and shape.layout.type_id == kind.type_id:
            return shape.pack(value)
        if isinstance(value, np.void | np.ndarray):
            given = cast("np.ndarray[Any, Any]", value)
            if given.shape == () and given.dtype == dtype:
                return _copied(given, dtype).tobytes()
        if not isinstance(value, tuple) or len(cast("tuple[Any, ...]", value)) != len(writers):
            raise _wrong(label, kind.name, value)
        data = bytearray(kind.size)
        for field, writer, each in zip(kind.fields, writers, cast("Any", value), strict=True):
            data[field.offset : field.end] = writer(each)
        return bytes(data)

    return write


def _copied(given: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Records whose padding is zero, as values are equal if their bytes are."""
    if dtype.names is None:
        return given
    array = np.zeros(given.shape, dtype)
    for name in dtype.names:
        array[name] = _copied(given[name], dtype[name].base)
    return array


def _array(kind: Array, label: str) -> Writer:
    dtype, shape = dtype_of(kind.element), kind.shape
    of_each = None if isinstance(kind.element, ScalarType) else writer_of(kind.element, label)

    def write(value: Any) -> bytes:
        if isinstance(value, np.ndarray):
            given = cast("np.ndarray[Any, Any]", value)
            if given.dtype == dtype and given.shape == shape:
                return _copied(given, dtype).tobytes()
            if of_each is not None:
                raise _wrong(label, kind, value, f"an array of {given.dtype}, {given.shape}")
        if of_each is not None:
            return b"".join(map(of_each, _elements(value, shape, label, kind)))
        return _numbers(value, kind, dtype, label)

    return write


def _elements(value: Any, shape: tuple[int, ...], label: str, kind: Array) -> Sequence[Any]:
    """The elements of nested sequences, with the last index contiguous."""
    if not isinstance(value, list | tuple | np.ndarray) or len(cast("Any", value)) != shape[0]:
        raise _wrong(label, kind, value)
    rows: list[Any] = list(cast("Any", value))
    if len(shape) == 1:
        return rows
    return [each for row in rows for each in _elements(row, shape[1:], label, kind)]


def _numbers(value: Any, kind: Array, dtype: np.dtype[Any], label: str) -> bytes:
    """An array of scalars, of an array or sequence, or of one number for all."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biufO" or given.shape not in ((), kind.shape):
            raise _wrong(label, kind, value, f"an array of {given.dtype}, {given.shape}")
        with np.errstate(all="ignore"):
            converted = given.astype(dtype)
            if dtype.kind == "f":
                fits = ~np.isinf(converted) | np.isinf(given.astype(np.float64))
            else:
                fits = (converted == given) | (dtype.kind == "b")
    except (ValueError, OverflowError) as error:
        raise _wrong(label, kind, value) from error
    except TypeError as error:
        raise error if label in str(error) else _wrong(label, kind, value) from error
    if not np.all(fits):
        raise _wrong(label, kind, np.extract(~fits, given).tolist()[0])
    return np.broadcast_to(converted, kind.shape).tobytes()
