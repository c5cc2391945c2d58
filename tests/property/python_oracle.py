"""What a kernel's source means, by running it as plain Python, thread by thread.

Nothing of the compiler takes part: numbers are numpy's scalars of the types that the source names,
and a barrier is where a thread, a generator here, gives way to the next.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np


def run(source: str, arrays: list[np.ndarray], grid: int, block: int) -> None:
    """Run the kernel ``k`` of a source on arrays, which change."""
    text = source.replace("cuda.syncthreads()", "yield True")
    text = text.replace("    i = cuda.grid(1)", "    yield True\n    i = cuda.grid(1)")
    namespace: dict[str, Any] = {"np": _Types(), "math": _Functions(), "cuda": _Cuda()}
    namespace["OPTIONS"] = None
    exec(compile(text, "<kernel>", "exec"), namespace)
    cuda = namespace["cuda"]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in range(grid):
            cuda.shared.made.clear()
            given = [array.view(_Array) for array in arrays]
            threads = [(t, namespace["k"](*given)) for t in range(block)]
            while threads:
                threads = [pair for pair in threads if cuda.step(*pair, number, block)]


class _Array(np.ndarray):
    """An array whose items are plain Python's."""

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return found if isinstance(found, np.ndarray) else found.item()

    def __array_wrap__(self, found: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What a reduction gives."""
        return super().__array_wrap__(found, context) if found.ndim else found.item()

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))


class _Types:
    """numpy's scalar types, as casts that wrap."""

    def __getattr__(self, name: str) -> Any:
        dtype = np.dtype(name)

        def cast(value: Any) -> Any:
            if type(value) is int and dtype.kind in "iu":
                bits = value % 2 ** (8 * dtype.itemsize)
                return np.array(bits, f"u{dtype.itemsize}").view(dtype)[()]
            return np.asarray(value).astype(dtype)[()]

        cast.dtype = dtype
        return cast


class _Functions:
    """Of ``math``, what is exact."""

    floor, ceil, trunc = staticmethod(np.floor), staticmethod(np.ceil), staticmethod(np.trunc)
    copysign, fabs = staticmethod(np.copysign), staticmethod(np.fabs)
    pi = math.pi


class _Shared:
    """Arrays of a block: each thread meets the same one."""

    def __init__(self) -> None:
        self.made: list[np.ndarray] = []

    def array(self, size: int, cast: Any) -> np.ndarray:
        if not self.made:
            self.made.append(np.zeros(size, cast.dtype).view(_Array))
        return self.made[0]


class _Atomic:
    """One thread runs at a time."""

    def __getattr__(self, name: str) -> Any:
        change = {
            "add": lambda a, b: a + b,
            "min": min,
            "max": max,
            "and_": lambda a, b: a & b,
            "or_": lambda a, b: a | b,
            "xor": lambda a, b: a ^ b,
        }[name]

        def atomic(array: np.ndarray, index: Any, value: Any) -> None:
            array[index] = change(array[index], value)

        return atomic


class _Cuda:
    """What a kernel names of cuda."""

    def __init__(self) -> None:
        self.shared, self.atomic = _Shared(), _Atomic()
        self.local = SimpleNamespace(
            array=lambda size, cast: np.zeros(size, cast.dtype).view(_Array)
        )
        self.threadIdx = SimpleNamespace(x=0)
        self._first = 0

    def jit(self, *args: Any, **options: Any) -> Any:
        return lambda function: function

    def grid(self, dimensions: int) -> int:
        return self._first + self.threadIdx.x

    def step(self, thread: int, running: Any, block_number: int, block: int) -> bool:
        """Run a thread to its next barrier; whether it got to one."""
        self.threadIdx.x, self._first = thread, block_number * block
        return next(running, False)
