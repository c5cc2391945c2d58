"""Tables that kernels capture from globals: short ones are in the code, long ones in memory."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.running import module_of

from gridlane import cuda
from gridlane.compiler import generate
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions, Target
from gridlane.launch import current
from gridlane.launch.devices import get_device

RANDOM = np.random.default_rng(5)
FLOATS = RANDOM.random(1024).astype(np.float32)
WIDE = RANDOM.integers(-(1 << 60), 1 << 60, 40)
BYTES = RANDOM.integers(-128, 128, (16, 50)).astype(np.int8)
FORTRAN = np.asfortranarray(RANDOM.random((12, 30)).astype(np.float16))
PAIRS = np.zeros(70, np.dtype([("x", np.float32), ("n", np.int16), ("part", np.uint8, 3)]))
PAIRS["x"], PAIRS["n"] = RANDOM.random(70), RANDOM.integers(-9, 9, 70)
PAIRS["part"] = RANDOM.integers(0, 255, (70, 3))
COMPLEX = (RANDOM.random(30) + 1j).astype(np.complex64)
FLAGS = RANDOM.random(200) > 0.5
SHORT = np.arange(3, dtype=np.int32)


@cuda.jit(device=True)
def looked_up(i):
    return FLOATS[i % 1024] + SHORT[i % 3]


@cuda.jit
def kernel(out, n):
    i = cuda.grid(1)
    out[i, 0] = looked_up(i * 37)
    out[i, 1] = WIDE[i % 40] >> 40
    out[i, 2] = BYTES[i % 16, (i * 7) % 50]
    out[i, 3] = FORTRAN[i % 12, (i * 5) % 30]
    pair = PAIRS[i]
    out[i, 4] = pair.x * pair.n + pair.part[i % 3]
    z = COMPLEX[i % 30] * COMPLEX[(i * 3) % 30]
    out[i, 5] = z.real - z.imag
    out[i, 6] = FLAGS[i * 2] + looked_up(i)
    same = cuda.const.array_like(FLOATS)
    row = same[i * 4 : i * 4 + 4] if i % 2 else same[5:9]
    total = 0.0
    for k in range(n):
        total += row[k]
    out[i, 7] = total


def _expected(n: int) -> np.ndarray:
    i = np.arange(64)
    looked = FLOATS[i * 37 % 1024] + SHORT[i * 37 % 3]
    pair = PAIRS[i]
    z = COMPLEX[i % 30].astype(np.complex128) * COMPLEX[i * 3 % 30]
    rows = [FLOATS[t * 4 : t * 4 + n] if t % 2 else FLOATS[5 : 5 + n] for t in i]
    columns = (
        looked,
        WIDE[i % 40] >> 40,
        BYTES[i % 16, i * 7 % 50],
        FORTRAN[i % 12, i * 5 % 30],
        pair["x"] * pair["n"].astype(np.float64) + pair["part"][i, i % 3],
        z.real - z.imag,
        FLAGS[i * 2] + (FLOATS[i] + SHORT[i % 3]),
        [row.astype(np.float64).sum() for row in rows],
    )
    return np.array(columns, np.float64).T


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_every_type_and_place(name):
    current.choose(get_device(name))
    out = np.zeros((64, 8), np.float32)
    kernel[2, 32](out, 4)
    np.testing.assert_allclose(out, _expected(4), rtol=2e-6)
    again = np.zeros_like(out)
    kernel[2, 32](again, 3)  # the same code, with other parameters in front of the tables
    np.testing.assert_allclose(again, _expected(3), rtol=2e-6)


@pytest.mark.parametrize("name", DEVICES)
def test_tables_of_other_contents_are_other_kernels(name):
    current.choose(get_device(name))
    found = []
    for factor in (1, 2):
        table = np.arange(600, dtype=np.float32) * factor

        @cuda.jit
        def read(out):
            out[cuda.grid(1)] = table[cuda.grid(1) * 9]

        out = np.zeros(64, np.float32)
        read[1, 64](out)
        found.append(out.tolist())
    assert found == [[9.0 * i * factor for i in range(64)] for factor in (1, 2)]


ON = [Target("vulkan"), Target("opengl", block=(64, 1, 1)), Target("webgpu", block=(64, 1, 1))]


@pytest.mark.parametrize("target", ON, ids=lambda target: target.name)
def test_long_tables_are_not_in_the_code(target):
    def with_table(table):
        def read(out):
            i = cuda.grid(1)
            out[i] = table[i]

        return generate(module_of(read, np.zeros(1, np.float32)), target, KernelOptions())

    short, long = with_table(np.ones(128, np.float32)), with_table(np.ones(16384, np.float32))
    assert not short.constants and len(long.constants) == 65536
    assert len(long.code) < len(short.code)
    with pytest.raises(TargetError, match=re.escape("have 65552 bytes, and devices whose code")):
        with_table(np.ones(16385, np.float32))
