"""``numba.cuda.kernels.transpose``: the transpose of a 2-D array, on the device."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.core.numpy_types import from_numpy
from gridlane.cuda.arrays.devicearray import DeviceNDArray

_TILE = 16


@cache
def _kernel(dtype: np.dtype) -> Any:
    """A kernel for elements that are moved, not computed with; devices without float64 have its
    bits as integers.

    It reads and writes rows of a tile, so that both are of adjacent elements.
    """
    element: Any = from_numpy(dtype)
    width, padded = _TILE, _TILE + 1  # columns of the tile lie in different banks

    @cuda.jit
    def transposed(source: Any, target: Any) -> None:
        tile = cuda.shared.array((width, padded), element)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.blockIdx.x * width, cuda.blockIdx.y * width
        if y + ty < source.shape[0] and x + tx < source.shape[1]:
            tile[ty, tx] = source[y + ty, x + tx]
        cuda.syncthreads()
        if x + ty < target.shape[0] and y + tx < target.shape[1]:
            target[x + ty, y + tx] = tile[tx, ty]

    return transposed


def transpose(a: Any, b: DeviceNDArray | None = None) -> DeviceNDArray:
    """Transpose ``a`` on the device, of any dtype, into ``b`` or a new array; return that. The
    stream is that of ``a``, if it has one.

    Args:
        a: (m, n), on the device or the host.
        b: (n, m), of the same dtype.

    Raises:
        ValueError: ``a`` is not 2-D, or ``b`` has another shape.
    """
    if len(a.shape) != 2:
        raise ValueError(f"transpose is of a 2-D array; this one has the shape {a.shape}")
    rows, columns = a.shape
    stream = getattr(a, "stream", 0)
    if b is None:
        b = DeviceNDArray((columns, rows), None, a.dtype, stream)
    if tuple(b.shape) != (columns, rows):
        raise ValueError(f"the transpose has the shape {columns, rows}, and b {b.shape}")
    if a.size:
        grid = -(-columns // _TILE), -(-rows // _TILE)
        dtype = np.dtype(a.dtype)
        moved = np.dtype(f"u{dtype.itemsize}") if dtype.itemsize in (1, 2, 4, 8) else dtype
        _kernel(moved)[grid, (_TILE, _TILE), stream](a.view(moved), b.view(moved))
    return b
