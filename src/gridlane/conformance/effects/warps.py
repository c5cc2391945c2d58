"""Cases of the ops of warps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.conformance.effects.making import FULL, THREADS, case, out, stretched, taking_part
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import ALL, INTEGERS, DType, b1, f32, f64, i8, i32, i64, u32
from gridlane.ir.op import Op
from gridlane.ir.ops import warp
from gridlane.ir.ops.arith import Ge, Shl
from gridlane.ir.ops.products import COLUMNS, Factor, Mma
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value

EVERY_WAY = tuple(product((32, 16, 8, 4, 2, 1), (0, 1, 3, 31, 33, -1)))
SOME_WAYS = ((32, 0), (32, 3), (32, 33), (16, 31), (8, -1), (4, 1), (2, 1), (1, 31))
FEW_WAYS = ((32, 3), (16, 31), (8, -1))
"""(width, lane). The source lane does not depend on the type of the value, and some devices'
compilers take seconds for so many barriers."""


def shuffles() -> Iterator[Case]:
    for mode in warp.ShuffleMode:
        for dtype in ALL:

            def move(kernel: Kernel) -> list[np.ndarray]:
                """Words at many widths and distances; other types at few."""
                b = kernel.builder
                value, mask = kernel.load(dtype), b.const(FULL, u32)
                results = []
                for width, lane in SOME_WAYS if dtype is i32 else FEW_WAYS:
                    shuffle = warp.Shuffle(
                        mode, mask, value, b.const(lane, i32), b.const(width, i32)
                    )
                    for result in b.emit(shuffle).results:
                        kernel.store(result)
                        results.append(out(result.type))
                # A distance that differs from lane to lane.
                lane = b.rem(b.mul(kernel.local, b.const(7, i32)), b.const(32, i32))
                shuffle = warp.Shuffle(mode, mask, value, lane, b.const(32, i32))
                for result in b.emit(shuffle).results:
                    kernel.store(result)
                    results.append(out(result.type))
                return [stretched(dtype), *results]

            yield case("shuffle", f"{mode.value}-{dtype}", move)
        for dtype in (b1, i8, i32, f32, f64):

            def move_in_a_branch(kernel: Kernel) -> list[np.ndarray]:
                """From lanes that are elsewhere."""
                b = kernel.builder
                value, third = kernel.load(dtype), b.rem(kernel.local, b.const(3, i32))
                condition = b.eq(third, b.const(1, i32))
                mask = taking_part(b, condition)
                ways = SOME_WAYS if dtype is i32 else FEW_WAYS
                targets = [kernel.own(kernel.array(dtype)) for _ in ways]
                with b.if_(condition):
                    for place, (width, lane) in zip(targets, ways, strict=True):
                        ends = b.const(lane, i32), b.const(width, i32)
                        results = b.emit(warp.Shuffle(mode, mask, value, *ends))
                        b.store(place, results.results[0])
                return [stretched(dtype), *(out(dtype) for _ in targets)]

            yield case("shuffle", f"{mode.value}-{dtype}-from-inactive", move_in_a_branch)

        def move_every_way(kernel: Kernel) -> list[np.ndarray]:
            """Every legal width and a few distances, which no compiler knows."""
            b = kernel.builder
            value, mask = kernel.load(i32), b.const(FULL, u32)
            widths, lanes, moved, valid = (kernel.array(each) for each in (i32, i32, i32, b1))
            way = b.variable("way", i32)
            with b.loop() as loop:
                number = b.read(way)
                b.break_if(b.value(Ge(number, b.const(len(EVERY_WAY), i32))))
                ends = (b.load(b.offset(each, b.cast(number, i64))) for each in (lanes, widths))
                results = b.emit(warp.Shuffle(mode, mask, value, *ends)).results
                place = b.add(b.mul(number, b.const(2 * THREADS, i32)), kernel.thread)
                for array, result in zip((moved, valid), results, strict=True):
                    b.store(b.offset(array, b.cast(place, i64)), result)
                with b.inside(loop.step):
                    b.write(way, b.add(b.read(way), b.const(1, i32)))
            known = [np.array(each, np.int32) for each in zip(*EVERY_WAY, strict=True)]
            count = 2 * THREADS * len(EVERY_WAY)
            return [stretched(i32), *known, out(i32, count), out(b1, count)]

        yield case("shuffle", f"{mode.value}-every-way", move_every_way)


PRODUCTS = (
    *((Factor.F16, Factor.F16, rows, 16, kind) for rows, kind in ((16, f32), (16, u32))),
    (Factor.BF16, Factor.BF16, 16, 8, f32),
    (Factor.TF32, Factor.TF32, 16, 8, f32),
    (Factor.E4M3, Factor.E5M2, 16, 32, f32),
    (Factor.E5M2, Factor.E4M3, 16, 32, u32),
    (Factor.F64, Factor.F64, 8, 4, f64),
    (Factor.F64, Factor.F64, 16, 8, f64),
    (Factor.S8, Factor.U8, 16, 32, i32),
    (Factor.U4, Factor.S4, 8, 32, i32),
)


ONES = {
    **{Factor.F16: 0x3C00, Factor.BF16: 0x3F80, Factor.TF32: 0x3F800000},
    **{Factor.E4M3: 0x38, Factor.E5M2: 0x3C},
}
"""The bits of 1.0 in formats of floats."""


def products() -> Iterator[Case]:
    """Small numbers, whose sums are the same in any order."""
    for left, right, rows, depth, kind in PRODUCTS:
        for limited in (False, True) if left.is_integer else (False,):

            def multiply(kernel: Kernel) -> list[np.ndarray]:
                b = kernel.builder
                per_word = 32 * left.in_word
                counts = rows * depth // per_word, COLUMNS * depth // per_word
                word = f64 if left is Factor.F64 else u32
                a, c = (
                    tuple(_factor(kernel, word, factor, n, seed) for n in range(count))
                    for seed, (factor, count) in enumerate(zip((left, right), counts, strict=True))
                )
                sums = rows // 4 // (2 if kind is u32 else 1)
                start = tuple(b.const(0 if kind is u32 else n, kind) for n in range(sums))
                results = b.emit(Mma(rows, depth, left, right, limited, a, c, start)).results
                for result in results:
                    kernel.store(result)
                return [out(kind) for _ in results]

            label = f"{left.value}-{right.value}-{rows}-{depth}-{kind}"
            yield case("mma", label + "-limited" * limited, multiply)


def _factor(kernel: Kernel, word: DType, factor: Factor, number: int, seed: int) -> Value:
    """A register of small numbers, which differ from lane to lane."""
    b, total = kernel.builder, kernel.builder.const(0, u32)
    for part in range(1 if word is f64 else factor.in_word):
        mixed = b.mul(b.cast(kernel.local, u32), b.const(2 * part + 3, u32))
        value = b.rem(b.add(mixed, b.const(5 * number + part + seed, u32)), b.const(3, u32))
        if word is f64:
            return b.cast(value, f64)
        one = ONES.get(factor)
        if one is not None:  # 0, 1 or -1
            minus = b.const(one | 1 << factor.bits - 1, u32)
            is_one = b.eq(value, b.const(1, u32))
            value = b.select(
                is_one, b.const(one, u32), b.select(b.eq(value, b.const(0, u32)), value, minus)
            )
        shift = b.const(part * factor.bits, u32)
        total = b.or_(total, b.binary(Shl, value, shift))
    return total


def votes() -> Iterator[Case]:
    for mode in warp.VoteMode:

        def vote(kernel: Kernel) -> list[np.ndarray]:
            """All lanes, then those on one side of a branch."""
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
            # Only the lanes in a mask read the result.
            even = b.const(0x55555555, u32)
            with b.if_(b.eq(b.and_(kernel.local, b.const(1, i32)), b.const(0, i32))):
                kernel.store(b.value(warp.Vote(mode, even, third)))
            for result in results:
                kernel.store(result)
            return [out(results[0].type) for _ in range(4)]

        yield case("vote", mode.value, vote)

        def absent(kernel: Kernel) -> list[np.ndarray]:
            """A mask that names inactive lanes."""
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
            """All lanes of words; some lanes of each type."""
            b = kernel.builder
            value = kernel.load(dtype)
            if dtype is i32:
                kernel.store(b.value(warp.MatchAny(b.const(FULL, u32), value)))
            early = b.lt(kernel.local, b.const(41, i32))
            mask = taking_part(b, early)
            with b.if_(early):
                kernel.store(b.value(warp.MatchAny(mask, value)))
            return [few, *(out(u32) for _ in kernel.function.params[1:])]

        def all_(kernel: Kernel) -> list[np.ndarray]:
            """All lanes of words; some lanes of each type."""
            b = kernel.builder
            value = kernel.load(dtype)
            if dtype is i32:
                for result in b.emit(warp.MatchAll(b.const(FULL, u32), value)).results:
                    kernel.store(result)
            some = b.eq(b.and_(kernel.local, b.const(7, i32)), b.const(1, i32))
            mask = taking_part(b, some)
            with b.if_(some):
                for result in b.emit(warp.MatchAll(mask, value)).results:
                    kernel.store(result)
            pairs = len(kernel.function.params) // 2
            return [few, *(out(each) for _ in range(pairs) for each in (u32, b1))]

        yield case("match_any", str(dtype), any_)
        yield case("match_all", str(dtype), all_)


def reductions() -> Iterator[Case]:
    for kind in warp.WarpReduction:
        for dtype in INTEGERS:

            def reduce(kernel: Kernel) -> list[np.ndarray]:
                b = kernel.builder
                value = kernel.load(dtype)
                some = b.lt(b.rem(kernel.local, b.const(5, i32)), b.const(2, i32))
                part = taking_part(b, some)
                with b.if_(some):
                    kernel.store(b.value(warp.WarpReduce(kind, part, value)))
                return [stretched(dtype), out(dtype)]

            yield case("warp_reduce", f"{kind.value}-{dtype}", reduce)

            def reduce_all(kernel: Kernel) -> list[np.ndarray]:
                value, mask = kernel.load(dtype), kernel.builder.const(FULL, u32)
                kernel.store(kernel.builder.value(warp.WarpReduce(kind, mask, value)))
                return [stretched(dtype), out(dtype)]

            yield case("warp_reduce", f"{kind.value}-{dtype}-whole", reduce_all)


def in_step() -> Iterator[Case]:
    """Ops that all threads of a block run, even if its last warp is not full."""
    for threads, masks in ((THREADS, (0x0F0F00F1,)), (40, (FULL, 0x0F0F00F1))):

        def exchange(kernel: Kernel) -> list[np.ndarray]:
            b = kernel.builder
            value = kernel.load(i32)
            odd = b.eq(b.and_(value, b.const(1, i32)), b.const(1, i32))
            for bits in masks:
                mask = b.const(bits, u32)
                ops: list[Op] = [warp.Vote(mode, mask, odd) for mode in warp.VoteMode]
                ops += [warp.MatchAny(mask, value), warp.MatchAll(mask, value)]
                ops += [warp.WarpReduce(kind, mask, value) for kind in warp.WarpReduction]
                for op in ops:
                    for result in b.emit(op).results:
                        kernel.store(result)
            kernel.store(b.value(warp.ActiveMask()))
            data = np.where(np.arange(192) % 96 < 32, 7, np.arange(192) % 5).astype(np.int32)
            stored = [param.value.type for param in kernel.function.params[1:]]
            return [data, *(out(t.element) for t in stored if isinstance(t, PointerType))]

        yield case("active_mask", f"beside-others-{threads}", exchange, (threads, 1, 1))
