"""Kernels of ``cuda/library.cu``, ``matrices.cu`` and ``applications.cu`` against numpy."""

from __future__ import annotations

import math
import zlib

import numpy as np
from tests.peers.corpus.cpp_language import floats, integers
from tests.peers.corpus.programs import Program, collector

from gridlane.cuda import texture

PROGRAMS: list[Program] = []
program = collector(PROGRAMS)
RNG = np.random.default_rng(17)

# --- library.cu


@program("library")
def block_reduce(k):
    x, y = integers(-99, 99, 128), np.zeros(1, "i4")
    k(1, 128, (x, y))
    return y, [x.sum()]


@program("library")
def block_scan(k):
    x, y = integers(-99, 99, 512), np.zeros(512, "i4")
    k(1, 128, (x, y))
    return y, np.cumsum(x)


@program("library")
def block_sort(k):
    x, y = integers(0, 2**31 - 1, 256, dtype="u4"), np.zeros(256, "u4")
    k(1, 64, (x, y))
    return y, np.sort(x)


@program("library")
def block_load(k):
    x, y = floats(600), np.zeros(600, "f4")
    k(3, 64, (x, y, 600))
    return y, x * 2


@program("library")
def block_histogram(k):
    x, y = integers(0, 256, 256, dtype="u1"), np.zeros(256, "i4")
    k(1, 64, (x, y))
    return y, np.bincount(x, minlength=256)


@program("library")
def merge_sort(k):
    x, y = integers(-999, 999, 256), np.zeros(256, "i4")
    k(1, 64, (x, y))
    return y, np.sort(x)


@program("library")
def heads(k):
    x, y = integers(0, 3, 128), np.zeros(128, "i4")
    k(1, 64, (x, y))
    return y, [1, *(x[1:] != x[:-1])]


@program("library")
def warp_both(k):
    x, y, z = RNG.random(64).astype("f4"), np.zeros(2, "f4"), np.zeros(64, "i4")
    k(1, 64, (x, y, z))
    counts = (x * np.float32(10)).astype("i4").reshape(2, 32)
    return (y, z), (x.reshape(2, 32).max(1), (np.cumsum(counts, 1) - counts).ravel())


@program("library")
def complexes(k):
    x, y = floats(32, 2), np.zeros((32, 2), "f4")
    k(1, 32, (x, y))
    v = x[:, 0] + 1j * x[:, 1].astype("c16")
    want = v * v + v.conj() / (1.5 + 0.5j)
    return y, np.stack([want.real, want.imag], 1), 2e-6


@program("library")
def standard(k):
    x, y = integers(0, 99), np.zeros(32, "i4")
    k(1, 32, (x, y))
    want = []
    for i in range(32):
        own = sorted(int(x[(i + n * 5) % 32]) for n in range(8))
        found = next((v for v in own if v > 40), 7)
        want.append(own[0] + 1000 * own[-1] + 1000000 * found + own[3].bit_count())
    return y, want


# --- matrices.cu


@program("matrices")
def wmma_halves(k):
    a, b, c = floats(16, 16).astype("f2"), floats(16, 16).astype("f2"), np.zeros((16, 16), "f4")
    k(1, 32, (a, b, c))
    return c, a.astype("f8") @ b.astype("f8").T + 1, 1e-5


@program("matrices")
def mma_halves(k):
    a, b, c = floats(16, 16).astype("f2"), floats(8, 16).astype("f2"), np.zeros((16, 8), "f4")
    k(1, 32, (a, b, c))
    return c, a.astype("f8") @ b.astype("f8").T, 1e-5


# --- applications.cu


@program("applications")
def mandelbrot(k):
    y = np.zeros((40, 40), "i4")
    k((5, 5), (8, 8), (y, 40, 30))
    r, c = np.mgrid[0:40, 0:40]
    x0, y0 = c * 3.0 / 40 - 2, r * 3.0 / 40 - 1.5
    a, b, n = np.zeros((40, 40)), np.zeros((40, 40)), np.zeros((40, 40), int)
    for _ in range(30):
        inside = a * a + b * b <= 4
        a, b = np.where(inside, a * a - b * b + x0, a), np.where(inside, 2 * a * b + y0, b)
        n += inside
    return y, n


@program("applications")
def bodies(k):
    x, force = floats(64, 4), np.zeros((64, 4), "f4")
    k(2, 32, (x, force, 64))
    p, mass = x[:, :3].astype("f8"), x[:, 3].astype("f8")
    d = p[None] - p[:, None]
    scale = mass / ((d * d).sum(2) + 0.01) ** 1.5
    return force[:, :3], (scale[:, :, None] * d).sum(1), 1e-3


@program("applications")
def life(k):
    x, y = integers(0, 2, 32, 32, dtype="u1"), np.zeros((32, 32), "u1")
    k((4, 4), (8, 8), (x, y, 32))
    near = sum(np.roll(x, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - x
    return y, (near == 3) | ((near == 2) & (x == 1))


@program("applications")
def sparse(k):
    dense = np.where(RNG.random((20, 50)) < 0.3, RNG.integers(-9, 9, (20, 50)), 0).astype("f8")
    rows, cols = np.nonzero(dense)
    starts = np.searchsorted(rows, np.arange(21)).astype("i4")
    x, y = RNG.integers(-9, 9, 50).astype("f8"), np.zeros(20)
    k(5, 128, (starts, cols.astype("i4"), dense[rows, cols], x, y, 20))
    return y, dense @ x


@program("applications")
def breadth(k):
    edges = [sorted(RNG.choice(60, 3, replace=False)) for _ in range(60)]
    starts, flat = np.arange(61, dtype="i4") * 3, np.array(edges, "i4").ravel()
    level = np.full(60, -1, "i4")
    level[0] = 0
    for depth in range(60):
        changed = np.zeros(1, "i4")
        k(2, 32, (starts, flat, level, depth, changed, 60))
        if not changed[0]:
            break
    want = np.full(60, -1)
    want[0], front = 0, [0]
    while front:
        following = []
        for at in front:
            for other in edges[at]:
                if want[other] < 0:
                    want[other] = want[at] + 1
                    following.append(other)
        front = following
    return level, want


@program("applications")
def aligned(k):
    a, b = (RNG.choice(np.frombuffer(b"ACGT", "u1"), n) for n in (30, 25))
    score = np.zeros(1, "i4")
    k(1, 32, (a.copy(), b.copy(), score, 30, 25), shared_mem=32 * 4)
    row = [-2 * j for j in range(26)]
    for i in range(1, 31):
        made = [-2 * i]
        for j in range(1, 26):
            match = row[j - 1] + (3 if a[i - 1] == b[j - 1] else -1)
            made.append(max(match, row[j] - 2, made[j - 1] - 2))
        row = made
    return score, [row[-1]]


@program("applications")
def lower(k):
    a = RNG.random((24, 24)) + np.eye(24) * 24
    want = a.copy()
    for n in range(23):
        k(1, 32, (a, 24, n))
        want[n + 1 :, n] /= want[n, n]
        want[n + 1 :, n + 1 :] -= want[n + 1 :, n : n + 1] * want[n : n + 1, n + 1 :]
    return a, want


@program("applications")
def hashed(k):
    x = integers(0, 60, 200, dtype="u4")
    keys, values = np.full(128, 0xFFFFFFFF, "u4"), np.zeros(128, "i4")
    k(4, 64, (keys, values, x, 200, 128))
    counts = np.zeros(60, "i4")
    used = keys != 0xFFFFFFFF
    counts[keys[used]] = values[used]
    return counts, np.bincount(x, minlength=60)


@program("applications")
def quicksort(k):
    x = integers(0, 99, 32, 20)
    want = np.sort(x, 1)
    k(1, 32, (x, 20))
    return x, want


@program("applications")
def black_scholes(k):
    s, strike = (RNG.random(32) * 40 + 10).astype("f4"), (RNG.random(32) * 40 + 10).astype("f4")
    y = np.zeros(32, "f4")
    k(1, 32, (s, strike, y))
    a, b, root = s.astype("f8"), strike.astype("f8"), math.sqrt(2)
    first = (np.log(a / b) + 0.065 * 2) / (0.3 * root)
    normal = np.vectorize(lambda v: math.erfc(-v / root) / 2)
    return y, a * normal(first) - b * math.exp(-0.04) * normal(first - 0.3 * root), 2e-5


@program("applications")
def crc(k):
    x, y = integers(0, 256, 32, 10, dtype="u1"), np.zeros(32, "u4")
    k(1, 32, (x, y, 10))
    return y, [zlib.crc32(row.tobytes()) for row in x]


@program("applications")
def filtered(k):
    x, y = floats(8, 32), np.zeros((8, 32), "f4")
    form = texture.ChannelFormatDescriptor(32, 0, 0, 0, texture.cudaChannelFormatKindFloat)
    pixels = texture.CUDAarray(form, 32, 8)
    pixels.copy_from(x)
    resource = texture.ResourceDescriptor(texture.cudaResourceTypeArray, cuArr=pixels)
    how = texture.TextureDescriptor(filterMode=texture.cudaFilterModeLinear)
    k(8, 32, (texture.TextureObject(resource, how), y, 32))
    return y, x
