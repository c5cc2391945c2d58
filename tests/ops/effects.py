"""Cases of the ops that do more than compute: memory, atomics, grid, warp, control flow."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from tests.ops.cases import Case, takes
from tests.ops.kernels import Kernel, array_of
from tests.ops.special import special

from gridlane.core import dtypes
from gridlane.core.dtypes import ALL, INTEGERS, DType, b1, f32, f64, i8, i32, u8, u32, u64
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith, atomic, control, copies, grid, memory, warp
from gridlane.ir.types import ArrayType, Space, StructType, Type, pointer, struct, vector
from gridlane.ir.values import ErrorSite, Function, Global, Module, Param, Region, Value

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


RECORD = struct("record", {"tag": i8, "x": f32, "pair": vector(dtypes.i16, 2), "y": f64})
PACKED = StructType("packed", ("a", "b", "c"), (u8, f32, u64), (0, 1, 5), 13, 1)


# ---- memory


def loads_and_stores() -> Iterator[Case]:
    types: list[Type] = [*ALL, vector(f32, 4), vector(i8, 3), vector(f64, 2), RECORD, PACKED]
    for type_ in types:

        def copy(kernel: Kernel) -> list[np.ndarray]:
            kernel.store(kernel.load(type_))
            if isinstance(type_, DType):
                return [stretched(type_), out(type_)]
            data = np.arange(2 * THREADS * type_.size, dtype=np.uint8).reshape(-1, type_.size)
            return [data % 113, out(type_)]

        name = getattr(type_, "name", str(type_))
        for op in ("load", "store"):
            yield case(op, name, copy)

    def volatile(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        value = b.load(kernel.own(kernel.array(f32)), volatile=True)
        b.store(kernel.own(kernel.array(f32)), value, volatile=True)
        return [stretched(f32), out(f32)]

    yield case("load", "volatile", volatile)

    def masked(kernel: Kernel) -> list[np.ndarray]:
        """Lanes with a null pointer do not load or store."""
        b = kernel.builder
        source, target = kernel.array(i32), kernel.array(i32)
        odd = b.eq(b.and_(kernel.thread, b.const(1, i32)), b.const(1, i32))
        null = b.const(0, pointer(i32))
        with b.if_(odd):
            at = b.select(odd, kernel.own(source), null)
            b.store(b.select(odd, kernel.own(target), null), b.load(at))
        return [stretched(i32), out(i32)]

    yield case("load", "masked", masked)


def addresses() -> Iterator[Case]:
    for index in INTEGERS:

        def reach(kernel: Kernel) -> list[np.ndarray]:
            b = kernel.builder
            source = kernel.array(f32)
            middle = b.offset(source, b.const(100, i32))
            back = b.value(memory.Offset(middle, b.cast(kernel.local, index)))
            if index.is_signed:
                back = b.value(memory.Offset(middle, b.neg(b.cast(kernel.local, index))))
            kernel.store(b.load(back))
            return [np.arange(256, dtype=np.float32), out(f32)]

        yield case("offset", str(index), reach)

    def fields(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        at = kernel.own(kernel.array(RECORD))
        for number in range(len(RECORD.types)):
            field = b.field_pointer(at, number)
            kernel.store(b.load(field))
        return [np.ones((2 * THREADS, RECORD.size), np.uint8) * 3, *map(out, RECORD.types)]

    yield case("field_pointer", "struct", fields)

    def nested(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        row = ArrayType(i32, 4)
        first = b.field_pointer(kernel.own(kernel.array(row)), 0)
        kernel.store(b.load(b.offset(first, b.const(2, i32))))
        return [np.arange(8 * THREADS, dtype=np.int32), out(i32)]

    yield case("field_pointer", "array", nested)

    def recast(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        at = kernel.own(kernel.array(f32))
        octet = b.offset(b.recast(at, pointer(u8)), b.const(3, i32))
        generic = b.recast(at, pointer(u32, Space.GENERIC))
        kernel.store(b.load(octet))
        kernel.store(b.load(generic))
        return [stretched(f32), out(u8), out(u32)]

    yield case("recast", "", recast)

    def through_integers(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        at = kernel.own(kernel.array(i32))
        whole = b.value(memory.Address(at))
        other = b.value(memory.FromAddress(whole, pointer(i32, Space.GENERIC)))
        kernel.store(b.load(other))
        start = b.value(memory.Address(kernel.function.params[0].value))
        kernel.store(b.sub(whole, start))
        kernel.store(b.eq(at, kernel.function.params[0].value))
        return [stretched(i32), out(i32), out(u64), out(b1)]

    yield case("address", "", through_integers)
    yield case("from_address", "", through_integers)


def arrays_of_the_kernel() -> Iterator[Case]:
    def constant(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        data = np.arange(256, dtype=np.int16).tobytes()
        table = Global("table", dtypes.i16, 256, Space.CONSTANT, data=data)
        kernel.module.globals["table"] = table
        at = b.value(memory.GlobalAddress("table", pointer(dtypes.i16, Space.CONSTANT)))
        kernel.store(b.load(b.offset(at, kernel.thread)))
        return [out(dtypes.i16)]

    yield case("global", "constant", constant)

    def shared(kernel: Kernel) -> list[np.ndarray]:
        for name, type_ in (("first", u8), ("tile", f32)):
            kernel.module.globals[name] = Global(name, type_, THREADS, Space.SHARED)

        def start(b):
            return b.value(memory.GlobalAddress("tile", pointer(f32, Space.SHARED)))

        return reverse(kernel, start)

    def reverse(kernel: Kernel, start: Callable) -> list[np.ndarray]:
        """A block turns its values round, in shared memory."""
        b = kernel.builder
        value, tile = kernel.load(f32), start(b)
        b.store(b.offset(tile, kernel.local), value)
        b.emit(grid.Barrier())
        other = b.sub(b.const(THREADS - 1, i32), kernel.local)
        kernel.store(b.load(b.offset(tile, other)))
        return [stretched(f32), out(f32)]

    yield case("global", "shared", shared)
    yield case("barrier", "", shared)

    def dynamic(kernel: Kernel) -> list[np.ndarray]:
        def start(b):
            return b.value(memory.DynamicShared(pointer(f32, Space.SHARED)))

        return reverse(kernel, start)

    yield case("dynamic_shared", "", dynamic, shared=4 * THREADS)

    def dynamic_size(kernel: Kernel) -> list[np.ndarray]:
        kernel.store(kernel.builder.value(grid.DynamicSharedSize()))
        return [out(i32)]

    yield case("dynamic_shared_size", "", dynamic_size, shared=4 * THREADS)

    for type_ in (i8, f64, vector(f32, 2)):

        def local(kernel: Kernel) -> list[np.ndarray]:
            """Filled and read at divergent places, by two arrays of each thread."""
            b = kernel.builder
            value = kernel.load(type_)
            own, other = (b.value(memory.LocalArray(type_, 5)) for _ in range(2))
            index = b.rem(kernel.thread, b.const(5, i32))
            for number in range(5):
                b.store(b.offset(own, b.const(number, i32)), b.zero(type_))
                b.store(b.offset(other, b.const(number, i32)), value)
            b.store(b.offset(own, index), value)
            kernel.store(b.load(b.offset(own, b.const(2, i32))))
            kernel.store(b.load(b.offset(other, index)))
            data = np.arange(2 * THREADS * type_.size, dtype=np.uint8) % 97
            return [data.reshape(-1, type_.size), out(type_), out(type_)]

        yield case("local_array", str(type_), local)


def variables_and_parts() -> Iterator[Case]:
    for type_ in (*ALL, vector(f32, 4), RECORD, pointer(f32)):

        def divergent(kernel: Kernel) -> list[np.ndarray]:
            """Written by some of the threads; the others keep zero."""
            b = kernel.builder
            var = b.variable("v", type_)
            value = kernel.load(type_)
            with b.if_(b.lt(b.rem(kernel.thread, b.const(3, i32)), b.const(2, i32))):
                b.write(var, value)
            kernel.store(b.read(var))
            if isinstance(type_, DType):
                return [stretched(type_), out(type_)]
            data = np.arange(2 * THREADS * type_.size, dtype=np.uint8) % 101
            return [data.reshape(-1, type_.size), out(type_)]

        for op in ("read", "write"):
            yield case(op, getattr(type_, "name", str(type_)), divergent)

    def parts(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        x, y = kernel.load(f32), kernel.load(i8)
        four = b.value(memory.Pack((x, b.neg(x), x, b.const(1, f32)), vector(f32, 4)))
        pair = b.value(memory.Pack((b.cast(y, dtypes.i16),) * 2, vector(dtypes.i16, 2)))
        record = b.value(memory.Pack((y, x, pair, b.cast(x, f64)), RECORD))
        kernel.store(four)
        kernel.store(b.value(memory.Part(four, 1)))
        kernel.store(b.value(memory.Part(record, 2)))
        kernel.store(b.value(memory.Part(record, 3)))
        results = [out(t) for t in (vector(f32, 4), f32, vector(dtypes.i16, 2), f64)]
        # No NaN: its sign and payload are not part of the answer, and records compare by bytes.
        return [np.nan_to_num(stretched(f32)), stretched(i8), *results]

    yield case("pack", "", parts)
    yield case("part", "", parts)


# ---- atomics

COMMUTING = {"add", "sub", "and", "or", "xor", "min", "max", "nanmin", "nanmax"}


def atomics() -> Iterator[Case]:
    for kind in atomic.AtomicKind:
        for dtype in ALL:

            def make(at, value):
                return atomic.Atomic(kind, at, value)

            if dtype.is_bool or not takes(make, pointer(dtype), dtype):
                continue

            def apart(kernel: Kernel) -> list[np.ndarray]:
                """Each thread on its own element: the old and the new values."""
                b = kernel.builder
                at, value = kernel.own(kernel.array(dtype)), kernel.load(dtype)
                kernel.store(b.value(atomic.Atomic(kind, at, value)))
                memory_, operand = stretched(dtype), np.roll(stretched(dtype), 5)
                return [memory_, operand, out(dtype)]

            yield case("atomic", f"{kind.value}-{dtype}-apart", apart)
            if not dtype.is_integer or kind.value not in COMMUTING:
                continue

            def together(kernel: Kernel) -> list[np.ndarray]:
                """Some of the threads on few elements: the order does not show."""
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
            cell = Global("cell", i32, 1, Space.SHARED)
            kernel.module.globals["cell"] = cell
            at = b.value(memory.GlobalAddress("cell", pointer(i32, Space.SHARED)))
            if space is Space.LOCAL:
                at = b.value(memory.LocalArray(i32, 1))
            b.store(at, b.const(5, i32))
            b.emit(grid.Barrier())
            b.value(atomic.Atomic(atomic.AtomicKind.ADD, at, kernel.local))
            b.emit(grid.Barrier())
            kernel.store(b.load(at))
            return [out(i32)]

        yield case("atomic", space.name.lower(), elsewhere)

    for dtype in ALL:
        if dtype.is_bool:
            continue

        def compare(kernel: Kernel) -> list[np.ndarray]:
            b = kernel.builder
            at = kernel.own(kernel.array(dtype))
            expected, desired = kernel.load(dtype), kernel.load(dtype)
            kernel.store(b.value(atomic.AtomicCas(at, expected, desired)))
            expected_ = stretched(dtype)
            expected_[::3] = expected_[0]
            return [stretched(dtype), expected_, np.roll(expected_, 7), out(dtype)]

        yield case("atomic_cas", str(dtype), compare)


# ---- the grid


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


def thread_of_3d(kernel: Kernel) -> Value:
    """The number of the thread in a 3-d grid."""
    b = kernel.builder
    number = b.const(0, i32)
    for index, size in ((grid.BlockIdx, grid.GridDim), (grid.ThreadIdx, grid.BlockDim)):
        for axis in reversed(grid.Axis):
            number = b.add(b.mul(number, b.value(size(axis))), b.value(index(axis)))
    return number


def barriers() -> Iterator[Case]:
    for kind in grid.Reduction:
        for limit in (0, 1, 50, THREADS):

            def count(kernel: Kernel) -> list[np.ndarray]:
                b = kernel.builder
                below = b.lt(kernel.local, b.const(limit, i32))
                kernel.store(b.value(grid.BarrierReduce(kind, below)))
                return [out(i32)]

            yield case("barrier_reduce", f"{kind.value}-{limit}", count)

    def early(kernel: Kernel) -> list[np.ndarray]:
        """Threads that have ended are not waited for and do not count."""
        b = kernel.builder
        target = kernel.own(kernel.array(i32))
        with b.if_(b.lt(kernel.local, b.const(40, i32))):
            b.return_()
        true = b.const(True, b1)
        b.store(target, b.value(grid.BarrierReduce(grid.Reduction.COUNT, true)))
        return [out(i32)]

    yield case("barrier_reduce", "early", early)

    def in_loop(kernel: Kernel) -> list[np.ndarray]:
        """Neighbours pass values on, three times, with a barrier each time."""
        b = kernel.builder
        kernel.module.globals["ring"] = Global("ring", i32, THREADS, Space.SHARED)
        ring = b.value(memory.GlobalAddress("ring", pointer(i32, Space.SHARED)))
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
        kernel.module.globals["tile"] = Global("tile", i32, THREADS, Space.SHARED)
        tile = b.value(memory.GlobalAddress("tile", pointer(i32, Space.SHARED)))
        b.store(b.offset(tile, kernel.local), b.mul(kernel.local, b.const(3, i32)))
        b.emit(grid.SyncWarp(b.const(0xFFFFFFFF, u32)))
        other = b.value(arith.Xor(kernel.local, b.const(1, i32)))
        kernel.store(b.load(b.offset(tile, other)))
        return [out(i32)]

    yield case("sync_warp", "", ordered)

    def fences(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        for scope in grid.MemoryScope:
            for order in grid.MemoryOrder:
                b.emit(grid.Fence(scope, order))
        kernel.store(kernel.thread)
        return [out(i32)]

    yield case("fence", "", fences)


# ---- warps

FULL = 0xFFFFFFFF


def shuffles() -> Iterator[Case]:
    for mode in warp.ShuffleMode:
        for dtype in ALL:

            def move(kernel: Kernel) -> list[np.ndarray]:
                """Every legal width and a few distances."""
                b = kernel.builder
                value, mask = kernel.load(dtype), b.const(FULL, u32)
                results = []
                for width in (32, 16, 8, 4, 2, 1):
                    for lane in (0, 1, 3, 31, 33, -1):
                        made = warp.Shuffle(
                            mode, mask, value, b.const(lane, i32), b.const(width, i32)
                        )
                        for result in b.emit(made).results:
                            kernel.store(result)
                            results.append(out(result.type))
                # A distance that differs from lane to lane.
                lane = b.rem(b.mul(kernel.local, b.const(7, i32)), b.const(32, i32))
                made = warp.Shuffle(mode, mask, value, lane, b.const(32, i32))
                for result in b.emit(made).results:
                    kernel.store(result)
                    results.append(out(result.type))
                return [stretched(dtype), *results]

            yield case("shuffle", f"{mode.value}-{dtype}", move)


def taking_part(b: Builder, condition: Value) -> Value:
    """The mask of the lanes where a condition holds: what CUDA wants for the branch on it."""
    return b.value(warp.Vote(warp.VoteMode.BALLOT, b.const(FULL, u32), condition))


def votes() -> Iterator[Case]:
    for mode in warp.VoteMode:

        def vote(kernel: Kernel) -> list[np.ndarray]:
            """All lanes, then those that take one side of a branch."""
            b = kernel.builder
            mask = b.const(FULL, u32)
            third = b.eq(b.rem(kernel.local, b.const(3, i32)), b.const(0, i32))
            early = b.lt(kernel.local, b.const(40, i32))
            results = [b.value(warp.Vote(mode, mask, p)) for p in (third, early)]
            target = kernel.own(kernel.array(results[0].type))
            sides = taking_part(b, early), taking_part(b, b.not_(early))
            with b.if_(early) as branch:
                b.store(target, b.value(warp.Vote(mode, sides[0], third)))
                with b.inside(branch.orelse):
                    b.store(target, b.value(warp.Vote(mode, sides[1], early)))
            # Of a mask, the lanes in it look at the result.
            even = b.const(0x55555555, u32)
            with b.if_(b.eq(b.and_(kernel.local, b.const(1, i32)), b.const(0, i32))):
                kernel.store(b.value(warp.Vote(mode, even, third)))
            for result in results:
                kernel.store(result)
            return [out(results[0].type) for _ in range(4)]

        yield case("vote", mode.value, vote)

        def absent(kernel: Kernel) -> list[np.ndarray]:
            """A mask that names lanes which are elsewhere."""
            b = kernel.builder
            third = b.eq(b.rem(kernel.local, b.const(3, i32)), b.const(0, i32))
            with b.if_(b.lt(kernel.local, b.const(40, i32))):
                kernel.store(b.value(warp.Vote(mode, b.const(FULL, u32), third)))
            return [out(u32 if mode is warp.VoteMode.BALLOT else b1)]

        yield case("vote", f"{mode.value}-absent", absent)

    def active(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        kernel.store(b.value(warp.ActiveMask()))
        with b.if_(b.eq(b.rem(kernel.local, b.const(5, i32)), b.const(2, i32))):
            kernel.store(b.value(warp.ActiveMask()))
        return [out(u32), out(u32)]

    yield case("active_mask", "", active)
    yield case("active_mask", "part-of-a-warp", active_of_few, (40, 1, 1), (1, 1, 1))


def active_of_few(kernel: Kernel) -> list[np.ndarray]:
    kernel.store(kernel.builder.value(warp.ActiveMask()))
    return [out(u32, 40)]


def matches() -> Iterator[Case]:
    for dtype in ALL:
        few = np.array([0, 1, 1, 0, 1, 1, 1, 0])[np.arange(2 * THREADS) % 8].astype(dtype.numpy)
        few[32:64] = few[1]
        if dtype.is_float:
            few[0:4] = np.array([0.0, -0.0, np.nan, np.nan]).astype(dtype.numpy)

        def any_(kernel: Kernel) -> list[np.ndarray]:
            b = kernel.builder
            value = kernel.load(dtype)
            kernel.store(b.value(warp.MatchAny(b.const(FULL, u32), value)))
            early = b.lt(kernel.local, b.const(41, i32))
            mask = taking_part(b, early)
            with b.if_(early):
                kernel.store(b.value(warp.MatchAny(mask, value)))
            return [few, out(u32), out(u32)]

        def all_(kernel: Kernel) -> list[np.ndarray]:
            b = kernel.builder
            value = kernel.load(dtype)
            for result in b.emit(warp.MatchAll(b.const(FULL, u32), value)).results:
                kernel.store(result)
            some = b.eq(b.and_(kernel.local, b.const(7, i32)), b.const(1, i32))
            mask = taking_part(b, some)
            with b.if_(some):
                for result in b.emit(warp.MatchAll(mask, value)).results:
                    kernel.store(result)
            return [few, out(u32), out(b1), out(u32), out(b1)]

        yield case("match_any", str(dtype), any_)
        yield case("match_all", str(dtype), all_)


def reductions() -> Iterator[Case]:
    for kind in warp.WarpReduction:
        for dtype in INTEGERS:

            def reduce(kernel: Kernel) -> list[np.ndarray]:
                b = kernel.builder
                value, mask = kernel.load(dtype), b.const(FULL, u32)
                kernel.store(b.value(warp.WarpReduce(kind, mask, value)))
                some = b.lt(b.rem(kernel.local, b.const(5, i32)), b.const(2, i32))
                part = taking_part(b, some)
                with b.if_(some):
                    kernel.store(b.value(warp.WarpReduce(kind, part, value)))
                return [stretched(dtype), out(dtype), out(dtype)]

            yield case("warp_reduce", f"{kind.value}-{dtype}", reduce)


# ---- control flow


def branches() -> Iterator[Case]:
    def both(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        var = b.variable("x", i32)
        value = kernel.load(i32)
        with b.if_(b.lt(value, b.const(0, i32))) as outer:
            with b.if_(b.eq(b.and_(value, b.const(1, i32)), b.const(1, i32))):
                b.write(var, b.const(1, i32))
            with b.inside(outer.orelse):
                b.write(var, b.const(2, i32))
                with b.if_(b.lt(value, b.const(33, i32))):
                    b.write(var, b.add(b.read(var), value))
        kernel.store(b.read(var))
        return [stretched(i32), out(i32)]

    yield case("if", "", both)

    def count(kernel: Kernel) -> list[np.ndarray]:
        """A loop of a different length in every lane, with a continue and an inner loop."""
        b = kernel.builder
        i, j, total = (b.variable(name, i32) for name in "ijt")
        one = b.const(1, i32)
        length = b.rem(kernel.thread, b.const(13, i32))
        with b.loop() as outer:
            b.break_if(b.value(arith.Ge(b.read(i), length)))
            with b.if_(b.eq(b.rem(b.read(i), b.const(4, i32)), one)):
                b.emit(control.Continue())
            b.write(j, b.const(0, i32))
            with b.loop() as inner:
                b.break_if(b.value(arith.Gt(b.read(j), b.read(i))))
                with b.inside(inner.step):
                    b.write(j, b.add(b.read(j), one))
                b.write(total, b.add(b.read(total), b.read(j)))
            with b.inside(outer.step):
                b.write(i, b.add(b.read(i), one))
        kernel.store(b.read(total))
        kernel.store(b.read(i))
        return [out(i32), out(i32)]

    for op in ("loop", "break", "continue"):
        yield case(op, "", count)

    def scoped(kernel: Kernel) -> list[np.ndarray]:
        """Leave a scope from a loop in it, and from a branch."""
        b = kernel.builder
        x = b.variable("x", i32)
        value = kernel.load(i32)
        scope = control.ScopeOp(Region())
        b.emit(scope)
        with b.inside(scope.body):
            with b.if_(b.lt(value, b.const(0, i32))):
                b.write(x, b.const(-7, i32))
                b.emit(control.Leave())
            with b.loop():
                b.write(x, b.add(b.read(x), b.const(1, i32)))
                with b.if_(b.value(arith.Gt(b.read(x), b.rem(value, b.const(9, i32))))):
                    b.emit(control.Leave())
                b.break_if(b.value(arith.Gt(b.read(x), b.const(5, i32))))
            b.write(x, b.const(100, i32))
        kernel.store(b.read(x))
        return [stretched(i32), out(i32)]

    yield case("scope", "", scoped)
    yield case("leave", "", scoped)


def ends() -> Iterator[Case]:
    def returning(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        value, target = kernel.load(i32), kernel.own(kernel.array(i32))
        b.store(target, b.const(1, i32))
        with b.loop():
            with b.if_(b.lt(value, b.const(0, i32))):
                b.return_()
            b.emit(control.Break())
        b.store(target, b.const(2, i32))
        b.return_()
        return [stretched(i32), out(i32)]

    yield case("return", "", returning)

    def raising(kernel: Kernel) -> list[np.ndarray]:
        """One thread ends with an error; the others go on."""
        b = kernel.builder
        kernel.module.errors.append(ErrorSite("ValueError", "thread 37"))
        target = kernel.own(kernel.array(i32))
        with b.if_(b.eq(kernel.thread, b.const(37, i32))):
            b.emit(control.Raise(0))
        b.store(target, b.const(1, i32))
        return [out(i32)]

    yield case("raise", "", raising)

    def reporting(kernel: Kernel) -> list[np.ndarray]:
        """One thread has an error, and goes on as the others do."""
        b = kernel.builder
        kernel.module.errors.append(ErrorSite("ValueError", "thread 37"))
        with b.if_(b.eq(kernel.thread, b.const(37, i32))):
            b.emit(control.Report(0))
        b.store(kernel.own(kernel.array(i32)), b.const(1, i32))
        return [out(i32)]

    yield case("report", "", reporting)

    def printing(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        with b.if_(b.eq(kernel.thread, b.const(3, i32))):
            b.emit(control.Print(("thread ", "", " ", ""), (kernel.thread, b.const(0.5, f32))))
        kernel.store(kernel.thread)
        return [out(i32)]

    yield case("print", "", printing)


def calls() -> Iterator[Case]:
    def calling(kernel: Kernel) -> list[np.ndarray]:
        """A function with two results, an early return, a local array, and a call of its own."""
        b = kernel.builder
        twice = function(kernel.module, "twice", (i32,), (i32,))
        inner, (x,) = inside(kernel.module, twice)
        inner.return_((inner.add(x, x),))
        split = function(kernel.module, "split", (i32, f32), (i32, f32))
        inner, (n, x) = inside(kernel.module, split)
        cell = inner.value(memory.LocalArray(f32, 1))
        inner.store(cell, x)
        with inner.if_(inner.lt(n, inner.const(0, i32))):
            inner.return_((inner.const(0, i32), inner.neg(x)))
        (n2,) = inner.call(twice, (n,))
        inner.return_((n2, inner.load(cell)))
        n, x = kernel.load(i32), kernel.load(f32)
        for result in b.call(split, (n, x)):
            kernel.store(result)
        with b.if_(b.lt(kernel.local, b.const(50, i32))):
            kernel.store(b.call(split, (kernel.local, x))[0])
        return [stretched(i32), stretched(f32), out(i32), out(f32), out(i32)]

    yield case("call", "", calling)


def function(
    module: Module, name: str, params: tuple[Type, ...], results: tuple[Type, ...]
) -> Function:
    made = Function(name, [Param(Value(t, name=f"a{n}")) for n, t in enumerate(params)], results)
    module.functions[name] = made
    return made


def inside(module: Module, made: Function):
    from gridlane.ir.builder import Builder

    return Builder(module, made), [param.value for param in made.params]


def grids() -> Iterator[Case]:
    def across(kernel: Kernel) -> list[np.ndarray]:
        """Each thread reads what a thread of another block wrote in front of a barrier, twice."""
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
            """Each thread copies two pieces, in groups of their own, and reads another's."""
            b = kernel.builder
            each = bytes_ // element.size
            size = 2 * each * THREADS
            kernel.module.globals["tile"] = Global("tile", element, size, Space.SHARED)
            tile = b.value(memory.GlobalAddress("tile", pointer(element, Space.SHARED)))
            source = kernel.array(element)
            other = b.sub(b.const(THREADS - 1, i32), kernel.local)
            own = b.mul(kernel.local, b.const(2 * each, i32))
            for number in range(2):
                into = b.add(own, b.const(number * each, i32))
                at = kernel.own(source, 2 * each, number * each)
                b.emit(copies.AsyncCopy(b.offset(tile, into), at, bytes_))
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


def effects() -> Iterator[Case]:
    """Cases of everything but arithmetic."""
    for family in (
        loads_and_stores,
        addresses,
        arrays_of_the_kernel,
        variables_and_parts,
        atomics,
        queries,
        barriers,
        grids,
        asynchronous,
        shuffles,
        votes,
        matches,
        reductions,
        branches,
        ends,
        calls,
    ):
        yield from family()
