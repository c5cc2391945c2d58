"""Arrays of a device, as the array API standard and NumPy describe them."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from gridlane.launch.devices import get_device
from gridlane.xp import dtypes, indexing, layout, protocols, transport, views
from gridlane.xp.applying import NUMBERS, applied, cast, scalar
from gridlane.xp.computing import check_target, compute, compute_exposed, copied, expose, store
from gridlane.xp.nodes import Node
from gridlane.xp.operations import OPERATIONS
from gridlane.xp.signatures import Signatures

Number = bool | int | float | complex


class Array(Signatures):
    """An array of elements of one dtype, on one device.

    Its elements are computed when they are needed. Any thread may use it.

    Attributes:
        node: the expression, for the modules of this package.
    """

    __slots__ = ("__weakref__", "node")
    __hash__ = None  # type: ignore[assignment]  # as NumPy's arrays
    __array_priority__ = 1000

    def __init__(self, node: Node) -> None:
        if node.owner is None or self._own(node):
            self.rebind(node)
        elif node.storage is not None:
            self.rebind(node.storage.leaf(node.dtype, node.shape, node.strides, node.offset))
        else:
            self.node = node

    def _own(self, node: Node) -> bool:
        """Whether no other array owns a node: stores find the array of a leaf by its owner."""
        owner = node.owner() if node.owner is not None else None
        return owner is None or owner is self or owner.node is not node

    def rebind(self, node: Node) -> None:
        """Become the array of other elements, of the same dtype."""
        if node.exposed:
            compute_exposed(node)
        self.node = node
        node.owner = weakref.ref(self)

    # --- facts ---

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements, a dtype of NumPy."""
        return self.node.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each dimension; another one may be assigned, if no copy is needed."""
        return self.node.shape

    @shape.setter
    def shape(self, extents: Any) -> None:
        listed = (extents,) if hasattr(extents, "__index__") else extents
        wanted = tuple([int(each) for each in listed])
        try:
            self.rebind(views.reshaped(self.node, wanted, False))
        except ValueError as error:
            raise AttributeError(f"shape: {error}; use x.reshape({wanted})") from None

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
    def strides(self) -> tuple[int, ...]:
        """The distance in bytes of neighbours along each dimension."""
        return layout.strides_of(self.node)

    @property
    def flags(self) -> layout.Flags:
        """How the elements lie in memory."""
        return layout.flags_of(self.node)

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

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._scalar(float if self.dtype.kind == "f" else int, "a number"), digits)

    def __repr__(self) -> str:
        from gridlane.xp.showing import text_of  # loads gridlane.cuda

        return text_of(self)

    def __str__(self) -> str:
        from gridlane.xp.showing import plain_of

        return plain_of(self)

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

    def astype(self, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Array:
        """The elements converted; a copy, unless ``copy`` is False and nothing changes."""
        wanted = dtypes.checked(dtype)
        if wanted != self.dtype:
            converted = Array(cast(self.node, wanted))
            return converted if device is None else converted.to_device(device)
        moved = self if device is None else self.to_device(device)
        return moved.copy() if copy and moved is self else moved

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (transport.downloaded(self.node), self.device)

    # --- other libraries ---

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """The module ``gridlane.xp``.

        Raises:
            ValueError: it is not of this version of the standard.
        """
        return protocols.namespace(api_version)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export the memory, or a copy of it, as a DLPack capsule."""
        from gridlane.xp.exporting import over  # most programs share no memory

        leaf = copied(self.node) if copy else self._exposed()
        return over(leaf).__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's (kind, number) of the memory; BufferError if it has no kind for that."""
        from gridlane.xp.exporting import place_of

        return place_of(self.leaf())

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface; AttributeError where CUDA's libraries cannot use the memory."""
        from gridlane.xp.exporting import over

        return over(self._exposed()).__cuda_array_interface__

    def _exposed(self) -> Node:
        """The leaf, in memory that other code may write to from now on."""
        storage = self.leaf().storage
        assert storage is not None
        expose(storage)  # no variable refers to the leaf: it would be taken for an expression
        return self.leaf()

    # --- elements ---

    def leaf(self) -> Node:
        """Compute the elements; return the node."""
        if self.node.is_pending:
            compute(self.node)
        if self.node.owner is None or self.node.owner() is not self:
            self._leave()
        return self.node

    def _leave(self) -> None:
        """Take another leaf of the same elements, or the same one if no other array owns it."""
        node, storage = self.node, self.node.storage
        assert storage is not None
        is_own = self._own(node)
        self.rebind(
            node if is_own else storage.leaf(node.dtype, node.shape, node.strides, node.offset)
        )

    def __getitem__(self, key: Any, /) -> Array:
        """A view of elements by integers, slices, ``None`` and ``...``; a copy by arrays."""
        return Array(indexing.selected(self.leaf(), key))

    def __setitem__(self, key: Any, value: Any, /) -> None:
        """Write elements; the value broadcasts, and is converted."""
        indexing.assign(self.leaf(), key, as_node(value, self))

    def fill(self, value: Any) -> None:
        """Write one value to all elements."""
        self[...] = value

    def __contains__(self, value: Any, /) -> bool:
        found: Any = self == value
        return isinstance(found, Array) and bool(protocols.namespace().any(found))

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError("iteration over an array of no dimensions")
        return (self[number] for number in range(len(self)))

    def sort(self, axis: int = -1) -> None:
        """Sort the elements along a dimension in place; see ``xp.sort``."""
        self[...] = protocols.namespace().sort(self, axis=axis)

    def partition(self, kth: Any, axis: int = -1) -> None:
        """Partition the elements along a dimension in place; see ``xp.partition``."""
        self[...] = protocols.namespace().partition(self, kth, axis=axis)

    # --- shapes ---

    @property
    def T(self) -> Array:
        """A view with the dimensions in reverse order."""
        return Array(views.permuted(self.node, tuple(reversed(range(self.ndim)))))

    @property
    def mT(self) -> Array:
        """A view of matrices with rows and columns exchanged.

        Raises:
            ValueError: there are fewer than two dimensions.
        """
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        rows = self.ndim - 2
        return Array(views.permuted(self.node, (*range(rows), rows + 1, rows)))

    def transpose(self, *axes: Any) -> Array:
        """A view with the dimensions in another order, by default reversed."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        return Array(views.permuted(self.node, order)) if order else self.T

    def reshape(self, *shape: Any, copy: bool | None = None) -> Array:
        """The elements in C's order in another shape, as a view if the memory allows."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return Array(views.reshaped(self.node, tuple([int(each) for each in wanted]), copy))

    def ravel(self) -> Array:
        """The elements in one dimension, as a view if the memory allows."""
        return self.reshape(-1)

    def flatten(self) -> Array:
        """A copy of the elements in one dimension."""
        return self.reshape(-1, copy=True)

    def squeeze(self, axis: Any = None) -> Array:
        """A view without dimensions of one element."""
        ones = tuple([place for place, extent in enumerate(self.shape) if extent == 1])
        return Array(views.squeezed(self.node, ones if axis is None else axis))

    # --- the namespace ---

    def __matmul__(self, other: Any, /) -> Any:
        return protocols.product(self, other)

    def __rmatmul__(self, other: Any, /) -> Any:
        return protocols.product(other, self)

    def __imatmul__(self, other: Any, /) -> Array:
        self[...] = protocols.product(self, other)
        return self

    def __divmod__(self, other: Any, /) -> Any:
        return called("divmod", self, other)

    def __rdivmod__(self, other: Any, /) -> Any:
        return called("divmod", other, self)

    @property
    def real(self) -> Any:
        """The real parts; no view."""
        return called("real", self)

    @property
    def imag(self) -> Any:
        """The imaginary parts; no view."""
        return called("imag", self)

    # --- NumPy ---

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        return protocols.ufunc(ufunc, method, operands, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return protocols.function(func, args, kwargs)


def restored(host: np.ndarray, device: str) -> Array:
    """An unpickled array."""
    return Array(transport.uploaded(host, get_device(device)))


def as_node(value: Any, like: Array) -> Node:
    """A value to store into an array, as a node.

    Raises:
        ValueError: it is on another device.
        OverflowError: the array's integers do not hold a number.
    """
    if isinstance(value, Array):
        node = value.node
        if node.device is not like.node.device:
            raise ValueError(
                f"the value is on the device {value.device}, and the array on {like.device}; copy "
                "it with x.to_device(...)"
            )
        return node
    if isinstance(value, (*NUMBERS, np.generic)):
        return scalar(value, like.dtype)
    host = np.asarray(value)
    if host.dtype != like.dtype:
        host = host.astype(like.dtype)
    assert like.node.device is not None
    return transport.uploaded(host, like.node.device)


def called(name: str, *operands: Any) -> Any:
    """The results of an operation; NotImplemented for an operand of another kind."""
    nodes: list[Any] = []
    for each in operands:
        if isinstance(each, Array):
            nodes.append(each.node)
        elif isinstance(each, (*NUMBERS, np.generic)):
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
    node = array.leaf() if array.node.storage is not None else array.node
    if node.storage is not None:
        check_target(node)
    if result.shape != array.shape:
        raise ValueError(f"{name}: the result's shape {result.shape} is not {array.shape}")
    if not np.can_cast(result.dtype, array.dtype, "same_kind"):
        raise TypeError(f"{name}: {result.dtype} cannot be cast to {array.dtype} in place")
    if node.storage is None or (
        not node.storage.outside and sum(each() is not None for each in node.storage.leaves) == 1
    ):
        array.rebind(cast(result.node, array.dtype))
    else:
        place = node.dtype, node.shape, node.strides, node.offset
        storage = node.storage
        del node  # a variable that refers to a leaf would be taken for an expression that reads it
        store(result.node, storage.leaf(*place))
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

_METHODS = (
    "all any argmax argmin argpartition argsort clip conj conjugate cumprod cumsum diagonal dot "
    "max mean min nonzero prod repeat round searchsorted std sum swapaxes take trace var"
)
"""The methods that are functions of the namespace, by NumPy's names."""


def _define() -> None:
    """Define the operators of arrays, each by an operation of the table, and methods."""

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
    for name in _METHODS.split():
        setattr(Array, name, protocols.Method(name))


_define()
