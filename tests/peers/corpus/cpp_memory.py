"""Kernels of ``cuda/shared.cu``, ``warps.cu``, ``groups.cu`` and ``atomic_classes.cu``."""

from __future__ import annotations

import numpy as np
from tests.peers.corpus.cpp_language import I, floats, integers
from tests.peers.corpus.programs import Program, collector

PROGRAMS: list[Program] = []
program = collector(PROGRAMS)
J = np.arange(64)

# --- shared.cu


@program("shared")
def several(k):
    x, y = floats(), np.zeros(32)
    k(1, 32, (x, y, 32), shared_mem=32 * 13)
    wide = x.astype("f8") * 2
    return y, wide[::-1] + np.roll(x + np.float32(1), -1) + (31 - I) * 3 % 256


@program("shared")
def transposed(k):
    x, y = floats(20, 37), np.zeros((37, 20), "f4")
    k((3, 3), (16, 16), (x, y, 37, 20))
    return y, x.T


@program("shared")
def product(k):
    a, b, c = floats(32, 32), floats(32, 32), np.zeros((32, 32), "f4")
    k((2, 2), (16, 16), (a, b, c, 32))
    return c, a @ b, 1e-5


@program("shared")
def histogram(k):
    x, y = integers(0, 256, 1000, dtype="u1"), np.zeros(64, "i4")
    k(3, 64, (x, y, 1000))
    return y, np.bincount(x >> 2, minlength=64)


@program("shared")
def scanned(k):
    x, y = integers(-99, 99, 64), np.zeros(64, "i4")
    k(1, 64, (x, y))
    return y, np.cumsum(x)


@program("shared")
def stencil(k):
    x, y = integers(-99, 99, 150).astype("f4"), np.zeros(150, "f4")
    k(3, 64, (x, y, 150))
    return y, np.convolve(x, [1, -4, 6, -4, 1], "same")


@program("shared")
def structs(k):
    x, y = integers(-99, 99), np.zeros(32)
    k(1, 32, (x, y))
    other = x[::-1]
    tag = np.choose(I % 3, [np.ones(32), 31 - I, np.full(32, 3)])
    return y, other * 1.5 + tag


@program("shared")
def generic(k):
    x, y = integers(-99, 99).astype("f4"), np.zeros(32, "f4")
    k(1, 32, (x, y))
    return y, 2 * x.sum() + 6 + I


@program("shared")
def votes(k):
    x, y = integers(0, 99, 64), np.zeros(64, "i4")
    k(1, 64, (x, y))
    return y, np.full(64, (x > 50).sum() + 1000 * (x > 98).any() + 10000)


@program("shared")
def pointed(k):
    x, y = integers(0, 99), integers(0, 99)
    was = y.copy()
    k(1, 32, (x, y))
    other = I ^ 1
    return y, np.where(other & 1, x[31 - other], was[other])


# --- warps.cu


@program("warps")
def shuffles(k):
    x, y, z = integers(0, 99), np.zeros(32, "i4"), np.zeros(32)
    k(1, 32, (x, y, z))
    up = np.where(I >= 3, x[I - 3], x)
    down = np.where(I % 8 + 5 < 8, x[np.minimum(I + 5, 31)], x)
    made = up + 3 * down + 5 * x[x & 31] + 7 * x[I ^ 9]
    return (y, z), (made, x[I ^ 1] * 0.5 + (x[I & 16 | 4].astype("f8") * 2.0**33))


@program("warps")
def matches(k):
    x, y = integers(0, 99), np.zeros(32, "u4")
    k(1, 32, (x, y))
    same = [sum(1 << n for n in range(32) if x[n] & 7 == v & 7) for v in x]
    return y, np.array(same, "u4") ^ np.uint32(0xFFFFFFFF) ^ np.uint32(1)


@program("warps")
def divergent(k):
    x, y = integers(0, 99), np.zeros(32, "u4")
    k(1, 32, (x, y))
    odd, two = x & 1 == 1, (x & 1 == 0) & (x & 2 == 2)
    ballot = sum(1 << int(n) for n in I[odd & (x > 50)])
    first = I[two].min() + 1
    made = np.where(odd, ballot + odd.sum(), np.where(two, x[two].sum() * 1000 + first, 0))
    return y, made + (1 << 30) & 0xFFFFFFFF


@program("warps")
def compacted(k):
    x, y, count = integers(0, 99), np.zeros(32, "i4"), np.zeros(1, "i4")
    k(1, 32, (x, y, count))
    kept = x[x > 30]
    return (y, count), (np.pad(kept, (0, 32 - len(kept))), [len(kept)])


@program("warps")
def reduces(k):
    x, y = integers(0, 2**31 - 1, dtype="u4"), np.zeros(32, "u4")
    k(1, 32, (x, y))
    parts = x.max(), x.min(), *(f.reduce(x) for f in (np.bitwise_xor, np.bitwise_or))
    ends = [*map(int, parts), int(np.bitwise_and.reduce(x | 5))]
    total = sum(a * b for a, b in zip(ends, (1, 3, 5, 7, 11), strict=True))
    return y, np.full(32, total & 0xFFFFFFFF)


@program("warps")
def many_atomics(k):
    i, u = np.zeros(8, "i4"), np.array([255, 0, 0, 0, 0], "u4")
    l, f, d = np.zeros(2, "u8"), np.zeros(2, "f4"), np.zeros(1)
    k(1, 64, (i, u, l, f, d))
    total = sum(range(64))
    ints = [total, -total, -9, 54, 64, 128, 99, 7]
    words = [255 & ~63, 63, np.bitwise_xor.reduce(J * 77), 64 % 10, 0]
    words[4] = _decremented(64)
    return (i, u, l, f, d), (ints, words, [total << 40, 63 << 33], [total / 2, 2.5], [total / 4])


def _decremented(count: int) -> int:
    value = 0
    for _ in range(count):
        value = 9 if value == 0 or value > 9 else value - 1
    return value


@program("warps")
def most(k):
    x, y = np.array([-5.0]), floats(32).astype("f8")
    k(1, 32, (x, y))
    return x, [max(-5.0, y.max())]


@program("warps")
def short_cas(k):
    x = np.array([3, 77], "u2")
    k(1, 32, (x,))
    return x, [3 + sum(range(32)), 77]


@program("warps")
def listed(k):
    heads, next_, key = np.full(5, -1, "i4"), np.zeros(128, "i4"), integers(0, 5, 128)
    k(2, 64, (heads, next_, key))
    found = []
    for head in range(5):
        seen, at = [], int(heads[head])
        while at >= 0 and len(seen) < 200:
            seen.append(at)
            at = int(next_[at])
        found.append(sorted(seen))
    return np.array([*map(len, found)]), [np.array_equal(f, np.flatnonzero(key == n)) * len(f)
                                          for n, f in enumerate(found)]  # fmt: skip


@program("warps")
def ticketed(k):
    tickets, x = np.zeros(1, "u4"), integers(0, 99, 6 * 64)
    partial, total = np.zeros(6, "i4"), np.zeros(1, "i4")
    k(6, 32, (tickets, x, partial, total))
    return (partial, total), (x.reshape(6, 64).sum(1), [x.sum()])


@program("warps")
def mutex(k):
    lock, total = np.zeros(1, "i4"), np.zeros(1, "i4")
    k(2, 32, (lock, total))
    return (lock, total), ([0], [2 * sum(range(32))])


@program("warps")
def spun(k):
    lock, total = np.zeros(1, "i4"), np.zeros(1, "i4")
    k(3, 1, (lock, total))
    return (lock, total), ([0], [3])


# --- groups.cu


@program("groups")
def tiles(k):
    x, y = integers(0, 99, 64), np.zeros(64, "i4")
    k(1, 64, (x, y))
    rows = x.reshape(8, 8)
    ballot = ((rows & 1) << np.arange(8)).sum(1)
    want = rows.sum(1) * 10 + 100000 * np.arange(8) + (rows > 90).any(1) + (ballot << 8)
    return y, np.repeat(want, 8) + J % 8


@program("groups")
def tile_reduce(k):
    x, y, z = integers(0, 99, 64), np.zeros(64, "i4"), np.zeros(64, "f4")
    k(1, 64, (x, y, z))
    rows = x.reshape(4, 16)
    return (y, z), (np.repeat(rows.sum(1) - rows.min(1), 16), np.repeat(rows.max(1), 16))


@program("groups")
def tile_scan(k):
    x, y, z = integers(0, 99, 64), np.zeros(64, "i4"), np.zeros(64, "i4")
    k(1, 64, (x, y, z))
    rows = x.reshape(2, 32)
    xors = np.bitwise_xor.accumulate(rows, 1) ^ rows
    return (y, z), (np.cumsum(rows, 1).ravel(), xors.ravel())


@program("groups")
def coalesced(k):
    x, count, where = integers(0, 99, 64), np.zeros(1, "i4"), np.full(64, -1, "i4")
    k(1, 64, (x, count, where))
    chosen = x % 3 == 0
    placed = np.sort(where[chosen])
    return (count, where < 0, placed), ([chosen.sum()], ~chosen, np.arange(chosen.sum()))


@program("groups")
def block_sync(k):
    x, y = integers(0, 99, 64), np.zeros(64, "i4")
    k(1, 64, (x, y))
    return y, x[::-1] + 64


@program("groups")
def labelled(k):
    x, y = integers(0, 99), np.zeros(32, "i4")
    k(1, 32, (x, y))
    label = x & 3
    return y, [(label == v).sum() * 100 + (label[:n] == v).sum() for n, v in enumerate(label)]


@program("groups")
def binary(k):
    x, y = integers(0, 99), np.zeros(32, "i4")
    k(1, 32, (x, y))
    return y, np.where(x > 50, x[x > 50].sum(), x[x <= 50].sum())


@program("groups")
def grid_sync(k):
    x, y = np.zeros(64, "i4"), np.zeros(64, "i4")
    k(1, 64, (x, y))  # devices without a wait of blocks for each other have it in one block
    return y, 3 * J[::-1]


@program("groups")
def large_tile(k):
    x, y = integers(0, 99, 128), np.zeros(128, "i4")
    k(1, 128, (x, y))
    return y, np.repeat(x.reshape(2, 64).sum(1), 64)


# --- atomic_classes.cu


@program("atomic_classes")
def atomic_class(k):
    x, y = np.zeros(1, "i4"), np.zeros(32, "i4")
    k(1, 32, (x, y))
    return (x, y), ([496], [496, *np.ones(31)])


@program("atomic_classes")
def exchanged(k):
    x, y = np.zeros(1, "i4"), integers(0, 999)
    k(1, 32, (x, y))
    return x, [y.max()]


@program("atomic_classes")
def barrier_class(k):
    x, y = integers(0, 99, 64), np.zeros(64, "i4")
    k(1, 64, (x, y))
    return y, x[::-1]


@program("atomic_classes")
def pipelined(k):
    x, y = integers(0, 99, 64), np.zeros(64, "i4")
    k(1, 64, (x, y))
    return y, x[::-1]
