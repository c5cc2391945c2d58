"""Arrays of a device, as the array API standard and NumPy describe them."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from gridlane.launch.devices import get_device
from gridlane.xp import indexing, transport
from gridlane.xp.applying import NUMBERS, applied, cast
from gridlane.xp.computing import compute, copied, store
from gridlane.xp.nodes import Node
from gridlane.xp.operations import OPERATIONS

Number = bool | int | float | complex


class Array:
    """An array of elements of one dtype, on one device.

    Its elements are computed when they are needed. Any thread may use it.

    Attributes:
        node: the expression, for the modules of this package.
    """

    __slots__ = ("__weakref__", "node")
    __hash__ = None  # type: ignore[assignment]  # as NumPy's arrays
    __array_priority__ = 1000

    def __init__(self, node: Node) -> None:
        self.node = node
        node.owner = weakref.ref(self)

    def rebind(self, node: Node) -> None:
        """Become the array of other elements, of the same dtype and shape."""
        self.node = node
        node.owner = weakref.ref(self)

    # --- facts ---

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements, a dtype of NumPy."""
        return self.node.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each dimension."""
        return self.node.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.node.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.node.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.node.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.node.size * self.node.dtype.itemsize

    @property
    def device(self) -> str:
        """The name of the device, as ``gridlane.device`` takes it."""
        assert self.node.device is not None
        return self.node.device.name

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array of no dimensions")
        return self.shape[0]

    # --- to the host ---

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """A copy of the elements for NumPy.

        Raises:
            ValueError: ``copy=False``.
        """
        if copy is False:
            raise ValueError("an array of a device is copied to NumPy; np.from_dlpack may share it")
        host = transport.downloaded(self.node)
        return host if dtype is None else host.astype(dtype)

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return transport.downloaded(self.node).item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return transport.downloaded(self.node).tolist()

    def _scalar(self, kind: type, what: str) -> Any:
        if self.ndim:
            raise TypeError(f"only arrays of no dimensions can be converted to {what}")
        return kind(self.item())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "the truth value of an array of several elements is ambiguous: use xp.any(x) or "
                "xp.all(x)"
            )
        return bool(self.item())

    def __int__(self) -> int:
        return self._scalar(int, "a Python int")

    def __float__(self) -> float:
        return self._scalar(float, "a Python float")

    def __complex__(self) -> complex:
        return self._scalar(complex, "a Python complex")

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError("only integer arrays of no dimensions can be converted to an index")
        return int(self.item())

    def __repr__(self) -> str:
        return np.array_repr(self.__array__())

    def __str__(self) -> str:
        return str(self.__array__())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if not self.ndim else format(str(self), spec)

    # --- memory ---

    def to_device(self, device: str, /, *, stream: Any = None) -> Array:
        """The array on another device; itself if it is there.

        Raises:
            ValueError: a stream: copies are in order with all work of the default stream.
        """
        if stream is not None:
            raise ValueError("to_device takes no stream: copies are in order with all other work")
        there = get_device(device)
        return self if there is self.node.device else Array(transport.moved(self.node, there))

    def copy(self) -> Array:
        """A copy, in C's order."""
        return Array(copied(self.node))

    def astype(self, dtype: Any, /, *, copy: bool = True) -> Array:
        """The elements converted; a copy, unless ``copy`` is False and the dtype the same."""
        wanted = np.dtype(dtype)
        if wanted == self.dtype:
            return Array(copied(self.node)) if copy else self
        return Array(cast(self.node, wanted))

    # --- elements ---

    def leaf(self) -> Node:
        """Compute the elements; return the node."""
        if self.node.is_pending:
            compute(self.node)
        return self.node

    def __getitem__(self, key: Any, /) -> Array:
        """A view of elements by integers, slices, ``None`` and ``...``; a copy by arrays."""
        return Array(indexing.view(self.leaf(), key))

    def __setitem__(self, key: Any, value: Any, /) -> None:
        """Write elements; the value broadcasts, and is converted."""
        store(_as_node(value, self), indexing.view(self.leaf(), key))

    def __iter__(self) -> Any:
        return (self[number] for number in range(len(self)))

    # --- NumPy ---

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        operation = OPERATIONS.get(ufunc.__name__)
        if operation is None or method != "__call__" or options:
            return NotImplemented
        return called(operation.name, *operands)


def _as_node(value: Any, like: Array) -> Node:
    """A value to store into an array, as a node of the array's dtype."""
    if isinstance(value, Array):
        node = value.node
        if node.device is not like.node.device:
            raise ValueError(
                f"the value is on the device {value.device}, and the array on {like.device}; copy "
                "it with x.to_device(...)"
            )
    else:
        host = np.asarray(value).astype(like.dtype)
        assert like.node.device is not None
        node = transport.uploaded(host, like.node.device)
    return node


def called(name: str, *operands: Any) -> Any:
    """The results of an operation; NotImplemented for an operand of another kind."""
    nodes: list[Any] = []
    for each in operands:
        if isinstance(each, Array):
            nodes.append(each.node)
        elif isinstance(each, NUMBERS) and not isinstance(each, np.generic):
            nodes.append(each)
        else:
            return NotImplemented
    results = applied(OPERATIONS[name], tuple(nodes))
    return Array(results[0]) if len(results) == 1 else tuple([Array(each) for each in results])


def _in_place(name: str, array: Array, other: Any) -> Any:
    """``array += other``: where no other array has its memory, a new expression takes its place."""
    result = called(name, array, other)
    if result is NotImplemented:
        return NotImplemented
    node = array.node
    if result.shape != array.shape:
        raise ValueError(f"{name}: the result's shape {result.shape} is not {array.shape}")
    if not np.can_cast(result.dtype, array.dtype, "same_kind"):
        raise TypeError(f"{name}: {result.dtype} cannot be stored in {array.dtype} in place")
    alone = node.is_pending or (
        node.storage is not None
        and not node.storage.outside
        and sum(each() is not None for each in node.storage.leaves) == 1
    )
    if alone:
        array.rebind(cast(result.node, array.dtype))
    else:
        store(result.node, node)
    return array


_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}
_COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
_UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "bitwise_invert"}


def _define() -> None:
    """Define the operators of arrays, each by an operation of the table."""

    def forward(name: str) -> Any:
        return lambda self, other: called(name, self, other)

    def reflected(name: str) -> Any:
        return lambda self, other: called(name, other, self)

    def in_place(name: str) -> Any:
        return lambda self, other: _in_place(name, self, other)

    def unary(name: str) -> Any:
        return lambda self: called(name, self)

    for short, name in _OPERATORS.items():
        setattr(Array, f"__{short}__", forward(name))
        setattr(Array, f"__r{short}__", reflected(name))
        setattr(Array, f"__i{short}__", in_place(name))
    for short, name in _COMPARISONS.items():
        setattr(Array, f"__{short}__", forward(name))
    for short, name in _UNARY.items():
        setattr(Array, f"__{short}__", unary(name))


_define()
