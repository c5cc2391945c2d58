"""Cases of registers of ``mma`` from and to memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.conformance.effects.making import THREADS, case, out
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import DType, bf16, f16, f32, f64, i32, i64, u8, u32
from gridlane.ir.ops.mma_memory import MmaLoad, MmaStore, places, register_type
from gridlane.ir.types import FragmentType, Role

MATRICES = (
    *(FragmentType(Role.A, 16, 16, each) for each in (f16, bf16, u8)),
    *(FragmentType(Role.B, 16, 16, each) for each in (f16, u8)),
    FragmentType(Role.A, 32, 16, f16),
    FragmentType(Role.B, 16, 8, bf16),
    FragmentType(Role.A, 16, 8, f32),
    FragmentType(Role.B, 8, 16, f32),
    FragmentType(Role.A, 8, 4, f64),
    FragmentType(Role.B, 4, 8, f64),
    *(FragmentType(Role.ACC, 16, 16, each) for each in (f16, f32)),
    FragmentType(Role.ACC, 32, 8, i32),
    FragmentType(Role.ACC, 8, 8, f64),
)
PAD = 8
"""Elements behind each line."""
WARPS = THREADS // 32


def registers() -> Iterator[Case]:
    """Both orders; where all lanes run, and in a branch that not all warps take."""
    for matrix in MATRICES:
        for by_columns in (False, True):
            for masked in (False, True):
                yield _case(matrix, by_columns, masked, False)
                if matrix.role is Role.ACC:
                    yield _case(matrix, by_columns, masked, True)


def _case(matrix: FragmentType, by_columns: bool, masked: bool, stores: bool) -> Case:
    length = matrix.rows if by_columns else matrix.cols
    size = (length + PAD) * (matrix.size // matrix.element.size // length)

    def fill(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        memory, warps = kernel.array(matrix.element), kernel.load(i32)
        stride, number = b.const(length + PAD, u32), b.div(kernel.local, b.const(32, i32))
        if masked:  # as if each lane had an address and a stride of its own
            number = warps
            stride = b.sub(b.add(b.cast(warps, u32), stride), b.cast(number, u32))
        start = b.offset(memory, b.cast(b.mul(number, b.const(size, i32)), i64))
        type_, count = register_type(matrix), len(places(matrix))
        own = [kernel.own(kernel.array(type_)) for _ in range(count)]

        def access() -> None:
            if stores:
                values = tuple([b.load(each) for each in own])
                b.emit(MmaStore(start, stride, values, matrix, by_columns))
                return
            registers = b.emit(MmaLoad(start, stride, matrix, by_columns)).results
            for each, value in zip(own, registers, strict=True):
                b.store(each, value)

        if masked:
            with b.if_(b.lt(warps, b.const(WARPS - 1, i32))):
                access()
        else:
            access()
        arrays = [_given(matrix.element, WARPS * size), np.arange(THREADS, dtype=np.int32) // 32]
        if stores:
            given = [_words(type_, n) for n in range(count)]
            return [np.zeros_like(arrays[0]), arrays[1], *given]
        return [*arrays, *(out(type_, THREADS) for _ in range(count))]

    order = "columns" if by_columns else "rows"
    shape = f"{matrix.role.value}-{matrix.rows}-{matrix.cols}-{matrix.element}"
    label = f"{shape}-{order}{'-masked' * masked}"
    return case(MmaStore.name if stores else MmaLoad.name, label, fill, grid_=(1, 1, 1))


def _given(element: DType, count: int) -> np.ndarray:
    """Numbers that encode their place."""
    return (np.arange(count) % 251).astype(element.numpy)


def _words(type_: DType, number: int) -> np.ndarray:
    """Registers of the lanes: of numbers, or of two halves."""
    values = np.arange(THREADS) + THREADS * number
    if type_ is not u32:
        return values.astype(type_.numpy)
    low, high = (
        (each % 499).astype(np.float16).view(np.uint16).astype(np.uint32)
        for each in (2 * values, 2 * values + 1)
    )
    return low | high << np.uint32(16)
