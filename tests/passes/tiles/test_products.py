"""Products of tiles on GPUs: what threads and matrix instructions compute is what the tiles say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.codegen.test_nvptx import checked_by_ptxas
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS
from tests.frontends.triton.running import jit, type_of

from gridlane import cuda
from gridlane.backends import backend
from gridlane.compiler import cuda as compiler
from gridlane.compiler.generation import copied
from gridlane.compiler.programs import block_of, machine_of, machine_with_cores
from gridlane.conformance.module_runner import run_on
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions, Target
from gridlane.frontends.triton import language as tl
from gridlane.frontends.triton.parameters import Block
from gridlane.frontends.triton.translation import translate
from gridlane.ir.ops import copies, products
from gridlane.ir.stages import KERNEL, TILE
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.passes.tiles import lower_tiles

RNG = np.random.default_rng(5)
TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "i8": np.int8}
OPTIONS = KernelOptions(floats="float32")


@jit
def product(a, b, c, bias, depth, rows, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
            LEFT: tl.constexpr, RIGHT: tl.constexpr, SUMS: tl.constexpr):  # fmt: skip
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), dtype=SUMS)
    for at in range(0, depth, K):
        inside = s < depth - at
        if LEFT:
            x = tl.load(a + i[None, :] * depth + (at + s)[:, None], mask=inside[:, None], other=0)
            x = tl.trans(x)
        else:
            x = tl.load(a + i[:, None] * depth + (at + s)[None, :], mask=inside[None, :], other=0)
        if RIGHT:
            y = tl.load(b + (at + s)[None, :] * N + j[:, None], mask=inside[None, :], other=0)
            y = tl.trans(y)
        else:
            y = tl.load(b + (at + s)[:, None] * N + j[None, :], mask=inside[:, None], other=0)
        total = tl.dot(x, y, total)
    total += tl.load(bias + j)[None, :]
    total = tl.where(total > 0, total, total * 2)
    tl.store(c + i[:, None] * N + j[None, :], total, mask=(i < rows)[:, None])


@jit
def attention(q, k, v, out, length, M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr):
    i, j, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, WIDTH)
    mine = tl.load(q + i[:, None] * WIDTH + d[None, :])
    largest = tl.full((M,), -float("inf"), tl.float32)
    weight = tl.zeros((M,), tl.float32)
    total = tl.zeros((M, WIDTH), tl.float32)
    for at in range(0, length, N):
        keys = tl.load(k + (at + j)[:, None] * WIDTH + d[None, :])
        scores = tl.dot(mine, tl.trans(keys)) * 0.25
        higher = tl.maximum(largest, tl.max(scores, 1))
        powers = tl.exp(scores - higher[:, None])
        less = tl.exp(largest - higher)
        weight = weight * less + tl.sum(powers, 1)
        values = tl.load(v + (at + j)[:, None] * WIDTH + d[None, :])
        total = tl.dot(powers.to(values.dtype), values, total * less[:, None])
        largest = higher
    tl.store(out + i[:, None] * WIDTH + d[None, :], total / weight[:, None])


def program(
    function: Any, args: list[Any], warps: int, stages: int = 1, **constants: Any
) -> Module:
    """The module of a program over tiles."""
    types = tuple([type_of(each) for each in args])
    aligned = {
        name: 16
        for name, value in zip(function.arg_names, args, strict=False)
        if isinstance(value, np.ndarray) or value % 16 == 0
    }
    module = translate(
        function, types, OPTIONS, constants, warps=warps, aligned=aligned, stages=stages
    )
    verify(module, TILE)
    return module


def by_threads(module: Module, cores: bool) -> tuple[Module, int]:
    """The same for the threads of a block, and how many there are."""
    changed, record = copied(module), backend("cuda")
    machine = machine_with_cores(record) if cores else machine_of(record)
    threads = machine.threads(module.program_warps)
    lower_tiles(changed, machine)
    changed.program_warps = 0
    verify(changed, KERNEL)
    return changed, threads


def matrices(kind: str, m: int, n: int, depth: int, rows: int) -> list[Any]:
    """Small whole numbers, of whose products all sums are exact."""
    whole = [RNG.integers(-4, 5, shape).astype(TYPES[kind]) for shape in ((m, depth), (depth, n))]
    sums = np.int32 if kind == "i8" else np.float32
    bias = RNG.integers(-9, 9, n).astype(sums)
    return [*whole, bias, depth, rows, np.zeros((m, n), sums)]


def by_turns(module: Module, args: list[Any], threads: int, grid: int = 1) -> list[np.ndarray]:
    """The arrays after a launch in the interpreter, which checks accesses. One warp runs at a time,
    as far as a barrier: what another one has yet to write or to read shows."""
    arrays = [each for each in args if isinstance(each, np.ndarray)]
    numbers = tuple([each for each in args if not isinstance(each, np.ndarray)])
    with patch("gridlane.interp.machine.warps_take_turns", return_value=True):
        outcome = run_on("interp", module, (grid, 1, 1), (threads, 1, 1), arrays, numbers)
    assert not outcome.raised
    return outcome.arrays


def uses_cores(module: Module) -> bool:
    return any(isinstance(op, products.Mma) for op in module.kernel.body.walk())


def check(kind: str, m: int, n: int, k: int, steps: int, warps: int, left: bool, right: bool,
          cores: bool, stages: int = 1, less: int = 3) -> Module:  # fmt: skip
    a, b, bias, depth, rows, out = matrices(kind, m, n, k * steps - less, m - 5)
    sums = tl.int32 if kind == "i8" else tl.float32
    args = [a, b, out, bias, depth, rows]
    shape = {"M": m, "N": n, "K": k, "LEFT": left, "RIGHT": right, "SUMS": sums}
    module = program(product, args, warps, stages, **shape)
    changed, threads = by_threads(module, cores)
    want = a.astype(np.float64) @ b.astype(np.float64) + bias
    want = np.where(want > 0, want, 2 * want)
    want[rows:] = 0
    np.testing.assert_array_equal(by_turns(changed, args, threads)[2], want.astype(out.dtype))
    return changed


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([*TYPES]),
    *[st.sampled_from([16, 32, 64])] * 3,
    st.integers(1, 2),
    st.sampled_from([1, 2, 4, 8]),
    *[st.booleans()] * 3,
)
@example("i8", 16, 16, 32, 1, 2, False, False, True)  # a warp begins at 8 bytes of a line
def test_products(kind, m, n, k, steps, warps, left, right, cores):
    check(kind, m, n, k, steps, warps, left, right, cores)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["f16", "f32", "i8"])
def test_devices(device, kind):
    """Threads of each device compute blocks of rows by columns, or matrix instructions do."""
    a, b, bias, depth, rows, out = matrices(kind, 32, 16, 13, 30)
    sums = tl.int32 if kind == "i8" else tl.float32
    shape = {"M": 32, "N": 16, "K": 16, "LEFT": False, "RIGHT": True, "SUMS": sums}
    module = program(product, [a, b, out, bias, depth, rows], 2, **shape)
    block = block_of(backend(device), 2)
    outcome = run_on(device, module, (1, 1, 1), block, [a, b, out, bias], (depth, rows))
    want = a.astype(np.float64) @ b.astype(np.float64) + bias
    want = np.where(want > 0, want, 2 * want)
    want[rows:] = 0
    np.testing.assert_array_equal(outcome.arrays[2], want.astype(out.dtype))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("left, right", [(False, False), (True, True)])
def test_matrix_instructions_compute_them(kind, left, right):
    assert uses_cores(check(kind, 64, 32, 32, 2, 4, left, right, True))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("left, right, stages", [(False, False, 3), (True, True, 2)])
def test_copies_ahead(kind, left, right, stages):
    """Copies of later iterations are in flight: without a race, and none beyond the arrays."""
    module = check(kind, 32, 64, 32, 5, 2, left, right, True, stages, 16 if right else 0)
    names = [op.name for op in module.kernel.body.walk()]
    assert {"async_copy", "async_commit", "async_wait"} <= {*names}
    sizes = {op.bytes for op in module.kernel.body.walk() if isinstance(op, copies.AsyncCopy)}
    assert sizes == {16}


STAGE = 2 * 32 * (64 + 16)
"""Bytes of two factors, whose rows have 16 bytes more."""


def test_more_shared_memory_than_static_arrays_may_have():
    a, b, bias, depth, rows, out = matrices("f16", 32, 32, 96, 32)
    args = [a, b, out, bias, depth, rows]
    shape = {"M": 32, "N": 32, "K": 32, "LEFT": False, "RIGHT": False, "SUMS": tl.float32}
    module, machine = program(product, args, 2, 3, **shape), machine_with_cores(backend("cuda"))
    changed = copied(module)
    lower_tiles(changed, replace(machine, static=4096))
    changed.program_warps = 0
    verify(changed, KERNEL)
    assert changed.own_dynamic == 3 * STAGE
    assert not changed.static_shared()
    outcome = run_on(
        "interp", changed, (1, 1, 1), (64, 1, 1), args[:4], (96, 32), changed.own_dynamic
    )
    want = a.astype(int) @ b.astype(int) + bias
    np.testing.assert_array_equal(outcome.arrays[2], np.where(want > 0, want, 2 * want))
    with pytest.raises(TargetError, match=r"Required: \d+, Hardware limit: 1024"):
        lower_tiles(copied(module), replace(machine, shared=1024))


def test_stages_are_as_many_as_fit():
    args = matrices("f16", 32, 32, 96, 32)
    args = [args[0], args[1], args[5], args[2], 96, 32]
    shape = {"M": 32, "N": 32, "K": 32, "LEFT": False, "RIGHT": False, "SUMS": tl.float32}
    module, machine = program(product, args, 2, 9, **shape), machine_with_cores(backend("cuda"))
    for room, stages in ((9 * STAGE, 9), (9 * STAGE - 1, 8), (2 * STAGE, 2)):
        changed = copied(module)
        lower_tiles(changed, replace(machine, shared=room))
        assert sum(item.size for item in changed.static_shared()) == stages * STAGE


def test_shared_memory_of_processors():
    """Two stages of these factors have more than 99 KiB, and four more than 163 KiB."""
    args = matrices("f16", 128, 256, 64, 128)
    args = [args[0], args[1], args[5], args[2], 64, 128]
    shape = {"M": 128, "N": 256, "K": 64, "LEFT": False, "RIGHT": False, "SUMS": tl.float32}
    module, used = program(product, args, 8, 4, **shape), dict[str, int]()
    for processor in ("sm_80", "sm_86", "sm_90"):
        target = Target("cuda", processor=processor)
        used[processor] = compiler.generate(copied(module), target, OPTIONS).own_dynamic
    assert used["sm_86"] <= 99 << 10 < used["sm_80"] <= 163 << 10 < used["sm_90"] <= 227 << 10


@jit
def with_others(a, b, c, depth, M: tl.constexpr, OTHER: tl.constexpr):
    i, s = tl.arange(0, M), tl.arange(0, M)
    total = tl.zeros((M, M), tl.float32)
    for at in range(0, depth, M):
        inside = s < depth - at
        x = tl.load(a + i[:, None] * depth + (at + s)[None, :], mask=inside[None, :], other=OTHER)
        y = tl.load(b + (at + s)[:, None] * M + i[None, :], mask=inside[:, None], other=OTHER)
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * M + i[None, :], total)


@pytest.mark.parametrize("kind", ["f16", "f32"])
@pytest.mark.parametrize("other", [0, 2])
def test_other_values_of_factors(kind, other):
    """A product of other values counts, also where elements have as many bytes as a copy."""
    a, b, *_ = matrices(kind, 32, 32, 48, 32)
    args = [a, b, np.zeros((32, 32), np.float32), 48]
    module = program(with_others, args, 2, 3, M=32, OTHER=other)
    changed, threads = by_threads(module, True)
    want = a.astype(float) @ b.astype(float) + 16 * other**2
    np.testing.assert_array_equal(by_turns(changed, args, threads)[2], want)


@pytest.mark.parametrize("steps", [1, 2])
def test_fewer_iterations_than_stages(steps):
    check("f16", 32, 32, 16, steps, 1, False, True, True, 4, 0)


@jit
def counted(a, b, c, first, last, M: tl.constexpr):
    """The counter ends at the largest number that it has."""
    i = tl.arange(0, M)
    total = tl.zeros((M, M), tl.float32)
    for at in range(first, last, M):
        x = tl.load(a + i[:, None] * 96 + (at - first + i)[None, :])
        y = tl.load(b + (at - first + i)[:, None] * M + i[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * M + i[None, :], total)


def test_counters_that_would_wrap():
    """No copy is started for an iteration behind the last one, which a wrapped counter is not."""
    a, b, *_ = matrices("f16", 32, 32, 96, 32)
    last = 2**31 - 16
    args = [a, b, np.zeros((32, 32), np.float32), last - 96, last]
    module = program(counted, args, 1, 4, M=32)
    changed, threads = by_threads(module, True)
    assert any(isinstance(op, copies.AsyncCopy) for op in changed.kernel.body.walk())
    want = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(by_turns(changed, args, threads)[2], want)


@jit
def described(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    total = tl.zeros((M, N), tl.float32)
    for at in range(0, depth, K):
        total = tl.dot(a.load([0, at]), b.load([at, 0]), total)
    c.store([0, 0], total)


def test_factors_of_descriptors():
    depth = 80
    a, b, *_ = matrices("f16", 32, 32, depth, 32)
    out = np.zeros((32, 32), np.float32)
    types = tuple([type_of(each) for each in (a, b, out)])
    blocks = {"a": Block((32, 32)), "b": Block((32, 32)), "c": Block((32, 32))}
    module = translate(
        described, (*types, type_of(depth)), OPTIONS, {"M": 32, "N": 32, "K": 32}, blocks,
        dict.fromkeys("abc", 16), 2, stages=3,
    )  # fmt: skip
    verify(module, TILE)
    changed, threads = by_threads(module, True)
    assert any(isinstance(op, copies.AsyncCopy) for op in changed.kernel.body.walk())
    numbers = [n for each in (a, b, out) for n in (*each.shape, *each.strides)]
    args = [a, b, out, *numbers, depth]
    np.testing.assert_array_equal(by_turns(changed, args, threads)[2], a.astype(float) @ b)


@jit
def exactly(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for at in range(0, depth, K):
        x = tl.load(a + i[:, None] * depth + (at + s)[None, :])
        y = tl.load(b + (at + s)[:, None] * N + j[None, :])
        total = tl.dot(x, y, total, input_precision="ieee")
    tl.store(c + i[:, None] * N + j[None, :], total)


def test_products_of_threads_with_copies_ahead():
    """Factors of float32 with all their bits, which matrix instructions have not."""
    a, b, *_ = matrices("f32", 32, 32, 64, 32)
    a += np.float32(2**-12)  # more bits than tf32 has
    args = [a, b, np.zeros((32, 32), np.float32), 64]
    module = program(exactly, args, 2, 3, M=32, N=32, K=16)
    changed, threads = by_threads(module, True)
    want = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(by_turns(changed, args, threads)[2], want)
    assert not uses_cores(changed)
    assert any(isinstance(op, copies.AsyncCopy) for op in changed.kernel.body.walk())


@jit
def aliased(x, out, count, M: tl.constexpr):
    """The loop overwrites what its next iteration loads."""
    i = tl.arange(0, M)
    at = i[:, None] * M + i[None, :]
    for _ in range(count):
        left = tl.load(x + at)
        tl.store(x + at, tl.dot(left, left).to(left.dtype))
    tl.store(out + at, tl.load(x + at))


def test_loads_stay_behind_stores():
    x = np.zeros((32, 32), np.float16)
    x[np.arange(32), (np.arange(32) + 1) % 32] = 1
    module = program(aliased, [x, np.zeros_like(x), 3], 2, 3, M=32)
    changed, threads = by_threads(module, True)
    assert not any(isinstance(op, copies.AsyncCopy) for op in changed.kernel.body.walk())
    out = by_turns(changed, [x, np.zeros_like(x), 3], threads)[1]
    np.testing.assert_array_equal(out, np.linalg.matrix_power(x.astype(int), 8))


@pytest.mark.parametrize("warps, n, stages", [(4, 32, 1), (4, 64, 2), (8, 32, 2)])
def test_attention(warps, n, stages):
    q, k, v = (RNG.standard_normal((128, 32)).astype(np.float16) for _ in range(3))
    args = [q, k, v, np.zeros_like(q), 128]
    module = program(attention, args, warps, stages, M=64, N=n, WIDTH=32)
    changed, threads = by_threads(module, True)
    scores = np.exp((q.astype(float) @ k.astype(float).T) * 0.25)
    want = scores / scores.sum(1, keepdims=True) @ v.astype(float)
    out = by_turns(changed, args, threads, 2)[3]
    np.testing.assert_allclose(out.astype(float), want, atol=2e-3)
    assert uses_cores(changed)
    names = {op.name for op in changed.kernel.body.walk()}
    assert ("async_copy" in names) == (stages > 1)
    assert "shuffle" in names


def text_of(module: Module, processor: str) -> str:
    target = Target("cuda", processor=processor)
    return compiler.generate(copied(module), target, OPTIONS).code.decode()


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("device", ["interp", *(each for each in DEVICES if each == "cpu")])
def test_their_ptx(kind, device):
    """The PTX, read by the frontend of PTX, computes the product."""
    a, b, bias, depth, rows, out = matrices(kind, 32, 16, 112, 30)
    args = [a, b, out, bias, depth, rows]
    sums = tl.int32 if kind == "i8" else tl.float32
    shape = {"M": 32, "N": 16, "K": 32, "LEFT": False, "RIGHT": True, "SUMS": sums}
    text = text_of(program(product, args, 2, 3, **shape), "sm_80")
    assert "cp.async.cg.shared.global [%rd" in text
    assert "mma.sync" in text
    assert "ldmatrix.sync.aligned.m8n8.x4.shared" in text
    assert ".local" not in text
    current.choose(get_device(device))
    words = [each.view(np.uint16) if kind == "bf16" else each for each in args[:2]]
    given = [*words, *args[2:4], *map(np.int32, args[4:])]
    cuda.RawModule(code=text).get_function("product")((1,), (64,), tuple(given))
    want = a.astype(np.float64) @ b.astype(np.float64) + bias
    want = np.where(want > 0, want, 2 * want)
    want[rows:] = 0
    np.testing.assert_array_equal(out, want.astype(out.dtype))


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
def test_ptxas_accepts_them(tmp_path):
    for processor in ("sm_75", "sm_80", "sm_90"):
        texts: list[str] = []
        for kind in TYPES:
            args = matrices(kind, 64, 32, 64, 64)
            args = [args[0], args[1], args[5], args[2], 64, 64]
            sums = tl.int32 if kind == "i8" else tl.float32
            shape = {"M": 64, "N": 32, "K": 32, "LEFT": False, "RIGHT": False, "SUMS": sums}
            texts.append(text_of(program(product, args, 4, **shape), processor))
            assert ("mma.sync" in texts[-1]) == (processor != "sm_75")
        checked_by_ptxas(texts, processor, tmp_path)
