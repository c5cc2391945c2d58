"""A layout as a numpy dtype and as a structure of ctypes."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from gridlane.actors.layouts.schema import Array, FieldType, Layout

_CTYPES: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
    "float16": ctypes.c_uint16,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


@cache
def dtype(layout: Layout) -> np.dtype[np.void]:
    """The numpy dtype: offsets and size are the layout's, padding has no name.

    >>> from gridlane.actors.layouts.blocks import Clock
    >>> dtype(Clock).itemsize, dtype(Clock).names
    (24, ('physical', 'logical', 'node'))
    """
    spec: Any = {
        "names": [each.name for each in layout.fields],
        "formats": [dtype_of(each.type) for each in layout.fields],
        "offsets": [each.offset for each in layout.fields],
        "itemsize": layout.size,
    }
    return np.dtype(spec, align=True)  # numpy refuses an offset that its own alignment does not fit


def flat_dtype(layout: Layout) -> np.dtype[np.void]:
    """The numpy dtype with the fields of the structures inside it as its own.

    >>> from gridlane.actors.layouts.blocks import HaloHeader
    >>> flat_dtype(HaloHeader) == dtype(HaloHeader)
    True
    """
    spec: Any = {"names": [], "formats": [], "offsets": [], "itemsize": layout.size}
    for each in layout.fields:
        inner = each.type.fields if isinstance(each.type, Layout) else (each,)
        start = each.offset if isinstance(each.type, Layout) else 0
        for one in inner:
            spec["names"].append(one.name)
            spec["formats"].append(dtype_of(one.type))
            spec["offsets"].append(start + one.offset)
    return np.dtype(spec, align=True)


def dtype_of(type_: FieldType) -> np.dtype[Any]:
    """The numpy dtype of a field."""
    if isinstance(type_, Array):
        return np.dtype((dtype_of(type_.element), type_.shape))
    return dtype(type_) if isinstance(type_, Layout) else type_.numpy.newbyteorder("<")


@cache
def ctype(layout: Layout) -> type[ctypes.LittleEndianStructure]:
    """The structure of ctypes, in the processor's own alignment. A float16 is its 16 bits, as
    ctypes has no such type.

    >>> from gridlane.actors.layouts.blocks import Clock
    >>> ctypes.sizeof(ctype(Clock)), ctype(Clock).node.offset
    (24, 16)
    """
    fields = [(each.name, _ctype_of(each.type)) for each in layout.fields]
    return type(layout.name, (ctypes.LittleEndianStructure,), {"_fields_": fields})


def _ctype_of(type_: FieldType) -> Any:
    if isinstance(type_, Array):
        new_ctype = _ctype_of(type_.element)
        for extent in reversed(type_.shape):
            new_ctype = new_ctype * extent
        return new_ctype
    return ctype(type_) if isinstance(type_, Layout) else _CTYPES[type_.name]
