"""Products of tiles by fragments, as subgroups of shaders multiply them: what threads compute is
what the tiles say, one warp after the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.codegen.test_spirv_matrices import TARGET
from tests.frontends.triton.running import jit
from tests.passes.tiles.test_products import (
    OPTIONS,
    attention,
    by_turns,
    matrices,
    product,
    program,
)

from gridlane.backends import backend
from gridlane.compiler import vulkan
from gridlane.compiler.generation import copied
from gridlane.compiler.programs import machine_with_bfloats, machine_with_subgroups
from gridlane.frontends.triton import language as tl
from gridlane.ir.ops import grid, memory
from gridlane.ir.stages import KERNEL
from gridlane.ir.types import VectorType
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.passes.tiles import TileMachine, lower_tiles

MACHINE = machine_with_subgroups(backend("vulkan"))


def by_threads(module: Module, machine: TileMachine = MACHINE) -> tuple[Module, int]:
    changed = copied(module)
    threads = machine.threads(module.program_warps)
    lower_tiles(changed, machine)
    changed.program_warps = 0
    verify(changed, KERNEL)
    return changed, threads


def names_of(module: Module) -> Counter[str]:
    return Counter(op.name for op in module.kernel.body.walk())


def check(m: int, n: int, k: int, steps: int, warps: int, left: bool, right: bool,
          stages: int = 1, less: int = 3, machine: TileMachine = MACHINE,
          kind: str = "f16") -> Module:  # fmt: skip
    a, b, bias, depth, rows, out = matrices(kind, m, n, k * steps - less, m - 5)
    args = [a, b, out, bias, depth, rows]
    shape = {"M": m, "N": n, "K": k, "LEFT": left, "RIGHT": right, "SUMS": tl.float32}
    changed, threads = by_threads(program(product, args, warps, stages, **shape), machine)
    want = a.astype(np.float64) @ b.astype(np.float64) + bias
    want = np.where(want > 0, want, 2 * want)
    want[rows:] = 0
    np.testing.assert_array_equal(by_turns(changed, args, threads)[2], want.astype(out.dtype))
    return changed


@settings(max_examples=10, deadline=None)
@given(
    *[st.sampled_from([16, 32, 64])] * 3,
    st.integers(1, 3),
    st.sampled_from([1, 2, 4, 8]),
    *[st.booleans()] * 2,
    st.integers(1, 3),
    st.sampled_from([0, 3, 8, 16]),
)
@example(64, 64, 32, 3, 4, True, False, 2, 0)
def test_products(m, n, k, steps, warps, left, right, stages, less):
    check(m, n, k, steps, warps, left, right, stages, min(less, k * steps - 8))


def test_a_loop_holds_its_sums_in_fragments():
    """They are filled in front of it and stored behind it."""
    module = check(64, 64, 32, 3, 4, False, False)
    (loop,) = [op for op in module.kernel.body.ops if op.name == "loop"]
    inside = Counter(op.name for op in loop.body.walk())
    assert inside["fragment_mma"] == 8 and inside["fragment_load"] == 8
    assert not inside["fragment_store"] + inside["fragment_fill"] + inside["sync_warp"]
    assert names_of(module)["fragment_store"] == 4 and names_of(module)["fragment_fill"] == 1


@pytest.mark.parametrize("left, right", [(False, False), (True, True)])
@pytest.mark.parametrize("stages, barriers", [(2, 1), (1, 2)])
def test_tiles_of_the_next_iteration(left, right, stages, barriers):
    """With two stages in shared memory threads meet once in an iteration, with one twice."""
    room = stages * 2 * (32 * (32 + 8) + 64 * (32 + 8)) + 64 * 32 + 64 * 4
    module = check(32, 64, 32, 5, 2, left, right, 3, 0, replace(MACHINE, shared=room))
    (loop,) = [op for op in module.kernel.body.ops if op.name == "loop"]
    names = [op.name for op in (*loop.body.walk(), *loop.step.walk())]
    assert names.count("barrier") == barriers
    order = sorted(("store", "load", "fragment_mma"), key=names.index)
    assert order == (
        ["load", "fragment_mma", "store"] if stages == 2 else ["store", "load", "fragment_mma"]
    )
    meetings = [op for op in loop.body.walk() if isinstance(op, grid.Barrier)]
    assert all(op.shared for op in meetings)
    kinds = [op.results[0].type for op in loop.body.walk() if isinstance(op, memory.Load)]
    assert kinds and all(isinstance(kind, VectorType) and kind.size == 16 for kind in kinds)
    assert not names_of(module)["async_copy"]


def test_of_bf16():
    """Where the device has matrices of it."""
    with_bfloats = machine_with_bfloats(backend("vulkan"))
    for machine, count in ((MACHINE, 0), (with_bfloats, 8)):
        module = check(32, 32, 32, 3, 1, False, True, 3, 0, machine, "bf16")
        assert names_of(module)["fragment_mma"] == count


@jit
def chained(a, b, c, M: tl.constexpr):
    """Sums that a loop reads besides, and sums of f16."""
    i = tl.arange(0, M)
    at = i[:, None] * M + i[None, :]
    x, y = tl.load(a + at), tl.load(b + at)
    total = tl.zeros((M, M), tl.float32)
    half = tl.zeros((M, M), tl.float16)
    for _ in range(2):
        total = tl.dot(x, y, total)
        total = tl.where(total > 0, total, total - 1)
        half = tl.dot(y, x, half, out_dtype=tl.float16)
    total = tl.dot(x, tl.trans(y), total)
    tl.store(c + at, total + half)


def test_sums_that_are_read_in_between():
    a, b, *_ = matrices("f16", 32, 32, 32, 32)
    args = [a, b, np.zeros((32, 32), np.float32)]
    changed, threads = by_threads(program(chained, args, 2, M=32))
    assert names_of(changed)["fragment_mma"]
    x, y = a.astype(float), b.astype(float)
    total = x @ y
    total = np.where(total > 0, total, total - 1) + x @ y
    total = np.where(total > 0, total, total - 1) + x @ y.T
    np.testing.assert_array_equal(by_turns(changed, args, threads)[2], total + 2 * (y @ x))


@pytest.mark.parametrize("warps", [1, 4])
def test_attention(warps):
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((length, 32)).astype(np.float16) for length in (64, 96, 96))
    args: list[Any] = [q, k, v, np.zeros((64, 32), np.float32), 96]
    changed, threads = by_threads(program(attention, args, warps, M=64, N=32, WIDTH=32))
    assert names_of(changed)["fragment_mma"]
    got = by_turns(changed, args, threads)[3]
    scores = q.astype(float) @ k.T.astype(float) * 0.25
    powers = np.exp(scores - scores.max(1, keepdims=True))
    want = powers / powers.sum(1, keepdims=True) @ v.astype(float)
    np.testing.assert_allclose(got, want, rtol=4e-3, atol=4e-3)


def test_code_for_vulkan():
    """Each fragment is loaded from shared memory by units of 16 bytes, at known distances."""
    a, b, bias, depth, rows, out = matrices("f16", 64, 64, 64, 64)
    args = [a, b, out, bias, depth, rows]
    shape = {"M": 64, "N": 64, "K": 32, "LEFT": False, "RIGHT": True, "SUMS": tl.float32}
    module = program(product, args, 4, 3, **shape)
    text = vulkan.text(copied(module), TARGET, OPTIONS, "asm")
    assert text.count("CooperativeMatrixMulAddKHR") == 8
    lines = text.splitlines()
    vector = next(line.split()[0] for line in lines if line.endswith(" 4") and "TypeVector" in line)
    kind = next(line.split()[0] for line in lines if f"TypePointer Workgroup {vector}" in line)
    chains = {line.split()[0] for line in lines if f"= AccessChain {kind} " in line}
    loads = [line.split() for line in lines if "CooperativeMatrixLoadKHR" in line]
    assert len(loads) == 8 and all(line[4] in chains for line in loads)
    artifact = vulkan.generate(copied(module), TARGET, OPTIONS)
    assert artifact.static_shared == 2 * 2 * (64 * (32 + 8) + 32 * (64 + 8)) + 128 * 32
