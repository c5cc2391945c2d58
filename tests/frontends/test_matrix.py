"""``cuda.wmma`` in the interpreter against numpy, and what is refused."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from tests.frontends.running import DEBUG, cuda, device, launch, module_of

from gridlane.core.argtypes import bfloat16, float16, float32, float64, int8, int32, int64, uint8
from gridlane.core.errors import CompileError, KernelError
from gridlane.interp.matrix import tf32

RNG = np.random.default_rng(3)
M, N, K = 32, 48, 64


def some(dtype, *shape):
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return RNG.integers(info.min, info.max + 1, shape).astype(dtype)
    return RNG.standard_normal(shape).astype(np.float32).astype(dtype)


def ordered(array, order):
    return np.asarray(array, order=order)


def product_of(element):
    def product(a, b, c):
        acc = cuda.wmma.load_c(c, (0, 0), (32, 48))
        for k in range(0, a.shape[1], 32):
            left = cuda.wmma.load_a(a, (0, k), (32, 32))
            right = cuda.wmma.load_b(b, (k, 0), (32, 48))
            acc = cuda.wmma.mma(left, right, acc)
        cuda.wmma.store(c, (0, 0), acc)

    return product


FACTORS = [
    (np.float16, np.float32, 1e-5),
    (np.float16, np.float16, 2e-2),
    (ml_dtypes.bfloat16, np.float32, 1e-5),
    (np.int8, np.int32, 0),
    (np.uint8, np.int32, 0),
]


@pytest.mark.parametrize(("element", "sums", "error"), FACTORS)
@pytest.mark.parametrize("orders", list(itertools.product("CF", repeat=3)), ids="".join)
def test_products(element, sums, error, orders):
    a, b, c = some(element, M, K), some(element, K, N), np.ones((M, N), sums)
    a, b, c = (ordered(x, order) for x, order in zip((a, b, c), orders))
    wide = np.int64 if error == 0 else np.float64
    wanted = a.astype(wide) @ b.astype(wide) + 1
    launch(product_of(element), 1, 32, a, b, c)
    assert np.abs(c - wanted).max() <= error * np.abs(wanted).max()


def singles(a, b, c):
    left = cuda.wmma.load_a(a, (0, 0), (16, 64), "row", "tf32")
    right = cuda.wmma.load_b(b.T, (0, 0), (64, 16), layout="col", precision="tf32")
    sums = cuda.wmma.mma(left, right, cuda.wmma.fill((16, 16), float32, 1))
    cuda.wmma.store(c, (0, 0), sums, "row")


def test_tf32():
    a, b, c = some(np.float32, 16, K), some(np.float32, 16, K), np.zeros((16, 16), np.float32)
    launch(singles, 1, 32, a, b, c)
    wanted = tf32(a).astype(np.float64) @ tf32(b).astype(np.float64).T + 1
    assert np.abs(c - wanted).max() < 1e-5
    assert np.abs(c - (a.astype(np.float64) @ b.T + 1)).max() > 1e-4


def test_rounding_to_tf32():
    step = np.float32(2**-10)
    values = np.array([1 + step / 2, 1 + step / 4, -1 - step / 2, np.inf, -0.0, 1e-40], np.float32)
    got = tf32(values)
    assert got[:4].tolist() == [1 + step, 1, -1 - step, np.inf]
    assert np.signbit(got[4]) and np.isnan(tf32(np.array([np.nan], np.float32))[0])


def mixed(a, b, c):
    left, right = cuda.wmma.load_a(a, (0, 0), (16, 32)), cuda.wmma.load_b(b, (0, 0), (32, 16))
    cuda.wmma.store(c, (0, 0), cuda.wmma.mma(left, right, cuda.wmma.fill((16, 16), int32, 0)))


def test_signed_times_unsigned():
    a, b, c = some(np.int8, 16, 32), some(np.uint8, 32, 16), np.zeros((16, 16), np.int32)
    launch(mixed, 1, 32, a, b, c)
    assert (c == a.astype(np.int64) @ b.astype(np.int64)).all()


@device
def step(left, right, sums, again):
    """Two results from two returns."""
    if again:
        sums = cuda.wmma.mma(left, right, sums)
        return cuda.wmma.scale(sums, 2)
    return cuda.wmma.mma(left, right, sums)


def tiles(a, b, c, d):
    """A warp a tile, by way of shared memory, a device function, branches and a loop."""
    tile = cuda.shared.array((64, 40), float16)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    sums = cuda.wmma.fill((32, 16), float32, 0)
    for k in range(0, a.shape[1], 32):
        for row in range(32):
            tile[32 * warp + row, lane] = a[32 * warp + row, k + lane]
        cuda.syncthreads()
        left = cuda.wmma.load_a(tile, (32 * warp, 0), (32, 32), "row")
        right = cuda.wmma.load_b(b, (k, 16 * cuda.blockIdx.x), (32, 16), "row")
        sums = step(left, right, sums, warp == 1 and k > 0)
        cuda.syncthreads()
    if warp == 0:
        sums = cuda.wmma.scale(sums, -1)
    chosen = sums if cuda.blockIdx.x == 0 else cuda.wmma.fill((32, 16), float32, 7)
    cuda.wmma.store(c, (32 * warp, 16 * cuda.blockIdx.x), chosen)
    cuda.wmma.store(d, (32 * warp, -32 + 16 * cuda.blockIdx.x), cuda.wmma.convert(sums, float16))


@pytest.mark.parametrize("options", [{}, {"options": DEBUG}], ids=["plain", "debug"])
def test_tiles_of_warps(options):
    a, b = some(np.float16, 64, 64), some(np.float16, 64, 32)
    c, d = np.zeros((64, 32), np.float32), np.zeros((64, 32), np.float16)
    launch(tiles, 2, 64, a, b, c, d, **options)
    x, y = a.astype(np.float64), b.astype(np.float64)
    wanted = np.concatenate([-(x[:32] @ y), 2 * (x[32:] @ y)])
    assert np.abs(d - wanted).max() < 0.05
    assert np.abs(c[:, :16] - wanted[:, :16]).max() < 1e-4 and (c[:, 16:] == 7).all()


def conversions(c, h, b, n):
    sums = cuda.wmma.load_c(c, (0, 0), (16, 16))
    cuda.wmma.store(h, (0, 0), cuda.wmma.convert(sums, float16))
    cuda.wmma.store(b, (0, 0), cuda.wmma.convert(sums, bfloat16))
    back = cuda.wmma.convert(cuda.wmma.load_c(h, (0, 0), (16, 16)), float32)
    whole = cuda.wmma.convert(cuda.wmma.load_c(n, (0, 0), (16, 16)), float32)
    cuda.wmma.store(c, (0, 0), back)
    cuda.wmma.store(c, (16, 0), cuda.wmma.scale(whole, 0.5))


def test_conversions():
    c = some(np.float32, 32, 16)
    first = c[:16].copy()
    h, b = np.zeros((16, 16), np.float16), np.zeros((16, 16), ml_dtypes.bfloat16)
    n = some(np.int32, 16, 16)
    launch(conversions, 1, 32, c, h, b, n)
    assert (h == first.astype(np.float16)).all() and (c[:16] == h).all()
    assert (b == first.astype(ml_dtypes.bfloat16)).all()
    assert (c[16:] == n.astype(np.float32) * np.float32(0.5)).all()


def test_integers_wrap():
    def far(c):
        cuda.wmma.store(c, (0, 0), cuda.wmma.scale(cuda.wmma.load_c(c, (0, 0), (16, 16)), 3))

    c = np.full((16, 16), 2**30, np.int32)
    launch(far, 1, 32, c)
    assert (c == 3 * 2**30 - 2**32).all()


# ---- errors of running kernels


def part_of_a_warp(c):
    if cuda.threadIdx.x != 40:
        cuda.wmma.store(c, (0, 0), cuda.wmma.fill((16, 16), float32, 0))


def own_positions(c):
    sums = cuda.wmma.fill((16, 16), float32, 0)
    cuda.wmma.store(c, (cuda.threadIdx.x // 40, 0), sums)


def own_numbers(c):
    cuda.wmma.fill((16, 16), float32, cuda.threadIdx.x // 40)


def crooked(c):
    cuda.wmma.store(c, (0, 1), cuda.wmma.fill((16, 16), float32, 0))


def beyond(c):
    cuda.wmma.store(c, (4, 0), cuda.wmma.fill((16, 16), float32, 0))


@pytest.mark.parametrize(
    ("kernel", "message", "thread"),
    [
        (part_of_a_warp, "fragment_fill: not all 32 lanes of a warp are here", "(32, 0, 0)"),
        (own_positions, "fragment_store: the lanes of a warp give different operands", "(32, 0, 0"),
        (own_numbers, "fragment_fill: the lanes of a warp give different operands", "(32, 0, 0)"),
        (crooked, "fragment_store: a line does not start at a multiple of 16 bytes", "(0, 0, 0)"),
        (beyond, "fragment_store: 4 bytes at .* are out of bounds", "(0, 0, 0)"),
    ],
)
def test_faults(kernel, message, thread):
    with pytest.raises(KernelError, match=message) as caught:
        launch(kernel, 1, 64, np.zeros((16, 32), np.float32))
    assert f"thread {thread}" in str(caught.value)


@pytest.mark.parametrize(
    ("kernel", "exception", "message"),
    [
        (crooked, "ValueError", "a line does not start at a multiple of 16 bytes"),
        (beyond, "IndexError", "index is out of bounds"),
    ],
)
def test_debug_mode_checks(kernel, exception, message):
    module, result = launch(kernel, 1, 32, np.zeros((16, 32), np.float32), options=DEBUG)
    site = module.errors[result.error[0]]
    assert (site.exception, message in site.message) == (exception, True)


def written_by_some(c):
    sums = cuda.wmma.fill((16, 16), float32, 1)
    other = cuda.wmma.fill((16, 16), float32, 2)
    if cuda.threadIdx.x < 48:
        sums = other
    cuda.wmma.store(c, (16 * (cuda.threadIdx.x // 32), 0), sums)


def test_a_variable_that_part_of_a_warp_writes_is_undefined():
    c = np.zeros((32, 16), np.float32)
    launch(written_by_some, 1, 64, c)
    assert (c[:16] == 2).all() and np.isnan(c[16:]).all()


# ---- refusals


def odd_shape(x):
    cuda.wmma.load_a(x, (0, 0), (16, 24))


def three_extents(x):
    cuda.wmma.fill((16, 16, 16), float32, 0)


def of_doubles(x):
    cuda.wmma.fill((16, 16), float64, 0)


def other_layout(x):
    cuda.wmma.load_a(x, (0, 0), (16, 16), "col")


def no_layout(x):
    cuda.wmma.load_a(x, (0, 0), (16, 16), "diagonal")


def a_vector(x):
    cuda.wmma.load_a(x[0], (0, 0), (16, 16))


def strided(x):
    cuda.wmma.load_a(x[:, ::2], (0, 0), (16, 16))


def local(x):
    cuda.wmma.load_a(cuda.local.array((16, 16), float16), (0, 0), (16, 16))


def one_index(x):
    cuda.wmma.load_a(x, 0, (16, 16))


def plain_single(x):
    cuda.wmma.load_a(cuda.shared.array((16, 16), float32), (0, 0), (16, 16))


def half_as_tf32(x):
    cuda.wmma.load_a(x, (0, 0), (16, 16), precision="tf32")


def stores_factor(x):
    cuda.wmma.store(x, (0, 0), cuda.wmma.load_a(x, (0, 0), (16, 16)))


def stores_single(x):
    cuda.wmma.store(x, (0, 0), cuda.wmma.fill((16, 16), float32, 0))


def stores_number(x):
    cuda.wmma.store(x, (0, 0), 1)


def wrong_roles(x):
    a = cuda.wmma.load_a(x, (0, 0), (16, 16))
    cuda.wmma.mma(a, a, cuda.wmma.fill((16, 16), float32, 0))


def wrong_shapes(x):
    a, b = cuda.wmma.load_a(x, (0, 0), (16, 32)), cuda.wmma.load_b(x, (0, 0), (16, 16))
    cuda.wmma.mma(a, b, cuda.wmma.fill((16, 16), float32, 0))


def wrong_sums(x):
    a, b = cuda.wmma.load_a(x, (0, 0), (16, 16)), cuda.wmma.load_b(x, (0, 0), (16, 16))
    cuda.wmma.mma(a, b, cuda.wmma.fill((16, 16), int32, 0))


def scales_factor(x):
    cuda.wmma.scale(cuda.wmma.load_a(x, (0, 0), (16, 16)), 2)


def converts_badly(x):
    cuda.wmma.convert(cuda.wmma.load_c(x, (0, 0), (16, 16)), int32)


def changes_shape(x):
    sums = cuda.wmma.fill((16, 16), float16, 0)
    for _ in range(x.shape[0]):
        sums = cuda.wmma.fill((16, 32), float16, 0)
    cuda.wmma.store(x, (0, 0), sums)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (odd_shape, "16x24 of float16: a fragment a of f16 has a multiple of 16 rows and 16 col"),
        (three_extents, "a fragment has two extents, not 3"),
        (of_doubles, "16x16 of float64: a fragment acc has elements f32, f16, i32, bf16"),
        (other_layout, r'layout "col" is of an array in F order.*array.T'),
        (no_layout, "a layout is 'row' or 'col'"),
        (a_vector, "load_a has two dimensions; this is"),
        (strided, r"contiguous along its rows or columns.*array\(float16, 2d, A\)"),
        (local, "in global or shared memory, not in local memory"),
        (one_index, r"a position is \(row, column\), not int64"),
        (plain_single, 'say precision="tf32" to allow that'),
        (half_as_tf32, 'precision="tf32" is of float32'),
        (stores_factor, "accumulators are stored, not fragment a 16x16 of float16"),
        (stores_single, "accumulator 16x16 of float32 is stored to an array of float32"),
        (stores_number, "is a fragment, not int64"),
        (wrong_roles, "takes a, b and an accumulator, not fragment a 16x16"),
        (wrong_shapes, "the shapes do not fit: fragment a 16x32"),
        (wrong_sums, "the elements do not fit: .* their sum is float32 or float16"),
        (scales_factor, "cuda.wmma.scale takes an accumulator, not fragment a"),
        (converts_badly, "accumulator 16x16 of float16 does not convert to int32"),
        (changes_shape, "accumulator 16x32 of float16"),
    ],
)
def test_refusals(function, message):
    with pytest.raises(CompileError, match=message) as caught:
        module_of(function, float16[:, ::1])
    assert caught.value.loc.function == function.__name__


@pytest.mark.parametrize("kind", [int8, uint8, int64])
def test_elements(kind):
    def loads(x):
        cuda.wmma.load_b(x, (0, 0), (32, 16))

    if kind is int64:
        with pytest.raises(CompileError, match="a fragment b has elements f16, bf16, f32, i8, u8"):
            module_of(loads, kind[:, ::1])
    else:
        text = str(module_of(loads, kind[::1, :]).kernel.body.ops[-1])
        assert "by_columns=True" in text
