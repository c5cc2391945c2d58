"""Arguments of the makers of block and warp algorithms: dimensions, types, numbers of items."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gridlane.algorithms.structs import StructClass
from gridlane.core.argtypes import ArgType
from gridlane.core.numpy_types import from_numpy
from gridlane.cuda import types

MOST_THREADS = 1024
WARP = 32


class dim3(NamedTuple):  # noqa: N801  # NVIDIA's name
    """The dimensions of a block."""

    x: int
    y: int
    z: int


def normalize_dim_param(dim: Any) -> dim3:
    """The dimensions of a block, of a number of threads or of a tuple of two or three.

    Raises:
        ValueError: another type, or a negative number.
    """
    if isinstance(dim, dim3):
        return dim
    if isinstance(dim, int):
        if dim < 0:
            raise ValueError(f"Dimension value must be non-negative, got {dim}")
        return dim3(dim, 1, 1)
    if not isinstance(dim, tuple):
        raise ValueError(f"Unsupported dimension type: {type(dim)}")
    sizes: tuple[int, ...] = dim
    if len(sizes) not in (2, 3):
        raise ValueError(f"Tuple dimension must have 2 or 3 elements, got {len(sizes)}")
    if min(sizes) < 0:
        raise ValueError(f"Dimension values must be non-negative, got {sizes}")
    return dim3(sizes[0], sizes[1], sizes[2] if len(sizes) == 3 else 1)


def block_of(threads_per_block: Any) -> tuple[dim3, int]:
    """The dimensions of a block, and its number of threads.

    Raises:
        ValueError: no block has so many.
    """
    dim = normalize_dim_param(threads_per_block)
    threads = dim.x * dim.y * dim.z
    if not 1 <= threads <= MOST_THREADS:
        raise ValueError(
            f"threads_per_block is {threads_per_block}, {threads} threads; a block has 1 to "
            f"{MOST_THREADS}"
        )
    return dim, threads


def warp_of(threads_in_warp: int) -> int:
    """The threads of a logical warp.

    Raises:
        ValueError: a warp has other numbers.
    """
    if not 1 <= threads_in_warp <= WARP:
        raise ValueError(f"threads_in_warp is {threads_in_warp}; a warp has 1 to {WARP}")
    return threads_in_warp


def items_of(items_per_thread: int, role: str = "items_per_thread") -> int:
    """A number of items.

    Raises:
        ValueError: it is not positive.
    """
    if items_per_thread < 1:
        raise ValueError(f"{role} must be greater than or equal to 1")
    return items_per_thread


def normalize_dtype_param(dtype: Any) -> ArgType:
    """The type of items: of one of ``cuda.types``, a dtype or class of numpy, a structure's class,
    or a name, ``"int32"`` or ``"np.int32"``.

    Raises:
        ValueError: it is none of these.
    """
    if isinstance(dtype, ArgType):
        return dtype
    if isinstance(dtype, str):
        return _named(dtype)
    if isinstance(dtype, StructClass):
        dtype = dtype.dtype
    if isinstance(dtype, np.dtype) or (isinstance(dtype, type) and issubclass(dtype, np.generic)):
        try:
            return from_numpy(dtype)
        except TypeError as error:
            raise ValueError(f"Failed to convert numpy dtype {dtype}: {error}") from None
    raise ValueError(f"Unrecognized dtype format: {dtype}")


def _named(name: str) -> ArgType:
    package, dot, last = name.rpartition(".")
    if dot and package != "np":
        raise ValueError(
            f"Invalid dtype string format: {name}. String with period must start with 'np.' and be "
            "followed by a valid numpy dtype."
        )
    if dot:
        kind = getattr(np, last, None)
        if not (isinstance(kind, type) and issubclass(kind, np.generic)):
            raise ValueError(f"Invalid numpy dtype: {last}")
        return normalize_dtype_param(kind)
    if name not in types.SCALAR_NAMES:
        raise ValueError(f"Invalid numba type name: {name}")
    return types.SCALAR_NAMES[name]
