"""Build cases of ops with effects."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.conformance.kernels import Kernel, array_of
from gridlane.conformance.special import special
from gridlane.core.dtypes import DType, i32, u32
from gridlane.ir.builder import Builder
from gridlane.ir.ops import grid, warp
from gridlane.ir.types import Type
from gridlane.ir.values import Value

THREADS = 96


def case(
    op: str,
    label: str,
    fill: Callable[[Kernel], list[np.ndarray]],
    block: tuple[int, int, int] = (THREADS, 1, 1),
    grid_: tuple[int, int, int] = (2, 1, 1),
    shared: int = 0,
) -> Case:
    """A case whose kernel ``fill`` writes; it returns the arrays, in the order of parameters."""
    kernel = Kernel()
    arrays = fill(kernel)
    labels = [f"array {n}" for n in range(len(arrays))]
    return Case(op, kernel.module, arrays, grid_, block, label, shared, labels)


def stretched(dtype: DType, count: int = 2 * THREADS) -> np.ndarray:
    """``count`` special values."""
    values = special(dtype)
    return values[np.arange(count) % len(values)].copy()


def out(type_: Type, count: int = 2 * THREADS) -> np.ndarray:
    return array_of(type_, count)


def thread_of_3d(kernel: Kernel) -> Value:
    """The number of the thread in a 3-d grid."""
    b = kernel.builder
    number = b.const(0, i32)
    for index, size in ((grid.BlockIdx, grid.GridDim), (grid.ThreadIdx, grid.BlockDim)):
        for axis in reversed(grid.Axis):
            number = b.add(b.mul(number, b.value(size(axis))), b.value(index(axis)))
    return number


def taking_part(b: Builder, condition: Value) -> Value:
    """The mask of the lanes where a condition holds, as CUDA requires in a branch on it."""
    return b.value(warp.Vote(warp.VoteMode.BALLOT, b.const(FULL, u32), condition))


FULL = 0xFFFFFFFF
