"""Translates functions and runs them in the interpreter, with a stand-in for the cuda module."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from gridlane import interp
from gridlane.core import argtypes, numpy_types
from gridlane.core.argtypes import ArgType
from gridlane.core.options import KernelOptions
from gridlane.frontends.python.device_function import DeviceFunction
from gridlane.frontends.python.stubs import NAMESPACE
from gridlane.frontends.python.translation import translate, translate_device
from gridlane.ir.printer import print_module
from gridlane.ir.types import PointerType
from gridlane.ir.values import Module, Param
from gridlane.ir.verifier import verify

OPTIONS = KernelOptions()
DEBUG = KernelOptions(debug=True)

cuda = types.SimpleNamespace(**NAMESPACE)


def device(function: Any) -> DeviceFunction:
    """Decorator of device functions."""
    return DeviceFunction(function)


def type_of(value: Any) -> ArgType:
    """The type that an argument has."""
    if value is None:
        return argtypes.none
    if isinstance(value, np.ndarray):
        layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        return argtypes.ArrayType(numpy_types.from_numpy(value.dtype), value.ndim, layout)
    if isinstance(value, tuple):
        fields = getattr(type(value), "_fields", ())
        items = tuple(type_of(item) for item in value)
        return argtypes.TupleType(items, fields, type(value) if fields else None)
    if isinstance(value, (bool, int, float, complex)):
        return numpy_types.from_numpy(np.array(value).dtype)
    if value.dtype.fields is not None:
        return numpy_types.from_numpy(value.dtype)
    return numpy_types.from_numpy(value.dtype)


def module_of(function: Any, *args: Any, options: KernelOptions = OPTIONS) -> Module:
    """The verified module of a kernel for argument values or types."""
    kinds = tuple(arg if isinstance(arg, ArgType) else type_of(arg) for arg in args)
    module = translate(function, kinds, options)
    verify(module)
    return module


def text_of(function: Any, *args: Any, options: KernelOptions = OPTIONS) -> str:
    """The IR text of a kernel."""
    return print_module(module_of(function, *args, options=options))


def result_type(function: Any, *kinds: ArgType) -> ArgType:
    """The type that a device function returns."""
    return translate_device(function, kinds, OPTIONS)[1]


def launch(
    function: Any,
    grid: Any,
    block: Any,
    *args: Any,
    options: KernelOptions = OPTIONS,
    shared: int = 0,
) -> tuple[Module, interp.RunResult]:
    """Run a kernel in place on its array arguments."""
    module = module_of(function, *args, options=options)
    memory, mapped = interp.Memory(), {}
    params = [_argument(memory, mapped, args, param) for param in module.kernel.params]
    return module, interp.run(module, grid, block, params, memory, shared)


def _argument(memory: Any, mapped: dict[int, int], args: tuple[Any, ...], param: Param) -> Any:
    value, path = args[param.argument], list(param.path)
    while path and isinstance(path[0], int):
        value = value[path.pop(0)]
    if isinstance(param.value.type, PointerType):
        data = value if isinstance(value, np.ndarray) else np.array([value])
        if id(value) not in mapped:
            base = data
            while isinstance(base.base, np.ndarray):
                base = base.base
            start = memory.map(base.reshape(-1, order="A").view(np.uint8))
            mapped[id(value)] = start + data.ctypes.data - base.ctypes.data
        return mapped[id(value)]
    if path[:1] in (["shape"], ["strides"]):
        return getattr(value, path[0])[path[1]]
    if path:
        return float(getattr(complex(value), path[0]))
    return np.asarray(value).item()


def returned(function: Any, *args: Any, dtype: Any = np.float64, count: int = 1) -> Any:
    """What a kernel of one thread writes to its first argument, an array of ``count`` items."""
    out = np.zeros(count, dtype)
    launch(function, 1, 1, out, *args)
    return out[0] if count == 1 else out
