"""Kernels of ``cuda/language.cu``, ``templates.cu`` and ``instructions.cu`` against numpy."""

from __future__ import annotations

import math

import numpy as np
from tests.peers.corpus.programs import Program, collector

PROGRAMS: list[Program] = []
program = collector(PROGRAMS)
RNG = np.random.default_rng(11)
I = np.arange(32)


def integers(low: int, high: int, *shape: int, dtype: str = "i4") -> np.ndarray:
    return RNG.integers(low, high, shape or (32,)).astype(dtype)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape or (32,)).astype(np.float32)


# --- language.cu


@program("language")
def constants(k):
    x, y = integers(-99, 99), np.zeros(32, "f4")
    k(1, 32, (x, y))
    scale, letters = np.array([1, -2, 3, 7]), np.frombuffer(b"gridlane", np.uint8)
    want = (x * scale[I & 3]).astype("f4") + np.float32(0.5) + letters[I % 8]
    return y, want + np.array([0.1, 0.2, 0.3], "f4")[I % 3], 1e-6


@program("language")
def counted(k):
    y = np.zeros(32, "i4")
    k(1, 32, (y,))
    return y, [37, *np.ones(31)]


@program("language")
def shifted_weights(k):
    y = np.zeros(32, "f4")
    k(1, 32, (y,))
    return y, np.array([1, 2, 4, 8])[I & 3]


@program("language")
def virtuals(k):
    x, y = floats(), np.zeros(32, "f4")
    k(1, 32, (x, y))
    return y, np.where(I & 1, 3 * x * x, x * x), 1e-6


@program("language")
def pointers(k):
    x, y = integers(-99, 99), np.zeros(32, "i4")
    k(1, 32, (x, y))
    return y, np.choose(I % 3, [x + I, x * I, x - I])


@program("language")
def pointer_arguments(k):
    x, y = integers(-99, 99), np.zeros(32, "i4")
    k(1, 32, (x, y))
    return y, np.where(I & 1, x + I, x * I)


@program("language")
def recursive(k):
    y = np.zeros(32, "i4")
    k(1, 32, (y,))
    row = [0, 1]
    while len(row) < 12:
        row.append(row[-1] + row[-2])
    return y, np.array(row)[I % 12]


@program("language")
def printing(k):
    x, y = integers(-99, 99), np.zeros(32, "i4")
    k(1, 32, (x, y))
    return y, x


@program("language")
def asserting(k):
    x, y = integers(0, 99), np.zeros(32, "i4")
    k(1, 32, (x, y))
    return y, x + 1


def _rest(v: int, i: int) -> int:
    return int(math.fmod(v, 7))


@program("language")
def switched(k):
    x, y = integers(-500, 500, 64), np.zeros(64, "i4")
    k(1, 64, (x, y))
    cases = {
        0: lambda v, i: v * 3, 1: lambda v, i: v ^ 77, 2: lambda v, i: v + i,
        3: lambda v, i: v - i, 4: lambda v, i: v << 3, 5: lambda v, i: v >> 1,
        6: lambda v, i: ~v, 7: _rest, 8: _rest,
        9: lambda v, i: int(v / 3), 10: lambda v, i: i,
    }  # fmt: skip
    return y, [cases.get(v & 15, lambda v, i: 0)(v, i) for i, v in enumerate(map(int, x))]


@program("language")
def jumps(k):
    x, y = integers(1, 500), np.zeros(32, "i4")
    k(1, 32, (x, y))
    want = []
    for v in map(int, x):
        steps = 0
        while True:
            if v & 1:
                v, steps = v * 3 + 1, steps + 10
                if steps < 100:
                    continue
                break
            v, steps = v >> 1, steps + 1
            if v <= 40:
                break
        want.append(v + steps)
    return y, want


@program("language")
def unions(k):
    x, y = floats(), np.zeros(32, "u4")
    k(1, 32, (x, y))
    word = x.view(np.uint8).reshape(32, 4).copy()
    word[I, I & 3] ^= 0x5A
    bits = word.view(np.uint32)[:, 0]
    return y, (bits & 31) | ((bits >> 5) + 3 & 2047) << 5 | bits >> 16 << 16


PAIR = np.dtype([("key", "i2"), ("value", "f8"), ("more", "f4", 3)], align=True)


@program("language")
def pairs_by_value(k):
    y = np.zeros(32, PAIR)
    k(1, 32, (np.array((7, 1.25, (1, 2, 3)), PAIR)[()], y))
    more = np.tile(np.array([1, 2, 3], "f4"), (32, 1))
    more[I, I % 3] = 7 + I
    return (y["key"], y["value"], y["more"]), (7 + I, np.full(32, 2.5), more)


@program("language")
def parameter_arrays(k):
    y = np.zeros(32, "f4")
    k(1, 32, (np.array((7, 1.25, (1, 2, 3)), PAIR)[()], np.int32(1), y))
    return y, (I + 1) % 3 + 1


@program("language")
def stack(k):
    x, y = integers(0, 99), np.zeros(32, "i4")
    k(1, 32, (x, y, 32))
    want = []
    for i in range(32):
        s: list[int] = []
        for v in np.roll(x, -i):
            while s and s[-1] > v:
                s.pop()
            s.append(int(v))
        total = 0
        for v in s:
            total = total * 3 + v
        want.append(np.int64(total).astype("i4"))
    return y, want


@program("language")
def allocated(k):
    y = np.zeros(32, "i4")
    k(1, 32, (y, 9))
    return y, I * 36


@program("language")
def references(k):
    x, y = integers(0, 99), integers(0, 99)
    was, then = x.copy(), y.copy()
    k(1, 32, (x, y, 20))
    return (x, y), (was, np.where(I < 20, then + was, then))


@program("language")
def clocks(k):
    y = np.zeros(32, "i8")
    k(1, 32, (y,))
    return y, np.ones(32)


@program("language")
def grids(k):
    y = np.zeros((12, 24), "i4")
    k((2, 3, 2), (4, 3, 2), (y,))
    return y, np.arange(12)[:, None] * 1000 + np.arange(24)


# --- templates.cu


def _reduced(kernel: str, dtype: str, block: int, want) -> None:
    @program("templates", kernel, kernel)
    def run(k):
        x, y = integers(-50, 99, 1000).astype(dtype), np.zeros(3, dtype)
        k(3, block, (x, y, 1000))
        mine = [x[np.arange(1000) // block % 3 == b] for b in range(3)]
        return y, [want(each) for each in mine]


_reduced("reduced<float, 128, Sum>", "f4", 128, np.sum)
_reduced("reduced<int, 64, Most>", "i4", 64, np.max)
_reduced("reduced<double, 32, Sum>", "f8", 32, np.sum)


def _bitonic(kernel: str, dtype: str, block: int) -> None:
    @program("templates", kernel, kernel)
    def run(k):
        x = integers(-999, 999, 2, block).astype(dtype)
        want = np.sort(x, 1)
        k(2, block, (x,))
        return x, want


_bitonic("bitonic<float, 128>", "f4", 128)
_bitonic("bitonic<long long, 64>", "i8", 64)


@program("templates")
def packs(k):
    x, y = integers(-99, 99), np.zeros(32, "i4")
    k(1, 32, (x, y))
    return y, sum((x + n) * a for n, a in enumerate((1, 2, 3, 5, 8)))


@program("templates")
def lambdas(k):
    x, y = floats(100), np.zeros(100, "f4")
    k(1, 32, (x, y, np.float32(1.5), 100))
    return y, 1.5 * x + np.where(np.arange(100) % 3, 0, x * x), 1e-6


@program("templates")
def vectors_of_5(k):
    x, y, dots = floats(32, 5), np.zeros((32, 5), "f4"), np.zeros(32, "f4")
    k(1, 32, (x, y, dots))
    return (y, np.abs(dots - (x * x[::-1]).sum(1)) < 1e-5), (x + x[::-1], np.ones(32, bool))


# --- instructions.cu


@program("instructions")
def carried(k):
    x, y = RNG.integers(0, 2**32, 6).astype("u4"), np.zeros(7, "u4")
    k(1, 1, (x, y))
    a0, a1, a2, b0, b1, b2 = map(int, x)
    total = (a0 | a1 << 32 | a2 << 64) + (b0 | b1 << 32 | b2 << 64)
    less, product = (a0 | a1 << 32) - (b0 | b1 << 32), a0 * b0 + (a1 | b1 << 32)
    words = [total, total >> 32, total >> 64, less, less >> 32, product, product >> 32]
    return y, [word & 0xFFFFFFFF for word in words]


@program("instructions")
def fields(k):
    x, y = RNG.integers(0, 2**32, 32).astype("u4"), np.zeros(32, "u4")
    k(1, 32, (x, y))
    want = []
    for v in map(int, x):
        a, b = v >> 5 & 511, (v >> 3 & 63) - (64 if v >> 8 & 1 else 0)
        low, c = v >> 3, v >> 3
        c = (c & ~(0xFFF << 7)) | (v & 0xFFF) << 7
        both = v | (~v & 0xFFFFFFFF) << 32
        d = 0
        for n, pick in enumerate((1, 4, 3, 9)):
            byte = both >> 8 * (pick & 7) & 255
            d |= (255 * (byte >> 7) if pick & 8 else byte) << 8 * n
        p, q, r = v, v * 7 & 0xFFFFFFFF, v >> 9
        e = 0
        for bit in range(8):
            if 0xB8 >> bit & 1:
                e |= (p if bit & 4 else ~p) & (q if bit & 2 else ~q) & (r if bit & 1 else ~r)
        start, width = v & 31, v >> 27
        f = ((1 << width) - 1) << start & 0xFFFFFFFF
        size = v & 15
        g = v & (1 << size) - 1 if size else 0
        if size and g >> size - 1 & 1:
            g -= 1 << size
        want.append(
            a + 3 * b + 5 * c + 7 * d + 11 * (e & 0xFFFFFFFF) + 13 * f + 17 * g & 0xFFFFFFFF
        )
    return y, want


@program("instructions")
def guarded(k):
    x, y = integers(0, 99), np.zeros(32, "i4")
    k(1, 32, (x, y))
    return y, np.where(x > 50, (x + 1000) << 1, -1)


@program("instructions")
def loads(k):
    x, y = floats(32, 4), np.zeros((32, 4), "f4")
    k(1, 32, (x, y))
    return y, x[:, ::-1]


@program("instructions")
def registers(k):
    y = np.zeros(64, "u4")
    k(1, 64, (y,), shared_mem=256)
    i = np.arange(64)
    return y, i % 32 + ((1 << i % 32) - 1) * 3 + i // 32 * 1000 + 256 * 7 & 0xFFFFFFFF


@program("instructions")
def shared_address(k):
    x, y = integers(0, 99), np.zeros(32, "i4")
    k(1, 32, (x, y))
    return y, x[I ^ 1]


@program("instructions")
def wide_products(k):
    x, y = RNG.integers(0, 2**63, 32).astype("u8"), np.zeros(32, "u8")
    k(1, 32, (x, y))
    want = []
    for v in map(int, x):
        high = v * (~v & 2**64 - 1) >> 64
        want.append(high ^ (v * v + high & 2**64 - 1))
    return y, np.array(want, "u8")


@program("instructions")
def ordered(k):
    x, y = np.zeros(1, "i4"), np.zeros(32, "i4")
    k(1, 32, (x, y))
    return (x, y[1:]), ([sum(range(32))], np.ones(31))


@program("instructions")
def named_barriers(k):
    x, y = integers(0, 99, 64), np.zeros(64, "i4")
    k(1, 64, (x, y))
    return y, [*x[31 - I], *x[32 + (I ^ 1)]]


@program("instructions")
def packed(k):
    x, y = floats(), np.zeros(32, "u4")
    k(1, 32, (x, y))
    half = x.astype("f2").view("u2").astype("u4")
    word = x.view("u4")
    brain = word + 0x7FFF + (word >> 16 & 1) >> 16
    both = half ^ brain
    return y, both << 16 | both[::-1]


@program("instructions")
def copied(k):
    x, y = integers(0, 99, 32, 4), np.zeros((32, 4), "i4")
    k(1, 32, (x, y))
    return y, x[::-1]


@program("instructions")
def constant_terms(k):
    y = np.zeros(32, "i4")
    k(1, 32, (y,))
    return y, np.full(32, 92)
