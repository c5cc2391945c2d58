"""Cases of atomics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gridlane.conformance.cases import Case, takes
from gridlane.conformance.effects.making import THREADS, case, out, stretched
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import ALL, i32, u64
from gridlane.ir.op import Op
from gridlane.ir.ops import atomic, grid, memory
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Value

COMMUTING = {"add", "sub", "and", "or", "xor", "min", "max", "nanmin", "nanmax"}


def atomics() -> Iterator[Case]:
    for kind in atomic.AtomicKind:
        for dtype in ALL:

            def make(pointer: Value, value: Value) -> Op:
                return atomic.Atomic(kind, pointer, value)

            if dtype.is_bool or not takes(make, pointer(dtype), dtype):
                continue

            def apart(kernel: Kernel) -> list[np.ndarray]:
                """Each thread on its own element: the old and the new values."""
                b = kernel.builder
                address, value = kernel.own(kernel.array(dtype)), kernel.load(dtype)
                kernel.store(b.value(atomic.Atomic(kind, address, value)))
                memory_, operand = stretched(dtype), np.roll(stretched(dtype), 5)
                return [memory_, operand, out(dtype)]

            yield case("atomic", f"{kind.value}-{dtype}-apart", apart)
            if not dtype.is_integer or kind.value not in COMMUTING:
                continue

            def together(kernel: Kernel) -> list[np.ndarray]:
                """Some of the threads on few elements: the result is independent of the order."""
                b = kernel.builder
                cells, value = kernel.array(dtype), kernel.load(dtype)
                index = b.rem(kernel.thread, b.const(3, i32))
                with b.if_(b.lt(index, b.const(2, i32))):
                    b.value(atomic.Atomic(kind, b.offset(cells, index), value))
                return [stretched(dtype, 3), stretched(dtype)]

            yield case("atomic", f"{kind.value}-{dtype}-together", together)

    for space in (Space.SHARED, Space.LOCAL):

        def elsewhere(kernel: Kernel) -> list[np.ndarray]:
            b = kernel.builder
            address = kernel.shared("cell", i32, 1)
            if space is Space.LOCAL:
                address = b.value(memory.LocalArray(i32, 1))
            b.store(address, b.const(5, i32))
            b.emit(grid.Barrier())
            b.value(atomic.Atomic(atomic.AtomicKind.ADD, address, kernel.local))
            b.emit(grid.Barrier())
            kernel.store(b.load(address))
            return [out(i32)]

        yield case("atomic", space.name.lower(), elsewhere)

    for dtype in ALL:
        if dtype.is_bool:
            continue

        def compare(kernel: Kernel) -> list[np.ndarray]:
            b = kernel.builder
            address = kernel.own(kernel.array(dtype))
            expected, desired = kernel.load(dtype), kernel.load(dtype)
            kernel.store(b.value(atomic.AtomicCas(address, expected, desired)))
            expected_ = stretched(dtype)
            expected_[::3] = expected_[0]
            return [stretched(dtype), expected_, np.roll(expected_, 7), out(dtype)]

        yield case("atomic_cas", str(dtype), compare)

    def pairs(kernel: Kernel) -> list[np.ndarray]:
        """Pairs that differ in no word, one of them or both."""
        b = kernel.builder
        address = kernel.own(kernel.array(u64), 2)
        expected = kernel.load(u64), kernel.load(u64)
        desired = kernel.load(u64), kernel.load(u64)
        op = atomic.AtomicCasPair(address, *expected, *desired)
        b.emit(op)
        for result in op.results:
            kernel.store(result)
        held = np.arange(4 * THREADS, dtype=np.uint64) << np.uint64(40)
        low, high = held[::2].copy(), held[1::2].copy()
        low[::3] ^= np.uint64(1)
        high[::4] ^= np.uint64(1) << np.uint64(63)
        return [held, low, high, ~low, ~high, out(u64), out(u64)]

    yield case("atomic_cas_pair", "", pairs)
