"""Launches of tile programs, whose grid is the call's, and their arguments; see launcher.py.

``_name`` has the arguments

    names       of the parameters, then of the options, then of the options without effect
    defaults    of the parameters and options; a profile has a matcher for each of these
    parameters  how many of the names are parameters
    positional  how many of these may be given without a name
    absent      the default of those that have none
    hooks       a list; while it is not empty, calls take the slow path

``_guard`` takes what all profiles hold for: triples of a dictionary or another object, the name of
an item or attribute, and its value, or of a cell, None and its value. A call takes the slow path if
one of them is another object.

``_over(grid)`` is the program over a grid: a callable of the arguments. A call that matches no
profile goes to ``_launch_over(grid, args, keywords)``; where the grid was a function, it gets what
that returned.

A profile has four arguments of ``_install`` more, and the largest grid in place of the grid:

    target      launches in place of ``launch`` and ``function``: a function of the parameter block,
                of the three numbers of programs and of the values; NotImplemented where the slow
                path has to
    result      of the call
    streams     returns the CUstream in place of ``stream``; None without a target
    maps        the tensor maps in the parameter block, or None; see launcher_tensor_maps.py

The kinds of matchers, each with its wanted:

    CONSTANT    a value: a constant of the same type and the same value
    WHOLE       (low, high, factor, but one, and aligned, 0 where it is missing): an int, which
                is multiplied
    OWN         (the type key, aligned): a device array
    HOST        (dtype, its number, aligned): a numpy array without gaps that is written in place
    TENSOR      (dtype, name, aligned, address of cuPointerGetAttribute or 0): a tensor like
                torch's, whose attribute of that name is True
    PARTS       (names, matchers): attributes of an object, or the items of a tuple or list where
                names is None
    FIT         (axes, aligned, mapped): any value; whether the descriptor whose address is at the
                offset, with its extents and strides behind it, has an address, strides and a last
                extent that are multiples of 16, and whether a tensor map describes it

An address or int is a multiple of ``aligned``; of its negative, no multiple; any where it is 0.
"""

from __future__ import annotations

import ctypes
import operator
import struct
from collections.abc import Callable, Sequence
from types import CellType
from typing import Any, cast

import numpy as np

from gridlane.launch.geometry import address_of

CONSTANT, WHOLE, OWN, HOST, TENSOR, PARTS, FIT = range(7, 14)
IN_PLACE, CONTIGUOUS = 0x500, 0x3
"""Bits of ``ndarray.flags.num``: aligned and writeable; in the order of C or of Fortran."""
_ATTRIBUTE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_ulonglong)
_DEVICE_POINTER = 3
_MULTIPLE = 16
"""That code may know; see ``tiles.arguments.ALIGNMENT``."""


def octets(kind: int, cls: Any, wanted: Any, length: int, value: Any) -> bytes | None:
    """The bytes of an argument, at least ``length``; None if it does not match."""
    if kind == CONSTANT:
        return b"" if same_constant(value, wanted) else None
    if kind == WHOLE:
        return _whole(wanted, value)
    if type(value) is not cls:
        return None
    try:
        address = _READERS[kind](wanted, value)
    except Exception:  # the slow path explains it
        return None
    aligned = wanted[2 if kind != OWN else 1]
    if address is None or not 0 <= address < 2**64:
        return None
    if aligned and (address % abs(aligned) == 0) is not (aligned > 0):
        return None
    return struct.pack("<Q", address)


def same_constant(value: Any, wanted: Any) -> bool:
    """Whether two constants select the same code: 1, True and 1.0 do not, nor do 0.0 and -0.0."""
    if value is wanted:
        return True
    if type(value) is not type(wanted):
        return False
    if type(value) in (int, str):
        return value == wanted
    if type(value) is float:
        return struct.pack("<d", value) == struct.pack("<d", wanted)
    if type(value) is tuple:
        items = cast("tuple[Any, ...]", value)
        return len(items) == len(wanted) and all(map(same_constant, items, wanted))
    return False


def _whole(wanted: tuple[int, ...], value: Any) -> bytes | None:
    low, high, factor, but_one, *last = wanted
    if type(value) is not int or not low <= value <= high or (but_one and value == 1):
        return None
    for aligned in last:
        if aligned and (value % abs(aligned) == 0) is not (aligned > 0):
            return None
    scaled = value * factor
    return struct.pack("<q", scaled) if -(2**63) <= scaled < 2**63 else None


def _own(wanted: tuple[Any, int], value: Any) -> int | None:
    key, packed = value.__gridlane_launch__
    return int.from_bytes(packed[:8], "little") if key is wanted[0] and len(packed) >= 8 else None


def _host(wanted: tuple[Any, int, int], value: np.ndarray) -> int | None:
    flags, dtype = value.flags.num, value.dtype
    if flags & IN_PLACE != IN_PLACE or not flags & CONTIGUOUS:
        return None
    same = dtype is wanted[0] or (dtype.num == wanted[1] and dtype.isnative)
    return address_of(value) if same else None


def _tensor(wanted: tuple[Any, str, int, int], value: Any) -> int | None:
    dtype, where, _, attribute = wanted
    plain = value.dtype is dtype and getattr(value, where) is True and value.is_neg() is False
    address = value.data_ptr() if plain else None
    if type(address) is not int:
        return None
    if attribute and address:
        mapped = ctypes.c_uint64()
        code = _ATTRIBUTE(attribute)(ctypes.addressof(mapped), _DEVICE_POINTER, address)
        return address if code == 0 and mapped.value == address else None
    return address


_READERS: dict[int, Callable[[Any, Any], int | None]] = {OWN: _own, HOST: _host, TENSOR: _tensor}


def parts_of(cls: Any, names: tuple[str, ...] | None, count: int, value: Any) -> Any:
    """The parts of an argument; None if it does not match."""
    if type(value) is not cls:
        return None
    if names is not None:
        return [getattr(value, name) for name in names]
    if not isinstance(value, tuple | list):
        return None
    items = cast("list[Any]", value)
    return items if len(items) == count else None


def selects(block: bytearray, offset: int, wanted: tuple[int, int, int]) -> bool:
    """Whether a descriptor in the block selects the same code; see FIT above."""
    from gridlane.core.tensor_map import fits  # of few programs

    rank, *flags = wanted
    address, *numbers = struct.unpack_from(f"<Q{2 * rank}q", block, offset)
    extents, strides = numbers[:rank], numbers[rank:-1]
    aligned = all(each % _MULTIPLE == 0 for each in (address, *strides, extents[-1]))
    return [aligned, fits(address, extents, strides)] == [bool(each) for each in flags]


def filler_of(maps: tuple[Any, ...]) -> Any:
    """What fills tensor maps into blocks."""
    from gridlane.launch.launcher_tensor_maps import Maps  # of few programs

    return Maps(*maps)


class Names:
    """How the arguments of a call become those of a profile; see ``_name``."""

    def __init__(
        self,
        names: tuple[str, ...],
        defaults: tuple[Any, ...],
        parameters: int,
        positional: int,
        absent: Any,
        hooks: list[Any],
    ) -> None:
        if not positional <= parameters <= len(defaults) <= len(names):
            raise ValueError("not the names of a launch")
        self.names, self.defaults, self.absent, self.hooks = names, defaults, absent, hooks
        self.parameters, self.positional = parameters, positional
        self._places = {name: place for place, name in enumerate(names)}

    def bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any] | None:
        """The value of each parameter and option; None for a call that the slow path explains."""
        if len(args) > self.positional:
            return None
        values = [*args, *self.defaults[len(args) :]]
        for name, value in keywords.items():
            place = self._places.get(name, -1)
            if place < len(args):
                return None
            if place < len(values):
                values[place] = value
        return None if any(value is self.absent for value in values) else values

    def arguments(self, values: Sequence[Any]) -> dict[str, Any]:
        """The parameters by name."""
        return dict(zip(self.names, values[: self.parameters], strict=False))


def holds(guards: tuple[tuple[Any, str | None, Any], ...]) -> bool:
    """Whether every name has its value."""
    for owner, name, value in guards:
        if isinstance(owner, CellType):
            name = "cell_contents"
        try:
            items = cast("dict[Any, Any] | None", owner if isinstance(owner, dict) else None)
            have = getattr(cast("Any", owner), name or "") if items is None else items[name]
        except (AttributeError, KeyError, ValueError):  # an empty cell is a ValueError
            return False
        if have is not value:
            return False
    return True


def read_grid(grid: Any, most: tuple[int, int, int]) -> tuple[int, int, int] | None:
    """The numbers of programs; None for a grid that the slow path explains."""
    items = [*cast("list[Any]", grid)] if type(grid) in (tuple, list) else [grid]
    if not 1 <= len(items) <= 3:
        return None
    numbers: list[int] = []
    for item, limit in zip(items, most, strict=False):
        if not isinstance(item, int) and type(grid) is list:  # its __index__ may change the list
            return None
        try:
            numbers.append(operator.index(item))
        except TypeError:
            return None
        if not 0 <= numbers[-1] <= limit:
            return None
    x, y, z = numbers + [1] * (3 - len(numbers))
    return x, y, z


class Over:
    """A tile program over a grid, as ``_over`` returns it."""

    def __init__(self, launcher: Any, grid: Any) -> None:
        self._launcher, self._grid = launcher, grid

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._launcher.here().call_over(self._grid, args, keywords)
