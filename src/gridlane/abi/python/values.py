"""Values of CUDA's interface in Python: enumerations, handles and structures."""

from __future__ import annotations

import ctypes
import enum
from functools import cache
from typing import Any

import numpy as np

from gridlane.abi.struct import Struct, members
from gridlane.core.cuda_table import CType, aliases, callbacks, ctype, enums, layout
from gridlane.core.cuda_table.layout import Field
from gridlane.core.cuda_table.structs import is_struct

_FUNCTION: type = type(ctypes.CFUNCTYPE(None)()).__mro__[1]
"""The base of ctypes' functions, which has no public name."""
_CALLED_AT_ONCE = {"CUoccupancyB2DSize": ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)}
"""Callbacks that are called during the call that takes them: any callable may be one. What is
called later is a function of C, which the program keeps."""


class Handle:
    """A handle or a number with a type of its own. ``int`` returns its value, ``getPtr`` the
    address of its memory, for parameters of kernels.

    Args:
        init_value: the value.
    """

    __slots__ = ("_cell",)

    def __init__(self, init_value: Any = 0, _ptr: int = 0) -> None:
        size = ctype(type(self).__name__).size
        kind = ctypes.c_uint64 if size == 8 else ctypes.c_int32
        self._cell: Any = kind.from_address(_ptr) if _ptr else kind(int(init_value))

    def __int__(self) -> int:
        return self._cell.value

    __index__ = __int__

    def __bool__(self) -> bool:
        return bool(self._cell.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and int(self) == int(other)

    def __hash__(self) -> int:
        return hash((type(self).__name__, int(self)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {int(self):#x}>"

    def getPtr(self) -> int:
        """The address of the value."""
        return ctypes.addressof(self._cell)


class Record:
    """A structure. Its members are attributes; ``getPtr`` returns its address."""

    __slots__ = ("_held", "_struct")

    def __init__(self, _ptr: int = 0, _struct: Struct | None = None) -> None:
        struct = _struct if _struct is not None else Struct(type(self).__name__, _ptr)
        object.__setattr__(self, "_struct", struct)
        object.__setattr__(self, "_held", {})

    def getPtr(self) -> int:
        """The address of its first byte."""
        return self._struct.address

    def __bytes__(self) -> bytes:
        return bytes(self._struct)

    def __getattr__(self, name: str) -> Any:
        field = members(self._struct).get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no member {name!r}")
        result = shown(self._struct.member(name), field, self._held.get(name))
        if isinstance(result, Record):  # its memory is part of this one's, and what that points to
            object.__setattr__(result, "_held", self._held.setdefault(name, {}))
        return result

    def __setattr__(self, name: str, value: Any) -> None:
        field = members(self._struct).get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no member {name!r}")
        if field.type.kind in ("pointer", "handle") and not field.type.count:
            takes = kernel_parameters if name == "kernelParams" else address_of
            number, held = takes(value, field.type)
            self._held[name] = held
            setattr(self._struct, name, number)
        else:
            setattr(self._struct, name, stored(value, field))
            if isinstance(value, Record):
                self._held[name] = dict(value._held)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *members(self._struct)]

    def __repr__(self) -> str:
        return "\n".join(f"{name} : {getattr(self, name)}" for name in members(self._struct))


def shown(value: Any, field: Field, held: Any = None) -> Any:
    """A member as programs see it."""
    kind = field.type
    if isinstance(value, Struct):
        return record_of(value, kind.name)
    if isinstance(value, tuple):
        if kind.kind == "struct":
            return [record_of(each, kind.name) for each in value]
        return list(value)
    if field.name == "name" and isinstance(value, bytes):
        return value.partition(b"\0")[0]  # a text, as NVIDIA's bindings give it
    if kind.kind == "pointer" and isinstance(held, (list, tuple)):
        return list(held)
    return wrapped(value, kind)


def stored(value: Any, field: Field) -> Any:
    """A member's value as the structure stores it."""
    if field.inner is not None:
        return list(value) if field.type.count else value
    number = float if field.type.kind == "float" else int
    if field.type.count:
        return value if field.type.size == 1 else [number(each) for each in value]
    return number(value)


def record_of(value: Struct, name: str) -> Record:
    """A structure with the class of its name; one without a name has a class of its own."""
    record_type = record_class(name) if name else Record
    return record_type(_struct=value)


def wrapped(value: Any, kind: CType) -> Any:
    """A number as the type that it has in CUDA."""
    if kind.kind == "enum":
        cls = enum_class(kind.name)
        try:
            return cls(value)
        except ValueError:
            return value
    if kind.kind == "handle" or (kind.kind == "int" and kind.name in aliases()):
        return handle_class(kind.name)(value)
    return value


@cache
def enum_class(name: str) -> type[enum.IntEnum]:
    """An enumeration by one of its names."""
    int_enum: Any = enum.IntEnum(name, dict(enums()[name].values), module="gridlane.abi.python")
    return int_enum


@cache
def handle_class(name: str) -> type[Handle]:
    """The class of a handle, or of a number with a type of its own."""
    return type(name, (Handle,), {"__slots__": (), "__module__": "gridlane.abi.python"})


@cache
def record_class(name: str) -> type[Record]:
    """The class of a structure by one of its names."""
    tag = layout(name).names[0]
    base = Record if name == tag else record_class(tag)
    result: Any = type(name, (base,), {"__slots__": (), "__module__": "gridlane.abi.python"})
    return result


def class_of(name: str) -> type | None:
    """The class with a name of CUDA's headers, if there is one."""
    if name in enums():
        return enum_class(name)
    if is_struct(name):
        return record_class(name)
    if name in callbacks():
        return handle_class(name)
    if name in aliases():
        kind = ctype(name)
        if kind.kind == "struct":
            return record_class(name)
        return enum_class(aliases()[name]) if kind.kind == "enum" else handle_class(name)
    return handle_class(name) if name in callbacks() else None


def address_of(value: Any, kind: CType) -> tuple[int, Any]:
    """The address that a Python value represents, and the object that keeps it valid.

    Args:
        kind: of the parameter, whose target is the type of a list's elements.

    Raises:
        TypeError: it represents no address.
    """
    if value is None:
        return 0, None
    if isinstance(value, Record):
        return value.getPtr(), value
    if isinstance(value, (list, tuple)):
        return _array(value, kind)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        if len(value) < 2:
            # Python has one object for each, as for b" " * 1: a log of no text would write its
            # final zero into every b" " of the process.
            alone = ctypes.create_string_buffer(value)
            return ctypes.addressof(alone), alone
        cell = ctypes.c_char_p(value)
        return ctypes.cast(cell, ctypes.c_void_p).value or 0, (cell, value)
    if isinstance(value, Handle) and kind.to == type(value).__name__:
        return value.getPtr(), value
    if isinstance(value, (int, Handle, np.integer)):
        return int(value), None
    if callable(getattr(value, "getPtr", None)):
        return value.getPtr(), value
    if isinstance(value, (ctypes._SimpleCData, ctypes.Array, ctypes.Structure)):  # pyright: ignore[reportPrivateUsage]
        return ctypes.addressof(value), value
    if isinstance(value, (ctypes._Pointer, _FUNCTION)):  # pyright: ignore[reportPrivateUsage]
        return ctypes.cast(value, ctypes.c_void_p).value or 0, value
    if kind.name in _CALLED_AT_ONCE and callable(value):
        called = _CALLED_AT_ONCE[kind.name](value)
        return ctypes.cast(called, ctypes.c_void_p).value or 0, called
    try:
        data = np.frombuffer(value, np.uint8)
    except (TypeError, ValueError, BufferError):
        raise TypeError(
            f"an address is an int, a buffer or a structure, not {type(value).__name__}"
        ) from None
    return data.ctypes.data, data


def _array(values: list[Any] | tuple[Any, ...], kind: CType) -> tuple[int, Any]:
    """The elements of a list, one behind the other."""
    if not values:
        return 0, None
    target = kind.to.replace("const", "").strip()
    if target.endswith("*") or target == "void":  # pointers, or what is of any type
        addresses = [address_of(each, ctype("void *")) for each in values]
        cells = (ctypes.c_uint64 * len(addresses))(*(number for number, _ in addresses))
        return ctypes.addressof(cells), (cells, addresses)
    of = ctype(target)
    if of.kind == "struct":
        data = ctypes.create_string_buffer(b"".join(bytes(each) for each in values))
        return ctypes.addressof(data), (data, values)
    cell = {1: ctypes.c_uint8, 4: ctypes.c_int32, 8: ctypes.c_int64}[of.size]
    numbers = (cell * len(values))(*(int(each) for each in values))
    return ctypes.addressof(numbers), numbers


def kernel_parameters(value: Any, _kind: CType | None = None) -> tuple[int, Any]:
    """The address of an array with the address of each parameter, and the object that keeps it
    valid.

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
        return address_of(value or 0, ctype("void *"))
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
        return kind(address_of(value, ctype("void *"))[0])
    return kind(int(value))
