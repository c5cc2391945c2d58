"""What is known of tiles' elements holds: random expressions against their values."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.passes.tiles.programs import Program, run

from gridlane.core.dtypes import i32
from gridlane.ir.ops import arith, tiles
from gridlane.ir.types import TileType, tile
from gridlane.ir.values import Value
from gridlane.passes.tiles.contiguity import Axis, Contiguity, Facts

SHAPE = (8, 16)
COUNT = SHAPE[0] * SHAPE[1]
SHAPES = (SHAPE, (128,), (4, 32), (32, 4), (2, 4, 16), (8, 2, 8), (1, 128))


class Maker:
    """Draws an expression over a tile of two axes."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.p = data, Program(i32, scalars=2, warps=1)
        for param in self.p.kernel.params[1:]:
            param.align = 16

    def draw(self, low: int, high: int) -> int:
        return self.data.draw(st.integers(low, high))

    def leaf(self) -> Value:
        kind, p = self.draw(0, 3), self.p
        if kind == 0:
            return p.splat(p.b.const(self.draw(-40, 40) if self.draw(0, 3) else 1, i32), SHAPE)
        if kind == 1:
            return p.splat(p.scalars[self.draw(0, 1)], SHAPE)
        axis = kind - 2
        line = p.iota(SHAPE[axis], self.draw(0, 9) * self.draw(1, 8))
        shape = tuple([extent if n == axis else 1 for n, extent in enumerate(SHAPE)])
        return p.broadcast(p.reshape(line, shape), SHAPE)

    def whole(self, depth: int) -> Value:
        if not depth or not self.draw(0, 4):
            return self.leaf()
        left = self.whole(depth - 1)
        if not self.draw(0, 5):
            flat = self.p.emit(tiles.TileTranspose(left, (1, 0)))
            return self.p.emit(tiles.TileTranspose(flat, (1, 0)))
        if not self.draw(0, 5):
            return self.p.reshape(self.p.reshape(left, self.shape()), SHAPE)
        if not self.draw(0, 3):
            divisor = self.p.splat(self.p.b.const(2 ** self.draw(0, 6), i32), SHAPE)
            return self.p.binary(arith.Rem, left, divisor)
        op = (arith.Add, arith.Add, arith.Sub, arith.Mul, arith.Min, arith.Max)[self.draw(0, 5)]
        return self.p.binary(op, left, self.whole(depth - 1))

    def shape(self) -> tuple[int, ...]:
        return SHAPES[self.draw(0, len(SHAPES) - 1)]

    def value(self) -> Value:
        left = self.whole(3)
        if self.draw(0, 2):
            return left
        op = (arith.Lt, arith.Ge, arith.Gt, arith.Le, arith.Eq)[self.draw(0, 4)]
        return self.p.cast(self.p.binary(op, left, self.whole(2)), i32)


def require(facts: Facts, values: np.ndarray) -> None:
    assert not facts.is_one or (values == 1).all()
    assert (values % facts.divisor == 0).all()
    for number, axis in enumerate(facts.axes):
        lines = np.moveaxis(values, number, -1)
        extent = lines.shape[-1]
        run, equal = min(axis.run, extent), min(axis.equal, extent)
        groups = lines.reshape(*lines.shape[:-1], extent // run, run)
        assert (groups - groups[..., :1] == np.arange(run)).all()
        assert (groups[..., 0] % axis.divisor == 0).all()
        groups = lines.reshape(*lines.shape[:-1], extent // equal, equal)
        assert (groups == groups[..., :1]).all()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_facts_hold(data):
    maker = Maker(data)
    p, value = maker.p, maker.value()
    assert isinstance(value.type, TileType)
    p.store(0, p.numbers(SHAPE), value)
    scalars = tuple([16 * maker.draw(-5, 9) for _ in range(2)])
    (out,) = run(p, "interp", [np.zeros(COUNT, np.int32)], scalars)
    require(Contiguity(p.module, p.kernel).of(value), out.reshape(SHAPE).astype(np.int64))
    other = maker.shape()
    changed = p.reshape(value, other)
    require(Contiguity(p.module, p.kernel).of(changed), out.reshape(other).astype(np.int64))


def test_lines_that_are_joined():
    """Places of a box of 4 lines of 8 are 8 neighbours each, and a comparison is one of 8."""
    p = Program(i32, scalars=1)
    p.kernel.params[0].align, p.kernel.params[1].align = 16, 16
    lines = p.broadcast(p.reshape(p.iota(4), (4, 1)), (4, 8))
    columns = p.broadcast(p.reshape(p.iota(8), (1, 8)), (4, 8))
    place = p.map(lambda b, r, c, n: b.add(b.mul(r, n), c), lines, columns, p.scalars[0])
    facts = Contiguity(p.module, p.kernel).of(p.reshape(place, (32,)))
    assert facts.axes == (Axis(8, 16, 1),)
    below = p.reshape(p.below(columns, p.splat(p.scalars[0], (4, 8))), (32,))
    assert Contiguity(p.module, p.kernel).of(below).axes[0].equal == 8


def test_addresses_of_rows():
    p = Program(i32, scalars=1)
    p.kernel.params[0].align, p.kernel.params[1].align = 16, 16
    rows = p.broadcast(p.reshape(p.iota(8), (8, 1)), SHAPE)
    columns = p.broadcast(p.reshape(p.iota(16), (1, 16)), SHAPE)
    place = p.map(lambda b, r, c, n: b.add(b.mul(r, n), c), rows, columns, p.scalars[0])
    facts = Contiguity(p.module, p.kernel).of(p.pointers_at(p.pointers[0], place))
    assert facts.axes[1] == Axis(16, 4, 1)
    below = Contiguity(p.module, p.kernel).of(p.below(columns, p.splat(p.scalars[0], SHAPE)))
    assert below.axes[1].equal == 16
    assert below.axes[0].equal == 8


def test_variables_that_advance():
    p = Program(i32)
    var = p.var(i32, p.b.const(0, i32))
    with p.b.loop() as loop:
        now = p.b.read(var)
        p.b.break_if(p.emit(arith.Ge(now, p.b.const(96, i32))))
        tiled = p.splat(now, (4,))
    with p.b.inside(loop.step):
        p.b.write(var, p.b.add(p.b.read(var), p.b.const(24, i32)))
    assert Contiguity(p.module, p.kernel).of(tiled) == Facts(8, (Axis(1, 8, 4),))
    assert tile((4,), i32) == tiled.type
