"""Cases of the grid: thread positions, barriers, asynchronous copies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.conformance.effects.making import THREADS, case, out, stretched, thread_of_3d
from gridlane.conformance.kernels import Kernel
from gridlane.core import dtypes
from gridlane.core.dtypes import b1, f32, f64, i32, u8, u32
from gridlane.ir.ops import arith, atomic, copies, grid


def queries() -> Iterator[Case]:
    for name, cls in (
        ("thread_idx", grid.ThreadIdx),
        ("block_idx", grid.BlockIdx),
        ("block_dim", grid.BlockDim),
        ("grid_dim", grid.GridDim),
    ):

        def ask(kernel: Kernel) -> list[np.ndarray]:
            """Every thread of a 3-d grid writes to its own slot."""
            b = kernel.builder
            index = thread_of_3d(kernel)
            target = kernel.array(i32)
            for number, axis in enumerate(grid.Axis):
                slot = b.add(b.mul(index, b.const(3, i32)), b.const(number, i32))
                b.store(b.offset(target, slot), b.value(cls(axis)))
            return [np.zeros(3 * 12 * 90, np.int32)]

        yield case(name, "", ask, (5, 6, 3), (2, 3, 2))

    def lanes(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        b.store(b.offset(kernel.array(i32), thread_of_3d(kernel)), b.value(grid.LaneId()))
        return [np.zeros(12 * 90, np.int32)]

    yield case("lane_id", "", lanes, (5, 6, 3), (2, 3, 2))

    def clocks(kernel: Kernel) -> list[np.ndarray]:
        """Time does not go back; a multiprocessor is one of theirs."""
        b = kernel.builder
        for first, last in (
            (grid.Reading.CYCLES, grid.Reading.CYCLES),
            (grid.Reading.NANOSECONDS, grid.Reading.NANOSECONDS),
            (grid.Reading.MULTIPROCESSOR, grid.Reading.MULTIPROCESSORS),
        ):
            before, after = b.value(grid.Machine(first)), b.value(grid.Machine(last))
            op = arith.Le if first is last else arith.Lt
            kernel.store(b.cast(b.value(op(before, after)), i32))
        return [out(i32), out(i32), out(i32)]

    yield case("machine", "", clocks)


_REDUCTIONS = [kind for kind in grid.Reduction if kind is not grid.Reduction.NONE]


def _without_some() -> Iterator[Case]:
    """Barriers that some threads do not reach: these are not waited for and do not count."""
    for kind in _REDUCTIONS:

        def early(kernel: Kernel) -> list[np.ndarray]:
            """Some threads have ended before."""
            b = kernel.builder
            target = kernel.own(kernel.array(i32))
            with b.if_(b.lt(kernel.local, b.const(40, i32))):
                b.return_()
            least = b.const(40 if kind is grid.Reduction.ALL else 50, i32)
            holds = b.value(arith.Ge(kernel.local, least))
            b.store(target, b.value(grid.BarrierReduce(kind, holds)))
            return [out(i32)]

        yield case("barrier_reduce", f"early-{kind.value}", early)

        def passed_by(kernel: Kernel) -> list[np.ndarray]:
            """Some threads pass it by and end."""
            b = kernel.builder
            target = kernel.own(kernel.array(i32))
            with b.if_(b.lt(kernel.local, b.const(40, i32))):
                holds = b.lt(kernel.local, b.const(40, i32))
                b.store(target, b.value(grid.BarrierReduce(kind, holds)))
            return [out(i32)]

        yield case("barrier_reduce", f"passed-by-{kind.value}", passed_by)

    def one_by_one(kernel: Kernel) -> list[np.ndarray]:
        """A thread ends per iteration, and the others meet at a barrier."""
        b = kernel.builder
        target = kernel.own(kernel.array(i32))
        turn, one = b.variable("turn", i32), b.const(1, i32)
        with b.loop() as loop:
            b.break_if(b.value(arith.Ge(b.read(turn), b.const(5, i32))))
            with b.if_(b.eq(kernel.local, b.mul(b.read(turn), b.const(7, i32)))):
                b.return_()
            true = b.const(True, b1)
            b.store(target, b.value(grid.BarrierReduce(grid.Reduction.COUNT, true)))
            with b.inside(loop.step):
                b.write(turn, b.add(b.read(turn), one))
        return [out(i32)]

    yield case("barrier_reduce", "one-by-one", one_by_one)

    def warp(kernel: Kernel) -> list[np.ndarray]:
        """Lanes of a warp have ended; the mask still names them."""
        b = kernel.builder
        tile = kernel.shared("tile", i32, THREADS)
        target = kernel.own(kernel.array(i32))
        with b.if_(b.lt(kernel.local, b.const(10, i32))):
            b.return_()
        b.store(b.offset(tile, kernel.local), b.mul(kernel.local, b.const(3, i32)))
        b.emit(grid.SyncWarp(b.const(0xFFFFFFFF, u32)))
        b.store(target, b.load(b.offset(tile, b.value(arith.Xor(kernel.local, b.const(1, i32))))))
        return [out(i32)]

    yield case("sync_warp", "early", warp)


def _numbered() -> Iterator[Case]:
    """Barriers of some threads, of one number and of several."""
    for kind in grid.Reduction:
        for aligned in (True, False):

            def apart(kernel: Kernel) -> list[np.ndarray]:
                """The first two warps, then one, each at its own."""
                b = kernel.builder
                target = kernel.own(kernel.array(i32))
                first = b.lt(kernel.local, b.const(64, i32))
                for number, holds in ((1, first), (2, b.not_(first))):
                    with b.if_(holds):
                        count = b.const(64 if number == 1 else 32, u32)
                        some = b.eq(b.rem(kernel.local, b.const(5, i32)), b.const(0, i32))
                        which = b.const(number, u32)
                        part = grid.BarrierPart(kind, which, count, some, aligned)
                        b.store(target, b.value(part))
                return [out(i32)]

            label = f"{kind.value}-apart-{'aligned' if aligned else 'free'}"
            yield case("barrier_part", label, apart)

        def together(kernel: Kernel) -> list[np.ndarray]:
            """Each warp at the barrier of its number."""
            b = kernel.builder
            warp_ = b.value(arith.Shr(b.cast(kernel.local, u32), b.const(5, u32)))
            some = b.eq(b.rem(kernel.local, b.const(7, i32)), b.const(0, i32))
            which = b.add(warp_, b.const(3, u32))
            kernel.store(b.value(grid.BarrierPart(kind, which, b.const(32, u32), some)))
            return [out(i32)]

        yield case("barrier_part", f"{kind.value}-together", together)

    def produced(kernel: Kernel) -> list[np.ndarray]:
        """One warp writes for the two others, and does not wait."""
        b = kernel.builder
        tile = kernel.shared("tile", i32, 32)
        writes = b.lt(kernel.local, b.const(32, i32))
        number, count = b.const(4, u32), b.const(THREADS, u32)
        with b.if_(writes):
            b.store(b.offset(tile, kernel.local), b.mul(kernel.local, b.const(3, i32)))
            b.emit(grid.BarrierArrive(number, count))
        variable = b.variable("made", i32)
        with b.if_(b.not_(writes)):
            true = b.const(True, b1)
            came = b.value(grid.BarrierPart(grid.Reduction.NONE, number, count, true))
            other = b.load(b.offset(tile, b.rem(kernel.local, b.const(32, i32))))
            b.write(variable, b.add(came, other))
        kernel.store(b.read(variable))
        return [out(i32)]

    yield case("barrier_arrive", "produced", produced)


def barriers() -> Iterator[Case]:
    for kind in _REDUCTIONS:
        for limit in (0, 1, 50, THREADS):

            def count(kernel: Kernel) -> list[np.ndarray]:
                b = kernel.builder
                below = b.lt(kernel.local, b.const(limit, i32))
                kernel.store(b.value(grid.BarrierReduce(kind, below)))
                return [out(i32)]

            yield case("barrier_reduce", f"{kind.value}-{limit}", count)

    yield from _without_some()
    yield from _numbered()

    def waited(kernel: Kernel) -> list[np.ndarray]:
        """Each thread counts itself, and waits in a loop for all."""
        b = kernel.builder
        came = kernel.shared("came", i32, 1)
        zero, one = b.const(0, i32), b.const(1, i32)
        with b.if_(b.eq(kernel.local, zero)):
            b.store(came, zero)
        b.emit(grid.Barrier())
        order, scope = grid.MemoryOrder.RELAXED, grid.MemoryScope.BLOCK
        b.emit(atomic.Atomic(atomic.AtomicKind.ADD, came, one, order, scope))
        with b.loop():
            b.emit(grid.RunOthers())
            b.break_if(b.eq(b.load(came, volatile=True), b.const(THREADS, i32)))
        kernel.store(b.load(came))
        return [out(i32)]

    yield case("run_others", "", waited)

    def in_loop(kernel: Kernel) -> list[np.ndarray]:
        """Neighbours exchange values three times, with a barrier per iteration."""
        b = kernel.builder
        ring = kernel.shared("ring", i32, THREADS)
        held, turn = b.variable("held", i32), b.variable("turn", i32)
        b.write(held, kernel.local)
        one, size = b.const(1, i32), b.const(THREADS, i32)
        with b.loop() as loop:
            b.break_if(b.value(arith.Ge(b.read(turn), b.const(3, i32))))
            b.store(b.offset(ring, kernel.local), b.read(held))
            b.emit(grid.Barrier())
            b.write(held, b.load(b.offset(ring, b.rem(b.add(kernel.local, one), size))))
            b.emit(grid.Barrier())
            with b.inside(loop.step):
                b.write(turn, b.add(b.read(turn), one))
        kernel.store(b.read(held))
        return [out(i32)]

    yield case("barrier", "in-loop", in_loop)

    def ordered(kernel: Kernel) -> list[np.ndarray]:
        """A warp's lanes read what others of the warp wrote."""
        b = kernel.builder
        tile = kernel.shared("tile", i32, THREADS)
        b.store(b.offset(tile, kernel.local), b.mul(kernel.local, b.const(3, i32)))
        b.emit(grid.SyncWarp(b.const(0xFFFFFFFF, u32)))
        other = b.value(arith.Xor(kernel.local, b.const(1, i32)))
        kernel.store(b.load(b.offset(tile, other)))
        return [out(i32)]

    yield case("sync_warp", "", ordered)

    def fences(kernel: Kernel) -> list[np.ndarray]:
        """Each thread runs as many fences as its number, and waits for no other."""
        b = kernel.builder
        one = b.const(1, i32)
        target = kernel.own(kernel.array(i32))
        turn = b.variable("turn", i32)
        with b.loop() as loop:
            b.break_if(b.value(arith.Ge(b.read(turn), kernel.local)))
            for scope in grid.MemoryScope:
                for order in grid.MemoryOrder:
                    b.emit(grid.Fence(scope, order))
                    b.value(atomic.Atomic(atomic.AtomicKind.ADD, target, one, order, scope))
            with b.inside(loop.step):
                b.write(turn, b.add(b.read(turn), one))
        return [out(i32)]

    yield case("fence", "", fences)


def grids() -> Iterator[Case]:
    def across(kernel: Kernel) -> list[np.ndarray]:
        """Each thread twice reads a value that another block's thread wrote before a barrier."""
        b = kernel.builder
        count, one = b.const(4 * THREADS, i32), b.const(1, i32)
        array, result = kernel.array(i32), kernel.array(i32)
        round_ = b.variable("round", i32)
        total = b.variable("total", i32)
        other = b.rem(b.add(kernel.thread, b.const(THREADS + 1, i32)), count)
        with b.loop() as loop:
            b.break_if(b.value(arith.Ge(b.read(round_), b.const(2, i32))))
            b.store(kernel.own(array), b.add(b.read(total), kernel.thread))
            b.emit(grid.GridSync())
            b.write(total, b.add(b.load(b.offset(array, other)), one))
            b.emit(grid.GridSync())
            with b.inside(loop.step):
                b.write(round_, b.add(b.read(round_), one))
        b.store(kernel.own(result), b.read(total))
        return [out(i32, 4 * THREADS), out(i32, 4 * THREADS)]

    yield case("grid_sync", "", across, grid_=(2, 1, 2))


def asynchronous() -> Iterator[Case]:
    for element, bytes_ in ((f32, 4), (f64, 8), (u32, 8), (u8, 16), (dtypes.f16, 16), (f32, 16)):

        def through_shared(kernel: Kernel) -> list[np.ndarray]:
            """Each thread copies two pieces, in groups of their own, and reads another thread's."""
            b = kernel.builder
            each = bytes_ // element.size
            size = 2 * each * THREADS
            tile = kernel.shared("tile", element, size)
            source = kernel.array(element)
            other = b.sub(b.const(THREADS - 1, i32), kernel.local)
            own = b.mul(kernel.local, b.const(2 * each, i32))
            for number in range(2):
                into = b.add(own, b.const(number * each, i32))
                address = kernel.own(source, 2 * each, number * each)
                b.emit(copies.AsyncCopy(b.offset(tile, into), address, bytes_))
                b.emit(copies.AsyncCommit())
            first = b.mul(other, b.const(2 * each, i32))
            last = b.add(first, b.const(2 * each - 1, i32))
            for pending, index in ((1, first), (0, last)):
                b.emit(copies.AsyncWait(pending))
                b.emit(grid.Barrier())
                kernel.store(b.load(b.offset(tile, index)))
            return [stretched(element, 4 * THREADS * each), out(element), out(element)]

        for op in ("async_copy", "async_commit", "async_wait"):
            yield case(op, f"{bytes_ // element.size}-{element}", through_shared)
