"""Encode values as bytes, for the keys of caches.

Two values have the same bytes only if they are the same value, with all their fields, in the same
order. ``1``, ``True`` and ``1.0`` differ, ``0.0`` and ``-0.0`` differ, and so do NaNs of different
bits. Every value is framed, so that the boundaries of neighbours are unambiguous:

    tag (1)  length of the payload (u32, little)  payload

The payload of a container is the encodings of its items. A dataclass or NamedTuple of ``RECORDS``
is its name and all of its fields, whatever these are.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

import numpy as np

from gridlane.core import argtypes, dtypes
from gridlane.core.compact import Variant
from gridlane.core.dtypes import DType
from gridlane.core.exports import Export
from gridlane.core.features import Feature, features
from gridlane.core.options import KernelOptions, Target
from gridlane.core.source import Loc

RECORDS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        argtypes.ScalarType,
        argtypes.ComplexType,
        argtypes.TimeType,
        argtypes.CharsType,
        argtypes.RecordType,
        argtypes.NestedArrayType,
        argtypes.VectorType,
        argtypes.ArrayType,
        argtypes.TupleType,
        argtypes.EnumType,
        argtypes.CPointerType,
        argtypes.NoneType,
        argtypes.OptionalType,
        argtypes.Signature,
        Export,
        KernelOptions,
        Loc,
        Target,
        Variant,
    )
}
"""The classes whose instances are encoded field by field."""

_NAME_OF = {cls: name for name, cls in RECORDS.items()}
_FRAME = struct.Struct("<cI")


class NotEncodable(TypeError):
    """No encoding of a value is known to be unique to it."""


def frame(tag: bytes, *payload: bytes) -> bytes:
    """A payload with its tag and length in front."""
    whole = b"".join(payload)
    return _FRAME.pack(tag, len(whole)) + whole


def encode(value: Any) -> bytes:
    """The bytes of a number, text, tuple, dtype, argument type, option, target, set of features or
    named class.

    Raises:
        NotEncodable: it is none of these, or holds something else.
    """
    kind = cast("type[Any]", type(value))
    encoder = _ENCODERS.get(kind)
    if encoder is not None:
        return encoder(value)
    if isinstance(value, np.dtype):
        return frame(b"n", encode(describe_dtype(cast("np.dtype[Any]", value))))
    if isinstance(value, type):
        return frame(b"k", encode(named_class(value)))
    raise NotEncodable(f"an object of {kind.__qualname__} has no encoding")


def named_class(cls: type) -> tuple[str, str, tuple[str, ...]]:
    """Module and qualified name of a class, and the fields where it is a namedtuple's."""
    return cls.__module__, cls.__qualname__, tuple(getattr(cls, "_fields", ()))


def _text(value: str) -> bytes:
    octets = value.encode() if value.isascii() else value.encode("utf-8", "surrogatepass")
    return _FRAME.pack(b"s", len(octets)) + octets


def _features(value: frozenset[Any]) -> bytes:
    if any(type(each) is not Feature for each in value):
        raise NotEncodable("a frozenset has no encoding")
    return frame(b"w", " ".join(sorted(value)).encode())


def _record(value: Any) -> bytes:
    return frame(b"r", encode(_NAME_OF[type(value)]), *map(encode, _items(value)))


def _items(value: Any) -> Iterator[Any]:
    if is_dataclass(value):
        return (getattr(value, field.name) for field in fields(value))
    return iter(value)


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda value: frame(b"0"),
    type(...): lambda value: frame(b"."),
    bool: lambda value: frame(b"?", b"\1" if value else b"\0"),
    int: lambda value: frame(b"i", b"%d" % value),
    float: lambda value: frame(b"f", struct.pack("<d", value)),
    complex: lambda value: frame(b"c", struct.pack("<2d", value.real, value.imag)),
    str: _text,
    bytes: lambda value: frame(b"b", value),
    tuple: lambda value: frame(b"t", *map(encode, value)),
    frozenset: _features,
    DType: lambda value: frame(b"d", value.name.encode()),
    **dict.fromkeys(RECORDS.values(), _record),
}


# --- numpy's dtypes ---


def describe_dtype(dtype: np.dtype) -> tuple[Any, ...]:
    """All fields of a dtype as plain values: ``dtype.descr`` leaves out alignment and titles, and
    has one name for all extension types of a size."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return "array", describe_dtype(base), tuple(map(int, shape))
    if dtype.names is not None:
        table = cast("Mapping[str, tuple[Any, ...]]", dtype.fields)
        described_fields = [table[name] for name in dtype.names]
        return (
            "record",
            dtype.type is np.record,
            dtype.isalignedstruct,
            dtype.itemsize,
            dtype.names,
            tuple([describe_dtype(item[0]) for item in described_fields]),
            tuple([int(item[1]) for item in described_fields]),
            tuple([item[2] if len(item) > 2 else None for item in described_fields]),  # titles
        )
    if dtype.isbuiltin == 2:  # of another package, such as ml_dtypes
        return "extension", dtype.type
    return "plain", dtype.str


def _dtype(parts: tuple[Any, ...]) -> np.dtype:
    kind = parts[0]
    if kind == "array":
        return np.dtype((_dtype(parts[1]), parts[2]))
    if kind in ("plain", "extension"):
        return np.dtype(parts[1])
    if kind != "record":
        raise ValueError(f"a dtype of the kind {kind!r}")
    _, is_record, aligned, itemsize, names, formats, offsets, titles = parts
    layout: dict[str, Any] = {
        "names": names,
        "formats": [_dtype(item) for item in formats],
        "offsets": offsets,
        "itemsize": itemsize,
    }
    if any(title is not None for title in titles):
        layout["titles"] = titles
    dtype: np.dtype = np.dtype(cast("Any", layout), align=aligned)
    return np.dtype((np.record, dtype)) if is_record else dtype


# --- back ---


def decode(data: bytes) -> Any:
    """The value that ``encode`` encoded. Classes are looked up in the modules that are loaded.

    Raises:
        ValueError: the bytes are not an encoding.
    """
    try:
        value, end = _value(data, 0)
    except Exception as error:  # numpy's and Python's parsers raise all kinds
        raise ValueError(f"not an encoding: {error}") from None
    if end != len(data) or encode(value) != data:
        raise ValueError("not an encoding: bytes that no value has")
    return value


def _value(data: bytes, position: int) -> tuple[Any, int]:
    tag, length = _FRAME.unpack_from(data, position)
    start, end = position + _FRAME.size, position + _FRAME.size + length
    if end > len(data):
        raise ValueError("not an encoding: cut short")
    return _DECODERS[tag](data[start:end]), end


def _all(payload: bytes) -> list[Any]:
    values: list[Any] = []
    position = 0
    while position < len(payload):
        value, position = _value(payload, position)
        values.append(value)
    return values


def _instance(payload: bytes) -> Any:
    name, *values = _all(payload)
    return RECORDS[name](*values)


def _class(payload: bytes) -> type:
    ((module, name, _),) = _all(payload)
    named_class: Any = sys.modules[module]
    for part in name.split("."):
        named_class = getattr(named_class, part)
    if not isinstance(named_class, type):
        raise ValueError(f"{module}.{name} is no class")
    return named_class


_DECODERS: dict[bytes, Callable[[bytes], Any]] = {
    b"0": lambda payload: None,
    b".": lambda payload: ...,
    b"?": lambda payload: payload == b"\1",
    b"i": int,
    b"f": lambda payload: struct.unpack("<d", payload)[0],
    b"c": lambda payload: complex(*struct.unpack("<2d", payload)),
    b"s": lambda payload: payload.decode("utf-8", "surrogatepass"),
    b"b": bytes,
    b"w": lambda payload: features(payload.decode()),
    b"t": lambda payload: tuple(_all(payload)),
    b"d": lambda payload: dtypes.by_name(payload.decode()),
    b"n": lambda payload: _dtype(*_all(payload)),
    b"k": _class,
    b"r": _instance,
}
