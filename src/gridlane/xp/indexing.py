"""Elements by NumPy's indices: views by integers, slices, ``None`` and ``...``; else gathers and
scatters by arrays of integers and masks."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gridlane.xp import transport, views
from gridlane.xp.applying import applied, broadcast, cast
from gridlane.xp.computing import check_target, copied, store
from gridlane.xp.nodes import Gather, Node, Shape
from gridlane.xp.operations import OPERATIONS

_INT64 = np.dtype(np.int64)


@dataclass(slots=True)
class _Axis:
    """A dimension of the indexed array that an array of integers selects from.

    Attributes:
        stride, extent: of the dimension.
        host: the integers, in bounds.
        number: of the dimension.
        node: the same on the device, if they were there.
    """

    stride: int
    extent: int
    host: np.ndarray
    number: int
    node: Node | None = None


@dataclass(slots=True)
class _Selection:
    """What a key selects.

    Attributes:
        leaf: the indexed elements.
        offset: of the first selected one, in bytes.
        shape, strides: of the dimensions that slices and ``None`` leave.
        place: the position among these of the dimensions of arrays.
        axes: what arrays select from.
    """

    leaf: Node
    offset: int
    shape: list[int] = field(default_factory=list[int])
    strides: list[int] = field(default_factory=list[int])
    place: int | None = None
    axes: list[_Axis] = field(default_factory=list[_Axis])
    _ends: int = -1

    def mark(self) -> None:
        """Note the place of an array, or of an integer beside one: the first dimension if anything
        separates them."""
        if self.place is None:
            self.place = len(self.shape)
        elif self._ends != len(self.shape):
            self.place = 0
        self._ends = len(self.shape)

    def separate(self) -> None:
        """Note a part of the key between arrays, of any number of dimensions."""
        self._ends = -1

    @property
    def grid(self) -> Shape:
        """The common shape of the arrays.

        Raises:
            IndexError: there is none.
        """
        shapes = [each.host.shape for each in self.axes]
        try:
            return broadcast(shapes)
        except ValueError:
            listed = " ".join(str(each).replace(" ", "") for each in shapes)
            raise IndexError(
                f"shape mismatch: indexing arrays could not be broadcast together with shapes "
                f"{listed}"
            ) from None

    def check(self) -> None:
        """Refuse indices out of bounds; make int64 of the others. Arrays that select nothing may
        have any.

        Raises:
            IndexError: one is.
        """
        is_empty = bool(self.axes) and 0 in self.grid
        for each in self.axes:
            outside = (each.host < -each.extent) | (each.host >= each.extent)
            if outside.any() and not (is_empty and each.host.ndim):
                raise IndexError(
                    f"index {each.host[outside][0]} is out of bounds for axis {each.number} with "
                    f"size {each.extent}"
                )
            each.host = each.host.astype(_INT64, copy=False)

    def around(self, middle: Shape, own: list[int]) -> Shape:
        """The dimensions of the result, from those of slices and those of arrays."""
        place = self.place or 0
        return (*own[:place], *middle, *own[place:])


def selected(leaf: Node, key: Any) -> Node:
    """The elements that a key selects: a view of the same memory, or a pending node.

    Raises:
        IndexError: the key is no index for this shape, or out of bounds.
        ValueError: an array of indices is on another device.
    """
    chosen = _selection(leaf, key)
    storage = leaf.storage
    assert storage is not None
    if not chosen.axes:
        return storage.leaf(leaf.dtype, tuple(chosen.shape), tuple(chosen.strides), chosen.offset)
    grid = chosen.grid
    shape = chosen.around(grid, chosen.shape)
    strides = chosen.around((0,) * len(grid), chosen.strides)
    source = storage.leaf(leaf.dtype, leaf.shape, leaf.strides, chosen.offset)
    axes = tuple([(each.stride, each.extent) for each in chosen.axes])
    indices = tuple([_on_device(each, chosen) for each in chosen.axes])
    node = Node(leaf.device, leaf.dtype, shape, Gather(source, strides, axes), indices)
    node.exposed = node.exposed or storage.outside
    return node


def assign(leaf: Node, key: Any, value: Node) -> None:
    """Write a value, which broadcasts, to the elements that a key selects. Of an element that is
    selected twice the last value counts.

    Raises:
        IndexError, ValueError: as ``selected``; the value does not broadcast, or the elements are
            read-only.
    """
    check_target(leaf)
    storage, dtype = leaf.storage, leaf.dtype
    assert storage is not None
    if value.storage is storage:
        value = copied(value)
    masked = _masked(leaf, key, value)
    if masked is not None:
        whole = leaf.shape, leaf.strides, leaf.offset
        del leaf  # a variable that refers to a leaf would be taken for an expression that reads it
        store(masked, storage.leaf(dtype, *whole))
        return
    chosen = _selection(leaf, key)
    del leaf
    shape, strides, offset = tuple(chosen.shape), tuple(chosen.strides), chosen.offset
    places: list[tuple[Node, int, int]] = []
    if chosen.axes:
        grid = chosen.grid
        fitted = _fitted(value, chosen.around(grid, chosen.shape))
        if value.size > 1:
            fitted = _last_values(chosen, fitted)
        grid = chosen.grid
        shape = chosen.around(grid, chosen.shape)
        strides = chosen.around((0,) * len(grid), chosen.strides)
        places = [(_on_device(each, chosen), each.stride, each.extent) for each in chosen.axes]
    else:
        fitted = _fitted(value, shape)
    del chosen
    store(fitted, storage.leaf(dtype, shape, strides, offset), tuple(places))


def _masked(leaf: Node, key: Any, value: Node) -> Node | None:
    """All elements, after one value is written where a mask of their shape holds; None for other
    keys and values."""
    mask = getattr(key, "node", None)
    if not isinstance(mask, Node) or mask.dtype.kind != "b" or value.size != 1:
        return None
    if not leaf.shape or mask.shape != leaf.shape or mask.device is not leaf.device:
        return None
    one = views.reshaped(value, ()) if value.shape else value
    return applied(OPERATIONS["where"], (mask, cast(one, leaf.dtype), leaf))[0]


def _fitted(value: Node, shape: Shape) -> Node:
    """A value that broadcasts to a shape, without more dimensions than that has."""
    extra = len(value.shape) - len(shape)
    own = value.shape[extra:] if extra > 0 else (1,) * -extra + value.shape
    is_wider = any(extent != 1 for extent in value.shape[: max(extra, 0)])
    if is_wider or any(a not in (1, b) for a, b in zip(own, shape, strict=True)):
        raise ValueError(
            f"could not broadcast input array from shape {value.shape} into shape {shape}"
        )
    return views.reshaped(value, own) if extra > 0 else value


def _last_values(chosen: _Selection, value: Node) -> Node:
    """Leave of indices that occur several times the last ones, and the values of these."""
    grid = chosen.grid
    places = np.zeros(grid, np.int64)
    for each in chosen.axes:
        places = places + np.where(each.host < 0, each.host + each.extent, each.host) * each.stride
    count = places.size
    _, from_end = np.unique(places.reshape(-1)[::-1], return_index=True)
    if len(from_end) == count:
        return value
    last = np.sort(count - 1 - from_end)
    whole = views.broadcasted(value, chosen.around(grid, chosen.shape))
    flat = views.reshaped(whole, chosen.around((count,), chosen.shape))
    for each in chosen.axes:
        each.host = np.broadcast_to(each.host, grid).reshape(-1)[last]
        each.node = None
    return selected(views.computed(flat), (*[slice(None)] * (chosen.place or 0), last))


def _on_device(axis: _Axis, chosen: _Selection) -> Node:
    """The indices of an axis, with dimensions for those that follow in the result."""
    device = chosen.leaf.device
    assert device is not None
    node = axis.node or transport.uploaded(axis.host.astype(_INT64), device)
    after = len(chosen.shape) - (chosen.place or 0)
    return views.reshaped(node, node.shape + (1,) * after) if after else node


# --- keys ---


def _selection(leaf: Node, key: Any) -> _Selection:
    keys = [_plain(each) for each in (key if isinstance(key, tuple) else (key,))]
    has_arrays = any(isinstance(each, (np.ndarray, Node)) for each in keys)
    chosen = _Selection(leaf, leaf.offset)
    axis = 0
    for each in _expanded(keys, leaf):
        if each is Ellipsis:
            chosen.separate()
        elif each is None:
            chosen.shape.append(1)
            chosen.strides.append(0)
        elif isinstance(each, slice):
            _slice(chosen, each, axis)
            axis += 1
        elif isinstance(each, (np.ndarray, Node)):
            chosen.mark()
            axis += _select(chosen, each, axis)
        else:
            if has_arrays:
                chosen.mark()
            index = _checked(each, leaf.shape[axis], axis)
            chosen.offset += index * leaf.strides[axis] * leaf.dtype.itemsize
            axis += 1
    chosen.check()
    return chosen


def _plain(key: Any) -> Any:
    """A part of a key: an array of NumPy's, a node of a device, or what is no array."""
    node = getattr(key, "node", None)
    if isinstance(node, Node):
        return node
    if isinstance(key, (bool, np.bool_)):
        return np.asarray(key)
    if isinstance(key, (list, np.ndarray)):
        host = np.asarray(key)
        return host.astype(_INT64) if isinstance(key, list) and not host.size else host
    return key


def _expanded(keys: list[Any], leaf: Node) -> list[Any]:
    """The keys with the slices of ``...`` behind it, for all dimensions."""
    dimensions = len(leaf.shape)
    ellipses = sum(1 for each in keys if each is Ellipsis)
    given = sum(_dimensions(each) for each in keys)
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if given > dimensions:
        raise IndexError(
            f"too many indices for array: array is {dimensions}-dimensional, but {given} were "
            "indexed"
        )
    whole = [slice(None)] * (dimensions - given)
    expanded: list[Any] = []
    for each in keys:
        expanded.append(each)
        if each is Ellipsis:
            expanded += whole
    return expanded if ellipses else expanded + whole


def _dimensions(key: Any) -> int:
    """The number of dimensions that a part of a key indexes."""
    if key is None or key is Ellipsis:
        return 0
    if isinstance(key, (np.ndarray, Node)) and key.dtype.kind == "b":
        return len(key.shape)
    return 1


def _slice(chosen: _Selection, key: slice, axis: int) -> None:
    leaf = chosen.leaf
    try:
        first, stop, step = key.indices(leaf.shape[axis])
    except TypeError:
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method"
        ) from None
    count, stride = len(range(first, stop, step)), leaf.strides[axis]
    chosen.shape.append(count)
    chosen.strides.append(stride * step)
    chosen.offset += first * stride * leaf.dtype.itemsize if count else 0


def _select(chosen: _Selection, key: np.ndarray | Node, axis: int) -> int:
    """Select by an array; the number of dimensions that it indexes."""
    leaf = chosen.leaf
    node = key if isinstance(key, Node) else None
    if node is not None and node.device is not leaf.device:
        assert node.device is not None and leaf.device is not None
        raise ValueError(
            f"the indices are on the device {node.device.name}, and the array on "
            f"{leaf.device.name}; copy them with x.to_device(...)"
        )
    host = transport.downloaded(key) if isinstance(key, Node) else key
    if host.dtype.kind == "b":
        _select_mask(chosen, host, axis)
        return host.ndim
    if host.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    extent = leaf.shape[axis]
    own = cast(node, _INT64) if node is not None else None
    chosen.axes.append(_Axis(leaf.strides[axis], extent, host, axis, own))
    return 1


def _select_mask(chosen: _Selection, mask: np.ndarray, axis: int) -> None:
    leaf = chosen.leaf
    for number, extent in enumerate(mask.shape):
        if extent not in (0, leaf.shape[axis + number]):
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + number}; size of "
                f"axis is {leaf.shape[axis + number]} but size of corresponding boolean axis is "
                f"{extent}"
            )
    if not mask.ndim:  # a new dimension, of one element or none
        chosen.axes.append(_Axis(0, 1, np.zeros(int(mask), np.int64), axis))
        return
    for number, places in enumerate(np.nonzero(mask)):
        own = axis + number
        chosen.axes.append(_Axis(leaf.strides[own], leaf.shape[own], places, own))


def _checked(key: Any, extent: int, axis: int) -> int:
    try:
        index = operator.index(key)
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
            f"boolean arrays are valid indices, not {key!r}"
        ) from None
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {extent}")
    return index + extent if index < 0 else index
