"""Programs over tiles in ``fused()``: their launches alone have the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda, tiles
from gridlane.launch.fusion import Fusion, fused

tl = tiles.language
N = 1000
EVERY = ["interp", *DEVICES]


@tiles.jit
def blend(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + 1.7 - tl.load(y + i, mask=m), mask=m)


@tiles.jit
def scale(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 0.3, mask=i < n)


@tiles.jit
def shifted(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i + 1, mask=i + 1 < n, other=0.0), mask=i < n)


@tiles.jit
def table(x, out, pitch, n, m, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    p = i[:, None] * pitch + j[None, :]
    k = (i[:, None] < n) & (j[None, :] < m)
    tl.store(out + p, tl.load(x + p, mask=k) + 1.0, mask=k)


@tiles.jit
def turned(x, out, pitch, n, m, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    k = (i[:, None] < n) & (j[None, :] < m)
    v = tl.load(x + j[None, :] * pitch + i[:, None], mask=k)
    tl.store(out + i[:, None] * pitch + j[None, :], v, mask=k)


@tiles.jit
def summed(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + tl.program_id(0), tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))


@tiles.jit
def twice(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n) * 0.7
    tl.store(x + i, v, mask=i < n)
    tl.store(y + i, v + 1.0, mask=i < n)


def compared(chain: Any, count: int = 3) -> Fusion:
    """Run a chain alone and fused on arrays of the same numbers, and compare all bits."""
    data = [np.random.default_rng(n).standard_normal(N).astype(np.float32) for n in range(count)]
    alone, together = ([cuda.to_device(each) for each in data] for _ in range(2))
    chain(*alone)
    with fused() as fusion:
        chain(*together)
    for one, other in zip(alone, together, strict=True):
        assert one.copy_to_host().tobytes() == other.copy_to_host().tobytes(), fusion.explain()
    return fusion


@pytest.mark.parametrize("device", EVERY)
def test_pointwise_programs_are_one(device: str) -> None:
    def chain(x: Any, y: Any, z: Any) -> None:
        blend[(4,)](x, y, z, N, B=256)
        scale[(4,)](z, N, B=256)
        blend[(4,)](z, y, x, N, B=256)

    with gridlane.device(device):
        fusion = compared(chain)
        assert fusion.kernels == 1
        compared(chain)
    assert "blend, scale, blend: one kernel" in fusion.explain()


@pytest.mark.parametrize("device", EVERY)
def test_tables_are_one_and_turned_ones_are_apart(device: str) -> None:
    def chain(x: Any, y: Any) -> None:
        for kernel in (table, table, turned, table):
            kernel[(2, 2)](x, y, 30, 25, 29, B=16)
            x, y = y, x

    with gridlane.device(device):
        fusion = compared(chain, 2)
    assert fusion.kernels == 3
    assert "turned is apart from table: a thread may touch what another one writes" in (
        fusion.explain()
    )


def test_neighbours_are_apart() -> None:
    def chain(x: Any, y: Any) -> None:
        scale[(4,)](x, N, B=256)
        shifted[(4,)](x, y, N, B=256)

    assert compared(chain, 2).kernels == 2


def test_programs_with_sums_are_apart() -> None:
    def chain(x: Any, y: Any) -> None:
        scale[(4,)](x, N, B=256)
        summed[(4,)](x, y, N, B=256)

    text = compared(chain, 2).explain()
    assert "it is a program over tiles with tile_reduce" in text


def test_other_tiles_are_apart() -> None:
    def chain(x: Any, y: Any) -> None:
        scale[(4,)](x, N, B=256)
        scale[(4,)](x, 500, B=128)

    assert "tiles of other extents" in compared(chain, 2).explain()


@pytest.mark.parametrize("device", EVERY)
def test_products_that_are_added_need_the_launchs_word(device: str) -> None:
    def chain(x: Any, y: Any) -> None:
        scale[(4,)](x, N, B=256)
        twice[(4,)](x, y, N, B=256)

    def exact(x: Any, y: Any) -> None:
        scale[(4,)](x, N, B=256, enable_fp_fusion=False)
        twice[(4,)](x, y, N, B=256, enable_fp_fusion=False)

    with gridlane.device(device):
        assert "may or may not be rounded" in compared(chain, 2).explain()
        assert compared(exact, 2).kernels == 1


@cuda.jit
def thread_scale(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] *= np.float32(3)


def test_programs_and_kernels_of_threads_are_apart() -> None:
    def chain(x: Any, y: Any) -> None:
        scale[(4,)](x, N, B=256)
        thread_scale[4, 256](x, N)
        scale[(4,)](x, N, B=256)

    assert compared(chain, 2).kernels == 3
