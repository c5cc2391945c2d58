"""Translates tile programs and runs them in the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import interp
from gridlane.core import argtypes, numpy_types
from gridlane.core.argtypes import ArgType
from gridlane.core.options import KernelOptions
from gridlane.frontends.triton.functions import TileFunction
from gridlane.frontends.triton.parameters import Block
from gridlane.frontends.triton.translation import translate
from gridlane.interp.machine import RunResult
from gridlane.ir.printer import print_module
from gridlane.ir.stages import TILE
from gridlane.ir.types import PointerType
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify

OPTIONS = KernelOptions()
jit = TileFunction


def type_of(value: Any) -> ArgType:
    """The type that an argument has."""
    if value is None:
        return argtypes.none
    if isinstance(value, np.ndarray):
        return argtypes.ArrayType(numpy_types.from_numpy(value.dtype), value.ndim, "A")
    if isinstance(value, tuple):
        return argtypes.TupleType(tuple([type_of(item) for item in value]))
    if isinstance(value, np.generic):
        return numpy_types.from_numpy(value.dtype)
    return argtypes.int32 if isinstance(value, int) else argtypes.float32


def module_of(
    function: TileFunction, *types: ArgType, options: KernelOptions = OPTIONS, **constants: Any
) -> Module:
    """The valid module of a program."""
    module = translate(function, types, options, constants)
    verify(module, TILE)
    return module


def text_of(function: TileFunction, *types: ArgType, **constants: Any) -> str:
    """The text of a program's module."""
    return print_module(module_of(function, *types, **constants))


def run(
    function: TileFunction,
    *args: Any,
    grid: Any = 1,
    options: KernelOptions = OPTIONS,
    blocks: dict[str, Block] | None = None,
    elements: dict[str, Any] | None = None,
    **constants: Any,
) -> RunResult:
    """Run a program on arrays, numbers and tuples of these, in place."""
    types = tuple([type_of(arg) for arg in args])
    module = translate(function, types, options, constants, blocks, elements=elements)
    verify(module, TILE)
    memory = interp.Memory()
    known: dict[int, int] = {}
    numbers: list[Any] = []
    for param in module.kernel.params:
        value: Any = args[param.argument]
        path = list(param.path)
        while path and isinstance(value, tuple):
            value = value[path.pop(0)]
        if path and path[0] in ("shape", "strides"):
            numbers.append(getattr(value, path[0])[path[1]])
        elif isinstance(value, np.ndarray):
            if id(value) not in known:
                known[id(value)] = memory.map(value)
            numbers.append(known[id(value)])
        else:
            numbers.append(value.item() if isinstance(value, np.generic) else value)
    assert not any(
        isinstance(p.value.type, PointerType) and not n
        for p, n in zip(module.kernel.params, numbers, strict=True)
    )
    return interp.run(module, grid, 1, numbers, memory)
