"""Programs whose factors are more than a block's shared memory: they are computed at each use."""

from __future__ import annotations

import numpy as np
import pytest
from tests.passes.tiles.test_products import by_turns, program

from gridlane import tiles
from gridlane.compiler.generation import copied
from gridlane.core import decisions
from gridlane.core.errors import TargetError
from gridlane.ir.stages import KERNEL
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.passes.tiles import lower_tiles
from gridlane.passes.tiles.machine import TileMachine

jit, tl = tiles.jit, tiles.language
RNG = np.random.default_rng(3)


@jit
def chained(a, b, c, out, steps, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + i[:, None] * K + k[None, :]).to(tl.float32)
    total = tl.zeros((M, K), tl.float32)
    for step in range(steps):
        rows = step * N + j
        right = tl.load(b + rows[:, None] * K + k[None, :]).to(tl.float32)
        scores = tl.dot(left, tl.trans(right))
        total = tl.dot(scores, tl.load(c + rows[:, None] * K + k[None, :]).to(tl.float32), total)
    tl.store(out + i[:, None] * K + k[None, :], total)


@jit
def overwritten(a, b, out, M: tl.constexpr, K: tl.constexpr):
    i, k = tl.arange(0, M), tl.arange(0, K)
    left = tl.load(a + i[:, None] * K + k[None, :])
    tl.store(a + i[:, None] * K + k[None, :], left * 0 - 7)
    right = tl.load(b + k[:, None] * M + i[None, :])
    tl.store(out + i[:, None] * M + i[None, :], tl.dot(left, right))


def lowered(module: Module, shared: int) -> tuple[Module, int, list[str]]:
    """The program for threads with so much shared memory, their number, and the decisions."""
    machine = TileMachine(4, shared, sums=64)
    changed, threads = copied(module), machine.threads(module.program_warps)
    with decisions.collecting() as made:
        lower_tiles(changed, machine)
    changed.program_warps = 0
    verify(changed, KERNEL)
    size = sum(-(-item.size // 16) * 16 for item in changed.static_shared())
    assert size <= shared
    return changed, threads, [each.how for each in made]


@pytest.mark.parametrize("kind", ["float32", "float16", "int8"])
def test_factors_that_do_not_fit(kind):
    m, n, k, steps = 32, 16, 16, 3
    shapes = (m, k), (n * steps, k), (n * steps, k)
    a, b, c = (RNG.integers(-3, 4, shape).astype(kind) for shape in shapes)
    wanted = a.astype(np.float32) @ b.astype(np.float32).T @ c.astype(np.float32)
    args = [a, b, c, np.zeros((m, k), np.float32), steps]
    module = program(chained, args, 4, M=m, N=n, K=k)
    for shared in (1 << 14, 4096, 2048 + 256):
        changed, threads, made = lowered(module, shared)
        is_spared = any("at each use" in each for each in made)
        assert is_spared == (shared < 1 << 14)
        np.testing.assert_array_equal(by_turns(changed, args, threads)[3], wanted)


def test_a_factor_that_memory_no_longer_holds_is_stored():
    m, k = 32, 16
    a, b = (RNG.integers(-3, 4, shape).astype(np.float32) for shape in ((m, k), (k, m)))
    args = [a, b, np.zeros((m, m), np.float32)]
    module = program(overwritten, args, 4, M=m, K=k)
    changed, threads, made = lowered(module, 2048 + 64)  # the right factor alone is computed
    assert sum("at each use" in each for each in made) == 1
    results = by_turns(changed, args, threads)
    np.testing.assert_array_equal(results[2], a @ b)
    assert (results[0] == -7).all()
    with pytest.raises(TargetError, match="Required: 4096, Hardware limit: 1024"):
        lowered(module, 1024)
