"""Products by tensor descriptors: the programs of GPUs that copy boxes, on every device."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from math import ceil

import ml_dtypes
import numpy as np
import pytest
from tests.tiles.kernels import exact

from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.tiles import kernels
from gridlane.tiles.kernels import described, prepared, products
from gridlane.tiles.kernels.described import Tile


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let every device have descriptors, and four programs at once; the programs launched."""
    names: list[str] = []
    described._least.cache_clear()
    monkeypatch.setattr(products, "is_hopper", lambda: True)
    monkeypatch.setattr(described, "_TILES", (Tile(32, 64, 4), Tile(64, 64, 4)))
    monkeypatch.setattr(described, "_CLUSTERS", ())
    monkeypatch.setattr(described, "_LEAST_STEPS", 1)
    for module in (described, products):
        monkeypatch.setattr(module, "multiprocessors", lambda: 4)
    own = products._prepared

    def multiply(*args):
        names.append("described")
        return own(*args)

    monkeypatch.setattr(products, "_prepared", multiply)
    group = products._prepared_groups

    def multiply_groups(*args):
        names.append("groups")
        return group(*args)

    monkeypatch.setattr(products, "_prepared_groups", multiply_groups)
    prepared.forget()
    yield names
    prepared.forget()
    described._least.cache_clear()


def factors(rng, m: int, n: int, k: int, dtype="float16") -> tuple[np.ndarray, np.ndarray]:
    """Small whole numbers, of whose products all sums are exact."""
    kind = getattr(ml_dtypes, dtype, None) or dtype
    a, b = (rng.integers(-3, 4, each).astype(kind) for each in ((m, k), (k, n)))
    return a, b


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("extents", [(40, 72, 136), (200, 136, 64), (64, 64, 8), (264, 264, 264)])
def test_products(device, rng, launched, extents, turned, dtype):
    m, n, k = extents
    a, b = factors(rng, m, n, k, dtype)
    given = [np.ascontiguousarray(x.T).T if t else x for x, t in zip((a, b), turned, strict=True)]
    got = kernels.matmul(*given, out_dtype="float32")
    np.testing.assert_array_equal(got, exact.wide(a) @ exact.wide(b))
    assert launched == ["described"]


@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("extents", [(40, 72, 136), (100, 33, 67), (1, 64, 8)])
def test_floats_of_32_bits(device, rng, launched, extents, turned):
    """By descriptors where the caller permits TF32 alone: of copies where the inner axis is not the
    last one in memory, or lines begin anywhere."""
    m, n, k = extents
    a, b = factors(rng, m, n, k, "float32")
    given = [np.ascontiguousarray(x.T).T if t else x for x, t in zip((a, b), turned, strict=True)]
    bias = rng.integers(-9, 9, n).astype(np.float32)
    for count, precision in enumerate(("ieee", "tf32", "tf32")):
        got = kernels.matmul(*given, bias=bias, precision=precision)
        np.testing.assert_array_equal(got, a @ b + bias)
        assert launched == ["described"] * count


def test_batches_of_floats_of_32_bits(device, rng, launched):
    """Those that would be copied are not multiplied by descriptors."""
    a, b = (rng.integers(-3, 4, each).astype(np.float32) for each in ((3, 40, 24), (3, 72, 24)))
    for other, count in ((b.swapaxes(1, 2), 1), (np.ascontiguousarray(b.swapaxes(1, 2)), 1)):
        got = kernels.matmul(a, other, precision="tf32")
        np.testing.assert_array_equal(got, a @ b.swapaxes(1, 2))
        assert launched == ["described"] * count
    with pytest.raises(ArgumentError, match="precision is 'f8'"):
        kernels.matmul(a, b, precision="f8")


@pytest.mark.parametrize("split", [None, 1, 2, 5, 100])
@pytest.mark.parametrize("columns", [72, 77])
def test_parts_and_epilogues(device, rng, launched, split, columns):
    """The last column of 77 has no neighbour of a pair, and rows begin anywhere."""
    a, b = factors(rng, 100, columns + 3, 200)
    b = np.concatenate([b, np.zeros((200, -b.shape[1] % 8), b.dtype)], 1)[:, :columns]
    bias = rng.integers(-9, 9, columns).astype(np.float32)
    more = rng.integers(-9, 9, (100, columns)).astype(np.float32)
    scales = np.float32([2] * 100), np.float32([1, 0.5] * columns)[:columns]
    options = {"bias": bias, "residual": more, "scale_a": scales[0], "scale_b": scales[1]}
    got = kernels.matmul(a, b, split_k=split, out_dtype="float32", activation="relu", **options)
    sums = exact.wide(a) @ exact.wide(b) * 2 * scales[1] + bias
    np.testing.assert_array_equal(got, np.maximum(sums, 0) + more)
    assert launched == ["described"]


@pytest.mark.parametrize("columns", [72, 96, 200, 77])
@pytest.mark.parametrize("turned", [False, True])
def test_columns_of_a_tile_of_their_own(device, rng, launched, monkeypatch, columns, turned):
    """Tiles of 64 and 32 columns, of which either may end beyond the matrix."""
    monkeypatch.setattr(described, "_TILES", (Tile(64, 64, 4, 32, 2),))
    a, b = factors(rng, 100, columns + 3, 72)
    wide = np.zeros((72, -(-columns // 8) * 8), b.dtype)
    wide[:, :columns] = b[:, :columns]
    b = np.ascontiguousarray(wide.T)[:columns].T if turned else wide[:, :columns]
    bias = rng.integers(-9, 9, columns).astype(np.float32)
    assert described.described_blocks(100, columns, 72).extra == 32
    for out in (np.zeros((100, columns), np.float32), np.zeros((columns, 100), np.float32).T):
        got = kernels.matmul(a, b, out, bias=bias, activation="relu", out_dtype="float32")
        want = np.maximum(exact.wide(a) @ exact.wide(b) + bias, 0)
        np.testing.assert_array_equal(got, want)
    assert launched == ["described"] * 2


def batches(rng, shape: tuple[int, ...], turned: bool, rows: int, columns: int) -> np.ndarray:
    """Whole numbers, none of them 0, in matrices whose rows begin at multiples of 16 bytes; what is
    beside them is NaN."""
    lines, across = (columns, rows) if turned else (rows, columns)
    whole = np.full((*shape, lines, -(-across // 8) * 8), np.nan, np.float16)
    whole[..., :across] = rng.integers(1, 4, (*shape, lines, across))
    view = whole[..., :across]
    return np.swapaxes(view, -1, -2) if turned else view


@pytest.mark.parametrize("turned", [(0, 0), (1, 1), (0, 1)])
@pytest.mark.parametrize(
    ("one", "other"), [((3,), (3,)), ((2, 3), (3,)), ((1, 3), (2, 1)), ((3,), ()), ((), (2, 2))]
)
def test_batches(device, rng, launched, one, other, turned):
    """Those that are repeated, of whatever strides; nothing of the next matrix is read."""
    m, n, k = 45, 70, 83
    a, b = batches(rng, one, turned[0], m, k), batches(rng, other, turned[1], k, n)
    wanted = exact.wide(a) @ exact.wide(b)
    residual = rng.integers(-9, 9, wanted.shape).astype(np.float32)
    out = np.full((*wanted.shape[:-1], 72), 7, np.float32)
    got = kernels.matmul(a, b, out[..., :n], residual=residual, out_dtype="float32")
    np.testing.assert_array_equal(got, wanted + residual)
    assert (out[..., n:] == 7).all()
    back = np.zeros((*wanted.shape[:-2], n, m), np.float16)
    kernels.matmul(a, b, np.swapaxes(back, -1, -2))
    np.testing.assert_array_equal(np.swapaxes(back, -1, -2), wanted.astype(np.float16))
    assert launched == ["described"] * 2


def test_batches_of_many_steps(device, rng, launched):
    """Those of more than two steps are copied, at each call."""
    for number in range(2):
        given = [rng.integers(-3, 4, (2, 5, 7, 16, 16)).astype("float16") for _ in range(2)]
        a, b = (cuda.to_device(each)[:, :2, 1:4] for each in given)
        wide = [exact.wide(each)[:, :2, 1:4] for each in given]
        out = cuda.to_device(np.zeros((2, 2, 3, 16, 16), np.float32))
        got = kernels.matmul(a, b, out, out_dtype="float32").copy_to_host()
        np.testing.assert_array_equal(got, wide[0] @ wide[1], err_msg=str(number))
    assert launched == ["described"] * 2


@pytest.mark.parametrize("tile", [Tile(64, 64, 4, 64), Tile(64, 64, 4), Tile(32, 64, 4, 0, 1, 2)])
@pytest.mark.parametrize("split", [1, 3, None])
def test_tiles_and_parts_of_batches(device, rng, launched, monkeypatch, tile, split):
    """Four programs have 10 tiles of five products, or parts of their sums."""
    monkeypatch.setattr(described, "_TILES", (tile,))
    monkeypatch.setattr(described, "_ADD", 0)
    monkeypatch.setattr(described, "_ADDED_BYTES", 1 << 20)
    a, b = batches(rng, (5,), False, 100, 264), batches(rng, (5,), False, 264, 56 + tile.extra)
    bias = rng.integers(-9, 9, b.shape[-1]).astype(np.float32)
    more = np.ones((5, 100, b.shape[-1]), np.float32)
    blocks = described.described_blocks(100, b.shape[-1], 264, split, count=5)
    wanted = {1: (10, False), 3: (0, True), None: (8, True)}[split]
    if split is None and tile.cluster > 1:
        wanted = 10, False  # of two clusters, which run at once
    assert (blocks.whole, blocks.parts > 1) == wanted
    got = kernels.matmul(
        a, b, split_k=split, bias=bias, residual=more, activation="relu", out_dtype="float32"
    )
    wanted = np.maximum(exact.wide(a) @ exact.wide(b) + bias, 0) + more
    np.testing.assert_array_equal(got, wanted)
    assert launched == ["described"]


@pytest.mark.parametrize("tile", [Tile(32, 64, 4, 0, 1, 2), Tile(64, 64, 4, 64, 1, 4)])
@pytest.mark.parametrize("split", [1, 2, None])
def test_clusters(device, rng, launched, monkeypatch, tile, split):
    """Neighbours have tiles below each other, of which the last ones may be beyond the matrix."""
    monkeypatch.setattr(described, "_TILES", (tile,))
    a, b = factors(rng, 140, 136, 200)
    assert described.described_blocks(140, 136, 200, split).cluster == tile.cluster
    got = kernels.matmul(a, b, split_k=split, out_dtype="float32")
    np.testing.assert_array_equal(got, exact.wide(a) @ exact.wide(b))
    assert launched == ["described"]


@pytest.mark.parametrize("sizes", [[70, 0, 200, 3], [500, 0, 0, 0], [0] * 4, [30, 900, 5, -2]])
@pytest.mark.parametrize("turned", [(0, 0), (1, 0), (0, 1)])
@pytest.mark.parametrize("tile", [Tile(64, 64, 4), Tile(64, 32, 4, 64)])
def test_groups(device, rng, launched, monkeypatch, sizes, turned, tile):
    """Groups of any size, which end anywhere in a tile; rows behind the last one are 0."""
    monkeypatch.setattr(described, "_TILES", (tile,))
    a, b = batches(rng, (), turned[0], 300, 83), batches(rng, (4,), turned[1], 83, 70)
    expected, begin = np.zeros((300, 70), np.float32), 0
    for matrix, size in zip(b, sizes, strict=True):
        part = slice(begin, begin + max(size, 0))
        expected[part] = exact.wide(a[part]) @ exact.wide(matrix)
        begin += max(size, 0)
    got = kernels.grouped_matmul(a, b, np.array(sizes), out_dtype="float32")
    np.testing.assert_array_equal(got, expected)
    given = [cuda.to_device(each) if each.flags.c_contiguous else each for each in (a, b)]
    out = np.full((302, 71), 7, np.float32)[1:301, :70]
    for kind in (np.int32, np.int64):
        numbers = cuda.to_device(np.repeat(np.array(sizes, kind), 2))[::2]
        kernels.grouped_matmul(*given, numbers, out, out_dtype="float32")
        np.testing.assert_array_equal(out, expected)
        assert (out.base[[0, -1]] == 7).all() and (out.base[:, 70:] == 7).all()
    assert launched == ["groups"] * 3 * (not turned[0])


def test_calls_of_groups_like_one_before(device, rng, launched):
    """They go to the launch of the first, with other memory and other sizes."""
    given = [batches(rng, each, False, rows, 72) for each, rows in (((), 200), ((3,), 72))]
    a, b = [cuda.to_device(np.ascontiguousarray(each)) for each in given]
    for number, sizes in enumerate(([10, 150, 40], [200, 0, 0], [0, 0, 7])):
        numbers = cuda.to_device(np.array(sizes, np.int32))
        got = kernels.grouped_matmul(a, b, numbers, out_dtype="float32").copy_to_host()
        which = np.repeat(np.arange(3), sizes)
        want = np.einsum("ij,ijk->ik", exact.wide(given[0])[: len(which)], given[1][which])
        np.testing.assert_array_equal(got[: len(which)], want)
        assert not got[len(which) :].any()
        assert launched == ["groups"], number
    with pytest.raises(ArgumentError, match="out_dtype is int32"):
        kernels.grouped_matmul(a, b, numbers, out_dtype="int32")
    kernels.matmul(a, b)
    assert launched == ["groups", "described"]


@pytest.mark.parametrize("apart", [None, "a", "b", "out", "residual", "scale_a"])
def test_rows_of_one_product(device, rng, launched, monkeypatch, apart):
    """Batches of a left factor alone are rows of it, if nothing is between them."""
    counts: list[int] = []
    own = products._multiply
    monkeypatch.setattr(
        products, "_multiply", lambda *args: counts.append(args[3].products) or own(*args)
    )
    shapes = {"a": 72, "out": 40, "residual": 40}
    held = {
        name: rng.integers(-3, 4, (2, 3, 12, columns)).astype(np.float16 if name == "a" else "f4")
        for name, columns in shapes.items()
    }
    a, out, more = (
        whole[:, :, :10] if name == apart else whole[:, :, :10].copy()
        for name, whole in held.items()
    )
    b = rng.integers(-3, 4, (3, 72, 40) if apart == "b" else (72, 40)).astype(np.float16)
    scale = np.arange(1, 11, dtype=np.float32) if apart == "scale_a" else np.float32(2)
    scale_a = cuda.to_device(np.atleast_1d(scale)) if scale.shape else None
    options = {"residual": more, "scale_a": scale_a, "out_dtype": "float32"}
    kernels.matmul(a, b, out, **options)
    want = exact.wide(a) @ exact.wide(b) * (scale[:, None] if scale.shape else 1) + more
    np.testing.assert_array_equal(out, want)
    assert counts == [1 if apart is None else 6]


def test_batches_without_descriptors(device, rng, launched):
    """Matrices that begin at other places than multiples of 16 bytes."""
    a, b = factors(rng, 3 * 41, 64, 44)
    a, out = a.reshape(3, 41, 44)[:, :40], np.zeros((3, 40, 64), np.float32)
    kernels.matmul(a, b, out, out_dtype="float32")
    np.testing.assert_array_equal(out, exact.wide(a) @ exact.wide(b))
    assert launched == []


def test_tiles_of_the_last_round_are_split(device, rng, launched, monkeypatch):
    """Nine tiles of four programs: the ninth is computed in parts."""
    monkeypatch.setattr(described, "_ADD", 0)
    a, b = factors(rng, 96, 192, 1024)
    monkeypatch.setattr(described, "_TILES", (Tile(32, 64, 4),))
    described._least.cache_clear()
    tile = described.described_blocks(96, 192, 1024)
    assert (tile.whole, tile.parts) == (8, 4)
    got = kernels.matmul(a, b, out_dtype="float32")
    np.testing.assert_array_equal(got, exact.wide(a) @ exact.wide(b))


def view(make: Callable[[np.ndarray], np.ndarray], array: np.ndarray) -> np.ndarray:
    made = make(array)
    assert made.base is not None
    return made


@pytest.mark.parametrize(
    ("make", "is_described"),
    [
        (lambda x: x[:, :40], True),
        (lambda x: x[::2, :40], True),
        (lambda x: x[8:, :40], True),
        (lambda x: x[:, ::2], False),
        (lambda x: x.reshape(-1)[: 64 * 60].reshape(64, 60)[:, :40], False),
        (lambda x: x[:1, :40], True),
    ],
)
def test_which_arrays_have_descriptors(device, rng, launched, make, is_described):
    whole, b = factors(rng, 64, 64, 80)
    a = view(make, whole)
    b = b[: a.shape[1]]
    got = kernels.matmul(a, b, out_dtype="float32")
    np.testing.assert_array_equal(got, exact.wide(a) @ exact.wide(b))
    assert bool(launched) == is_described


def test_results_of_any_layout(device, rng, launched):
    a, b = factors(rng, 48, 72, 64)
    wanted = exact.wide(a) @ exact.wide(b)
    for out in (
        np.zeros((48, 72), np.float16),
        np.zeros((72, 48), np.float16).T,
        np.zeros((48, 80), np.float16)[:, 4:76],
        np.zeros((48, 144), np.float16)[:, ::2],
    ):
        kernels.matmul(a, b, out)
        np.testing.assert_array_equal(exact.wide(out), wanted.astype(np.float16))
    assert launched == ["described"] * 4


BEST = {
    (8192, 8192, 8192): (128, 256, 1), (4096, 4096, 4096): (128, 256, 1),
    (2048, 2048, 2048): (128, 256, 1), (1024, 1024, 1024): (64, 128, 1),
    (3000, 3000, 3000): (128, 192, 1), (5120, 5120, 1000): (128, 256, 1),
    (1536, 6144, 1536): (128, 192, 1), (6144, 1536, 6144): (128, 192, 1),
    (2000, 7000, 4096): (128, 128, 1), (128, 8192, 8192): (64, 128, 1),
    (8192, 128, 8192): (64, 128, 1), (16, 8192, 8192): (64, 128, 1),
    (512, 512, 65536): (128, 128, 8),
}  # fmt: skip
"""The rows, the columns and the parts that are fastest on an H200, by measurement or estimate, of
right factors that lie transposed."""


def test_blocks(monkeypatch):
    """The tiles of 132 multiprocessors fit, and are those that were measured."""
    monkeypatch.setattr(described, "multiprocessors", lambda: 132)
    described._least.cache_clear()
    for m, n, k in (*BEST, (1, 1, 1), (65536, 256, 4096), (100, 100, 8), (1, 4096, 4096)):
        tile = described.described_blocks(m, n, k, in_lines=(k % 64 == 0,) * 2)
        tiles = ceil(m / (tile.m * tile.cluster)) * ceil(n / (tile.n + tile.extra))
        assert (tile.parts == 1) == (tile.whole == tiles)
        assert (tile.m + tile.n + tile.extra) * tile.k * 2 * tile.stages <= 227 << 10
        if (m, n, k) in BEST:
            assert (tile.m, tile.n + tile.extra, tile.parts) == BEST[m, n, k], (m, n, k)
    for extents, in_lines, wanted in (
        ((3000, 3000, 3000), (False, False), (128, 192, 1, 2)),
        ((2000, 7000, 4096), (True, False), (256, 128, 3, 2)),
        ((5120, 5120, 1000), (False, True), (128, 256, 1, 2)),
        ((8192, 8192, 8192), (True, True), (128, 256, 1, 1)),
        ((12288, 12288, 1024), (True, True), (128, 256, 1, 1)),
        ((65536, 256, 512), (True, True), (128, 256, 1, 1)),
        ((65536, 256, 256), (True, True), (128, 128, 1, 1)),
    ):
        tile = described.described_blocks(*extents, in_lines=in_lines)
        assert (tile.m, tile.n + tile.extra, tile.parts, tile.cluster) == wanted
        assert described.described_blocks(*extents, in_lines=in_lines, clusters=False).cluster == 1
    described._least.cache_clear()


def test_no_parts_are_refused(device, rng, launched):
    with pytest.raises(ArgumentError, match="split_k is 0"):
        kernels.matmul(*factors(rng, 8, 8, 8), split_k=0)


def test_calls_like_one_before(device, rng, launched):
    """They go to the launches of the first, with other memory and other numbers."""
    for n in range(3):
        a, b = factors(rng, 100, 72, 200)
        bias, more = rng.integers(-9, 9, 72).astype(np.float32), np.ones((100, 72), np.float32)
        wanted = np.maximum(exact.wide(a) @ exact.wide(b) + bias, 0) + more
        options = {"bias": cuda.to_device(bias), "residual": cuda.to_device(more)}
        given = [cuda.to_device(each) for each in (a, b)]
        for split in (1, 3):
            options |= {"activation": "relu", "split_k": split, "out_dtype": "float32"}
            got = kernels.matmul(*given, **options)
            assert isinstance(got, cuda.devicearray.DeviceNDArray)
            np.testing.assert_array_equal(got.copy_to_host(), wanted)
            out = cuda.to_device(np.zeros((100, 72), np.float32))
            assert kernels.matmul(*given, out, **options) is out
            np.testing.assert_array_equal(out.copy_to_host(), wanted)
        assert launched == ["described"] * 4, n


def test_calls_unlike_one_before(device, rng, launched):
    """Shapes, strides, dtypes, alignments and options are other launches; host arrays are known by
    their copies alone."""
    a, b = factors(rng, 64, 64, 64)
    whole = cuda.to_device(np.zeros((64, 80), np.float16))
    whole.copy_to_device(np.concatenate([a, a[:, :16]], 1))
    given = [cuda.to_device(each) for each in (a, b)]
    wanted = exact.wide(a) @ exact.wide(b)
    makes = [
        lambda: kernels.matmul(*given, out_dtype="float32"),
        lambda: kernels.matmul(given[0], given[1], out_dtype="float32", split_k=2),
        lambda: kernels.matmul(whole[:, :64], given[1], out_dtype="float32"),
        lambda: kernels.matmul(whole[:, 8:72], given[1], out_dtype="float32"),
        lambda: kernels.matmul(a, b, out_dtype="float32"),
    ]
    moved = exact.wide(np.concatenate([a, a[:, :16]], 1)[:, 8:72]) @ exact.wide(b)
    for _ in range(2):
        for n, make in enumerate(makes):
            got = make()
            got = got.copy_to_host() if hasattr(got, "copy_to_host") else got
            np.testing.assert_array_equal(got, moved if n == 3 else wanted)
    assert launched == ["described"] * 5  # a view beside another one is of its kind


def test_errors_of_calls_like_one_before(device, rng, launched):
    a, b = (cuda.to_device(each) for each in factors(rng, 64, 64, 64))
    kernels.matmul(a, b)
    with pytest.raises(ArgumentError, match="activation is 'tanh'"):
        kernels.matmul(a, b, activation="tanh")
    with pytest.raises(ArgumentError, match="columns must be"):
        kernels.matmul(a, b[:32])


def test_arrays_that_are_copied_are_known_by_no_kind(device, rng, launched):
    """Rows that are one in memory, and rows in the other order."""
    _, b = factors(rng, 64, 64, 64)
    other = cuda.to_device(b)
    for number in range(2):
        row = cuda.to_device(np.full(64, number + 1, np.float16))
        same = cuda.devicearray.DeviceNDArray((64, 64), (0, 2), np.float16, gpu_data=row.gpu_data)
        wanted = np.full((64, 64), number + 1.0) @ exact.wide(b)
        got = kernels.matmul(same, other, out_dtype="float32")
        np.testing.assert_array_equal(got.copy_to_host(), wanted)
        assert prepared.key_of((same, other, None), ()) is None
    assert prepared.key_of((other, other, None), ()) is not None
    assert prepared.key_of((other[::-1], other, None), ()) is None


@pytest.mark.parametrize("dtype", ["int8", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("extents", [(40, 72, 144), (100, 33, 16), (1, 64, 272)])
@pytest.mark.parametrize("split", [None, 3])
def test_factors_of_8_bits(device, rng, launched, extents, dtype, split):
    """By descriptors where both factors are consecutive along the inner dimension."""
    m, n, k = extents
    a, b = factors(rng, m, n, k, dtype)
    b = np.ascontiguousarray(b.T).T
    bias = rng.integers(-9, 9, n).astype(np.float32)
    scales = np.array(2, np.float32), (np.arange(n) % 3 / 2).astype(np.float32)
    options = {} if dtype == "int8" else {"out_dtype": "float32"}
    wide = exact.wide(a) @ exact.wide(b)
    np.testing.assert_array_equal(kernels.matmul(a, b, split_k=split, **options), wide)
    assert launched == ["described"]
    got = kernels.matmul(
        a, b, split_k=split, bias=bias, scale_a=scales[0], scale_b=scales[1], **options
    )
    np.testing.assert_array_equal(got, wide * 2 * scales[1] + bias)
    plain = np.ascontiguousarray(b)  # whose columns are not: by addresses
    np.testing.assert_array_equal(kernels.matmul(a, plain, split_k=split, **options), wide)
    assert launched == ["described"] * 2


def test_results_of_8_bits(device, rng, launched):
    """Batches, of results that are floats of 8 bits themselves."""
    kind = ml_dtypes.float8_e5m2
    a, b = (rng.integers(-1, 2, each).astype(kind) for each in ((3, 20, 32), (3, 24, 32)))
    got = kernels.matmul(a, b.swapaxes(1, 2), out_dtype="float8_e5m2")
    want = exact.wide(a) @ exact.wide(b.swapaxes(1, 2))
    np.testing.assert_array_equal(got, want.astype(kind))
    assert launched == ["described"]


def test_sums_that_are_apart_have_room():
    """A thread has at most 64 sums, and a step 128 places, of floats of 8 bits."""
    for m, n, k in ((4096, 7168, 1024), (128, 2112, 3584), (1, 7168, 1024)):
        tile = described._least(m, n, k, None, (True, True), 1, 132, True, True)
        assert tile.m * tile.n <= 64 * 32 * tile.warps and not tile.extra
        assert tile.k == 64


def test_what_is_known_keeps_no_array_alive(launched: list[str]) -> None:
    arrays = [cuda.to_device(np.ones((64, 64), np.float16)) for _ in range(3)]
    alive = [weakref.ref(each) for each in arrays]
    kernels.matmul(*arrays)
    assert launched == ["described"]
    kernels.matmul(*arrays)
    assert launched == ["described"] and (arrays[2].copy_to_host() == 64).all()
    arrays.clear()
    gc.collect()
    assert [each() for each in alive] == [None] * 3
