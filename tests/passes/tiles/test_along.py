"""Reductions, scans, sorts, histograms and products of tiles, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.effort import NIGHTLY
from tests.passes.tiles.programs import Program, same

from gridlane.backends import backend
from gridlane.compiler.programs import machine_of
from gridlane.core.dtypes import DType, b1, bf16, f16, f32, f64, i8, i16, i32, u8
from gridlane.ir.ops import arith, tiles
from gridlane.ir.types import tile
from gridlane.passes.tiles import lower_tiles
from gridlane.passes.tiles.along import CHAINS

device = pytest.fixture(params=[d for d in DEVICES if d in ("cpu", "vulkan", "webgpu")])(
    lambda request: request.param
)


def add(b, x, y):
    return b.add(x, y)


def first_largest(b, x, i, y, j):
    """The larger value, with the lower index where they are equal."""
    later = b.or_(b.lt(x, y), b.and_(b.eq(x, y), b.lt(j, i)))
    return b.select(later, y, x), b.select(later, j, i)


def composed(b, s, t, u, v):
    """Of x -> s * x + t and then u * x + v the composition, which does not commute."""
    return b.mul(s, u), b.add(b.mul(t, u), v)


def composed_along(axis: int, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """The shift of all of them in order, and of each prefix along the axis."""
    s, t = np.moveaxis(scale, axis, 0), np.moveaxis(shift, axis, 0)
    result, total = np.zeros_like(t), np.zeros_like(t[0])
    for k in range(len(s)):
        total = total * s[k] + t[k]
        result[k] = total
    return np.moveaxis(result, 0, axis)


AXES = [
    ((1,), 0), ((2,), 0), ((33,), 0), ((1024,), 0), ((16, 64), 1), ((64, 16), 1), ((64, 16), 0),
    ((256, 4), 1), ((4, 256), 0), ((3, 5), 0), ((3, 5), 1), ((3, 32), 1), ((2, 8, 16), 1),
    ((2, 8, 16), 2), ((2, 512), 1), ((1, 64), 0), ((1, 64), 1),
]  # fmt: skip


@pytest.mark.parametrize("shape, axis", AXES, ids=str)
def test_reductions(device: str, shape: tuple[int, ...], axis: int) -> None:
    p = Program(i32, i32, i32, i32)
    at = p.numbers(shape)
    x, y = p.load(0, at), p.load(1, at)
    results = p.reduce(add, axis, x), p.reduce(composed, axis, x, y)[1]
    rest = shape[:axis] + shape[axis + 1 :]
    for place, result in zip((2, 3), results, strict=True):
        if rest:
            p.store(place, p.numbers(rest), result)
        else:
            p.b.store(p.pointers[place], result)
    count, lines = int(np.prod(shape)), int(np.prod(rest))
    rng = np.random.default_rng(count)
    a, c = (rng.integers(-3, 4, count).astype(np.int32) for _ in range(2))
    got = same(p, device, [a, c, np.zeros(lines, np.int32), np.zeros(lines, np.int32)])
    with np.errstate(over="ignore"):
        want = composed_along(axis, a.reshape(shape), c.reshape(shape))
    np.testing.assert_array_equal(got[2], a.reshape(shape).sum(axis).ravel())
    np.testing.assert_array_equal(got[3], want.take(-1, axis).ravel())


@pytest.mark.parametrize("shape, axis", AXES[:4] + AXES[4:12:3], ids=str)
@pytest.mark.parametrize("reverse", [False, True])
def test_scans(device: str, shape: tuple[int, ...], axis: int, reverse: bool) -> None:
    p = Program(i32, i32, i32)
    at = p.numbers(shape)
    result = p.scan(composed, axis, p.load(0, at), p.load(1, at), reverse=reverse)[1]
    p.store(2, at, result)
    count = int(np.prod(shape))
    rng = np.random.default_rng(count)
    a, c = (rng.integers(-3, 4, count).astype(np.int32) for _ in range(2))
    got = same(p, device, [a, c, np.zeros(count, np.int32)])
    a, c = a.reshape(shape), c.reshape(shape)
    with np.errstate(over="ignore"):
        if reverse:
            want = np.flip(composed_along(axis, np.flip(a, axis), np.flip(c, axis)), axis)
        else:
            want = composed_along(axis, a, c)
    np.testing.assert_array_equal(got[2], want.ravel())


def test_the_place_of_the_largest(device: str) -> None:
    p = Program(f32, i32)
    x = p.load(0, p.numbers((8, 128)))
    index = p.broadcast(p.reshape(p.iota(128), (1, 128)), (8, 128))
    p.store(1, p.iota(8), p.reduce(first_largest, 1, x, index)[1])
    data = np.random.default_rng(3).integers(0, 9, 1024).astype(np.float32)
    got = same(p, device, [data, np.zeros(8, np.int32)])
    np.testing.assert_array_equal(got[1], data.reshape(8, 128).argmax(1))


def test_any_of_truths(device: str) -> None:
    p = Program(i32, i32)
    x = p.map(lambda b, v: b.eq(v, b.const(7, i32)), p.load(0, p.numbers((4, 64))))
    found = p.reduce(lambda b, x, y: b.or_(x, y), 1, x)
    p.store(1, p.iota(4), p.cast(found, i32))
    data = np.zeros(256, np.int32)
    data[100] = 7
    got = same(p, device, [data, np.zeros(4, np.int32)])
    assert got[1].tolist() == [0, 1, 0, 0]


def test_a_row_s_softmax(device: str) -> None:
    from gridlane.ir.ops import math

    p = Program(f32, f32)
    at = p.map(lambda b, n, i: b.add(b.mul(n, b.const(256, i32)), i), p.block(), p.iota(256))
    x = p.load(0, at)
    largest = p.reduce(lambda b, x, y: b.value(arith.Max(x, y)), 0, x)
    powers = p.unary(math.Exp, p.map(lambda b, v, m: b.sub(v, m), x, largest))
    p.store(1, at, p.map(lambda b, v, s: b.div(v, s), powers, p.reduce(add, 0, powers)))
    data = np.random.default_rng(0).standard_normal(1024).astype(np.float32)
    got = same(p, device, [data, np.zeros(1024, np.float32)], grid=4, rtol=1e-5)
    rows = np.exp(data.reshape(4, 256) - data.reshape(4, 256).max(1, keepdims=True))
    want = rows / rows.sum(1, keepdims=True)
    np.testing.assert_allclose(got[1].reshape(4, 256), want, rtol=1e-5)


# ---- orders


@pytest.mark.parametrize(
    "shape, axis", [((1,), 0), ((64,), 0), ((100,), 0), ((4, 32), 1), ((8, 3), 0)], ids=str
)
@pytest.mark.parametrize("descending", [False, True])
def test_sorts(device: str, shape: tuple[int, ...], axis: int, descending: bool) -> None:
    p = Program(f32, f32, f32)
    at = p.numbers(shape)
    x = p.load(0, at)
    p.store(1, at, p.emit(tiles.TileSort(x, axis, descending)))
    line = p.reshape(x, (int(np.prod(shape)),))
    p.store(2, p.iota(1), p.emit(tiles.TileSort(line, 0, descending, 1)))
    count = int(np.prod(shape))
    data = np.random.default_rng(count).standard_normal(count).astype(np.float32)
    if count > 20:
        data[::9] = np.nan
    got = same(p, device, [data, np.zeros(count, np.float32), np.zeros(1, np.float32)])
    want = np.sort(data.reshape(shape), axis)
    want = np.flip(want, axis) if descending else want
    np.testing.assert_array_equal(got[1], want.ravel())
    line = np.sort(data)
    np.testing.assert_array_equal(got[2], line[-1:] if descending else line[:1])


@pytest.mark.parametrize("dtype", [i8, u8, i16, f16], ids=str)
def test_sorts_of_types(dtype: DType) -> None:
    p = Program(dtype, dtype)
    p.store(1, p.iota(5), p.emit(tiles.TileSort(p.load(0, p.iota(50)), 0, False, 5)))
    data = np.random.default_rng(0).permutation(200)[:50].astype(dtype.numpy)
    got = same(p, "cpu", [data, np.zeros(5, dtype.numpy)])
    np.testing.assert_array_equal(got[1], np.sort(data)[:5])


def test_a_histogram(device: str) -> None:
    p = Program(i32, i32, scalars=1)
    x = p.load(0, p.iota(512))
    mask = p.below(p.iota(512), p.scalars[0])
    counts = p.emit(tiles.TileHistogram(x, (mask,), 20))
    p.store(1, p.iota(20), counts)
    data = np.random.default_rng(0).integers(-5, 30, 512).astype(np.int32)
    got = same(p, device, [data, np.zeros(20, np.int32)], (500,))
    kept = data[:500]
    want = np.bincount(kept[(kept >= 0) & (kept < 20)], minlength=20)
    np.testing.assert_array_equal(got[1], want)


# ---- products


@pytest.mark.parametrize(
    "shape",
    [(16, 16, 16), (32, 64, 32), (64, 32, 64), (8, 3, 5), (1, 32, 4), (3, 64, 7), (4, 96, 2)],
    ids=str,
)
@pytest.mark.parametrize(
    "factor, total", [(f32, f32), (f16, f32), (f16, f16), (bf16, f32), (i8, i32)], ids=str
)
def test_products(device: str, shape: tuple[int, int, int], factor: DType, total: DType) -> None:
    if device != "cpu" and shape != (16, 16, 16) and not NIGHTLY:
        pytest.skip("a night's test: the compilers of shaders are slow")
    rows, columns, depth = shape
    p = Program(factor, factor, total, total)
    a, c = p.load(0, p.numbers((rows, depth))), p.load(1, p.numbers((depth, columns)))
    at = p.numbers((rows, columns))
    p.store(3, at, p.emit(tiles.TileDot(a, c, p.load(2, at))))
    rng = np.random.default_rng(0)
    x, y, z = (
        rng.integers(-4, 5, n).astype(d.numpy)
        for n, d in ((rows * depth, factor), (depth * columns, factor), (rows * columns, total))
    )
    got = same(p, device, [x, y, z, np.zeros(rows * columns, total.numpy)])
    wide = [v.astype(np.float64) for v in (x, y, z)]
    want = wide[0].reshape(rows, depth) @ wide[1].reshape(depth, columns) + wide[2].reshape(
        rows, columns
    )
    np.testing.assert_array_equal(got[3].astype(np.float64), want.ravel())


@pytest.mark.parametrize("columns", [16, 32])
def test_products_of_many(device: str, columns: int) -> None:
    p = Program(f32, f32, f32)
    a, c = p.load(0, p.numbers((3, 8, 4))), p.load(1, p.numbers((3, columns, 4)))
    turned = p.emit(tiles.TileTranspose(c, (0, 2, 1)))
    p.store(
        2,
        p.numbers((3, 8, columns)),
        p.emit(tiles.TileDot(a, turned, p.full(1, (3, 8, columns), f32))),
    )
    x = np.arange(96, dtype=np.float32) % 7
    y = np.arange(12 * columns, dtype=np.float32) % 5
    got = same(p, device, [x, y, np.zeros(24 * columns, np.float32)])
    want = 1 + x.reshape(3, 8, 4) @ y.reshape(3, columns, 4).transpose(0, 2, 1)
    np.testing.assert_array_equal(got[2], want.ravel())


def matmul(rows: int, columns: int, depth: int) -> Program:
    """The kernel that everyone writes: pointers that advance along k."""
    p = Program(f32, f32, f32, scalars=1)
    b, n = p.b, p.scalars[0]

    def at(first, second):
        shape = (first.type.shape[0], second.type.shape[0])
        x = p.broadcast(p.reshape(first, (shape[0], 1)), shape)
        y = p.broadcast(p.reshape(second, (1, shape[1])), shape)
        return p.map(lambda b, r, c, n: b.add(b.mul(r, n), c), x, y, n)

    def moved(start, count):
        return p.map(lambda b, s, i: b.add(s, i), start, p.iota(count))

    tiles_of = b.div(n, b.const(columns, i32))
    block = p.block()
    row = b.mul(b.div(block, tiles_of), b.const(rows, i32))
    column = b.mul(b.rem(block, tiles_of), b.const(columns, i32))
    a = p.pointers_at(p.pointers[0], at(moved(row, rows), p.iota(depth)))
    c = p.pointers_at(p.pointers[1], at(p.iota(depth), moved(column, columns)))
    from gridlane.ir.ops import tile_memory

    va, vc = p.var(a.type, a), p.var(c.type, c)
    acc = p.var(tile((rows, columns), f32), p.full(0, (rows, columns), f32))
    k = b.variable("k", i32)
    b.write(k, b.const(0, i32))
    with b.loop() as loop:
        b.break_if(p.emit(arith.Ge(b.read(k), n)))
        pa, pc = b.read(va), b.read(vc)
        x, y = (p.emit(tile_memory.TileLoad(each, (), ())) for each in (pa, pc))
        b.write(acc, p.emit(tiles.TileDot(x, y, b.read(acc))))
        b.write(va, p.pointers_at(pa, b.const(depth, i32)))
        b.write(vc, p.pointers_at(pc, b.mul(n, b.const(depth, i32))))
    with b.inside(loop.step):
        b.write(k, b.add(b.read(k), b.const(depth, i32)))
    p.store(2, at(moved(row, rows), moved(column, columns)), b.read(acc))
    return p


@pytest.mark.parametrize("sizes", [(32, 32, 16), (16, 16, 8)], ids=str)
def test_a_matmul(device: str, sizes: tuple[int, int, int]) -> None:
    p = matmul(*sizes)
    x, y = (np.random.default_rng(n).integers(-4, 5, 64 * 64).astype(np.float32) for n in (0, 1))
    grid = (64 // sizes[0]) * (64 // sizes[1])
    got = same(p, device, [x, y, np.zeros(64 * 64, np.float32)], (64,), grid)
    np.testing.assert_array_equal(got[2].reshape(64, 64), x.reshape(64, 64) @ y.reshape(64, 64))


assert b1 and f64


def test_processors_combine_long_lines_in_chains() -> None:
    """Of a function that commutes, with few ops for an element."""
    for function, chains in ((add, CHAINS), (lambda b, x, y: b.sub(y, x), 1)):
        p = Program(i32, i32)
        p.b.store(p.pointers[1], p.reduce(function, 0, p.load(0, p.numbers((1024,)))))
        lower_tiles(p.module, machine_of(backend("cpu")))
        names = [var.name for var in p.kernel.variables]
        assert sum(name.startswith("total") for name in names) == chains
