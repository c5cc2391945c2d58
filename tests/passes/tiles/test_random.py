"""Random programs over tiles of integers: each device computes what the interpreter does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.passes.tiles.programs import Program, run, same
from tests.passes.tiles.test_along import composed
from tests.passes.tiles.test_products import by_threads, by_turns

from gridlane.core.dtypes import i32
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, tile_memory, tiles
from gridlane.ir.types import TileType, tile
from gridlane.ir.values import Value

SIZE = 128
"""Elements of each array."""

Shape = tuple[int, ...]
SHAPES: list[Shape] = [
    (64,),
    (8, 8),
    (4, 2, 8),
    (2, 32),
    (1, 64),
    (33,),
    (3, 7),
    (128,),
    (16,),
    (1,),
]
BINARY: tuple[type[Op], ...] = (arith.Add, arith.Sub, arith.Mul, arith.Min, arith.Xor)


class Maker:
    """Draws a program: tiles that later ops use, in blocks that loop and branch."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.p = data, Program(i32, i32, scalars=1, warps=2)
        self.pool: list[Value] = []
        self.variables = [
            self.p.var(tile(shape, i32), self.p.numbers(shape)) for shape in self.some(SHAPES, 2)
        ]

    def draw(self, low: int, high: int) -> int:
        return self.data.draw(st.integers(low, high))

    def one(self, items: list) -> object:
        return items[self.draw(0, len(items) - 1)]

    def some(self, items: list, count: int) -> list:
        return [self.one(items) for _ in range(count)]

    # ---- tiles

    def of(self, shape: Shape, loads: bool = True) -> Value:
        """A tile of a shape."""
        known = [v for v in self.pool if v.type.shape == shape]  # type: ignore[union-attr]
        choice = self.draw(0, 5)
        if known and choice < 3:
            return self.one(known)  # type: ignore[return-value]
        variables = [v for v in self.variables if v.type.shape == shape]  # type: ignore[union-attr]
        if variables and choice < 5:
            return self.p.b.read(self.one(variables))  # type: ignore[arg-type]
        if choice == 3 or not loads:
            return self.p.splat(self.p.scalars[0], shape)
        return self.load(shape)

    def offsets(self, shape: Shape) -> Value:
        """Places in an array, in some order, the same one several times at times."""
        start, factor = self.draw(0, SIZE - 1), self.draw(0, 3)

        def place(b, number):
            moved = b.add(b.mul(number, b.const(factor, i32)), b.const(start, i32))
            return b.and_(moved, b.const(SIZE - 1, i32))

        return self.p.map(place, self.p.numbers(shape))

    def apart(self, shape: Shape) -> Value:
        """Places that are all different."""
        start, factor = self.draw(0, SIZE - 1), 2 * self.draw(0, 3) + 1

        def place(b, number):
            moved = b.add(b.mul(number, b.const(factor, i32)), b.const(start, i32))
            return b.and_(moved, b.const(SIZE - 1, i32))

        return self.p.map(place, self.p.numbers(shape))

    def mask(self, shape: Shape) -> Value | None:
        limit = self.draw(-40, 40)
        if limit > 0:
            return None
        return self.p.map(lambda b, v: b.lt(b.const(limit, i32), v), self.of(shape, False))

    def load(self, shape: Shape) -> Value:
        return self.p.load(self.draw(0, 1), self.offsets(shape), self.mask(shape))

    def any(self) -> Value:
        return self.of(self.one(SHAPES))  # type: ignore[arg-type]

    # ---- ops

    def binary(self) -> Value:
        x = self.any()
        return self.p.binary(self.one([*BINARY]), x, self.of(x.type.shape))  # type: ignore[arg-type,union-attr]

    def turned(self) -> Value:
        x = self.any()
        order = self.data.draw(st.permutations(range(len(x.type.shape))))  # type: ignore[union-attr]
        return self.p.emit(tiles.TileTranspose(x, tuple(order)))

    def reshaped(self) -> Value:
        x = self.any()
        assert isinstance(x.type, TileType)
        same_size = [s for s in SHAPES if int(np.prod(s)) == x.type.count]
        return self.p.reshape(x, self.one(same_size or [x.type.shape]))  # type: ignore[arg-type]

    def spread(self) -> Value:
        x = self.any()
        assert isinstance(x.type, TileType)
        shape = (*x.type.shape, 1) if self.draw(0, 1) else (1, *x.type.shape)
        wide = tuple([4 if extent == 1 else extent for extent in shape])
        return self.p.broadcast(self.p.reshape(x, shape), wide)

    def halves(self) -> Value:
        x = self.of((8, 8))
        pairs = self.p.reshape(x, (32, 2))
        parts = self.p.b.emit(tiles.TileSplit(pairs)).results
        if self.draw(0, 1):
            return self.p.emit(tiles.TileJoin(parts[1], parts[0]))
        return self.p.emit(tiles.TileCat(parts[1], parts[0], 0))

    def gathered(self) -> Value:
        source, index = self.of((2, 32)), self.of((2, 32))
        within = self.p.map(lambda b, v: b.and_(v, b.const(31, i32)), index)
        return self.p.emit(tiles.TileGather(source, within, 1))

    def reduced(self) -> Value:
        x = self.any()
        assert isinstance(x.type, TileType)
        axis = self.draw(0, len(x.type.shape) - 1)
        if self.draw(0, 1):
            result = self.p.reduce(lambda b, x, y: b.add(x, y), axis, x)
        else:
            result = self.p.reduce(composed, axis, x, self.of(x.type.shape))[1]
        return result if isinstance(result.type, TileType) else self.p.splat(result, (16,))

    def scanned(self) -> Value:
        x = self.any()
        assert isinstance(x.type, TileType)
        axis, back = self.draw(0, len(x.type.shape) - 1), bool(self.draw(0, 1))
        return self.p.scan(composed, axis, x, self.of(x.type.shape), reverse=back)[1]

    def sorted(self) -> Value:
        x = self.any()
        assert isinstance(x.type, TileType)
        axis = self.draw(0, len(x.type.shape) - 1)
        return self.p.emit(tiles.TileSort(x, axis, bool(self.draw(0, 1))))

    # ---- statements

    def store(self) -> None:
        shape: Shape = self.one(SHAPES)  # type: ignore[assignment]
        value, mask = self.of(shape), self.mask(shape)
        self.p.store(self.draw(0, 1), self.apart(shape), value, mask)

    def scalar(self) -> None:
        x = self.p.emit(tiles.TileItem(self.of((1,))))
        b = self.p.b
        place = b.offset(self.p.pointers[0], b.const(self.draw(0, SIZE - 1), i32))
        if self.draw(0, 1):
            b.store(place, x)
        else:
            old = self.p.emit(atomic.Atomic(atomic.AtomicKind.ADD, place, x))
            self.pool.append(self.p.splat(old, (16,)))

    def update(self) -> None:
        shape: Shape = self.one(SHAPES)  # type: ignore[assignment]
        at = self.p.pointers_at(self.p.pointers[1], self.apart(shape))
        old = tile_memory.TileAtomic(atomic.AtomicKind.ADD, at, self.of(shape))
        self.pool.append(self.p.emit(old))

    def write(self) -> None:
        var = self.one(self.variables)
        self.p.b.write(var, self.of(var.type.shape))  # type: ignore[attr-defined,arg-type]

    def branch(self, depth: int) -> None:
        b, known = self.p.b, [*self.pool]
        with b.if_(b.lt(self.p.scalars[0], b.const(self.draw(-2, 2), i32))) as op:
            self.block(depth - 1)
        self.pool = [*known]
        with b.inside(op.orelse):
            self.block(depth - 1)
        self.pool = known

    def loop(self, depth: int) -> None:
        b, known = self.p.b, [*self.pool]
        count = b.variable("count", i32)
        b.write(count, b.const(0, i32))
        with b.loop() as op:
            b.break_if(self.p.emit(arith.Ge(b.read(count), b.const(2, i32))))
            self.block(depth - 1)
        with b.inside(op.step):
            b.write(count, b.add(b.read(count), b.const(1, i32)))
        self.pool = known

    def block(self, depth: int) -> None:
        makers: list[Callable[[], Value]] = [
            self.binary, self.binary, self.binary, self.turned, self.reshaped, self.spread,
            self.halves, self.gathered, self.reduced, self.scanned, self.sorted, self.any,
        ]  # fmt: skip
        for _ in range(self.draw(1, 6)):
            choice = self.draw(0, 19)
            if choice < 11:
                self.pool.append(self.one([*makers])())  # type: ignore[operator]
            elif choice < 16:
                self.one([self.store, self.scalar, self.update, self.write])()  # type: ignore[operator]
            elif choice < 18:
                self.write()
            elif depth:
                self.one([self.branch, self.loop])(depth)  # type: ignore[operator]

    def program(self) -> Program:
        self.block(2)
        for var in self.variables:
            self.p.store(0, self.apart(var.type.shape), self.p.b.read(var))  # type: ignore[union-attr]
        return self.p


def check(data: st.DataObject, device: str) -> None:
    program = Maker(data).program()
    arrays = [
        np.arange(SIZE, dtype=np.int32) * 5 - 99,
        np.arange(SIZE, dtype=np.int32)[::-1].copy(),
    ]
    same(program, device, arrays, (data.draw(st.integers(-2, 2)),))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_random_programs_on_the_cpu(data: st.DataObject) -> None:
    check(data, "cpu")


@settings(max_examples=15, deadline=None)
@given(st.data(), st.booleans())
def test_random_programs_by_threads(data: st.DataObject, cores: bool) -> None:
    """Warps run one at a time between barriers, with layouts of products and vectors."""
    program = Maker(data).program()
    arrays = [
        np.arange(SIZE, dtype=np.int32) * 5 - 99,
        np.arange(SIZE, dtype=np.int32)[::-1].copy(),
    ]
    for param in program.kernel.params:
        param.align = 16
    number = 16 * data.draw(st.integers(-1, 1))
    want = run(program, "interp", arrays, (number,))
    changed, threads = by_threads(program.module, cores)
    got = by_turns(changed, [*arrays, number], threads)
    for one, other in zip(want, got, strict=True):
        np.testing.assert_array_equal(other, one)


@pytest.mark.skipif("vulkan" not in DEVICES, reason="no Vulkan device")
@settings(max_examples=5, deadline=None)
@given(st.data())
def test_random_programs_on_vulkan(data: st.DataObject) -> None:
    check(data, "vulkan")
