"""Arrays from other objects, and of computed elements."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.xp import dtypes, interop, transport
from gridlane.xp.applying import applied, cast
from gridlane.xp.arrays import Array
from gridlane.xp.computing import copied, new_leaf, store
from gridlane.xp.nodes import CAST, Node, Shape, index, number
from gridlane.xp.operands import of_array, of_arrays
from gridlane.xp.operations import OPERATIONS
from gridlane.xp.views import broadcasted, reshaped, shape_of

if TYPE_CHECKING:
    from gridlane.runtime.protocol import Device


def _device(name: str | None) -> Device:
    return current.device() if name is None else get_device(name)


def asarray(
    obj: Any, /, dtype: Any = None, *, device: str | None = None, copy: bool | None = None
) -> Array:
    """An array of a device, from numbers, nested lists, a NumPy array or an array of any device.

    Args:
        dtype: of the elements; by default NumPy's for the value.
        device: a name, as of ``gridlane.device``; by default the value's, else the current one.
        copy: True for memory of its own, False for the memory of ``obj``.

    Raises:
        TypeError: kernels cannot hold elements of the dtype.
        ValueError: ``copy=False``, and the elements are elsewhere or of another dtype.
        DeviceError: OUT_OF_MEMORY, or there is no such device.

    >>> asarray([1, 2, 3]) * 2.5
    array([2.5, 5. , 7.5])
    """
    wanted = None if dtype is None else dtypes.checked(dtype)
    if not isinstance(obj, (Array, np.ndarray, np.generic)) and hasattr(obj, "__dlpack__"):
        obj = interop.from_dlpack(obj, device=device, copy=copy)
        copy = False if copy is False else None
    if isinstance(obj, Array):
        return _of_array(obj, wanted, device, copy)
    if copy is False:
        raise ValueError(f"asarray: a {type(obj).__name__} needs a copy, and copy=False")
    host = np.asarray(obj, wanted)
    host = host.astype(dtypes.checked(host.dtype), copy=False)
    return Array(transport.uploaded(host, _device(device)))


def _of_array(
    array: Array, dtype: np.dtype[Any] | None, device: str | None, copy: bool | None
) -> Array:
    moved = array if device is None else array.to_device(device)
    converted = moved if dtype is None else moved.astype(dtype, copy=False)
    if converted is not array:
        if copy is False:
            raise ValueError("asarray: another dtype or device needs a copy, and copy=False")
        return converted
    return array.copy() if copy else array


def array(
    obj: Any, /, dtype: Any = None, *, device: str | None = None, copy: bool | None = True
) -> Array:
    """``asarray`` that copies, as NumPy's function of this name does."""
    return asarray(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Array:
    """An array over the memory of another library's array, or with a copy of its elements.

    Args:
        device: where the array is to be; by default where ``x`` is.
        copy: True for memory of its own, False for the memory of ``x``.

    Raises:
        TypeError: ``x`` has no ``__dlpack__``.
        BufferError: DLPack cannot describe it, or ``copy=False`` and the elements are elsewhere.
    """
    return interop.from_dlpack(x, device=device, copy=copy)


# --- of one value ---


def empty(shape: Any, dtype: Any = None, *, device: str | None = None) -> Array:
    """An array whose elements are whatever its memory holds."""
    own = dtypes.checked(np.float64 if dtype is None else dtype)
    return Array(new_leaf(_device(device), own, shape_of(shape)))


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: str | None = None) -> Array:
    """An array of equal elements: a Python number, or an array of no dimensions.

    Raises:
        OverflowError: the dtype's integers do not hold the number.
    """
    if isinstance(fill_value, Array):
        return broadcast_full(fill_value, shape_of(shape), dtype, device)
    own = dtypes.checked(np.asarray(fill_value).dtype if dtype is None else dtype)
    return Array(_filled(shape_of(shape), fill_value, own, _device(device)))


def broadcast_full(value: Array, shape: Shape, dtype: Any, device: str | None) -> Array:
    """An array of a shape, with a copy of the elements that broadcast to it."""
    there = asarray(value, dtype=dtype, device=device)
    result = new_leaf(_device(there.device), there.dtype, shape)
    array = Array(result)
    array[...] = there
    return array


def _filled(shape: Shape, value: Any, dtype: np.dtype[Any], device: Device) -> Node:
    return Node(device, dtype, shape, CAST, (_number(value, dtype),))


def _number(value: Any, dtype: np.dtype[Any]) -> Node:
    """A Python number as a node of a dtype, converted as NumPy does."""
    if dtype.kind in "iu" and not isinstance(value, (bool, int, np.integer)):
        value = int(np.asarray(value).astype(dtype))
    if dtype.kind == "b":
        value = bool(value)
    return number(value.item() if isinstance(value, np.generic) else value, dtype)


def zeros(shape: Any, dtype: Any = None, *, device: str | None = None) -> Array:
    """An array of zeros."""
    return full(shape, 0, dtype=np.float64 if dtype is None else dtype, device=device)


def ones(shape: Any, dtype: Any = None, *, device: str | None = None) -> Array:
    """An array of ones."""
    return full(shape, 1, dtype=np.float64 if dtype is None else dtype, device=device)


def _like(x: Array, dtype: Any, device: str | None) -> dict[str, Any]:
    own = x.dtype if dtype is None else dtype
    return {"dtype": own, "device": x.device if device is None else device}


@of_array
def empty_like(x: Array, /, dtype: Any = None, *, device: str | None = None) -> Array:
    """An array of the shape, dtype and device of another one; see ``empty``."""
    return empty(x.shape, **_like(x, dtype, device))


@of_array
def full_like(
    x: Array, /, fill_value: Any, dtype: Any = None, *, device: str | None = None
) -> Array:
    """An array of equal elements, of the shape, dtype and device of another one."""
    return full(x.shape, fill_value, **_like(x, dtype, device))


@of_array
def zeros_like(x: Array, /, dtype: Any = None, *, device: str | None = None) -> Array:
    """Zeros of the shape, dtype and device of another array."""
    return zeros(x.shape, **_like(x, dtype, device))


@of_array
def ones_like(x: Array, /, dtype: Any = None, *, device: str | None = None) -> Array:
    """Ones of the shape, dtype and device of another array."""
    return ones(x.shape, **_like(x, dtype, device))


# --- of numbers in order ---


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    device: str | None = None,
) -> Array:
    """Numbers from ``start``, or 0, up to ``stop``, which is left out.

    >>> arange(2, 8, 3)
    array([2, 5])

    Raises:
        ZeroDivisionError: the step is 0.
        TypeError: the dtype is bool.
    """
    if stop is None:
        start, stop = 0, start
    start, stop, step = [
        each.item() if hasattr(each, "item") else each for each in (start, stop, step)
    ]
    count = max(0, math.ceil((stop - start) / step))
    if all(isinstance(each, int) for each in (start, stop, step)):
        count = len(range(start, stop, step))
    (count,) = shape_of(count)
    own = dtypes.checked(np.result_type(start, stop, step) if dtype is None else dtype)
    if own.kind == "b":
        raise TypeError("arange: the dtype is one of numbers, not bool")
    return Array(_ramp(count, start, start + step, own, _device(device)))


def _ramp(count: int, first: Any, second: Any, dtype: np.dtype[Any], device: Device) -> Node:
    """Numbers with the distance of the first two, in the arithmetic of the dtype."""
    if dtype.kind in "iub":
        first, second = int(first), int(second)
        indices = index(device, (count,), (_wrapped(second - first),), _wrapped(first))
        return cast(indices, dtype)
    start = _number(first, dtype)
    step = np.subtract(dtype.type(second), dtype.type(first))
    indices = cast(index(device, (count,), (1,)), dtype)
    product = Node(device, dtype, (count,), OPERATIONS["multiply"], (indices, number(step, dtype)))
    return Node(device, dtype, (count,), OPERATIONS["add"], (product, start))


def _wrapped(value: int) -> int:
    """An integer in the range of int64, by its lowest bits."""
    return (value + 2**63) % 2**64 - 2**63


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int = 50,
    endpoint: bool = True,
    *,
    dtype: Any = None,
    device: str | None = None,
) -> Array:
    """Numbers at equal distances from ``start`` to ``stop``, computed as NumPy does.

    Args:
        num: how many.
        endpoint: whether ``stop`` is the last of them.

    >>> linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    computing = dtypes.result_type(start, stop, 1.0)
    own = dtypes.checked(computing if dtype is None else dtype)
    first, last = computing.type(start), computing.type(stop)
    steps = count - 1 if endpoint else count
    there = _device(device)
    node = _spaced(count, first, last - first, max(steps, 1), computing, there)
    if own.kind in "iu":
        node = applied(OPERATIONS["floor"], (node,))[0]
    result = Array(cast(node, own))
    if endpoint and count > 1:
        result[-1] = _number(last, own).number
    return result


def _spaced(
    count: int, first: Any, delta: Any, steps: int, dtype: np.dtype[Any], device: Device
) -> Node:
    """``first + i * delta / steps``, in NumPy's order."""
    indices = cast(index(device, (count,), (1,)), dtype)

    def apply(name: str, node: Node, value: Any) -> Node:
        return Node(device, dtype, node.shape, OPERATIONS[name], (node, number(value, dtype)))

    step = delta / steps
    if step == 0 and delta != 0:  # a subnormal difference
        scaled = apply("multiply", apply("multiply", indices, dtype.type(1 / steps)), delta)
    else:
        scaled = apply("multiply", indices, step)
    return apply("add", scaled, first)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    k: int = 0,
    dtype: Any = None,
    *,
    device: str | None = None,
) -> Array:
    """Ones on a diagonal, ``k`` above the main one, and zeros elsewhere."""
    rows, columns = shape_of((n_rows, n_rows if n_cols is None else n_cols))
    result = zeros((rows, columns), dtype=dtype, device=device)
    first_row, first_column = max(0, -k), max(0, k)
    length = min(rows - first_row, columns - first_column)
    if length > 0:
        leaf = result.leaf()
        assert leaf.storage is not None
        first = (first_row * columns + first_column) * leaf.dtype.itemsize
        diagonal = leaf.storage.leaf(leaf.dtype, (length,), (columns + 1,), first)
        store(_number(1, leaf.dtype), diagonal)
    return result


@of_arrays
def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    """Arrays of the coordinates of a grid, of which each argument has those of one dimension.

    Args:
        indexing: "xy" for rows of the second argument and columns of the first, else "ij".
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    if len({each.dtype for each in arrays}) > 1:
        raise ValueError("meshgrid: the arrays have one dtype")
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[:2] = 1, 0
    shape = tuple([arrays[each].size for each in order])
    results: list[Array] = []
    for place, each in enumerate(arrays):
        own = [1] * len(arrays)
        own[order.index(place)] = each.size
        results.append(Array(copied(broadcasted(reshaped(each.node, tuple(own)), shape))))
    return tuple(results)


@of_array
def tril(x: Array, /, k: int = 0) -> Array:
    """Matrices with zeros above the diagonal that is ``k`` above the main one."""
    return _triangle(x, k, "less_equal")


@of_array
def triu(x: Array, /, k: int = 0) -> Array:
    """Matrices with zeros below the diagonal that is ``k`` above the main one."""
    return _triangle(x, k, "greater_equal")


def _triangle(x: Array, k: int, comparison: str) -> Array:
    """The elements where the column less the row compares so to ``k``, else zeros."""
    if x.ndim < 2:
        raise ValueError("tril and triu take arrays of at least two dimensions")
    device = x.node.device
    assert device is not None
    distance = index(device, x.shape, (*[0] * (x.ndim - 2), -1, 1))
    (inside,) = applied(OPERATIONS[comparison], (distance, operator.index(k)))
    (result,) = applied(OPERATIONS["where"], (inside, x.node, _number(0, x.dtype)))
    return Array(result)
