"""Scans as functions of arrays: cumulative sums and products, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.algorithms import OpKind, inclusive_scan
from gridlane.core.naming import named
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array
from gridlane.xp.computing import compute, new_leaf
from gridlane.xp.groups import LIMIT
from gridlane.xp.manipulation import concat
from gridlane.xp.nodes import Node
from gridlane.xp.reductions.functions import (
    accumulator_of,
    apply,
    delivered,
    filled,
    node_of,
    result_dtype,
)
from gridlane.xp.reductions.record import Scan
from gridlane.xp.views import axis_of

_STARTS = {"sum": 0, "prod": 1}


_OPERATORS = {"sum": OpKind.PLUS, "prod": OpKind.MULTIPLIES}
_LEAST = 1 << 14
"""Fewer elements are scanned by one block."""


def scanned(kind: str, node: Node, axis: int, result: np.dtype[Any]) -> Node:
    """The node of a scan along an axis: pending, or a leaf that one pass has computed."""
    if _is_one_pass(kind, node, axis, result):
        return _in_one_pass(kind, node, result)
    scan = Scan(kind, accumulator_of(result), axis)
    pending = Node(node.device, result, node.shape, scan, (node,))
    if pending.weight > LIMIT:
        compute(pending)
    return pending


def _is_one_pass(kind: str, node: Node, axis: int, result: np.dtype[Any]) -> bool:
    """Whether a scan of integers in memory takes one pass over them, on a device where that is
    faster than two."""
    device = node.device
    is_line = node.is_contiguous and node.size == node.shape[axis] >= _LEAST
    is_exact = node.dtype.kind in "iu" and result.kind in "iu" and kind in _OPERATORS
    if node.storage is None or device is None or not is_line or not is_exact:
        return False
    return device.limits.independent_blocks and not device.host_visible


def _in_one_pass(kind: str, node: Node, result: np.dtype[Any]) -> Node:
    assert node.device is not None
    out = new_leaf(node.device, result, node.shape)
    inclusive_scan(
        d_in=_line(node),
        d_out=_line(out),
        op=_OPERATORS[kind],
        init_value=result.type(_STARTS[kind]),
        num_items=node.size,
    )
    return out


def _line(leaf: Node) -> DeviceNDArray:
    """The device array over the elements of a leaf that follow each other, in one dimension."""
    storage, shape, strides = leaf.storage, (leaf.size,), (leaf.dtype.itemsize,)
    assert storage is not None
    address = storage.buffer.address + leaf.offset
    return DeviceNDArray(shape, strides, leaf.dtype, 0, storage.buffer, address, storage.readonly)


def _cumulative(
    name: str, kind: str, x: Any, axis: int | None, dtype: Any, include_initial: bool, out: Any
) -> Array:
    node = node_of(x, name)
    result = np.dtype(dtype) if dtype is not None else result_dtype(node.dtype, out)
    if result.kind != "c" and node.dtype.kind == "c":
        raise TypeError(f"{name}: complex numbers have no sum or product in {result}")
    if not node.shape:
        if axis is not None:
            axis_of(axis, 1)
        node = x.reshape(1).node
    elif axis is None and len(node.shape) > 1:
        raise ValueError(f"{name}: an array of several dimensions needs axis")
    along = axis_of(0 if axis is None else axis, len(node.shape))
    if result.kind == "b":  # NumPy's sum in bool is any, and its product is all
        truths = cast(cast(node, result), np.dtype(np.int64))
        value = apply("not_equal", scanned(kind, truths, along, truths.dtype), 0)
    else:
        value = scanned(kind, node, along, result)
    if include_initial:
        shape = (*node.shape[:along], 1, *node.shape[along + 1 :])
        first = filled(node, _STARTS[kind], result, shape)
        value = concat([Array(first), Array(value)], axis=along).node
    return delivered(value, out, name)


def _in_standard(name: str, kind: str, text: str):
    def cumulative(
        x: Array,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        include_initial: bool = False,
        out: Any = None,
    ) -> Array:
        return _cumulative(name, kind, x, axis, dtype, include_initial, out)

    return named(cumulative, name, text)


cumulative_sum = _in_standard(
    "cumulative_sum",
    "sum",
    """The sums of all elements up to each one along an axis, in the dtype of ``sum``.

    Args:
        axis: may be left out for one dimension.
        include_initial: start with a zero.

    Raises:
        AxisError: there is no such axis.
        ValueError: there are several dimensions, and no axis.

    >>> from gridlane import xp
    >>> cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
    array([0, 1, 3, 6])
    """,
)
cumulative_prod = _in_standard(
    "cumulative_prod",
    "prod",
    "The products of all elements up to each one along an axis; see ``cumulative_sum``.",
)


def _flat(x: Array, axis: int | None) -> Array:
    """The elements in C's order in one dimension, without an axis; those in memory that have one
    dimension as they are."""
    if axis is not None or not isinstance(x, Array):  # pyright: ignore[reportUnnecessaryIsInstance]
        return x
    return x if x.ndim == 1 and x.node.storage is not None else x.reshape(-1)


def cumsum(x: Array, /, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """NumPy's ``cumulative_sum``: without an axis, of the elements in C's order."""
    return _cumulative("cumsum", "sum", _flat(x, axis), axis, dtype, False, out)


def cumprod(x: Array, /, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """NumPy's ``cumulative_prod``: without an axis, of the elements in C's order."""
    return _cumulative("cumprod", "prod", _flat(x, axis), axis, dtype, False, out)


def diff(
    x: Array, /, n: int = 1, axis: int = -1, *, prepend: Any = None, append: Any = None
) -> Array:
    """The differences of neighbours along an axis, ``n`` times; of bool, whether they differ.

    Args:
        prepend, append: arrays in front of and behind ``x`` along the axis.

    Raises:
        AxisError: there is no such axis.
        ValueError: ``n`` is negative, or the array has no dimensions.
    """
    node = node_of(x, "diff")
    if n < 0:
        raise ValueError(f"diff: order must be non-negative but got {n}")
    if not node.shape:
        raise ValueError("diff: the array needs a dimension")
    along = axis_of(axis, len(node.shape))
    if n == 0:
        return x
    joined = [each for each in (prepend, x, append) if each is not None]
    whole = concat(joined, axis=along) if len(joined) > 1 else x
    name = "not_equal" if whole.dtype.kind == "b" else "subtract"
    front = (slice(None),) * along
    for _ in range(n):
        following, before = whole[(*front, slice(1, None))], whole[(*front, slice(None, -1))]
        whole = Array(apply(name, following.node, before.node))
    return whole
