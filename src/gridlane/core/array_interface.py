"""Check ``__cuda_array_interface__`` of other libraries' objects before it is used."""

from __future__ import annotations

from math import prod
from numbers import Integral
from typing import Any, cast

import numpy as np

from gridlane.core import numpy_types
from gridlane.core.errors import ArgumentError
from gridlane.core.frozen import frozen

NEWEST = 3
"""The newest version of the interface that is read."""


@frozen
class ArrayMemory:
    """An array in device memory; ``strides`` in bytes, None for C order."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    address: int
    readonly: bool


def read(interface: Any) -> ArrayMemory:
    """The memory that an interface describes.

    Raises:
        ArgumentError: it is malformed.
        NotImplementedError: a masked array.
    """
    fields = check(interface)
    if fields.get("mask") is not None:
        raise NotImplementedError("Masked arrays are not supported")
    strides, (address, readonly) = fields.get("strides"), fields["data"]
    dtype = fields["dtype"] if _has_dtype(fields) else np.dtype(fields["typestr"])
    if not _has_dtype(fields) and dtype.kind == "V" and fields.get("descr"):
        dtype = np.dtype(fields["descr"])
    shape, steps = fields["shape"], None if strides is None else tuple(map(int, strides))
    return ArrayMemory(tuple(map(int, shape)), steps, dtype, int(address or 0), bool(readonly))


def _has_dtype(fields: dict[str, Any]) -> bool:
    """Whether gridlane made an interface, from a DLPack tensor."""
    return isinstance(fields.get("dtype"), np.dtype)


def check(value: Any) -> dict[str, Any]:
    """The interface, if it is well-formed.

    Raises:
        ArgumentError: it is malformed; with the reason.
    """
    if not isinstance(value, dict):
        raise _wrong(f"is a {type(value).__name__}, not a dict")
    interface = cast("dict[str, Any]", value)
    made_here = _has_dtype(interface)
    for name in ("shape", "data", *(() if made_here else ("typestr", "version"))):
        if name not in interface:
            raise _wrong(f"has no {name!r}; it has {', '.join(map(repr, interface)) or 'nothing'}")
    shape, strides = interface["shape"], interface.get("strides")
    _check_integers("shape", shape, 0)
    if strides is not None:
        _check_integers("strides", strides, -(2**63))
        if len(strides) != len(shape):
            raise _wrong(f"has {len(strides)} strides for {len(shape)} axes")
    if not made_here:
        _check_typestr(interface["typestr"])
        version = interface["version"]
        if not _is_integer(version) or not 0 <= version <= NEWEST:
            raise _wrong(f"has version {version!r}; versions 0 to {NEWEST} are read")
    _check_data(interface["data"], prod(shape))
    stream = interface.get("stream")
    if stream is not None and not _is_integer(stream):
        raise _wrong(f"has stream {stream!r}; it is None or the number of a stream")
    return interface


def _wrong(text: str) -> ArgumentError:
    return ArgumentError(f"the object's __cuda_array_interface__ {text}")


def _is_integer(value: Any) -> bool:
    return type(value) is not bool and isinstance(value, Integral)


def _check_integers(name: str, values: Any, least: int) -> None:
    fits = isinstance(values, (tuple, list)) and all(
        _is_integer(value) and least <= value < 2**63 for value in cast("tuple[Any, ...]", values)
    )
    if not fits:
        kind = "non-negative integers" if least == 0 else "integers (bytes)"
        raise _wrong(f"has {name} {values!r}; it is a tuple of {kind} of 64 bits")


def _check_typestr(typestr: Any) -> None:
    try:
        if not isinstance(typestr, str):
            raise TypeError
        dtype = np.dtype(typestr)
    except TypeError:
        raise _wrong(f"has typestr {typestr!r}, which names no dtype; '<f4' is float32") from None
    if dtype.kind == "O":
        raise _wrong(f"has typestr {typestr!r}: devices hold no Python objects")
    if dtype.kind == "V":  # bytes, which another interface may describe further
        return
    try:
        numpy_types.from_numpy(dtype)
    except TypeError as error:
        raise _wrong(f"has typestr {typestr!r}: {error}") from None


def _check_data(data: Any, items: int) -> None:
    if not isinstance(data, (tuple, list)) or len(cast("tuple[Any, ...]", data)) != 2:
        raise _wrong(f"has data {data!r}; it is a tuple (address, read only)")
    address: Any = cast("tuple[Any, ...]", data)[0]
    if not _is_integer(address) or not 0 <= address < 2**64:
        raise _wrong(f"has data {data!r}; its address is not an unsigned integer of 64 bits")
    if not address and items:
        raise _wrong(f"has a null address for {items} elements")
