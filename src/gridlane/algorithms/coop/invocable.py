"""The objects that makers of block and warp algorithms return, for calls in kernels."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.coop.parameters import dim3
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher

_ALIGNMENT = 16


class StatefulFunction:
    """A callable class and its type: ``__call__(state, value)``, where ``state`` is an array of one
    object, changes the state of the thread that calls it."""

    def __init__(self, op: Any, dtype: Any) -> None:
        self.op, self.dtype = op, dtype


class Invocable:
    """A block or warp algorithm, which kernels call as a device function.

    Attributes:
        function: the device function.
        temp_storage_bytes: the size of an array of bytes in shared memory, which a call may have as
            its first argument. Without it, the algorithm has an array of its own.
        temp_storage_alignment: the alignment of the array.
    """

    def __init__(self, function: Dispatcher, size: int, alignment: int = _ALIGNMENT) -> None:
        self.function = function
        self.temp_storage_bytes = max(1, size)
        self.temp_storage_alignment = alignment

    @property
    def files(self) -> list[str]:
        """The files to link with, none: kernels contain the algorithm's code."""
        return []

    @property
    def __gridlane_function__(self) -> Any:
        return self.function.__gridlane_function__

    @property
    def __name__(self) -> str:
        return self.function.py_func.__name__

    def __call__(self, *args: Any) -> Any:
        raise RuntimeError(
            f"{self.__name__}() is an algorithm of a block or warp; call it in a kernel"
        )


@cached
def block_bytes(size: int) -> Dispatcher:
    """The device function that returns the memory of block algorithms of a size. They share it:
    each ends with a barrier."""
    return shared_bytes(size)


def shared_bytes(size: int) -> Dispatcher:
    """A device function that returns a memory of its own."""

    @jit(device=True)
    def memory():
        return cuda.shared.array(size, np.uint8)

    return memory


@cached
def checking(size: int) -> Dispatcher:
    """The device function that raises an error if a call's memory is not one of ``size`` bytes."""
    message = f"the temporary memory of a call is an array of bytes (uint8), at least {size}"

    @jit(device=True)
    def check(memory):
        if memory.itemsize != 1 or memory.size < size:
            raise ValueError(message)

    return check


def with_memory(
    implementation: Dispatcher,
    arrays: int,
    size: int,
    memory: Dispatcher | None = None,
    alignment: int = _ALIGNMENT,
) -> Invocable:
    """An algorithm whose calls may have their temporary memory as the first argument.

    Args:
        implementation: the device function, whose first parameter is the memory.
        arrays: how many arrays the arguments of a call without a memory begin with. One more
            array there is the memory.
        size: bytes of the memory.
        memory: the device function that returns the algorithm's own one.
    """
    own, check = memory or block_bytes(max(1, size)), checking(size)

    def call(*args: Any) -> Any:
        if len(args) <= arrays:
            return implementation(own(), *args)
        elif isinstance(args[arrays], np.ndarray):  # one branch is translated
            check(args[0])
            return implementation(*args)
        else:
            return implementation(own(), *args)

    call.__name__ = call.__qualname__ = implementation.py_func.__name__
    return Invocable(jit(call, device=True), size, alignment)


@cached
def rank_in_block(dim: dim3) -> Dispatcher:
    """The device function of a thread's place in a block, row by row; an error in a block of other
    dimensions."""
    x, y, z = dim
    message = f"the launch has another block than this algorithm's threads_per_block, {x, y, z}"

    @jit(device=True)
    def rank():
        if cuda.blockDim.x != x or cuda.blockDim.y != y or cuda.blockDim.z != z:
            raise ValueError(message)
        if y == 1 and z == 1:
            return cuda.threadIdx.x
        return cuda.threadIdx.x + x * (cuda.threadIdx.y + y * cuda.threadIdx.z)

    return rank


@jit(device=True)
def thread_rank():
    """A thread's place in its block, whose dimensions are the launch's."""
    row = cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z
    return cuda.threadIdx.x + cuda.blockDim.x * row


def device(function: Callable[..., Any]) -> Dispatcher:
    """Compile a device function."""
    return jit(function, device=True)
