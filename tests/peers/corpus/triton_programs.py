"""Triton's kernels of ``make_triton.py`` against numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.peers.corpus.programs import Program, Run

PROGRAMS: list[Program] = []
RNG = np.random.default_rng(5)
F32 = 2e-6


def program(run: Run) -> Run:
    PROGRAMS.append(Program("triton", run.__name__, run, run.__name__))
    return run


def with_scratch(meta: dict[str, Any], kernel: Any) -> Callable[..., None]:
    """What launches a kernel: its text knows the threads and the shared memory, and addresses of
    scratch memory follow the arguments."""
    count = len(kernel._kernel.source.parameters)

    def launch(grid: Any, *args: Any) -> None:
        spare = (0,) * (count - len(args))
        kernel(grid, meta["block"], (*args, *spare), shared_mem=meta["shared"])

    return launch


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def halved(values: np.ndarray, bits: int = 16) -> np.ndarray:
    """float32 as the bits of bfloat16, rounded to nearest even."""
    word = values.astype(np.float32).view(np.uint32)
    return ((word + 0x7FFF + (word >> 16 & 1)) >> 16).astype(np.uint16)


def widened(halves: np.ndarray) -> np.ndarray:
    return (halves.astype(np.uint32) << 16).view(np.float32)


@program
def add(k):
    x, y, o = floats(1000), floats(1000), np.zeros(1000, np.float32)
    k(4, x, y, o, 1000)
    return o, x + y


@program
def wide_copy(k):
    x, o = floats(3008), np.zeros(3008, np.float32)
    k(3, x, o, 3008)
    return o, x * 2


@program
def softmax(k):
    x, o = floats(5, 100), np.zeros((5, 100), np.float32)
    k(5, x, o, 100)
    e = np.exp(x - x.max(1, keepdims=True))
    return o, e / e.sum(1, keepdims=True), F32


@program
def layer_norm(k):
    x, w, b, o = floats(4, 200), floats(200), floats(200), np.zeros((4, 200), np.float32)
    k(4, x, w, b, o, 200, np.float32(1e-5))
    d = x - x.mean(1, keepdims=True)
    return o, d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b, 1e-5


@program
def matmul(k):
    a, b, c = floats(50, 40), floats(40, 45), np.zeros((50, 45), np.float32)
    k((2, 2), a, b, c, 50, 45, 40)
    return c, a @ b, 1e-5


def _squares(name: str, m: int, n: int, read: Callable[..., np.ndarray], near: float) -> None:
    def run(k):
        a, b, c = floats(m, 64) / 4, floats(64, n) / 4, np.zeros((m, n), np.float32)
        (x, left), (y, right) = read(a), read(b)
        k(1, x, y, c, 64)
        return c, left.astype(np.float64) @ right.astype(np.float64), near

    PROGRAMS.append(Program("triton", name, run, name))


def _half(values):
    made = values.astype(np.float16)
    return made, made


def _bf16(values):
    made = halved(values)
    return made, widened(made)


_squares("matmul_half", 32, 32, _half, 1e-5)
_squares("matmul_bf16", 64, 32, _bf16, 1e-5)
_squares("matmul_tf32", 64, 64, lambda values: (values, values), 3e-3)
_squares("matmul_pipelined", 32, 32, lambda values: (values, values), 1e-5)


@program
def reductions(k):
    x = floats(16, 64)
    most, where, total = np.zeros(16, "f4"), np.zeros(16, "i4"), np.zeros(64, "f4")
    k(1, x, most, where, total)
    near = np.abs(total - x.sum(0)) < 1e-5
    return (most, where, near), (x.max(1), x.argmin(1), np.ones(64, bool))


@program
def scans(k):
    x = RNG.integers(-50, 50, 128).astype(np.int32)
    sums, products, folded = (np.zeros_like(x) for _ in range(3))
    k(1, x, sums, products, folded)
    want = np.cumsum(x), np.cumprod(x | 1, dtype=np.int32), np.bitwise_xor.accumulate(x)
    return (sums, products, folded), want


@program
def atomics(k):
    x = RNG.integers(-9, 9, 300).astype(np.float32)
    at = RNG.integers(2, 20, 300).astype(np.int32)
    total, edges = np.zeros(20, np.float32), np.array([-1, 99, 0], np.int32)
    k(3, x, at, total, edges, 300)
    want = np.bincount(at, x, 20)
    return (total, edges), (want, [at.max(), at.min(), np.bitwise_xor.reduce(at)])


@program
def locked(k):
    lock, total, done = np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(9, np.int32)
    k(9, lock, total, done)
    return (total, done), ([36], np.ones(9))


def philox_words(seed: int, count: int) -> np.ndarray:
    """Philox-4x32-10 of the counters 0 to count - 1, as Salmon et al. 2011 define it."""
    made = []
    for counter in range(count):
        c, k = [counter, 0, 0, 0], [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
        for _ in range(10):
            first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [second >> 32 ^ c[1] ^ k[0], second & 0xFFFFFFFF,
                 first >> 32 ^ c[3] ^ k[1], first & 0xFFFFFFFF]  # fmt: skip
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        made.append(c)
    return np.array(made, np.uint32)


@program
def philox(k):
    a, b = np.zeros(64, np.int32), np.zeros(64, np.int32)
    k(1, a, b, 1234)
    words = philox_words(1234, 64).view(np.int32)
    return (a, b), (words[:, 0], words[:, 1])


@program
def dropout(k):
    x, o, draws = floats(400), np.zeros(400, np.float32), np.zeros(400, np.float32)
    k(2, x, o, draws, np.float32(0.25), 77, 400)
    word = philox_words(77, 400).view(np.int32)[:, 0]
    want = np.where(word < 0, -word - 1, word).astype(np.float32) * np.float32(4.6566127342e-10)
    kept = np.where(want > 0.25, x / np.float32(0.75), 0)
    return (draws, np.abs(o - kept) <= 1e-6), (want, np.ones(400, bool))


def _attention(dtype: str, near: float) -> Run:
    def run(k):
        q, key, v = (floats(64, 16).astype(dtype) for _ in range(3))
        o = np.zeros((64, 16), np.float32)
        k(2, q, key, v, o, 64, np.float32(0.25))
        s = q.astype("f4") @ key.astype("f4").T * np.float32(0.25)
        s = np.where(np.tri(64, dtype=bool), s, -np.inf)
        p = np.exp(s - s.max(1, keepdims=True))
        return o, p @ v.astype("f4") / p.sum(1, keepdims=True), near

    return run


PROGRAMS.append(Program("triton", "attention", _attention("f4", 2e-5), "attention"))
PROGRAMS.append(Program("triton", "attention_half", _attention("f2", 2e-3), "attention_half"))


@program
def functions(k):
    x, o = (RNG.random(128) * 4 + 0.1).astype(np.float32), np.zeros(128, np.float32)
    k(1, x, o, 128)
    v = x.astype(np.float64)
    want = np.exp(v) + np.log(v) + np.sin(v) * np.cos(v) + np.exp2(v) + np.log2(v) + np.sqrt(v)
    want += np.array([math.erf(each) for each in v]) + np.floor(v) + np.ceil(v) + v + np.sqrt(v)
    return o, want + v / 3 + 1 / (1 + np.exp(-v)) + v * v + 1, 2e-6


@program
def library(k):
    x, o = (RNG.random(128) * 4 + 0.1).astype(np.float32), np.zeros(128, np.float32)
    k(1, x, o, 128)
    v = x.astype(np.float64)
    want = np.tanh(v) + v ** float(np.float32(1.3)) + np.cbrt(v) + np.arctan2(v, 2) + np.log1p(v)
    return o, want + np.arcsin(v / 8) + np.array([math.lgamma(each + 1) for each in v]), 3e-6


@program
def doubles(k):
    x, o = RNG.random(64) * 4, np.zeros(64)
    k(1, x, o, 64)
    return o, np.exp(x) / (1 + np.sqrt(x)) + np.sin(x) + x.sum(), 1e-14


@program
def halves(k):
    x, o = floats(128).astype(np.float16), np.zeros(128, np.float16)
    y, p = halved(floats(128)), np.zeros(128, np.uint16)
    k(1, x, o, y, p)
    v, w = x.astype(np.float64), widened(y)
    fused = (v * v + v).astype(np.float16)
    parted = (v * v).astype(np.float16) + x
    most = np.maximum(w * 2, -w)
    return (o, p), (np.where(o == fused, fused, parted), halved(most - w))


@program
def conversions(k):
    x = (floats(128) * 20).astype(np.float32)
    h, b, c = np.zeros(128, np.float16), np.zeros(128, np.uint16), np.zeros(128, np.int8)
    o = np.zeros(128, np.float32)
    k(1, x, h, b, c, o)
    half, brain = x.astype(np.float16), halved(x)
    want = widened(brain) + half.astype(np.float32) + np.trunc(x)
    return (h, b, c, o), (half, brain, x.astype(np.int32).astype(np.int8), want)


@program
def floats_of_8_bits(k):
    from ml_dtypes import float8_e5m2

    x, f, o = floats(128) * 50, np.zeros(128, np.uint8), np.zeros(128, np.float32)
    k(1, x, f, o)
    want = x.astype(float8_e5m2)
    return (f, o), (want.view(np.uint8), want.astype(np.float32))


@program
def integers(k):
    x = RNG.integers(-10000, 10000, 128).astype(np.int32)
    y = RNG.integers(0, 2**32 - 1, 128).astype(np.uint32)
    o, w = np.zeros(128, np.int32), np.zeros(128, np.int64)
    k(1, x, y, o, w)
    a, b, i = x.astype(np.int64), y.astype(np.int64), np.arange(128)
    quotient = np.sign(a) * (np.abs(a) // 7)
    rest = np.sign(a) * (np.abs(a) % 11)
    made = quotient + rest + (a << 3) + (a >> 2) + (a & 255) + (a | 3) - (a ^ i) + np.abs(a)
    made += b // 9 + b % 13 + (b >> 5) + np.minimum(a, i) + np.maximum(a, i)
    made += np.where(a > 5, a, -a)
    made += (y.astype(np.uint64) * (y >> 1).astype(np.uint64) >> np.uint64(32)).astype(np.int64)
    return (o, w), (made.astype(np.int32), a * b + np.clip(a, -3, 9))


@program
def transposed(k):
    x, o = floats(32, 32), np.zeros((32, 32), np.float32)
    k(1, x, o)
    return o, x.T


@program
def sorted_(k):
    x = RNG.integers(-500, 500, 128).astype(np.int32)
    o, h = np.zeros(128, np.int32), np.zeros(32, np.int32)
    k(1, x, o, h)
    return (o, h), (np.sort(x), np.bincount(x & 31, minlength=32))


@program
def gathered(k):
    x, at, o = floats(64), RNG.integers(0, 64, 64).astype(np.int32), np.zeros(128, np.float32)
    k(1, x, at, o)
    v = x[at]
    return o, [*v.reshape(32, 2)[:, ::-1].reshape(64), *v[::-1]]


@program
def collatz(k):
    x, o = np.arange(1, 31, dtype=np.int32), np.zeros(30, np.int32)
    k(30, x, o)
    want = []
    for n in range(1, 31):
        steps = 0
        while n > 1:
            n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
        want.append(steps)
    return o, want


@program
def welford(k):
    x, means, variances = floats(3, 128), np.zeros(3, np.float32), np.zeros(3, np.float32)
    k(3, x, means, variances, 128)
    return (means, variances), (x.mean(1), x.var(1)), 1e-6


@program
def matmul_bytes(k):
    a = RNG.integers(-128, 127, (16, 32)).astype(np.int8)
    b = RNG.integers(-128, 127, (32, 16)).astype(np.int8)
    c = np.zeros((16, 16), np.int32)
    k(1, a, b, c)
    return c, a.astype(np.int32) @ b.astype(np.int32)


@program
def printed(k):
    x, o = floats(32), np.zeros(32, np.float32)
    k(1, x, o)
    return o, x + 1


@program
def asserted(k):
    x, o = floats(128), np.zeros(128, np.float32)
    k(1, x, o)
    return o, x + 1


@program
def blurred(k):
    x, o = floats(40, 40), np.zeros((40, 40), np.float32)
    k((2, 3), x, o, 40)
    wide = np.pad(x.astype(np.float64), 1)
    want = sum(wide[y : y + 40, z : z + 40] for y in range(3) for z in range(3)) / 9
    return o, want, 2e-6
