"""Cooperative groups of more than one warp, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

SOURCE = Path(__file__).parent / "programs" / "tiles.cu"
RNG = np.random.default_rng(23)


def load(device: str, kernel: str) -> cuda.RawKernel:
    current.choose(get_device(device))
    module = cuda.RawModule(path=SOURCE, name_expressions=(kernel,), backend="clang")
    return module.get_function(kernel)


@pytest.mark.parametrize("threads", [64, 128])  # the interpreter takes 7 seconds
def test_tiles_of_several_warps(threads):
    v = RNG.integers(0, 100, 256).astype(np.int32)
    out, made = np.zeros((256, 10), np.int32), np.zeros((512, 2), np.float32)
    maps = RNG.uniform(0.9, 1.1, (256, 2)).astype(np.float32)
    load("cpu", f"tiled<{threads}>")(1, 256, (v, out, maps, made))
    tiles, lane = v.reshape(-1, threads), np.arange(256)
    sums, each = tiles.cumsum(1), np.repeat(np.arange(256 // threads), threads)
    part = v.reshape(-1, threads // 2).max(1).repeat(threads // 2)
    votes = 10 * (tiles == 7).any(1) + (tiles != 7).all(1)
    want = [tiles.sum(1)[each], part, sums.ravel(), (sums - tiles).ravel(), tiles[each, 37]]
    want += [votes[each], each * 100 + 256 // threads, lane % threads]
    want += [lane % threads // (threads // 2) * 100 + 2, each * threads + 1000]
    assert (out == np.stack(want, 1)).all()
    composed = np.zeros((256, 2))
    for i, (a, b) in enumerate(maps.astype(float)):  # the later comes first, as by nvcc's headers
        before = composed[i - 1] if i % threads else np.array([1.0, 0.0])
        composed[i] = before[0] * a, before[0] * b + before[1]
    assert np.allclose(made[:256], composed, rtol=1e-4)
    whole = maps.astype(float).reshape(-1, threads, 2)
    both = np.stack([whole[..., 0].sum(1), whole[..., 1].prod(1)], 1)
    assert np.allclose(made[256:], both[each], rtol=1e-4)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_a_barrier_of_the_grid(device):
    data, out = np.zeros(96, np.int32), np.zeros(96, np.int32)
    load(device, "whole_grid")(3, 32, (data, out))
    assert (out == np.arange(96)[::-1] ** 2).all()
