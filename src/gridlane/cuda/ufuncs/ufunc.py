"""``vectorize`` for the device: a ufunc over arrays of exactly the types of its signatures."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.argtypes import ArgType
from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.arrays.devicearray import DeviceNDArray, as_device, to_device
from gridlane.cuda.interop.dlpack_read import as_numpy
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.cuda.kernels.named import Named
from gridlane.cuda.kernels.signatures import parse
from gridlane.cuda.ufuncs.generated import core_of, define
from gridlane.cuda.ufuncs.result_types import result_type
from gridlane.launch import geometry

DTypes = tuple[np.dtype, ...]

NO_VERSION = (
    "No matching version.  GPU ufunc requires array arguments to have the exact types.  This "
    "behaves like regular ufunc with casting='no'."
)
AMBIGUOUS = (
    "Failed to resolve ufunc due to ambiguous signature. Too many untyped scalars. Use numpy dtype "
    "object to type tag."
)
_SCALARS = (bool, int, float, complex, np.generic)


def _dtype(type_: ArgType) -> np.dtype:
    dtype = getattr(type_, "numpy", None)
    if dtype is None:
        raise TypeError(f"vectorize takes functions of scalars, got {type_}")
    return dtype


def elementwise(core: Dispatcher, arity: int) -> Dispatcher:
    """The kernel that applies a device function to each element."""
    from gridlane import cuda  # the names that kernels use are loaded with the first kernel

    names = [f"a{n}" for n in range(arity)]
    text = (
        f"def vectorized({', '.join(names)}, out):\n"
        "    i = cuda.grid(1)\n"
        "    if i < out.size:\n"
        f"        out[i] = core({', '.join(f'{name}[i]' for name in names)})\n"
    )
    return jit(define("vectorized", text, {"cuda": cuda, "core": core}))


class UFunc(Named):
    """The result of ``vectorize``.

    Called with arrays, device arrays and scalars, it broadcasts them as numpy does. The result is a
    device array if an argument or ``out`` is one, else a host array.
    """

    def __init__(
        self, function: Callable[..., Any], signatures: list[Any], floats: str | None = None
    ) -> None:
        core = core_of(function, floats, "vectorize")
        self._made_of = core, signatures
        self.__name__ = core.__name__
        self.__doc__ = core.__doc__
        self.py_func = core.py_func
        self.functions: dict[DTypes, np.dtype] = {}
        for signature in map(parse, signatures):
            types = tuple(map(_dtype, signature.args))
            result = signature.return_type or result_type(core, signature.args)
            self.functions[types] = _dtype(result)
        self.nin = len(next(iter(self.functions)))
        self.nout = 1
        self.nargs = self.nin + 1
        self.max_blocksize = 1024
        self._kernel = elementwise(core, self.nin)

    def __gridlane_parts__(self) -> tuple[Any, ...]:
        return UFunc, self._made_of

    @property
    def signature(self) -> None:
        """None: the core takes scalars."""

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0, **unknown: Any) -> Any:
        """Apply to each element; ``out`` takes the result."""
        if unknown:
            warnings.warn(f"unrecognized keywords: {', '.join(unknown)}", stacklevel=2)
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__} takes {self.nin} arguments, got {len(args)}")
        args = tuple(a if isinstance(a, _SCALARS) else as_device(a) for a in args)
        out = as_device(out)
        args = tuple(
            a if isinstance(a, (DeviceNDArray, *_SCALARS)) else np.asarray(as_numpy(a))
            for a in args
        )
        types = self._resolve(args)
        result = self.functions[types]
        shape = np.broadcast_shapes(*[getattr(a, "shape", ()) for a in args])
        if out is not None and (out.shape != shape or out.dtype != result):
            raise ValueError(f"out is {out.dtype} {out.shape}, and the result is {result} {shape}")
        size = math.prod(shape)
        flat = [flattened(a, dtype, shape, stream) for a, dtype in zip(args, types)]
        direct = isinstance(out, DeviceNDArray) and out.is_c_contiguous()
        target = device_array(0 if direct else size, result, stream=stream)
        if isinstance(out, DeviceNDArray) and direct:
            target = out.reshape(size)
        self._kernel.forall(size, stream=stream)(*flat, target)
        if direct:
            return out
        if isinstance(out, DeviceNDArray):
            out[...] = target.reshape(*shape) if shape else target
            return out
        if out is None and any(isinstance(a, DeviceNDArray) for a in args):
            return target.reshape(shape)
        host = target.copy_to_host(stream=stream).reshape(shape)
        if out is None:
            return host
        out[...] = host
        return out

    def _resolve(self, args: tuple[Any, ...]) -> DTypes:
        """The one signature that matches the arrays' types; scalars convert if they must."""
        for scalars_too in (True, False):
            matches = [
                types
                for types in self.functions
                if all(_matches(arg, dtype, scalars_too) for arg, dtype in zip(args, types))
            ]
            if matches:
                break
        if not matches:
            raise TypeError(NO_VERSION)
        if len(matches) > 1:
            raise TypeError(AMBIGUOUS)
        return matches[0]

    def reduce(self, arg: Any, stream: Any = 0) -> Any:
        """Combine the elements of a 1-D array, halves at a time."""
        if self.nin != 2:
            raise TypeError("gufunc must be a binary")
        if arg.ndim != 1:
            raise TypeError("must be 1d array")
        if not len(arg):
            raise TypeError("reduction on an empty array.")
        values = to_device(arg, stream)
        rest = len(values)
        if rest > 1:
            copy = device_array(values.shape, values.dtype)
            copy.copy_to_device(values, stream=stream)
            values = copy
        while rest > 1:
            half = rest // 2
            keep = rest - half
            self(values[:half], values[keep:rest], out=values[:half], stream=stream)
            rest = keep
        return values.getitem(0, stream)


def _matches(arg: Any, dtype: np.dtype, scalars_too: bool) -> bool:
    if isinstance(arg, _SCALARS):
        return not scalars_too or np.asarray(arg).dtype == dtype
    return arg.dtype == dtype


def flattened(arg: Any, dtype: np.dtype, shape: geometry.Shape, stream: Any) -> DeviceNDArray:
    """A 1-D device array of ``arg`` broadcast to ``shape``; a scalar is stored once."""
    size = math.prod(shape)
    if isinstance(arg, _SCALARS) or not arg.shape:
        if isinstance(arg, DeviceNDArray):
            memory = arg
        else:
            memory = to_device(np.asarray(arg).astype(dtype).reshape(1), stream)
        return DeviceNDArray((size,), (0,), dtype, stream, memory.buffer, memory.address)
    if isinstance(arg, DeviceNDArray):
        if arg.shape == shape and arg.is_c_contiguous():
            return arg.reshape(size)
        arg = arg.copy_to_host(stream=stream)
    return to_device(np.ascontiguousarray(np.broadcast_to(arg, shape)).reshape(size), stream)
