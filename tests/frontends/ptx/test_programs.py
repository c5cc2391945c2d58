"""CUDA C++ by NVRTC and by clang, then by the PTX frontend, on each device, against numpy."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES, WORDS

from gridlane import cuda
from gridlane.core.errors import CompileError
from gridlane.launch import current
from gridlane.launch.devices import get_device

SOURCE = Path(__file__).parent / "programs.cu"
TEMPLATES = "scaled<float, 3>", "scaled<short, -2>"


@cache
def module(backend: str) -> cuda.RawModule:
    """The programs, by a compiler."""
    return cuda.RawModule(path=SOURCE, name_expressions=TEMPLATES, backend=backend)


ALL = ["interp", *DEVICES]
RNG = np.random.default_rng(7)
Program = Callable[[Callable[..., None]], tuple[Any, Any]]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """A program: it launches, and returns what it got and what numpy says."""
    PROGRAMS[function.__name__] = function
    return function


@program
def calls(k):
    x, y = RNG.random(100, np.float32), np.zeros(100, np.float32)
    k(4, 32, (x, y, 100))
    table = np.array([1.5, -2, 3.25, 4], np.float32)
    want = np.zeros_like(y)
    for i in range(100):
        v = x[i]
        for n in range(i % 7):
            v = np.float32(np.float64(v) * 0.5 + np.float64(table[n & 3]))
        want[i] = np.float32(x[i] + v) - np.float32(x[i] * v)
    return y, want


@program
def returned(k):
    """Addresses that functions return are of any memory."""
    x, y = RNG.integers(0, 9, 32).astype(np.int32), np.zeros(32, np.int32)
    k(1, 32, (x, y))
    i = np.arange(32)
    own = np.where(i & 3 == 3, i, i + (i + 1 & 3))
    return y, np.where(x > 3, own + 100 * x + 30000 * (31 - i), 0)


@program
def structs(k):
    x, y = RNG.integers(0, 99, 20).astype(np.float32), np.zeros(20, np.float32)
    there = cuda.to_device(x)
    p = struct.pack("<fi d Q 5b3x", 2.5, 20, -1.25, there.address, 1, -2, 3, -4, 5)
    k(1, 32, (p, y))
    return y, 2.5 * x - 1.25 + np.resize([1, -2, 3, -4, 5], 20)


@program
def switches(k):
    x = RNG.integers(-2, 10, 200).astype(np.int32)
    y = np.zeros_like(x)
    k(7, 32, (x, y, 200))
    known = {0: 7, 1: 14, 2: 13, 3: 3 ^ 0x55, 4: -4, 5: 40, 6: 36, 7: 99}
    return y, np.array([known.get(int(v), -1) for v in x])


@program
def sorted(k):
    x = RNG.integers(0, 1000, 64).astype(np.int32)
    y = np.zeros_like(x)
    k(1, 64, (x, y, 64))
    return y, [np.sort(np.roll(x, -i)[:16])[x[i] & 15] for i in range(64)]


@program
def warps(k):
    x = RNG.integers(0, 8, 64).astype(np.int32)
    y = np.zeros_like(x)
    k(1, 64, (x, y))
    want = []
    for t in range(64):
        lanes = x[t & 32 : (t & 32) + 32]
        others = np.array([lanes[n ^ 5] for n in range(32)])
        any_two = int((others == 2).any())
        total = 0 if t % 32 else lanes.sum()
        want.append(total + others[t % 32] * 3 + (lanes > 3).sum() + any_two + others.sum())
    return y, want


@program
def vectors(k):
    x = RNG.random((50, 4), np.float32)
    y = np.zeros_like(x)
    k(2, 32, (x, y, 50))
    a, b, c, d = x.T
    return y, np.stack([a + b, b, c * d, d], axis=1)


@program
def halves(k):
    x = RNG.random(40).astype(np.float16)
    y = np.zeros_like(x)
    k(1, 64, (x, y, 40))
    exact = x.astype(np.float64) ** 2
    fused = (exact + 1.5).astype(np.float16)
    parted = exact.astype(np.float16) + np.float16(1.5)
    return y, np.where(y == fused, fused, parted)  # the compiler may fuse


@program
def doubles(k):
    x = RNG.random(40) * 10
    y = np.zeros_like(x)
    k(1, 64, (x, y, 40))
    want = np.sqrt(x) + np.sin(x) * np.exp(-x) + x**1.7
    return np.isclose(y, want, rtol=1e-14, atol=0), np.ones(40)


@program
def floats(k):
    x = (RNG.random(40) * 10).astype(np.float32)
    y = np.zeros_like(x)
    k(1, 64, (x, y, 40))
    v = x.astype(np.float64)
    want = np.sqrt(v) + np.sin(v) * np.exp(-v) + v**1.7 + np.log(v) + np.tanh(v) + v / 3
    return np.isclose(y, want, rtol=3e-6, atol=1e-6), np.ones(40)


@program
def wide(k):
    x = RNG.integers(-(2**63), 2**63 - 1, 40)
    y = np.zeros_like(x)
    k(1, 64, (x, y, 40))
    want = []
    for i, v in enumerate(map(int, x)):
        word = v & 2**64 - 1
        quotient, rest = divmod(abs(v), i + 3)[0], abs(v) % (i + 7)
        sign = -1 if v < 0 else 1
        total = sign * quotient + sign * rest + 64 - word.bit_length()
        total += int(f"{word:064b}"[::-1], 2) % 1000 + (word & -word).bit_length()
        total += v >> 24
        want.append((total + 2**63) % 2**64 - 2**63)
    return y, want


@program
def shared(k):
    x = RNG.integers(-1000, 1000, 64).astype(np.int32)
    y = np.zeros_like(x)
    k(1, 64, (x, y), shared_mem=64 * 6)
    return y, x[::-1] + np.roll(x * 2, -1)


@program
def reduced(k):
    x, y = RNG.integers(0, 100, 1000).astype(np.float32), np.zeros(1, np.float32)
    k(3, 128, (x, y, 1000))
    return y, [x.sum()]


@program
def nested(k):
    x = RNG.integers(0, 40, 30).astype(np.int32)
    y = np.zeros(32, np.int32)
    k(1, 32, (x, y, 30))
    return y, [_nested([int(v) for v in x], i) for i in range(32)]


def _nested(x: list[int], i: int) -> int:
    s = 0
    for a in range(len(x)):
        if x[a] == i:
            continue
        for b in range(a, len(x)):
            if x[b] > x[a] + i:
                break
            if (x[b] ^ x[a]) & 1:
                s += x[b]
                if s > 1000:
                    return s
            else:
                s -= 1
    return s


@program
def chosen(k):
    a, b, f = np.zeros(32, np.float32), np.zeros(32, np.float32), np.arange(32) % 3
    k(1, 32, (a, b, f.astype(np.int32)))
    value = f * 2.0 + 1
    return np.stack([a, b]), np.stack([np.where(f, value, 0), np.where(f, 0, value)])


@program
def atomics(k):
    a = np.array([5, 0, 0, 0, 2**32 - 1], np.uint32)
    long, m = np.zeros(1, np.uint64), np.array([3, 5], np.int32)
    k(1, 96, (a, long, m))
    total = sum(range(96))
    want = [5 + total, 2**32 - 1, 96 % 6, 9, 0, total << 33, 12, -95]
    return [*map(int, a), *map(int, long), *map(int, m)], want


@program
def kept(k):
    x = RNG.integers(-99, 99, 32).astype(np.int32)
    y = np.zeros_like(x)
    k(1, 32, (x, y))
    return y, 48 + 15 * x


@program
def states(k):
    x = RNG.integers(0, 99, 32).astype(np.int32)
    y = np.zeros_like(x)
    k(1, 32, (x, y, 11))
    want = []
    for thread in range(32):
        values = np.roll(x, -thread)[:11].tolist()
        odd = [max((m for m in range(n) if values[m] & 1), default=None) for n in range(11)]
        falls = [values[m] - v for v, m in zip(values, odd, strict=True) if m is not None]
        want.append(sum(fall for fall in falls if fall > 0) + sum(4 * v for v in values[0:9:3]))
    return y, want


SLOW = {*(("doubles", device) for device in WORDS), ("floats", "opengl")}
"""Binary64's sin, exp and pow by integers: minutes of a software device's compiler."""


@pytest.mark.parametrize(
    "name, device, backend",
    [
        *((n, d, "nvrtc") for n in PROGRAMS for d in ALL if (n, d) not in SLOW),
        *((n, d, "clang") for n in PROGRAMS for d in ("interp", "cpu")),
    ],
)
def test_a_program(name, device, backend):
    current.choose(get_device(device))
    got, want = PROGRAMS[name](module(backend).get_function(name))
    assert np.array_equal(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("name, dtype, by", [(TEMPLATES[0], "f4", 3), (TEMPLATES[1], "i2", -2)])
@pytest.mark.parametrize("backend", ["nvrtc", "clang"])
def test_a_template_by_its_name(name, dtype, by, backend):
    current.choose(get_device("cpu"))
    x = np.arange(32).astype(dtype)
    module(backend).get_function(name)(1, 32, (x,))
    assert (x == np.arange(32) * by).all()


def test_what_the_compiler_says():
    with pytest.raises(CompileError, match=r'kernel.cu\(3\): error: identifier "y" is undefined'):
        cuda.RawModule(code="\n\n__global__ void k(int *x) { *x = y; }", backend="nvrtc")
