"""``cuda.reduce``: reduce an array by a binary function."""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.numpy_types import from_numpy
from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.arrays.devicearray import to_device
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.cuda.kernels.named import Named
from gridlane.cuda.ufuncs.generated import core_of

_THREADS = 128
_MOST_BLOCKS = 128  # as many as one block reduces in the second launch


def _kernel(function: Any, element: Any) -> Dispatcher:
    """The kernel for a device function and an element type."""
    from gridlane import cuda  # the names that kernels use are loaded with the first kernel

    combine = function

    @jit
    def reduce_blocks(values, partials, init, use_init):
        """Store the reduction of block b's threads in partials[b]; block 0 includes ``init``."""
        tile = cuda.shared.array(_THREADS, element)
        t = cuda.threadIdx.x
        first = cuda.grid(1)
        if first < values.size:
            total = values[first]
            for i in range(first + cuda.gridsize(1), values.size, cuda.gridsize(1)):
                total = combine(total, values[i])
            tile[t] = total
        cuda.syncthreads()
        step = _THREADS // 2
        while step > 0:
            # A thread past the end has no value, and neither have the threads after it.
            if t < step and first + step < values.size:
                tile[t] = combine(tile[t], tile[t + step])
            cuda.syncthreads()
            step //= 2
        if t == 0:
            total = tile[0]
            if use_init and cuda.blockIdx.x == 0:
                total = combine(total, init)
            partials[cuda.blockIdx.x] = total

    return reduce_blocks


def _calling(builtin: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The function that calls a builtin one, as ``math.gcd`` or ``max``; a kernel that may not call
    it says so where the array is reduced."""

    def combine(a: Any, b: Any) -> Any:
        return builtin(a, b)

    combine.__name__ = combine.__qualname__ = builtin.__name__
    return combine


class Reduce(Named):
    """Reduces arrays with an associative and commutative function of two values, in Python or a
    builtin one that kernels call (``max``, ``operator.add``). ``floats`` is that of ``cuda.jit``.

    >>> from gridlane import cuda
    >>> @cuda.reduce
    ... def total(a, b):
    ...     return a + b
    """

    def __init__(self, functor: Callable[[Any, Any], Any], floats: str | None = None) -> None:
        if isinstance(functor, types.BuiltinFunctionType):
            functor = _calling(functor)
        self._function = core_of(functor, floats, "cuda.reduce")
        self.py_func = self._function.py_func
        self._kernels: dict[np.dtype, Dispatcher] = {}

    def __gridlane_parts__(self) -> tuple[Any, ...]:
        return Reduce, (self._function,)

    def __call__(
        self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0
    ) -> Any:
        """Reduce a 1-D host or device array.

        Args:
            size: the number of elements, from the first; all by default.
            res: a device array whose first element gets the result, which is then not returned.
            init: combined with the result, and the result of an empty array.
        """
        if arr.ndim != 1:
            raise TypeError("only support 1D array")
        if size is not None:
            arr = arr[:size]
        init = arr.dtype.type(init)
        if arr.size < 1:
            return init
        kernel = self._kernels.get(arr.dtype)
        if kernel is None:
            kernel = _kernel(self._function, from_numpy(arr.dtype))
            self._kernels[arr.dtype] = kernel
        values = to_device(np.ascontiguousarray(arr) if isinstance(arr, np.ndarray) else arr)
        blocks = min(_MOST_BLOCKS, -(-values.size // _THREADS))
        partials = device_array(blocks, arr.dtype)
        kernel[blocks, _THREADS, stream](values, partials, init, True)
        if blocks > 1:
            result = device_array(1, arr.dtype)
            kernel[1, _THREADS, stream](partials, result, init, False)
            partials = result
        if res is not None:
            res[:1].copy_to_device(partials[:1], stream=stream)
            return None
        return partials.getitem(0, stream)


reduce = Reduce
