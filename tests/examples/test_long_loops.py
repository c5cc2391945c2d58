"""Loops of more rounds than llvmpipe runs: right where repeated bodies make fewer of them, and
reported where they do not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests import on_shaders, on_vulkan, programs

PROGRAM = """
import numpy as np
from gridlane import cuda

@cuda.jit
def count(out, n, m):
    total = np.int32(0)
    for j in range(n):
        for k in range(m):
            total += np.int32((j ^ k) & 3)
    out[cuda.grid(1)] = total

@cuda.jit
def spin(out, n):
    k = out[0]
    while k < n:
        if k == 7 * n:
            return
        k += 1
    out[cuda.grid(1)] = k

def expected(n, m):
    return sum((j ^ k) & 3 for j in range(n) for k in range(m))

out = cuda.device_array(32, np.int32)
for n, m in (1, 100_000), (300, 300), (3, 40_000):
    count[1, 32](out, n, m)
    assert (out.copy_to_host() == expected(n, m)).all(), (n, m)
for kernel, args in (count, (70_000, 1)), (spin, (3_000_000,)):
    out.copy_to_device(np.zeros(32, np.int32))
    kernel[1, 32](out, *args)
    try:
        got = out.copy_to_host()
    except RuntimeError as error:
        assert "65,535 iterations" in str(error) and f"in {kernel.__name__}" in str(error)
        print("reported")
        continue
    wanted = expected(*args) if kernel is count else args[0]
    assert (got == wanted).all(), (got, wanted)
    print("right")
# What was reported once is not reported again.
count[1, 32](out, 2, 2)
assert (out.copy_to_host() == expected(2, 2)).all()
"""


@pytest.mark.parametrize("device", ["vulkan", "webgpu", "opengl"])
def test_a_program(device: str, tmp_path: Path) -> None:
    there = on_vulkan.found() if device == "vulkan" else on_shaders.found()
    if device not in there:
        pytest.skip(f"no device of {device}")
    done = programs.run(["-c", PROGRAM], tmp_path, {**os.environ, "GRIDLANE_DEVICE": device})
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= {"reported", "right"} and done.stdout.count("\n") == 2
