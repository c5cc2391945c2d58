"""Floats of 8 bits as factors of products by warpgroups."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.frontends.triton.running import jit, type_of
from tests.passes.tiles.test_groups import MACHINE, OPTIONS
from tests.passes.tiles.test_producers import Described, loads, run

from gridlane.compiler.generation import copied
from gridlane.core.dtypes import f32, u8
from gridlane.frontends.triton import language as tl
from gridlane.frontends.triton.translation import translate
from gridlane.ir.ops import arith, copies, warpgroups
from gridlane.ir.ops.products import Factor
from gridlane.ir.stages import KERNEL, TILE
from gridlane.ir.values import Module, Value
from gridlane.ir.verifier import verify
from gridlane.passes.tiles import evaluation, lower_tiles

KINDS: dict[str, tuple[Any, Any, Factor]] = {
    "e4m3": (ml_dtypes.float8_e4m3fn, tl.float8e4nv, Factor.E4M3),
    "e5m2": (ml_dtypes.float8_e5m2, tl.float8e5, Factor.E5M2),
    "e4m3b8": (ml_dtypes.float8_e4m3fnuz, tl.float8e4b8, Factor.F16),
}
RNG = np.random.default_rng(2)


@jit
def product(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, LIMIT: tl.constexpr):
    total = tl.zeros((M, N), tl.float32)
    for at in range(0, depth, K):
        x, y = a.load([0, at]), b.load([0, at])
        total = tl.dot(x, y.T, total, max_num_imprecise_acc=LIMIT)
    c.store([0, 0], total)


@jit
def across(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, LIMIT: tl.constexpr):
    """The items of the right factor lie across the depth, which no instruction for bytes has."""
    total = tl.zeros((M, N), tl.float32)
    for at in range(0, depth, K):
        total = tl.dot(a.load([0, at]), b.load([at, 0]), total)
    c.store([0, 0], total)


@jit
def apart(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, LIMIT: tl.constexpr):
    """The sums of each step are added to the others by themselves."""
    total = tl.zeros((M, N), tl.float32)
    for at in range(0, depth, K):
        total += tl.dot(a.load([0, at]), b.load([0, at]).T)
    c.store([0, 0], total)


def lowered(function: Any, left: str, right: str, turned: bool, limit: Any = None) -> Any:
    a, b = (
        RNG.integers(-4, 5, shape).astype(KINDS[kind][0])
        for shape, kind in (((64, 112), left), ((112, 32) if turned else (32, 112), right))
    )
    out = np.zeros((64, 32), np.float32)
    args = [
        Described(a.view(np.uint8), (64, 32)),
        Described(b.view(np.uint8), (32, 32)),
        Described(out, (64, 32)),
        112,
    ]
    plain = [each.memory if isinstance(each, Described) else each for each in args]
    blocks = {n: args[i].block for i, n in enumerate("abc")}
    elements = {"a": KINDS[left][1], "b": KINDS[right][1]}
    constants = {"M": 64, "N": 32, "K": 32, "LIMIT": limit}
    module = translate(
        function, tuple(map(type_of, plain)), OPTIONS, constants, blocks,
        dict.fromkeys("abc", 16), 4, elements, stages=3,
    )  # fmt: skip
    verify(module, TILE)
    changed = copied(module)
    lower_tiles(changed, MACHINE)
    changed.program_warps = 0
    verify(changed, KERNEL)
    want = a.astype(float) @ (b.astype(float) if turned else b.astype(float).T)
    return changed, args, want


def factors(module: Module) -> set[tuple[Factor, Factor]]:
    ops = [op for op in module.kernel.body.walk() if isinstance(op, warpgroups.WarpgroupMma)]
    return {(op.left, op.right) for op in ops}


@pytest.mark.parametrize("left", KINDS)
@pytest.mark.parametrize("right", KINDS)
def test_products(left, right):
    """Bytes are factors if instructions have both of their formats; else they become f16."""
    module, args, want = lowered(product, left, right, False)
    formats = KINDS[left][2], KINDS[right][2]
    whole = Factor.F16 not in formats
    assert factors(module) == ({formats} if whole else {(Factor.F16, Factor.F16)})
    assert bool(loads(module)) == whole
    if whole or left == right:
        np.testing.assert_array_equal(run(module, args, 4)[0][2], want)


def test_sums_of_steps():
    module, args, want = lowered(apart, "e4m3", "e4m3", False)
    assert factors(module) == {(Factor.E4M3, Factor.E4M3)} and loads(module)
    np.testing.assert_array_equal(run(module, args, 4)[0][2], want)


def test_sums_of_all_their_bits():
    module, args, want = lowered(product, "e4m3", "e4m3", False, limit=0)
    assert factors(module) == {(Factor.F16, Factor.F16)}
    np.testing.assert_array_equal(run(module, args, 4)[0][2], want)


def test_items_across_the_depth_become_halves():
    module, args, want = lowered(across, "e4m3", "e5m2", True)
    assert factors(module) == {(Factor.F16, Factor.F16)}
    np.testing.assert_array_equal(run(module, args, 4)[0][2], want)


def test_what_functions_compute():
    """Another result for one byte, or an op that is not known, is another function."""
    a = np.zeros((64, 32), np.uint8)
    module = translate(
        decoded, (type_of(a), type_of(a.astype(np.float16))), OPTIONS, {}, {}, {}, 4,
        {"a": tl.float8e4nv},
    )  # fmt: skip
    devices = [each for each in module.functions.values() if not each.is_kernel]
    decode = next(each for each in devices if each.params[0].value.type is u8)
    numbers = np.arange(256, dtype=np.uint8)
    got = evaluation.results(decode, numbers)
    want = numbers.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    np.testing.assert_array_equal(got, want)
    constants = [op for op in decode.body.ops if isinstance(op, arith.Const)]
    seen = set()
    for op in constants:
        if isinstance(op.value, int) and op.value:
            op.value += 1
            other = evaluation.results(decode, numbers)
            seen.add(other is None or not np.array_equal(other, want, equal_nan=True))
            op.value -= 1
    assert seen == {True}


@jit
def decoded(a, out):
    i, j = tl.arange(0, 64), tl.arange(0, 32)
    at = i[:, None] * 32 + j[None, :]
    tl.store(out + at, tl.load(a + at).to(tl.float16))


@jit
def masked(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, OTHER: tl.constexpr,
           SUMS: tl.constexpr):  # fmt: skip
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), SUMS)
    for at in range(0, depth, K):
        inside = s < depth - at
        x = tl.load(a + i[:, None] * depth + (at + s)[None, :], mask=inside[None, :], other=OTHER)
        y = tl.load(b + j[None, :] * depth + (at + s)[:, None], mask=inside[:, None], other=OTHER)
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * N + j[None, :], total)


@pytest.mark.parametrize(
    ("kind", "other", "has"),
    [
        ("e4m3", 0, True), ("e5m2", 0.0, True), ("i8", 0, True), ("f32", 0, True),
        ("i8", 1, False), ("e4m3", 1, False), ("f32", 1, False),
        ("f32", -0.0, False), ("e4m3", -0.0, False),
    ],
)  # fmt: skip
def test_other_values_that_are_zero(kind, other, has):
    """Vectors of zeros are stored where a mask does not hold, so the other value has to be +0."""
    plain = {"i8": np.int8, "f32": np.float32}.get(kind, np.uint8)
    a, b = np.zeros((64, 112), plain), np.zeros((32, 112), plain)
    sums = tl.int32 if kind == "i8" else tl.float32
    out = np.zeros((64, 32), np.int32 if kind == "i8" else np.float32)
    elements = {} if kind in ("i8", "f32") else dict.fromkeys("ab", KINDS[kind][1])
    constants = {"M": 64, "N": 32, "K": 32, "OTHER": other, "SUMS": sums}
    types = tuple(map(type_of, (a, b, out, 112)))
    aligned = dict.fromkeys(("a", "b", "c", "depth"), 16)
    module = translate(masked, types, OPTIONS, constants, {}, aligned, 4, elements, stages=3)
    changed = copied(module)
    lower_tiles(changed, MACHINE)
    ops = {type(op) for op in changed.kernel.body.walk()}
    assert (copies.AsyncCopy in ops) == has


def test_ops_on_floats_are_those_of_the_interpreter():
    from gridlane.interp import arith as meaning

    numbers = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 2.5], np.float32)
    one, other = (each.reshape(-1) for each in np.meshgrid(numbers, numbers))
    for op in (arith.Min, arith.Max, arith.Add, arith.Sub, arith.Mul, arith.Lt, arith.Ne):
        values = [Value(f32), Value(f32)]
        with np.errstate(all="ignore"):
            got = evaluation._result(op(*values), [one, other], len(one))
            rule = meaning.PLAIN.get(op)
            want = rule(one, other) if rule else meaning.WITH_OP[op](op(*values), one, other)
        assert got is not None
        np.testing.assert_array_equal(got, want)
        if got.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want), op.name)
