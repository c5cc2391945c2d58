"""The calls of XLA's foreign functions, as its header ``xla/ffi/api/c_api.h`` lays them out.

XLA promises that fields are only added behind those there are, and that each structure begins with
its size, while the major version stays.
"""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_int,
    c_int64,
    c_size_t,
    c_uint32,
    c_void_p,
    cast,
    sizeof,
)
from typing import Any

import ml_dtypes
import numpy as np

VERSION = (0, 1)
"""The version of XLA's interface whose fields are used."""
METADATA = 1
"""The kind of extension by which XLA asks a handler for its version."""
EXECUTE = 3
INVALID_ARGUMENT, INTERNAL = 3, 13
BUFFER = 1
SCALAR = 3

DTYPES: dict[int, np.dtype] = {
    1: np.dtype(bool),
    **dict(zip((2, 3, 4, 5), map(np.dtype, ("i1", "i2", "i4", "i8")))),
    **dict(zip((6, 7, 8, 9), map(np.dtype, ("u1", "u2", "u4", "u8")))),
    **dict(zip((10, 11, 12), map(np.dtype, ("f2", "f4", "f8")))),
    15: np.dtype(np.complex64),
    16: np.dtype(ml_dtypes.bfloat16),
    18: np.dtype(np.complex128),
}
"""The element types of kernels, by XLA's numbers."""


class Extension(Structure):
    """The beginning of every extension."""


Extension._fields_ = [("size", c_size_t), ("kind", c_int), ("next", POINTER(Extension))]


def _sized(*fields: tuple[str, Any]) -> list[tuple[str, Any]]:
    """The fields of a structure, after those that each begins with."""
    return [("size", c_size_t), ("extensions", POINTER(Extension)), *fields]


class Version(Structure):
    """A version of the interface."""

    _fields_ = _sized(("major", c_int), ("minor", c_int))


class Metadata(Structure):
    """The metadata of a handler."""

    _fields_ = [("size", c_size_t), ("version", Version), ("traits", c_uint32)]


class MetadataExtension(Structure):
    """The question for it."""

    _fields_ = [("base", Extension), ("metadata", POINTER(Metadata))]


class Array(Structure):
    """An argument or a result: a dense array in row-major order."""

    _fields_ = _sized(
        ("dtype", c_int), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64))
    )


class Arrays(Structure):
    """All arguments, or all results."""

    _fields_ = _sized(
        ("count", c_int64), ("kinds", POINTER(c_int)), ("items", POINTER(POINTER(Array)))
    )


class Text(Structure):
    """Characters without a zero at the end."""

    _fields_ = [("text", POINTER(c_char)), ("length", c_size_t)]


class Scalar(Structure):
    """A number."""

    _fields_ = [("dtype", c_int), ("value", c_void_p)]


class Attributes(Structure):
    """The attributes of a call, by their names."""

    _fields_ = _sized(
        ("count", c_int64),
        ("kinds", POINTER(c_int)),
        ("names", POINTER(POINTER(Text))),
        ("items", POINTER(c_void_p)),
    )


class ErrorArgs(Structure):
    """The arguments of the function that makes an error."""

    _fields_ = _sized(("message", c_char_p), ("code", c_int))


CREATE_ERROR = CFUNCTYPE(c_void_p, POINTER(ErrorArgs))


class Api(Structure):
    """XLA's own functions; only the first one is used."""

    _fields_ = _sized(("version", Version), ("internal", c_void_p), ("create_error", CREATE_ERROR))


class CallFrame(Structure):
    """A call of a handler."""

    _fields_ = _sized(
        ("api", POINTER(Api)),
        ("context", c_void_p),
        ("stage", c_int),
        ("arguments", Arrays),
        ("results", Arrays),
        ("attributes", Attributes),
    )


HANDLER = CFUNCTYPE(c_void_p, POINTER(CallFrame))


def answered_metadata(frame: CallFrame) -> bool:
    """Write the version if a call requests it; return whether it does."""
    each = frame.extensions
    while each:
        if each[0].kind == METADATA:
            metadata = cast(each, POINTER(MetadataExtension))[0].metadata[0]
            metadata.version.major, metadata.version.minor = VERSION
            metadata.traits = 0
            return True
        each = each[0].next
    return False


def error(frame: CallFrame, code: int, message: str) -> Any:
    """An error of XLA's, which owns it when it is returned."""
    text = message.encode("utf-8", "replace").replace(b"\0", b"?")
    return frame.api[0].create_error(ErrorArgs(sizeof(ErrorArgs), None, text, code))


def number(attributes: Attributes, name: bytes) -> int:
    """An attribute that is an int64.

    Raises:
        LookupError: there is none.
    """
    for n in range(attributes.count):
        text = attributes.names[n][0]
        if attributes.kinds[n] == SCALAR and text.text[: text.length] == name:
            scalar = cast(attributes.items[n], POINTER(Scalar))[0]
            return cast(scalar.value, POINTER(c_int64))[0]
    raise LookupError(f"the call has no attribute {name.decode()!r}")


def arrays(given: Arrays, writable: bool) -> list[np.ndarray]:
    """numpy's arrays over the memory, which XLA owns until the call ends.

    Raises:
        TypeError: kernels have no such element type, or one is no array.
    """
    return [_array(given.kinds[n], given.items[n], n, writable) for n in range(given.count)]


def _array(kind: int, item: Any, place: int, writable: bool) -> np.ndarray:
    what = f"{'result' if writable else 'argument'} {place}"
    if kind != BUFFER:
        raise TypeError(f"{what} is no array")
    buffer = item[0]
    dtype = DTYPES.get(buffer.dtype)
    if dtype is None:
        known = ", ".join(str(each) for each in DTYPES.values())
        raise TypeError(
            f"{what} has XLA's element type {buffer.dtype}, which kernels lack; they have {known}"
        )
    shape = tuple(buffer.dims[: buffer.rank])
    result = np.empty(shape, dtype) if 0 in shape else _view(buffer.data, shape, dtype)
    result.flags.writeable = writable
    return result


def _view(address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    octets = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = memoryview((c_char * octets).from_address(address))
    return np.frombuffer(memory, dtype).reshape(shape)
