"""Products that are delayed by an iteration, so that threads compute beside them."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.frontends.ptx.bodies import PTXAS
from tests.frontends.triton.running import jit
from tests.passes.tiles.test_following import powers_of_2
from tests.passes.tiles.test_groups import MACHINE, by_groups, results, text_of
from tests.passes.tiles.test_products import program

from gridlane.compiler.cuda import find_ptxas
from gridlane.compiler.generation import copied
from gridlane.frontends.triton import language as tl
from gridlane.ir.ops import control, warpgroups
from gridlane.ir.values import Module
from gridlane.passes.tiles import lower_tiles

RNG = np.random.default_rng(4)


@jit
def causal(q, k, v, out, length, steps, M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr):
    """Pointers advance; the keys are as many as ``steps`` tells; a part of the last block is."""
    i, j, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, WIDTH)
    mine = tl.load(q + i[:, None] * WIDTH + d[None, :])
    largest = tl.full((M,), -1.0e30, tl.float32)
    weight = tl.zeros((M,), tl.float32)
    total = tl.zeros((M, WIDTH), tl.float32)
    ks, vs = k + j[:, None] * WIDTH + d[None, :], v + j[:, None] * WIDTH + d[None, :]
    for at in range(0, steps, N):
        keys = tl.load(ks, mask=(at + j < length)[:, None], other=0.0)
        scores = tl.dot(mine, tl.trans(keys)) * 0.25
        scores = tl.where((i[:, None] >= at + j[None, :]) & (at + j < length), scores, -1.0e30)
        higher = tl.maximum(largest, tl.max(scores, 1))
        powers = tl.exp2(scores - higher[:, None])
        less = tl.exp2(largest - higher)
        weight = weight * less + tl.sum(powers, 1)
        values = tl.load(vs, mask=(at + j < length)[:, None], other=0.0)
        total = tl.dot(powers.to(values.dtype), values, total * less[:, None])
        largest = higher
        ks += N * WIDTH
        vs += N * WIDTH
    total = total / tl.where(weight == 0.0, 1.0, weight)[:, None]
    tl.store(out + i[:, None] * WIDTH + d[None, :], total.to(out.dtype.element_ty))


def waits(module: Module) -> list[int]:
    """Products that are left in flight at the waits of the last loop."""
    loops = [op for op in module.kernel.body.walk() if isinstance(op, control.Loop)]
    ops = [op for op in loops[-1].body.walk()]
    return [op.pending for op in ops if isinstance(op, warpgroups.WarpgroupWait)]


def wanted(q: Any, k: Any, v: Any, steps: int, scale: float, is_causal: bool) -> np.ndarray:
    keys = min(steps, len(k))
    scores = q.astype(float) @ k[:keys].astype(float).T * scale
    if is_causal:
        scores = np.where(np.arange(len(q))[:, None] >= np.arange(keys), scores, -np.inf)
    if not keys:
        return np.zeros(q.shape)
    powers = np.exp2(scores - scores.max(1, keepdims=True))
    return powers @ v[:keys].astype(float) / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("steps", [0, 1, 32, 33, 64, 128])
@pytest.mark.parametrize("m, warps, stages", [(64, 4, 1), (64, 4, 3), (128, 8, 2)])
def test_iterations(steps, m, warps, stages):
    """None, one, two, and more; the last ones past the arrays."""
    q, k, v = (RNG.standard_normal((n, 32)).astype(np.float16) for n in (128, 100, 100))
    args = [q, k, v, np.full_like(q, 9), 100, steps]
    changed, threads = by_groups(program(causal, args, warps, stages, M=m, N=32, WIDTH=32))
    out = results(changed, args, threads, 128 // m)[3]
    want = wanted(q, k, v, -(-steps // 32) * 32, 0.25, True)
    np.testing.assert_allclose(out.astype(float), want, atol=2e-3)
    assert waits(changed) == [int(stages > 1), 0]


def test_what_runs_beside_a_product():
    """Between the waits of an iteration are all powers."""
    q = np.zeros((64, 64), np.float16)
    module = program(powers_of_2, [q, q, q, q, 64], 4, 2, M=64, N=64, WIDTH=64)
    changed, _ = by_groups(module)
    loop = [op for op in changed.kernel.body.walk() if isinstance(op, control.Loop)][-1]
    names = [op.name for op in loop.body.walk()]
    first, second = [n for n, name in enumerate(names) if name == "warpgroup_wait"]
    assert names[:first].count("warpgroup_mma") == 4 + 4
    assert names[first:second].count("exp2") == names.count("exp2") == 32 + 2


@jit
def others(x, y, out, count, M: tl.constexpr, KIND: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, M)[None, :]
    left = tl.load(x + i * M + j)
    total = tl.zeros((M, M), tl.float32)
    other = tl.zeros((M, M), tl.float32)
    for step in range(count):
        right = tl.load(y + i * M + j + step * M)
        scores = tl.dot(left, right)
        if KIND == "sum":  # what the loop adds up is needed in it
            scores += total
        if KIND == "store":
            tl.store(y + i * M + j, scores.to(y.dtype.element_ty))
        if KIND == "factor":  # both products have it
            more = right
        else:
            more = tl.load(y + i * M + j + step * step)
        total = tl.dot(scores.to(left.dtype), more, total)
        if KIND == "later":
            other += total
    tl.store(out + i * M + j, total + other)


@pytest.mark.parametrize("kind", ["sum", "store", "factor", "later", "step"])
def test_what_is_not_delayed(kind):
    m, count = 64, 2
    x = RNG.integers(-1, 2, (m, m)).astype(np.float16)
    y = RNG.integers(-1, 2, (m + 8, m)).astype(np.float16)
    args = [x, y, np.zeros((m, m), np.float32), count]
    changed, threads = by_groups(program(others, args, 4, M=m, KIND=kind))
    assert 1 not in waits(changed)
    total, other, flat = np.zeros((m, m)), np.zeros((m, m)), y.astype(float).ravel()
    for step in range(count):
        right = flat[step * m : step * m + m * m].reshape(m, m).copy()
        scores = x.astype(float) @ right + (total if kind == "sum" else 0)
        if kind == "store":
            flat[: m * m] = scores.astype(np.float16).ravel()
        more = right if kind == "factor" else flat[step**2 : step**2 + m * m].reshape(m, m)
        total = total + scores.astype(np.float16).astype(float) @ more
        other += total if kind == "later" else 0
    np.testing.assert_array_equal(results(changed, args, threads)[2], total + other)


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
@pytest.mark.parametrize("m, n, warps", [(128, 128, 8), (64, 64, 4)])
def test_ptxas_keeps_products_in_flight(tmp_path: Path, m, n, warps):
    q = np.zeros((128, 128), np.float16)
    module = program(powers_of_2, [q, q, q, q, 128], warps, 2, M=m, N=n, WIDTH=128)
    (tmp_path / "a.ptx").write_text(text_of(module, "sm_90a"))
    command = [
        str(find_ptxas()),
        "-arch=sm_90a",
        "-v",
        tmp_path / "a.ptx",
        "-o",
        tmp_path / "a.cubin",
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert "0 bytes spill stores" in said and "serialized" not in said


def test_tiles_around_a_loop_have_its_stages_memory():
    q = np.zeros((64, 64), np.float16)
    module = program(powers_of_2, [q, q, q, q, 64], 4, 3, M=64, N=64, WIDTH=64)
    tile = 64 * 64 * 2
    for room, stages in ((7 * tile, 3), (7 * tile - 1, 2)):
        changed = copied(module)
        lower_tiles(changed, replace(MACHINE, shared=room))
        assert sum(item.size for item in changed.static_shared()) == (1 + 2 * stages) * tile
