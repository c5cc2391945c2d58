"""Integers of 128 bits: NVIDIA's compiler divides them by sums after differences."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

CODE = """
typedef unsigned long long word;
template <typename T> __device__ void put(word *out, T v)
{
    out[0] = (word)v, out[1] = (word)(v >> 64);
}
extern "C" __global__ void k(const word *in, word *out)
{
    in += 4 * threadIdx.x, out += 12 * threadIdx.x;
    unsigned __int128 a = (unsigned __int128)in[0] << 64 | in[1];
    unsigned __int128 b = (unsigned __int128)in[2] << 64 | in[3];
    put(out, a / b), put(out + 2, a % b), put(out + 4, a * b), put(out + 6, a - b);
    put(out + 8, (__int128)a / (__int128)b), put(out + 10, (__int128)a % (__int128)b);
}
"""


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("backend", ["clang", "nvrtc"])
def test_divisions(device, backend):
    current.choose(get_device(device))
    given = np.random.default_rng(29).integers(0, 2**64, (24, 4), np.uint64, endpoint=False)
    given[:8, 2] = 0  # divisors of one word
    given[8:12, 2] >>= np.uint64(40)
    given[12:14] = [[5, 6, 5, 6], [2**64 - 1, 2**64 - 1, 0, 3]]
    out = np.zeros((24, 6, 2), np.uint64)
    options = ("-device-int128",) if backend == "nvrtc" else ()
    cuda.RawModule(code=CODE, backend=backend, options=options).get_function("k")(
        1, 24, (given, out)
    )
    for row, made in zip(given, out, strict=True):
        a, b = (int(row[n]) << 64 | int(row[n + 1]) for n in (0, 2))
        x, y = (v - (v >> 127 << 128) for v in (a, b))
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        want = [a // b, a % b, a * b, a - b, quotient, x - quotient * y]
        assert [int(w[1]) << 64 | int(w[0]) for w in made] == [v % 2**128 for v in want]


def test_a_sum_after_a_difference():
    current.choose(get_device("interp"))
    code = """extern "C" __global__ void k(const unsigned *in, unsigned *out)
{
    unsigned made, lost;
    asm("sub.cc.u32 %0, %2, %3; addc.u32 %1, 0, 0;"
        : "=r"(made), "=r"(lost) : "r"(in[0]), "r"(in[1]));
    out[0] = lost;
    asm("add.cc.u32 %0, %2, %3; subc.u32 %1, 0, 0;"
        : "=r"(made), "=r"(lost) : "r"(in[0]), "r"(in[1]));
    out[1] = lost;
}"""
    kernel = cuda.RawModule(code=code, backend="clang").get_function("k")
    for first, second in ((5, 3), (3, 5), (2**32 - 1, 1)):
        out = np.zeros(2, np.uint32)
        kernel(1, 1, (np.array([first, second], np.uint32), out))
        carried = first + second >= 2**32
        assert list(out) == [int(first >= second), 0 if carried else 2**32 - 1]
