"""Whole programs in CUDA C++, with their main, compiled by clang: their kernels against numpy."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

FOLDER = Path(__file__).parent / "programs"
RNG = np.random.default_rng(11)


EACH = pytest.mark.parametrize("load", ["interp", "cpu"], indirect=True)
"""The interpreter takes a second or more for the others."""


@pytest.fixture
def load(request):
    current.choose(get_device(getattr(request, "param", "cpu")))

    def made(name: str, *expressions: str) -> list[cuda.RawKernel]:
        module = cuda.RawModule(
            path=FOLDER / f"{name}.cu", name_expressions=expressions, backend="clang"
        )
        return [module.get_function(each) for each in expressions]

    return made


def test_stencil(load):
    (heat,) = load("stencil", "heat")
    plate = RNG.random((37, 50), np.float32)
    out = np.zeros_like(plate)
    heat((4, 3), (16, 16), (plate, out, 37, 50))
    p = np.pad(plate, 1, "edge").astype(np.float64)
    want = p[1:-1, 1:-1] * 0.5 + 0.125 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
    assert np.allclose(out, want, rtol=1e-6)


def test_reduction(load):
    total, ints, largest, kept = load("reduction", "total<double>", "total<int>", "largest", "kept")
    values, result = RNG.integers(0, 99, 1000).astype(float), np.zeros(1)
    total(3, 128, (values, result, 1000))
    assert result[0] == values.sum()
    numbers, result = RNG.integers(-99, 99, 777).astype(np.int32), np.zeros(1, np.int32)
    ints(2, 128, (numbers, result, 777))
    assert result[0] == numbers.sum()
    floats = RNG.integers(0, 20, 100).astype(np.float32)
    places = np.zeros(8, [("value", "f4"), ("index", "i4")])
    largest(2, 64, (floats, places, 100))
    padded = np.concatenate([floats, np.full(28, -np.inf, np.float32)]).reshape(8, 16)
    assert (places["value"] == padded.max(axis=1)).all()
    assert (places["index"] == padded.argmax(axis=1) + 16 * np.arange(8)).all()
    out, counter = np.full(100, -1, np.int32), np.zeros(1, np.int32)
    kept(2, 64, (numbers[:100].copy(), out, counter, 100))
    want = np.sort(numbers[:100][numbers[:100] % 3 == 0])
    assert counter[0] == len(want) and (np.sort(out[: len(want)]) == want).all()


@EACH
def test_nbody(load):
    (accelerate,) = load("nbody", "accelerate")
    bodies = RNG.random((50, 4), np.float32)
    forces = np.zeros((50, 3), np.float32)
    accelerate(2, 32, (bodies, forces, 50), shared_mem=32 * 16)
    place = bodies[:, :3].astype(np.float64)
    r = place[None] - place[:, None]
    square = (r**2).sum(-1) + 1e-3
    want = (r * (bodies[None, :, 3] / square**1.5)[..., None]).sum(1)
    assert np.allclose(forces, want, rtol=1e-4, atol=1e-4)


@EACH
def test_histogram(load):
    count_bytes, extremes, total = load("histogram", "count_bytes", "extremes", "sum")
    data, bins = RNG.integers(0, 256, 4000).astype(np.uint8), np.zeros(64, np.uint32)
    count_bytes(3, 64, (data, bins, 4000))
    assert (bins == np.bincount(data >> 2, minlength=64)).all()
    floats = RNG.random(100, np.float32) + np.float32(0.5)
    most, least = np.zeros(1, np.int32), np.full(1, 2**31 - 1, np.int32)
    ticks = np.array([0, 1000, 0, 0], np.uint32)
    extremes(4, 32, (floats, most, least, ticks, 100))
    assert most.view(np.float32)[0] == floats.max() and least.view(np.float32)[0] == floats.min()
    xors = np.bitwise_xor.reduce(1 << (np.arange(100) & 15))
    assert list(ticks) == [0, 800, 2**32 - 1, xors]
    doubles, result = RNG.integers(0, 99, 60).astype(float), np.zeros(1)
    total(2, 32, (doubles, result, 60))
    assert result[0] == doubles.sum()


def test_scan(load):
    for kind, name in (("i8", "long"), ("f8", "double"), ("i4", "int")):
        blocks, add = load("scan", f"scan_blocks<{name}>", f"add_sums<{name}>")
        values = RNG.integers(-99, 99, 300).astype(kind)
        out, sums, more = np.zeros_like(values), np.zeros(3, kind), np.zeros(1, kind)
        blocks(3, 128, (values, out, sums, 300))
        blocks(1, 128, (sums, sums, more, 3))
        add(3, 128, (out, sums, 300))
        assert (out == values.cumsum()).all()


@EACH
def test_ranks(load):
    (ranks,) = load("scan", "ranks")
    keys = RNG.integers(0, 6, 64).astype(np.int32)
    rank, leaders = np.zeros_like(keys), np.zeros_like(keys)
    ranks(1, 64, (keys, rank, leaders))
    for warp in (0, 32):
        lanes = keys[warp : warp + 32]
        assert list(rank[warp : warp + 32]) == [(lanes[:i] == v).sum() for i, v in enumerate(lanes)]
        want = len(set(lanes)) + 100 + 1000 * (keys == 1).sum() + 200000
        assert (leaders[warp : warp + 32] == want).all()


def test_matmul(load):
    names = "gemm<float, 8>", "gemm<double, 16>", "gemm<signed char, 8>", "dots"
    single, double, small, dots = load("matmul", *names)
    m, n, k = 20, 19, 33
    for kernel, tile, kind, sums in (
        (single, 8, "f4", "f4"),
        (double, 16, "f8", "f8"),
        (small, 8, "i1", "i4"),
    ):
        a = RNG.integers(-9, 9, (m, k)).astype(kind)
        b = RNG.integers(-9, 9, (k, n)).astype(kind)
        c = RNG.integers(-9, 9, (m, n)).astype(sums)
        want = 2 * (a.astype(int) @ b.astype(int)) + 3 * c.astype(int)
        scalars = np.dtype(sums).type(2), np.dtype(sums).type(3)
        grid = -(-n // tile), -(-m // tile)
        kernel(grid, (tile, tile), (a, b, c, m, n, k, *scalars))
        assert (c == want).all()
    a, b = RNG.integers(-128, 128, (32, 20)).astype("i1"), RNG.integers(-128, 128, 20).astype("i1")
    out = np.zeros(32, np.int32)
    dots(1, 32, (a.view(np.int32), b.view(np.int32), out, 5))
    assert (out == a.astype(int) @ b.astype(int)).all()


@EACH
def test_halves(load):
    names = "axpy", "relu_scaled<__half>", "relu_scaled<__nv_bfloat16>", "softmax", "dot", "added"
    axpy, relu, relu_b, softmax, dot, added = load("halves", *names)
    x, y = RNG.random(80).astype(np.float16), RNG.random(80).astype(np.float16)
    want = (np.float64(1.5) * x + y).astype(np.float16)
    axpy(2, 32, (x, y, np.float16(1.5), 40))
    assert (y == want).all()
    for kernel, kind in ((relu, np.dtype(np.float16)), (relu_b, np.dtype(ml_dtypes.bfloat16))):
        x = (RNG.random(40) - 0.5).astype(kind)
        out = np.zeros_like(x)
        kernel(2, 32, (x.view(np.int16), out.view(np.int16), np.float32(3), 40))
        want = (np.maximum(x.astype(np.float32), 0) * np.float32(3)).astype(kind)
        assert (out.view(np.int16) == want.view(np.int16)).all()
    x, y = (RNG.random((3, 50)) * 4).astype(np.float16), np.zeros((3, 50), np.float16)
    softmax(3, 32, (x, y, 50))
    e = np.exp(x.astype(float))
    assert np.allclose(y, e / e.sum(1, keepdims=True), rtol=2e-3)
    a, b = (RNG.integers(-9, 9, 100).astype(ml_dtypes.bfloat16) for _ in range(2))
    out = np.zeros(1, np.float32)
    dot(1, 64, (a.view(np.int16), b.view(np.int16), out, 100))
    assert out[0] == (a.astype(float) * b.astype(float)).sum()
    x, one, pair = (
        np.arange(20).astype(np.float16),
        np.zeros(1, np.float16),
        np.zeros(2, np.float16),
    )
    added(1, 32, (one, pair, x, 20))
    assert one[0] == 190 and list(pair) == [190, 20]


def philox(counter: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """Philox4x32-10 of counters, a row each."""
    c = [counter[:, n].astype(np.uint64) for n in range(4)]
    k0, k1 = key
    low = np.uint64(2**32 - 1)
    for _ in range(10):
        x, z = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [z >> 32 ^ c[1] ^ np.uint64(k0), z & low, x >> 32 ^ c[3] ^ np.uint64(k1), x & low]
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return np.stack(c, axis=1).astype(np.uint32)


def stream(seed: int, sequence: int, first: int, count: int) -> np.ndarray:
    """Numbers of a sequence of Philox, by their places."""
    groups = np.arange(first // 4, (first + count) // 4 + 1)
    counter = np.zeros((len(groups), 4), np.uint64)
    counter[:, 0], counter[:, 1] = groups % 2**32, groups >> 32
    counter[:, 2], counter[:, 3] = sequence % 2**32, sequence >> 32
    return philox(counter, (seed % 2**32, seed >> 32)).reshape(-1)[first % 4 :][:count]


def test_the_oracle_of_philox():
    # The first known answers of Random123.
    assert [f"{v:08x}" for v in philox(np.zeros((1, 4)), (0, 0))[0]] == [
        "6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8",
    ]  # fmt: skip


@pytest.mark.parametrize("seed, offset", [(1234, 0), (2**40 + 7, 5), (1, 2**34 + 3)])
def test_philox(load, seed, offset):
    (words,) = load("monte_carlo", "words")
    out = np.zeros(8 * 8, np.uint32)
    words(1, 8, (out, np.uint64(seed), np.uint64(offset), 7))
    for i in range(8):
        want = stream(seed, 7 * i, offset, 11)
        assert (out[7 * i : 7 * i + 7] == want[:7]).all()
        assert out[56 + i] == np.bitwise_xor.reduce(want[7:])


@EACH
def test_monte_carlo(load):
    setup, inside = load("monte_carlo", "setup", "inside")
    states, counts = cuda.device_array(64 * 64, np.uint8), np.zeros(64, np.uint32)
    setup(2, 32, (states, np.uint64(99)))
    inside(2, 32, (states, counts, 10))
    for i in range(64):
        x, y = (
            (stream(99, i, 0, 20) * np.float64(2**-32) + 2**-33).astype(np.float32).reshape(10, 2).T
        )
        assert counts[i] == (x * x + y * y <= 1).sum()


def test_an_option(load):
    option, skips = load("monte_carlo", "option", "skips")
    values = np.zeros(256, np.float32)
    option(2, 128, (values, *map(np.float32, (100, 95, 0.001, 0.02)), 10))
    # The mean of 256 payoffs is within some standard errors of the exact one.
    assert abs(values.mean() - 7.3) < 1.5 and values.std() > 3
    out = np.zeros((32, 2), np.uint32)
    for far in (0, 1, 5, 37, 300):
        skips(1, 32, (out, far))
        assert (out[:, 0] == out[:, 1]).all()
    assert len(np.unique(out[:, 0])) == 32


def test_search(load):
    find_all, automaton = load("search", "find_all", "count_by_automaton")
    text = "".join(RNG.choice(list("ab "), 300)).encode()
    word = b"aba"
    found, count = np.zeros(300, np.int32), np.zeros(1, np.int32)
    given = np.frombuffer(text, np.uint8).copy(), np.frombuffer(word, np.uint8).copy()
    find_all(10, 32, (given[0], 300, given[1], 3, found, count))
    want = [i for i in range(298) if text[i : i + 3] == word]
    assert sorted(found[: count[0]]) == want
    # Words of one letter: counts of "b" behind any state.
    machine = np.zeros(1, [("next", "i2", (8, 26)), ("states", "i4")])
    machine["next"][0, :, 1], machine["states"] = 1, 2
    counts = np.zeros(64, np.int32)
    automaton(2, 32, (given[0], 300, machine.tobytes(), counts))
    assert counts.sum() == text.count(b"b")


def graph(n: int) -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    rows = [sorted(set(RNG.integers(0, n, RNG.integers(0, 4)))) for _ in range(n)]
    nodes = np.zeros(n, [("first", "i4"), ("edges", "i4")])
    nodes["edges"] = [len(row) for row in rows]
    nodes["first"] = np.cumsum(nodes["edges"]) - nodes["edges"]
    return nodes, np.array([v for row in rows for v in row] or [0], np.int32), rows


def levels(rows: list[list[int]]) -> list[int]:
    cost, queue = {0: 0}, [0]
    for node in queue:
        for other in rows[node]:
            if other not in cost:
                cost[other] = cost[node] + 1
                queue.append(other)
    return [cost.get(i, -1) for i in range(len(rows))]


def test_bfs(load):
    step, update, by_queue = load("bfs", "step", "update", "by_queue")
    n = 90
    nodes, edges, rows = graph(n)
    frontier, updating, visited = (np.zeros(n, bool) for _ in range(3))
    cost = np.full(n, -1, np.int32)
    frontier[0] = visited[0] = True
    cost[0] = 0
    again = np.ones(1, bool)
    while again[0]:
        again[0] = False
        step(3, 32, (nodes, edges, frontier, updating, visited, cost, n))
        update(3, 32, (frontier, updating, visited, again, n))
    assert list(cost) == levels(rows)
    cost[:] = -1
    by_queue(1, 64, (nodes, edges, cost, np.zeros(n, np.int32), n))
    assert list(cost) == levels(rows)


@EACH
def test_language(load):
    classes, bytes_, ordered = load("language", "classes", "bytes", "ordered")
    i, out = np.arange(32), np.zeros(32, np.float32)
    classes(1, 32, (out, 8))
    area = np.where(i % 2, i * i, np.float32(np.pi) * (i * i))
    assert np.allclose(out, area + 8 / 4 + 6 + (i & 3) + 1, rtol=1e-6)
    given, out = RNG.integers(0, 256, 48).astype(np.uint8), np.zeros((32, 24), np.uint8)
    bytes_(1, 32, (out, given))
    for t in range(32):
        want = np.full(24, 7, np.uint8)
        want[4:12] = given[t : t + 8]
        want[:12] = want[2:14].copy()
        assert (out[t] == want).all()
    x, f = np.zeros(6, np.int32), np.zeros(1, np.float32)
    ordered(1, 32, (x, f))
    assert list(x[:5]) == [496, 30, 5, 9, 64] and f[0] == 16 and 0 < x[5] <= 32


@pytest.mark.parametrize(
    "name, kind, block", [("int", "i4", 64), ("double", "f8", 96), ("long", "i8", 40)]
)
def test_blocks_of_cub(load, name, kind, block):
    (blocks,) = load("collective", f"blocks<{name}, {block}>")
    values, out = RNG.integers(-99, 99, block).astype(kind), np.zeros((block, 8), kind)
    blocks(1, block, (values, out, 37))
    sums = values.cumsum()
    assert (out[:, 0] == sums).all() and (out[:, 1] == sums - values).all()
    assert (out[:, 2] == sums[-1]).all()
    pairs = np.stack([values, np.ones_like(values)], 1).ravel()
    assert (out[:, 3:5].ravel() == pairs.cumsum() - pairs).all()
    assert list(out[0, 5:]) == [sums[-1], values.max(), values[:37].sum()]


@EACH
@pytest.mark.parametrize("width", [32, 8, 4])
def test_warps_of_cub(load, width):
    (warps,) = load("collective", f"warps<{width}>")
    values, out = RNG.integers(-99, 99, 64).astype(np.int32), np.zeros((64, 5), np.int32)
    warps(1, 64, (values, out))
    for first in range(0, 64, width):
        part, got = values[first : first + width], out[first : first + width]
        assert (got[:, 0] == part.cumsum() - part).all() and (got[:, 1] == part.sum()).all()
        assert (got[:, 2] == np.maximum.accumulate(part)).all()
        assert list(got[0, 3:]) == [part.sum(), part[:3].min()]


def test_a_pair_of_cub(load):
    (kernel,) = load("collective", "place_of_most")
    values, place = RNG.integers(0, 20, 64).astype(np.float32), np.zeros(1, np.int32)
    kernel(1, 64, (values, place))
    assert place[0] == values.argmax()


def test_textures_beside_other_kernels(load):
    (plain,) = load("textures", "plain")
    out = np.zeros(32, np.float32)
    plain(1, 32, (out,))
    assert (out == 2 * np.arange(32)).all()
    ptx = cuda.compile_cpp((FOLDER / "textures.cu").read_text(), backend="clang")
    forms = "2d.v4.u32.f32 2d.v4.f32.f32 1d.v4.f32.s32 1d.v4.s32.f32 3d.v4.f32.f32 a2d.v4.f32.f32"
    assert all(f"tex.{form} " in ptx for form in forms.split())


@EACH
def test_pipeline(load):
    sums, parts = load("pipeline", "sums", "parts")
    values, out = RNG.integers(0, 99, (3, 32, 4)).astype("f4"), np.zeros((32, 4), np.float32)
    sums(1, 32, (values, out, 3))
    assert (out == values.sum(0)[np.arange(32) ^ 1]).all()
    pairs, out = RNG.integers(1, 99, (32, 2)).astype(np.int32), np.zeros((32, 2), np.int32)
    parts(1, 32, (pairs, out))
    pairs[1::2, 1] = 0
    assert (out == pairs).all()
