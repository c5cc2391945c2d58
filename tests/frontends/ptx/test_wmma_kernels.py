"""Kernels of many products by wmma: the memory of their registers, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.wmma_kernels import gemm

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

RNG = np.random.default_rng(5)
NATIVE = ["interp", *(each for each in DEVICES if each in ("cpu", "cuda"))]


def run(text: str, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Small whole numbers, so that sums are exact: a, b, c before, c after."""
    a, b = (RNG.integers(-2, 3, (rows, 16 * steps)).astype(np.float16) for rows in (64, 32))
    c = RNG.integers(-9, 10, (64, 32)).astype(np.float32)
    made = c.copy()
    cuda.RawModule(code=text).get_function("gemm")((1,), (64,), (a, b, made))
    return a.astype(np.float32), b.astype(np.float32), c, made


@pytest.mark.parametrize("device", NATIVE)
def test_unrolled_products(device):
    current.choose(get_device(device))
    a, b, c, made = run(gemm(3), 3)
    assert (made == c + a @ b.T).all()


@pytest.mark.parametrize("device", NATIVE)
def test_sums_that_live_across_barriers(device):
    current.choose(get_device(device))
    a, b, c, made = run(gemm(4, barriers=True), 4)
    first = [slice(16 * (2 * warp), 16 * (2 * warp) + 16) for warp in range(2)]
    for step in range(4):
        if step:
            for rows in first:
                c[rows, :16] *= 2
        at = slice(16 * step, 16 * step + 16)
        c = c + a[:, at] @ b[:, at].T
    assert (made == c).all()
