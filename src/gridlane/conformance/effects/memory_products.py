"""Cases of products of matrices in shared memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.conformance.effects.making import FULL, case
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import DType, i32, u32, u64
from gridlane.ir.ops import arith
from gridlane.ir.ops.grid import SyncWarp
from gridlane.ir.ops.memory_products import FACTORS, WarpProduct
from gridlane.ir.values import Value

SHAPES = (
    *((1, 1, 1), (6, 4, 16), (13, 5, 33), (64, 16, 32), (7, 48, 3), (7, 16, 128), (16, 3, 55)),
    *((9, 6, 48), (30, 20, 40)),
)
"""Rows, depth and columns: whole panels, narrower ones, single columns, panels that are copied,
bytes that are multiplied by twos and fours."""


def memory_products() -> Iterator[Case]:
    """Each element and shape, and a product in a branch."""
    for element, factors in FACTORS.items():
        for factor in factors:
            for shape in SHAPES:
                yield _case(element, factor, shape, False)
            yield _case(element, factor, (8, 8, 32), True)
            yield _case(element, factor, (20, 6, 32), False, pitch=40, ahead=3)
            if not element.is_integer:
                yield _case(element, factor, (29, 33, 37), False, fused=False)
            if factor.size > 1:
                for shape in ((5, 3, 7), (30, 20, 40), (3, 32, 36)):
                    for turned in ((True, False), (False, True), (True, True)):
                        yield _case(element, factor, shape, False, turned=turned)


def _case(
    element: DType,
    factor: DType,
    shape: tuple[int, int, int],
    in_branch: bool,
    fused: bool = True,
    turned: tuple[bool, bool] = (False, False),
    pitch: int = 0,
    ahead: int = 0,
) -> Case:
    """``ahead``: how many addresses of nothing the product may fetch lines of."""
    rows, depth, columns = shape
    sums = rows * (pitch or columns)
    counts = {"left": rows * depth, "right": depth * columns, "sums": sums}
    types = {"left": factor, "right": factor, "sums": element}

    def fill(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        arrays = [kernel.array(types[name]) for name in counts]
        wanted = kernel.array(i32)
        tiles = {name: kernel.shared(name, types[name], count) for name, count in counts.items()}
        for array, (name, count) in zip(arrays, counts.items(), strict=True):
            _moved(kernel, array, tiles[name], count)
        lists: list[Value] = []
        for n in range(min(ahead, 1)):
            lists.append(kernel.shared(f"ahead{n}", u64, ahead))
            for place in range(ahead):
                b.store(b.offset(lists[-1], b.const(place, i32)), b.const(place << 47, u64))
        product = WarpProduct(
            tiles["left"], tiles["right"], tiles["sums"], *shape, fused, *turned,
            tuple(lists), (ahead,) * len(lists), (2,) * len(lists), pitch,
        )  # fmt: skip
        if in_branch:
            with b.if_(b.value(arith.Gt(b.load(wanted), b.const(0, i32)))):
                b.emit(product)
        else:
            b.emit(product)
        b.emit(SyncWarp(b.const(FULL, u32)))
        _moved(kernel, tiles["sums"], arrays[2], counts["sums"])
        given = [_elements(types[name], count) for name, count in counts.items()]
        if not fused:  # products and sums that are rounded, as the interpreter rounds them
            given = [each / given[0].dtype.type(7) for each in given]
        return [*given, np.ones(1, np.int32)]

    kinds = f"{element}" if factor is element else f"{factor}-{element}"
    label = f"{kinds}-{'-'.join(map(str, shape))}{'-branch' * in_branch}{'-rounded' * (not fused)}"
    label += f"-pitch-{pitch}-ahead-{ahead}" if pitch else ""
    label += "".join(f"-turned-{name}" for name, each in zip(counts, turned, strict=False) if each)
    return case(WarpProduct.name, label, fill, (32, 1, 1), (1, 1, 1))


def _elements(dtype: DType, count: int) -> np.ndarray:
    """Small integers, whose sums are exact however they are rounded; of bytes the whole range."""
    if dtype.size > 1:
        return (np.arange(count) * 7 % 23 - 11).astype(dtype.numpy)
    return (np.arange(count) * 37 % 256).astype(np.uint8).view(dtype.numpy)


def _moved(kernel: Kernel, source: Value, target: Value, count: int) -> None:
    """Copy elements; the one warp of the block is in step."""
    b = kernel.builder
    counter = b.variable("element", i32)
    b.write(counter, kernel.local)
    with b.loop() as loop:
        now = b.read(counter)
        b.break_if(b.value(arith.Ge(now, b.const(count, i32))))
        b.store(b.offset(target, now), b.load(b.offset(source, now)))
    with b.inside(loop.step):
        b.write(counter, b.add(b.read(counter), b.const(32, i32)))
    b.emit(SyncWarp(b.const(FULL, u32)))
