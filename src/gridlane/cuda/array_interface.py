"""Checks ``__cuda_array_interface__`` of other libraries' objects before anybody counts on it."""

from __future__ import annotations

from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from gridlane.core import argtypes
from gridlane.core.errors import ArgumentError

NEWEST = 3
"""The newest version of the interface that is read."""


def check(interface: Any) -> None:
    """Raise ArgumentError, which says what is wrong, when an interface is malformed."""
    if not isinstance(interface, dict):
        raise _wrong(f"is a {type(interface).__name__}, not a dict")
    made_here = "dtype" in interface  # of a DLPack tensor
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


def _wrong(text: str) -> ArgumentError:
    return ArgumentError(f"the object's __cuda_array_interface__ {text}")


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _check_integers(name: str, values: Any, least: int) -> None:
    fits = isinstance(values, (tuple, list)) and all(
        _is_integer(value) and least <= value < 2**63 for value in values
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
    if dtype.kind == "V":  # bytes, which another interface may say more of
        return
    try:
        argtypes.from_numpy(dtype)
    except TypeError as error:
        raise _wrong(f"has typestr {typestr!r}: {error}") from None


def _check_data(data: Any, items: int) -> None:
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise _wrong(f"has data {data!r}; it is a tuple (address, read only)")
    address = data[0]
    if not _is_integer(address) or not 0 <= address < 2**64:
        raise _wrong(f"has data {data!r}; its address is not an unsigned integer of 64 bits")
    if not address and items:
        raise _wrong(f"has a null address for {items} elements")
