# ruff: noqa: F821  # extents are names that annotations define
"""Loop nests in ``fused()``: neighbouring launches are one, with the results of each alone."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.compute import Tensor, compute, f32, fused, grid

EVERY = ["interp", *DEVICES]


@compute
def raised(x: Tensor[f32, "M", "N"], y: Tensor[f32, "M", "N"]):
    for i, j in grid(M, N):
        y[i, j] = x[i, j] + 1.0


@compute
def less(x: Tensor[f32, "M", "N"], y: Tensor[f32, "M", "N"]):
    for i, j in grid(M, N):
        y[i, j] = y[i, j] - x[i, j]


@compute
def turned(x: Tensor[f32, "M", "M"], y: Tensor[f32, "M", "M"]):
    for i, j in grid(M, M):
        y[i, j] = x[j, i]


@pytest.mark.parametrize("device", EVERY)
def test_nests_are_one_and_transposed_reads_are_apart(device: str) -> None:
    with gridlane.device(device):
        start = np.random.default_rng(2).random((50, 50), np.float32)
        x, y = cuda.to_device(start), cuda.to_device(start * 2)
        with fused() as fusion:
            raised(x, y)
            less(x, y)
            raised(y, x)
            turned(x, y)
        once = np.float32(1)
        first = (start + once) - start
        assert np.array_equal(x.copy_to_host(), first + once)
        assert np.array_equal(y.copy_to_host(), (first + once).T)
        assert (fusion.launches, fusion.kernels) == (4, 2)
