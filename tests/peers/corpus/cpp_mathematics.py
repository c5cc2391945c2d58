"""Kernels of ``cuda/mathematics.cu`` and ``halves.cu`` against numpy and Python's integers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from tests.peers.corpus.cpp_language import I, floats, integers
from tests.peers.corpus.programs import Program, collector
from tests.peers.corpus.triton_programs import halved, widened

PROGRAMS: list[Program] = []
program = collector(PROGRAMS)
RNG = np.random.default_rng(13)


def positive(dtype: str) -> np.ndarray:
    return (RNG.random(32) * 3 + 0.05).astype(dtype)


def each(function: Callable[[float], float], values: np.ndarray) -> np.ndarray:
    return np.array([function(v) for v in values])


# --- mathematics.cu


def _first(v: np.ndarray, last: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    made = [np.sin(v), np.cos(v), np.tan(v), np.exp(v), np.log(v), np.sqrt(v), np.arctan(v)]
    made += [np.sinh(v), np.cbrt(v), each(math.erf, v), last(v), np.tanh(v)]
    return np.stack(made, 1)


def _second(v: np.ndarray, w: np.ndarray, last: np.ndarray, scaled: np.ndarray) -> np.ndarray:
    made = [v**w, np.arctan2(v, -w), np.hypot(v, w), np.fmod(scaled, w)]
    made += [each(math.lgamma, v + 1), np.log1p(v), np.expm1(v), np.arccosh(v + 1)]
    return np.stack([*made, 1 / np.sqrt(v), np.rint(v * 3), v * 32, last], 1)


@program("mathematics")
def floats_1(k):
    x, y = positive("f4"), np.zeros((32, 12), "f4")
    k(1, 32, (x, y))
    return y, _first(x.astype("f8"), lambda v: 10**v), 1e-6


@program("mathematics")
def floats_2(k):
    x, y = positive("f4"), np.zeros((32, 12), "f4")
    k(1, 32, (x, y))
    v = x.astype("f8")
    w = (x * np.float32(0.3) + np.float32(1)).astype("f8")
    last = np.maximum(v - w, 0) + np.maximum(v, w) - v
    return y, _second(v, w, last, x * np.float32(7)), 2e-6


@program("mathematics")
def doubles_1(k):
    x, y = positive("f8"), np.zeros((32, 12))
    k(1, 32, (x, y))
    return y, _first(x, np.arcsinh), 4e-15


@program("mathematics")
def doubles_2(k):
    x, y = positive("f8"), np.zeros((32, 12))
    k(1, 32, (x, y))
    w = x * 0.3 + 1
    last = np.array([math.remainder(a, b) for a, b in zip(x * 9, w, strict=True)])
    return y, _second(x, w, last, x * 7), 4e-15


@program("mathematics")
def large_angles(k):
    x, y, z, w = positive("f4"), np.zeros(32, "f4"), positive("f8"), np.zeros(32)
    k(1, 32, (x, y, z, w))
    angle = (x * np.float32(1e6)).astype("f8")
    near = np.abs(y - np.sin(angle)) < 1e-6, np.abs(w - np.cos(z * 1e9)) < 1e-15
    return near, (np.ones(32, bool), np.ones(32, bool))


def directed(exact: Fraction, how: str, dtype: str) -> float:
    """A rational number rounded down, up or toward 0."""
    kind = np.dtype(dtype).type
    near = kind(float(exact)) if dtype == "f8" else kind(exact.numerator / exact.denominator)
    below, above = near, near
    while Fraction(float(below)) > exact:
        below = np.nextafter(below, kind(-np.inf))
    while Fraction(float(above)) < exact:
        above = np.nextafter(above, kind(np.inf))
    if Fraction(float(np.nextafter(above, kind(-np.inf)))) >= exact:
        above = np.nextafter(above, kind(-np.inf))
    if Fraction(float(np.nextafter(below, kind(np.inf)))) <= exact:
        below = np.nextafter(below, kind(np.inf))
    down = {"d": True, "u": False, "z": exact >= 0}[how]
    return float(below if down else above)


def directed_root(value: float, how: str, dtype: str) -> float:
    kind = np.dtype(dtype).type
    root = kind(math.sqrt(value))
    exact = Fraction(value)
    while Fraction(float(root)) ** 2 > exact:
        root = np.nextafter(root, kind(0))
    while Fraction(float(np.nextafter(root, kind(np.inf)))) ** 2 <= exact:
        root = np.nextafter(root, kind(np.inf))
    if how == "u" and Fraction(float(root)) ** 2 < exact:
        root = np.nextafter(root, kind(np.inf))
    return float(root)


@program("mathematics")
def rounded(k):
    x, y = positive("f4"), np.zeros((32, 10), "f4")
    k(1, 32, (x, y))
    w, rows = Fraction(float(np.float32(1.7))), []
    for value in x:
        v = Fraction(float(value))
        row = [directed(v + w, "z", "f4"), directed(v + w, "u", "f4"), directed(v * w, "d", "f4")]
        row += [directed(v * w + v, "z", "f4"), directed(v / w, "u", "f4")]
        row += [directed_root(float(v), "d", "f4"), directed(1 / v, "z", "f4")]
        rows.append([*row, directed(v - w, "d", "f4")])
    near = np.abs(y[:, 8] - x / np.float32(1.7)) < 1e-6
    return (y[:, :8], near, y[:, 9]), (rows, np.ones(32, bool), np.clip(x - np.float32(1), 0, 1))


@program("mathematics")
def rounded_doubles(k):
    x, y = positive("f8"), np.zeros((32, 6))
    k(1, 32, (x, y))
    w, rows = Fraction(1.7), []
    for value in x:
        v = Fraction(value)
        row = [
            directed(v + w, "z", "f8"),
            directed(v * w, "u", "f8"),
            directed(v * w + v, "d", "f8"),
        ]
        row += [directed(v / w, "z", "f8"), directed_root(value, "u", "f8")]
        rows.append([*row, directed(1 / v, "d", "f8")])
    return y, rows


@program("mathematics")
def rough(k):
    x, y = positive("f4"), np.zeros((32, 6), "f4")
    k(1, 32, (x, y))
    v = x.astype("f8")
    return y, np.stack([np.sin(v), np.cos(v), np.exp(v), np.log(v), v**1.5, np.log2(v)], 1), 3e-6


def _word(value: float) -> int:
    return int(np.array(value, "f4").view("i4"))


def _long(value: float) -> int:
    return int(np.array(value, "f8").view("i8"))


@program("mathematics")
def conversions(k):
    x, z = floats() * 100, RNG.standard_normal(32) * 1000
    y, w = np.zeros(32, "i4"), np.zeros(32, "i8")
    k(1, 32, (x, z, y, w))
    ints, longs = [], []
    for i, (a, b) in enumerate(zip(map(float, x), map(float, z), strict=True)):
        made = (
            round(a) + 3 * math.ceil(a) + 5 * math.floor(a) + 7 * int(a) + round(b) + round(abs(a))
        )
        ints.append(made + _word(directed(Fraction(i * 16777217), "z", "f4")))
        low, high = _long(b) & 0xFFFFFFFF, _long(b) >> 32
        low -= (low >> 31) << 32
        wide = math.ceil(b * 1e10) + int(a) + low + high
        longs.append(wide + _long(directed(Fraction(123456789012345678 * i), "d", "f8")))
    return (y, w), ([_signed(v) for v in ints], [_signed(v, 64) for v in longs])


@program("mathematics")
def words(k):
    x, y = RNG.integers(0, 2**32, 32).astype("u4"), np.zeros(32, "u4")
    k(1, 32, (x, y))
    return y, [_words(int(x[i]), int(x[(i + 1) % 32]), i) & 0xFFFFFFFF for i in range(32)]


def _signed(v: int, bits: int = 32) -> int:
    return (v + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _words(v: int, u: int, i: int) -> int:
    s, t = _signed(v), _signed(u)
    made = v.bit_count() + 32 - v.bit_length() + (v & -v).bit_length()
    made += int(f"{v:032b}"[::-1], 2) >> 3
    both = v | u << 32
    made += sum((both >> 8 * (0x3715 >> 4 * n & 7) & 255) << 8 * n for n in range(4))
    made += v * u >> 32
    made += _signed(v & 0xFFFFFF, 24) * _signed(u & 0xFFFFFF, 24)
    made += abs(s - t) + 5
    made += both << 7 >> 32 & 0xFFFFFFFF
    made += both >> min(i, 32) & 0xFFFFFFFF
    made += (s + t >> 1) + (s + t + 1 >> 1)
    lanes = [(v >> 8 * n & 255, u >> 8 * n & 255) for n in range(4)]
    made += sum(_signed(a, 8) * _signed(b, 8) for a, b in lanes) + 9
    made += abs(v - u) + 1
    made += sum((a + b & 255) << 8 * n for n, (a, b) in enumerate(lanes))
    made += sum(abs(a - b) << 8 * n for n, (a, b) in enumerate(lanes))
    shorts = [(_signed(v >> n, 16), _signed(u >> n, 16)) for n in (0, 16)]
    made += sum((max(a, b) & 0xFFFF) << 16 * n for n, (a, b) in enumerate(shorts))
    made += sum((255 if a > b else 0) << 8 * n for n, (a, b) in enumerate(lanes))
    return made + sum(abs(a - b) for a, b in lanes)


@program("mathematics")
def quotients(k):
    x, y = integers(-(2**31), 2**31 - 1), np.zeros(32, "i4")
    z, w = RNG.integers(-(2**63), 2**63 - 1, 32), np.zeros(32, "i8")
    k(1, 32, (x, y, z, w))
    ints, longs = [], []
    for i, (a, b) in enumerate(zip(map(int, x), map(int, z), strict=True)):
        d = i - 16 | 1
        made = _div(a, d) + (a - _div(a, d) * d) * 7 + (a & 0xFFFFFFFF) // (d & 255)
        ints.append(_signed(made + _div(a, 10) + a - _div(a, 1000) * 1000))
        wide = _div(b, d) + (b - _div(b, d) * d) * 7 + (b & 2**64 - 1) // 12345
        longs.append(_signed(wide + b - _div(b, 100003) * 100003, 64))
    return (y, w), (ints, longs)


def _div(a: int, b: int) -> int:
    made = abs(a) // abs(b)
    return made if (a < 0) == (b < 0) else -made


# --- halves.cu


@program("halves")
def pairs(k):
    x, y = (floats(32, 2).astype("f2") for _ in range(2))
    z = np.zeros((32, 2), "f2")
    k(1, 32, (x, y, z))
    a, b = x.astype("f8"), y.astype("f8")
    v = (a * b + 0.5).astype("f2").astype("f8")
    fused, parted = (v + a * a).astype("f2"), (v + (a * a).astype("f2")).astype("f2")
    least = np.minimum(x, y)
    wanted = [(np.maximum(each, y).astype("f8") - least).astype("f2") for each in (fused, parted)]
    return z, np.where(z == wanted[0], *wanted)


@program("halves")
def brains(k):
    x, y, z = halved(floats()), np.zeros(32, "u2"), np.zeros(32, "f4")
    k(1, 32, (x, y, z))
    v = widened(x)
    twice = widened(halved(v + v))
    return (y, z), (halved((v.astype("f8") ** 2 + 1).astype("f4")), twice - v + (v > 0))


@program("halves")
def brain_pairs(k):
    x, y = halved(floats(32, 2)), np.zeros((32, 2), "u2")
    k(1, 32, (x, y))
    v = widened(x)
    return y, halved(widened(halved(v + v[::-1])) * np.abs(v))


@program("halves")
def half_functions(k):
    x, y = positive("f2"), np.zeros(32, "f4")
    k(1, 32, (x, y))
    v = x.astype("f8")
    parts = np.exp(v), np.log(v), np.sqrt(v), 1 / v, np.floor(v), np.sin(v), np.ceil(v), np.rint(v)
    want = sum(part.astype("f2").astype("f4") for part in (*parts, np.trunc(v)))
    return y, want, 2e-3


@program("halves")
def half_integers(k):
    x, n = (floats() * 9).astype("f2"), integers(-3000, 3000)
    y, z = np.zeros(32, "i4"), np.zeros(32, "f2")
    k(1, 32, (x, n, y, z))
    v = x.astype("f8")
    ints = 2 * np.rint(v) + np.trunc(v) + np.ceil(v) + np.trunc(np.abs(v))
    return (y, z), (ints, (n.astype("f2").astype("f4") + (n & 255)).astype("f2"))


@program("halves")
def half_order(k):
    x, y, z = floats().astype("f2"), floats().astype("f2"), np.zeros(32, "i4")
    x[3], y[5], x[7], y[9] = np.nan, np.nan, y[7], x[9]
    k(1, 32, (x, y, z))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        most = np.fmax(x, y)
    want = (x < y) + 2 * (x >= y) + 4 * np.isnan(x) + 8 * (x == y) + 16 * (x == y)
    return z, want + 32 * (most > y)


@program("halves")
def half_sum(k):
    x, total = integers(-9, 9, 200).astype("f2"), np.zeros(1, "f4")
    k(1, 32, (x, total, 200))
    return total, [x.sum()]


@program("halves")
def half_atomics(k):
    x, y = np.zeros(4, "f2"), np.zeros((2, 2), "f2")
    k(1, 32, (x, y))
    return (x, y), (np.full(4, 4.0), [[16, 4], [16, 4]])


@program("halves")
def half_shuffles(k):
    x, y = floats().astype("f2"), np.zeros(32, "f2")
    k(1, 32, (x, y))
    return y, (x[I ^ 3].astype("f4") + x).astype("f2")
