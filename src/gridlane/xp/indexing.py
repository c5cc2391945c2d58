"""Views of elements: integers, slices, ``None`` and ``...``."""

from __future__ import annotations

import operator
from typing import Any

from gridlane.xp.nodes import Node


def view(leaf: Node, key: Any) -> Node:
    """A leaf over some of another leaf's elements, in the same memory.

    Raises:
        IndexError: the key is no index for this shape.
    """
    keys = _expanded(key if isinstance(key, tuple) else (key,), len(leaf.shape), leaf)
    shape: list[int] = []
    strides: list[int] = []
    offset, axis = leaf.offset, 0
    for each in keys:
        if each is None:
            shape.append(1)
            strides.append(0)
            continue
        extent, stride = leaf.shape[axis], leaf.strides[axis]
        if isinstance(each, slice):
            first, stop, step = each.indices(extent)
            count = len(range(first, stop, step))
            shape.append(count)
            strides.append(stride * step)
            offset += first * stride * leaf.dtype.itemsize if count else 0
        else:
            index = _checked(each, extent, axis)
            offset += index * stride * leaf.dtype.itemsize
        axis += 1
    assert leaf.storage is not None
    return leaf.storage.leaf(leaf.dtype, tuple(shape), tuple(strides), offset)


def _expanded(keys: tuple[Any, ...], dimensions: int, leaf: Node) -> list[Any]:
    """The keys with ``...`` written out, one for each dimension besides those that are None."""
    given = sum(1 for each in keys if each is not None and each is not Ellipsis)
    ellipses = sum(1 for each in keys if each is Ellipsis)
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
        if each is Ellipsis:
            expanded += whole
        else:
            expanded.append(each)
    return expanded if ellipses else expanded + whole


def _checked(key: Any, extent: int, axis: int) -> int:
    try:
        index = operator.index(key)
    except TypeError:
        raise IndexError(
            f"only integers, slices, ellipsis and None are valid indices here, not {key!r}"
        ) from None
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {extent}")
    return index + extent if index < 0 else index
