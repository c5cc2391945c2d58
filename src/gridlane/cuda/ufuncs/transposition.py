"""Transposition of matrices in device memory: ``numba.cuda.kernels.transpose``."""

from __future__ import annotations

from functools import cache
from typing import Any

from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.arrays.devicearray import DeviceNDArray, as_device
from gridlane.cuda.kernels.decorators import jit
from gridlane.frontends.python.stubs import NAMESPACE

_SIDE = 16
"""The threads of a block along each axis."""


@cache
def _kernel() -> Any:
    grid = NAMESPACE["grid"]

    def transposed(a: Any, b: Any) -> None:
        row, column = grid(2)
        if row < b.shape[0] and column < b.shape[1]:
            b[row, column] = a[column, row]

    return jit(transposed)


def transpose(a: Any, b: Any = None) -> DeviceNDArray:
    """Copy the transpose of a matrix.

    Args:
        a: a device array of two axes, of any dtype that kernels hold.
        b: a device array of the transposed shape and the same dtype; a new one where missing.

    Returns:
        ``b``.

    Raises:
        ValueError: the shapes do not fit.
    """
    source = as_device(a)
    if source.ndim != 2:
        raise ValueError(f"transpose takes a matrix, not an array of shape {source.shape}")
    rows, columns = source.shape
    target = device_array((columns, rows), source.dtype) if b is None else as_device(b)
    if target.shape != (columns, rows):
        raise ValueError(f"the transpose of {source.shape} does not fit {target.shape}")
    blocks = tuple(max(1, -(-extent // _SIDE)) for extent in target.shape)
    _kernel()[blocks, (_SIDE, _SIDE)](source, target)
    return target
