"""The arrays of a kernel's function: what they are, checks of them, and new ones like them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.core.frozen import frozen
from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.kernels.external_arrays import resolved
from gridlane.frontends.triton import language as tl

FLOATS = ("float16", "bfloat16", "float32", "float64")
NARROW = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
INDICES = ("int32", "int64")
PRECISIONS = ("ieee", "tf32")
"""Of products of float32: exact ones, or of factors that instructions may round."""

_FAR = 2**31
"""Elements from the first one that an index of 32 bits does not reach."""


@frozen
class Operand:
    """An array argument.

    Attributes:
        name: of the parameter, for errors.
        value: the array: numpy's, torch's or ours.
        strides: in elements.
        dtype: its name.
    """

    name: str
    value: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.name} is {self.dtype} of shape {self.shape}"


def operand(name: str, value: Any, dtypes: Iterable[str], ndim: int | None = None) -> Operand:
    """An argument that a kernel reads.

    Args:
        dtypes: the names of those that it may have.
        ndim: the number of its dimensions, if that is fixed.

    Raises:
        ArgumentError: it is no array, or of another dtype or number of dimensions.
    """
    made = _described(name, value)
    if made.dtype not in dtypes:
        raise ArgumentError(f"{made}; it must be of {', '.join(dtypes)}")
    if ndim is not None and len(made.shape) != ndim:
        raise ArgumentError(f"{made}; it must have {ndim} dimensions")
    # Kernels get the address of the first element: what is in front of it is no part of an array.
    steps = zip(made.shape, made.strides, strict=True)
    if made.size and any((n > 1 and step < 0) or (n > 1 and step == 0) for n, step in steps):
        return contiguous(made)
    return made


def result(name: str, out: Any, like: Operand, shape: Sequence[int], dtype: str) -> Operand:
    """The array that a kernel writes: ``out``, or a new one of the kind of ``like``.

    Raises:
        ArgumentError: ``out`` is no array, of another shape or dtype, or repeats its elements.
    """
    if out is None:
        return new(name, like, shape, dtype)
    made = _described(name, out)
    expect_shape(made, tuple(shape))
    if made.dtype != dtype:
        raise ArgumentError(f"{made}; it must be of {dtype}")
    if made.size and any(
        n > 1 and step <= 0 for n, step in zip(made.shape, made.strides, strict=True)
    ):
        raise ArgumentError(f"{made}, with strides {made.strides}; its steps must be positive")
    return made


def new(name: str, like: Operand, shape: Sequence[int], dtype: str) -> Operand:
    """A new array of the kind of another one, of any elements."""
    value = like.value
    if isinstance(value, np.ndarray):
        return _described(name, np.empty(tuple(shape), _numpy_dtype(dtype)))
    if isinstance(value, DeviceNDArray):
        return _described(name, device_array(tuple(shape), _numpy_dtype(dtype)))
    made = value.new_empty(tuple(shape), dtype=getattr(import_module("torch"), dtype))
    return _described(name, made)


def zeros(name: str, like: Operand, shape: Sequence[int], dtype: str) -> Operand:
    """A new array of zeros of the kind of another one."""
    made = new(name, like, shape, dtype)
    if isinstance(made.value, np.ndarray | DeviceNDArray):
        made.value.fill(0)
    else:
        made.value.zero_()
    return made


def contiguous(array: Operand) -> Operand:
    """A copy in C's order, or the array itself if it is in that."""
    if array.strides == _in_order(array.shape):
        return array
    value = array.value
    if isinstance(value, np.ndarray):
        return _described(array.name, np.ascontiguousarray(value))
    if isinstance(value, DeviceNDArray):
        return _described(array.name, value.astype(value.dtype))
    return _described(array.name, value.contiguous())


def transposed(array: Operand) -> Operand:
    """An array of matrices with rows for columns, over the same memory."""
    shape, steps = ((*e[:-2], e[-1], e[-2]) for e in (array.shape, array.strides))
    return Operand(array.name, array.value, shape, steps, array.dtype)


def expect_shape(array: Operand, shape: tuple[int, ...]) -> None:
    """Raise ArgumentError if an array has another shape."""
    if array.shape != shape:
        raise ArgumentError(f"{array}; its shape must be {shape}")


def expect_dtype(array: Operand, other: Operand) -> None:
    """Raise ArgumentError if an array's dtype is not that of another one."""
    if array.dtype != other.dtype:
        raise ArgumentError(f"{array}, and {other}: they must have one dtype")


def expect_like(array: Operand, other: Operand) -> None:
    """Raise ArgumentError if an array has another shape or dtype than another one."""
    expect_shape(array, other.shape)
    expect_dtype(array, other)


def index_type(*arrays: Operand | None) -> Any:
    """The type of indices that reaches all elements: ``int32`` if that is wide enough."""
    for each in arrays:
        if each is not None and _span(each) >= _FAR:
            return tl.int64
    return tl.int32


def sum_type(dtype: str) -> Any:
    """The type in which a kernel adds up elements: float64 for float64, else float32."""
    return tl.float64 if dtype == "float64" else tl.float32


def sum_name(dtype: str) -> str:
    """The name of ``sum_type`` as a dtype."""
    return "float64" if dtype == "float64" else "float32"


def rows_of(*arrays: Operand) -> list[Operand] | None:
    """Arrays of shape (rows, columns) over the same memory, for arrays of one shape whose last
    dimension holds the columns; None where the rows of one have no one step."""
    shape = arrays[0].shape
    groups = merged(shape[:-1], [each.strides[:-1] for each in arrays])
    if len(groups) > 1:
        return None
    count, steps = groups[0] if groups else (1, (0,) * len(arrays))
    return [
        Operand(each.name, each.value, (count, shape[-1]), (step, each.strides[-1]), each.dtype)
        for each, step in zip(arrays, steps, strict=True)
    ]


def as_rows(*arrays: Operand) -> list[Operand]:
    """``rows_of``, of copies where there is no other way; the last array is written.

    Raises:
        ArgumentError: the last array is not contiguous, and its rows have no one step.
    """
    found = rows_of(*arrays)
    if found is None:
        *read, written = arrays
        found = rows_of(*map(contiguous, read), written)
    if found is None:
        raise ArgumentError(
            f"{arrays[-1]}, with strides {arrays[-1].strides}: its rows are not one step apart; "
            "pass a contiguous array"
        )
    return found


def merged(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> list[tuple[int, tuple[int, ...]]]:
    """Dimensions of several arrays with those joined that are one step apart in all of them.

    Returns:
        For each dimension its extent, and its step in each array.

    >>> merged((2, 3, 4), [(12, 4, 1), (24, 8, 2)])
    [(24, (1, 2))]
    """
    groups: list[tuple[int, tuple[int, ...]]] = []
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        steps = tuple([each[axis] for each in strides])
        if groups:
            above, far = groups[-1]
            if all(step * extent == one for step, one in zip(steps, far, strict=True)):
                groups[-1] = above * extent, steps
                continue
        groups.append((extent, steps))
    return groups


def _described(name: str, value: Any) -> Operand:
    array = value if isinstance(value, np.ndarray) or _is_torch(value) else resolved(value)
    if isinstance(array, np.ndarray | DeviceNDArray):
        size = array.dtype.itemsize
        steps = array.strides
        if any(step % size for step in steps):
            raise ArgumentError(
                f"{name} is {array.dtype} with strides {steps}: they must be multiples of {size} "
                "bytes"
            )
        if not array.dtype.isnative:
            raise ArgumentError(f"{name} is {array.dtype}: its bytes are in the other order")
        strides = tuple([step // size for step in steps])
        return Operand(name, array, tuple(array.shape), strides, array.dtype.name)
    if _is_torch(array):
        dtype = str(array.dtype).removeprefix("torch.")
        return Operand(name, array.detach(), tuple(array.shape), tuple(array.stride()), dtype)
    raise ArgumentError(f"{name} is a {type(value).__name__}: it must be an array")


def _is_torch(value: Any) -> bool:
    return all(hasattr(value, each) for each in ("data_ptr", "new_empty", "stride", "detach"))


def _in_order(shape: Sequence[int]) -> tuple[int, ...]:
    steps: list[int] = []
    step = 1
    for extent in reversed(shape):
        steps.append(step)
        step *= extent
    return tuple(reversed(steps))


def _span(array: Operand) -> int:
    if not array.size:
        return 0
    return sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)) + 1


@cache
def _numpy_dtype(name: str) -> np.dtype[Any]:
    try:
        return np.dtype(name)
    except TypeError:
        return np.dtype(getattr(import_module("ml_dtypes"), name))
