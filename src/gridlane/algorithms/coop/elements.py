"""Items of block and warp algorithms: how kernels keep, convert and exchange them.

An item is a number, a structure of numpy's (a named tuple in kernels), or a value of a program's
type (``extending``).
"""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.coop.parameters import MOST_THREADS, WARP
from gridlane.algorithms.item_types import ItemType, item_type, tuple_class
from gridlane.core.argtypes import ArgType, ComplexType, RecordType, ScalarType
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.cuda.ufuncs.generated import define


class Element:
    """The type of an item, as arrays of kernels have it."""

    def __init__(self, kind: ArgType) -> None:
        self.kind = kind
        self._item: ItemType | None = None
        if isinstance(kind, RecordType):
            self._item = item_type(kind.numpy)

    @property
    def is_plain(self) -> bool:
        """Whether it is an integer, a float or a bool: operators get others by address."""
        return isinstance(self.kind, ScalarType) and not self.kind.dtype.is_bool

    @property
    def is_number(self) -> bool:
        """Whether it is a number of Python's language of kernels."""
        return isinstance(self.kind, ScalarType | ComplexType)

    @property
    def is_struct(self) -> bool:
        """Whether it is a structure of numpy's."""
        return self._item is not None

    @property
    def dtype(self) -> Any:
        """The type of the elements of arrays in kernels."""
        return self.kind.numpy if isinstance(self.kind, RecordType) else self.kind

    @property
    def size(self) -> int:
        """Bytes of an item in a temporary memory of bytes, none for a program's type: its values
        have arrays of their own."""
        if self._item is not None:
            return self._item.size
        kind = self.kind
        return kind.numpy.itemsize if isinstance(kind, ScalarType | ComplexType) else 0

    @property
    def alignment(self) -> int:
        """The alignment of an item, in bytes."""
        kind = self.kind
        if isinstance(kind, ScalarType | ComplexType | RecordType):
            return max(1, kind.numpy.alignment)
        return 1

    @property
    def cast(self) -> Dispatcher:
        """The device function that converts a value."""
        return _functions(self.kind)[0] if self._item is None else self._item.cast

    @property
    def get(self) -> Dispatcher:
        """The device function that reads item i of an array."""
        return _functions(self.kind)[1] if self._item is None else self._item.load

    @property
    def put(self) -> Dispatcher:
        """The device function that converts a value and writes item i of an array."""
        return _functions(self.kind)[2] if self._item is None else self._item.store

    @property
    def zero(self) -> Dispatcher:
        """The device function from an item to 0, or to the item where no 0 is known."""
        return _zero(self.kind)

    def argument(self, value: Any) -> Any:
        """A value of the host as kernels have it."""
        return value if self._item is None else self._item.argument(value)

    def section(self, start: int, count: int, owner: str = "block") -> Dispatcher:
        """The device function that finds items in a memory of bytes, from byte ``start``. Values of
        a program's type are in an array of the owner's: no barrier is between algorithms of blocks
        and those of warps, so they do not share one."""
        return _section(self.kind, self.size, start, count, owner)

    @property
    def exchange(self) -> Dispatcher:
        """The device function ``(value, rank, source, mask)``: the value of the thread of rank
        ``source``, which is in the same warp, for each of the lanes in ``mask``."""
        return _exchange(self.kind)


@cached
def element_of(kind: ArgType) -> Element:
    """The element of a type."""
    return Element(kind)


@cached
def _functions(kind: ArgType) -> tuple[Dispatcher, Dispatcher, Dispatcher]:
    convert: Any = kind

    @jit(device=True)
    def number(value):
        return convert(value)

    @jit(device=True)
    def same(value):
        return value

    cast = number if isinstance(kind, ScalarType | ComplexType) else same

    @jit(device=True)
    def get(array, i):
        return array[i]

    @jit(device=True)
    def put(array, i, value):
        array[i] = cast(value)

    return cast, get, put


@cached
def _zero(kind: ArgType) -> Dispatcher:
    convert: Any = kind

    @jit(device=True)
    def zero(value):
        return convert(0)

    @jit(device=True)
    def same(value):
        return value

    return zero if isinstance(kind, ScalarType | ComplexType) else same


@cached
def _section(kind: ArgType, size: int, start: int, count: int, owner: str) -> Dispatcher:
    dtype: Any = kind.numpy if isinstance(kind, RecordType) else kind
    end = start + count * size

    @jit(device=True)
    def view(raw):
        return raw[start:end].view(dtype)

    @jit(device=True)
    def array(raw):
        return cuda.shared.array(count, dtype)

    return view if size else array


@cached
def _exchange(kind: ArgType) -> Dispatcher:
    if isinstance(kind, ScalarType):
        return _shuffled
    if isinstance(kind, ComplexType):
        names: dict[str, Any] = {"kind": kind, "shuffled": _shuffled}
        parts = ", ".join(f"shuffled(value.{each}, {_WHERE})" for each in ("real", "imag"))
        return _defined(f"kind({parts})", names)
    if isinstance(kind, RecordType):
        names = {"shuffled": _shuffled}
        return _defined(_of_record(kind.numpy, "value", names), names)
    tile = _section(kind, 0, 0, MOST_THREADS, "exchange")

    @jit(device=True)
    def exchange(value, rank, source, mask):
        array = tile(rank)
        array[rank] = value
        cuda.syncwarp(mask)
        other = array[source]
        cuda.syncwarp(mask)
        return other

    return exchange


_WHERE = "rank, source, mask"


@jit(device=True)
def _shuffled(value, rank, source, mask):
    return cuda.shfl_sync(mask, value, source % WARP)


def _defined(expression: str, names: dict[str, Any]) -> Dispatcher:
    text = f"def exchange(value, {_WHERE}):\n    return {expression}\n"
    return jit(define("exchange", text, names), device=True)


def _of_record(dtype: np.dtype, value: str, names: dict[str, Any]) -> str:
    """The expression of a structure of the exchanged numbers of another."""
    if dtype.names is None and dtype.kind == "c":
        name = f"kind{len(names)}"
        names[name] = dtype.type
        parts = (f"shuffled({value}.{each}, {_WHERE})" for each in ("real", "imag"))
        return f"{name}({', '.join(parts)})"
    if dtype.names is None:
        return f"shuffled({value}, {_WHERE})"
    name = f"Struct{len(names)}"
    names[name] = tuple_class(dtype)
    fields: Any = dtype.fields
    members = (_of_record(fields[each][0], f"{value}.{each}", names) for each in dtype.names)
    return f"{name}({', '.join(members)})"
