"""Build small kernels around one op."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gridlane.core.dtypes import DType, i32, i64
from gridlane.ir.builder import Builder
from gridlane.ir.ops import grid, memory
from gridlane.ir.types import PointerType, Space, Type, pointer
from gridlane.ir.values import Function, Global, Module, Param, Value

Build = Callable[..., Sequence[Value]]


class Kernel:
    """A kernel under construction: ``thread`` is the number of the thread in the grid, of 1-d
    blocks. ``array`` adds a pointer parameter, ``scalar`` a scalar one."""

    def __init__(self) -> None:
        self.function = Function("kernel", is_kernel=True)
        self.module = Module({"kernel": self.function})
        self.builder = b = Builder(self.module, self.function)
        axis = grid.Axis.X
        block = b.value(grid.BlockIdx(axis))
        size = b.value(grid.BlockDim(axis))
        self.local = b.value(grid.ThreadIdx(axis))
        self.thread = b.add(b.mul(block, size), self.local)

    def param(self, type_: Type) -> Value:
        value = Value(type_, name=f"p{len(self.function.params)}")
        self.function.params.append(Param(value, len(self.function.params)))
        return value

    def array(self, element: Type) -> Value:
        return self.param(pointer(element))

    def own(self, array: Value, slots: int = 1, slot: int = 0) -> Value:
        """The address of a slot of this thread."""
        b = self.builder
        index = b.cast(self.thread, i64)
        if slots > 1:
            index = b.mul(index, b.const(slots, i64))
        index = b.add(index, b.const(slot, i64))
        return b.offset(array, index)

    def shared(self, name: str, element: Type, count: int, align: int = 16) -> Value:
        """The start of a new array in shared memory."""
        self.module.globals[name] = Global(name, element, count, Space.SHARED, align)
        return self.builder.value(memory.GlobalAddress(name, pointer(element, Space.SHARED)))

    def load(self, element: Type) -> Value:
        """Load this thread's element of a new input array."""
        return self.builder.load(self.own(self.array(element)))

    def store(self, value: Value) -> None:
        """Store to this thread's element of a new output array."""
        self.builder.store(self.own(self.array(value.type)), value)


def elementwise(types: Sequence[Type], build: Build, threads: int) -> tuple[Module, list[Type]]:
    """A kernel that applies ``build`` to an element of each input array; the types of outputs.

    Threads beyond ``threads`` do nothing.
    """
    kernel = Kernel()
    b = kernel.builder
    inputs = [kernel.array(type_) for type_ in types]
    with b.if_(b.lt(kernel.thread, b.const(threads, i32))):
        results = build(b, *[b.load(kernel.own(array)) for array in inputs])
        for value in results:
            kernel.store(value)
    return kernel.module, [value.type for value in results]


def array_of(type_: Type, count: int) -> np.ndarray:
    """Zeros for results."""
    if isinstance(type_, DType):
        return np.zeros(count, type_.numpy)
    if isinstance(type_, PointerType):
        return np.zeros(count, np.uint64)
    return np.zeros((count, type_.size), np.uint8)
