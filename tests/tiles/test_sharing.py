"""Programs whose values are needed at many places: their results and the length of their code."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.triton.running import module_of

import gridlane
from gridlane import tiles
from gridlane.core import argtypes
from gridlane.core.argtypes import ArrayType
from gridlane.passes.tiles import TileMachine, lower_tiles

tl = tiles.language
INTS = ArrayType(argtypes.int32, 1, "A")


@tiles.jit
def turned(x, out, N: tl.constexpr):
    """Sums of a tile in two orders, N times: 2^N paths lead from a result to the loads."""
    i = tl.arange(0, 512)
    v = tl.load(x + i)
    for _ in tl.static_range(N):
        rows = tl.permute(v.reshape(2, 256), (1, 0)).reshape(512)
        v = rows + tl.permute(v.reshape(128, 2, 2), (0, 2, 1)).reshape(512)
    tl.store(out + i, v)


@tiles.jit
def halves(x, out, N: tl.constexpr):
    """A butterfly of each level's halves."""
    i = tl.arange(0, 512)
    v = tl.load(x + i)
    for _ in tl.static_range(N):
        a, b = tl.split(v.reshape(256, 2))
        c, d = tl.split(tl.permute(v.reshape(2, 256), (1, 0)))
        v = tl.join(a + d, b - c).reshape(512)
    tl.store(out + i, v)


@tiles.jit
def masked(x, N: tl.constexpr):
    """A store over what it loads, with a mask that 2^N paths lead to."""
    i = tl.arange(0, 64)
    v, m = tl.load(x + i), i
    for _ in tl.static_range(N):
        m = m * m + m
    tl.store(x + ((i + 1) & 63), v + 1, mask=(m & 7) == 0)


@tiles.jit
def blocks(x, out, n, V: tl.constexpr):
    """Blocks of a matrix one below the other: the second start stays 0."""
    p = tl.make_block_ptr(x, (20, 25), (25, 1), (0, 0), (16, 16), (1, 0))
    total = tl.zeros((16, 16), tl.int32)
    for _ in range(n):
        p = tl.advance(p, (V, 0))
        total += tl.load(p, boundary_check=(0, 1), padding_option="zero")
    i = tl.arange(0, 16)
    tl.store(out + i[:, None] * 16 + i[None, :], total)


@pytest.fixture(params=["interp", *DEVICES])
def device(request):
    with gridlane.device(request.param):
        yield request.param


def test_sums_in_two_orders(device):
    x, out = np.arange(512, dtype=np.int32), np.zeros(512, np.int32)
    turned[(1,)](x, out, N=6)
    for _ in range(6):
        x = x.reshape(2, 256).T.ravel() + x.reshape(128, 2, 2).swapaxes(1, 2).ravel()
    assert (out == x).all()


def test_butterflies(device):
    x, out = np.arange(512, dtype=np.int32), np.zeros(512, np.int32)
    halves[(1,)](x, out, N=6)
    for _ in range(6):
        (a, b), (c, d) = x.reshape(256, 2).T, x.reshape(2, 256)
        x = np.stack([a + d, b - c], -1).ravel()
    assert (out == x).all()


@pytest.mark.parametrize("program", [turned, halves], ids=["turned", "halves"])
@pytest.mark.parametrize(
    "machine", [TileMachine(1, 1 << 20, lockstep=True), TileMachine(4, 1 << 16)]
)
def test_code_grows_with_the_program_and_not_with_its_paths(program, machine):
    def length(levels: int) -> int:
        module = module_of(program, INTS, INTS, N=levels)
        lower_tiles(module, machine)
        return sum(1 for _ in module.kernel.body.walk())

    assert length(10) < 3 * length(5)


def test_a_mask_of_many_paths(device):
    x = np.arange(64, dtype=np.int32)
    masked[(1,)](x, N=40)
    m = np.arange(64, dtype=np.int32)
    for _ in range(40):
        m = m * m + m
    written = np.flatnonzero(m % 8 == 0)
    expected = np.arange(64, dtype=np.int32)
    expected[(written + 1) % 64] = written + 1
    assert (x == expected).all()


@pytest.mark.parametrize("step", [16, 3])
def test_blocks_whose_second_start_stays(device, step):
    x, out = np.arange(500, dtype=np.int32), np.zeros((16, 16), np.int32)
    blocks[(1,)](x, out, 2, V=step)
    padded = np.zeros((80, 25), np.int32)
    padded[:20] = x.reshape(20, 25)
    assert (out == padded[step : step + 16, :16] + padded[2 * step : 2 * step + 16, :16]).all()
