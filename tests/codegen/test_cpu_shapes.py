"""What the vectoriser makes of addresses and branches, read in the LLVM IR that it emits.

Every text here is also given to LLVM's own parser and verifier.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gridlane import cuda
from gridlane.backends import backend
from gridlane.codegen.llvm import machine
from gridlane.codegen.llvm.cpu import emit_kernel
from gridlane.codegen.llvm.cpu.kernel import MOST_REPEATED_LOOPS
from gridlane.compiler import pipeline
from gridlane.compiler.layout import lay_out
from gridlane.core.processors import X86
from gridlane.ir.parser import parse_module
from gridlane.ir.verifier import verify

WIDE = frozenset({"avx512f", "avx512bw", "avx512vl"})
MACHINE = replace(machine.host(), architecture=X86, has=WIDE)
"""One with vectors of 64 bytes, whatever the host."""

INDEX = """
  %t: i32 = thread_idx x
  %b: i32 = block_idx x
  %d: i32 = block_dim x
  %t64: i64 = cast %t
  %b64: i64 = cast %b
  %d64: i64 = cast %d
  %start: i64 = mul %b64, %d64
  %i: i64 = add %start, %t64
"""


def emitted(body: str, params: str = "", block: tuple[int, int, int] = (256, 1, 1)) -> str:
    """The LLVM IR of a kernel with pointers p and q, an i64 n and further parameters."""
    head = f"kernel @k(%p: ptr<f32, global>, %q: ptr<f32, global>, %n: i64{params}) {{"
    module = parse_module(f"{head}\n{body}\n}}")
    verify(module)
    pipeline.run(module, backend("cpu"))
    text = emit_kernel(module, lay_out(module.kernel)[0], block, MACHINE).text
    machine.optimised_text(text, machine.host(), 1)
    return text


def test_a_linear_address_is_one_vector() -> None:
    text = emitted(INDEX + "%a: ptr<f32, global> = offset %p, %i\n%v: f32 = load %a\nstore %a, %v")
    assert "load <16 x float>" in text and "store <16 x float>" in text
    assert "gather" not in text and "scatter" not in text and "masked" not in text


@pytest.mark.parametrize("count", [2, 4])
def test_vectors_that_follow_each_other_are_one_access(count: int) -> None:
    held = f"vec<f32, {count}>"
    body = f"%a: ptr<{held}, global> = offset %r, %i\n%v: {held} = load %a\nstore %a, %v"
    text = emitted(INDEX + body, f", %r: ptr<{held}, global>")
    assert f"load <{16 * count} x float>" in text and f"store <{16 * count} x float>" in text
    assert "gather" not in text and "scatter" not in text and "masked" not in text


def test_a_uniform_address_is_one_scalar() -> None:
    body = "%a: ptr<f32, global> = offset %p, %n\n%v: f32 = load %a"
    text = emitted(body + INDEX + "%o: ptr<f32, global> = offset %q, %i\nstore %o, %v")
    assert re.search(r"load float, ptr", text)
    assert "gather" not in text


@pytest.mark.parametrize(
    "of_warp, is_one",
    [
        ("%s: i32 = const 5\n%w: i32 = shr %t, %s", True),
        ("%s: i32 = const 4\n%w: i32 = shr %t, %s", True),
        ("%s: i32 = const 3\n%w: i32 = shr %t, %s", False),
        ("%s: i32 = const -32\n%w: i32 = and %t, %s", True),
        ("%s: i32 = const 64\n%w: i32 = and %t, %s", True),
        ("%s: i32 = const 72\n%w: i32 = and %t, %s", False),
        ("%o: i32 = const 1\n%u: i32 = add %t, %o\n%s: i32 = const 5\n%w: i32 = shr %u, %s", False),
    ],
)
def test_the_number_of_a_warp_is_one_scalar(of_warp: str, is_one: bool) -> None:
    body = f"{INDEX}{of_warp}\n%a: ptr<f32, global> = offset %p, %w\n%v: f32 = load %a\n"
    text = emitted(body + "%to: ptr<f32, global> = offset %q, %i\nstore %to, %v")
    assert ("gather" not in text) == is_one and bool(re.search(r"load float, ptr", text)) == is_one


def test_an_index_from_memory_gathers() -> None:
    body = INDEX + "%a: ptr<f32, global> = offset %p, %i\n%v: f32 = load %a\n%j: i64 = cast %v\n"
    text = emitted(body + "%o: ptr<f32, global> = offset %q, %j\nstore %o, %v")
    assert "llvm.masked.scatter.v16f32" in text


def test_small_rows_are_loaded_whole() -> None:
    body = INDEX + "%four: i64 = const 4\n%r: i64 = mul %i, %four\n"
    text = emitted(
        body
        + "%a: ptr<f32, global> = offset %p, %r\n%v: f32 = load %a\n"
        + "%o: ptr<f32, global> = offset %q, %i\nstore %o, %v"
    )
    assert "load <61 x float>" in text and "gather" not in text


def test_a_guard_has_a_copy_without_masks() -> None:
    text = emitted(
        INDEX + "%c: b1 = lt %i, %n\nif %c {\n%a: ptr<f32, global> = offset %p, %i\n"
        "%v: f32 = load %a\nstore %a, %v\n}"
    )
    assert "load <16 x float>" in text and "llvm.masked.load.v16f32" in text


def test_a_guard_that_no_lane_passes_is_one_comparison() -> None:
    body = "%a: ptr<f32, global> = offset %p, %t64\n%v: f32 = load %a\nstore %a, %v\n}"
    text = emitted(INDEX + "%four: i64 = const 4\n%c: b1 = lt %t64, %four\nif %c {\n" + body)
    assert re.search(r"br i1 %v\d+, label %merge\d+, label %each\d+", text)


@pytest.mark.parametrize("chunk", range(0, 256, 48))
def test_guards_of_every_chunk_pass_the_lanes_that_they_pass(chunk: int) -> None:
    def kernel(out: Any, low: int, high: int, wide: int) -> None:
        t = cuda.threadIdx.x
        if low <= t and t < high:
            out[0, t] = 1
        if t + wide > high:
            out[1, t] = 1
        if not (t >= high or t < low):
            out[2, t] = 1
        if t == low:
            out[3, t] = 1

    compiled = cuda.jit("void(int8[:, ::1], int32, int32, int32)")(kernel)
    t = np.arange(256, dtype=np.int32)
    for low, high in ((chunk, chunk + 1), (chunk - 1, chunk + 16), (chunk + 5, chunk + 5)):
        out, wide = np.zeros((4, 256), np.int8), 2**31 - 1 - chunk
        compiled[1, 256](out, low, high, wide)
        inside = (low <= t) & (t < high)
        behind = t.astype(np.int64) + wide > high
        np.testing.assert_array_equal(out, [inside, behind, inside, t == low])


def test_a_uniform_branch_has_no_mask() -> None:
    text = emitted(
        INDEX + "%z: i64 = const 7\n%c: b1 = lt %n, %z\nif %c {\n"
        "%a: ptr<f32, global> = offset %p, %i\n%v: f32 = load %a\nstore %a, %v\n}"
    )
    assert "masked" not in text


def test_a_division_never_traps() -> None:
    body = INDEX + "%a: ptr<f32, global> = offset %p, %i\n%v: f32 = load %a\n%j: i32 = cast %v\n"
    text = emitted(body + "%h: i32 = div %t, %j\n%w: f32 = cast %h\nstore %a, %w")
    assert "sdiv <16 x i32>" not in text  # done exactly in binary64, with guarded divisors


@pytest.mark.parametrize(
    ("block", "chunks"), [((256, 1, 1), 16), ((16, 16, 1), 16), ((8, 1, 1), 1), ((33, 1, 1), 3)]
)
def test_chunks_of_a_block(block: tuple[int, int, int], chunks: int) -> None:
    body = INDEX + "%a: ptr<f32, global> = offset %p, %i\n%v: f32 = load %a\nstore %a, %v"
    text = emitted(body, block=block)
    assert ("icmp ult i32 %v" in text) == (chunks > 1)
    if chunks > 1:
        assert re.search(rf"icmp ult i32 %\w+, {chunks}\n", text)


def test_a_barrier_splits_the_block_into_two_loops() -> None:
    store = "%a: ptr<f32, global> = offset %p, %i\n%v: f32 = load %a\nstore %a, %v\n"
    again = "%o: ptr<f32, global> = offset %q, %i\nstore %o, %v"
    whole = emitted(INDEX + store + again)
    split = emitted(INDEX + store + "barrier\n" + again)
    loops = r"icmp ult i32 %\w+, 16\n"
    assert len(re.findall(loops, whole)) == 1
    assert len(re.findall(loops, split)) == 2


def test_warp_ops_run_in_chunks_of_a_warp() -> None:
    body = "%m: u32 = const 4294967295\n%t: i32 = thread_idx x\n%one: i32 = const 1\n"
    body += "%w: i32 = const 32\n%s: i32, %ok: b1 = shuffle down, %m, %t, %one, %w\n"
    body += (
        "%i: i64 = cast %s\n%a: ptr<f32, global> = offset %p, %i\n%f: f32 = cast %s\nstore %a, %f"
    )
    text = emitted(body)
    assert "shufflevector <32 x i32>" in text


def looping(count: int) -> str:
    """A kernel with so many loops, whose trip count is not known."""
    loop = (
        "loop {{ %v{0}: i64 = read $k\n %e{0}: b1 = ge %v{0}, %n\n"
        " if %e{0} {{ break }} }} step {{\n"
        " %w{0}: i64 = read $k\n %x{0}: i64 = add %w{0}, %n\n write $k, %x{0} }}\n"
    )
    return "var $k: i64\n" + "".join(loop.format(number) for number in range(count))


@pytest.mark.parametrize("count", [MOST_REPEATED_LOOPS, MOST_REPEATED_LOOPS + 1])
def test_many_loops_are_not_repeated(count: int) -> None:
    """LLVM's time for unrolling grows with the square of their number."""
    text = emitted(looping(count))
    kept = count if count > MOST_REPEATED_LOOPS else 0
    assert text.count(", !llvm.loop !") == kept
    assert len(re.findall(r"^!\d+ = distinct ", text, re.MULTILINE)) == kept
