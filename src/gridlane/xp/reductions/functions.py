"""Reductions as functions of arrays."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from gridlane.core.dtypes import bf16, f16
from gridlane.core.naming import named
from gridlane.xp.applying import applied, cast, device_of
from gridlane.xp.arrays import Array
from gridlane.xp.computing import compute, store
from gridlane.xp.groups import LIMIT
from gridlane.xp.kernels import part_of
from gridlane.xp.nodes import CAST, Node, number
from gridlane.xp.operations import OPERATIONS
from gridlane.xp.reductions.record import Reduction
from gridlane.xp.views import axis_of

Axes = int | tuple[int, ...] | None
_EMPTY = {"sum": 0, "prod": 1, "any": False, "all": True, "count_nonzero": 0, "mean": math.nan}
"""The results for no elements."""
_STARTS = {"sum": "add", "prod": "multiply", "min": "minimum", "max": "maximum"}
"""The operation that combines ``initial`` with a result."""


# --- operands ---


def node_of(x: Any, name: str) -> Node:
    """The node of an array.

    Raises:
        TypeError: it is no array of this package.
    """
    if not isinstance(x, Array):
        raise TypeError(
            f"{name}: the operand is an array of gridlane.xp, not {type(x).__name__}; copy others "
            "with xp.asarray"
        )
    return x.node


def axes_of(axis: Any, dimensions: int) -> tuple[int, ...]:
    """Axes as an ascending tuple; all for None.

    Raises:
        AxisError: there is no such axis.
        ValueError: one comes twice.
    """
    if axis is None:
        return tuple(range(dimensions))
    axes = [axis_of(each, dimensions) for each in (axis if isinstance(axis, tuple) else (axis,))]
    if len(set(axes)) < len(axes):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(axes))


def reduced_axes(axis: Any, dimensions: int) -> tuple[int, ...]:
    """The axes of a reduction; see ``axes_of``. A number's only element is along 0 and -1 too, as
    NumPy's ufuncs have it."""
    if not dimensions and axis is not None and not isinstance(axis, tuple):
        axis_of(axis, 1)
        return ()
    return axes_of(axis, dimensions)


def accumulator_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that elements of a dtype are combined in: of 32 bits at least."""
    if dtype.kind == "c":
        return dtype
    part = part_of(dtype)
    if part in (f16, bf16):
        return np.dtype(np.float32)
    if part.size >= 4:
        return dtype
    return np.dtype(np.uint32 if dtype.kind == "u" else np.int32)


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Whether elements are floats, bfloat16 included, or complex."""
    return dtype.kind == "c" or part_of(dtype).is_float


def total_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """NumPy's dtype of a sum or product of elements."""
    if dtype.kind == "b" or (dtype.kind == "i" and dtype.itemsize < 8):
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if dtype.kind == "u" and dtype.itemsize < 8 else dtype


def result_dtype(dtype: np.dtype[Any], out: Any) -> np.dtype[Any]:
    """NumPy's dtype of a sum or product without ``dtype=``: that of ``out``, if elements are cast
    to it."""
    if isinstance(out, Array) and np.can_cast(dtype, out.dtype, "same_kind"):
        return out.dtype
    return total_dtype(dtype)


# --- nodes ---


def reduced(
    kind: str,
    node: Node,
    axes: tuple[int, ...],
    result: np.dtype[Any],
    *,
    accumulator: np.dtype[Any] | None = None,
    keepdims: bool = False,
    where: Node | None = None,
) -> Node:
    """The pending node of a reduction.

    Args:
        result: the dtype of the results.
        accumulator: by default that for the dtype of the results.
        where: which elements take part, broadcast to their shape.
    """
    shape = tuple(
        [
            1 if axis in axes else extent
            for axis, extent in enumerate(node.shape)
            if keepdims or axis not in axes
        ]
    )
    if not node.size and kind in _EMPTY:
        return filled(node, _EMPTY[kind], result, shape)
    own = accumulator or accumulator_of(result)
    operands = (node,) if where is None else (node, where)
    pending = Node(node.device, result, shape, Reduction(kind, own, axes, keepdims), operands)
    if pending.weight > LIMIT:
        compute(pending)
    return pending


def filled(like: Node, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Node:
    """A node of equal elements on a node's device."""
    return Node(like.device, dtype, shape, CAST, (number(value, dtype),))


def apply(name: str, *operands: Any) -> Node:
    """The first result of an operation of the table."""
    return applied(OPERATIONS[name], operands)[0]


def mask_of(where: Any, node: Node, name: str) -> Node | None:
    """Which elements take part; None for all."""
    if where is None or where is True:
        return None
    mask = node_of(where, name) if not isinstance(where, bool) else number(where, np.dtype(bool))
    if mask.dtype != np.dtype(bool):
        raise TypeError(f"{name}: where is an array of bool, not of {mask.dtype}")
    device_of((node, mask), name)
    if np.broadcast_shapes(mask.shape, node.shape) != node.shape:
        raise ValueError(f"{name}: where has the shape {mask.shape}, and the array {node.shape}")
    return mask


def delivered(node: Node, out: Any, name: str) -> Array:
    """The array of a result: a new one, or ``out`` with its elements.

    Raises:
        ValueError: ``out`` has another shape.
    """
    if out is None:
        return Array(node)
    target = node_of(out, name)
    if target.shape != node.shape:
        raise ValueError(f"{name}: out has the shape {target.shape}, and the result {node.shape}")
    if not np.can_cast(node.dtype, target.dtype, "same_kind"):
        raise TypeError(f"{name}: {node.dtype} cannot be cast to {target.dtype}, the dtype of out")
    store(node, out.leaf())
    return out


# --- sums and products ---


def _start(initial: Any) -> Any:
    return initial.node if isinstance(initial, Array) else initial


def _total(name: str, text: str):
    def total(
        x: Array,
        /,
        axis: Axes = None,
        dtype: Any = None,
        *,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
        out: Any = None,
    ) -> Array:
        node = node_of(x, name)
        result = np.dtype(dtype) if dtype is not None else result_dtype(node.dtype, out)
        if result.kind == "b":  # NumPy's sum in bool is any, and its product is all
            node = reduced(
                "any" if name == "sum" else "all",
                node,
                reduced_axes(axis, len(node.shape)),
                result,
                keepdims=keepdims,
                where=mask_of(where, node, name),
            )
        else:
            axes, mask = reduced_axes(axis, len(node.shape)), mask_of(where, node, name)
            if result.kind != "c" and node.dtype.kind == "c":
                raise TypeError(f"{name}: complex numbers have no sum or product in {result}")
            node = reduced(name, node, axes, result, keepdims=keepdims, where=mask)
        if initial is not None:
            node = cast(apply(_STARTS[name], node, _start(initial)), result)
        return delivered(node, out, name)

    return named(total, name, text)


sum = _total(  # the standard's name
    "sum",
    """The sum of elements along axes, in NumPy's dtype for it; float16 is summed in float32.

    Raises:
        AxisError: there is no such axis.

    >>> from gridlane import xp
    >>> sum(xp.asarray([[1, 2], [3, 4]]), axis=0)
    array([4, 6])
    """,
)
prod = _total("prod", "The product of elements along axes, in NumPy's dtype for it; see ``sum``.")


# --- order ---


def _farthest(name: str, dtype: np.dtype[Any]) -> bool | int:
    """The number of a dtype that changes no extreme."""
    if dtype.kind == "b":
        return name == "min"
    return np.iinfo(dtype).max if name == "min" else np.iinfo(dtype).min


def _extreme(name: str, text: str):
    def extreme(
        x: Array,
        /,
        axis: Axes = None,
        *,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
        out: Any = None,
    ) -> Array:
        node = node_of(x, name)
        axes, mask = reduced_axes(axis, len(node.shape)), mask_of(where, node, name)
        if initial is None and mask is not None:
            raise ValueError(
                f"{name}: with where, initial is the result where no element takes part"
            )
        length = math.prod([node.shape[each] for each in axes])
        if length == 0:
            if initial is None:
                raise ValueError(f"{name}: an array of no elements has no {name}")
            shape = tuple(
                [
                    1 if i in axes else n
                    for i, n in enumerate(node.shape)
                    if keepdims or i not in axes
                ]
            )
            start = initial.item() if isinstance(initial, Array) else initial
            return delivered(filled(node, start, node.dtype, shape), out, name)
        if mask is not None and node.dtype.kind in "biu":
            # The identity of a wider accumulator is no number of the dtype.
            node, mask = apply("where", mask, node, _farthest(name, node.dtype)), None
        result = reduced(name, node, axes, node.dtype, keepdims=keepdims, where=mask)
        if initial is not None:
            result = cast(apply(_STARTS[name], result, _start(initial)), node.dtype)
        return delivered(result, out, name)

    return named(extreme, name, text)


min = _extreme(  # the standard's name
    "min",
    """The least element along axes, or NaN if one is NaN. Complex numbers are ordered by their real
    parts first, and are NaN if a part is.

    Raises:
        AxisError: there is no such axis.
        ValueError: there are no elements, and no ``initial``.
    """,
)
max = _extreme(  # the standard's name
    "max", "The greatest element along axes, or NaN if one is NaN; see ``min``."
)


def _argument(name: str, text: str):
    def argument(
        x: Array, /, axis: int | None = None, *, keepdims: bool = False, out: Any = None
    ) -> Array:
        node = node_of(x, name)
        if axis is not None:
            operator.index(axis)
        axes = reduced_axes(axis, len(node.shape))
        if math.prod([node.shape[each] for each in axes]) == 0:
            raise ValueError(f"attempt to get {name} of an empty sequence")
        accumulator = accumulator_of(node.dtype)
        result = reduced(
            name, node, axes, np.dtype(np.int64), accumulator=accumulator, keepdims=keepdims
        )
        return delivered(result, out, name)

    return named(argument, name, text)


argmin = _argument(
    "argmin",
    """The index of the first least element, or of the first NaN: along an axis, or in C's order.

    Raises:
        AxisError: there is no such axis.
        ValueError: there are no elements.
    """,
)
argmax = _argument(
    "argmax", "The index of the first greatest element, or of the first NaN; see ``argmin``."
)


# --- truth ---


def _truth(
    name: str, x: Any, axis: Axes, keepdims: bool, where: Any, out: Any, result: type[Any]
) -> Array:
    node = node_of(x, name)
    node = reduced(
        name,
        node,
        reduced_axes(axis, len(node.shape)),
        np.dtype(result),
        accumulator=node.dtype,
        keepdims=keepdims,
        where=mask_of(where, node, name),
    )
    return delivered(node, out, name)


def _quantified(name: str, text: str):
    def quantified(
        x: Array,
        /,
        axis: Axes = None,
        *,
        keepdims: bool = False,
        where: Any = None,
        out: Any = None,
    ) -> Array:
        return _truth(name, x, axis, keepdims, where, out, bool)

    return named(quantified, name, text)


any = _quantified("any", "Whether an element along axes is true; NaN is.")  # the standard's name
all = _quantified("all", "Whether all elements along axes are true.")  # the standard's name


def count_nonzero(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The number of elements along axes that are not zero."""
    return _truth("count_nonzero", x, axis, keepdims, None, None, np.int64)
