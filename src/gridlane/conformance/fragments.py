"""Cases of the ops of fragments. The numbers are small and whole: sums are exact in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.conformance.effects.making import case
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import DType, bf16, f16, f32, i8, i32, i64, u8
from gridlane.ir.ops import arith, grid, matrix, memory
from gridlane.ir.types import FragmentType, Role, Space, pointer
from gridlane.ir.values import Global, Value

WARPS = 2
TYPES = (f16, bf16, f32, i8, u8)
SHAPES = {f16: (32, 48, 32), bf16: (16, 32, 32), f32: (32, 16, 24), i8: (32, 32, 64)}
SHAPES[u8] = SHAPES[i8]
"""(rows, columns, inner extent) of the products."""

_rng = np.random.default_rng(7)

fragment_case = partial(case, block=(32 * WARPS, 1, 1), grid_=(1, 1, 1))


def numbers(dtype: DType, rows: int, cols: int) -> np.ndarray:
    """One matrix per warp."""
    low = 0 if dtype is u8 else -3
    return _rng.integers(low, 4, (WARPS, rows, cols)).astype(dtype.numpy)


class Matrices:
    """A kernel's matrices: each array has one per warp, with ``pad`` elements after each line."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.b = kernel, kernel.builder
        self.arrays: list[np.ndarray] = []
        self.warp = self.b.div(kernel.local, self.b.const(32, i32))

    def add(self, values: np.ndarray, dtype: DType, by_columns: bool) -> tuple[Value, Value]:
        """(pointer to the warp's matrix, stride) of a new parameter."""
        lines = values.swapaxes(1, 2) if by_columns else values
        padded = np.pad(lines, ((0, 0), (0, 0), (0, 16 // dtype.size)))
        self.arrays.append(padded)
        start = self.kernel.array(dtype)
        size = padded.shape[1] * padded.shape[2]
        address = self.b.offset(start, self.b.mul(self.warp, self.b.const(size, i32)))
        return address, self.b.const(padded.shape[2], i64)

    def load(self, type_: FragmentType, by_columns: bool = False, shared: bool = False) -> Value:
        """Load a fragment, from global memory or by way of shared memory."""
        values = numbers(type_.element, type_.rows, type_.cols)
        address, stride = self.add(values, type_.element, by_columns)
        if shared:
            address = self.copied(address, self.arrays[-1][0].size, type_.element)
        return self.b.value(matrix.FragmentLoad(address, stride, type_, by_columns))

    def copied(self, source: Value, count: int, element: DType) -> Value:
        """Copy the warp's elements to shared memory."""
        b, module = self.b, self.kernel.module
        name = f"tile{len(module.globals)}"
        module.globals[name] = Global(name, element, count * WARPS, Space.SHARED)
        tile = b.value(memory.GlobalAddress(name, pointer(element, Space.SHARED)))
        tile = b.offset(tile, b.mul(self.warp, b.const(count, i32)))
        index = b.variable("at", i32)
        b.write(index, b.value(grid.LaneId()))
        with b.loop() as loop:
            place = b.read(index)
            b.break_if(b.binary(arith.Ge, place, b.const(count, i32)))
            b.store(b.offset(tile, place), b.load(b.offset(source, place)))
            with b.inside(loop.step):
                b.write(index, b.add(b.read(index), b.const(32, i32)))
        b.emit(grid.Barrier())
        return tile

    def store(self, fragment: Value, by_columns: bool = False) -> None:
        """Store a fragment to a new parameter."""
        type_ = fragment.type
        assert isinstance(type_, FragmentType)
        zeros = np.zeros((WARPS, type_.rows, type_.cols), type_.element.numpy)
        address, stride = self.add(zeros, type_.element, by_columns)
        self.b.emit(matrix.FragmentStore(address, stride, fragment, by_columns))


def made(fill: Callable[[Matrices], None]) -> Callable[[Kernel], list[np.ndarray]]:
    def build(kernel: Kernel) -> list[np.ndarray]:
        matrices = Matrices(kernel)
        fill(matrices)
        return matrices.arrays

    return build


def types_of(a: DType, b: DType, c: DType) -> tuple[FragmentType, FragmentType, FragmentType]:
    rows, cols, inner = SHAPES[a]
    return (
        FragmentType(Role.A, rows, inner, a),
        FragmentType(Role.B, inner, cols, b),
        FragmentType(Role.ACC, rows, cols, c),
    )


def products() -> Iterator[Case]:
    """Every type, order and memory of both factors, and every accumulator."""
    pairs = [(x, x, c) for x in TYPES for c in matrix.PRODUCTS[x]]
    for (x, y, z), shared, first, second in product(
        [*pairs, (i8, u8, i32), (u8, i8, i32)], (False, True), (False, True), (False, True)
    ):

        def fill(m: Matrices) -> None:
            a, b, c = types_of(x, y, z)
            left, right = m.load(a, first, shared), m.load(b, second, shared)
            m.store(m.b.value(matrix.FragmentMma(left, right, m.load(c))))

        orders = "".join("rc"[order] for order in (first, second))
        label = f"{x}-{y}-{z}-{orders}-{'shared' if shared else 'global'}"
        yield fragment_case("fragment_mma", label, made(fill))


def accumulators() -> Iterator[Case]:
    """Load accumulators and store them, in each order."""
    for element, by_columns, shared in product(matrix.ACCUMULATORS, (False, True), (False, True)):

        def through(m: Matrices) -> None:
            type_ = FragmentType(Role.ACC, 32, 48, element)
            m.store(m.load(type_, by_columns, shared), not by_columns)
            m.store(m.load(type_, not by_columns, shared), not by_columns)

        label = f"{element}-{'c' if by_columns else 'r'}-{'shared' if shared else 'global'}"
        for op in ("fragment_load", "fragment_store"):
            yield fragment_case(op, label, made(through))


def values() -> Iterator[Case]:
    for element in matrix.ACCUMULATORS:

        def fill(m: Matrices) -> None:
            type_ = FragmentType(Role.ACC, 16, 32, element)
            m.store(m.b.value(matrix.FragmentFill(m.b.cast(m.warp, element), type_)))

        yield fragment_case("fragment_fill", str(element), made(fill))

    for element in matrix.SCALED:

        def scale(m: Matrices) -> None:
            loaded = m.load(FragmentType(Role.ACC, 16, 32, element))
            factor = m.b.cast(m.b.sub(m.warp, m.b.const(3, i32)), element)
            m.store(m.b.value(matrix.FragmentScale(loaded, factor)))

        yield fragment_case("fragment_scale", str(element), made(scale))

    for old, new in sorted(matrix.CONVERSIONS, key=str):

        def convert(m: Matrices) -> None:
            loaded = m.load(FragmentType(Role.ACC, 16, 32, old))
            m.store(m.b.value(matrix.FragmentConvert(loaded, FragmentType(Role.ACC, 16, 32, new))))

        yield fragment_case("fragment_convert", f"{old}-{new}", made(convert))


def carried() -> Iterator[Case]:
    """Fragments in variables: loop-carried, through branches, selected, and read before a write."""

    def fill(m: Matrices) -> None:
        b = m.b
        a, right, acc = types_of(f16, f16, f32)
        left, other, start = m.load(a, False, True), m.load(right), m.load(acc)
        total, round_ = b.variable("total", acc), b.variable("round", i32)
        m.store(b.read(total))
        b.write(total, start)
        with b.loop() as loop:
            b.break_if(b.eq(b.read(round_), b.const(3, i32)))
            b.write(total, b.value(matrix.FragmentMma(left, other, b.read(total))))
            with b.if_(b.eq(b.read(round_), m.warp)):
                b.write(total, b.value(matrix.FragmentScale(b.read(total), b.const(2.0, f32))))
            with b.inside(loop.step):
                b.write(round_, b.add(b.read(round_), b.const(1, i32)))
        m.store(b.read(total))
        m.store(b.select(b.eq(m.warp, b.const(1, i32)), start, b.read(total)))

    yield fragment_case("fragment_mma", "carried", made(fill))


def fragments() -> Iterator[Case]:
    """Cases of every op."""
    for family in (products, accumulators, values, carried):
        yield from family()
