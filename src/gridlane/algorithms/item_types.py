"""Types of items: numbers, and structures of them, as kernels load, store and convert them."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

import collections
import keyword
from collections.abc import Iterator
from typing import Any

import numpy as np

from gridlane.algorithms.caching import cached
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.cuda.ufuncs.generated import define

_KINDS = "biufc"


class ItemType:
    """The type of an item. In kernels a number is a number, a structure a named tuple.

    Two item types are equal if they have the same names, numbers and layout.
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        _check(self.dtype)

    @property
    def size(self) -> int:
        """Bytes of an item."""
        return self.dtype.itemsize

    @property
    def is_struct(self) -> bool:
        """Whether an item has fields."""
        return self.dtype.names is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ItemType) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(("ItemType", self.dtype))

    def __repr__(self) -> str:
        return f"ItemType({self.dtype})"

    @property
    def cast(self) -> Dispatcher:
        """The device function that converts a value, field by field."""
        return _functions(self.dtype)[0]

    @property
    def load(self) -> Dispatcher:
        """The device function that reads item i of an array in global or shared memory."""
        return _functions(self.dtype)[1]

    @property
    def store(self) -> Dispatcher:
        """The device function that converts a value and writes item i of an array."""
        return _functions(self.dtype)[2]

    def argument(self, value: Any) -> Any:
        """A host value as the argument of a kernel: a numpy scalar, or a named tuple of them."""
        array = np.asarray(value, self.dtype)
        if array.size != 1:
            raise ValueError(f"one value of {self.dtype} is required; got {array.size}")
        return _argument(self.dtype, array.reshape(-1)[0])

    def leaves(self) -> tuple[np.dtype, ...]:
        """The types of the numbers in an item, in order."""
        return tuple(_leaves(self.dtype))

    def fits(self, other: ItemType) -> bool:
        """Whether items of another type convert to this one: numbers to numbers, and structures to
        those of the same numbers."""
        if self.is_struct or other.is_struct:
            return _shape(self.dtype) == _shape(other.dtype)
        return not (other.dtype.kind == "c" and self.dtype.kind != "c")


def _check(dtype: np.dtype) -> None:
    if dtype.subdtype is not None or (dtype.names is None and dtype.kind not in _KINDS):
        raise TypeError(f"items of dtype {dtype} are unsupported; they are numbers or structures")
    if dtype.names is None and dtype.itemsize > (16 if dtype.kind == "c" else 8):
        raise TypeError(f"items of dtype {dtype} are unsupported: no device has such numbers")
    if dtype.names == ():
        raise TypeError("a structure of no fields has no items")
    for name in dtype.names or ():
        if not name.isidentifier() or keyword.iskeyword(name):
            raise TypeError(f"the field {name!r} of {dtype} is unsupported: it is no identifier")
        _check(_field(dtype, name))


def _field(dtype: np.dtype, name: str) -> np.dtype:
    fields: Any = dtype.fields
    return fields[name][0]


def _leaves(dtype: np.dtype) -> Iterator[np.dtype]:
    if dtype.names is None:
        yield dtype
    for name in dtype.names or ():
        yield from _leaves(_field(dtype, name))


def _shape(dtype: np.dtype) -> Any:
    if dtype.names is None:
        return dtype.str
    return tuple(_shape(_field(dtype, name)) for name in dtype.names)


@cached
def tuple_class(dtype: np.dtype) -> Any:
    """The class of a structure's values in kernels."""
    names = dtype.names or ()
    cls: Any = collections.namedtuple("Struct", names, rename=True)  # pyright: ignore[reportUntypedNamedTuple]
    cls._fields = names  # names with an underscore in front as well
    return cls


def _argument(dtype: np.dtype, value: Any) -> Any:
    if dtype.names is None:
        return dtype.type(value)
    return tuple_class(dtype)(
        *(_argument(_field(dtype, name), value[name]) for name in dtype.names)
    )


def scalar_name(dtype: np.dtype, names: dict[str, Any]) -> str:
    """The name of a number's type, entered among the names of generated code."""
    names[dtype.type.__name__] = dtype.type
    return dtype.type.__name__


def _built(dtype: np.dtype, value: str, by_name: bool, names: dict[str, Any]) -> str:
    """The expression of an item: of a record, or of a tuple's members, which it converts."""
    if dtype.names is None:
        return value if by_name else f"{scalar_name(dtype, names)}({value})"
    cls = f"Struct{len(names)}"
    names[cls] = tuple_class(dtype)
    members = [
        _built(
            _field(dtype, each), f"{value}.{each}" if by_name else f"{value}[{n}]", by_name, names
        )
        for n, each in enumerate(dtype.names)
    ]
    return f"{cls}({', '.join(members)})"


def _stores(dtype: np.dtype, place: str, value: str, names: dict[str, Any]) -> Iterator[str]:
    for n, each in enumerate(dtype.names or ()):
        field = _field(dtype, each)
        if field.names is None:
            yield f"    {place}.{each} = {scalar_name(field, names)}({value}[{n}])\n"
        else:
            yield from _stores(field, f"{place}.{each}", f"{value}[{n}]", names)


@cached
def _functions(dtype: np.dtype) -> tuple[Dispatcher, Dispatcher, Dispatcher]:
    names: dict[str, Any] = {}
    cast = f"def cast(value):\n    return {_built(dtype, 'value', False, names)}\n"
    if dtype.names is None:
        load = "def load(array, i):\n    return array[i]\n"
        kind = scalar_name(dtype, names)
        store = f"def store(array, i, value):\n    array[i] = {kind}(value)\n"
    else:
        built = _built(dtype, "record", True, names)
        load = f"def load(array, i):\n    record = array[i]\n    return {built}\n"
        stores = "".join(_stores(dtype, "record", "value", names))
        store = f"def store(array, i, value):\n    record = array[i]\n{stores}"
    texts = {"cast": cast, "load": load, "store": store}
    made = [jit(define(name, text, names), device=True) for name, text in texts.items()]
    return made[0], made[1], made[2]


@cached
def item_type(dtype: Any) -> ItemType:
    """The item type of a dtype.

    Raises:
        TypeError: no device has such items.
    """
    return ItemType(dtype)


@cached
def constructor(dtype: np.dtype) -> Dispatcher:
    """The device function that makes a structure of values for its fields."""
    arguments = ", ".join(f"a{n}" for n in range(len(dtype.names or ())))
    text = f"def construct({arguments}):\n    return cast(({arguments},))\n"
    return jit(define("construct", text, {"cast": item_type(dtype).cast}), device=True)
