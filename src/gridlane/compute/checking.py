"""Whether arguments are what the loops may run on: indices in their arrays, and shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import islpy as isl
import numpy as np

from gridlane.compute.alone import LOCK
from gridlane.compute.model import Access, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.core.dtypes import DType
from gridlane.core.errors import ArgumentError
from gridlane.core.source import Loc, describe

_MOST = 4096
"""Values of extents and integer arguments whose results are kept."""


class Bounds:
    """The affine accesses of a nest that leave their arrays, and for which extents they do."""

    def __init__(self, polyhedra: Polyhedra) -> None:
        self.polyhedra = polyhedra
        self._outside: list[tuple[Statement, Access, int, isl.Set]] = []
        self._known: dict[tuple[int, ...], str] = {}
        nest = polyhedra.nest
        for statement in nest.statements:
            for access in (statement.write, *statement.reads):
                if access.name in nest.tensors and access.indices is not None:
                    self._add(statement, access)

    def _add(self, statement: Statement, access: Access) -> None:
        nest, polyhedra = self.polyhedra.nest, self.polyhedra
        extents = nest.tensors[access.name].extents
        names = [f"e{n}'" for n in range(len(extents))]
        elements = polyhedra.access(statement, access).range()
        for axis, extent in enumerate(extents):
            beyond = f"e{axis}' < 0 or e{axis}' >= {extent}"
            text = f"{{ {access.name}[{', '.join(names)}] : {beyond} }}"
            outside = elements.intersect(polyhedra.set(text))
            if not outside.is_empty():
                self._outside.append((statement, access, axis, outside))

    def check(self, values: Mapping[str, int]) -> None:
        """Require that all accesses are in their arrays.

        Args:
            values: of extents and integer arguments.

        Raises:
            ArgumentError: one is not; the message has its line and an index.
        """
        if not self._outside:
            return
        names = self.polyhedra.nest.parameters
        key = tuple([values[name] for name in names])
        if key not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            with LOCK:
                self._known[key] = self._message(dict(zip(names, key, strict=True)))
        if self._known[key]:
            raise ArgumentError(self._known[key])

    def _message(self, values: Mapping[str, int]) -> str:
        for _, access, axis, outside in self._outside:
            point = outside
            for number in range(point.dim(isl.dim_type.param)):
                name = point.get_dim_name(isl.dim_type.param, number)
                point = point.fix_val(isl.dim_type.param, number, isl.Val(str(values[str(name)])))
            if not point.is_empty():
                index = point.sample_point().get_coordinate_val(isl.dim_type.set, axis).to_python()
                extent = self.polyhedra.nest.tensors[access.name].extents[axis]
                size = values.get(str(extent), extent)
                return _located(
                    f"{access.name} has {size} elements along axis {axis}, and the loops reach "
                    f"index {index}", access.loc,
                )  # fmt: skip
        return ""


def _located(message: str, loc: Loc) -> str:
    return f"{message}\n{describe(loc)}"


def require_numbers(scalars: Mapping[str, DType], given: Mapping[str, Any]) -> dict[str, int]:
    """The whole numbers among a call's arguments, by name.

    Args:
        scalars: types by name.

    Raises:
        ArgumentError: an argument is no number of its type.
    """
    found: dict[str, int] = {}
    for name, kind in scalars.items():
        value = given[name]
        if not isinstance(value, int | float | np.generic) or isinstance(value, np.complexfloating):
            raise ArgumentError(f"{name} is {kind}, a number, and {value!r} is given")
        if not kind.is_integer:
            continue
        if isinstance(value, float | np.floating):
            raise ArgumentError(f"{name} is {kind}, a whole number, and {value!r} is given")
        found[name] = int(value)
        if not kind.min <= found[name] <= kind.max:
            raise ArgumentError(f"{name} is {kind}, which has no {value!r}")
    return found


def shared_names(
    tensors: Mapping[str, Any], given: Mapping[str, Any], written: set[str]
) -> dict[str, str]:
    """Tensors that are the same array as an earlier one, by name.

    Raises:
        ArgumentError: an array that is written overlaps another one, or itself, or is read-only.
    """
    places = {name: _Place(given[name]) for name in tensors}
    same: dict[str, str] = {}
    names = [*places]
    for number, name in enumerate(names):
        if name in written and places[name].repeats:
            raise ArgumentError(f"{name} is written, and has elements that share memory")
        if name in written and _is_read_only(given[name]):
            raise ArgumentError(f"{name} is written, and the array is read-only: pass a copy")
        for other in names[:number]:
            if name not in written and other not in written:
                continue
            one, two = places[other], places[name]
            if one == two:
                same.setdefault(name, same.get(other, other))
            elif one.first < two.end and two.first < one.end:
                raise ArgumentError(
                    f"{other} and {name} share memory, and one is written: pass a copy of one"
                )
    return same


def _is_read_only(array: Any) -> bool:
    flags = getattr(array, "flags", None)
    return getattr(array, "readonly", False) or getattr(flags, "writeable", True) is False


_INTERFACES = "__array_interface__", "__gridlane_array__", "__cuda_array_interface__"


class _Place:
    """Where an array lies."""

    def __init__(self, array: Any) -> None:
        shape = tuple(array.shape)
        size = int(getattr(array, "itemsize", 0) or array.dtype.itemsize)
        shown = (getattr(array, name, None) for name in _INTERFACES)
        interface = next(filter(None, shown), None)
        if interface is not None:
            start = interface["data"][0]
            strides = interface.get("strides")
        elif not hasattr(array, "data_ptr"):
            raise ArgumentError(
                f"the {type(array).__name__} does not show its memory on this device: pass an "
                "array of NumPy's, or of cuda.to_device"
            )
        else:
            start = array.data_ptr()
            strides = tuple([size * each for each in array.stride()])
        if strides is None:
            strides, step = [], size
            for extent in reversed(shape):
                strides.insert(0, step)
                step *= extent
        moves = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
        empty = 0 in shape
        self.key = start, shape, tuple(strides), size
        self.first = start + sum(m for m in moves if m < 0)
        self.end = self.first if empty else start + sum(m for m in moves if m > 0) + size
        used = sorted((abs(step), n) for n, step in zip(shape, strides, strict=True) if n > 1)
        reach, self.repeats = size, False
        for step, extent in used:
            self.repeats = self.repeats or step < reach
            reach = step * (extent - 1) + reach
        self.repeats = self.repeats and not empty

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Place) and self.key == other.key and self.end > self.first

    def __hash__(self) -> int:
        return hash(self.key)
