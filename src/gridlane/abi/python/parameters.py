"""The parameters of a kernel, as programs in Python give them to a launch."""

from __future__ import annotations

import ctypes
from typing import Any

from gridlane.abi.python.values import address_of
from gridlane.abi.table import ctype

_ANY = ctype("void *")


def kernel_parameters(value: Any) -> tuple[int, Any]:
    """The address of an array with the address of each parameter, and what keeps it valid.

    Args:
        value: such an address; or ``(values, types)``, one of ctypes' types for each value, None
            for one that knows its own address.

    Raises:
        TypeError: it is neither.
    """
    pairs = isinstance(value, (tuple, list)) and len(value) == 2
    if not pairs or not all(isinstance(each, (tuple, list)) for each in value):
        if isinstance(value, (tuple, list)) and value:
            raise TypeError("parameters are (values, types), or the address of an array")
        return address_of(value or 0, _ANY)
    values, types = value
    if len(values) != len(types):
        raise TypeError(f"{len(values)} parameters with {len(types)} types")
    cells: list[Any] = []
    addresses: list[int] = []
    for each, kind in zip(values, types):
        if kind is None:
            cell = each
            place = each.getPtr() if hasattr(each, "getPtr") else ctypes.addressof(each)
        else:
            cell = _cell(each, kind)
            place = ctypes.addressof(cell)
        cells.append(cell)
        addresses.append(place)
    array = (ctypes.c_uint64 * max(1, len(addresses)))(*addresses)
    return ctypes.addressof(array), (array, cells)


def _cell(value: Any, kind: Any) -> Any:
    """A value as one of ctypes' types."""
    if isinstance(value, kind):
        return value
    if issubclass(kind, (ctypes.c_float, ctypes.c_double)):
        return kind(float(value))
    if kind is ctypes.c_void_p:
        return kind(address_of(value, _ANY)[0])
    return kind(int(value))
