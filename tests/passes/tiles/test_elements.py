"""Tiles that are computed where they are needed: shapes, functions, memory, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.passes.tiles.programs import Program, same

from gridlane.core.dtypes import DType, bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16
from gridlane.ir.op import FastMath
from gridlane.ir.ops import arith, control, math, memory, tile_memory, tiles
from gridlane.ir.types import tile

device = pytest.fixture(params=[d for d in DEVICES if d in ("cpu", "vulkan", "webgpu")])(
    lambda request: request.param
)

SHAPES = [
    (1,),
    (32,),
    (1000,),
    (4, 64),
    (64, 4),
    (3, 5),
    (2, 4, 8),
    (128, 1),
    (2, 3, 4, 5),
    (1, 2, 1, 64),
]


def filled(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(count).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_tile_is_copied(device: str, shape: tuple[int, ...]) -> None:
    p = Program(f32, f32)
    at = p.numbers(shape)
    p.store(1, at, p.load(0, at))
    count = int(np.prod(shape))
    data = filled(count)
    got = same(p, device, [data, np.zeros(count, np.float32)])
    np.testing.assert_array_equal(got[1], data)


def test_a_mask_guards_an_array_s_end(device: str) -> None:
    p = Program(f32, f32, f32, scalars=1)
    at = p.map(lambda b, n, i: b.add(b.mul(n, b.const(256, i32)), i), p.block(), p.iota(256))
    mask = p.below(at, p.scalars[0])
    p.store(2, at, p.add(p.load(0, at, mask), p.load(1, at, mask)), mask)
    a, c = filled(1000), filled(1000, 1)
    got = same(p, device, [a, c, np.zeros(1000, np.float32)], (1000,), 4)
    np.testing.assert_array_equal(got[2], a + c)


def test_another_value_stands_where_the_mask_is_off(device: str) -> None:
    p = Program(f32, f32, scalars=1)
    at = p.iota(64)
    mask = p.below(at, p.scalars[0])
    p.store(1, at, p.load(0, at, mask, p.full(7.5, (64,), f32)))
    data = filled(64)
    got = same(p, device, [data, np.zeros(64, np.float32)], (40,))
    np.testing.assert_array_equal(got[1], np.where(np.arange(64) < 40, data, np.float32(7.5)))


def test_a_mask_that_is_off_everywhere_accesses_nothing(device: str) -> None:
    p = Program(f32, scalars=1)
    at = p.iota(64)
    far = p.map(lambda b, n: b.mul(n, b.const(1 << 20, i32)), at)
    mask = p.below(at, p.scalars[0])
    p.store(0, far, p.load(0, far, mask), mask)
    assert same(p, device, [np.ones(1, np.float32)], (0,))[0] == 1


@pytest.mark.parametrize("dtype", [i8, u8, i16, u16, i32, f16, bf16, f32], ids=str)
def test_types_of_elements(device: str, dtype: DType) -> None:
    p = Program(dtype, dtype)
    at = p.numbers((8, 32))
    x = p.load(0, at)
    y = p.emit(tiles.TileTranspose(p.reshape(x, (32, 8)), (1, 0)))
    p.store(1, at, p.binary(arith.Max, x, y))
    data = np.arange(256).astype(dtype.numpy)
    got = same(p, device, [data, np.zeros(256, dtype.numpy)])
    want = np.maximum(data.reshape(8, 32), data.reshape(32, 8).T)
    np.testing.assert_array_equal(got[1].reshape(8, 32), want)


def test_wide_elements() -> None:
    for dtype in (i64, f64):
        p = Program(dtype, dtype)
        at = p.iota(96)
        p.store(1, at, p.add(p.load(0, at), p.load(0, at)))
        data = (np.arange(96) * 2**33).astype(dtype.numpy)
        got = same(p, "cpu", [data, np.zeros(96, dtype.numpy)])
        np.testing.assert_array_equal(got[1], data * 2)


def test_a_multiply_add_that_may_contract(device: str) -> None:
    if device == "webgpu":
        pytest.skip("WGSL has no float64")
    p = Program(f64, f64)
    at = p.iota(64)
    x = p.load(0, at)
    fused = p.map(lambda b, v: b.value(arith.Fma(v, v, v, FastMath.CONTRACT)), x)
    p.store(1, at, fused)
    data = np.random.default_rng(0).standard_normal(64)
    got = same(p, device, [data, np.zeros(64)], rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(got[1], data * data + data, 1e-15, 1e-15)


def test_shapes_change(device: str) -> None:
    p = Program(i32, i32, i32)
    x = p.load(0, p.numbers((8, 16)))
    turned = p.emit(tiles.TileTranspose(x, (1, 0)))
    both = p.emit(tiles.TileJoin(x, p.reshape(turned, (8, 16))))
    p.store(1, p.numbers((8, 16, 2)), both)
    halves = p.b.emit(tiles.TileSplit(p.reshape(x, (64, 2)))).results
    p.store(2, p.numbers((128,)), p.emit(tiles.TileCat(*halves, 0)))
    data = np.arange(128, dtype=np.int32) * 3
    got = same(p, device, [data, np.zeros(256, np.int32), np.zeros(128, np.int32)])
    square = data.reshape(8, 16)
    np.testing.assert_array_equal(got[1], np.stack([square, square.T.reshape(8, 16)], -1).ravel())
    np.testing.assert_array_equal(got[2], np.concatenate([data[::2], data[1::2]]))


@pytest.mark.parametrize("left", [3, 4])
def test_tiles_join_along_an_axis(device: str, left: int) -> None:
    p = Program(i32, i32)
    x, y = p.load(0, p.numbers((5, left))), p.load(0, p.numbers((5, 4)))
    both = p.emit(tiles.TileCat(x, y, 1))
    p.store(1, p.numbers((5, left + 4)), both)
    data = np.arange(20, dtype=np.int32)
    got = same(p, device, [data, np.zeros(5 * (left + 4), np.int32)])
    want = np.concatenate([data[: 5 * left].reshape(5, left), data.reshape(5, 4)], 1)
    np.testing.assert_array_equal(got[1], want.ravel())


def test_a_gather_along_an_axis(device: str) -> None:
    p = Program(i32, i32, i32)
    source, index = p.load(0, p.numbers((4, 32))), p.load(1, p.numbers((4, 8)))
    p.store(2, p.numbers((4, 8)), p.emit(tiles.TileGather(source, index, 1)))
    data = np.arange(128, dtype=np.int32) * 7
    where = np.random.default_rng(1).integers(0, 32, 32).astype(np.int32)
    got = same(p, device, [data, where, np.zeros(32, np.int32)])
    want = np.take_along_axis(data.reshape(4, 32), where.reshape(4, 8), 1)
    np.testing.assert_array_equal(got[2], want.ravel())


# ---- order of accesses


@pytest.mark.parametrize("step", [1, -1, 40])
def test_all_is_read_before_a_store_overwrites_it(device: str, step: int) -> None:
    p = Program(i32)
    at = p.map(lambda b, i: b.add(i, b.const(64, i32)), p.iota(512))
    moved = p.map(lambda b, i: b.add(i, b.const(step, i32)), at)
    p.store(0, moved, p.load(0, at))
    data = np.arange(640, dtype=np.int32)
    got = same(p, device, [data])
    want = data.copy()
    want[64 + step : 576 + step] = data[64:576]
    np.testing.assert_array_equal(got[0], want)


def test_a_load_sees_earlier_stores_and_no_later_ones(device: str) -> None:
    p = Program(i32, i32)
    at = p.iota(256)
    back = p.map(lambda b, i: b.sub(b.const(255, i32), i), at)
    before = p.load(0, back)
    p.store(0, at, p.map(lambda b, x: b.mul(x, b.const(3, i32)), p.load(0, at)))
    after = p.load(0, back)
    p.store(1, at, p.binary(arith.Sub, after, before))
    data = np.arange(256, dtype=np.int32)
    got = same(p, device, [data, np.zeros(256, np.int32)])
    np.testing.assert_array_equal(got[1], 2 * data[::-1])


def test_a_variable_is_read_as_it_was(device: str) -> None:
    p = Program(i32, i32)
    type_ = tile((128,), i32)
    one, two = p.var(type_, p.load(0, p.iota(128))), p.var(type_, p.full(5, (128,), i32))
    with p.b.loop() as loop:
        count = p.b.variable("count", i32)
        p.b.break_if(p.emit(arith.Ge(p.b.read(count), p.b.const(3, i32))))
        old, other = p.b.read(one), p.b.read(two)
        turned = p.emit(
            tiles.TileGather(old, p.map(lambda b, i: b.sub(b.const(127, i32), i), p.iota(128)), 0)
        )
        p.b.write(one, p.add(turned, other))
        p.b.write(two, old)
        p.b.write(count, p.b.add(p.b.read(count), p.b.const(1, i32)))
    assert isinstance(loop, control.Loop)
    p.store(1, p.iota(128), p.add(p.b.read(one), p.b.read(two)))
    data = np.arange(128, dtype=np.int32)
    got = same(p, device, [data, np.zeros(128, np.int32)])
    a, c = data, np.full(128, 5, np.int32)
    for _ in range(3):
        a, c = a[::-1] + c, a
    np.testing.assert_array_equal(got[1], a + c)


def test_branches_write_variables(device: str) -> None:
    p = Program(f32, f32, scalars=1)
    v = p.var(tile((64,), f32), p.load(0, p.iota(64)))
    with p.b.if_(p.b.lt(p.scalars[0], p.b.const(3, i32))) as branch:
        p.b.write(v, p.unary(math.Sqrt, p.unary(arith.Abs, p.b.read(v))))
    with p.b.inside(branch.orelse):
        p.b.write(v, p.unary(arith.Neg, p.b.read(v)))
    p.store(1, p.iota(64), p.b.read(v))
    data = filled(64)
    for number, want in ((1, np.sqrt(np.abs(data))), (5, -data)):
        got = same(p, device, [data, np.zeros(64, np.float32)], (number,))
        np.testing.assert_array_equal(got[1], want)


# ---- effects


def test_scalars_are_stored_once(device: str) -> None:
    p = Program(i32, i32)
    from gridlane.ir.ops import atomic

    one = p.b.const(1, i32)
    old = p.emit(atomic.Atomic(atomic.AtomicKind.ADD, p.pointers[0], one))
    p.b.store(p.b.offset(p.pointers[1], old), p.b.add(old, p.b.const(10, i32)))
    x = p.load(1, p.iota(4), p.below(p.iota(4), p.b.add(old, one)))
    total = p.reduce(lambda b, a, c: b.add(a, c), 0, x)
    p.b.store(p.b.offset(p.pointers[1], p.b.const(7, i32)), total)
    got = same(p, device, [np.zeros(1, np.int32), np.zeros(8, np.int32)], grid=1)
    assert got[0][0] == 1
    assert got[1].tolist() == [10, 0, 0, 0, 0, 0, 0, 10]


def test_atomics_of_tiles(device: str) -> None:
    from gridlane.ir.ops import atomic

    p = Program(i32, i32, scalars=1)
    at = p.iota(128)
    cell = p.map(lambda b, i: b.and_(i, b.const(3, i32)), at)
    mask = p.below(at, p.scalars[0])
    old = p.emit(
        tile_memory.TileAtomic(
            atomic.AtomicKind.ADD,
            p.pointers_at(p.pointers[0], cell),
            p.full(2, (128,), i32),
            (mask,),
        )
    )
    p.store(1, at, p.map(lambda b, x: b.and_(x, b.const(1, i32)), old))
    got = same(p, device, [np.ones(4, np.int32), np.full(128, 9, np.int32)], (100,))
    assert got[0].tolist() == [51] * 4
    assert got[1].tolist() == [1] * 100 + [0] * 28


def test_an_ordered_atomic_that_is_alone(device: str) -> None:
    """WGSL has no fences; nobody can tell the order of this one."""
    from gridlane.ir.ops import atomic
    from gridlane.ir.ops.grid import MemoryOrder

    p = Program(i32)
    at, one, order = p.iota(64), p.full(1, (64,), i32), MemoryOrder.ACQ_REL
    add = tile_memory.TileAtomic(
        atomic.AtomicKind.ADD, p.pointers_at(p.pointers[0], at), one, (), order
    )
    p.b.emit(add)
    got = same(p, device, [np.arange(64, dtype=np.int32)], grid=3)
    np.testing.assert_array_equal(got[0], np.arange(64) + 3)


@pytest.mark.parametrize("beside", ["", "a store", "a load", "a load of its operand"])
def test_an_order_that_others_see_stays(beside: str) -> None:
    from gridlane.compiler.generation import copied
    from gridlane.ir.ops import atomic
    from gridlane.ir.ops.grid import MemoryOrder
    from gridlane.passes.tiles import TileMachine, lower_tiles

    p = Program(i32, i32)
    value = p.b.const(1, i32)
    if beside == "a store":
        p.store(1, p.iota(8), p.full(1, (8,), i32))
    elif beside:
        loaded = p.b.load(p.pointers[1])
        value = loaded if beside == "a load of its operand" else value
    add = atomic.Atomic(atomic.AtomicKind.ADD, p.pointers[0], value, MemoryOrder.ACQ_REL)
    p.b.emit(add)
    module = copied(p.module)
    lower_tiles(module, TileMachine(4, 1 << 14))
    (made,) = [op for op in module.kernel.body.walk() if isinstance(op, atomic.Atomic)]
    kept = beside in ("a store", "a load")
    assert made.order is (MemoryOrder.ACQ_REL if kept else MemoryOrder.RELAXED)


def test_compare_and_swap_of_tiles(device: str) -> None:
    p = Program(i32, i32)
    at = p.iota(64)
    swap = tile_memory.TileAtomicCas(
        p.pointers_at(p.pointers[0], at), p.full(1, (64,), i32), p.full(9, (64,), i32)
    )
    p.store(1, at, p.emit(swap))
    data = np.arange(64, dtype=np.int32) % 3
    got = same(p, device, [data, np.zeros(64, np.int32)])
    np.testing.assert_array_equal(got[0], np.where(data == 1, 9, data))
    np.testing.assert_array_equal(got[1], data)


def test_blocks_of_arrays(device: str) -> None:
    p = Program(f32, f32, scalars=2)
    wide = [p.b.const(n, i64) for n in (10, 20, 1)]
    rows, stride, one = wide
    starts = tuple(p.scalars)
    args = (rows, stride), (stride, one), starts
    block = tile_memory.TileLoadBlock(
        p.pointers[0], *args, tile((8, 16), f32), (0, 1), tile_memory.Padding.NANS
    )
    x = p.emit(block)
    doubled = p.map(lambda b, v: b.select(b.eq(v, v), b.add(v, v), b.const(1.0, f32)), x)
    p.b.emit(tile_memory.TileStoreBlock(p.pointers[1], *args, doubled, (0, 1)))
    data = filled(200)
    for start in ((0, 0), (-3, 7), (6, 18)):
        got = same(p, device, [data, np.zeros(200, np.float32)], start)
        want = np.zeros((10, 20), np.float32)
        part = tuple(slice(max(0, s), max(0, s + n)) for s, n in zip(start, (8, 16), strict=True))
        want[part] = 2 * data.reshape(10, 20)[part]
        np.testing.assert_array_equal(got[1].reshape(10, 20), want)


def test_the_item_of_a_tile(device: str) -> None:
    p = Program(f32, f32)
    x = p.emit(tiles.TileItem(p.load(0, p.iota(1, 3))))
    p.store(1, p.iota(40), p.splat(x, (40,)))
    data = filled(8)
    got = same(p, device, [data, np.zeros(40, np.float32)])
    np.testing.assert_array_equal(got[1], np.full(40, data[3]))


def test_a_function_of_several_results_with_branches(device: str) -> None:
    p = Program(i32, i32)

    def body(b, x):
        small, large = b.variable("small", i32), b.variable("large", i32)
        with b.if_(b.lt(x, b.const(50, i32))) as branch:
            b.write(small, x)
        with b.inside(branch.orelse):
            b.write(large, x)
        return b.read(small), b.read(large)

    low, high = p.map(body, p.load(0, p.iota(100)))
    p.store(1, p.iota(100), p.binary(arith.Sub, low, high))
    data = np.arange(100, dtype=np.int32)
    got = same(p, device, [data, np.zeros(100, np.int32)])
    np.testing.assert_array_equal(got[1], np.where(data < 50, data, -data))


assert memory
