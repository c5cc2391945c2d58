"""Methods of device arrays that need kernels; ``DeviceNDArray`` finds them by name."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gridlane.core import numpy_types
from gridlane.core.argtypes import Signature
from gridlane.core.errors import UnsupportedError
from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.ufuncs.reduction import Reduce
from gridlane.cuda.ufuncs.vectorization import vectorize

_CONVERTED = "biuf"
"""Kinds of dtypes that the device converts into each other as numpy does."""


def _same(value: Any) -> Any:
    return value


def _added(one: Any, other: Any) -> Any:
    return one + other


@cache
def _conversion(source: np.dtype, target: np.dtype) -> Any:
    signature = Signature(numpy_types.from_numpy(target), (numpy_types.from_numpy(source),))
    return vectorize([signature])(_same)


@cache
def _total() -> Reduce:
    return Reduce(_added)


def astype(array: Any, dtype: Any, copy: bool = True) -> Any:
    """A new array on the device with another dtype; integers and floats as numpy converts them.

    Args:
        copy: False returns the array itself if it has the dtype.

    Raises:
        UnsupportedError: a dtype that is neither of integers, floats nor booleans.
    """
    target = np.dtype(dtype)
    if target == array.dtype and not copy:
        return array
    for each in (array.dtype, target):
        if each.kind not in _CONVERTED or each.itemsize > 8:
            raise UnsupportedError(
                f"astype: {array.dtype} to {target} on the device; convert on the host: "
                "cuda.to_device(a.copy_to_host().astype(...))"
            )
    result = device_array(array.shape, target)
    if array.size:
        _conversion(array.dtype, target)(array, out=result)
    return result


def sum(array: Any, axis: Any = None, dtype: Any = None, out: Any = None, **others: Any) -> Any:
    """The sum of all elements, added on the device, as a numpy scalar of numpy's dtype for it.

    The order of the additions is not numpy's: floats differ in their last bits. With an axis, or
    another of the arguments of numpy's ``sum``, numpy sums a copy on the host.

    Raises:
        UnsupportedError: a dtype that ``astype`` does not convert.
    """
    if axis is not None or out is not None or others:
        return array.copy_to_host().sum(axis=axis, dtype=dtype, out=out, **others)
    kind = np.zeros(0, array.dtype).sum(dtype=dtype).dtype
    if not array.size:
        return kind.type(0)
    flat = array if array.dtype == kind and array.is_c_contiguous() else astype(array, kind)
    return kind.type(_total()(flat.ravel()))
